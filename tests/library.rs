//! Functions that go through Julia's own library, as its compiler leaves them: the interpreter computes what Julia
//! computes, and reverse mode the gradient that differences in long arithmetic give.
//!
//! Of all of them that is asked by `scripts/corpora`, of every sixteenth by each run of the tests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::path::Path;
use std::process::Command;

use bbkit::exec::{Limits, Machine, Value, first_difference, value_to_json};
use bbkit::ircode::text::print_module;
use bbkit::ircode::{IRCode, Module, Style, Type, from_json};
use bbkit::{Carrier, Engine, GradientOptions, RunOptions};
use kit::laws::types_are_true;
use kit::library::{Case, PROGRAMS, cases, cases_where, folder, read, sample};
use serde_json::Value as Json;

/// Functions of which reverse mode makes no gradient, and what it says.
const NOT_REVERSED: &[(&str, &str)] = &[("ldexp", "a float is made of bits")];

/// A float is made of bits: the derivative is that of no rule.
const BITS: &str = "a float is made of bits that depend on the arguments";
/// What forward mode refuses, with what it says.
const NOT_DERIVED: [(&str, &str); 1] = [("ldexp", BITS)];

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

#[test]
fn the_interpreter_computes_what_julia_computes() {
    compare_values(&sample());
}

#[test]
#[ignore = "it takes minutes: scripts/corpora"]
fn all_have_julias_values() {
    let cases = cases();
    assert_eq!(cases.len(), 753, "README says how many there are");
    compare_values(&cases);
}

fn compare_values(cases: &[Case]) {
    let mut problems = Vec::new();
    for case in cases {
        let result = Machine::new(&case.module).call(&case.function, &case.arguments());
        let expected = case.expected["value"].as_f64().unwrap();
        let typed = types_are_true(&case.module, &case.function, &case.arguments(), Limits::default());
        problems.extend(typed.err().map(|problem| format!("{}: {problem}", case.name)));
        match result {
            // Primitives stand for the library's own code, and may differ in the last places.
            Ok(value) if value.as_float().is_some_and(|value| close(value, expected, 1e-14)) => {}
            Ok(value) => problems.push(format!("{}: {value}, expected {expected}", case.name)),
            Err(error) => problems.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The numbers in a value, in order; what has no derivative is left out.
fn numbers(json: &Json, into: &mut Vec<f64>) {
    match json {
        Json::Array(elements) => elements.iter().for_each(|element| numbers(element, into)),
        Json::Number(number) => into.extend(number.as_f64()),
        _ => {}
    }
}

/// The same lists with other numbers: some direction.
fn direction(gradient: &Json, next: &mut i32) -> Json {
    match gradient {
        Json::Array(elements) => elements.iter().map(|element| direction(element, next)).collect(),
        Json::Number(_) => {
            *next += 1;
            (f64::from(*next % 5) - 1.75).into()
        }
        other => other.clone(),
    }
}

/// The tangents of arguments of these types that JSON lists.
fn tangents_of(machine: &Machine<'_>, along: &Json, args: &[Value], types: &[Type]) -> Vec<Value> {
    let tangent = |((json, arg), ty): ((&Json, &Value), &Type)| {
        let zero = machine.zero_tangent(arg, ty).unwrap();
        machine.tangent_from_json(json, arg, &zero).unwrap()
    };
    along.as_array().unwrap().iter().zip(args).zip(types).map(tangent).collect()
}

#[test]
fn forward_mode_gives_products_with_the_gradient() {
    compare_products(&sample());
}

#[test]
#[ignore = "it takes minutes: scripts/corpora"]
fn all_have_products_with_the_gradient() {
    compare_products(&cases());
}

fn compare_products(cases: &[Case]) {
    let mut problems = Vec::new();
    for case in cases {
        let along = direction(&case.expected["gradient"], &mut 0);
        let (mut gradient, mut weights) = (Vec::new(), Vec::new());
        numbers(&case.expected["gradient"], &mut gradient);
        numbers(&along, &mut weights);
        let products: Vec<f64> = gradient.iter().zip(&weights).map(|(g, w)| g * w).collect();
        let (expected, scale) = (products.iter().sum::<f64>(), products.iter().map(|p| p.abs()).sum::<f64>());
        let machine = Machine::new(&case.module);
        let types = &case.code().body.argtypes[1..];
        let tangents = tangents_of(&machine, &along, &case.arguments(), types);
        let (name, limits) = (case.function.as_str(), Limits::default());
        let excuse = NOT_DERIVED.iter().find(|(name, _)| *name == case.name);
        match (bbkit::jvp(&case.module, name, &case.arguments(), std::slice::from_ref(&tangents), limits), excuse) {
            (Ok(_), Some(_)) => problems.push(format!("{} is differentiated: NOT_DERIVED need not name it", case.name)),
            (Ok(found), None) => {
                let all = [case.arguments(), tangents].concat();
                let typed = types_are_true(&found.module, &found.name, &all, limits);
                problems.extend(typed.err().map(|problem| format!("{}: {problem}", case.name)));
                let tangent = found.tangents[0].as_float().unwrap_or(f64::NAN);
                let right = (tangent - expected).abs() <= 1e-9 * scale.max(1.0);
                if !right {
                    problems.push(format!("{}: {tangent}, expected {expected}", case.name));
                }
            }
            (Err(error), Some((_, text))) if error.to_string().contains(text) => {}
            (Err(error), _) => problems.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Functions whose second derivatives go through traces of recursive functions and through arrays of structs, both of
/// which have tangents of known types; are at a point where the library takes a short cut for the value; or take from a
/// call what is known to be of one of the types that it may give.
const COMPILED_TWICE: [&str; 10] = [
    "sum",
    "sum_pairwise",
    "sum_columns",
    "var",
    "median",
    "sort",
    "struct_vector",
    "complex_of_floats",
    "sinc_beside_zero",
    "sum_over_a_tuple_by_number",
];

/// The arguments moved in a direction.
fn moved(args: &Json, along: &Json, by: f64) -> Json {
    match (args, along) {
        (Json::Array(args), Json::Array(along)) => {
            args.iter().zip(along).map(|(arg, along)| moved(arg, along, by)).collect()
        }
        (Json::Number(arg), Json::Number(along)) => (arg.as_f64().unwrap() + by * along.as_f64().unwrap()).into(),
        _ => args.clone(),
    }
}

/// The products of Hessians and a direction are the differences of the gradient, and the same to the last bit by
/// machine code and by the interpreter.
#[test]
fn second_derivatives_are_compiled() {
    const STEP: f64 = 1e-5;
    let mut problems = Vec::new();
    let cases = cases_where(|_, name| COMPILED_TWICE.contains(&name));
    assert_eq!(cases.len(), COMPILED_TWICE.len());
    for case in &cases {
        let machine = Machine::new(&case.module);
        let along = direction(&case.expected["gradient"], &mut 0);
        let types = &case.code().body.argtypes[1..];
        let vector = tangents_of(&machine, &along, &case.arguments(), types);
        let by = |engine| {
            let options = RunOptions::default().engine(engine);
            bbkit::hvp_with(&case.module, &case.function, &case.arguments(), &vector, &options)
        };
        let flat = |values: &[Value]| {
            let mut flat = Vec::new();
            values.iter().for_each(|value| numbers(&value_to_json(value).unwrap(), &mut flat));
            flat
        };
        let gradient = |by: f64| {
            let args = moved(&case.expected["args"], &along, by);
            let args = args.as_array().unwrap().iter().zip(types);
            let args: Vec<Value> = args.map(|(json, ty)| machine.value_from_json(json, ty).unwrap()).collect();
            flat(&bbkit::gradient(&case.module, &case.function, &args, Limits::default()).unwrap().gradient)
        };
        match (by(Engine::Native), by(Engine::Interpreter)) {
            (Ok(native), Ok(interpreted)) => {
                let difference = first_difference(&native.product, &interpreted.product);
                problems.extend(difference.map(|place| format!("{}: the engines differ at {place}", case.name)));
                let slope =
                    gradient(STEP).into_iter().zip(gradient(-STEP)).map(|(up, down)| (up - down) / (2.0 * STEP));
                let (product, slope) = (flat(&native.product), slope.collect::<Vec<_>>());
                assert_eq!(product.len(), slope.len(), "{}", case.name);
                for (found, expected) in product.into_iter().zip(slope) {
                    // NaN is not close to anything.
                    let close = (found - expected).abs() <= 1e-6 * expected.abs().max(1.0);
                    if !close {
                        problems.push(format!("{}: {found}, expected {expected}", case.name));
                    }
                }
            }
            (Err(error), _) | (_, Err(error)) => problems.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Functions of a matrix that happens to be symmetric, with the product of the Hessian there and a direction that is
/// not, column by column: mixed differences of the case with 1000 bits, for which tests/library/short_cuts.jl has
/// iterations, series and formulas of their own, by a step of 10⁻⁶⁰.
const NEAR_SYMMETRIC: [(&str, [f64; 9]); 3] = [
    (
        "functions_of_matrices_that_are_symmetric",
        [
            0.31847036704666565,
            -0.2081537853174506,
            -0.09995277388583276,
            -0.41534921304590516,
            0.2469595071385944,
            -1.3524669873053348,
            -0.6416077640481298,
            0.7505606073028244,
            -1.2416391302073582,
        ],
    ),
    (
        "eigenvalues_of_matrices_that_are_symmetric",
        [
            -0.2224415032064289,
            4.736948124058786,
            1.3047799766008426,
            -4.520287891246339,
            -0.7680547377750144,
            0.1897482142014187,
            2.137861268552908,
            1.0267718037897302,
            1.1492190261867614,
        ],
    ),
    (
        "eigenvectors_of_matrices_that_are_symmetric",
        [
            0.042053083296035125,
            -0.01984670606686357,
            -0.06156750185549033,
            -0.015704586605067364,
            0.045263847005095635,
            -0.10786154145126356,
            -0.08173912657718482,
            0.012422906072142073,
            -0.11975253245346239,
        ],
    ),
];

#[test]
fn second_derivatives_see_what_is_near_a_symmetric_matrix() {
    for (name, expected) in NEAR_SYMMETRIC {
        let cases = cases_where(|_, case| case == name);
        let [case] = cases.as_slice() else { panic!("{name}") };
        let machine = Machine::new(&case.module);
        let along = serde_json::json!([[[0, -1, 0.25], [1, 0, 0], [0, 0.5, 2]]]);
        let args = case.arguments();
        let vector = tangents_of(&machine, &along, &args, &case.code().body.argtypes[1..]);
        let product = bbkit::hvp(&case.module, &case.function, &args, &vector, Limits::default()).unwrap().product;
        let mut found = Vec::new();
        product.iter().for_each(|value| numbers(&value_to_json(value).unwrap(), &mut found));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-9, "{name}: {found}, expected {expected}");
        }
    }
}

#[test]
fn gradients_are_those_of_differences() {
    compare_gradients(&sample());
}

#[test]
#[ignore = "it takes minutes: scripts/corpora"]
fn all_have_the_gradients_of_differences() {
    compare_gradients(&cases());
}

fn compare_gradients(cases: &[Case]) {
    let mut problems = Vec::new();
    for case in cases {
        let args = case.arguments();
        let excuse = NOT_REVERSED.iter().find(|(name, _)| *name == case.name);
        let result = match (bbkit::gradient(&case.module, &case.function, &args, Limits::default()), excuse) {
            (Ok(result), None) => result,
            (Ok(_), Some(_)) => {
                problems.push(format!("{} has a gradient: NOT_REVERSED need not name it", case.name));
                continue;
            }
            (Err(error), Some((_, text))) if error.to_string().contains(text) => continue,
            (Err(error), _) => {
                problems.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        let both = &result.names.value_and_gradient;
        let typed = types_are_true(&result.module, both, &case.arguments(), Limits::default());
        problems.extend(typed.err().map(|problem| format!("{}: {problem}", case.name)));
        let again = || case.arguments();
        let agree = kit::carriers::carriers_agree(
            &case.module,
            &case.function,
            &again,
            Limits::default(),
            &kit::carriers::specialized,
        );
        problems.extend(agree.err().map(|broken| format!("{}, specialised: {broken}", case.name)));
        let options = GradientOptions::new().carrier(Carrier::LinearMaps);
        match bbkit::gradient_with(&case.module, &case.function, &case.arguments(), &options) {
            Ok(maps) => {
                if let Some(place) = first_difference(&result.gradient, &maps.gradient) {
                    problems.push(format!("{}: the carriers differ in {place}", case.name));
                }
            }
            Err(error) => problems.push(format!("{}, linear maps: {error}", case.name)),
        }
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        result.gradient.iter().for_each(|part| numbers(&value_to_json(part).unwrap(), &mut found));
        numbers(&case.expected["gradient"], &mut expected);
        let scale = expected.iter().fold(0.0_f64, |a, g| a.max(g.abs()));
        let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-10 * b.abs() + 1e-13 * scale;
        if found.len() != expected.len() || !found.iter().zip(&expected).all(same) {
            problems.push(format!("{}: {found:?}, expected {expected:?}", case.name));
        }
    }
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), cases.len(), problems.join("\n"));
}

/// Whether the cases are the same but for the last places of numbers: what Julia's BLAS computes depends on the
/// processor.
fn agree(known: &Json, made: &Json) -> bool {
    match (known, made) {
        (Json::Number(a), Json::Number(b)) => close(a.as_f64().unwrap(), b.as_f64().unwrap(), 1e-13),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| agree(a, b)))
        }
        (a, b) => a == b,
    }
}

/// `scripts/julia --install` gets a Julia for this; without one it says nothing.
#[test]
#[ignore = "it takes minutes: scripts/corpora"]
fn exporting_again_gives_the_same_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let julia = root.join("scripts/julia");
    let version = Command::new(&julia).arg("--version").output().unwrap();
    if !String::from_utf8_lossy(&version.stdout).contains("1.5.3") {
        return;
    }
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library");
    fs::create_dir_all(&fresh).unwrap();
    let mut command = Command::new(&julia);
    command.current_dir(root).args(["--startup-file=no", "tests/library/export.jl"]).arg(&fresh);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |program: &str| {
        let json = fs::read_to_string(fresh.join(program).with_extension("json")).unwrap();
        let module: Module<IRCode> = from_json(&json).unwrap();
        print_module(&module, Style::Bbkit)
    };
    let cases = fs::read_to_string(fresh.join("cases.json")).unwrap();
    let [known, made] = [read("cases.json"), cases.clone()].map(|cases| serde_json::from_str::<Json>(&cases).unwrap());
    let same_cases = agree(&known, &made);
    if std::env::var_os("BBKIT_BLESS").is_some() {
        PROGRAMS.iter().for_each(|program| fs::write(folder().join(program), text(program)).unwrap());
        if !same_cases {
            fs::write(folder().join("cases.json"), cases).unwrap();
        }
        return;
    }
    for program in PROGRAMS {
        let same = read(program) == text(program);
        assert!(same, "tests/library/{program} is not what Julia exports; BBKIT_BLESS=1 renews it");
    }
    assert!(same_cases, "tests/library/cases.json is not what Julia computes; BBKIT_BLESS=1 renews it");
}
