//! `check_gradient`: every function of the file tests and of Swift's cases is found right, and a derivative with a
//! mistake is found wrong, by the check that is there for it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use bbkit::exec::{Limits, Machine, Value, first_difference};
use bbkit::ircode::{IRCode, Module, Type, parse_module};
use bbkit::passes::reverse_mode::{DerivativeNames, Options, derive};
use bbkit::{
    Carrier, CheckOptions, CheckReport, GradientError, GradientOptions, Input, check_derived, check_gradient,
    gradient_with,
};
use kit::swift;
use serde_json::Value as Json;

const PROGRAM: &str = "
mutable struct Counter
    total::Float64
    n::Int64
end
function weighed(w::Vector{Float64}, x::Float64)::Float64
1 ─ %1 = Base.getindex(w, 1)::Float64
│   %2 = Base.getindex(w, 2)::Float64
│   %3 = Base.mul_float(%1, %2)::Float64
│   %4 = Base.mul_float(%3, x)::Float64
└──      return %4
end
function overwrite(w::Vector{Float64}, c::Counter)::Float64
1 ─ %1 = Base.getindex(w, 1)::Float64
│   %2 = Base.mul_float(%1, %1)::Float64
│        Base.setindex!(w, %2, 2)::Vector{Float64}
│   %4 = Base.getfield(c, :total)::Float64
│   %5 = Base.add_float(%4, %2)::Float64
│        Base.setfield!(c, :total, %5)::Float64
│   %7 = Base.getindex(w, 2)::Float64
│   %8 = Base.mul_float(%7, %5)::Float64
└──      return %8
end
function halves(w::Matrix{Float64})::Tuple{Float64, Int64, Float64}
1 ─ %1 = Base.getindex(w, 1, 2)::Float64
│   %2 = Base.getindex(w, 2, 1)::Float64
│   %3 = Base.mul_float(%1, %2)::Float64
│   %4 = Base.div_float(%1, %2)::Float64
│   %5 = Core.tuple(%3, 7, %4)::Tuple{Float64, Int64, Float64}
└──      return %5
end
";

fn json(module: &Module<IRCode>, name: &str, args: &str) -> Vec<Value> {
    let types = module.function(name).unwrap().body.argtypes.iter().skip(1).cloned().collect::<Vec<Type>>();
    let json: Vec<Json> = serde_json::from_str(args).unwrap();
    let machine = Machine::new(module);
    json.iter().zip(&types).map(|(json, ty)| machine.value_from_json(json, ty).unwrap()).collect()
}

/// The module with the derivative of a function, as text, and its names.
fn derived(name: &str) -> (String, DerivativeNames) {
    let module = parse_module(PROGRAM).unwrap().module;
    let mut module = bbkit::to_bbcode(&module).unwrap();
    let options = Options { vjp: true, ..Options::default() };
    let names = derive(&mut module, &name.into(), &options).unwrap().names;
    let module = bbkit::to_ircode(&module).unwrap();
    (bbkit::ircode::print_module(&module, bbkit::ircode::Style::Bbkit), names)
}

fn checked(text: &str, name: &str, names: &DerivativeNames, args: &str, options: &CheckOptions) -> CheckReport {
    let module = parse_module(text).unwrap().module;
    check_derived(&module, name, names, &json(&module, name, args), options).unwrap()
}

/// Checks the derivative with what `change` makes of one of its functions.
fn planted(name: &str, args: &str, function: &str, change: &dyn Fn(&str) -> String) -> CheckReport {
    planted_with(name, args, function, change, &CheckOptions::default())
}

fn planted_with(
    name: &str,
    args: &str,
    function: &str,
    change: &dyn Fn(&str) -> String,
    options: &CheckOptions,
) -> CheckReport {
    let (text, names) = derived(name);
    let right = checked(&text, name, &names, args, options);
    assert!(right.is_right(), "{right}");
    let start = text.find(&format!("function {function}(")).unwrap_or_else(|| panic!("no {function} in\n{text}"));
    let (before, rest) = text.split_at(start);
    let (body, after) = rest.split_at(rest.find("\nend").unwrap());
    let changed = change(body);
    assert_ne!(body, changed);
    checked(&format!("{before}{changed}{after}"), name, &names, args, options)
}

/// The text with the operand of this number of a call replaced, where what is called is met for the so-manieth time.
fn with_operand(text: &str, call: &str, occurrence: usize, operand: usize, new: &str) -> String {
    let (at, _) = text.match_indices(call).nth(occurrence).unwrap_or_else(|| panic!("no {call} in\n{text}"));
    let (before, rest) = text.split_at(at + call.len());
    let (operands, after) = rest.split_once(')').unwrap();
    let mut operands: Vec<&str> = operands.split(", ").collect();
    operands[operand] = new;
    format!("{before}{}){after}", operands.join(", "))
}

fn failures(report: &CheckReport) -> Vec<&str> {
    report.failures().map(|check| check.name).collect()
}

/// x² + y where x² is so large that y is not seen in the sum: a difference by y is no sign that the gradient is wrong.
/// That by x is as exact as ever, and one that is wrong is found.
#[test]
fn differences_say_nothing_where_the_last_bit_of_the_value_hides_them() {
    let text = "
function f(x::Float64, y::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
│   %2 = Base.add_float(%1, y)::Float64
└──      return %2
end
";
    let module = ircode::parse_module(text).unwrap().module;
    let compare = |by_x: f64| {
        let gradient = [Value::from(by_x), Value::from(1.0)];
        let args = [Value::from(1e13), Value::from(2.0)];
        bbkit::compare_with_differences(&module, "f", &args, &gradient, exec::Limits::default()).unwrap()
    };
    let right = compare(2e13);
    assert!(right.worst() <= right.tolerance, "{right:?}");
    assert_eq!(right.differences.get(1), Some(&None));
    let wrong = compare(3e13);
    assert!(wrong.worst() > wrong.tolerance, "{wrong:?}");
}

/// Of x·y: what stands in the place of a number of the gradient is no number, or there is none.
#[test]
fn what_is_no_gradient_does_not_agree_with_differences() {
    let text = "function f(x::Float64, y::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, y)::Float64\n└──      return %1\nend\n";
    let module = ircode::parse_module(text).unwrap().module;
    let args = [Value::from(2.0), Value::from(3.0)];
    let worst = |gradient: &[Value]| {
        bbkit::compare_with_differences(&module, "f", &args, gradient, exec::Limits::default()).unwrap().worst()
    };
    assert!(worst(&[Value::from(3.0), Value::from(2.0)]) < 1e-9);
    // What was not asked for.
    assert!(worst(&[Value::from(3.0), Value::Nothing]) < 1e-9);
    for wrong in [vec![], vec![Value::from(3.0)], vec![Value::from(3.0), Value::String("x".into())], vec![3.into(); 2]]
    {
        assert_eq!(worst(&wrong), f64::INFINITY, "{wrong:?}");
    }
}

#[test]
fn tangents_are_of_as_many_types_as_values() {
    let module = ircode::parse_module("function f()\n1 ─ return 1\nend\n").unwrap().module;
    let machine = exec::Machine::new(&module);
    let float = ircode::Type::FLOAT64;
    assert_eq!(machine.zero_tangents(&[Value::from(2.0)], &[float]).unwrap().len(), 1);
    let error = machine.zero_tangents(&[Value::from(2.0)], &[]).unwrap_err();
    assert_eq!(error.to_string(), "tangents of 1 value need as many types, not 0 types");
}

#[test]
fn a_derivative_that_is_not_there_is_not_right() {
    let text = "function f(x::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, x)::Float64\n└──      return %1\nend\n";
    let module = ircode::parse_module(text).unwrap().module;
    let args = [Value::from(2.0)];
    let gradient = bbkit::gradient(&module, "f", &args, exec::Limits::default()).unwrap();
    let error = bbkit::check_derived(&module, "f", &gradient.names, &args, &Default::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no function `f_value_and_vjp`");
    let error = bbkit::check_derived(&module, "g", &gradient.names, &args, &Default::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no function `g`");
}

/// How far differences may be off says nothing of forward mode, which is exact but for rounding.
#[test]
fn a_tolerance_is_for_differences_alone() {
    let wide = CheckOptions { tolerance: Some(1e3), ..CheckOptions::default() };
    let report = planted_with(
        "weighed",
        "[[2, 3], 4]",
        "weighed_pb",
        &|body| body.replacen("Base.mul_float(", "Base.add_float(", 1),
        &wide,
    );
    let found = failures(&report);
    assert!(!found.contains(&"differences") && found.contains(&"forward mode"), "{report}");
}

#[test]
fn a_wrong_factor_is_found() {
    let report =
        planted("weighed", "[[2, 3], 4]", "weighed_pb", &|body| body.replacen("Base.mul_float(", "Base.add_float(", 1));
    let found = failures(&report);
    assert!(found.contains(&"differences") && found.contains(&"forward mode"), "{report}");
    assert!(report.to_string().contains("differences say"), "{report}");
    let report = planted("halves", "[[[2, 3], [5, 7]]]", "halves_pb", &|body| {
        body.replacen("Base.mul_float(", "Base.sub_float(", 1)
    });
    assert!(failures(&report).contains(&"⟨Jv, w⟩ = ⟨v, Jᵀw⟩"), "{report}");
}

/// What is wrong with a derivative, if anything is. That there is none, or that the function fails, is no matter here.
fn problem(module: &Module<IRCode>, name: &str, args: &[Value]) -> Option<String> {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for carrier in [Carrier::Stacks, Carrier::LinearMaps] {
        match check_gradient(module, name, args, &CheckOptions { carrier, ..CheckOptions::default() }) {
            Ok(report) if report.is_right() => errors.push(false),
            Ok(report) => found.push(format!("{carrier:?}: {report}")),
            Err(GradientError::Pass(_)) => errors.push(true),
            Err(GradientError::Run(error)) if !error.to_string().contains("tangent") => errors.push(true),
            Err(error) => found.push(format!("{carrier:?}: {error}")),
        }
    }
    if let [a, b] = *errors.as_slice()
        && a != b
    {
        found.push("one carrier gives a derivative, the other an error".into());
    }
    let gradient = |carrier: Carrier| {
        let args = Machine::new(module).copies(args).ok()?;
        let result = gradient_with(module, name, &args, &GradientOptions::new().carrier(carrier)).ok()?;
        Some(std::iter::once(result.value).chain(result.gradient).collect::<Vec<Value>>())
    };
    if let (Some(stacks), Some(maps)) = (gradient(Carrier::Stacks), gradient(Carrier::LinearMaps))
        && let Some(place) = first_difference(&stacks, &maps)
    {
        found.push(format!("the carriers differ in {place}"));
    }
    let again = || Machine::new(module).copies(args).unwrap_or_default();
    let specialised =
        kit::carriers::carriers_agree(module, name, &again, Limits::default(), &kit::carriers::specialized);
    found.extend(specialised.err().map(|broken| format!("specialised: {broken}")));
    (!found.is_empty()).then(|| found.join("\n"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Functions that do not end at arguments close to those at which they are tested: there are no differences.
const ENDLESS_NEARBY: &[&str] = &["invsqrt"];

#[test]
fn every_function_of_the_file_tests_is_right() {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("grad")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut checked, mut problems) = (0, Vec::new());
    for path in files {
        let file = path.file_stem().unwrap().to_str().unwrap().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let Ok(input) = Input::read(path.to_str().unwrap()) else { continue };
        for line in text.lines() {
            let Some((name, args)) = point(line) else { continue };
            if input.module.function(name).is_none() || ENDLESS_NEARBY.contains(&name) {
                continue;
            }
            let module = &input.module;
            let function = module.function(name).unwrap();
            let types = passes::argument_types(module, function);
            let Ok(Json::Array(json)) = serde_json::from_str::<Json>(args) else { continue };
            let machine = Machine::new(module);
            let values = json.iter().enumerate().map(|(at, json)| {
                let ty = types.get(at).filter(|_| !function.varargs).unwrap_or(&Type::Untyped);
                machine.value_from_json(json, ty).ok()
            });
            let Some(values) = values.collect::<Option<Vec<_>>>() else { continue };
            checked += 1;
            problems.extend(problem(module, name, &values).map(|text| format!("{file} {name} {args}\n{text}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 50, "{checked}");
}

/// The call of a line such as `# grad f [1.5] = …` or `#$ grad - --fn f --args '[1.5]'`.
fn point(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix("# grad ") {
        let (call, _) = rest.split_once(" = ")?;
        return call.split_once(' ');
    }
    if !line.starts_with("#$ grad ") && !line.starts_with("#$ vjp ") {
        return None;
    }
    let (_, rest) = line.split_once("--fn ")?;
    let (name, rest) = rest.split_once(' ')?;
    let (_, rest) = rest.split_once("--args ")?;
    let args = match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\'')?.0,
        None => rest.split_once(' ').map_or(rest, |(args, _)| args),
    };
    Some((name, args))
}

#[test]
fn every_case_of_swift_is_right() {
    let (cases, table) = (swift::list("cases.json"), swift::list("table.json"));
    let (mut checked, mut problems) = (0, Vec::new());
    for entry in &table {
        let (file, name) = (entry["file"].as_str().unwrap(), entry["function"].as_str().unwrap());
        let module = swift::program(&format!("{file}.ir"));
        // Registered derivatives are not those of the function: Swift's tests tell them apart by that.
        if entry["rules"] == true {
            continue;
        }
        let case = cases.iter().find(|case| swift::is_for(entry, case)).unwrap();
        let types: Vec<Type> = module.function(name).unwrap().body.argtypes.iter().skip(1).cloned().collect();
        let machine = Machine::new(&module);
        let values = swift::arguments(entry, case)
            .into_iter()
            .zip(&types)
            .map(|(json, ty)| machine.value_from_json(&json, ty).ok());
        let Some(values) = values.collect::<Option<Vec<_>>>() else { continue };
        checked += 1;
        problems.extend(problem(&module, name, &values).map(|text| format!("{file} {name}\n{text}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 100, "{checked}");
}

#[test]
fn a_shadow_that_is_overwritten_is_found() {
    let report =
        planted("weighed", "[[2, 3], 4]", "weighed_pb", &|body| with_operand(body, "Base.add_float(", 0, 0, "0.0"));
    assert_eq!(failures(&report), ["cotangents added", "pullback twice"], "{report}");
    assert!(report.to_string().contains("_2[2] is "), "{report}");
}

#[test]
fn inputs_that_are_not_restored_are_found() {
    let args = "[[2, 3], [5, 7]]";
    // The last statement that sets an element of the array, or the first that sets a field of the struct and not of its
    // shadow, puts back what was there.
    let last = |body: &str| body.matches("Base.setindex!(").count() - 2;
    let report =
        planted("overwrite", args, "overwrite_pb", &|body| with_operand(body, "Base.setindex!(", last(body), 2, "1"));
    assert_eq!(failures(&report), ["inputs restored"], "{report}");
    assert!(report.to_string().contains("_2[1] was changed"), "{report}");
    let report = planted("overwrite", args, "overwrite_pb", &|body| with_operand(body, "Base.setfield!(", 1, 2, "0.0"));
    assert!(report.to_string().contains("_3.total was changed"), "{report}");
}

#[test]
fn a_report_reads_well() {
    let (text, names) = derived("overwrite");
    let report = checked(&text, "overwrite", &names, "[[2, 3], [5, 7]]", &CheckOptions::default()).to_string();
    let lines: Vec<&str> = report.lines().collect();
    assert!(lines[0].starts_with("differences        ok, off by "), "{report}");
    assert!(lines[1].starts_with("forward mode       ok, off by "), "{report}");
    assert_eq!(
        lines[2..],
        [
            "inputs restored    ok",
            "run twice          ok",
            "cotangents added   not checked: the function changes its arguments",
            "pullback twice     not checked: the function changes its arguments",
        ]
    );
}

/// What is zero up to rounding, x (1 / x) at 5, and where differences are what the third derivative makes of their
/// steps, 74 x³ at 0.
#[test]
fn derivatives_that_are_zero_are_not_found_wrong() {
    let module = parse_module(
        "
function cancels(x::Float64)::Float64
1 ─ %1 = Base.div_float(1.0, x)::Float64
│   %2 = Base.mul_float(x, %1)::Float64
└──      return %2
end
function cubic(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
│   %2 = Base.mul_float(%1, x)::Float64
│   %3 = Base.mul_float(74.0, %2)::Float64
└──      return %3
end
",
    )
    .unwrap()
    .module;
    for (name, at) in [("cancels", 5.0), ("cubic", 0.0)] {
        let report = check_gradient(&module, name, &[Value::from(at)], &CheckOptions::default()).unwrap();
        assert_eq!(failures(&report), Vec::<&str>::new(), "{name}");
    }
}
