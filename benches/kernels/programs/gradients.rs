//! Reverse sweeps of the kernels by hand: value and gradient, in strict scalar Rust without `unsafe`.
//!
//! What a person would do is done — expensive results are kept, a division becomes a multiplication with an inverse
//! that is there already, what the adjoint of a branch needs is kept in a form without branches, and where the function
//! waits for one sum, something else is computed beside it. What would make the function itself faster, such as summing
//! several rows at once, is not, as the kernels do not do so either; nor is a derivative carried forward where there
//! are few arguments.

mod likelihood;
mod projection;

use super::erf;
use super::models::{Rates, STEP};

/// `f(x, c, n, dx, saved)`: gives the value and writes the gradient for x into `dx`, whatever that held. `saved` is
/// memory for what the way back needs; it is kept from call to call.
pub type Gradient = fn(&[f64], &[f64], usize, &mut [f64], &mut Vec<f64>) -> f64;

/// The kernel of this name.
pub fn find(name: &str) -> Option<Gradient> {
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
        "gmm" => likelihood::gmm,
        "ba" => projection::ba,
        "ode" => ode,
        "sum" => sum,
        "sumsin" => sumsin,
        _ => return None,
    })
}

fn sum(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    let mut total = 0.0;
    for &x in &x[..n] {
        total += x;
    }
    dx[..n].fill(1.0);
    total
}

fn sumsin(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    let mut total = 0.0;
    for (&x, dx) in x[..n].iter().zip(&mut dx[..n]) {
        let (sine, cosine) = x.sin_cos();
        total += sine;
        *dx = cosine;
    }
    total
}

fn bs(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    /// 1 / √(2π)
    const DENSITY: f64 = 0.398_942_280_401_432_7;
    let mut total = 0.0;
    for (option, dx) in x[..5 * n].chunks_exact(5).zip(dx[..5 * n].chunks_exact_mut(5)) {
        let (stock, strike, rate, sigma, time) = (option[0], option[1], option[2], option[3], option[4]);
        let root = time.sqrt();
        let spread = sigma * root;
        let d1 = ((stock / strike).ln() + (rate + 0.5 * sigma * sigma) * time) / spread;
        let d2 = d1 - spread;
        let n1 = 0.5 * (1.0 + erf(d1 * std::f64::consts::FRAC_1_SQRT_2));
        let n2 = 0.5 * (1.0 + erf(d2 * std::f64::consts::FRAC_1_SQRT_2));
        let discount = (-rate * time).exp();
        total += stock * n1 - strike * discount * n2;
        // Both densities of the normal distribution give the same here: S φ(d1) = K e^(-rT) φ(d2).
        let density = stock * DENSITY * (-0.5 * d1 * d1).exp();
        let discounted = discount * n2;
        dx[0] = n1;
        dx[1] = -discounted;
        dx[2] = strike * time * discounted;
        dx[3] = density * root;
        dx[4] = density * sigma * (0.5 / root) + rate * strike * discounted;
    }
    total
}

/// Keeps of each step how y, a and b go on to the next: the way back has no branches that could be predicted wrongly.
fn branch(x: &[f64], c: &[f64], n: usize, dx: &mut [f64], saved: &mut Vec<f64>) -> f64 {
    let (mut y, a, b) = (x[0], x[1], x[2]);
    saved.resize(3 * n, 0.0);
    for (&c, saved) in c[..n].iter().zip(saved.chunks_exact_mut(3)) {
        if y < c {
            saved.copy_from_slice(&[a, y, 0.0]);
            y = a * y + 0.3;
        } else if c < 0.25 {
            let by = b * y;
            saved.copy_from_slice(&[by + by, 0.0, y * y]);
            y = by * y + 0.1;
        } else {
            let d = y - 0.5;
            saved.copy_from_slice(&[0.6 + 0.1 * d, -0.01, 0.0]);
            y = 0.6 * y + 0.05 * d * d - a * 0.01;
        }
    }
    let (mut adjoint, mut da, mut db) = (1.0, 0.0, 0.0);
    for saved in saved.chunks_exact(3).rev() {
        da += adjoint * saved[1];
        db += adjoint * saved[2];
        adjoint *= saved[0];
    }
    dx[..3].copy_from_slice(&[adjoint, da, db]);
    y
}

fn sincos(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], saved: &mut Vec<f64>) -> f64 {
    let mut y = x[0];
    saved.resize(n, 0.0);
    for saved in saved.iter_mut() {
        let (sine, cosine) = y.sin_cos();
        y = sine * cosine;
        *saved = cosine * cosine - sine * sine;
    }
    let mut adjoint = 1.0;
    for saved in saved.iter().rev() {
        adjoint *= saved;
    }
    dx[0] = adjoint;
    y
}

fn logistic(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], saved: &mut Vec<f64>) -> f64 {
    let (a, mut value) = (x[0], x[1]);
    saved.resize(n, 0.0);
    for saved in saved.iter_mut() {
        *saved = value;
        value = a * value * (1.0 - value);
    }
    let (mut adjoint, mut da) = (1.0_f64, 0.0);
    for piece in saved.rchunks(256) {
        // After many steps nothing is left of it but what the least number of all rounds to, and processors are slow
        // with numbers of that size: an Intel core needs forty times as long.
        if adjoint.abs() < 1e-290 {
            adjoint = 0.0;
        }
        for &y in piece.iter().rev() {
            da += adjoint * (y * (1.0 - y));
            adjoint *= a * (1.0 - (y + y));
        }
    }
    dx[..2].copy_from_slice(&[da, adjoint]);
    value
}

/// Keeps the inverse of each y: it is computed while the quotient is waited for.
fn newton(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], saved: &mut Vec<f64>) -> f64 {
    let mut total = 0.0;
    for (&x, dx) in x[..n].iter().zip(&mut dx[..n]) {
        saved.clear();
        let mut y = x;
        loop {
            let z = 0.5 * (y + x / y);
            saved.push(1.0 / y);
            let e = z - y;
            y = z;
            if !(e < -1e-9 || e > 1e-9) {
                break;
            }
        }
        total += y;
        let (mut adjoint, mut sum) = (1.0, 0.0);
        for &inverse in saved.iter().rev() {
            sum += adjoint * (0.5 * inverse);
            adjoint *= 0.5 * (1.0 - x * inverse * inverse);
        }
        *dx = sum + adjoint;
    }
    total
}

/// While a row is summed, which waits for one addition after the other, the row before is differentiated.
fn tri(x: &[f64], c: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    let (x, c, dx) = (&x[..n], &c[..n], &mut dx[..n]);
    dx.fill(0.0);
    let mut total = 0.0;
    // Twice the sum of the row before.
    let mut before = 0.0;
    for i in 0..n {
        let mut a = 0.0;
        // The row before has one number less, and its coefficients begin one later.
        let pairs = x[..i].iter().zip(&mut dx[..i]);
        for ((x, dx), c) in pairs.zip(c[..=i].windows(2).rev()) {
            a += x * c[1];
            *dx += before * c[0];
        }
        a += x[i] * c[0];
        total += a * a;
        before = a + a;
    }
    for (dx, c) in dx.iter_mut().zip(c.iter().rev()) {
        *dx += before * c;
    }
    total
}

fn sumsq(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    let mut total = 0.0;
    for (x, dx) in x[..n].iter().zip(&mut dx[..n]) {
        total += x * x;
        *dx = x + x;
    }
    total
}

/// The transposed system, solved backwards.
fn fsub(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    let (mut solution, mut adjoints) = ([0.0; 256], [0.0; 256]);
    let (w, adjoints) = (&mut solution[..n], &mut adjoints[..n]);
    let (l, b) = x.split_at(n * n);
    let (dl, db) = dx.split_at_mut(n * n);
    let mut total = 0.0;
    for i in 0..n {
        let row = &l[i * n..=i * n + i];
        let mut sum = b[i];
        for (l, w) in row[..i].iter().zip(&w[..i]) {
            sum -= l * w;
        }
        w[i] = sum / row[i];
        total += w[i] * w[i];
        adjoints[i] = w[i] + w[i];
    }
    for i in (0..n).rev() {
        let row = &l[i * n..=i * n + i];
        let a = adjoints[i] / row[i];
        db[i] = a;
        let (used, unused) = dl[i * n..(i + 1) * n].split_at_mut(i);
        for (dl, w) in used.iter_mut().zip(&w[..i]) {
            *dl = -a * w;
        }
        for (adjoint, l) in adjoints[..i].iter_mut().zip(&row[..i]) {
            *adjoint -= a * l;
        }
        unused.fill(0.0);
        unused[0] = -a * w[i];
    }
    total
}

/// The logarithm of a sum of exponentials, with the share of each.
fn shares(x: &[f64], shares: &mut [f64]) -> f64 {
    let mut m = x[0];
    for &x in &x[1..] {
        if x > m {
            m = x;
        }
    }
    let mut total = 0.0;
    for (x, share) in x.iter().zip(shares.iter_mut()) {
        *share = (x - m).exp();
        total += *share;
    }
    let inverse = 1.0 / total;
    for share in shares {
        *share *= inverse;
    }
    m + total.ln()
}

fn lse(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    shares(&x[..n], &mut dx[..n])
}

/// What can be done for several numbers at once goes before the sum, which is one addition after the other: by pieces,
/// so that the processor does the one while it waits for the other.
fn rosen(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    const PIECE: usize = 64;
    let (x, dx) = (&x[..n], &mut dx[..n]);
    dx.fill(0.0);
    let mut total = 0.0;
    let (mut terms, mut inner) = ([0.0; PIECE], [0.0; PIECE]);
    let mut start = 0;
    while start + 1 < n {
        let pairs = PIECE.min(n - 1 - start);
        let (left, right) = (&x[start..start + pairs], &x[start + 1..=start + pairs]);
        let (terms, inner) = (&mut terms[..pairs], &mut inner[..pairs]);
        for ((left, right), (term, inner)) in left.iter().zip(right).zip(terms.iter_mut().zip(inner.iter_mut())) {
            let a = 1.0 - left;
            let b = right - left * left;
            *term = a * a + 100.0 * (b * b);
            *inner = 200.0 * b;
        }
        for ((left, inner), dx) in left.iter().zip(inner.iter()).zip(&mut dx[start..start + pairs]) {
            *dx -= 2.0 * (1.0 - left) + 2.0 * inner * left;
        }
        for (inner, dx) in inner.iter().zip(&mut dx[start + 1..=start + pairs]) {
            *dx += inner;
        }
        for term in terms.iter() {
            total += term;
        }
        start += pairs;
    }
    total
}

/// Backpropagation, sample by sample.
fn mlp(x: &[f64], c: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    const INPUTS: usize = 32;
    const HIDDEN: usize = 64;
    dx.fill(0.0);
    let (w1, x) = x.split_at(HIDDEN * INPUTS);
    let (b1, x) = x.split_at(HIDDEN);
    let (w2, x) = x.split_at(HIDDEN * HIDDEN);
    let (b2, x) = x.split_at(HIDDEN);
    let (w3, b3) = x.split_at(HIDDEN);
    let (dw1, dx) = dx.split_at_mut(HIDDEN * INPUTS);
    let (db1, dx) = dx.split_at_mut(HIDDEN);
    let (dw2, dx) = dx.split_at_mut(HIDDEN * HIDDEN);
    let (db2, dx) = dx.split_at_mut(HIDDEN);
    let (dw3, db3) = dx.split_at_mut(HIDDEN);
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
        let by_output = e + e;
        db3[0] += by_output;
        let mut by_h1 = [0.0; HIDDEN];
        for i in 0..HIDDEN {
            dw3[i] += by_output * h2[i];
            let a = by_output * w3[i] * (1.0 - h2[i] * h2[i]);
            db2[i] += a;
            let row = i * HIDDEN..(i + 1) * HIDDEN;
            for (dw, h) in dw2[row.clone()].iter_mut().zip(&h1) {
                *dw += a * h;
            }
            for (by_h1, w) in by_h1.iter_mut().zip(&w2[row]) {
                *by_h1 += a * w;
            }
        }
        for i in 0..HIDDEN {
            let a = by_h1[i] * (1.0 - h1[i] * h1[i]);
            db1[i] += a;
            for (dw, u) in dw1[i * INPUTS..(i + 1) * INPUTS].iter_mut().zip(sample) {
                *dw += a * u;
            }
        }
    }
    loss
}

/// What a slope at (u, v) with adjoints (ku, kv) gives u and v; what it gives the rates is added to `adjoint`.
fn slope_reverse(rates: &Rates, (u, v): (f64, f64), (ku, kv): (f64, f64), adjoint: &mut Rates) -> (f64, f64) {
    let product = u * v;
    adjoint.a += ku * u;
    adjoint.b -= ku * product;
    adjoint.g -= kv * v;
    adjoint.d += kv * product;
    let mixed = kv * rates.d - ku * rates.b;
    (ku * rates.a + mixed * v, mixed * u - kv * rates.g)
}

/// Keeps where each slope was taken.
fn ode(x: &[f64], _: &[f64], n: usize, dx: &mut [f64], saved: &mut Vec<f64>) -> f64 {
    let rates = Rates::new(x);
    let (mut u, mut v) = (x[0], x[1]);
    saved.resize(8 * n, 0.0);
    for saved in saved.chunks_exact_mut(8) {
        let (k1u, k1v) = rates.slope(u, v);
        let (u2, v2) = (u + 0.5 * STEP * k1u, v + 0.5 * STEP * k1v);
        let (k2u, k2v) = rates.slope(u2, v2);
        let (u3, v3) = (u + 0.5 * STEP * k2u, v + 0.5 * STEP * k2v);
        let (k3u, k3v) = rates.slope(u3, v3);
        let (u4, v4) = (u + STEP * k3u, v + STEP * k3v);
        let (k4u, k4v) = rates.slope(u4, v4);
        saved.copy_from_slice(&[u, v, u2, v2, u3, v3, u4, v4]);
        u += (STEP / 6.0) * (k1u + 2.0 * k2u + 2.0 * k3u + k4u);
        v += (STEP / 6.0) * (k1v + 2.0 * k2v + 2.0 * k3v + k4v);
    }
    let mut adjoint = Rates { a: 0.0, b: 0.0, g: 0.0, d: 0.0 };
    let (mut au, mut av) = (1.0, 1.0);
    for s in saved.chunks_exact(8).rev() {
        let (outer_u, outer_v) = (STEP / 6.0 * au, STEP / 6.0 * av);
        let (inner_u, inner_v) = (2.0 * outer_u, 2.0 * outer_v);
        let (u4, v4) = slope_reverse(&rates, (s[6], s[7]), (outer_u, outer_v), &mut adjoint);
        let k3 = (inner_u + STEP * u4, inner_v + STEP * v4);
        let (u3, v3) = slope_reverse(&rates, (s[4], s[5]), k3, &mut adjoint);
        let k2 = (inner_u + 0.5 * STEP * u3, inner_v + 0.5 * STEP * v3);
        let (u2, v2) = slope_reverse(&rates, (s[2], s[3]), k2, &mut adjoint);
        let k1 = (outer_u + 0.5 * STEP * u2, outer_v + 0.5 * STEP * v2);
        let (u1, v1) = slope_reverse(&rates, (s[0], s[1]), k1, &mut adjoint);
        au += u1 + u2 + u3 + u4;
        av += v1 + v2 + v3 + v4;
    }
    dx[..6].copy_from_slice(&[au, av, adjoint.a, adjoint.b, adjoint.g, adjoint.d]);
    u + v
}
