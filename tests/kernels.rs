//! The kernels: what Julia's compiler made of `kernels/kernels.jl` computes in the interpreter what the same functions
//! compute in Rust, and its derivative is the gradient that was derived by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::path::Path;
use std::process::Command;

use bbkit::exec::{Limits, Machine, Value, first_difference};
use bbkit::ircode::{IRCode, Module, Name, Type, from_json};
use bbkit::{Carrier, GradientOptions, Savings, gradient_with};
use kit::kernels::{Inputs, KERNELS, Kernel, inputs, kernel};

/// Sizes at which the interpreter takes less than a second or so.
const SIZES: [(&str, usize); 20] = [
    ("bs", 20),
    ("bs", 1000),
    ("branch", 100),
    ("branch", 1000),
    ("sincos", 1000),
    ("logistic", 1000),
    ("newton", 20),
    ("newton", 1000),
    ("tri", 300),
    ("sumsq", 100),
    ("sumsq", 10_000),
    ("fsub", 10),
    ("fsub", 200),
    ("lse", 10_000),
    ("rosen", 10_000),
    ("mlp", 16),
    ("gmm", 40),
    ("ba", 10),
    ("ba", 1000),
    ("ode", 1000),
];

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels"))
}

/// What Julia made of a kernel, and what its function is called there.
fn exported(kernel: &Kernel) -> (Module<IRCode>, Name) {
    let text = fs::read_to_string(folder().join(format!("{}.json", kernel.name))).unwrap();
    let module: Module<IRCode> = from_json(&text).unwrap();
    let name = module.functions()[0].name.clone();
    (module, name)
}

/// A vector of the interpreter.
fn vector(machine: &Machine<'_>, numbers: &[f64]) -> Value {
    let values = numbers.iter().map(|&x| Value::from(x)).collect();
    machine.array(Type::FLOAT64, vec![numbers.len()], values).unwrap()
}

fn arguments(machine: &Machine<'_>, inputs: &Inputs, n: usize) -> [Value; 3] {
    [vector(machine, &inputs.x), vector(machine, &inputs.c), Value::from(i64::try_from(n).unwrap())]
}

fn floats(value: &Value) -> Vec<f64> {
    value.array_elements().unwrap().iter().map(|x| x.as_float().unwrap()).collect()
}

/// Computed in another order, or with another library's exponential, a number may differ so much.
fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

#[test]
fn every_kernel_has_its_value() {
    for (name, n) in SIZES {
        let kernel = kernel(name).unwrap();
        let (module, function) = exported(kernel);
        let inputs = inputs(kernel, n);
        let mut machine = Machine::new(&module);
        let args = arguments(&machine, &inputs, n);
        let value = machine.call(&function, &args).unwrap_or_else(|error| panic!("{name} {n}: {error}"));
        let expected = (kernel.value)(&inputs.x, &inputs.c, n);
        assert!(close(value.as_float().unwrap(), expected, 1e-12), "{name} {n}: {value}, expected {expected}");
        assert_eq!((floats(&args[0]), floats(&args[1])), (inputs.x, inputs.c), "{name} {n} changed its arguments");
    }
    assert!(KERNELS.iter().all(|kernel| SIZES.iter().any(|(name, _)| *name == kernel.name)));
}

/// The value and the derivatives for x and c of a kernel at size n.
fn gradient_of(kernel: &Kernel, inputs: &Inputs, n: usize) -> (f64, Vec<f64>, Vec<f64>) {
    let (module, name) = exported(kernel);
    let args = arguments(&Machine::new(&module), inputs, n);
    let result = bbkit::gradient(&module, &name, &args, Limits::default());
    let result = result.unwrap_or_else(|error| panic!("{name} {n}: {error}"));
    let args = arguments(&Machine::new(&module), inputs, n);
    let maps = gradient_with(&module, &name, &args, &GradientOptions::new().carrier(Carrier::LinearMaps));
    let maps = maps.unwrap_or_else(|error| panic!("{name} {n}: {error}"));
    let again = || arguments(&Machine::new(&module), inputs, n).to_vec();
    kit::carriers::carriers_agree(&module, &name, &again, Limits::default(), &kit::carriers::specialized)
        .unwrap_or_else(|broken| panic!("{name} {n}, specialised: {broken}"));
    let difference = first_difference(&result.gradient, &maps.gradient);
    assert_eq!(difference, None, "{name} {n}: the carriers differ");
    assert!(
        matches!(result.gradient[2], Value::Nothing),
        "{name}: an integer has the derivative {}",
        result.gradient[2]
    );
    (result.value.as_float().unwrap(), floats(&result.gradient[0]), floats(&result.gradient[1]))
}

#[test]
fn every_kernel_has_the_gradient_that_was_derived_by_hand() {
    let mut problems = Vec::new();
    for (name, n) in SIZES {
        let kernel = kernel(name).unwrap();
        let inputs = inputs(kernel, n);
        let mut expected = vec![0.0; inputs.x.len()];
        let expected_value = (kernel.gradient)(&inputs.x, &inputs.c, n, &mut expected);
        let (value, by_x, by_c) = gradient_of(kernel, &inputs, n);
        assert!(close(value, expected_value, 1e-12), "{name} {n}: {value}, expected {expected_value}");
        assert_eq!((by_x.len(), by_c.len()), (inputs.x.len(), inputs.c.len()), "{name} {n}");
        // A partial derivative that is small because larger numbers cancel is as exact as those.
        let noise = 1e-14 * expected.iter().fold(0.0_f64, |a, g| a.max(g.abs()));
        for (i, (&a, &b)) in by_x.iter().zip(&expected).enumerate() {
            let same = (a - b).abs() <= 1e-10 * b.abs() + noise;
            if !same {
                problems.push(format!("{name} {n}: x[{}] has {a}, expected {b}", i + 1));
                break;
            }
        }
        let differing = difference_in_c(kernel, &inputs, n, &by_c);
        problems.extend(differing.map(|problem| format!("{name} {n}: {problem}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// In two directions at once: the tangent is the gradient times the direction.
#[test]
fn forward_mode_gives_products_with_the_gradient() {
    for (name, n) in SIZES {
        let kernel = kernel(name).unwrap();
        let inputs = inputs(kernel, n);
        let mut gradient = vec![0.0; inputs.x.len()];
        let expected_value = (kernel.gradient)(&inputs.x, &inputs.c, n, &mut gradient);
        let (module, function) = exported(kernel);
        let machine = Machine::new(&module);
        let args = arguments(&machine, &inputs, n);
        let along = [|i: usize| ((i % 7) as f64 - 3.0) / 3.0, |i: usize| 1.0 / (1.0 + i as f64)];
        let tangents = along.map(|along| (0..inputs.x.len()).map(along).collect::<Vec<f64>>());
        let no_change = vec![0.0; inputs.c.len()];
        let directions =
            tangents.clone().map(|x| vec![vector(&machine, &x), vector(&machine, &no_change), Value::Nothing]);
        let result = bbkit::jvp(&module, &function, &args, &directions, Limits::default());
        let result = result.unwrap_or_else(|error| panic!("{name} {n}: {error}"));
        assert!(close(result.value.as_float().unwrap(), expected_value, 1e-12), "{name} {n}: {}", result.value);
        for (direction, tangent) in tangents.iter().zip(&result.tangents) {
            let products: Vec<f64> = direction.iter().zip(&gradient).map(|(d, g)| d * g).collect();
            let (expected, scale) = (products.iter().sum::<f64>(), products.iter().map(|p| p.abs()).sum::<f64>());
            let tangent = tangent.as_float().unwrap();
            assert!((tangent - expected).abs() <= 1e-10 * scale, "{name} {n}: {tangent}, expected {expected}");
        }
    }
}

/// The derivatives for c are held against differences, in a few places.
fn difference_in_c(kernel: &Kernel, inputs: &Inputs, n: usize, by_c: &[f64]) -> Option<String> {
    let step = 1e-5;
    let scale = by_c.iter().fold(1.0_f64, |a, g| a.max(g.abs()));
    for i in (0..by_c.len()).step_by(by_c.len() / 5 + 1) {
        let shifted = |by: f64| {
            let mut c = inputs.c.clone();
            c[i] += by;
            (kernel.value)(&inputs.x, &c, n)
        };
        let difference =
            (8.0 * (shifted(step) - shifted(-step)) - (shifted(2.0 * step) - shifted(-2.0 * step))) / (12.0 * step);
        let rounding = 1e-15 * shifted(0.0).abs() / step;
        let same = (by_c[i] - difference).abs() <= 1e-7 * scale + rounding;
        if !same {
            return Some(format!("c[{}] has {}, differences say {difference}", i + 1, by_c[i]));
        }
    }
    None
}

/// What the gradients of the kernels cost: statements executed, values saved and objects made, in `kernels/stats.txt`.
/// `BBKIT_BLESS=1` writes it anew. Changes for the better are welcome; this test is there so that they are seen.
#[test]
fn gradients_cost_what_the_table_says() {
    let mut table = String::from(
        "# kernel      n   statements: function   gradient  ratio   values saved   objects: function   gradient\n",
    );
    let mut techniques = format!(
        "\n# values saved with more and more of what makes derivatives small\n# kernel   {:>12}",
        "as it comes"
    );
    Savings::names().for_each(|name| techniques.push_str(&format!(" {name:>width$}", width = name.len().max(9))));
    for kernel in &KERNELS {
        let n = SIZES.iter().find(|(name, _)| *name == kernel.name).map_or(20, |(_, n)| (*n).min(100));
        let (module, name) = exported(kernel);
        let inputs = inputs(kernel, n);
        let args = arguments(&Machine::new(&module), &inputs, n);
        let statistics = bbkit::gradient_statistics(&module, &name, &args, &GradientOptions::new());
        let statistics = statistics.unwrap_or_else(|error| panic!("{} {n}: {error}", kernel.name));
        let (primal, gradient) = (statistics.primal, statistics.gradient);
        assert_eq!(primal.saved, 0, "{}", kernel.name);
        table.push_str(&format!(
            "{:<9} {n:>6} {:>22} {:>10} {:>6.2} {:>14} {:>19} {:>10}\n",
            kernel.name,
            primal.statements,
            gradient.statements,
            statistics.ratio(),
            gradient.saved,
            primal.objects,
            gradient.objects,
        ));
        let report = bbkit::savings_report(&module, &name, &args, &GradientOptions::new());
        let rows = report.unwrap_or_else(|error| panic!("{} {n}: {error}", kernel.name)).rows;
        techniques.push_str(&format!("\n{:<10}", kernel.name));
        for row in rows {
            let width = row.technique.map_or(12, |name| name.len().max(9));
            techniques.push_str(&format!(" {:>width$}", row.saved));
        }
    }
    table.push_str(&techniques);
    table.push('\n');
    let path = folder().join("stats.txt");
    if std::env::var_os("BBKIT_BLESS").is_some() {
        fs::write(&path, &table).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(known == table, "it says\n{known}but it is\n{table}(BBKIT_BLESS=1 takes that over)");
}

/// `scripts/julia --install` gets a Julia for this; without one it says nothing.
#[test]
#[ignore = "Julia takes its time: scripts/corpora"]
fn exporting_again_gives_the_same_bytes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let julia = root.join("scripts/julia");
    let version = Command::new(&julia).arg("--version").output().unwrap();
    if !String::from_utf8_lossy(&version.stdout).contains("1.5.3") {
        return;
    }
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    fs::create_dir_all(&fresh).unwrap();
    let mut command = Command::new(&julia);
    command.current_dir(root).args(["--startup-file=no", "tests/kernels/export.jl"]).arg(&fresh);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for kernel in &KERNELS {
        let file = format!("{}.json", kernel.name);
        let (kept, made) = (fs::read(folder().join(&file)).unwrap(), fs::read(fresh.join(&file)).unwrap());
        assert!(kept == made, "tests/kernels/{file} is not what Julia exports: run tests/kernels/export.jl");
    }
}
