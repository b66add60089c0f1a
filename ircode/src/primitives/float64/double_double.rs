//! Numbers as the unevaluated sum of two `f64`s, of about 106 bits: Dekker, "A floating-point technique for extending
//! the available precision" (1971). For tables that are computed when the library is compiled.

/// The sum of a number and of another that is at most half a unit in its last place.
#[derive(Clone, Copy, Debug)]
pub(super) struct DoubleDouble {
    pub(super) high: f64,
    pub(super) low: f64,
}

/// The natural logarithm of 2.
pub(super) const LN_2: DoubleDouble =
    DoubleDouble { high: std::f64::consts::LN_2, low: f64::from_bits(0x3C7A_BC9E_3B39_803F) };

impl DoubleDouble {
    pub(super) const fn new(high: f64) -> Self {
        DoubleDouble { high, low: 0.0 }
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = ordered_sum(high.high, high.low + low.high);
        ordered_sum(first.high, first.low + low.low)
    }

    pub(super) const fn times(self, other: Self) -> Self {
        let high = product(self.high, other.high);
        ordered_sum(high.high, high.low + (self.high * other.low + self.low * other.high))
    }

    pub(super) const fn over(self, divisor: f64) -> Self {
        let first = self.high / divisor;
        let rest = self.plus(product(-first, divisor));
        ordered_sum(first, rest.high / divisor)
    }

    pub(super) const fn divided(self, divisor: Self) -> Self {
        let first = self.high / divisor.high;
        let rest = self.plus(divisor.times(DoubleDouble::new(-first)));
        let second = rest.high / divisor.high;
        let rest = rest.plus(divisor.times(DoubleDouble::new(-second)));
        ordered_sum(first, second).plus(DoubleDouble::new(rest.high / divisor.high))
    }

    /// The natural logarithm of a number near 1, by the series of the inverse hyperbolic tangent.
    pub(super) const fn log(of: f64) -> Self {
        let ratio = DoubleDouble::new(of)
            .plus(DoubleDouble::new(-1.0))
            .divided(DoubleDouble::new(of).plus(DoubleDouble::new(1.0)));
        let square = ratio.times(ratio);
        let mut sum = DoubleDouble::new(0.0);
        let mut term = 49.0;
        while term > 0.0 {
            sum = DoubleDouble::new(1.0).over(term).plus(sum.times(square));
            term -= 2.0;
        }
        let half = ratio.times(sum);
        DoubleDouble { high: 2.0 * half.high, low: 2.0 * half.low }
    }

    /// e to this power, for numbers from 0 to 1, by the series.
    pub(super) const fn exp(self) -> Self {
        let mut result = DoubleDouble::new(1.0);
        let mut term = 30.0;
        while term > 0.0 {
            result = DoubleDouble::new(1.0).plus(result.times(self).over(term));
            term -= 1.0;
        }
        result
    }
}

/// What is exactly the sum, for any numbers.
const fn sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    let of_b = high - a;
    DoubleDouble { high, low: (a - (high - of_b)) + (b - of_b) }
}

/// What is exactly the sum, if the first number is the larger.
const fn ordered_sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    DoubleDouble { high, low: b - (high - a) }
}

/// What is exactly the product.
const fn product(a: f64, b: f64) -> DoubleDouble {
    let high = a * b;
    let ((a, a_low), (b, b_low)) = (halves(a), halves(b));
    DoubleDouble { high, low: ((a * b - high) + a * b_low + a_low * b) + a_low * b_low }
}

/// The upper and the lower half of the digits of a number.
const fn halves(a: f64) -> (f64, f64) {
    let shifted = 134_217_729.0 * a;
    let high = shifted - (shifted - a);
    (high, a - high)
}
