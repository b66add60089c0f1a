//! The kernels, generic in what they compute with.

use super::Number;

/// `f(x, c, n)`.
pub(crate) type Kernel<T> = fn(&[T], &[f64], usize) -> T;

/// The kernel of this name.
pub(crate) fn find<T: Number>(name: &str) -> Option<Kernel<T>> {
    Some(match name {
        "bs" => bs,
        "branch" => branch,
        "sincos" => sincos,
        "logistic" => logistic,
        "newton" => newton,
        "tri" => tri,
        "sumsq" => sumsq,
        "fsub" => fsub,
        "lse" => |x, _, _| log_sum(x),
        "rosen" => rosen,
        "mlp" => mlp,
        "gmm" => gmm,
        "ba" => ba,
        "ode" => ode,
        "sum" => |x, _, n| x[..n].iter().fold(constant(0.0), |sum, &x| sum + x),
        "sumsin" => |x, _, n| x[..n].iter().fold(constant(0.0), |sum, &x| sum + x.sin()),
        _ => return None,
    })
}

fn constant<T: Number>(x: f64) -> T {
    T::from_f(x)
}

/// Φ, the normal distribution.
fn normal<T: Number>(d: T) -> T {
    ((d * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0) * 0.5
}

fn bs<T: Number>(x: &[T], _: &[f64], n: usize) -> T {
    let mut total = constant::<T>(0.0);
    for option in x[..5 * n].chunks_exact(5) {
        let (stock, strike, rate, sigma, time) = (option[0], option[1], option[2], option[3], option[4]);
        let spread = sigma * time.sqrt();
        let d1 = ((stock / strike).ln() + (rate + sigma * 0.5 * sigma) * time) / spread;
        let d2 = d1 - spread;
        total = total + stock * normal(d1) - strike * (-rate * time).exp() * normal(d2);
    }
    total
}

fn branch<T: Number>(x: &[T], c: &[f64], n: usize) -> T {
    let mut y = x[0];
    for &c in &c[..n] {
        if y.value() < c {
            y = x[1] * y + 0.3;
        } else if c < 0.25 {
            y = x[2] * y * y + 0.1;
        } else {
            let d = y - 0.5;
            y = y * 0.6 + d * 0.05 * d - x[1] * 0.01;
        }
    }
    y
}

fn sincos<T: Number>(x: &[T], _: &[f64], n: usize) -> T {
    let mut y = x[0];
    for _ in 0..n {
        y = y.sin() * y.cos();
    }
    y
}

fn logistic<T: Number>(x: &[T], _: &[f64], n: usize) -> T {
    let mut y = x[1];
    for _ in 0..n {
        y = x[0] * y * (-y + 1.0);
    }
    y
}

fn newton<T: Number>(x: &[T], _: &[f64], n: usize) -> T {
    let mut total = constant::<T>(0.0);
    for &x in &x[..n] {
        let mut y = x;
        loop {
            let z = (y + x / y) * 0.5;
            let e = z.value() - y.value();
            y = z;
            let goes_on = e.abs() > 1e-9;
            if !goes_on {
                break;
            }
        }
        total = total + y;
    }
    total
}

fn tri<T: Number>(x: &[T], c: &[f64], n: usize) -> T {
    let mut total = constant::<T>(0.0);
    for i in 0..n {
        let mut a = constant::<T>(0.0);
        for (&x, &c) in x[..=i].iter().zip(c[..=i].iter().rev()) {
            a = a + x * c;
        }
        total = total + a * a;
    }
    total
}

fn sumsq<T: Number>(x: &[T], _: &[f64], n: usize) -> T {
    let mut total = constant::<T>(0.0);
    for &x in &x[..n] {
        total = total + x * x;
    }
    total
}

fn fsub<T: Number>(x: &[T], _: &[f64], n: usize) -> T {
    let (l, b) = x.split_at(n * n);
    let mut w = b[..n].to_vec();
    for i in 0..n {
        let row = &l[i * n..=i * n + i];
        let mut sum = w[i];
        for (&l, &w) in row[..i].iter().zip(&w) {
            sum = sum - l * w;
        }
        w[i] = sum / row[i];
    }
    let mut total = constant::<T>(0.0);
    for w in w {
        total = total + w * w;
    }
    total
}

fn log_sum<T: Number>(x: &[T]) -> T {
    let mut m = x[0];
    for &x in &x[1..] {
        if x.value() > m.value() {
            m = x;
        }
    }
    let mut total = constant::<T>(0.0);
    for &x in x {
        total = total + (x - m).exp();
    }
    m + total.ln()
}

fn rosen<T: Number>(x: &[T], _: &[f64], n: usize) -> T {
    let mut total = constant::<T>(0.0);
    for pair in x[..n].windows(2) {
        let a = -pair[0] + 1.0;
        let b = pair[1] - pair[0] * pair[0];
        total = total + a * a + b * b * 100.0;
    }
    total
}

fn mlp<T: Number>(x: &[T], c: &[f64], n: usize) -> T {
    const INPUTS: usize = 32;
    const HIDDEN: usize = 64;
    let (w1, x) = x.split_at(HIDDEN * INPUTS);
    let (b1, x) = x.split_at(HIDDEN);
    let (w2, x) = x.split_at(HIDDEN * HIDDEN);
    let (b2, x) = x.split_at(HIDDEN);
    let (w3, b3) = x.split_at(HIDDEN);
    let (samples, targets) = c.split_at(INPUTS * n);
    let (mut h1, mut h2) = ([constant::<T>(0.0); HIDDEN], [constant::<T>(0.0); HIDDEN]);
    let mut loss = constant(0.0);
    for (sample, &target) in samples.chunks_exact(INPUTS).zip(targets) {
        for i in 0..HIDDEN {
            let mut a = b1[i];
            for (&w, &u) in w1[i * INPUTS..(i + 1) * INPUTS].iter().zip(sample) {
                a = a + w * u;
            }
            h1[i] = a.tanh();
        }
        for i in 0..HIDDEN {
            let mut a = b2[i];
            for (&w, &h) in w2[i * HIDDEN..(i + 1) * HIDDEN].iter().zip(&h1) {
                a = a + w * h;
            }
            h2[i] = a.tanh();
        }
        let mut o = b3[0];
        for (&w, &h) in w3.iter().zip(&h2) {
            o = o + w * h;
        }
        let e = o - target;
        loss = loss + e * e;
    }
    loss
}

fn gmm<T: Number>(x: &[T], c: &[f64], n: usize) -> T {
    const D: usize = 10;
    const K: usize = 25;
    const FACTOR: usize = D * (D + 1) / 2;
    let zero = constant::<T>(0.0);
    let (weights, x) = x.split_at(K);
    let (means, factors) = x.split_at(K * D);
    let (mut diagonals, mut sums) = ([[zero; D]; K], [zero; K]);
    for (k, factor) in factors.chunks_exact(FACTOR).enumerate() {
        for i in 0..D {
            sums[k] = sums[k] + factor[i];
            diagonals[k][i] = factor[i].exp();
        }
    }
    let mut likelihood = zero;
    let mut terms = [zero; K];
    for point in c[..D * n].chunks_exact(D) {
        for (k, (mean, factor)) in means.chunks_exact(D).zip(factors.chunks_exact(FACTOR)).enumerate() {
            let (mut centred, mut product) = ([zero; D], [zero; D]);
            for i in 0..D {
                centred[i] = -mean[i] + point[i];
                product[i] = diagonals[k][i] * centred[i];
            }
            let mut below = &factor[D..];
            for i in 0..D {
                let (column, rest) = below.split_at(D - 1 - i);
                below = rest;
                for (product, &q) in product[i + 1..].iter_mut().zip(column) {
                    *product = *product + q * centred[i];
                }
            }
            let mut square = zero;
            for product in product {
                square = square + product * product;
            }
            terms[k] = weights[k] + sums[k] - square * 0.5;
        }
        likelihood = likelihood + log_sum(&terms);
    }
    let mut wishart = zero;
    for (diagonal, factor) in diagonals.iter().zip(factors.chunks_exact(FACTOR)) {
        let mut frobenius = zero;
        for &q in diagonal.iter().chain(&factor[D..]) {
            frobenius = frobenius + q * q;
        }
        wishart = wishart + frobenius * 0.5;
    }
    likelihood - log_sum(weights) * n as f64 + wishart
}

fn dot<T: Number>(a: [T; 3], b: [T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross<T: Number>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn rotate<T: Number>(r: [T; 3], p: [T; 3]) -> [T; 3] {
    let square = dot(r, r);
    if square.value() > 1e-30 {
        let theta = square.sqrt();
        let (sine, cosine) = (theta.sin(), theta.cos());
        let inverse = theta.recip();
        let axis = r.map(|r| r * inverse);
        let across = cross(axis, p);
        let along = dot(axis, p) * (-cosine + 1.0);
        std::array::from_fn(|i| p[i] * cosine + across[i] * sine + axis[i] * along)
    } else {
        let across = cross(r, p);
        std::array::from_fn(|i| p[i] + across[i])
    }
}

fn ba<T: Number>(x: &[T], c: &[f64], n: usize) -> T {
    let mut total = constant::<T>(0.0);
    for (x, seen) in x[..15 * n].chunks_exact(15).zip(c[..2 * n].chunks_exact(2)) {
        let rotated = rotate([x[0], x[1], x[2]], [x[11] - x[3], x[12] - x[4], x[13] - x[5]]);
        let (u, v) = (rotated[0] / rotated[2], rotated[1] / rotated[2]);
        let radius = u * u + v * v;
        let distortion = x[9] * radius + x[10] * radius * radius + 1.0;
        let (px, py) = (x[6] * (u * distortion) + x[7], x[6] * (v * distortion) + x[8]);
        let (e1, e2, e3) = (x[14] * (px - seen[0]), x[14] * (py - seen[1]), -(x[14] * x[14]) + 1.0);
        total = total + e1 * e1 + e2 * e2 + e3 * e3;
    }
    total
}

fn ode<T: Number>(x: &[T], _: &[f64], n: usize) -> T {
    const STEP: f64 = 0.01;
    let slope = |u: T, v: T| (x[2] * u - x[3] * u * v, x[5] * u * v - x[4] * v);
    let (mut u, mut v) = (x[0], x[1]);
    for _ in 0..n {
        let (k1u, k1v) = slope(u, v);
        let (k2u, k2v) = slope(u + k1u * (0.5 * STEP), v + k1v * (0.5 * STEP));
        let (k3u, k3v) = slope(u + k2u * (0.5 * STEP), v + k2v * (0.5 * STEP));
        let (k4u, k4v) = slope(u + k3u * STEP, v + k3v * STEP);
        u = u + (k1u + k2u * 2.0 + k3u * 2.0 + k4u) * (STEP / 6.0);
        v = v + (k1v + k2v * 2.0 + k3v * 2.0 + k4v) * (STEP / 6.0);
    }
    u + v
}
