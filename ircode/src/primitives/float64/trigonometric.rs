//! Sine and cosine of numbers that are not large, without branches, so that they can be computed of several numbers at
//! once.
//!
//! Multiples of π/2 are taken away in three pieces (Cody and Waite, *Software Manual for the Elementary Functions*,
//! 1980), so that what remains has all its digits; of that, the series of Taylor are computed, and the quarter of the
//! turn says which of both it is. Sine and cosine take nearly the same steps of the same number, which the compiler
//! takes once.

use super::arithmetic::{Arithmetic, series};
use super::double_double::DoubleDouble;

/// Up to here, what is taken away is known to enough digits.
pub const LIMIT: f64 = 16384.0;

const PI: DoubleDouble = DoubleDouble { high: std::f64::consts::PI, low: f64::from_bits(0x3CA1_A626_3314_5C07) };
/// What both numbers together lack.
const PI_REST: f64 = -2.994_769_809_718_339_7e-33;

/// π/2 in three pieces: the first two have 38 digits, so that multiples are exact.
const QUARTER_HIGH: f64 = short(PI.high / 2.0);
const QUARTER_MIDDLE: f64 = short((PI.high / 2.0 - QUARTER_HIGH) + PI.low / 2.0);
const QUARTER_LOW: f64 = ((PI.high / 2.0 - QUARTER_HIGH) - QUARTER_MIDDLE) + PI.low / 2.0 + PI_REST / 2.0;

const fn short(number: f64) -> f64 {
    f64::from_bits(number.to_bits() & !0x7FFF)
}

/// Up to here nothing is taken away.
pub const NEAR: f64 = std::f64::consts::FRAC_PI_4;

/// The sine of a number up to [`LIMIT`], off by less than 0.9 units in the last place; of larger ones whatever comes
/// out.
#[inline]
pub fn sin<A: Arithmetic>(on: &mut A, x: A::Float) -> A::Float {
    let result = around(on, x, 0);
    itself_if_tiny(on, x, result)
}

/// The cosine of a number up to [`LIMIT`], likewise.
#[inline]
pub fn cos<A: Arithmetic>(on: &mut A, x: A::Float) -> A::Float {
    around(on, x, 1)
}

/// As [`sin`], but of numbers up to [`NEAR`], for which it takes fewer steps.
#[inline]
pub fn sin_near_zero<A: Arithmetic>(on: &mut A, x: A::Float) -> A::Float {
    let squared = on.multiply(x, x);
    let sum = series(on, squared, OF_SINE);
    let cubed = on.multiply(x, squared);
    let rest = on.multiply(cubed, sum);
    let result = on.add(x, rest);
    itself_if_tiny(on, x, result)
}

/// As [`cos`], but of numbers up to [`NEAR`], for which it takes fewer steps.
#[inline]
pub fn cos_near_zero<A: Arithmetic>(on: &mut A, x: A::Float) -> A::Float {
    let squared = on.multiply(x, x);
    let sum = series(on, squared, OF_COSINE);
    let (one, half) = (on.constant(1.0), on.constant(0.5));
    let lacks = square_lacks(on, x, squared);
    let lacks = on.multiply(lacks, half);
    let half = on.multiply(squared, half);
    let near = on.subtract(one, half);
    let rounded = on.subtract(one, near);
    let rounded = on.subtract(rounded, half);
    let rounded = on.subtract(rounded, lacks);
    let fourth = on.multiply(squared, squared);
    let rest = on.multiply(fourth, sum);
    let rest = on.add(rounded, rest);
    on.add(near, rest)
}

/// The sine of a tiny number is that number, with its sign if it is zero.
#[inline]
fn itself_if_tiny<A: Arithmetic>(on: &mut A, x: A::Float, sine: A::Float) -> A::Float {
    let (size, tiny) = (on.absolute(x), on.constant(1.0 / (1_u64 << 27) as f64));
    on.if_less(size, tiny, x, sine)
}

/// What the square of a number below 1 lacks for being rounded.
#[inline]
fn square_lacks<A: Arithmetic>(on: &mut A, r: A::Float, squared: A::Float) -> A::Float {
    // The square of the upper digits is exact.
    let shift = on.constant(1.5 * (1_u64 << 26) as f64);
    let upper = on.add(r, shift);
    let upper = on.subtract(upper, shift);
    let lower = on.subtract(r, upper);
    let exact = on.multiply(upper, upper);
    let lacks = on.subtract(exact, squared);
    let both = on.add(upper, r);
    let rest = on.multiply(lower, both);
    on.add(lacks, rest)
}

/// What r³ has to be multiplied by to be sin r − r, in powers of r².
const OF_SINE: [f64; 8] = [
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
];

/// What r⁴ has to be multiplied by to be cos r − 1 + r²/2, in powers of r².
const OF_COSINE: [f64; 7] = [
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
];

/// The sine of a number plus so many quarters of a turn.
#[inline]
fn around<A: Arithmetic>(on: &mut A, x: A::Float, more: u64) -> A::Float {
    // Added to a number it leaves the nearest integer in the lower bits.
    const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64;
    let (quarters, shift) = (on.constant(2.0 / PI.high), on.constant(SHIFT));
    let shifted = on.multiply(x, quarters);
    let shifted = on.add(shifted, shift);
    let k = on.subtract(shifted, shift);
    let (high, middle, low) = (on.constant(QUARTER_HIGH), on.constant(QUARTER_MIDDLE), on.constant(QUARTER_LOW));
    let (high, middle, low) = (on.multiply(k, high), on.multiply(k, middle), on.multiply(k, low));
    // What remains, and what that lacks.
    let near = on.subtract(x, high);
    let r = on.subtract(near, middle);
    let lost = on.subtract(near, r);
    let lost = on.subtract(lost, middle);
    let lost = on.subtract(lost, low);

    // Of the quarter, the lowest bit decides whether the sine or the cosine of what remains is asked for, the next one
    // whether it is negative.
    let number = on.bits(shifted);
    let more = on.constant_bits(more);
    let number = on.add_bits(number, more);
    let (lowest, next, one) = (on.constant_bits(1), on.constant_bits(2), on.constant(1.0));
    let odd = on.and_bits(number, lowest);
    let odd = on.shift_up(odd, 62);
    let odd = on.float(odd);
    let negative = on.and_bits(number, next);
    let negative = on.shift_up(negative, 62);
    let sign = on.bits(one);
    let sign = on.add_bits(sign, negative);
    let sign = on.float(sign);

    let squared = on.multiply(r, r);
    let lacks = square_lacks(on, r, squared);
    let lost = on.multiply(lost, sign);
    let lost_of_cosine = on.multiply(r, lost);
    let r = on.multiply(r, sign);
    let sum = series(on, squared, OF_SINE);
    let cubed = on.multiply(r, squared);
    let rest = on.multiply(cubed, sum);
    let rest = on.add(lost, rest);
    let sine = on.add(r, rest);

    let sum = series(on, squared, OF_COSINE);
    let half = on.constant(0.5);
    let lacks = on.multiply(lacks, half);
    let lacks = on.multiply(lacks, sign);
    let half = on.multiply(squared, half);
    let half = on.multiply(half, sign);
    let near = on.subtract(sign, half);
    let rounded = on.subtract(sign, near);
    let rounded = on.subtract(rounded, half);
    let rounded = on.subtract(rounded, lacks);
    let rounded = on.subtract(rounded, lost_of_cosine);
    let fourth = on.multiply(squared, squared);
    let fourth = on.multiply(fourth, sign);
    let rest = on.multiply(fourth, sum);
    let rest = on.add(rounded, rest);
    let cosine = on.add(near, rest);

    on.if_less(odd, one, sine, cosine)
}

#[cfg(test)]
mod tests {
    use super::super::functions::Numbers;
    use super::super::{self as float64};
    use super::*;

    /// Between numbers of double the digits, by the series around the nearest multiple of π/2.
    fn exactly(x: f64, quarter: i64) -> DoubleDouble {
        let k = (x / std::f64::consts::FRAC_PI_2).round();
        // Products of single numbers are exact.
        let mut r = DoubleDouble::new(x);
        for piece in [PI.high, PI.low, PI_REST] {
            r = r.plus(DoubleDouble::new(-k / 2.0).times(DoubleDouble::new(piece)));
        }
        let turns = (k as i64 + quarter).rem_euclid(4);
        let first = usize::from(turns % 2 == 0);
        let square = r.times(r);
        let mut sum = DoubleDouble::new(1.0);
        let mut power = first + 28;
        while power > first {
            sum = DoubleDouble::new(1.0).plus(sum.times(square).over(-(((power - 1) * power) as f64)));
            power -= 2;
        }
        let sum = if first == 1 { sum.times(r) } else { sum };
        if turns < 2 { sum } else { sum.times(DoubleDouble::new(-1.0)) }
    }

    #[test]
    fn they_are_rounded_to_the_nearest_or_the_next() {
        let (mut different, mut count, mut worst) = (0, 0, 0.0_f64);
        let near_quarters = (0..21_000).flat_map(|number| {
            let quarter = f64::from(number - 2600) * std::f64::consts::FRAC_PI_2;
            [quarter, quarter.next_up(), quarter.next_down(), quarter + 1e-9]
        });
        let points = (-200_000..200_000).map(|number| f64::from(number) * (LIMIT / 200_001.0));
        let small = (-200_000..200_000).map(|number| f64::from(number) / 100_003.0);
        for x in points.chain(small).chain(near_quarters).filter(|x| x.abs() <= LIMIT) {
            for (f, quarter) in [(float64::sin as fn(f64) -> f64, 0), (float64::cos, 1)] {
                let (found, exact) = (f(x), exactly(x, quarter));
                let known = exact.high;
                let unit = known.abs().next_up() - known.abs();
                let off = ((found - known) - exact.low).abs() / unit;
                assert!(off < 0.9, "{quarter} {x:e}: {found:e}, off by {off}");
                worst = worst.max(off);
                let apart = found.to_bits().abs_diff(known.to_bits());
                assert!(apart <= 1 || found == known, "{quarter} {x:e}: {found:e} and {known:e}");
                different += u64::from(apart > 0);
                count += 1;
            }
        }
        assert!(different * 20 < count, "{different} of {count} differ");
        // The bound that is promised is not a loose one.
        assert!(worst > 0.8, "{worst}");
    }

    #[test]
    fn they_are_the_functions_of_libm_but_for_the_last_place() {
        for number in 1..400_000 {
            let x = f64::from(number) * 0.0173;
            for (f, of_libm) in
                [(float64::sin as fn(f64) -> f64, libm::sin as fn(f64) -> f64), (float64::cos, libm::cos)]
            {
                assert!(f(x).to_bits().abs_diff(of_libm(x).to_bits()) <= 1, "{x}: {:e} and {:e}", f(x), of_libm(x));
            }
        }
    }

    #[test]
    fn near_zero_they_are_the_same() {
        for number in -300_000..=300_000 {
            let x = NEAR * f64::from(number) / 300_000.0;
            let on = &mut Numbers;
            for (f, near) in [(sin(on, x), sin_near_zero(on, x)), (cos(on, x), cos_near_zero(on, x))] {
                assert_eq!(f.to_bits(), near.to_bits(), "{x:e}");
            }
        }
    }

    #[test]
    fn ends_and_special_numbers() {
        use float64::{cos, sin};
        assert_eq!((sin(0.0).to_bits(), sin(-0.0).to_bits()), (0.0_f64.to_bits(), (-0.0_f64).to_bits()));
        assert_eq!((cos(0.0), cos(-0.0)), (1.0, 1.0));
        let least = f64::from_bits(1);
        assert_eq!((sin(least), sin(-least), cos(least)), (least, -least, 1.0));
        assert!([sin, cos].iter().all(|f| f(f64::NAN).is_nan() && f(f64::INFINITY).is_nan()));
        // To twenty digits: −6.1214…e-17 and 1.2246…e-16 are what π/2 and π lack.
        assert_eq!(cos(std::f64::consts::FRAC_PI_2), 6.123_233_995_736_766e-17);
        assert_eq!(sin(std::f64::consts::PI), 1.224_646_799_147_353_2e-16);
        // Kahan's number near a multiple of π/2 is far beyond the limit.
        assert_eq!(cos(6_381_956_970_095_103.0 * 2.0_f64.powi(797)), -4.687_165_924_254_628e-19);
        for x in [LIMIT, LIMIT.next_up(), -LIMIT, 1e6, 1e300] {
            assert!((sin(x).mul_add(sin(x), cos(x) * cos(x)) - 1.0).abs() < 4.0 * f64::EPSILON, "{x}");
        }
    }
}
