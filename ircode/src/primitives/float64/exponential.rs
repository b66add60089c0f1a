//! The exponential function, without branches, so that it can be computed of several numbers at once.
//!
//! The algorithm is that of tables (Tang, "Table-driven implementation of the exponential function in IEEE
//! floating-point arithmetic", 1989): x = k·ln 2/128 + r, and e^x is 2^(k/128), of which the fractional part is looked
//! up, times a polynomial in r. The crate `libm` takes half as long again.

use super::arithmetic::{Arithmetic, Row, series};
use super::double_double::{DoubleDouble, LN_2};

/// The powers of 2 that are looked up.
const ROWS: usize = 128;

/// In row i, by how much 2^(i/128) as it is rounded has to be multiplied beyond 1 to be exact, and that.
static POWERS: [Row<2>; ROWS] = powers();

const fn powers() -> [Row<2>; ROWS] {
    let mut rows = [Row([0.0; 2]); ROWS];
    let mut row = 0;
    while row < ROWS {
        let power = LN_2.times(DoubleDouble::new(row as f64 / ROWS as f64)).exp();
        rows[row] = Row([power.low / power.high, power.high]);
        row += 1;
    }
    rows
}

/// Added to a number it leaves the nearest integer in the lower bits, negative ones modulo 2⁵¹.
const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64;

/// ln 2/128: so many digits that multiples are exact, and the rest.
const STEP_HIGH: f64 = f64::from_bits((LN_2.high / ROWS as f64).to_bits() & !0x3_FFFF);
const STEP_LOW: f64 = (LN_2.high / ROWS as f64 - STEP_HIGH) + LN_2.low / ROWS as f64;

/// Beyond these the result is infinite or 0.
const HIGHEST: f64 = 710.0;
const LOWEST: f64 = -746.0;

/// e to the power of a number, off by less than 0.52 units in the last place where the result is normal.
#[inline]
pub fn exp<A: Arithmetic>(on: &mut A, x: A::Float) -> A::Float {
    let (highest, lowest) = (on.constant(HIGHEST), on.constant(LOWEST));
    let x = on.if_less(highest, x, highest, x);
    let x = on.if_less(x, lowest, lowest, x);
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
    let mask = on.constant_bits(ROWS as u64 - 1);
    let number = on.and_bits(k, mask);
    let row = on.row(&POWERS, number);
    let (rest, power) = on.pair(&POWERS, row, 0);
    let sum = series(on, r, [0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0]);
    let squared = on.multiply(r, r);
    let sum = on.multiply(squared, sum);
    let first = on.add(rest, r);
    let beyond_1 = on.add(first, sum);

    // The power of 2 in two halves, as the exponent may be beyond those of normal numbers: rounded down with the row,
    // rounded up by itself. What is above an exponent's bits is moved out.
    let half = on.shift_down(k, 8);
    let half = on.shift_up(half, 52);
    let power = on.bits(power);
    let power = on.add_bits(power, half);
    let power = on.float(power);
    let product = on.multiply(power, beyond_1);
    let product = on.add(power, product);
    let up = on.constant_bits(ROWS as u64 + (1023 << 8));
    let other = on.add_bits(k, up);
    let other = on.shift_down(other, 8);
    let other = on.shift_up(other, 52);
    let other = on.float(other);
    on.multiply(product, other)
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
