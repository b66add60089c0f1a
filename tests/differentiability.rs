//! The pass that fills in differentiable functions: what the bundles of a module give when the program runs.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use bbcode::BBCode;
use exec::{Machine, Value};
use ircode::{IRCode, Module, Type, parse_module, verify_tables};
use passes::differentiability::canonicalize;
use passes::reverse_mode::{self, Carrier};
use passes::{PassError, forward_mode};

const TEXT: &str = r#"
differentiability witness product wrt 2 3
end
# The user's own derivatives, which say that all of half is 100: they are used, not checked.
differentiability witness half wrt 2
    jvp => half_jvp
    vjp => half_vjp
end

function product(x::Float64, y::Float64)::Float64
1 ─ %1 = Base.mul_float(x, y)::Float64
│   %2 = Main.times(%1, y)::Float64
└──      return %2
end

function times(a::Float64, b::Float64)::Float64
1 ─ %1 = Base.mul_float(a, b)::Float64
└──      return %1
end

function half(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, 0.5)::Float64
└──      return %1
end

function half_jvp(x::Float64, dx::Float64)::Tuple{Float64, Float64}
1 ─ %1 = Main.half(x)::Float64
│   %2 = Base.mul_float(dx, 100.0)::Float64
│   %3 = Core.tuple(%1, %2)::Tuple{Float64, Float64}
└──      return %3
end

function half_vjp(x::Float64)::Tuple{Float64, BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64}}}
1 ─ %1 = Main.half(x)::Float64
│   %2 = BBKit.partial_apply(Main.half_pullback)::BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64}}
│   %3 = Core.tuple(%1, %2)::Tuple{Float64, BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64}}}
└──      return %3
end

function half_pullback(seed::Float64)::Tuple{Nothing, Float64}
1 ─ %1 = Base.mul_float(seed, 100.0)::Float64
│   %2 = Core.tuple(nothing, %1)::Tuple{Nothing, Float64}
└──      return %2
end

# The value and the pullback's answer to 1 for functions of one and of two floats.
function gradient1(d::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}, x::Float64)
1 ─ %1 = BBKit.vjp_of(d)
│   %2 = (%1)(x)
│   %3 = Base.getfield(%2, 2)
│   %4 = (%3)(1.0)
└──      return %4
end

function gradient2(d::BBKit.DifferentiableFunction{Tuple{Float64, Float64}, Float64}, x::Float64, y::Float64)
1 ─ %1 = BBKit.vjp_of(d)
│   %2 = (%1)(x, y)
│   %3 = Base.getfield(%2, 2)
│   %4 = (%3)(1.0)
└──      return %4
end

function tangent1(d::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}, x::Float64)
1 ─ %1 = BBKit.jvp_of(d)
│   %2 = (%1)(x, 1.0)
└──      return %2
end

# The witness for both parameters is there.
function both(x::Float64, y::Float64)
1 ─ %1 = BBKit.differentiable_function(Main.product)::BBKit.DifferentiableFunction{Tuple{Float64, Float64}, Float64}
│   %2 = Main.gradient2(%1, x, y)
└──      return %2
end

# The one for the second parameter is a thunk.
function second(x::Float64, y::Float64)
1 ─ %1 = BBKit.differentiable_function(Main.product, 3)::BBKit.DifferentiableFunction{Tuple{Float64, Float64}, Float64}
│   %2 = Main.gradient2(%1, x, y)
└──      return %2
end

# The same thunk serves again.
function second_forward(x::Float64, y::Float64)
1 ─ %1 = BBKit.differentiable_function(Main.product, 3)::BBKit.DifferentiableFunction{Tuple{Float64, Float64}, Float64}
│   %2 = BBKit.jvp_of(%1, 3)
│   %3 = (%2)(x, y, nothing, 1.0)
└──      return %3
end

# What a closure captures is not differentiated with respect to.
function with_captured(x::Float64, y::Float64)
1 ─ %1 = BBKit.partial_apply(Main.product, y)::BBKit.Closure{Tuple{Float64}, Float64}
│   %2 = BBKit.differentiable_function(%1)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %3 = Main.gradient1(%2, x)
│   %4 = Main.tangent1(%2, x)
│   %5 = Core.tuple(%3, %4)
└──      return %5
end

function own_derivative(x::Float64)
1 ─ %1 = BBKit.differentiable_function(Main.half, 2)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %2 = Main.gradient1(%1, x)
│   %3 = Main.tangent1(%1, x)
│   %4 = Core.tuple(%2, %3)
└──      return %4
end

# Callers of a function with a witness use that.
function calls_half(x::Float64)::Float64
1 ─ %1 = Main.half(x)::Float64
│   %2 = Base.mul_float(%1, 3.0)::Float64
└──      return %2
end

function own_derivative_called(x::Float64)
1 ─ %1 = BBKit.differentiable_function(Main.calls_half, 2)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %2 = Main.gradient1(%1, x)
│   %3 = Main.tangent1(%1, x)
│   %4 = Core.tuple(%2, %3)
└──      return %4
end

# The original of a bundle has the derivatives of the bundle.
function again(d::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}, x::Float64)
1 ─ %1 = BBKit.original_of(d)::BBKit.Closure{Tuple{Float64}, Float64}
│   %2 = BBKit.differentiable_function(%1, 2)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %3 = Main.gradient1(%2, x)
└──      return %3
end

function again_half(x::Float64)
1 ─ %1 = BBKit.differentiable_function(Main.half)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %2 = Main.again(%1, x)
└──      return %2
end

# Three sets of parameters have witnesses, with factors that tell them apart; the result of chosen is 0 · x.
differentiability witness chosen wrt 2 3 4
    jvp => chosen_jvp_4
    vjp => chosen_vjp_4
end
differentiability witness chosen wrt 2 4
    jvp => chosen_jvp_2
    vjp => chosen_vjp_2
end
differentiability witness chosen wrt 3
end

function chosen(x::Float64, y::Float64, z::Float64)::Float64
1 ─ %1 = Base.mul_float(x, 0.0)::Float64
└──      return %1
end

function chosen_jvp_4(x::Float64, y::Float64, z::Float64, dx::Float64, dy::Float64, dz::Float64)::Tuple{Float64, Float64}
1 ─ %1 = Core.tuple(0.0, 4.0)::Tuple{Float64, Float64}
└──      return %1
end

function chosen_jvp_2(x::Float64, y::Float64, z::Float64, dx::Float64, _6, dz::Float64)::Tuple{Float64, Float64}
1 ─ %1 = Base.mul_float(dz, 100.0)::Float64
│   %2 = Base.mul_float(dx, 2.0)::Float64
│   %3 = Base.add_float(%1, %2)::Float64
│   %4 = Core.tuple(0.0, %3)::Tuple{Float64, Float64}
└──      return %4
end

function chosen_vjp_4(x::Float64, y::Float64, z::Float64)::Tuple{Float64, BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64, Float64, Float64}}}
1 ─ %1 = BBKit.partial_apply(Main.fours)::BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64, Float64, Float64}}
│   %2 = Core.tuple(0.0, %1)::Tuple{Float64, BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64, Float64, Float64}}}
└──      return %2
end

function fours(seed::Float64)::Tuple{Nothing, Float64, Float64, Float64}
1 ─ %1 = Core.tuple(nothing, 4.0, 4.0, 4.0)::Tuple{Nothing, Float64, Float64, Float64}
└──      return %1
end

function chosen_vjp_2(x::Float64, y::Float64, z::Float64)::Tuple{Float64, BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64, Nothing, Float64}}}
1 ─ %1 = BBKit.partial_apply(Main.twos)::BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64, Nothing, Float64}}
│   %2 = Core.tuple(0.0, %1)::Tuple{Float64, BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64, Nothing, Float64}}}
└──      return %2
end

function twos(seed::Float64)::Tuple{Nothing, Float64, Nothing, Float64}
1 ─ %1 = Core.tuple(nothing, 2.0, nothing, 2.0)::Tuple{Nothing, Float64, Nothing, Float64}
└──      return %1
end

function gradient3(d::BBKit.DifferentiableFunction{Tuple{Float64, Float64, Float64}, Float64})
1 ─ %1 = BBKit.vjp_of(d)
│   %2 = (%1)(1.0, 1.0, 1.0)
│   %3 = Base.getfield(%2, 2)
│   %4 = (%3)(1.0)
└──      return %4
end

function choose_smallest()
1 ─ %1 = BBKit.differentiable_function(Main.chosen, 2)
│   %2 = Main.gradient3(%1)
│   %3 = BBKit.jvp_of(%1)
│   %4 = (%3)(1.0, 1.0, 1.0, 1.0, nothing, nothing)
│   %5 = Core.tuple(%2, %4)
└──      return %5
end

function choose_only_superset()
1 ─ %1 = BBKit.differentiable_function(Main.chosen, 2, 3)
│   %2 = Main.gradient3(%1)
└──      return %2
end

function choose_equal()
1 ─ %1 = BBKit.differentiable_function(Main.chosen, 3)
│   %2 = Main.gradient3(%1)
└──      return %2
end

# A caller for which only x varies goes through the thunk of the smallest superset.
function calls_chosen(x::Float64)::Float64
1 ─ %1 = Main.chosen(x, 1.0, 2.0)::Float64
└──      return %1
end

function called_smallest()
1 ─ %1 = BBKit.differentiable_function(Main.calls_chosen, 2)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %2 = Main.gradient1(%1, 1.0)
│   %3 = Main.tangent1(%1, 1.0)
│   %4 = Core.tuple(%2, %3)
└──      return %4
end

# What has identity: v[1] becomes v[1]·w[1]·x, which is also the result.
function stored(v::Vector{Float64}, w::Vector{Float64}, x::Float64)::Float64
1 ─ %1 = Base.getindex(v, 1)::Float64
│   %2 = Base.getindex(w, 1)::Float64
│   %3 = Base.mul_float(%1, %2)::Float64
│   %4 = Base.mul_float(%3, x)::Float64
│        Base.setindex!(v, %4, 1)::Vector{Float64}
└──      return %4
end

differentiability witness stored wrt 2 3 4
end

# With respect to the first vector: its shadow is 1·w·x.
function shadow_of_first(v::Vector{Float64}, w::Vector{Float64}, s::Vector{Float64})
1 ─ %1 = BBKit.differentiable_function(Main.stored, 2)
│   %2 = BBKit.vjp_of(%1)
│   %3 = (%2)(v, w, 5.0, s)
│   %4 = Base.getfield(%3, 2)
│   %5 = (%4)(1.0)
│   %6 = Core.tuple(%5, s)
└──      return %6
end

# With respect to the second, captured values behind it.
function second_first(w::Vector{Float64}, x::Float64, v::Vector{Float64})::Float64
1 ─ %1 = Main.stored(v, w, x)::Float64
└──      return %1
end

function shadow_with_captured(v::Vector{Float64}, w::Vector{Float64}, s::Vector{Float64})
1 ─ %1 = BBKit.partial_apply(Main.second_first, v)
│   %2 = BBKit.differentiable_function(%1, 2)
│   %3 = BBKit.vjp_of(%2)
│   %4 = (%3)(w, 5.0, s)
│   %5 = Base.getfield(%4, 2)
│   %6 = (%5)(1.0)
│   %7 = Core.tuple(%6, s)
└──      return %7
end

# Second derivatives: of cube the first is 3x², of weighted by y 2xy.
function cube(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
│   %2 = Base.mul_float(%1, x)::Float64
└──      return %2
end

function weighted(x::Float64, y::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
│   %2 = Base.mul_float(%1, y)::Float64
└──      return %2
end

function gradient(d::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}, x::Float64)::Float64
1 ─ %1 = BBKit.vjp_of(d)::BBKit.Closure{Tuple{Float64}, Tuple{Float64, BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64}}}}
│   %2 = (%1)(x)::Tuple{Float64, BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64}}}
│   %3 = Base.getfield(%2, 2)::BBKit.Closure{Tuple{Float64}, Tuple{Nothing, Float64}}
│   %4 = (%3)(1.0)::Tuple{Nothing, Float64}
│   %5 = Base.getfield(%4, 2)::Float64
└──      return %5
end

function slope(x::Float64)::Float64
1 ─ %1 = BBKit.differentiable_function(Main.cube, 2)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %2 = Main.gradient(%1, x)::Float64
└──      return %2
end

function weighted_slope(x::Float64, y::Float64)::Float64
1 ─ %1 = BBKit.partial_apply(Main.weighted, y)::BBKit.Closure{Tuple{Float64}, Float64}
│   %2 = BBKit.differentiable_function(%1, 2)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %3 = Main.gradient(%2, x)::Float64
└──      return %3
end

# A bundle of what makes a bundle.
function slope_of_slope(x::Float64)::Float64
1 ─ %1 = BBKit.differentiable_function(Main.slope, 2)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %2 = Main.gradient(%1, x)::Float64
└──      return %2
end
"#;

fn read(text: &str) -> Module<BBCode> {
    let module = parse_module(text).unwrap().module;
    module.map(|function| BBCode::try_from(&function.body)).unwrap()
}

fn canonical() -> Module<BBCode> {
    let mut module = read(TEXT);
    assert_eq!(canonicalize(&mut module), Ok(true));
    module
}

fn ircode(module: &Module<BBCode>) -> Module<IRCode> {
    module.map(|function| IRCode::try_from(&function.body)).unwrap()
}

fn run(module: &Module<IRCode>, function: &str, args: &[f64]) -> String {
    let args: Vec<Value> = args.iter().map(|&arg| Value::from(arg)).collect();
    Machine::new(module).call(function, &args).unwrap().to_string()
}

#[test]
fn what_is_made_is_valid_and_stays() {
    let module = canonical();
    for function in module.functions() {
        assert_eq!(function.body.verify().map_err(|found| format!("{}: {found:?}", function.name)), Ok(()));
    }
    assert_eq!(verify_tables(&module, |body| &body.argtypes).map_err(|found| found.to_string()), Ok(()));
    assert!(module.differentiability_witnesses().iter().all(|witness| witness.jvp.is_some() && witness.vjp.is_some()));
    let text = ircode::print_module(&ircode(&module), ircode::Style::Bbkit);
    assert!(!text.contains("BBKit.differentiable_function("));
    let mut again = module.clone();
    assert_eq!(canonicalize(&mut again), Ok(false));
    assert_eq!(again, module);
}

#[test]
fn bundles_give_derivatives() {
    let module = ircode(&canonical());
    // product is x·y², and the user's own derivatives of half and of chosen are constants.
    for (function, args, expected) in [
        ("both", &[2.0, 3.0][..], "(nothing, 9.0, 12.0)"),
        ("second", &[2.0, 3.0], "(nothing, nothing, 12.0)"),
        ("second_forward", &[2.0, 3.0], "(18.0, 12.0)"),
        ("with_captured", &[2.0, 3.0], "((nothing, 9.0), (18.0, 9.0))"),
        ("own_derivative", &[2.0], "((nothing, 100.0), (1.0, 100.0))"),
        ("own_derivative_called", &[2.0], "((nothing, 300.0), (3.0, 300.0))"),
        ("again_half", &[2.0], "(nothing, 100.0)"),
        ("choose_smallest", &[], "((nothing, 2.0, nothing, nothing), (0.0, 2.0))"),
        ("choose_only_superset", &[], "(nothing, 4.0, 4.0, nothing)"),
        ("choose_equal", &[], "(nothing, nothing, 0.0, nothing)"),
        ("called_smallest", &[], "((nothing, 2.0), (0.0, 2.0))"),
        ("slope", &[2.0], "12.0"),
        ("weighted_slope", &[2.0, 5.0], "20.0"),
        ("slope_of_slope", &[2.0], "12.0"),
    ] {
        assert_eq!(run(&module, function, args), expected, "{function}");
    }
}

/// A square of what only the run knows to be a float.
const OF_ANYTHING: &str = "
function square(x::Any)::Any
1 ─ %1 = Base.:*(x, x)::Any
└──      return %1
end

function square_of_float(x::Float64)::Float64
1 ─ %1 = Main.square(x)::Any
│   %2 = Core.typeassert(%1, Float64)::Float64
└──      return %2
end

function of_anything(x::Float64)
1 ─ %1 = BBKit.differentiable_function(Main.square_of_float, 2)::BBKit.DifferentiableFunction{Tuple{Float64}, Float64}
│   %2 = Main.gradient1(%1, x)
│   %3 = Main.tangent1(%1, x)
│   %4 = Core.tuple(%2, %3)
└──      return %4
end
";

#[test]
fn arithmetic_on_what_only_the_run_knows_has_both_derivatives() {
    let mut module = read(&[TEXT, OF_ANYTHING].concat());
    assert_eq!(canonicalize(&mut module), Ok(true));
    assert_eq!(run(&ircode(&module), "of_anything", &[3.0]), "((nothing, 6.0), (9.0, 6.0))");
}

#[test]
fn what_has_identity_has_a_shadow() {
    let module = ircode(&canonical());
    let mut machine = Machine::new(&module);
    for (function, expected) in [
        // The result and the first element are both v·w·x: the seed 1 and the shadow's 10 give 11·3·5.
        ("shadow_of_first", "((nothing, nothing, nothing, nothing), [165.0])"),
        // Its shadow starts with 10, to which 1·v·x is added; what is captured has no shadow.
        ("shadow_with_captured", "((nothing, nothing, nothing), [20.0])"),
    ] {
        let array = |x: f64| machine.array(Type::FLOAT64, vec![1], vec![Value::from(x)]).unwrap();
        let args = [array(2.0), array(3.0), array(10.0)];
        assert_eq!(machine.call(function, &args).unwrap().to_string(), expected, "{function}");
    }
}

#[test]
fn thunks_are_made_once() {
    let module = canonical();
    let thunks = module.functions().iter().filter(|function| function.name.starts_with("product_vjp_subset_3"));
    assert_eq!(thunks.count(), 1);
    // A function that happens to be called so is left alone.
    let text = TEXT.replace(
        "function cube(",
        "function product_vjp_subset_3(x::Float64)::Float64\n1 ─      return x\nend\n\nfunction cube(",
    );
    let mut module = read(&text);
    assert_eq!(canonicalize(&mut module), Ok(true));
    assert_eq!(run(&ircode(&module), "second", &[2.0, 3.0]), "(nothing, nothing, 12.0)");
    assert_eq!(run(&ircode(&module), "product_vjp_subset_3", &[2.0]), "2.0");
}

#[test]
fn calls_of_derivatives_of_bundles_are_differentiated() {
    // The second derivatives 6x, and 2y and 2x. Without the bundle of slope itself: with it, the derivative that is
    // taken may be one of slope, too, so that third ones would be needed.
    let text = TEXT.split("# A bundle of what makes a bundle.").next().unwrap();
    let mut canonical = read(text);
    assert_eq!(canonicalize(&mut canonical), Ok(true));
    for carrier in [Carrier::Stacks, Carrier::LinearMaps] {
        let mut module = canonical.clone();
        let options = reverse_mode::Options { carrier, ..Default::default() };
        for (function, args, expected) in
            [("slope", &[2.0][..], "(12.0, 12.0)"), ("weighted_slope", &[2.0, 5.0], "(20.0, 10.0, 4.0)")]
        {
            let mut module = module.clone();
            let names = reverse_mode::derive(&mut module, &function.into(), &options).unwrap().names;
            assert_eq!(run(&ircode(&module), &names.value_and_gradient, args), expected, "{function} {carrier:?}");
        }
        let name = forward_mode::differentiate(&mut module, &"weighted_slope".into(), &Default::default()).unwrap();
        assert_eq!(run(&ircode(&module), &name, &[2.0, 5.0, 1.0, 10.0]), "(20.0, 50.0)");
    }
}

fn errors(text: &str) -> Vec<PassError> {
    let mut module = read(text);
    let before = module.clone();
    let errors = canonicalize(&mut module).unwrap_err();
    assert_eq!(module, before);
    errors
}

#[test]
fn everything_that_is_not_differentiable_is_told_of() {
    let found = errors(
        "
differentiability witness unknown wrt 2
end
differentiability witness missing wrt 2
end

function unknown(x::Float64)::Float64
1 ─ %1 = Main.mystery(x)::Float64
└──      return %1
end

function fine(x::Float64, n::Int64)::Float64
1 ─      return x
end

function opaque(f::BBKit.Closure{Tuple{Float64}, Float64})
1 ─ %1 = BBKit.differentiable_function(f, 2)
└──      return %1
end

function no_float()
1 ─ %1 = BBKit.differentiable_function(Main.fine, 3)
│   %2 = BBKit.differentiable_function(Main.fine, 4)
│   %3 = BBKit.differentiable_function(Base.sin, 2)
│   %4 = BBKit.partial_apply(Main.fine, 1.0, 2)
│   %5 = BBKit.differentiable_function(%4)
│   %6 = BBKit.differentiable_function(Main.fine, 2, 2)
└──      return %6
end
",
    );
    let found: Vec<String> = found
        .iter()
        .map(|error| {
            let place = error.place.as_ref().and_then(|place| place.statement);
            format!("{} {}: {}", error.function, place.map_or(String::new(), |place| place.to_string()), error.message)
        })
        .collect();
    let no_derivative = |text: &str| found.iter().any(|line| line.starts_with("unknown %1: ") && line.contains(text));
    assert!(no_derivative("`Main.mystery` is neither a function of this module nor a primitive"), "{found:#?}");
    for expected in [
        "missing : a differentiability witness names this function, which the module does not have",
        "opaque %1: it is not seen which function is bundled, so that its derivatives are not known",
        "no_float %1: the parameter _3 is an Int64, with respect to which nothing can be differentiated",
        "no_float %2: there is no parameter _4 to differentiate with respect to",
        "no_float %3: `sin` is no function of the module, so that it has no witnesses",
        "no_float %5: it has no parameter with respect to which it can be differentiated",
        "no_float %6: the parameters of a bundle are named by constant numbers in ascending order",
    ] {
        assert!(found.iter().any(|line| line == expected), "{expected}\n{found:#?}");
    }
}
