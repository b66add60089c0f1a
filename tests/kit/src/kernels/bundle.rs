//! The bundle adjustment of ADBench.

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn scaled(a: Vector, by: f64) -> Vector {
    a.map(|a| a * by)
}

fn sum(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn vector(x: &[f64]) -> Vector {
    [x[0], x[1], x[2]]
}

/// Below this, the square of an angle counts as none.
const SMALL: f64 = 1e-30;

/// Rodrigues' rotation of p by the vector r.
fn rotate(r: Vector, p: Vector) -> Vector {
    let square = dot(r, r);
    if square > SMALL {
        let theta = square.sqrt();
        let (sine, cosine) = theta.sin_cos();
        let axis = scaled(r, 1.0 / theta);
        let along = dot(axis, p) * (1.0 - cosine);
        sum(sum(scaled(p, cosine), scaled(cross(axis, p), sine)), scaled(axis, along))
    } else {
        sum(p, cross(r, p))
    }
}

/// What the adjoint of a rotated point gives r and p.
fn rotate_reverse(r: Vector, p: Vector, a: Vector) -> (Vector, Vector) {
    let square = dot(r, r);
    if square <= SMALL {
        return (cross(p, a), sum(a, cross(a, r)));
    }
    let theta = square.sqrt();
    let (sine, cosine) = theta.sin_cos();
    let inverse = 1.0 / theta;
    let axis = scaled(r, inverse);
    let projection = dot(axis, p);
    let by_along = dot(a, axis);
    let by_projection = by_along * (1.0 - cosine);
    let by_cross = scaled(a, sine);
    let along = projection * (1.0 - cosine);
    let by_axis = sum(sum(scaled(a, along), cross(p, by_cross)), scaled(p, by_projection));
    let by_p = sum(sum(scaled(a, cosine), cross(by_cross, axis)), scaled(axis, by_projection));
    let by_cosine = dot(a, p) - by_along * projection;
    let by_sine = dot(a, cross(axis, p));
    let by_theta = cosine * by_sine - sine * by_cosine - dot(by_axis, axis) * inverse;
    (sum(scaled(by_axis, inverse), scaled(axis, by_theta)), by_p)
}

/// One observation on its way to the image.
struct Projection {
    /// Relative to the camera.
    point: Vector,
    rotated: Vector,
    u: f64,
    v: f64,
    square: f64,
    distortion: f64,
    /// What is off, before the weight.
    off: [f64; 2],
}

/// `x` has rotation, centre, focal length, principal point, distortion, point and weight.
fn project(x: &[f64], seen: &[f64]) -> Projection {
    let point = [x[11] - x[3], x[12] - x[4], x[13] - x[5]];
    let rotated = rotate(vector(x), point);
    let (u, v) = (rotated[0] / rotated[2], rotated[1] / rotated[2]);
    let square = u * u + v * v;
    let distortion = 1.0 + x[9] * square + x[10] * square * square;
    let off = [x[6] * (u * distortion) + x[7] - seen[0], x[6] * (v * distortion) + x[8] - seen[1]];
    Projection { point, rotated, u, v, square, distortion, off }
}

/// The sum of squared errors of n observations, each of a camera and a point of its own.
pub(super) fn ba(x: &[f64], c: &[f64], n: usize) -> f64 {
    let mut total = 0.0;
    for (x, seen) in x[..15 * n].chunks_exact(15).zip(c.chunks_exact(2)) {
        let [e1, e2] = project(x, seen).off.map(|off| x[14] * off);
        let e3 = 1.0 - x[14] * x[14];
        total += e1 * e1 + e2 * e2 + e3 * e3;
    }
    total
}

pub(super) fn ba_gradient(x: &[f64], c: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    let mut total = 0.0;
    for ((x, seen), dx) in x[..15 * n].chunks_exact(15).zip(c.chunks_exact(2)).zip(dx.chunks_exact_mut(15)) {
        let Projection { point, rotated, u, v, square, distortion, off } = project(x, seen);
        let (focal, w) = (x[6], x[14]);
        let [e1, e2] = off.map(|off| w * off);
        let e3 = 1.0 - w * w;
        total += e1 * e1 + e2 * e2 + e3 * e3;
        dx[14] = 2.0 * (e1 * off[0] + e2 * off[1]) - 4.0 * w * e3;
        let (px, py) = (2.0 * e1 * w, 2.0 * e2 * w);
        let inner = px * u + py * v;
        dx[6] = inner * distortion;
        dx[7] = px;
        dx[8] = py;
        let by_distortion = focal * inner;
        dx[9] = by_distortion * square;
        dx[10] = by_distortion * square * square;
        let by_square = 2.0 * by_distortion * (x[9] + 2.0 * x[10] * square);
        let by_u = focal * distortion * px + by_square * u;
        let by_v = focal * distortion * py + by_square * v;
        let inverse = 1.0 / rotated[2];
        let by_rotated = [by_u * inverse, by_v * inverse, -(by_u * u + by_v * v) * inverse];
        let (by_rotation, by_point) = rotate_reverse(vector(x), point, by_rotated);
        dx[..3].copy_from_slice(&by_rotation);
        dx[3..6].copy_from_slice(&scaled(by_point, -1.0));
        dx[11..14].copy_from_slice(&by_point);
    }
    total
}
