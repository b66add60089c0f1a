//! Tables of methods, together with what else there is: derivative entries that are looked up when the program runs,
//! differences between programs, shrinking, second derivatives.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that fails should stop")]

use exec::{Limits, Machine, Value};
use ircode::{DerivativeKind, IRCode, Module, Type, parse_module, print_module, verify_tables};
use passes::{PassManager, derivative_entries, find_pass};

const SHAPES: &str = "
class Shape
    scale::Float64
    method area => shape_area differentiable
end
class Circle <: Shape
    r::Float64
    method area => circle_area
end
class Dot <: Shape
end
protocol HasArea
    area(x::Float64)::Float64
end
witness Circle: HasArea
    area => circle_area
end

function shape_area(self::Shape, x::Float64)::Float64
1 ─ %1 = Base.getfield(self, :scale)::Float64
│   %2 = Base.mul_float(%1, x)::Float64
└──      return %2
end

function circle_area(self::Circle, x::Float64)::Float64
1 ─ %1 = invoke Main.shape_area(self::Circle, x::Float64)::Float64
│   %2 = Base.getfield(self, :r)::Float64
│   %3 = Base.mul_float(%2, %2)::Float64
│   %4 = Base.mul_float(%1, %3)::Float64
└──      return %4
end

function through_class(shape::Shape, x::Float64)::Float64
1 ─ %1 = BBKit.class_method(shape, :area)::Function
│   %2 = (%1)(shape, x)::Float64
└──      return %2
end

# What a derivative of the function above is that looks the derivative of the method up: Swift's way.
function through_entry(shape::Shape, x::Float64, dshape::BBKit.Tangent{Shape}, dx::Float64)::Tuple{Float64, Float64}
1 ─ %1 = BBKit.class_method(shape, :area, :jvp)::Function
│   %2 = (%1)(shape, x, dshape, dx)::Tuple{Float64, Float64}
└──      return %2
end
";

fn shapes() -> Module<IRCode> {
    parse_module(SHAPES).unwrap().module
}

/// The module with the entries that are missing.
fn with_entries() -> Module<IRCode> {
    let mut module = bbkit::to_bbcode(&shapes()).unwrap();
    let pass = find_pass("derivative-entries").unwrap();
    assert!(PassManager::new([pass]).verify_each(true).run(&mut module, None).unwrap());
    assert!(!PassManager::new([pass]).run(&mut module, None).unwrap(), "nothing is missing any more");
    bbkit::to_ircode(&module).unwrap()
}

fn object(machine: &Machine<'_>, class: &str, fields: &[f64]) -> Value {
    machine.structure(&Type::named(class), fields.iter().map(|&field| Value::from(field)).collect()).unwrap()
}

#[test]
fn derivatives_are_found_in_the_table_of_the_object() {
    let module = with_entries();
    let mut machine = Machine::new(&module);
    // d(scale·x), and d(scale·r²·x) = r²·x·dscale + 2·scale·r·x·dr + scale·r²·dx.
    for (class, fields, directions, value, tangent) in [
        ("Shape", [3.0].as_slice(), [2.0].as_slice(), 15.0, 31.0),
        ("Dot", &[3.0], &[2.0], 15.0, 31.0),
        ("Circle", &[3.0, 2.0], &[2.0, 0.5], 60.0, 154.0),
    ] {
        let shape = object(&machine, class, fields);
        let direction = object(&machine, &format!("BBKit.Tangent{{{class}}}"), directions);
        let args = [shape.clone(), Value::from(5.0), direction.clone(), Value::from(7.0)];
        let found = machine.call("through_entry", &args).unwrap();
        assert_eq!(found.to_string(), format!("({value:?}, {tangent:?})"), "{class}");
        // Differentiating the call of the method calls the same entries.
        let derived =
            bbkit::jvp(&module, "through_class", &args[..2], &[args[2..].to_vec()], Limits::default()).unwrap();
        assert_eq!(derived.tangents[0].as_float(), Some(tangent), "{class}");
    }
}

#[test]
fn entries_are_missing_where_an_overridden_method_has_them() {
    let missing = derivative_entries::missing(&shapes(), DerivativeKind::Vjp);
    let found: Vec<String> =
        missing.iter().map(|missing| format!("{} {}", missing.table.name(), missing.function)).collect();
    // Dot inherits the entry of Shape, and the witness table is not declared differentiable.
    assert_eq!(found, ["Shape shape_area", "Circle circle_area"]);
    assert!(derivative_entries::missing(&with_entries(), DerivativeKind::Jvp).is_empty());
}

/// Reverse mode does not mind derivatives that a pass made.
#[test]
fn generated_entries_leave_reverse_mode_as_it_was() {
    for module in [shapes(), with_entries()] {
        let machine = Machine::new(&module);
        let args = [object(&machine, "Circle", &[3.0, 2.0]), Value::from(5.0)];
        let found = bbkit::gradient(&module, "through_class", &args, Limits::default()).unwrap();
        assert_eq!(found.gradient[0].tangent_field(0).unwrap().as_float(), Some(20.0));
        assert_eq!(found.gradient[0].tangent_field(1).unwrap().as_float(), Some(60.0));
        assert_eq!(found.gradient[1].as_float(), Some(12.0));
    }
}

#[test]
fn tables_are_compared() {
    let (a, b) = (bbkit::to_bbcode(&shapes()).unwrap(), bbkit::to_bbcode(&with_entries()).unwrap());
    assert!(bbkit::diff(&a, &a, Default::default()).is_equal());
    let shown = bbkit::diff(&a, &b, Default::default()).to_string();
    assert!(shown.contains("\n+     method area jvp => circle_area_jvp generated\n"), "{shown}");
    let overriding = "    method area => circle_area\n";
    assert_eq!(SHAPES.matches(overriding).count(), 1);
    let other = parse_module(&SHAPES.replace(overriding, "")).unwrap().module;
    let shown = bbkit::diff(&a, &bbkit::to_bbcode(&other).unwrap(), Default::default()).to_string();
    assert!(shown.contains("\n-     method area => circle_area\n"), "{shown}");
}

#[test]
fn text_and_json_keep_what_was_generated() {
    let module = with_entries();
    assert!(verify_tables(&module, |body| &body.argtypes).is_ok());
    let text = print_module(&module, ircode::Style::Bbkit);
    assert_eq!(parse_module(&text).unwrap().module, module);
    let json = ircode::to_json(&bbkit::to_bbcode(&module).unwrap()).unwrap();
    let again: Module<bbcode::BBCode> = ircode::from_json(&json).unwrap();
    assert_eq!(bbkit::to_ircode(&again).unwrap(), module);
}

#[test]
fn a_function_that_is_renamed_is_so_in_tables() {
    let mut module = shapes();
    assert_eq!(module.rename_function("circle_area", "disc_area"), Ok(true));
    assert_eq!(module.rename_function("circle_area", "round_area"), Ok(false));
    assert!(module.rename_function("disc_area", "through_class").is_err());
    assert_eq!(module.class_method("Circle", "area", None).unwrap().function, "disc_area");
    assert_eq!(module.witnesses()[0].entries.get("area", None).unwrap().function, "disc_area");
}

#[test]
fn what_is_shrunk_keeps_the_entries_that_it_needs() {
    let runs = |module: &Module<IRCode>| {
        let machine = Machine::new(module);
        let fields = vec![Value::from(3.0), Value::from(2.0)];
        let Ok(circle) = machine.structure(&Type::named("Circle"), fields) else { return false };
        let value = Machine::new(module).call("through_class", &[circle, Value::from(5.0)]);
        value.is_ok_and(|value| value.as_float() == Some(60.0))
    };
    let module = with_entries();
    assert!(runs(&module));
    let small = bbkit::reduce(&module, &mut { runs }, &mut |_| ()).unwrap();
    assert!(runs(&small) && verify_tables(&small, |body| &body.argtypes).is_ok());
    let classes: Vec<&str> = small.classes().iter().map(|class| class.name.as_str()).collect();
    assert!(!classes.contains(&"Dot") && classes.contains(&"Circle"), "{classes:?}");
    assert!(small.protocols().is_empty() && small.witnesses().is_empty());
    assert!(small.class_method("Circle", "area", None).is_some());
    assert!(small.function("circle_area_jvp").is_none());
}

#[test]
fn a_class_goes_with_its_type() {
    let mut module = shapes();
    let (classes, declarations) = (module.classes().len(), module.declarations().count());
    module.retain(|_| true, |def| def.name.as_str() != "Circle");
    assert!(module.class("Circle").is_none() && module.type_def("Circle").is_none());
    assert_eq!((module.classes().len(), module.declarations().count()), (classes - 1, declarations - 1));
    // The others are found as before.
    for class in module.classes() {
        assert_eq!(module.class(&class.name), Some(class));
    }
}
