//! Which methods a call may choose, by the types that are known of its arguments, and what decides.

use bbcode::BBCode;
use ircode::{Function, Module, Type, unqualified};

/// Where more methods fit, nothing is said.
pub(crate) const MOST: usize = 16;

/// A method that a call may choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    /// Its position in the module.
    pub(crate) method: usize,
    /// The arguments, counted from 0, that must be of these types, which the run can ask for. It takes whatever the
    /// others are.
    pub(crate) tests: Vec<(usize, Type)>,
    /// The types that it takes.
    taken: Vec<Type>,
}

/// Those of these methods that may take arguments of the types given, in such an order that the run chooses the first
/// whose tests hold: what the interpreter does, as Julia: the most specific one. `None` if it cannot be told which
/// these are, if the run cannot ask for what they take, if two of them may take the same arguments, and none is more
/// specific, or if they are more than [`MOST`].
pub(crate) fn choices(
    module: &Module<BBCode>,
    methods: impl IntoIterator<Item = usize>,
    given: &[Type],
) -> Option<Vec<Choice>> {
    let given: Vec<Type> = given.iter().map(|ty| module.dispatch_type(ty)).collect();
    let mut fitting: Vec<(usize, Vec<Type>)> = Vec::new();
    // Whether it is not known of all methods that may fit how many arguments they take.
    let mut open = false;
    for method in methods {
        let function = module.functions().get(method)?;
        match taken_types(module, function, given.len()) {
            Some(Some(taken)) => fitting.push((method, taken)),
            Some(None) => {}
            None => open |= may_take_first(module, function, &given),
        }
    }
    // One that takes just these types is chosen before others are compared.
    let is_known = given.iter().all(|ty| is_exact(module, ty));
    if let Some(exact) = fitting.iter().position(|(_, taken)| is_known && *taken == given) {
        let (method, taken) = fitting.swap_remove(exact);
        return Some(vec![Choice { method, tests: Vec::new(), taken }]);
    }
    if open {
        return None;
    }
    let mut found: Vec<Choice> = Vec::new();
    for (method, taken) in fitting {
        if let Some(tests) = tests(module, &given, &taken)? {
            found.push(Choice { method, tests, taken });
        }
        if found.len() > MOST {
            return None;
        }
    }
    let mut reached: Vec<Choice> = Vec::new();
    for choice in in_order(module, found)? {
        // Where all that one asks for holds, an earlier one that asks for less was chosen.
        let is_chosen_before = |earlier: &Choice| earlier.tests.iter().all(|test| choice.tests.contains(test));
        if !reached.iter().any(is_chosen_before) {
            reached.push(choice);
        }
    }
    Some(reached)
}

/// The methods of a function that is called by its path; `None` if there are some of the path and some of the plain
/// name, of which the run tries those of the path first.
pub(crate) fn methods_named<'m>(module: &'m Module<BBCode>, path: &str) -> Option<&'m [usize]> {
    let plain = unqualified(path);
    match (module.methods(path), module.methods(plain)) {
        ([], methods) => Some(methods),
        (methods, []) => Some(methods),
        (methods, _) if plain == path => Some(methods),
        _ => None,
    }
}

/// The one of these methods that is chosen for all arguments of the types given, if that is known.
pub(crate) fn only_choice(
    module: &Module<BBCode>,
    methods: impl IntoIterator<Item = usize>,
    given: &[Type],
) -> Option<usize> {
    let first = choices(module, methods, given)?.into_iter().next()?;
    first.tests.is_empty().then_some(first.method)
}

/// Whether values of a type may be of several types.
pub(crate) fn is_open(module: &Module<BBCode>, ty: &Type) -> bool {
    match ty {
        Type::Union(_) => true,
        // An abstract type, as the module declares the others.
        Type::Named(name) => !ty.is_known_value() && module.type_def(name).is_none(),
        ty => ty.is_unknown(),
    }
}

/// Whether a type is above others, of which values are: it is no union, and the module does not declare it.
pub(crate) fn is_abstract(module: &Module<BBCode>, ty: &Type) -> bool {
    matches!(ty, Type::Named(name) if !name.starts_with("BBKit.")) && is_open(module, ty)
}

/// Whether values of a type have no other, more exact one, and the run can ask for it.
pub(crate) fn is_exact(module: &Module<BBCode>, ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Nothing | Type::String | Type::Symbol | Type::Function(_) => true,
        Type::Array(array) => is_exact_parameter(module, &array.element),
        Type::TypeOf(ty) => is_exact(module, ty),
        Type::Tuple(elements) => elements.iter().all(|element| is_exact(module, element)),
        Type::NamedTuple(fields) => fields.iter().all(|(_, field)| is_exact_parameter(module, field)),
        Type::Named(name) => module.type_def(name).is_some() && !module.may_be_of_subclass(name),
        _ => false,
    }
}

/// Whether a type of which arrays or named tuples are is one that the run can ask for: these have the types with which
/// they were made, not those of what they hold.
fn is_exact_parameter(module: &Module<BBCode>, ty: &Type) -> bool {
    match ty {
        Type::Any => true,
        Type::Union(members) => members.iter().all(|member| is_exact(module, member)),
        ty => is_exact(module, ty),
    }
}

/// The types of so many arguments that a method takes: `Some(None)` if it takes another number of them, `None` if that
/// cannot be told.
fn taken_types(module: &Module<BBCode>, method: &Function<BBCode>, count: usize) -> Option<Option<Vec<Type>>> {
    let types = method.body.argtypes.get(1..)?;
    let taken: Vec<&Type> = match (types, method.varargs) {
        // What it collects, of which the type says how many there are.
        ([first @ .., Type::Tuple(rest)], true) => first.iter().chain(rest.iter()).collect(),
        ([first @ .., _], true) => return if first.len() > count { Some(None) } else { None },
        (types, _) => types.iter().collect(),
    };
    let taken = (taken.len() == count).then(|| taken.into_iter().map(|ty| module.dispatch_type(ty)).collect());
    Some(taken)
}

/// Whether a method that collects arguments may take those before.
fn may_take_first(module: &Module<BBCode>, method: &Function<BBCode>, given: &[Type]) -> bool {
    let Some([first @ .., _]) = method.body.argtypes.get(1..) else { return true };
    let first: Vec<Type> = first.iter().map(|ty| module.dispatch_type(ty)).collect();
    given.get(..first.len()).is_none_or(|given| !matches!(tests(module, given, &first), Some(None)))
}

/// What must be asked before a method is called: `Some(None)` if it takes nothing of what is given, `None` if that
/// cannot be told.
fn tests(module: &Module<BBCode>, given: &[Type], taken: &[Type]) -> Option<Option<Vec<(usize, Type)>>> {
    let mut tests = Vec::new();
    let mut undecided = false;
    for (index, (given, taken)) in given.iter().zip(taken).enumerate() {
        if given == taken || taken.is_unknown() {
            continue;
        }
        match module.is_a(given, taken) {
            Some(true) => {}
            Some(false) => return Some(None),
            None if is_exact(module, taken) && module.is_a(taken, given) == Some(false) => return Some(None),
            // By their known names they are two.
            None if matches!((given, taken), (Type::Function(_), Type::Function(_))) => return Some(None),
            None if is_exact(module, taken) => tests.push((index, taken.clone())),
            None => undecided = true,
        }
    }
    if undecided { None } else { Some(Some(tests)) }
}

/// The more specific ones first.
fn in_order(module: &Module<BBCode>, mut rest: Vec<Choice>) -> Option<Vec<Choice>> {
    let is_below = |a: &Type, b: &Type| a == b || b.is_unknown() || module.is_a(a, b) == Some(true);
    let below = |a: &Choice, b: &Choice| a.taken.iter().zip(&b.taken).all(|(a, b)| is_below(a, b));
    // Whether one takes just what both of two others do.
    let is_meet = |of: &Choice, a: &Choice, b: &Choice| {
        of.taken.iter().zip(a.taken.iter().zip(&b.taken)).all(|(of, (a, b))| match is_below(a, b) {
            true => of == a,
            false => is_below(b, a) && of == b,
        })
    };
    let apart = |a: &Choice, b: &Choice| {
        let exact = |a: &Type, b: &Type| a != b && is_exact(module, a) && is_exact(module, b);
        let differ =
            |a: &Type, b: &Type| exact(a, b) || module.is_a(a, b) == Some(false) || module.is_a(b, a) == Some(false);
        a.taken.iter().zip(&b.taken).any(|(a, b)| differ(a, b))
    };
    for (at, a) in rest.iter().enumerate() {
        for b in rest.iter().skip(at + 1) {
            let decided = below(a, b) || below(b, a) || apart(a, b) || rest.iter().any(|of| is_meet(of, a, b));
            if !decided {
                return None;
            }
        }
    }
    let mut ordered = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let is_first = |choice: &Choice| !rest.iter().any(|other| other != choice && below(other, choice));
        let first = rest.iter().position(is_first)?;
        ordered.push(rest.remove(first));
    }
    Some(ordered)
}

#[cfg(test)]
mod tests {
    use bbcode::BBCode;
    use ircode::{Module, Type, parse_module};

    use super::{choices, only_choice};

    /// The names of the methods of `h` in the order in which they are tried, with how many tests each has.
    fn order(signatures: &[&str], given: &[Type]) -> Option<Vec<(String, usize)>> {
        let method = |signature: &&str| {
            let parameters: Vec<String> =
                signature.split(", ").enumerate().map(|(at, ty)| format!("a{at}::{ty}")).collect();
            let shown: Vec<String> = signature.split(", ").map(|ty| format!("::{ty}")).collect();
            format!(
                "function var\"h({})\"({})::Float64\n1 ─     return 1.0\nend\n",
                shown.join(", "),
                parameters.join(", ")
            )
        };
        let text: String = signatures.iter().map(method).collect();
        let module = parse_module(&text).unwrap().module;
        let module: Module<BBCode> = module.map(|function| BBCode::try_from(&function.body)).unwrap();
        let found = choices(&module, module.methods("h").iter().copied(), given)?;
        assert_eq!(
            only_choice(&module, module.methods("h").iter().copied(), given),
            found.first().filter(|first| first.tests.is_empty()).map(|first| first.method)
        );
        let shown = |choice: &super::Choice| {
            let name = module.functions()[choice.method].name.to_string();
            (name.trim_start_matches('h').to_string(), choice.tests.len())
        };
        Some(found.iter().map(shown).collect())
    }

    fn found(expected: &[(&str, usize)]) -> Option<Vec<(String, usize)>> {
        Some(expected.iter().map(|(name, tests)| (name.to_string(), *tests)).collect())
    }

    #[test]
    fn the_most_specific_method_is_tried_first() {
        let real = Type::named("Real");
        assert_eq!(
            order(&["Any", "Real", "Float64"], &[Type::Any]),
            None,
            "nobody can ask a value whether it is a Real, as the types below it are not known"
        );
        assert_eq!(order(&["Any", "Float64"], &[Type::Any]), found(&[("(::Float64)", 1), ("(::Any)", 0)]));
        assert_eq!(order(&["Any", "Real", "Float64"], &[real]), found(&[("(::Float64)", 1), ("(::Real)", 0)]));
        // Which of two is below the other does not matter where one is for just what is given.
        let three = ["Real", "AbstractFloat", "Float64"];
        assert_eq!(order(&three, &[Type::FLOAT64]), found(&[("(::Float64)", 0)]));
        let union = Type::union([Type::FLOAT64, Type::INT64]);
        assert_eq!(order(&["Real", "Float64"], &[union]), found(&[("(::Float64)", 1), ("(::Real)", 0)]));
        assert_eq!(order(&["Real", "Float64"], &[Type::FLOAT64]), found(&[("(::Float64)", 0)]));
        assert_eq!(order(&["Int64", "String"], &[Type::FLOAT64]), found(&[]));
    }

    #[test]
    fn methods_of_which_none_is_more_specific_need_one_for_both() {
        let (a, b, both) = ("Float64, Any", "Any, Float64", "Float64, Float64");
        let given = [Type::Any, Type::Any];
        assert_eq!(order(&[a, b], &given), None);
        let expected = [("(::Float64, ::Float64)", 2), ("(::Float64, ::Any)", 1), ("(::Any, ::Float64)", 1)];
        assert_eq!(order(&[a, b, both], &given), found(&expected));
        assert_eq!(
            order(&["Float64, Any", "Int64, Any"], &given),
            found(&[("(::Float64, ::Any)", 1), ("(::Int64, ::Any)", 1)])
        );
    }
}
