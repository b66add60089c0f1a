//! The exponential function, without branches, so that it can be computed of several numbers at once.
//!
//! The algorithm is that of tables (Tang, "Table-driven implementation of the exponential function in IEEE floating-point arithmetic",
//! 1989): x = k·ln 2/128 + r, and e^x is 2^(k/128), of which the fractional part is looked up, times a polynomial in r. It is
//! written once, over [`Arithmetic`]: on numbers it is the function of the interpreter, and over instructions what a
//! compiler writes where it is called. Both give the same bits, as each operation is one of IEEE 754, rounded on its own.
//!
//! The crate `libm` takes half as long again, and has no form that could be written where it is called.

use super::double_double::{DoubleDouble, LN_2};

/// What the algorithm is made of: operations on numbers, or on code for them, for one number or for several at once.
pub trait Arithmetic {
    /// A `Float64`, or several.
    type Float: Copy;
    /// Its bits as an unsigned integer.
    type Bits: Copy;

    /// A number.
    fn constant(&mut self, value: f64) -> Self::Float;
    /// The sum, rounded to nearest.
    fn add(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The difference, rounded to nearest.
    fn subtract(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The product, rounded to nearest.
    fn multiply(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The first number, where it is smaller than the second, which is no NaN, or is NaN itself; else the second.
    fn at_most(&mut self, a: Self::Float, limit: f64) -> Self::Float;
    /// The first number, where it is larger than the second, which is no NaN, or is NaN itself; else the second.
    fn at_least(&mut self, a: Self::Float, limit: f64) -> Self::Float;
    /// The bits of a number.
    fn bits(&mut self, a: Self::Float) -> Self::Bits;
    /// The number of these bits.
    fn float(&mut self, bits: Self::Bits) -> Self::Float;
    /// The sum modulo 2⁶⁴.
    fn add_bits(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// The sum with a constant, modulo 2⁶⁴.
    fn add_to_bits(&mut self, a: Self::Bits, constant: i64) -> Self::Bits;
    /// The bits from the eighth on as those from the 52nd on, zeros below: what a multiple of 256 adds to an exponent.
    fn to_exponent(&mut self, a: Self::Bits) -> Self::Bits;
    /// The row of [`POWERS`] at the number that the lower seven bits are.
    fn powers(&mut self, a: Self::Bits) -> (Self::Float, Self::Bits);
}

/// The powers of 2 that are looked up.
const ROWS: usize = 128;

/// Of each row number i the power 2^(i/128): by how much what is rounded of it has to be multiplied beyond 1, and the bits of what
/// is rounded, less 1024 in the exponent.
pub static POWERS: [(f64, u64); ROWS] = powers();

const fn powers() -> [(f64, u64); ROWS] {
    let mut rows = [(0.0, 0); ROWS];
    let mut row = 0;
    while row < ROWS {
        let power = LN_2.times(DoubleDouble::new(row as f64 / ROWS as f64)).exp();
        rows[row] = (power.low / power.high, power.high.to_bits().wrapping_sub(1024 << 52));
        row += 1;
    }
    rows
}

/// Added to a number it leaves the nearest integer in the lower bits, here with 2048 times the number of rows more, so that what is
/// above those of the row is not negative.
const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64 + (2048 * ROWS) as f64;

/// ln 2/128: so many digits that multiples are exact, and the rest.
const STEP_HIGH: f64 = f64::from_bits((LN_2.high / ROWS as f64).to_bits() & !0x3_FFFF);
const STEP_LOW: f64 = (LN_2.high / ROWS as f64 - STEP_HIGH) + LN_2.low / ROWS as f64;

/// Beyond these the result is infinite or 0.
const HIGHEST: f64 = 710.0;
const LOWEST: f64 = -746.0;

/// e to the power of a number.
///
/// ```
/// use ircode::primitives::float64::exponential::{Numbers, exponential};
///
/// assert_eq!(exponential(&mut Numbers, 1.0), std::f64::consts::E);
/// assert_eq!(exponential(&mut Numbers, -745.1), f64::from_bits(1));
/// assert_eq!(exponential(&mut Numbers, f64::NEG_INFINITY), 0.0);
/// ```
#[inline]
pub fn exponential<A: Arithmetic>(on: &mut A, x: A::Float) -> A::Float {
    let x = on.at_most(x, HIGHEST);
    let x = on.at_least(x, LOWEST);
    let (steps, shift) = (on.constant(ROWS as f64 / LN_2.high), on.constant(SHIFT));
    let shifted = on.multiply(x, steps);
    let shifted = on.add(shifted, shift);
    let k = on.subtract(shifted, shift);
    let (high, low) = (on.constant(STEP_HIGH), on.constant(STEP_LOW));
    let (high, low) = (on.multiply(k, high), on.multiply(k, low));
    let r = on.subtract(x, high);
    let r = on.subtract(r, low);

    // e^r − 1 = r + r²/2 + r³/6 + r⁴/24 + r⁵/120, and what 2^(i/128) lacks for being rounded.
    let k = on.bits(shifted);
    let (rest, power) = on.powers(k);
    let squared = on.multiply(r, r);
    let terms = [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5].map(|term| on.constant(term));
    let [fifth, fourth, third, second] = terms;
    let fifth = on.multiply(r, fifth);
    let fourth = on.add(fourth, fifth);
    let fourth = on.multiply(squared, fourth);
    let third = on.multiply(r, third);
    let second = on.add(second, third);
    let second = on.add(second, fourth);
    let second = on.multiply(squared, second);
    let first = on.add(rest, r);
    let beyond_1 = on.add(first, second);

    // The power of 2 in two halves, as the exponent may be beyond those of normal numbers: rounded down with the row, rounded up by itself.
    let half = on.to_exponent(k);
    let power = on.add_bits(power, half);
    let power = on.float(power);
    let product = on.multiply(power, beyond_1);
    let product = on.add(power, product);
    let other = on.add_to_bits(k, -(ROWS as i64));
    let other = on.to_exponent(other);
    let other = on.float(other);
    on.multiply(product, other)
}

/// Arithmetic on one number.
#[derive(Debug)]
pub struct Numbers;

impl Arithmetic for Numbers {
    type Float = f64;
    type Bits = u64;

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
    fn at_most(&mut self, a: f64, limit: f64) -> f64 {
        if a > limit { limit } else { a }
    }
    #[inline]
    fn at_least(&mut self, a: f64, limit: f64) -> f64 {
        if a < limit { limit } else { a }
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
    fn add_to_bits(&mut self, a: u64, constant: i64) -> u64 {
        a.wrapping_add_signed(constant)
    }
    #[inline]
    fn to_exponent(&mut self, a: u64) -> u64 {
        (a >> 8) << 52
    }
    #[inline]
    fn powers(&mut self, a: u64) -> (f64, u64) {
        // The mask makes it one of them.
        POWERS.get(a as usize & (ROWS - 1)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::exp;

    /// By how many numbers two results are apart.
    fn apart(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    /// `libm`'s is off by less than one unit in the last place, so that two that are right are neighbours at most.
    #[test]
    fn it_is_the_function_of_libm_but_for_the_last_place() {
        let (mut different, count) = (0, 400_000);
        for number in 0..count {
            let x = -746.0 + 1457.0 * f64::from(number) / f64::from(count);
            let apart = apart(exp(x), libm::exp(x));
            assert!(apart <= 1, "{x}: {:e} and {:e}", exp(x), libm::exp(x));
            different += apart;
        }
        assert!(different < 40_000, "{different} of {count} differ");
    }

    /// e^x · e^−x and (e^(x/2))² are e^0 and e^x but for roundings: what a table with a wrong row would not give.
    #[test]
    fn powers_multiply() {
        for number in -70_000..70_000 {
            let x = f64::from(number) / 100.0;
            assert!((exp(x) * exp(-x) - 1.0).abs() <= 4.0 * f64::EPSILON, "{x}");
            let half = exp(x / 2.0);
            assert!((half * half / exp(x) - 1.0).abs() <= 4.0 * f64::EPSILON, "{x}");
        }
    }

    #[test]
    fn ends_and_special_numbers() {
        assert_eq!((exp(0.0), exp(-0.0)), (1.0, 1.0));
        assert_eq!((exp(f64::INFINITY), exp(f64::NEG_INFINITY)), (f64::INFINITY, 0.0));
        assert!(exp(f64::NAN).is_nan());
        // Where the result becomes infinite, the least normal and the least number of all.
        assert!(exp(709.782_712_893_383_9).is_finite());
        assert_eq!(exp(709.782_712_893_384_1), f64::INFINITY);
        assert_eq!(exp(f64::MAX), f64::INFINITY);
        assert!(exp(-708.396_418_532_264_1) >= f64::MIN_POSITIVE);
        assert_eq!((exp(-745.133), exp(-745.14)), (f64::from_bits(1), 0.0));
        assert_eq!(exp(f64::from_bits(1)), 1.0);
    }
}
