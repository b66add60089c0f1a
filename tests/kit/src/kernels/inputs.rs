//! The arguments of the kernels, made by a linear congruential generator so that any language can repeat them.

use super::Kernel;

/// The arguments of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Inputs {
    /// What is differentiated.
    pub x: Vec<f64>,
    /// What is not.
    pub c: Vec<f64>,
}

/// Numbers in [0, 1).
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The arguments of a kernel at size n.
pub fn inputs(kernel: &Kernel, n: usize) -> Inputs {
    let (x_length, c_length) = (kernel.lengths)(n);
    let mut random = Generator(12345);
    let mut x: Vec<f64> = (0..x_length).map(|_| 0.5 + random.next()).collect();
    let c: Vec<f64> = (0..c_length).map(|_| random.next()).collect();
    match kernel.name {
        "bs" => {
            for option in x.chunks_exact_mut(5) {
                option[0] = 80.0 + 40.0 * random.next();
                option[1] = 80.0 + 40.0 * random.next();
                option[2] = 0.05 * random.next();
                option[3] = 0.1 + 0.4 * random.next();
                option[4] = 0.2 + random.next();
            }
        }
        "branch" => x.copy_from_slice(&[0.37, 0.81, 0.6]),
        "sincos" => x[0] = 0.7,
        "logistic" => x.copy_from_slice(&[2.9, 0.3]),
        "newton" => x.iter_mut().for_each(|x| *x = 0.5 + 100.0 * random.next()),
        "fsub" => {
            for (i, row) in x.chunks_exact_mut(n.max(1)).take(n).enumerate() {
                for (j, x) in row.iter_mut().enumerate() {
                    *x = if i == j { 2.0 + random.next() } else { (random.next() - 0.5) / n as f64 };
                }
            }
        }
        "mlp" => x.iter_mut().for_each(|x| *x = (random.next() - 0.5) * 0.3),
        "gmm" => x.iter_mut().for_each(|x| *x = random.next() - 0.5),
        "ba" => x.chunks_exact_mut(15).for_each(|observation| observe(observation, &mut random)),
        "ode" => x.copy_from_slice(&[1.0, 1.0, 1.5, 1.0, 3.0, 1.0]),
        _ => {}
    }
    Inputs { x, c }
}

/// A camera, a point in front of it, and a weight.
fn observe(observation: &mut [f64], random: &mut Generator) {
    for rotation in &mut observation[..3] {
        *rotation = 0.1 + 0.2 * random.next();
    }
    for centre in &mut observation[3..6] {
        *centre = random.next();
    }
    observation[6] = 1.0 + random.next();
    observation[7] = random.next();
    observation[8] = random.next();
    observation[9] = 0.01 * random.next();
    observation[10] = 0.001 * random.next();
    observation[11] = random.next();
    observation[12] = random.next();
    observation[13] = 5.0 + random.next();
    observation[14] = 0.5 + random.next();
}
