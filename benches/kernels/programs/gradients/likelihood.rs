//! The Gaussian mixtures.

use super::shares;

const D: usize = 10;
const K: usize = 25;
const FACTOR: usize = D * (D + 1) / 2;

/// The factor of a Gaussian times a vector; the diagonal is in a place of its own.
fn product(diagonal: &[f64; D], factor: &[f64; FACTOR], centred: &[f64; D]) -> [f64; D] {
    let mut product = [0.0; D];
    for i in 0..D {
        product[i] = diagonal[i] * centred[i];
    }
    let mut below = &factor[D..];
    for i in 0..D {
        let (column, rest) = below.split_at(D - 1 - i);
        below = rest;
        for (product, q) in product[i + 1..].iter_mut().zip(column) {
            *product += q * centred[i];
        }
    }
    product
}

/// What the adjoint of the product gives the factor, with its diagonal first, and, subtracted, the mean.
fn product_reverse(
    (diagonal, factor): (&[f64; D], &[f64; FACTOR]),
    centred: &[f64; D],
    adjoint: &[f64; D],
    by_factor: &mut [f64; FACTOR],
    by_mean: &mut [f64; D],
) {
    for i in 0..D {
        by_factor[i] += adjoint[i] * centred[i];
    }
    let mut by_below = &mut by_factor[D..];
    for i in 0..D {
        let (by_column, by_rest) = by_below.split_at_mut(D - 1 - i);
        by_below = by_rest;
        for (by_q, adjoint) in by_column.iter_mut().zip(&adjoint[i + 1..]) {
            *by_q += adjoint * centred[i];
        }
    }
    let mut below = &factor[D..];
    for i in 0..D {
        let (column, rest) = below.split_at(D - 1 - i);
        below = rest;
        let mut by_centred = adjoint[i] * diagonal[i];
        for (q, adjoint) in column.iter().zip(&adjoint[i + 1..]) {
            by_centred += adjoint * q;
        }
        by_mean[i] -= by_centred;
    }
}

/// Goes back through each point right after it.
pub(super) fn gmm(x: &[f64], c: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    dx.fill(0.0);
    let (weights, x) = x.split_at(K);
    let (means, factors) = x.split_at(K * D);
    let (by_weight, rest) = dx.split_at_mut(K);
    let (by_mean, by_factor) = rest.split_at_mut(K * D);
    let (means, factors) = (&means.as_chunks::<D>().0[..K], &factors.as_chunks::<FACTOR>().0[..K]);
    let by_mean = &mut by_mean.as_chunks_mut::<D>().0[..K];
    let by_factor = &mut by_factor.as_chunks_mut::<FACTOR>().0[..K];
    let (mut diagonals, mut sums) = ([[0.0; D]; K], [0.0; K]);
    for k in 0..K {
        for i in 0..D {
            sums[k] += factors[k][i];
            diagonals[k][i] = factors[k][i].exp();
        }
    }
    let (mut products, mut centred) = ([[0.0; D]; K], [[0.0; D]; K]);
    let (mut terms, mut share, mut by_sum) = ([0.0; K], [0.0; K], [0.0; K]);
    let mut likelihood = 0.0;
    for point in &c.as_chunks::<D>().0[..n] {
        for k in 0..K {
            for i in 0..D {
                centred[k][i] = point[i] - means[k][i];
            }
            products[k] = product(&diagonals[k], &factors[k], &centred[k]);
            let mut square = 0.0;
            for product in products[k] {
                square += product * product;
            }
            terms[k] = weights[k] + sums[k] - 0.5 * square;
        }
        likelihood += shares(&terms, &mut share);
        for k in 0..K {
            by_sum[k] += share[k];
            let adjoint = products[k].map(|product| -share[k] * product);
            product_reverse((&diagonals[k], &factors[k]), &centred[k], &adjoint, &mut by_factor[k], &mut by_mean[k]);
        }
    }
    let penalty = n as f64;
    let prior = shares(weights, &mut share);
    let mut wishart = 0.0;
    for k in 0..K {
        by_weight[k] = by_sum[k] - penalty * share[k];
        let mut frobenius = 0.0;
        for i in 0..D {
            let d = diagonals[k][i];
            frobenius += d * d;
            by_factor[k][i] = (by_factor[k][i] + d) * d + by_sum[k];
        }
        for i in D..FACTOR {
            frobenius += factors[k][i] * factors[k][i];
            by_factor[k][i] += factors[k][i];
        }
        wishart += 0.5 * frobenius;
    }
    likelihood - penalty * prior + wishart
}
