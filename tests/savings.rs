//! What makes derivatives small changes nothing about what they give, and the gradient can be added into the caller's
//! memory.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use bbkit::exec::{Machine, Value, first_difference};
use bbkit::ircode::{CallGraph, IRCode, Module, Scalar, Type, parse_module};
use bbkit::passes::reverse_mode::{DerivativeNames, Options, derive};
use bbkit::{GradientOptions, Input, Savings, gradient_with};
use hashbrown::HashSet;
use serde_json::Value as Json;

/// The points at which the file tests say gradients, with the arguments there.
fn points() -> Vec<(String, Module<IRCode>, String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/grad");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut points = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let Ok(input) = Input::read(path.to_str().unwrap()) else { continue };
        for call in text.lines().filter_map(|line| line.strip_prefix("# grad ")?.split_once(" = ")) {
            let (name, args) = call.0.split_once(' ').unwrap();
            let file = path.file_stem().unwrap().to_str().unwrap();
            let module = bbkit::specialized(&input.module, name, &[]).unwrap();
            points.push((file.to_string(), module, name.to_string(), args.to_string()));
        }
    }
    assert!(points.len() > 50, "{}", points.len());
    points
}

fn arguments(machine: &Machine<'_>, module: &Module<IRCode>, name: &str, args: &str) -> Option<Vec<Value>> {
    let function = module.function(name)?;
    let types = passes::argument_types(module, function);
    let Ok(Json::Array(json)) = serde_json::from_str::<Json>(args) else { return None };
    let values = json.iter().enumerate().map(|(at, json)| {
        let ty = types.get(at).filter(|_| !function.varargs).unwrap_or(&Type::Untyped);
        machine.value_from_json(json, ty).ok()
    });
    values.collect()
}

#[test]
fn without_any_technique_the_gradient_is_the_same() {
    let mut problems = Vec::new();
    for (file, module, name, args) in points() {
        let gradient = |savings: Savings| {
            let args = arguments(&Machine::new(&module), &module, &name, &args)?;
            let result = gradient_with(&module, &name, &args, &GradientOptions::new().savings(savings));
            let result = result.unwrap_or_else(|error| panic!("{file} {name} {savings:?}: {error}"));
            Some(std::iter::once(result.value).chain(result.gradient).collect::<Vec<Value>>())
        };
        let Some(all) = gradient(Savings::default()) else { continue };
        let without = Savings::names().map(|name| (name, Savings::default().without(name).unwrap()));
        let alone = Savings::names().map(|name| (name, Savings::none().with(name).unwrap()));
        for (technique, savings) in without.chain(alone).chain([("all", Savings::none())]) {
            if let Some(difference) = gradient(savings).and_then(|other| first_difference(&all, &other)) {
                problems.push(format!("{file} {name} {args}: {technique} {savings:?}: differs at {difference}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn accumulating(module: &Module<IRCode>, name: &str) -> Option<(Module<IRCode>, DerivativeNames)> {
    let mut module = bbkit::to_bbcode(module).unwrap();
    let options = Options { accumulate: true, ..Options::default() };
    let names = derive(&mut module, &name.into(), &options).ok()?.names;
    assert!(module.function(&names.value_and_gradient).is_none(), "the gradient was not asked for");
    Some((bbkit::to_ircode(&module).unwrap(), names))
}

/// The gradient of a function, as it is called.
fn gradient(module: &Module<IRCode>, name: &str, args: &[Value]) -> Value {
    let mut module = bbkit::to_bbcode(module).unwrap();
    let names = derive(&mut module, &name.into(), &Options::default()).unwrap().names;
    Machine::new(&bbkit::to_ircode(&module).unwrap()).call(&names.value_and_gradient, args).unwrap()
}

/// With shadows of zeros and the seed 1, what is added into the shadows and what is given back is the gradient.
#[test]
fn the_gradient_is_added_into_shadows_of_the_caller() {
    let (mut checked, mut problems) = (0, Vec::new());
    for (file, module, name, args) in points() {
        let Some((derived, names)) = accumulating(&module, &name) else { continue };
        let Some(function) = derived.function(&names.accumulate_gradient) else { continue };
        let machine = Machine::new(&derived);
        let (Some(args), Some(fresh)) =
            (arguments(&machine, &module, &name, &args), arguments(&machine, &module, &name, &args))
        else {
            continue;
        };
        let count = args.len();
        // Shadows of what holds arrays among other things are no tangents of these.
        let plain = |value: &Value| value.as_scalar().is_some() || value.array_elements().is_some();
        if module.function(&name).unwrap().varargs || !args.iter().all(plain) {
            continue;
        }
        let expected = gradient(&module, &name, &fresh);
        let expected = expected.as_tuple().unwrap();
        let zeros = machine.zero_tangents(&args, &function.body.argtypes[1..=count]).unwrap();
        let shadowed: Vec<usize> =
            (0..count).filter(|&i| args[i].as_scalar().is_none() && !matches!(zeros[i], Value::Nothing)).collect();
        let mut operands = args;
        // The seed of a result that is no float, for all that the listing says, has no type either.
        let Some(of_result) = function.body.argtypes[count + 1].as_scalar() else { continue };
        operands.push(Value::from(Scalar::from_float(of_result, 1.0).unwrap()));
        operands.extend(shadowed.iter().map(|&i| zeros[i].clone()));
        if operands.len() + 1 != function.body.argtypes.len() {
            problems.push(format!("{file} {name}: takes {} arguments", function.body.argtypes.len()));
            continue;
        }
        let found = Machine::new(&derived).call(&names.accumulate_gradient, &operands).unwrap();
        let mut found = found.as_tuple().unwrap().to_vec();
        for i in shadowed {
            assert!(matches!(found[i + 1], Value::Nothing), "{file} {name}: {:?}", found[i + 1]);
            found[i + 1] = zeros[i].clone();
        }
        checked += 1;
        problems.extend(
            first_difference(expected, &found).map(|difference| format!("{file} {name}: differs at {difference}")),
        );
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 50, "{checked}");
}

/// What is reached from the functions at these positions.
fn reached(module: &Module<IRCode>, from: impl IntoIterator<Item = usize>) -> HashSet<usize> {
    let graph = CallGraph::new(module);
    let mut work: Vec<usize> = from.into_iter().collect();
    let mut reached = HashSet::new();
    while let Some(function) = work.pop() {
        if reached.insert(function) {
            work.extend(graph.callees(function));
        }
    }
    reached
}

/// The gradient is the same to the last bit, and there are no passes that it does not call.
#[test]
fn passes_are_left_out_that_nothing_calls() {
    let (mut checked, mut kept, mut problems) = (0, 0, Vec::new());
    for (file, module, name, args) in points() {
        let derived = |only_joined: bool| {
            let mut module = bbkit::to_bbcode(&module).unwrap();
            let names = derive(&mut module, &name.as_str().into(), &Options { only_joined, ..Options::default() });
            let names = names.unwrap_or_else(|error| panic!("{file} {name}: {error}")).names;
            (bbkit::to_ircode(&module).unwrap(), names)
        };
        let ((all, names), (only, _)) = (derived(false), derived(true));
        let gradient = |derived: &Module<IRCode>| {
            let args = arguments(&Machine::new(derived), &module, &name, &args)?;
            Some(Machine::new(derived).call(&names.value_and_gradient, &args))
        };
        let (expected, found) = match (gradient(&all), gradient(&only)) {
            (Some(Ok(expected)), Some(Ok(found))) => (expected, found),
            (Some(Ok(_)), Some(Err(error))) => {
                problems.push(format!("{file} {name}: {error}"));
                continue;
            }
            _ => continue,
        };
        checked += 1;
        if let Some(difference) = first_difference(std::slice::from_ref(&expected), std::slice::from_ref(&found)) {
            problems.push(format!("{file} {name}: differs at {difference}"));
        }
        assert!(
            all.function(&names.forward).is_some(),
            "{file} {name}: the forward pass is there if it is not left out"
        );
        let reached = reached(&only, only.function_index(&names.value_and_gradient));
        for (index, function) in only.functions().iter().enumerate() {
            let is_new = module.function(&function.name).is_none();
            kept += usize::from(is_new && reached.contains(&index));
            let is_pass = ["_fwd", "_pb", "_once"].iter().any(|end| function.name.ends_with(end));
            if is_new && is_pass && !reached.contains(&index) {
                problems.push(format!("{file} {name}: nothing calls {}", function.name));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(
        checked > 50 && kept > checked,
        "{checked} gradients, {kept} functions: those of recursive ones are called"
    );
}

/// What is made and goes again takes no names from the program, and what is not made takes none.
#[test]
fn functions_of_the_program_stay_what_they_are() {
    let text = |name: &str| {
        format!(
            "
function {name}(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, 10.0)::Float64
└──      return %1
end

function f(x::Float64)::Float64
1 ─ %1 = Main.{name}(x)::Float64
│   %2 = Base.mul_float(%1, %1)::Float64
└──      return %2
end
"
        )
    };
    let derived = |name: &str| {
        let mut module = bbkit::to_bbcode(&parse_module(&text(name)).unwrap().module).unwrap();
        let options = Options { only_joined: true, ..Options::default() };
        let names = derive(&mut module, &"f".into(), &options).map_err(|error| error.to_string())?.names;
        let module = bbkit::to_ircode(&module).unwrap();
        let gradient = Machine::new(&module).call(&names.value_and_gradient, &[Value::from(2.0)]).unwrap();
        Ok::<String, String>(gradient.to_string())
    };
    assert_eq!(derived("f_fwd").unwrap(), "(400.0, 400.0)");
    let refused = derived("f_fwd_once").unwrap_err();
    assert!(refused.contains("the module has a function `f_fwd_once` already"), "{refused}");
}

#[test]
fn the_gradient_is_added_to_what_is_there_and_scaled_by_the_seed() {
    let module = parse_module(
        "
function weighed(w::Vector{Float64}, x::Float64)::Float64
1 ─ %1 = Base.getindex(w, 1)::Float64
│   %2 = Base.getindex(w, 2)::Float64
│   %3 = Base.mul_float(%1, %2)::Float64
│   %4 = Base.mul_float(%3, x)::Float64
└──      return %4
end
",
    );
    let (derived, names) = accumulating(&module.unwrap().module, "weighed").unwrap();
    assert_eq!(names.accumulate_gradient, "weighed_accumulate_gradient");
    let mut machine = Machine::new(&derived);
    let vector = |numbers: [f64; 2]| machine.array(Type::FLOAT64, vec![2], numbers.map(Value::from).to_vec()).unwrap();
    let shadow = vector([100.0, 200.0]);
    let args = [vector([2.0, 3.0]), Value::from(5.0), Value::from(10.0), shadow.clone()];
    let result = machine.call(&names.accumulate_gradient, &args).unwrap();
    assert_eq!(result.to_string(), "(30.0, nothing, 60.0)");
    assert_eq!(shadow.to_string(), "[250.0, 300.0]");
}
