//! The bundle adjustment.

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A point that was turned by Rodrigues' formula, with what the way back needs.
enum Turn {
    By { axis: Vector, inverse: f64, sine: f64, cosine: f64, across: Vector, projection: f64 },
    /// By so little that it counts as none.
    None,
}

fn turn(r: Vector, p: Vector) -> (Vector, Turn) {
    let square = dot(r, r);
    if square > 1e-30 {
        let theta = square.sqrt();
        let (sine, cosine) = theta.sin_cos();
        let inverse = 1.0 / theta;
        let axis = r.map(|r| r * inverse);
        let (across, projection) = (cross(axis, p), dot(axis, p));
        let along = projection * (1.0 - cosine);
        let turned = std::array::from_fn(|i| p[i] * cosine + across[i] * sine + axis[i] * along);
        (turned, Turn::By { axis, inverse, sine, cosine, across, projection })
    } else {
        let across = cross(r, p);
        (std::array::from_fn(|i| p[i] + across[i]), Turn::None)
    }
}

/// What the adjoint of the turned point gives r and p.
fn turn_reverse(turn: &Turn, r: Vector, p: Vector, a: Vector) -> (Vector, Vector) {
    match *turn {
        Turn::None => {
            let by_p = cross(a, r);
            (cross(p, a), std::array::from_fn(|i| a[i] + by_p[i]))
        }
        Turn::By { axis, inverse, sine, cosine, across, projection } => {
            let rest = 1.0 - cosine;
            let by_along = dot(a, axis);
            let by_projection = by_along * rest;
            let by_across = a.map(|a| a * sine);
            let along = projection * rest;
            let (axis_across, p_across) = (cross(p, by_across), cross(by_across, axis));
            let by_axis: Vector = std::array::from_fn(|i| a[i] * along + axis_across[i] + p[i] * by_projection);
            let by_p = std::array::from_fn(|i| a[i] * cosine + p_across[i] + axis[i] * by_projection);
            let by_cosine = dot(a, p) - by_along * projection;
            let by_theta = cosine * dot(a, across) - sine * by_cosine - dot(by_axis, axis) * inverse;
            (std::array::from_fn(|i| by_axis[i] * inverse + axis[i] * by_theta), by_p)
        }
    }
}

/// Goes back through each observation right after it.
pub(super) fn ba(x: &[f64], c: &[f64], n: usize, dx: &mut [f64], _: &mut Vec<f64>) -> f64 {
    let mut total = 0.0;
    let observations = x[..15 * n].chunks_exact(15).zip(c[..2 * n].chunks_exact(2));
    for ((x, seen), dx) in observations.zip(dx[..15 * n].chunks_exact_mut(15)) {
        let r = [x[0], x[1], x[2]];
        let point = [x[11] - x[3], x[12] - x[4], x[13] - x[5]];
        let (turned, kept) = turn(r, point);
        let (u, v) = (turned[0] / turned[2], turned[1] / turned[2]);
        let radius = u * u + v * v;
        let distortion = 1.0 + x[9] * radius + x[10] * radius * radius;
        let (focal, w) = (x[6], x[14]);
        let (off_x, off_y) = (focal * (u * distortion) + x[7] - seen[0], focal * (v * distortion) + x[8] - seen[1]);
        let (e1, e2, e3) = (w * off_x, w * off_y, 1.0 - w * w);
        total += e1 * e1 + e2 * e2 + e3 * e3;

        let (px, py) = (2.0 * e1 * w, 2.0 * e2 * w);
        let inner = px * u + py * v;
        let by_distortion = focal * inner;
        let by_radius = 2.0 * by_distortion * (x[9] + 2.0 * x[10] * radius);
        let scale = focal * distortion;
        let (by_u, by_v) = (scale * px + by_radius * u, scale * py + by_radius * v);
        let inverse = 1.0 / turned[2];
        let by_turned = [by_u * inverse, by_v * inverse, -(by_u * u + by_v * v) * inverse];
        let (by_r, by_p) = turn_reverse(&kept, r, point, by_turned);
        dx[..3].copy_from_slice(&by_r);
        dx[3..6].copy_from_slice(&by_p.map(|by| -by));
        dx[6] = inner * distortion;
        dx[7] = px;
        dx[8] = py;
        dx[9] = by_distortion * radius;
        dx[10] = by_distortion * radius * radius;
        dx[11..14].copy_from_slice(&by_p);
        dx[14] = 2.0 * (e1 * off_x + e2 * off_y) - 4.0 * w * e3;
    }
    total
}
