//! Reading rules, and holding them to the form that they must have.

use ircode::primitives::Primitive;
use ircode::wording::{counted, with_article};
use ircode::{
    Argument, Body, Callee, Constant, Function, IRCode, Module, Name, Operand, Positions, SSAValue, Scalar, ScalarType,
    Stmt, Type, TypeKind, is_below, without_main,
};

use super::bindings::ranked;
use super::{Rule, RuleErrorKind, RuleKind, RuleTarget};
use crate::tangents::{Tangent, TangentTypes};

/// What is wrong, and at which statement.
pub(super) type Problem = (RuleErrorKind, Option<SSAValue>);

impl From<RuleErrorKind> for Found {
    fn from(kind: RuleErrorKind) -> Self {
        Found((kind, None))
    }
}

/// A [`Problem`], to be returned by `?`.
pub(super) struct Found(pub(super) Problem);

type Read<T> = Result<T, Found>;

/// Reads a rule. `names` has the functions and the primitives for which it may be.
pub(super) fn read_rule<F: Body>(function: &Function<IRCode>, names: &Module<F>) -> Read<Rule> {
    let (of, kind) = target_and_kind(&function.name).ok_or(RuleErrorKind::Name)?;
    let ir = &function.body;
    if let Err(violations) = ir.verify() {
        let at = violations.0.iter().find_map(|violation| violation.statement);
        return Err(Found((RuleErrorKind::Invalid(violations), at)));
    }
    match target(function, (of, kind), names)? {
        Target::Primitive(primitive) => {
            let (argtypes, shadows, out_shadow) = layout_of_parameters(function, kind, primitive)?;
            if !primitive.takes(argtypes.len()) {
                let kind = RuleErrorKind::Operands { primitive: primitive.name.into(), given: argtypes.len() };
                return Err(kind.into());
            }
            if let Some(index) = argtypes.iter().position(|ty| *ty == Type::Untyped) {
                let name = function.parameters.get(index).cloned().flatten();
                return Err(RuleErrorKind::Untyped { number: index + 2, name }.into());
            }
            if let Some((index, ty)) = argtypes.iter().enumerate().find(|(_, ty)| is_above_operands(ty)) {
                let name = function.parameters.get(index).cloned().flatten();
                return Err(RuleErrorKind::Abstract { number: index + 2, name, given: ty.clone() }.into());
            }
            let in_place = single_block(function, names)?;
            let outputs = outputs(function, kind, argtypes.len(), names)?;
            let rule = Rule {
                target: RuleTarget::Primitive(primitive),
                kind,
                argtypes,
                function: function.clone(),
                outputs,
                shadows,
                out_shadow,
                in_place,
                declared: Vec::new(),
                slices: Default::default(),
            };
            check_parameters(&rule)?;
            check_outputs(&rule, names)?;
            let out = function.body.argtypes.get(rule.argtypes.len() + 1).cloned().unwrap_or(Type::Untyped);
            let cotangents: Vec<Option<Type>> = rule.argtypes.iter().map(|ty| cotangent(ty, names)).collect();
            check_result(&rule, tangent(&out), &cotangents)?;
            Ok(rule)
        }
        Target::Function(index) => {
            let Some(target) = names.functions().get(index) else { return Err(RuleErrorKind::Name.into()) };
            read_rule_of_function(function, kind, target, names)
        }
    }
}

/// Whether this is the name of an abstract type above numbers or arrays. Rules are chosen by the types of operands,
/// which are concrete.
fn is_above_operands(ty: &Type) -> bool {
    let mut operands = ScalarType::ALL.into_iter().map(Type::Scalar).chain([Type::array(Type::FLOAT64, 1)]);
    matches!(ty, Type::Named(_)) && operands.any(|operand| is_below(&operand, None, ty) == Some(true))
}

/// The name of what a rule of this name is for, and which derivative it gives.
pub(super) fn target_and_kind(name: &str) -> Option<(&str, RuleKind)> {
    let found = [("_vjp", RuleKind::Vjp), ("_jvp", RuleKind::Jvp)].into_iter().filter_map(|(suffix, kind)| {
        let at = name.rfind(suffix)?;
        let rest = name.get(at + suffix.len()..)?;
        (rest.is_empty() || rest.starts_with('_')).then(|| (name.get(..at).unwrap_or_default(), kind))
    });
    // The rule may be for a function whose own name has one of these in it.
    found.max_by_key(|(of, _)| of.len())
}

enum Target {
    Primitive(&'static Primitive),
    Function(usize),
}

/// What a rule is for: a function of the module, one of its methods, or a primitive.
fn target<F: Body>(rule: &Function<IRCode>, (of, kind): (&str, RuleKind), names: &Module<F>) -> Read<Target> {
    let plain = without_main(of);
    if let Some(index) = names.function_index(of).or_else(|| names.function_index(plain)) {
        return Ok(Target::Function(index));
    }
    // Calls of a primitive are such even where its methods are in the module.
    if let Callee::Primitive(primitive) = names.function_callee(of) {
        return Ok(Target::Primitive(primitive));
    }
    let methods = match names.methods(of) {
        [] => names.methods(plain),
        methods => methods,
    };
    let taken = rule.body.argtypes.get(1..).unwrap_or_default();
    let fits = |&&index: &&usize| {
        names.functions().get(index).is_some_and(|method| {
            let view = method.body.view();
            let types = view.argtypes.get(1..).unwrap_or_default();
            taken.len() > types.len() && types.iter().zip(taken).all(|(ty, taken)| ty == taken)
        })
    };
    // The types of a longer method may begin with those of a shorter one.
    let fitting: Vec<usize> = methods.iter().filter(fits).copied().collect();
    if let Some(first) = fitting.first().copied() {
        let tangents = TangentTypes::of_declarations(names);
        let has_parameters = |index: &usize| {
            let method = names.functions().get(*index);
            method.is_some_and(|method| layout(rule, kind, method, &tangents).is_ok())
        };
        return Ok(Target::Function(fitting.iter().copied().find(has_parameters).unwrap_or(first)));
    }
    if let Some(primitive) = names.primitive(of) {
        return Ok(Target::Primitive(primitive));
    }
    match methods {
        [] => Err(RuleErrorKind::NoTarget(of.into()).into()),
        methods => {
            let methods = methods.iter().filter_map(|&index| names.functions().get(index));
            let methods = methods.map(|method| format!("`{}`", method.name)).collect();
            Err(RuleErrorKind::NoMethod { of: of.into(), methods }.into())
        }
    }
}

/// Whether the values of the type are arrays.
fn is_array(ty: &Type) -> bool {
    matches!(ty, Type::Array(_)) || ranked(ty).is_some()
}

fn is_float(ty: &Type) -> bool {
    ty.as_float().is_some() || matches!(ty, Type::Named(name) if name == "T" || name == "U")
}

/// The type of the tangents of a type, where a rule is held to it.
fn tangent(ty: &Type) -> Option<Type> {
    match ty {
        ty if is_float(ty) => Some(ty.clone()),
        Type::Array(array) if is_float(&array.element) => Some(ty.clone()),
        Type::Scalar(_) | Type::Nothing | Type::String | Type::Symbol | Type::TypeOf(_) | Type::Function(_) => {
            Some(Type::Nothing)
        }
        Type::Named(name) if name == "I" => Some(Type::Nothing),
        ty => ranked(ty).filter(|(element, _)| is_float(element)).map(|_| ty.clone()),
    }
}

/// The types of the arguments, where the shadow of each is among the parameters, and where that of the result is.
type Layout = (Vec<Type>, Vec<Option<usize>>, Option<usize>);

/// Which parameters of a primitive's rule are what. Where the primitive takes different numbers of operands, that
/// follows from the number of parameters, as each argument adds as many as its type says.
fn layout_of_parameters(rule: &Function<IRCode>, kind: RuleKind, primitive: &Primitive) -> Read<Layout> {
    let parameters = rule.body.argtypes.get(1..).unwrap_or_default();
    let given = parameters.len();
    let unfit = |expected: &str| RuleErrorKind::Parameters { expected: expected.into(), given };
    match kind {
        RuleKind::Jvp => {
            let count = given.checked_sub(1).filter(|rest| rest % 2 == 0).map(|rest| rest / 2);
            let count = count.ok_or_else(|| unfit("the arguments, the result, and a tangent for each argument"))?;
            Ok((parameters.iter().take(count).cloned().collect(), vec![None; count], None))
        }
        RuleKind::Vjp if primitive.max_operands == Some(primitive.min_operands) => {
            let count = primitive.min_operands;
            let argtypes = parameters.iter().take(count).cloned().collect();
            let layout = with_shadows(argtypes, parameters.get(count).unwrap_or(&Type::Untyped), is_array);
            match needed(&layout, kind, count) == given {
                true => Ok(layout),
                false => Err(unfit(&expectation(primitive.name, count, kind, &layout)).into()),
            }
        }
        RuleKind::Vjp => {
            let mut arrays = 0;
            for (count, out) in parameters.iter().enumerate() {
                let needed = count + 2 + arrays + usize::from(is_array(out));
                if needed == given {
                    return Ok(with_shadows(parameters.iter().take(count).cloned().collect(), out, is_array));
                }
                arrays += usize::from(is_array(out));
            }
            let expected = "the arguments, the result, the seed, and a shadow for each argument that is an array, and for the \
                            result if that is one";
            Err(unfit(expected).into())
        }
    }
}

/// How many parameters a rule has.
fn needed((_, shadows, out_shadow): &Layout, kind: RuleKind, count: usize) -> usize {
    match kind {
        RuleKind::Jvp => 2 * count + 1,
        RuleKind::Vjp => count + 2 + shadows.iter().flatten().count() + usize::from(out_shadow.is_some()),
    }
}

/// Which parameters a rule has.
fn expectation(of: &str, count: usize, kind: RuleKind, (_, shadows, out_shadow): &Layout) -> String {
    let mut text = format!("the {} of `{of}`, its result", counted(count, "argument"));
    match kind {
        RuleKind::Jvp => text.push_str(", and a tangent for each argument"),
        RuleKind::Vjp => {
            text.push_str(", the seed");
            let arrays = (2..).zip(shadows).filter(|(_, shadow)| shadow.is_some());
            let arrays: Vec<String> = arrays.map(|(number, _)| format!("_{number}")).collect();
            if !arrays.is_empty() {
                text.push_str(&format!(", a shadow for each of {}", arrays.join(", ")));
            }
            if out_shadow.is_some() {
                text.push_str(", the shadow of the result");
            }
        }
    }
    text
}

/// The layout of a VJP for arguments and a result of these types, with shadows for those arguments that have some.
fn with_shadows(argtypes: Vec<Type>, out: &Type, has_shadow: impl Fn(&Type) -> bool) -> Layout {
    let have: Vec<bool> = argtypes.iter().map(has_shadow).collect();
    with_shadows_at(argtypes, out, have)
}

/// As [`with_shadows`], given which arguments have shadows.
fn with_shadows_at(argtypes: Vec<Type>, out: &Type, have: Vec<bool>) -> Layout {
    // The function itself, the arguments, the result and the seed come before the shadows.
    let mut next = argtypes.len() + 3;
    let mut place = |has_shadow: bool| {
        let place = has_shadow.then_some(next);
        next += usize::from(has_shadow);
        place
    };
    let shadows = have.into_iter().chain(std::iter::repeat(false)).take(argtypes.len()).map(&mut place).collect();
    let out_shadow = place(is_array(out));
    (argtypes, shadows, out_shadow)
}

/// Holds the rule of a primitive to one block of calls of primitives, and says of each statement whether it changes its
/// first operand.
fn single_block<F>(rule: &Function<IRCode>, names: &Module<F>) -> Read<Vec<bool>> {
    let ir = &rule.body;
    if ir.cfg.blocks.len() != 1 || !ir.new_nodes.is_empty() {
        return Err(RuleErrorKind::SeveralBlocks.into());
    }
    let Some((_, calls)) = ir.stmts.stmts().split_last() else { return Err(RuleErrorKind::NoReturn.into()) };
    let mut in_place = Vec::with_capacity(ir.stmts.len());
    for (index, stmt) in calls.iter().enumerate() {
        let callee = match stmt {
            Stmt::Call(call) => names.callee(&call.callee),
            _ => None,
        };
        match callee {
            Some(Callee::Primitive(primitive)) => in_place.push(primitive.name.ends_with('!')),
            _ => {
                let kind = RuleErrorKind::CallsOther(stmt.to_string());
                return Err(Found((kind, Some(SSAValue::from_index(index)))));
            }
        }
    }
    in_place.push(false);
    Ok(in_place)
}

/// What the rule of a primitive returns: an operand an argument, or the tangent.
fn outputs<F>(
    rule: &Function<IRCode>,
    kind: RuleKind,
    count: usize,
    names: &Module<F>,
) -> Read<Vec<Operand<Positions>>> {
    let ir = &rule.body;
    let returned = match ir.stmts.stmts().last() {
        Some(Stmt::Return(ret)) => ret.value.clone(),
        _ => None,
    };
    let returned = returned.ok_or(RuleErrorKind::NoReturn)?;
    if kind == RuleKind::Jvp {
        return Ok(vec![returned]);
    }
    let made = returned.as_value().and_then(|value| ir.stmt(value)).and_then(|stmt| names.primitive_call(stmt));
    let given = match made {
        Some((primitive, elements)) if primitive.name == "tuple" => match elements.len() {
            given if given == count => return Ok(elements.to_vec()),
            given => format!("one of {given}"),
        },
        _ => "something else".into(),
    };
    Err(RuleErrorKind::Returns { expected: format!("a tuple of {count}"), given }.into())
}

/// Holds a parameter to a type, where both are known.
fn check(rule: &Function<IRCode>, index: usize, what: &'static str, expected: Option<Type>) -> Read<()> {
    let given = rule.body.argtypes.get(index).cloned().unwrap_or(Type::Untyped);
    match expected {
        Some(expected) if !given.is_unknown() && !expected.is_unknown() && given != expected => {
            let name = index.checked_sub(1).and_then(|index| rule.parameters.get(index).cloned().flatten());
            Err(RuleErrorKind::ParameterType { number: index + 1, name, what, expected, given }.into())
        }
        _ => Ok(()),
    }
}

/// Holds the parameters behind the arguments to the types that follow from those of the arguments and of the result.
fn check_parameters(rule: &Rule) -> Read<()> {
    let function = &rule.function;
    let count = rule.argtypes.len();
    let out = function.body.argtypes.get(count + 1).cloned().unwrap_or(Type::Untyped);
    match rule.kind {
        RuleKind::Vjp => {
            let seed = if is_array(&out) { Some(Type::Nothing) } else { tangent(&out) };
            check(function, count + 2, "the cotangent of the result", seed)?;
            for (ty, shadow) in rule.argtypes.iter().zip(&rule.shadows) {
                if let Some(shadow) = shadow {
                    check(function, *shadow, "the shadow of an argument", tangent(ty))?;
                }
            }
            match rule.out_shadow {
                Some(shadow) => check(function, shadow, "the shadow of the result", tangent(&out)),
                None => Ok(()),
            }
        }
        RuleKind::Jvp => {
            for (index, ty) in rule.argtypes.iter().enumerate() {
                check(function, count + 2 + index, "the tangent of an argument", tangent(ty))?;
            }
            Ok(())
        }
    }
}

/// Holds the cotangents that the rule of a primitive returns to the types of the arguments. That of an array is in its
/// shadow.
fn check_outputs<F>(rule: &Rule, names: &Module<F>) -> Read<()> {
    if rule.kind == RuleKind::Jvp {
        return Ok(());
    }
    let outputs = rule.outputs.iter().zip(rule.argtypes.iter().zip(&rule.shadows));
    for (number, (output, (ty, shadow))) in (2..).zip(outputs) {
        if shadow.is_some() && !matches!(output, Operand::Constant(Constant::Nothing)) {
            let expected = format!("`nothing` for _{number}, an array, to whose shadow cotangents are added");
            return Err(RuleErrorKind::Returns { expected, given: "something else".into() }.into());
        }
        let given = returned_type(rule, output);
        if let Some(expected) = cotangent(ty, names)
            && !is_cotangent(&given, &expected)
        {
            let expected = format!("{} for _{number}", with_article(expected));
            return Err(RuleErrorKind::Returns { expected, given: with_article(given) }.into());
        }
    }
    Ok(())
}

/// The type of what a rule returns for an argument of a type, where a rule is held to it.
fn cotangent<F>(ty: &Type, names: &Module<F>) -> Option<Type> {
    match is_array(ty) || is_changeable(names, ty) {
        true => Some(Type::Nothing),
        false => tangent(ty),
    }
}

/// Whether a value of a type may be returned where a cotangent of the other type is expected: `nothing` is zero.
fn is_cotangent(given: &Type, expected: &Type) -> bool {
    match (given, expected) {
        (Type::Tuple(given), Type::Tuple(expected)) if given.len() == expected.len() => {
            given.iter().zip(expected.iter()).all(|(given, expected)| is_cotangent(given, expected))
        }
        // What there is nothing of.
        (Type::Tuple(given), Type::Nothing) => given.iter().all(|given| *given == Type::Nothing),
        _ => given.is_unknown() || given == expected || *given == Type::Nothing,
    }
}

/// Which parameters of the rule of a function are what, and the type of the function's result.
fn layout<F: Body>(
    function: &Function<IRCode>,
    kind: RuleKind,
    target: &Function<F>,
    tangents: &TangentTypes<'_, F>,
) -> Read<(Layout, Type)> {
    let view = target.body.view();
    let signature = view.argtypes.get(1..).unwrap_or_default();
    let count = signature.len();
    let parameters = function.body.argtypes.get(1..).unwrap_or_default();
    let known = |declared: &Type, given: Option<&Type>| match declared.widened().unwrap_or_else(|| declared.clone()) {
        ty if ty.is_unknown() => given.cloned().unwrap_or(Type::Untyped),
        ty => ty,
    };
    let argtypes: Vec<Type> = signature.iter().enumerate().map(|(i, ty)| known(ty, parameters.get(i))).collect();
    let out = known(&target.result, parameters.get(count));
    let layout = match kind {
        RuleKind::Jvp => (argtypes, vec![None; count], None),
        RuleKind::Vjp => {
            let has_shadow = |ty: &Type| is_array(ty) || !tangents.of(ty).shadow().is_none();
            let of_all = with_shadows(argtypes.clone(), &out, has_shadow);
            // Of the rule's own types, where the function says less, or more than when the rule was written.
            let own = parameters.iter().take(count).map(has_shadow).collect::<Vec<_>>();
            let has = |layout: &Layout| parameters.len() == needed(layout, kind, count);
            if has(&of_all) {
                of_all
            } else {
                let of_own = with_shadows_at(argtypes.clone(), &out, own);
                if has(&of_own) { of_own } else { with_shadows(argtypes, &out, is_array) }
            }
        }
    };
    if parameters.len() != needed(&layout, kind, count) || function.varargs {
        let expected = expectation(&target.name, count, kind, &layout);
        return Err(RuleErrorKind::Parameters { expected, given: parameters.len() }.into());
    }
    Ok((layout, out))
}

/// Reads the rule of a function, and holds it to the function's signature.
fn read_rule_of_function<F: Body>(
    function: &Function<IRCode>,
    kind: RuleKind,
    target: &Function<F>,
    names: &Module<F>,
) -> Read<Rule> {
    if target.varargs {
        return Err(RuleErrorKind::Varargs(target.name.clone()).into());
    }
    let view = target.body.view();
    if let Some(Type::Named(own)) = view.argtypes.first()
        && names.type_def(own).is_some()
    {
        return Err(RuleErrorKind::Callable(target.name.clone()).into());
    }
    let tangents = TangentTypes::of_declarations(names);
    let signature = view.argtypes.get(1..).unwrap_or_default();
    let count = signature.len();
    let ((argtypes, shadows, out_shadow), out) = layout(function, kind, target, &tangents)?;
    for (index, ty) in argtypes.iter().enumerate() {
        check(function, index + 1, "an argument", Some(ty.clone()))?;
    }
    check(function, count + 1, "the result", Some(out.clone()))?;
    let declared = signature.iter().map(|ty| !ty.is_unknown()).collect();
    let rule = Rule {
        target: RuleTarget::Function(target.name.clone()),
        kind,
        argtypes,
        function: with_zeros(function, names),
        outputs: Vec::new(),
        shadows,
        out_shadow,
        in_place: Vec::new(),
        declared,
        slices: Default::default(),
    };
    let called = rule.called_name();
    // Where a derivative is derived again, the rule is there, and passes may have made it shorter.
    if let Some(taken) = names.function(&called)
        && (taken.body.view().argtypes.get(1..) != function.body.argtypes.get(1..)
            || taken.body.view().statements.len() > function.body.stmts.len())
    {
        return Err(RuleErrorKind::NameTaken(called).into());
    }
    check_parameters_of_function(&rule, &out, &tangents)?;
    let cotangents: Vec<Option<Type>> = rule.argtypes.iter().map(|ty| known(&tangents.of(ty).cotangent())).collect();
    check_result(&rule, known(&tangents.of(&out)), &cotangents)?;
    check_returns(&rule)?;
    Ok(rule)
}

/// The type of a tangent, where that is known before the program runs.
fn known(tangent: &Tangent) -> Option<Type> {
    Some(tangent.ty()).filter(|_| !matches!(tangent, Tangent::Dynamic { .. }))
}

/// Holds the parameters of the rule of a function behind the result to the types that follow from its signature.
fn check_parameters_of_function<F>(rule: &Rule, out: &Type, tangents: &TangentTypes<'_, F>) -> Read<()> {
    let function = &rule.function;
    let count = rule.argtypes.len();
    match rule.kind {
        RuleKind::Vjp => {
            match is_array(out) {
                true => check(function, count + 2, "the cotangent of the result", Some(Type::Nothing))?,
                false => {
                    let tangent = tangents.of(out);
                    let what = match tangent.shadow().is_none() {
                        true => "the cotangent of the result",
                        false => "the tangent of the result",
                    };
                    check(function, count + 2, what, Some(tangent.ty()))?;
                }
            }
            for (ty, place) in rule.argtypes.iter().zip(&rule.shadows) {
                if let Some(place) = place {
                    check(function, *place, "the shadow of an argument", Some(tangents.of(ty).shadow().ty()))?;
                }
            }
            match rule.out_shadow {
                Some(place) => check(function, place, "the shadow of the result", Some(tangents.of(out).ty())),
                None => Ok(()),
            }
        }
        RuleKind::Jvp => {
            for (index, ty) in rule.argtypes.iter().enumerate() {
                check(function, count + 2 + index, "the tangent of an argument", Some(tangents.of(ty).ty()))?;
            }
            Ok(())
        }
    }
}

/// The rule of a function with zeros where it puts `nothing` for a float in a tuple that it returns, as it may on some
/// of its ways.
fn with_zeros<F>(function: &Function<IRCode>, names: &Module<F>) -> Function<IRCode> {
    let mut function = function.clone();
    let Type::Tuple(declared) = function.result.clone() else { return function };
    let returned: Vec<SSAValue> = function
        .body
        .stmts
        .stmts()
        .iter()
        .filter_map(|stmt| match stmt {
            Stmt::Return(ret) => ret.value.as_ref().and_then(Operand::as_value),
            _ => None,
        })
        .collect();
    for index in returned.into_iter().filter_map(SSAValue::index) {
        let stmt = function.body.stmts.stmts().get(index);
        let is_tuple =
            stmt.and_then(|stmt| names.primitive_call(stmt)).is_some_and(|(called, _)| called.name == "tuple");
        let Some(Stmt::Call(call)) = function.body.stmts.stmts_mut().get_mut(index).filter(|_| is_tuple) else {
            continue;
        };
        let mut made = false;
        for (arg, ty) in call.args.iter_mut().zip(declared.iter()) {
            if let (Operand::Constant(Constant::Nothing), Some(float)) = (&*arg, ty.as_float()) {
                *arg = Operand::from(Scalar::from_bits(float, 0));
                made = true;
            }
        }
        if let Some(ty) = function.body.stmts.types_mut().get_mut(index).filter(|_| made) {
            *ty = Type::Tuple(declared.clone());
        }
    }
    function
}

/// Holds what the rule of a function returns to what it declares: what takes it apart goes by that.
fn check_returns(rule: &Rule) -> Read<()> {
    let Type::Tuple(declared) = &rule.function.result else { return Ok(()) };
    for (index, stmt) in rule.function.body.stmts.stmts().iter().enumerate() {
        let Stmt::Return(ret) = stmt else { continue };
        let given = ret.value.as_ref().map(|value| returned_type(rule, value));
        let Some(Type::Tuple(types)) = &given else { continue };
        let same = |(given, declared): (&Type, &Type)| given.is_unknown() || declared.is_unknown() || given == declared;
        if types.len() != declared.len() || !types.iter().zip(declared.iter()).all(same) {
            let (expected, given) =
                (with_article(&rule.function.result), with_article(Type::tuple(types.iter().cloned())));
            return Err(Found((RuleErrorKind::Returns { expected, given }, Some(SSAValue::from_index(index)))));
        }
    }
    Ok(())
}

/// Whether values of the type can be changed and are no arrays. A rule returns `nothing` for them: what flows to them
/// goes to their shadows, if it takes these.
fn is_changeable<F>(module: &Module<F>, ty: &Type) -> bool {
    match ty {
        Type::Ref(_) | Type::Memory(_) | Type::MemoryRef(_) | Type::Stack(_) | Type::Slot(_) => true,
        Type::Named(name) => {
            let def = module.type_def(name).map(|def| &def.kind);
            matches!(def, Some(TypeKind::Struct { mutable: true, .. }))
        }
        _ => false,
    }
}

/// Holds what a rule returns to what its kind must: as it is declared, and where it returns.
fn check_result(rule: &Rule, tangent: Option<Type>, cotangents: &[Option<Type>]) -> Read<()> {
    let function = &rule.function;
    let ir = &function.body;
    let fits = |given: &Type| match rule.kind {
        RuleKind::Jvp => tangent.as_ref().is_none_or(|expected| expected == given),
        RuleKind::Vjp => match given {
            Type::Tuple(types) => {
                let each = |(given, expected): (&Type, &Option<Type>)| {
                    expected.as_ref().is_none_or(|expected| is_cotangent(given, expected))
                };
                types.len() == cotangents.len() && types.iter().zip(cotangents).all(each)
            }
            _ => false,
        },
    };
    let expected = || match rule.kind {
        RuleKind::Jvp => tangent.as_ref().map_or_else(String::new, with_article),
        RuleKind::Vjp => {
            let shown = cotangents.iter().map(|ty| ty.clone().unwrap_or(Type::Any));
            with_article(Type::tuple(shown))
        }
    };
    let wrong = |given: &Type, at| {
        Err(Found((RuleErrorKind::Returns { expected: expected(), given: with_article(given) }, at)))
    };
    if !function.result.is_unknown() && !fits(&function.result) {
        return wrong(&function.result, None);
    }
    let mut returns = false;
    for (index, stmt) in ir.stmts.stmts().iter().enumerate() {
        let Stmt::Return(ret) = stmt else { continue };
        let Some(value) = &ret.value else { continue };
        returns = true;
        let given = returned_type(rule, value);
        if !given.is_unknown() && !fits(&given) {
            return wrong(&given, Some(SSAValue::from_index(index)));
        }
    }
    if returns { Ok(()) } else { Err(RuleErrorKind::NoReturn.into()) }
}

/// The type of what a rule returns. A float that is written in the rule of a primitive takes the type that is needed.
fn returned_type(rule: &Rule, operand: &Operand<Positions>) -> Type {
    let ty = operand_type(&rule.function.body, operand);
    let is_written = matches!(operand, Operand::Constant(_)) && ty.as_float().is_some();
    if is_written && matches!(rule.target, RuleTarget::Primitive(_)) { Type::Untyped } else { ty }
}

fn operand_type(ir: &IRCode, operand: &Operand<Positions>) -> Type {
    match operand {
        Operand::Value(value) => ir.ty(*value).cloned().unwrap_or(Type::Untyped),
        Operand::Argument(Argument(number)) => {
            let index = (*number as usize).checked_sub(1);
            index.and_then(|index| ir.argtypes.get(index)).cloned().unwrap_or(Type::Untyped)
        }
        Operand::Constant(Constant::Nothing) => Type::Nothing,
        Operand::Constant(Constant::Scalar(scalar)) => Type::Scalar(scalar.scalar_type()),
        _ => Type::Untyped,
    }
}

/// The name of what a rule is for.
pub(super) fn target_name(target: &RuleTarget) -> Name {
    match target {
        RuleTarget::Primitive(primitive) => primitive.name.into(),
        RuleTarget::Function(name) => name.clone(),
    }
}
