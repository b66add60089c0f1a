//! A small neural network.

/// How wide a sample is.
pub(super) const INPUTS: usize = 32;
/// How wide each hidden layer is.
const HIDDEN: usize = 64;
/// All weights and biases.
pub(super) const PARAMETERS: usize = HIDDEN * INPUTS + HIDDEN + HIDDEN * HIDDEN + HIDDEN + HIDDEN + 1;

/// The squared loss of a network 32–64–64–1 with tanh on n samples; x has weights and biases of each layer, weights by
/// rows, c the samples and then the targets.
pub(super) fn mlp(x: &[f64], c: &[f64], n: usize) -> f64 {
    let (samples, targets) = c.split_at(INPUTS * n);
    let mut network = Network::new(x);
    let mut loss = 0.0;
    for (sample, target) in samples.chunks_exact(INPUTS).zip(targets) {
        let e = network.output(sample) - target;
        loss += e * e;
    }
    loss
}

struct Layer<'x> {
    weights: &'x [f64],
    biases: &'x [f64],
}

struct Network<'x> {
    first: Layer<'x>,
    second: Layer<'x>,
    last: Layer<'x>,
    h1: [f64; HIDDEN],
    h2: [f64; HIDDEN],
}

impl<'x> Network<'x> {
    fn new(x: &'x [f64]) -> Self {
        let (first, x) = x.split_at(HIDDEN * (INPUTS + 1));
        let (second, x) = x.split_at(HIDDEN * (HIDDEN + 1));
        let layer = |x: &'x [f64], weights: usize| Layer { weights: &x[..weights], biases: &x[weights..] };
        Network {
            first: layer(first, HIDDEN * INPUTS),
            second: layer(second, HIDDEN * HIDDEN),
            last: layer(x, HIDDEN),
            h1: [0.0; HIDDEN],
            h2: [0.0; HIDDEN],
        }
    }

    fn output(&mut self, sample: &[f64]) -> f64 {
        self.first.forward(sample, &mut self.h1);
        self.second.forward(&self.h1, &mut self.h2);
        dot(self.last.biases[0], self.last.weights, &self.h2)
    }
}

fn dot(start: f64, a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(start, |sum, (a, b)| sum + a * b)
}

impl Layer<'_> {
    fn forward(&self, input: &[f64], output: &mut [f64]) {
        for ((output, row), bias) in output.iter_mut().zip(self.weights.chunks_exact(input.len())).zip(self.biases) {
            *output = dot(*bias, row, input).tanh();
        }
    }
}

/// Adds what a layer's output, whose adjoint is given, owes to its weights, biases and input.
fn reverse(
    layer: &Layer<'_>,
    input: &[f64],
    (output, adjoint): (&[f64], &[f64]),
    gradient: &mut [f64],
    mut input_adjoint: Option<&mut [f64]>,
) {
    let (weights, biases) = gradient.split_at_mut(layer.weights.len());
    let width = input.len();
    let rows = layer.weights.chunks_exact(width).zip(weights.chunks_exact_mut(width));
    for (((row, by_row), bias), (h, a)) in rows.zip(biases).zip(output.iter().zip(adjoint)) {
        // The derivative of tanh.
        let a = a * (1.0 - h * h);
        *bias += a;
        for (by_weight, input) in by_row.iter_mut().zip(input) {
            *by_weight += a * input;
        }
        if let Some(input_adjoint) = &mut input_adjoint {
            for (by_input, weight) in input_adjoint.iter_mut().zip(row) {
                *by_input += a * weight;
            }
        }
    }
}

/// Backpropagation, sample by sample.
pub(super) fn mlp_gradient(x: &[f64], c: &[f64], n: usize, dx: &mut [f64]) -> f64 {
    dx.fill(0.0);
    let (d1, rest) = dx.split_at_mut(HIDDEN * (INPUTS + 1));
    let (d2, d3) = rest.split_at_mut(HIDDEN * (HIDDEN + 1));
    let (samples, targets) = c.split_at(INPUTS * n);
    let mut network = Network::new(x);
    let mut loss = 0.0;
    for (sample, target) in samples.chunks_exact(INPUTS).zip(targets) {
        let e = network.output(sample) - target;
        loss += e * e;
        let a = 2.0 * e;
        let (mut a1, mut a2) = ([0.0; HIDDEN], [0.0; HIDDEN]);
        d3[HIDDEN] += a;
        for (i, a2) in a2.iter_mut().enumerate() {
            d3[i] += a * network.h2[i];
            *a2 = a * network.last.weights[i];
        }
        reverse(&network.second, &network.h1, (&network.h2, &a2), d2, Some(&mut a1));
        reverse(&network.first, sample, (&network.h1, &a1), d1, None);
    }
    loss
}
