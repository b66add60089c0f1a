//! The kernels as one writes them in Rust: loops over slices, which are cut to length before so that no bounds are
//! checked within.

use super::erf;

/// `f(x, c, n)`.
pub type Value = fn(&[f64], &[f64], usize) -> f64;

/// The kernel of this name.
pub fn find(name: &str) -> Option<Value> {
    Some(match name {
        "bs" => bs,
        "branch" => branch,
        "sincos" => sincos,
        "logistic" => logistic,
        "newton" => newton,
        "tri" => tri,
        "sumsq" => sumsq,
        "fsub" => fsub,
        "lse" => lse,
        "rosen" => rosen,
        "mlp" => mlp,
        "gmm" => gmm,
        "ba" => ba,
        "ode" => ode,
        "sum" => sum,
        "sumsin" => sumsin,
        _ => return None,
    })
}

fn sum(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for &x in &x[..n] {
        total += x;
    }
    total
}

fn sumsin(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for &x in &x[..n] {
        total += x.sin();
    }
    total
}

fn bs(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for option in x[..5 * n].chunks_exact(5) {
        let (stock, strike, rate, sigma, time) = (option[0], option[1], option[2], option[3], option[4]);
        let spread = sigma * time.sqrt();
        let d1 = ((stock / strike).ln() + (rate + 0.5 * sigma * sigma) * time) / spread;
        let d2 = d1 - spread;
        let n1 = 0.5 * (1.0 + erf(d1 * std::f64::consts::FRAC_1_SQRT_2));
        let n2 = 0.5 * (1.0 + erf(d2 * std::f64::consts::FRAC_1_SQRT_2));
        total += stock * n1 - strike * (-rate * time).exp() * n2;
    }
    total
}

fn branch(x: &[f64], c: &[f64], n: usize) -> f64 {
    let (mut y, a, b) = (x[0], x[1], x[2]);
    for &c in &c[..n] {
        if y < c {
            y = a * y + 0.3;
        } else if c < 0.25 {
            y = b * y * y + 0.1;
        } else {
            let d = y - 0.5;
            y = 0.6 * y + 0.05 * d * d - a * 0.01;
        }
    }
    y
}

fn sincos(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut y = x[0];
    for _ in 0..n {
        let (sine, cosine) = y.sin_cos();
        y = sine * cosine;
    }
    y
}

fn logistic(x: &[f64], _: &[f64], n: usize) -> f64 {
    let (a, mut y) = (x[0], x[1]);
    for _ in 0..n {
        y = a * y * (1.0 - y);
    }
    y
}

fn newton(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for &x in &x[..n] {
        let mut y = x;
        loop {
            let z = 0.5 * (y + x / y);
            let e = z - y;
            y = z;
            if !(e < -1e-9 || e > 1e-9) {
                break;
            }
        }
        total += y;
    }
    total
}

fn tri(x: &[f64], c: &[f64], n: usize) -> f64 {
    let (x, c) = (&x[..n], &c[..n]);
    let mut total = 0.0;
    for i in 0..n {
        let mut a = 0.0;
        for (x, c) in x[..=i].iter().zip(c[..=i].iter().rev()) {
            a += x * c;
        }
        total += a * a;
    }
    total
}

fn sumsq(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for x in &x[..n] {
        total += x * x;
    }
    total
}

fn fsub(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut memory = [0.0; 256];
    let w = &mut memory[..n];
    let (l, b) = x.split_at(n * n);
    w.copy_from_slice(&b[..n]);
    for i in 0..n {
        let row = &l[i * n..=i * n + i];
        let mut sum = w[i];
        for (l, w) in row[..i].iter().zip(&w[..i]) {
            sum -= l * w;
        }
        w[i] = sum / row[i];
    }
    let mut total = 0.0;
    for w in w.iter() {
        total += w * w;
    }
    total
}

/// The logarithm of a sum of exponentials.
fn log_sum(x: &[f64]) -> f64 {
    let mut m = x[0];
    for &x in &x[1..] {
        if x > m {
            m = x;
        }
    }
    let mut total = 0.0;
    for x in x {
        total += (x - m).exp();
    }
    m + total.ln()
}

fn lse(x: &[f64], _: &[f64], n: usize) -> f64 {
    log_sum(&x[..n])
}

fn rosen(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for pair in x[..n].windows(2) {
        let a = 1.0 - pair[0];
        let b = pair[1] - pair[0] * pair[0];
        total += a * a + 100.0 * (b * b);
    }
    total
}

fn mlp(x: &[f64], c: &[f64], n: usize) -> f64 {
    const INPUTS: usize = 32;
    const HIDDEN: usize = 64;
    let (w1, x) = x.split_at(HIDDEN * INPUTS);
    let (b1, x) = x.split_at(HIDDEN);
    let (w2, x) = x.split_at(HIDDEN * HIDDEN);
    let (b2, x) = x.split_at(HIDDEN);
    let (w3, b3) = x.split_at(HIDDEN);
    let (samples, targets) = c.split_at(INPUTS * n);
    let (mut h1, mut h2) = ([0.0; HIDDEN], [0.0; HIDDEN]);
    let mut loss = 0.0;
    for (sample, target) in samples.chunks_exact(INPUTS).zip(targets) {
        for i in 0..HIDDEN {
            let mut a = b1[i];
            for (w, u) in w1[i * INPUTS..(i + 1) * INPUTS].iter().zip(sample) {
                a += w * u;
            }
            h1[i] = a.tanh();
        }
        for i in 0..HIDDEN {
            let mut a = b2[i];
            for (w, h) in w2[i * HIDDEN..(i + 1) * HIDDEN].iter().zip(&h1) {
                a += w * h;
            }
            h2[i] = a.tanh();
        }
        let mut o = b3[0];
        for (w, h) in w3.iter().zip(&h2) {
            o += w * h;
        }
        let e = o - target;
        loss += e * e;
    }
    loss
}

fn gmm(x: &[f64], c: &[f64], n: usize) -> f64 {
    const D: usize = 10;
    const K: usize = 25;
    const FACTOR: usize = D * (D + 1) / 2;
    let (weights, x) = x.split_at(K);
    let (means, factors) = x.split_at(K * D);
    let (mut diagonals, mut sums) = ([[0.0; D]; K], [0.0; K]);
    for (k, factor) in factors.chunks_exact(FACTOR).enumerate() {
        let mut sum = 0.0;
        for i in 0..D {
            sum += factor[i];
            diagonals[k][i] = factor[i].exp();
        }
        sums[k] = sum;
    }
    let mut likelihood = 0.0;
    let mut terms = [0.0; K];
    for point in c[..D * n].chunks_exact(D) {
        for (k, (mean, factor)) in means.chunks_exact(D).zip(factors.chunks_exact(FACTOR)).enumerate() {
            let (mut centred, mut product) = ([0.0; D], [0.0; D]);
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
            for product in product {
                square += product * product;
            }
            terms[k] = weights[k] + sums[k] - 0.5 * square;
        }
        likelihood += log_sum(&terms);
    }
    let mut wishart = 0.0;
    for (diagonal, factor) in diagonals.iter().zip(factors.chunks_exact(FACTOR)) {
        let mut frobenius = 0.0;
        for d in diagonal {
            frobenius += d * d;
        }
        for q in &factor[D..] {
            frobenius += q * q;
        }
        wishart += 0.5 * frobenius;
    }
    likelihood - n as f64 * log_sum(weights) + wishart
}

fn ba(x: &[f64], c: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for (x, seen) in x[..15 * n].chunks_exact(15).zip(c[..2 * n].chunks_exact(2)) {
        total += super::models::observation(x, seen);
    }
    total
}

fn ode(x: &[f64], _: &[f64], n: usize) -> f64 {
    super::models::orbit(x, n)
}
