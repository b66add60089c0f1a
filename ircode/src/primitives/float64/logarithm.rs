//! The natural logarithm, without branches.
//!
//! The algorithm is that of tables (Tang, "Table-driven implementation of the logarithm function in IEEE floating-point
//! arithmetic", 1990): x = 2^k·c·(1 + r) with c out of 128 numbers near 1, so that log x = k·ln 2 + log c + log(1 + r),
//! of which the last is a polynomial. On both sides of 1, c is 1, so that nothing cancels.

use super::arithmetic::{Arithmetic, Row, series};
use super::double_double::{DoubleDouble, LN_2};

const ROWS: usize = 128;

/// Where the numbers start that are taken times powers of 2, as bits: at 11/16, so that 1 is well inside.
const START: u64 = 0x3FE6 << 48;

/// The bits that tell rows apart lie from here on.
const BELOW_ROW: u8 = 45;

/// In each row c, 1/c, and log c in two parts, of which sums with multiples of [`LN_2_HIGH`] are exact.
static CENTRES: [Row<4>; ROWS] = centres();

/// ln 2 in two parts: a multiple of 2⁻⁴², and the rest.
const LN_2_HIGH: f64 = coarse(LN_2.high);
const LN_2_LOW: f64 = (LN_2.high - LN_2_HIGH) + LN_2.low;

/// The nearest multiple of 2⁻⁴².
const fn coarse(x: f64) -> f64 {
    const SHIFT: f64 = 1.5 * (1_u64 << 10) as f64;
    (x + SHIFT) - SHIFT
}

const fn centres() -> [Row<4>; ROWS] {
    let mut rows = [Row([0.0; 4]); ROWS];
    let mut row = 0;
    while row < ROWS {
        let low = START + ((row as u64) << BELOW_ROW);
        let high = START + ((row as u64 + 1) << BELOW_ROW);
        let one = 1.0_f64.to_bits();
        let centre = if low == one || high == one { 1.0 } else { (f64::from_bits(low) + f64::from_bits(high)) / 2.0 };
        let log = DoubleDouble::log(centre);
        let first = coarse(log.high);
        rows[row] = Row([centre, 1.0 / centre, first, log.plus(DoubleDouble::new(-first)).high]);
        row += 1;
    }
    rows
}

/// The natural logarithm, off by less than one unit in the last place; of 0 minus infinity, of negative numbers NaN.
#[inline]
pub fn log<A: Arithmetic>(on: &mut A, x: A::Float) -> A::Float {
    // What is smaller than normal numbers is taken 2⁵⁴ times.
    const UP: f64 = (1_u64 << 54) as f64;
    // Numbers of 52 bits and more are integers.
    const INTEGER: f64 = (1_u64 << 52) as f64;
    let (least, up) = (on.constant(f64::MIN_POSITIVE), on.constant(UP));
    let larger = on.multiply(x, up);
    let normal = on.if_less(x, least, larger, x);
    // The exponents as they are counted below, 1024 more than they are.
    let (plain, more) = (on.constant(INTEGER + 1024.0), on.constant(INTEGER + 1024.0 + 54.0));
    let counted = on.if_less(x, least, more, plain);

    let bits = on.bits(normal);
    let start = on.constant_bits(START);
    let from_start = on.subtract_bits(bits, start);
    let number = on.shift_down(from_start, BELOW_ROW);
    let mask = on.constant_bits(ROWS as u64 - 1);
    let number = on.and_bits(number, mask);
    let exponent = on.constant_bits(0xFFF << 52);
    let exponent = on.and_bits(from_start, exponent);
    let z = on.subtract_bits(bits, exponent);
    let z = on.float(z);
    let offset = on.constant_bits(1024 << 52);
    let k = on.add_bits(exponent, offset);
    let k = on.shift_down(k, 52);
    let integer = on.constant_bits(INTEGER.to_bits());
    let k = on.add_bits(k, integer);
    let k = on.float(k);
    let k = on.subtract(k, counted);

    let row = on.row(&CENTRES, number);
    let (centre, inverse) = on.pair(&CENTRES, row, 0);
    let (log_high, log_low) = on.pair(&CENTRES, row, 1);
    let r = on.subtract(z, centre);
    let r = on.multiply(r, inverse);
    let (high, low) = (on.constant(LN_2_HIGH), on.constant(LN_2_LOW));
    let high = on.multiply(k, high);
    let high = on.add(high, log_high);
    let sum = on.add(high, r);
    let lost = on.subtract(high, sum);
    let lost = on.add(lost, r);
    let low = on.multiply(k, low);
    let low = on.add(low, log_low);
    let lost = on.add(lost, low);
    // log(1 + r) = r − r²/2 + r³/3 − …
    let terms = series(on, r, [-0.5, 1.0 / 3.0, -0.25, 0.2, -1.0 / 6.0, 1.0 / 7.0, -0.125]);
    let squared = on.multiply(r, r);
    let terms = on.multiply(squared, terms);
    let terms = on.add(lost, terms);
    let result = on.add(sum, terms);

    // Infinity and what is no number are their own; then 0, and what is negative.
    let (infinity, zero, nan) = (on.constant(f64::INFINITY), on.constant(0.0), on.constant(f64::NAN));
    let positive = on.if_less(x, infinity, result, x);
    let minus_infinity = on.subtract(x, infinity);
    let other = on.if_less(x, zero, nan, minus_infinity);
    on.if_less(zero, x, positive, other)
}

#[cfg(test)]
mod tests {
    use super::super::log;

    #[test]
    fn it_is_the_function_of_libm_but_for_the_last_place() {
        let (mut different, mut count) = (0, 0);
        let mut check = |x: f64| {
            let (ours, other) = (log(x), libm::log(x));
            let apart = ours.to_bits().abs_diff(other.to_bits());
            assert!(apart <= 1, "{x:e}: {ours:e} and {other:e}");
            different += apart;
            count += 1;
        };
        (1..400_000).for_each(|number| check(f64::from(number) / 1e5));
        (-100_000..100_000).for_each(|number| check(1.0 + f64::from(number) / 1e7));
        (-100_000..100_000).for_each(|number| check(1.0 + f64::from(number) / 1e12));
        (-1070..1020).for_each(|power| check(1.37 * f64::powi(2.0, power)));
        assert!(different * 10 < count, "{different} of {count} differ");
    }

    #[test]
    fn ends_and_special_numbers() {
        assert_eq!((log(1.0), log(0.0), log(-0.0)), (0.0, f64::NEG_INFINITY, f64::NEG_INFINITY));
        assert_eq!(log(f64::INFINITY), f64::INFINITY);
        assert!([f64::NAN, -1.0, -f64::MIN_POSITIVE, f64::NEG_INFINITY, -5e-324].iter().all(|x| log(*x).is_nan()));
        // To twenty digits: −744.44007192138126231, 709.78271289338399673.
        assert_eq!((log(f64::from_bits(1)), log(f64::MAX)), (-744.440_071_921_381_2, 709.782_712_893_384));
    }
}
