//! Recurrences: a number or two go through many steps.

/// One value through branches that the data choose; x has the start and two factors, c the thresholds.
pub(super) fn branch(x: &[f64], c: &[f64], n: usize) -> f64 {
    c[..n].iter().fold(x[0], |y, &c| branch_step(x, c, y))
}

fn branch_step(x: &[f64], c: f64, y: f64) -> f64 {
    if y < c {
        x[1] * y + 0.3
    } else if c < 0.25 {
        x[2] * y * y + 0.1
    } else {
        let d = y - 0.5;
        0.6 * y + 0.05 * d * d - x[1] * 0.01
    }
}

pub(super) fn branch_gradient(x: &[f64], c: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let mut saved = Vec::with_capacity(n);
    let mut value = x[0];
    for &c in &c[..n] {
        saved.push(value);
        value = branch_step(x, c, value);
    }
    // The adjoint of y; the value says again which branch it took.
    let (mut a, mut d1, mut d2) = (1.0, 0.0, 0.0);
    for (&y, &c) in saved.iter().zip(&c[..n]).rev() {
        if y < c {
            d1 += a * y;
            a *= x[1];
        } else if c < 0.25 {
            d2 += a * y * y;
            a *= 2.0 * x[2] * y;
        } else {
            d1 -= a * 0.01;
            a *= 0.6 + 0.1 * (y - 0.5);
        }
    }
    dx[..3].copy_from_slice(&[a, d1, d2]);
    value
}

/// y ↦ sin y cos y, n times.
pub(super) fn sincos(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut y = x[0];
    for _ in 0..n {
        let (sine, cosine) = y.sin_cos();
        y = sine * cosine;
    }
    y
}

/// With one argument, the product of the steps' derivatives can be taken on the way: nothing has to be kept.
pub(super) fn sincos_gradient(x: &[f64], _: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let (mut y, mut derivative) = (x[0], 1.0);
    for _ in 0..n {
        let (sine, cosine) = y.sin_cos();
        y = sine * cosine;
        derivative *= cosine * cosine - sine * sine;
    }
    dx[0] = derivative;
    y
}

/// The logistic map y ↦ a y (1 − y), n times; x has a and the start.
pub(super) fn logistic(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut y = x[1];
    for _ in 0..n {
        y = x[0] * y * (1.0 - y);
    }
    y
}

pub(super) fn logistic_gradient(x: &[f64], _: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let mut saved = Vec::with_capacity(n);
    let mut value = x[1];
    for _ in 0..n {
        saved.push(value);
        value = x[0] * value * (1.0 - value);
    }
    let (mut a, mut factor) = (1.0, 0.0);
    for &y in saved.iter().rev() {
        factor += a * y * (1.0 - y);
        a *= x[0] * (1.0 - 2.0 * y);
    }
    dx[..2].copy_from_slice(&[factor, a]);
    value
}

/// Whether Newton's method goes on after this step; not after NaN.
fn goes_on(e: f64) -> bool {
    e.abs() > 1e-9
}

/// The sum of the square roots of x, each by Newton's method.
pub(super) fn newton(x: &[f64], _: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for &x in &x[..n] {
        let mut y = x;
        loop {
            let z = 0.5 * (y + x / y);
            let e = z - y;
            y = z;
            if !goes_on(e) {
                break;
            }
        }
        total += y;
    }
    total
}

/// Each root depends on one argument: its derivative goes with it through the iteration.
pub(super) fn newton_gradient(x: &[f64], _: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let mut total = 0.0;
    for (&x, dx) in x[..n].iter().zip(dx) {
        let (mut y, mut dy) = (x, 1.0);
        loop {
            let quotient = x / y;
            let z = 0.5 * (y + quotient);
            dy = 0.5 * (dy + (1.0 - quotient * dy) / y);
            let e = z - y;
            y = z;
            if !goes_on(e) {
                break;
            }
        }
        total += y;
        *dx = dy;
    }
    total
}

const STEP: f64 = 0.01;

/// n steps of Runge and Kutta's method on the equations of Lotka and Volterra, u' = a u − b u v and v' = d u v − g v; x
/// has u, v, a, b, g, d.
pub(super) fn ode(x: &[f64], _: &[f64], n: usize) -> f64 {
    let rates = Rates::new(x);
    let (mut u, mut v) = (x[0], x[1]);
    for _ in 0..n {
        (u, v) = rates.step(u, v);
    }
    u + v
}

#[derive(Clone, Copy)]
struct Rates {
    a: f64,
    b: f64,
    g: f64,
    d: f64,
}

impl Rates {
    fn new(x: &[f64]) -> Self {
        Rates { a: x[2], b: x[3], g: x[4], d: x[5] }
    }

    fn slope(&self, u: f64, v: f64) -> (f64, f64) {
        (self.a * u - self.b * u * v, self.d * u * v - self.g * v)
    }

    fn step(&self, u: f64, v: f64) -> (f64, f64) {
        let (k1u, k1v) = self.slope(u, v);
        let (k2u, k2v) = self.slope(u + 0.5 * STEP * k1u, v + 0.5 * STEP * k1v);
        let (k3u, k3v) = self.slope(u + 0.5 * STEP * k2u, v + 0.5 * STEP * k2v);
        let (k4u, k4v) = self.slope(u + STEP * k3u, v + STEP * k3v);
        (u + (STEP / 6.0) * (k1u + 2.0 * k2u + 2.0 * k3u + k4u), v + (STEP / 6.0) * (k1v + 2.0 * k2v + 2.0 * k3v + k4v))
    }

    /// Adds what a slope at (u, v) with adjoints (ku, kv) gives the rates, and returns what it gives u and v.
    fn slope_reverse(&self, u: f64, v: f64, ku: f64, kv: f64, adjoint: &mut Rates) -> (f64, f64) {
        let product = u * v;
        adjoint.a += ku * u;
        adjoint.b -= ku * product;
        adjoint.g -= kv * v;
        adjoint.d += kv * product;
        (ku * (self.a - self.b * v) + kv * self.d * v, kv * (self.d * u - self.g) - ku * self.b * u)
    }
}

/// Keeps u and v of each step, and computes the slopes again.
pub(super) fn ode_gradient(x: &[f64], _: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let rates = Rates::new(x);
    let mut saved = Vec::with_capacity(n);
    let mut end = (x[0], x[1]);
    for _ in 0..n {
        saved.push(end);
        end = rates.step(end.0, end.1);
    }
    let mut adjoint = Rates { a: 0.0, b: 0.0, g: 0.0, d: 0.0 };
    let (mut au, mut av) = (1.0, 1.0);
    for &(u, v) in saved.iter().rev() {
        let (k1u, k1v) = rates.slope(u, v);
        let (u2, v2) = (u + 0.5 * STEP * k1u, v + 0.5 * STEP * k1v);
        let (k2u, k2v) = rates.slope(u2, v2);
        let (u3, v3) = (u + 0.5 * STEP * k2u, v + 0.5 * STEP * k2v);
        let (k3u, k3v) = rates.slope(u3, v3);
        let (u4, v4) = (u + STEP * k3u, v + STEP * k3v);
        let (outer_u, outer_v) = (STEP / 6.0 * au, STEP / 6.0 * av);
        let (u4, v4) = rates.slope_reverse(u4, v4, outer_u, outer_v, &mut adjoint);
        let (ku, kv) = (2.0 * outer_u + STEP * u4, 2.0 * outer_v + STEP * v4);
        let (u3, v3) = rates.slope_reverse(u3, v3, ku, kv, &mut adjoint);
        let (ku, kv) = (2.0 * outer_u + 0.5 * STEP * u3, 2.0 * outer_v + 0.5 * STEP * v3);
        let (u2, v2) = rates.slope_reverse(u2, v2, ku, kv, &mut adjoint);
        let (ku, kv) = (outer_u + 0.5 * STEP * u2, outer_v + 0.5 * STEP * v2);
        let (u1, v1) = rates.slope_reverse(u, v, ku, kv, &mut adjoint);
        au += u1 + u2 + u3 + u4;
        av += v1 + v2 + v3 + v4;
    }
    dx[..6].copy_from_slice(&[au, av, adjoint.a, adjoint.b, adjoint.g, adjoint.d]);
    end.0 + end.1
}
