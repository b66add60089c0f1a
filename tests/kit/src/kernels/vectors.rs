//! Passes over arrays.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use libm::erf;

/// The distribution function of the normal distribution.
fn normal(d: f64) -> f64 {
    0.5 * (1.0 + erf(d * FRAC_1_SQRT_2))
}

/// Black and Scholes: the sum of n call options; x has stock, strike, rate, volatility and time of each.
pub(super) fn bs(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for option in x[..5 * n].chunks_exact(5) {
        let &[stock, strike, rate, sigma, time] = option else { continue };
        let spread = sigma * time.sqrt();
        let d1 = ((stock / strike).ln() + (rate + 0.5 * sigma * sigma) * time) / spread;
        let d2 = d1 - spread;
        total += stock * normal(d1) - strike * (-rate * time).exp() * normal(d2);
    }
    total
}

/// The price changes with d1 and d2 alike, so that the gradient is what traders know as the Greeks.
pub(super) fn bs_gradient(x: &[f64], _: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let density = 1.0 / (2.0 * PI).sqrt();
    let mut total = 0.0;
    for (option, dx) in x[..5 * n].chunks_exact(5).zip(dx.chunks_exact_mut(5)) {
        let &[stock, strike, rate, sigma, time] = option else { continue };
        let root = time.sqrt();
        let spread = sigma * root;
        let d1 = ((stock / strike).ln() + (rate + 0.5 * sigma * sigma) * time) / spread;
        let n1 = normal(d1);
        let discounted = (-rate * time).exp() * normal(d1 - spread);
        let vega = stock * density * (-0.5 * d1 * d1).exp() * root;
        total += stock * n1 - strike * discounted;
        let by_rate = strike * discounted;
        let by_time = vega * sigma / (2.0 * time) + rate * by_rate;
        dx.copy_from_slice(&[n1, -discounted, time * by_rate, vega, by_time]);
    }
    total
}

/// A triangle of products: Σᵢ (Σ_{j ≤ i} xⱼ c_{i-j})².
pub(super) fn tri(x: &[f64], c: &[f64], n: usize) -> f64 {
    (0..n).map(|i| convolution(x, c, i).powi(2)).sum()
}

fn convolution(x: &[f64], c: &[f64], i: usize) -> f64 {
    x[..=i].iter().zip(c[..=i].iter().rev()).map(|(x, c)| x * c).sum()
}

pub(super) fn tri_gradient(x: &[f64], c: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    dx[..n].fill(0.0);
    let mut total = 0.0;
    for i in 0..n {
        let a = convolution(x, c, i);
        total += a * a;
        for (dx, c) in dx[..=i].iter_mut().zip(c[..=i].iter().rev()) {
            *dx += 2.0 * a * c;
        }
    }
    total
}

/// The sum of squares.
pub(super) fn sumsq(x: &[f64], _: &[f64], n: usize) -> f64 {
    x[..n].iter().map(|x| x * x).sum()
}

pub(super) fn sumsq_gradient(x: &[f64], _: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let mut total = 0.0;
    for (&x, dx) in x[..n].iter().zip(dx) {
        total += x * x;
        *dx = 2.0 * x;
    }
    total
}

/// The solution of L w = b, where x has L by rows, of which the lower half is used, and then b.
fn substitute(x: &[f64], n: usize) -> Vec<f64> {
    let (l, b) = x.split_at(n * n);
    let mut w = b[..n].to_vec();
    for i in 0..n {
        let row = &l[i * n..=i * n + i];
        let (known, rest) = w.split_at_mut(i);
        let sum = known.iter().zip(row).fold(rest[0], |sum, (w, l)| sum - l * w);
        rest[0] = sum / row[i];
    }
    w
}

/// Forward substitution: the squared length of the solution.
pub(super) fn fsub(x: &[f64], _: &[f64], n: usize) -> f64 {
    substitute(x, n).iter().map(|w| w * w).sum()
}

/// The transposed system, solved backwards.
pub(super) fn fsub_gradient(x: &[f64], _: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let w = substitute(x, n);
    let (l, (dl, db)) = (&x[..n * n], dx.split_at_mut(n * n));
    let mut adjoint: Vec<f64> = w.iter().map(|w| 2.0 * w).collect();
    for i in (0..n).rev() {
        let row = &l[i * n..=i * n + i];
        let a = adjoint[i] / row[i];
        db[i] = a;
        let (used, unused) = dl[i * n..(i + 1) * n].split_at_mut(i + 1);
        for (dl, w) in used.iter_mut().zip(&w) {
            *dl = -a * w;
        }
        unused.fill(0.0);
        for (adjoint, l) in adjoint[..i].iter_mut().zip(row) {
            *adjoint -= a * l;
        }
    }
    w.iter().map(|w| w * w).sum()
}

/// The logarithm of a sum of exponentials, by way of the maximum.
pub(super) fn lse(x: &[f64], _: &[f64], n: usize) -> f64 {
    let m = maximum(&x[..n]);
    m + x[..n].iter().map(|x| (x - m).exp()).sum::<f64>().ln()
}

/// The same, with the weight of each number: the gradient.
pub(super) fn lse_gradient(x: &[f64], _: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let m = maximum(&x[..n]);
    let mut sum = 0.0;
    for (x, dx) in x[..n].iter().zip(dx.iter_mut()) {
        *dx = (x - m).exp();
        sum += *dx;
    }
    for dx in &mut dx[..n] {
        *dx /= sum;
    }
    m + sum.ln()
}

fn maximum(x: &[f64]) -> f64 {
    x[1..].iter().fold(x[0], |m, &x| if x > m { x } else { m })
}

/// Rosenbrock's function in n dimensions.
pub(super) fn rosen(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for pair in x[..n].windows(2) {
        let a = 1.0 - pair[0];
        let b = pair[1] - pair[0] * pair[0];
        total += a * a + 100.0 * (b * b);
    }
    total
}

pub(super) fn rosen_gradient(x: &[f64], _: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let mut total = 0.0;
    // What the pair before gave its second number.
    let mut from_left = 0.0;
    for (pair, dx) in x[..n].windows(2).zip(dx.iter_mut()) {
        let a = 1.0 - pair[0];
        let b = pair[1] - pair[0] * pair[0];
        total += a * a + 100.0 * (b * b);
        *dx = from_left - 2.0 * a - 400.0 * b * pair[0];
        from_left = 200.0 * b;
    }
    if let Some(last) = dx[..n].last_mut() {
        *last = from_left;
    }
    total
}
