//! Arithmetic over which functions are written once: on numbers it computes them, over instructions it writes them
//! where they are called. Both give the same bits, as each operation is one of IEEE 754, rounded on its own.

/// Operations on numbers, or on code for them, for one number or for several at once.
pub trait Arithmetic {
    /// A `Float64`, or several.
    type Float: Copy;
    /// The bits of them, as unsigned integers.
    type Bits: Copy;
    /// A row of a table.
    type Row: Copy;

    /// A number.
    fn constant(&mut self, value: f64) -> Self::Float;
    /// The sum, rounded to nearest.
    fn add(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The difference, rounded to nearest.
    fn subtract(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The product, rounded to nearest.
    fn multiply(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The number without its sign.
    fn absolute(&mut self, a: Self::Float) -> Self::Float;
    /// The first number with the sign of the second.
    fn with_sign(&mut self, a: Self::Float, of: Self::Float) -> Self::Float;
    /// One number if `a < b`, else another.
    fn if_less(&mut self, a: Self::Float, b: Self::Float, then: Self::Float, other: Self::Float) -> Self::Float;
    /// The bits of a number.
    fn bits(&mut self, a: Self::Float) -> Self::Bits;
    /// The number of these bits.
    fn float(&mut self, bits: Self::Bits) -> Self::Float;
    /// The sum modulo 2⁶⁴.
    fn add_bits(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// The difference modulo 2⁶⁴.
    fn subtract_bits(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// The same bits for all numbers.
    fn constant_bits(&mut self, bits: u64) -> Self::Bits;
    /// The bits that both have.
    fn and_bits(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// The bits moved up by fewer than 64, zeros below.
    fn shift_up(&mut self, a: Self::Bits, by: u8) -> Self::Bits;
    /// The bits moved down by fewer than 64, zeros above.
    fn shift_down(&mut self, a: Self::Bits, by: u8) -> Self::Bits;
    /// The row of this number, which is smaller than the number of rows.
    fn row<const WORDS: usize>(&mut self, table: &'static [Row<WORDS>], number: Self::Bits) -> Self::Row;
    /// The numbers at twice this place in a row of this table, and behind that.
    fn pair<const WORDS: usize>(
        &mut self,
        table: &'static [Row<WORDS>],
        row: Self::Row,
        place: usize,
    ) -> (Self::Float, Self::Float);
}

/// A row of a table, of an even number of numbers.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Row<const WORDS: usize>(pub [f64; WORDS]);

/// As [`polynomial`], of terms that are known.
#[inline]
pub(super) fn series<A: Arithmetic, const COUNT: usize>(on: &mut A, x: A::Float, terms: [f64; COUNT]) -> A::Float {
    // Not by `map`, which is not always inlined.
    let mut all = [on.constant(0.0); COUNT];
    for (slot, term) in all.iter_mut().zip(terms) {
        *slot = on.constant(term);
    }
    polynomial(on, x, &all)
}

/// The sum of terms times the powers of a number, from the 0th on, two by two (Estrin's scheme): of one to eight terms.
#[inline]
pub(super) fn polynomial<A: Arithmetic>(on: &mut A, x: A::Float, terms: &[A::Float]) -> A::Float {
    let squared = on.multiply(x, x);
    match terms.split_at_checked(4) {
        Some((low, high)) if !high.is_empty() => {
            let fourth = on.multiply(squared, squared);
            let (low, high) = (up_to_four(on, x, squared, low), up_to_four(on, x, squared, high));
            let high = on.multiply(fourth, high);
            on.add(low, high)
        }
        _ => up_to_four(on, x, squared, terms),
    }
}

/// The same of one to four terms.
#[inline]
fn up_to_four<A: Arithmetic>(on: &mut A, x: A::Float, squared: A::Float, terms: &[A::Float]) -> A::Float {
    let mut two = |a, b| {
        let product = on.multiply(x, b);
        on.add(a, product)
    };
    let (low, high) = match *terms {
        [a, b, c, d, ..] => (two(a, b), two(c, d)),
        [a, b, c] => (two(a, b), c),
        [a, b] => return two(a, b),
        [a] => return a,
        [] => return x,
    };
    let high = on.multiply(squared, high);
    on.add(low, high)
}

/// Arithmetic on one number.
#[derive(Clone, Copy, Debug)]
pub struct Numbers;

impl Arithmetic for Numbers {
    type Float = f64;
    type Bits = u64;
    type Row = usize;

    #[inline]
    fn constant(&mut self, value: f64) -> f64 {
        value
    }
    #[inline]
    fn add(&mut self, a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline]
    fn subtract(&mut self, a: f64, b: f64) -> f64 {
        a - b
    }
    #[inline]
    fn multiply(&mut self, a: f64, b: f64) -> f64 {
        a * b
    }
    #[inline]
    fn absolute(&mut self, a: f64) -> f64 {
        a.abs()
    }
    #[inline]
    fn with_sign(&mut self, a: f64, of: f64) -> f64 {
        a.copysign(of)
    }
    #[inline]
    fn if_less(&mut self, a: f64, b: f64, then: f64, other: f64) -> f64 {
        if a < b { then } else { other }
    }
    #[inline]
    fn bits(&mut self, a: f64) -> u64 {
        a.to_bits()
    }
    #[inline]
    fn float(&mut self, bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    #[inline]
    fn add_bits(&mut self, a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }
    #[inline]
    fn subtract_bits(&mut self, a: u64, b: u64) -> u64 {
        a.wrapping_sub(b)
    }
    #[inline]
    fn constant_bits(&mut self, bits: u64) -> u64 {
        bits
    }
    #[inline]
    fn and_bits(&mut self, a: u64, b: u64) -> u64 {
        a & b
    }
    #[inline]
    fn shift_up(&mut self, a: u64, by: u8) -> u64 {
        a << by
    }
    #[inline]
    fn shift_down(&mut self, a: u64, by: u8) -> u64 {
        a >> by
    }
    #[inline]
    fn row<const WORDS: usize>(&mut self, _: &'static [Row<WORDS>], number: u64) -> usize {
        number as usize
    }
    #[inline]
    fn pair<const WORDS: usize>(&mut self, table: &'static [Row<WORDS>], row: usize, place: usize) -> (f64, f64) {
        // There is always such a row, and a pair.
        match table.get(row).map(|row| row.0.as_slice()).and_then(|row| row.get(2 * place..2 * place + 2)) {
            Some([a, b]) => (*a, *b),
            _ => (f64::NAN, f64::NAN),
        }
    }
}
