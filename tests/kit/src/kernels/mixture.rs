//! The Gaussian mixtures of ADBench.

/// Dimensions.
pub(super) const D: usize = 10;
/// How many Gaussians there are.
const K: usize = 25;
/// The numbers of an inverse covariance factor: the logarithms of its diagonal, then its lower half by columns.
const FACTOR: usize = D * (D + 1) / 2;
/// Weights, means and factors.
pub(super) const PARAMETERS: usize = K + K * D + K * FACTOR;

/// What does not depend on the points.
struct Mixture<'x> {
    weights: &'x [f64],
    means: &'x [f64],
    factors: &'x [f64],
    /// The diagonals of the factors.
    diagonals: [f64; K * D],
    /// The logarithms of their determinants.
    sums: [f64; K],
}

impl<'x> Mixture<'x> {
    fn new(x: &'x [f64]) -> Self {
        let (weights, x) = x.split_at(K);
        let (means, factors) = x.split_at(K * D);
        let (mut diagonals, mut sums) = ([0.0; K * D], [0.0; K]);
        for (g, factor) in factors.chunks_exact(FACTOR).enumerate() {
            for (i, log) in factor[..D].iter().enumerate() {
                diagonals[g * D + i] = log.exp();
                sums[g] += log;
            }
        }
        Mixture { weights, means, factors, diagonals, sums }
    }

    /// The point less the mean of a Gaussian.
    fn centred(&self, g: usize, point: &[f64]) -> [f64; D] {
        std::array::from_fn(|i| point[i] - self.means[g * D + i])
    }

    /// The factor of a Gaussian times a vector.
    fn product(&self, g: usize, centred: &[f64; D]) -> [f64; D] {
        let mut product = std::array::from_fn(|i| self.diagonals[g * D + i] * centred[i]);
        let mut column = &self.factors[g * FACTOR + D..(g + 1) * FACTOR];
        for i in 0..D {
            let (this, rest) = column.split_at(D - 1 - i);
            column = rest;
            for (product, q) in product[i + 1..].iter_mut().zip(this) {
                *product += q * centred[i];
            }
        }
        product
    }

    fn main_term(&self, g: usize, product: &[f64; D]) -> f64 {
        self.weights[g] + self.sums[g] - 0.5 * product.iter().map(|q| q * q).sum::<f64>()
    }

    fn wishart(&self) -> f64 {
        let diagonals = self.diagonals.chunks_exact(D);
        let squares = |values: &[f64]| values.iter().map(|q| q * q).sum::<f64>();
        let frobenius =
            diagonals.zip(self.factors.chunks_exact(FACTOR)).map(|(diagonal, q)| squares(diagonal) + squares(&q[D..]));
        frobenius.map(|frobenius| 0.5 * frobenius).sum()
    }
}

/// The logarithm of the sum of exponentials; leaves the weight of each in its place.
fn softmax(values: &mut [f64; K]) -> f64 {
    let m = values[1..].iter().fold(values[0], |m, &v| if v > m { v } else { m });
    let mut sum = 0.0;
    for value in values.iter_mut() {
        *value = (*value - m).exp();
        sum += *value;
    }
    for value in values.iter_mut() {
        *value /= sum;
    }
    m + sum.ln()
}

/// The logarithm of the likelihood of n points, and a penalty; x has weights, means and factors, c the points.
pub(super) fn gmm(x: &[f64], c: &[f64], n: usize) -> f64 {
    let mixture = Mixture::new(x);
    let mut total = 0.0;
    for point in c[..n * D].chunks_exact(D) {
        let mut terms = std::array::from_fn(|g| mixture.main_term(g, &mixture.product(g, &mixture.centred(g, point))));
        total += softmax(&mut terms);
    }
    let mut weights = std::array::from_fn(|g| mixture.weights[g]);
    total - n as f64 * softmax(&mut weights) + mixture.wishart()
}

/// Goes back through each point right after it.
pub(super) fn gmm_gradient(x: &[f64], c: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    dx.fill(0.0);
    let (by_weight, rest) = dx.split_at_mut(K);
    let (by_mean, by_factor) = rest.split_at_mut(K * D);
    let mixture = Mixture::new(x);
    let (mut by_diagonal, mut by_sum) = ([0.0; K * D], [0.0; K]);
    let mut total = 0.0;
    for point in c[..n * D].chunks_exact(D) {
        let mut products = [[0.0; D]; K];
        let mut terms = [0.0; K];
        for g in 0..K {
            products[g] = mixture.product(g, &mixture.centred(g, point));
            terms[g] = mixture.main_term(g, &products[g]);
        }
        total += softmax(&mut terms);
        for g in 0..K {
            let a = terms[g];
            by_weight[g] += a;
            by_sum[g] += a;
            let centred = mixture.centred(g, point);
            let by_product: [f64; D] = std::array::from_fn(|i| -a * products[g][i]);
            let mut below = g * FACTOR + D;
            for i in 0..D {
                let mut by_centred = by_product[i] * mixture.diagonals[g * D + i];
                by_diagonal[g * D + i] += by_product[i] * centred[i];
                let column = below..below + D - 1 - i;
                below = column.end;
                let pairs = by_factor[column.clone()].iter_mut().zip(&mixture.factors[column]);
                for ((by_q, q), a) in pairs.zip(&by_product[i + 1..]) {
                    *by_q += a * centred[i];
                    by_centred += a * q;
                }
                by_mean[g * D + i] -= by_centred;
            }
        }
    }
    let mut weights = std::array::from_fn(|g| mixture.weights[g]);
    total -= n as f64 * softmax(&mut weights);
    for (by_weight, weight) in by_weight.iter_mut().zip(&weights) {
        *by_weight -= n as f64 * weight;
    }
    for (g, (by_q, q)) in by_factor.chunks_exact_mut(FACTOR).zip(mixture.factors.chunks_exact(FACTOR)).enumerate() {
        for i in 0..D {
            let diagonal = mixture.diagonals[g * D + i];
            by_q[i] = (by_diagonal[g * D + i] + diagonal) * diagonal + by_sum[g];
        }
        for (by_q, q) in by_q[D..].iter_mut().zip(&q[D..]) {
            *by_q += q;
        }
    }
    total + mixture.wishart()
}
