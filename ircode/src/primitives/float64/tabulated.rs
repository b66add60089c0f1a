//! Odd functions that grow to 1, by their Taylor series around the nearest eighth: the error function and the
//! hyperbolic tangent.
//!
//! There are no branches and no divisions, and neither needs an exponential, as the formulas do that hold everywhere.
//! The rows of coefficients come from the differential equations of the functions, when the library is compiled:
//! nothing is taken from elsewhere but 2/√π. Both functions are off by less than one unit in the last place.

use super::arithmetic::{Arithmetic, Row, polynomial};
use super::double_double::DoubleDouble;

/// Coefficients from the first power on. With |h| ≤ 1/16 the next one adds less than an eighth of a unit in the last
/// place.
const TERMS: usize = 12;

/// The function around a point: the value there, and what it lacks for being rounded; a power of 2 near to the
/// derivative, of which products are exact; the coefficients, the first one without that power; nothing.
type Point = Row<16>;

const fn point(value: DoubleDouble, coefficients: &[DoubleDouble]) -> Point {
    // The exponent alone, of a number half as large again.
    let slope = f64::from_bits((coefficients[0].high * 1.5).to_bits() & (0xFFF << 52));
    let mut row = [0.0; 16];
    row[0] = value.high;
    row[1] = value.low;
    row[2] = slope;
    row[3] = coefficients[0].plus(DoubleDouble::new(-slope)).high;
    let mut n = 1;
    while n < TERMS {
        row[3 + n] = coefficients[n].high;
        n += 1;
    }
    Row(row)
}

/// The error function is 1 from here on, but for less than half a unit in the last place.
const ERF_ROWS: usize = 8 * 6 + 1;
/// The same of the hyperbolic tangent.
const TANH_ROWS: usize = 8 * 20 + 1;

static ERF: [Point; ERF_ROWS] = erf_rows();
static TANH: [Point; TANH_ROWS] = tanh_rows();

/// The error function, 2/√π · ∫₀ˣ e^(−t²) dt.
#[inline]
pub fn erf<A: Arithmetic>(on: &mut A, x: A::Float) -> A::Float {
    evaluate(on, &ERF, x)
}

/// The hyperbolic tangent.
#[inline]
pub fn tanh<A: Arithmetic>(on: &mut A, x: A::Float) -> A::Float {
    evaluate(on, &TANH, x)
}

#[inline]
fn evaluate<A: Arithmetic>(on: &mut A, rows: &'static [Point], x: A::Float) -> A::Float {
    // Added to a number it leaves the nearest multiple of 1/8, counted in the lower bits.
    const SHIFT: f64 = 1.5 * (1_u64 << 49) as f64;
    let (limit, shift) = (on.constant((rows.len() - 1) as f64 / 8.0), on.constant(SHIFT));
    let size = on.absolute(x);
    // What is no number takes the last row, and remains none.
    let distance = on.if_less(size, limit, size, limit);
    let remaining = on.if_less(limit, size, limit, size);
    let shifted = on.add(distance, shift);
    let nearest = on.subtract(shifted, shift);
    let h = on.subtract(remaining, nearest);
    let number = on.bits(shifted);
    let mask = on.constant_bits(0xFF);
    let number = on.and_bits(number, mask);
    let row = on.row(rows, number);
    let (value, rest) = on.pair(rows, row, 0);
    let (slope, a) = on.pair(rows, row, 1);
    let (b, c) = on.pair(rows, row, 2);
    let (d, e) = on.pair(rows, row, 3);
    let (f, g) = on.pair(rows, row, 4);
    let (i, j) = on.pair(rows, row, 5);
    let (k, l) = on.pair(rows, row, 6);
    let (m, _) = on.pair(rows, row, 7);
    let low = polynomial(on, h, &[a, b, c, d, e, f, g, i]);
    let high = polynomial(on, h, &[j, k, l, m]);
    let h2 = on.multiply(h, h);
    let h4 = on.multiply(h2, h2);
    let h8 = on.multiply(h4, h4);
    let high = on.multiply(h8, high);
    let sum = on.add(low, high);
    let sum = on.multiply(h, sum);
    let linear = on.multiply(h, slope);
    let near = on.add(value, linear);
    let lost = on.subtract(value, near);
    let lost = on.add(lost, linear);
    let lost = on.add(lost, rest);
    let sum = on.add(lost, sum);
    let result = on.add(near, sum);
    on.with_sign(result, x)
}

/// The coefficients of the series of the error function around x: that of its derivative f is f′ = −2(x + h)·f.
const fn erf_terms<const COUNT: usize>(x: f64, slope: DoubleDouble) -> [DoubleDouble; COUNT] {
    let mut terms = [DoubleDouble::new(0.0); COUNT];
    terms[0] = slope;
    let mut n = 1;
    while n < COUNT {
        let mut next = terms[n - 1].times(DoubleDouble::new(-2.0 * x * n as f64));
        if n > 1 {
            next = next.plus(terms[n - 2].times(DoubleDouble::new(-2.0 * (n - 1) as f64)));
        }
        terms[n] = next.over((n * (n + 1)) as f64);
        n += 1;
    }
    terms
}

const fn erf_rows() -> [Point; ERF_ROWS] {
    let mut rows = [Row([0.0; 16]); ERF_ROWS];
    // From one row to the next by the series itself, as far as these numbers can tell.
    let mut value = DoubleDouble::new(0.0);
    let mut slope = DoubleDouble { high: std::f64::consts::FRAC_2_SQRT_PI, low: f64::from_bits(0x3C71_AE3A_914F_ED80) };
    let mut row = 0;
    while row < ERF_ROWS {
        let terms: [DoubleDouble; 28] = erf_terms(row as f64 / 8.0, slope);
        rows[row] = point(value, &terms);
        let h = DoubleDouble::new(1.0 / 8.0);
        let mut next = DoubleDouble::new(0.0);
        slope = DoubleDouble::new(0.0);
        let mut n = terms.len();
        while n > 0 {
            next = next.times(h).plus(terms[n - 1]);
            slope = slope.times(h).plus(terms[n - 1].times(DoubleDouble::new(n as f64)));
            n -= 1;
        }
        value = value.plus(next.times(h));
        row += 1;
    }
    rows
}

const fn tanh_rows() -> [Point; TANH_ROWS] {
    let mut rows = [Row([0.0; 16]); TANH_ROWS];
    // e^(2x), from row to row.
    let step = DoubleDouble::new(0.25).exp();
    let mut power = DoubleDouble::new(1.0);
    let mut row = 0;
    while row < TANH_ROWS {
        // 1 − 2/(e^(2x) + 1)
        let value = DoubleDouble::new(-2.0).divided(power.plus(DoubleDouble::new(1.0))).plus(DoubleDouble::new(1.0));
        // f′ = 1 − f²
        let mut all = [DoubleDouble::new(0.0); TERMS + 1];
        all[0] = value;
        let mut n = 0;
        while n < TERMS {
            let mut square = DoubleDouble::new(if n == 0 { -1.0 } else { 0.0 });
            let mut of = 0;
            while of <= n {
                square = square.plus(all[of].times(all[n - of]));
                of += 1;
            }
            all[n + 1] = square.over(-((n + 1) as f64));
            n += 1;
        }
        let (_, terms) = all.split_at(1);
        rows[row] = point(value, terms);
        power = power.times(step);
        row += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::{erf, tanh};

    /// How many numbers lie between what is computed and what the crate `libm` gives, which is off by less than one
    /// unit in the last place, too.
    fn farthest(f: fn(f64) -> f64, of_libm: fn(f64) -> f64, limit: f64) -> (u64, f64) {
        let count = 400_000;
        let points = (0..=count).map(|number| limit * f64::from(number - count / 2) / f64::from(count / 2));
        let small = (-1000..0).map(|number| 1.7_f64.powi(number));
        let apart = |x: f64| (f(x).to_bits().abs_diff(of_libm(x).to_bits()), x);
        points.chain(small).map(apart).max_by_key(|(apart, _)| *apart).unwrap()
    }

    #[test]
    fn they_are_the_functions_of_libm_but_for_the_last_place() {
        let (apart, x) = farthest(erf, libm::erf, 6.5);
        assert!(apart <= 1, "erf({x}): {:e} and {:e}", erf(x), libm::erf(x));
        let (apart, x) = farthest(tanh, libm::tanh, 21.0);
        assert!(apart <= 2, "tanh({x}): {:e} and {:e}", tanh(x), libm::tanh(x));
    }

    #[test]
    fn ends_and_special_numbers() {
        for f in [erf, tanh] {
            assert_eq!((f(f64::INFINITY), f(f64::NEG_INFINITY), f(40.0), f(-f64::MAX)), (1.0, -1.0, 1.0, -1.0));
            assert_eq!((f(0.0).to_bits(), f(-0.0).to_bits()), (0.0_f64.to_bits(), (-0.0_f64).to_bits()));
            assert!(f(f64::NAN).is_nan());
        }
        // To twenty digits: 0.52049987781304653768 and 0.46211715726000975850.
        assert_eq!((erf(0.5), tanh(0.5)), (0.520_499_877_813_046_5, 0.462_117_157_260_009_76));
    }
}
