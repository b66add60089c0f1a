//! The Gaussian mixtures.

use super::shares;

const D: usize = 10;
const K: usize = 25;
const FACTOR: usize = D * (D + 1) / 2;

/// Goes back through each point right after it.
pub(super) fn gmm(x: &[f64], c: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    dx.fill(0.0);
    let (weights, x) = x.split_at(K);
    let (means, factors) = x.split_at(K * D);
    let (by_weight, rest) = dx.split_at_mut(K);
    let (by_mean, by_factor) = rest.split_at_mut(K * D);
    let (mut diagonals, mut sums) = ([[0.0; D]; K], [0.0; K]);
    for (k, factor) in factors.chunks_exact(FACTOR).enumerate() {
        let mut sum = 0.0;
        for i in 0..D {
            sum += factor[i];
            diagonals[k][i] = factor[i].exp();
        }
        sums[k] = sum;
    }
    let (mut by_diagonal, mut by_sum) = ([[0.0; D]; K], [0.0; K]);
    let (mut products, mut centred) = ([[0.0; D]; K], [[0.0; D]; K]);
    let (mut terms, mut share) = ([0.0; K], [0.0; K]);
    let mut likelihood = 0.0;
    for point in c[..D * n].chunks_exact(D) {
        for (k, (mean, factor)) in means.chunks_exact(D).zip(factors.chunks_exact(FACTOR)).enumerate() {
            let (centred, product) = (&mut centred[k], &mut products[k]);
            for i in 0..D {
                centred[i] = point[i] - mean[i];
                product[i] = diagonals[k][i] * centred[i];
            }
            let mut below = &factor[D..];
            for i in 0..D {
                let (column, rest) = below.split_at(D - 1 - i);
                below = rest;
                for (product, q) in product[i + 1..].iter_mut().zip(column) {
                    *product += q * centred[i];
                }
            }
            let mut square = 0.0;
            for product in product.iter() {
                square += product * product;
            }
            terms[k] = weights[k] + sums[k] - 0.5 * square;
        }
        likelihood += shares(&terms, &mut share);
        let rows = by_mean.chunks_exact_mut(D).zip(by_factor.chunks_exact_mut(FACTOR)).zip(factors.chunks_exact(FACTOR));
        for (k, ((by_mean, by_factor), factor)) in rows.enumerate() {
            let a = share[k];
            by_weight[k] += a;
            by_sum[k] += a;
            let by_product: [f64; D] = std::array::from_fn(|i| -a * products[k][i]);
            let (mut by_below, mut below) = (&mut by_factor[D..], &factor[D..]);
            for i in 0..D {
                let (by_column, by_rest) = by_below.split_at_mut(D - 1 - i);
                let (column, rest) = below.split_at(D - 1 - i);
                (by_below, below) = (by_rest, rest);
                let centred = centred[k][i];
                let mut by_centred = by_product[i] * diagonals[k][i];
                by_diagonal[k][i] += by_product[i] * centred;
                for ((by_q, q), a) in by_column.iter_mut().zip(column).zip(&by_product[i + 1..]) {
                    *by_q += a * centred;
                    by_centred += a * q;
                }
                by_mean[i] -= by_centred;
            }
        }
    }
    let penalty = n as f64;
    let prior = shares(weights, &mut share);
    for (by_weight, share) in by_weight.iter_mut().zip(&share) {
        *by_weight -= penalty * share;
    }
    let mut wishart = 0.0;
    for (k, (by_factor, factor)) in by_factor.chunks_exact_mut(FACTOR).zip(factors.chunks_exact(FACTOR)).enumerate() {
        let mut frobenius = 0.0;
        for i in 0..D {
            let d = diagonals[k][i];
            frobenius += d * d;
            by_factor[i] = (by_diagonal[k][i] + d) * d + by_sum[k];
        }
        for (by_q, q) in by_factor[D..].iter_mut().zip(&factor[D..]) {
            frobenius += q * q;
            *by_q += q;
        }
        wishart += 0.5 * frobenius;
    }
    likelihood - penalty * prior + wishart
}
