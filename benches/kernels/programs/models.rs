//! What is computed once for each observation of the bundle adjustment, and for each step of the differential equation.

/// Two errors of projection and one of the weight, squared: x has rotation, centre, focal length, principal point,
/// distortion, point and weight of an observation.
pub fn observation(x: &[f64], seen: &[f64]) -> f64 {
    let (x, seen) = (&x[..15], &seen[..2]);
    let point = [x[11] - x[3], x[12] - x[4], x[13] - x[5]];
    let square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    let rotated = if square > 1e-30 {
        let theta = square.sqrt();
        let (sine, cosine) = theta.sin_cos();
        let inverse = 1.0 / theta;
        let (a, b, g) = (x[0] * inverse, x[1] * inverse, x[2] * inverse);
        let across = [b * point[2] - g * point[1], g * point[0] - a * point[2], a * point[1] - b * point[0]];
        let along = (a * point[0] + b * point[1] + g * point[2]) * (1.0 - cosine);
        [
            point[0] * cosine + across[0] * sine + a * along,
            point[1] * cosine + across[1] * sine + b * along,
            point[2] * cosine + across[2] * sine + g * along,
        ]
    } else {
        [
            point[0] + x[1] * point[2] - x[2] * point[1],
            point[1] + x[2] * point[0] - x[0] * point[2],
            point[2] + x[0] * point[1] - x[1] * point[0],
        ]
    };
    let (u, v) = (rotated[0] / rotated[2], rotated[1] / rotated[2]);
    let radius = u * u + v * v;
    let distortion = 1.0 + x[9] * radius + x[10] * radius * radius;
    let (px, py) = (x[6] * (u * distortion) + x[7], x[6] * (v * distortion) + x[8]);
    let (e1, e2, e3) = (x[14] * (px - seen[0]), x[14] * (py - seen[1]), 1.0 - x[14] * x[14]);
    e1 * e1 + e2 * e2 + e3 * e3
}

/// How long a step of Runge and Kutta's method is.
pub const STEP: f64 = 0.01;

/// Lotka and Volterra's equations: u' = a u − b u v, v' = d u v − g v.
#[derive(Clone, Copy)]
pub struct Rates {
    pub a: f64,
    pub b: f64,
    pub g: f64,
    pub d: f64,
}

impl Rates {
    /// Those of the kernel's argument, behind where u and v start.
    pub fn new(x: &[f64]) -> Self {
        Rates { a: x[2], b: x[3], g: x[4], d: x[5] }
    }

    /// u' and v' at (u, v).
    pub fn slope(&self, u: f64, v: f64) -> (f64, f64) {
        (self.a * u - self.b * u * v, self.d * u * v - self.g * v)
    }
}

/// u + v after n steps.
pub fn orbit(x: &[f64], n: usize) -> f64 {
    let rates = Rates::new(x);
    let (mut u, mut v) = (x[0], x[1]);
    for _ in 0..n {
        let (k1u, k1v) = rates.slope(u, v);
        let (k2u, k2v) = rates.slope(u + 0.5 * STEP * k1u, v + 0.5 * STEP * k1v);
        let (k3u, k3v) = rates.slope(u + 0.5 * STEP * k2u, v + 0.5 * STEP * k2v);
        let (k4u, k4v) = rates.slope(u + STEP * k3u, v + STEP * k3v);
        u += (STEP / 6.0) * (k1u + 2.0 * k2u + 2.0 * k3u + k4u);
        v += (STEP / 6.0) * (k1v + 2.0 * k2v + 2.0 * k3v + k4v);
    }
    u + v
}
