//! Lets arithmetic on numbers of several types ask for their types first, as Julia's compiler does.

use std::cell::OnceCell;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashSet;
use ircode::primitives::{Compute, ResultType};
use ircode::{Callee, Function, Instruction, Module, Name, Operand, ScalarType, Stmt, Type};

use crate::analyses::method_choice::{self, MOST};
use crate::manager::Context;
use crate::tangents::TangentTypes;
use crate::union_splitting::{Rest, Split, Way, branch};
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "arithmetic-splitting";

/// Turns arithmetic on operands that are of one of several types of numbers, and conversions of such, into branches, in
/// which it is done on numbers of known types: these have derivative rules. So `r *= x` has a derivative where `r`
/// starts as the integer 1. On `nothing` it fails as it did. True if there was such a statement.
///
/// What has more than 16 combinations of types stays as it is.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    run_on(bb, context, &Asked::Numbers)
}

/// The same where operands may be of any type, or be something else beside numbers, too: then there are branches for
/// the numbers that they are most often, and otherwise the run ends in an error, as what the derivative would be is not
/// known. So there are for elements, their sums, and copies of what may be an array or something else: it is asked for the
/// arrays that programs mostly have, and for those that this one has with the tuples in them. This is for code that is
/// to be differentiated, where that was refused without it.
pub(crate) fn run_on_open(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    run_on(bb, context, &Asked::Open(OnceCell::new()))
}

/// Whether a function may have a statement that [`run_on_open`] changes, once it is known what is called.
pub(crate) fn may_have_open(function: &Function<BBCode>, module: &Module<BBCode>) -> bool {
    let calls_value = |inst: &Instruction<Ids>| match &inst.stmt {
        Stmt::Call(call) => matches!(call.callee, Operand::Value(_) | Operand::Argument(_)),
        _ => false,
    };
    let asked = Asked::Open(OnceCell::new());
    let is_open = |inst: &Instruction<Ids>| asked.split(&function.body, module, inst).is_some();
    function.body.all_insts().any(|(_, inst)| calls_value(inst) || is_open(inst))
}

/// Of what is asked what it is.
enum Asked {
    /// Numbers of some known types, or `nothing`.
    Numbers,
    /// What may be anything else, too. Here are the [types](known_types) that are asked for, once they are needed.
    Open(OnceCell<Vec<Type>>),
}

impl Asked {
    /// What becomes of a statement, if it is one of which the run tells the types.
    fn split(&self, bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<Split> {
        let arithmetic = split(bb, module, inst, self);
        match self {
            Asked::Numbers => arithmetic,
            Asked::Open(arrays) => arithmetic.or_else(|| split_arrays(bb, module, inst, arrays)),
        }
    }
}

fn run_on(bb: &mut BBCode, context: &Context<'_>, asked: &Asked) -> PassResult {
    let found = bb.all_insts().filter_map(|(id, inst)| Some((id, asked.split(bb, context.module, inst)?)));
    let found: Vec<(InstId, Split)> = found.collect();
    let changed = !found.is_empty();
    // From the last on, as in `union-splitting`.
    for (id, split) in found.into_iter().rev() {
        branch(bb, id, split).map_err(|error| PassError::because(NAME, context.function, error).at(bb, id))?;
    }
    Ok(changed)
}

/// Types of the numbers that come first, and what must be asked for them.
#[derive(Clone, Default)]
struct Combination {
    types: Vec<ScalarType>,
    tests: Vec<(usize, Type)>,
}

impl Combination {
    /// The same with one number more.
    fn with(mut self, ty: ScalarType, test: (usize, Type)) -> Self {
        self.types.push(ty);
        self.tests.push(test);
        self
    }
}

/// What becomes of a statement, if it is arithmetic on numbers of which the run tells the types.
fn split(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>, asked: &Asked) -> Option<Split> {
    let Stmt::Call(call) = &inst.stmt else { return None };
    let result = ResultOf::call(bb, module, &inst.stmt)?;
    let mut combinations = vec![Combination::default()];
    let mut rest = Rest::LastWay;
    let numbers = call.args.get(result.skipped()..)?;
    for (index, operand) in numbers.iter().enumerate() {
        // What comes twice is of one type.
        if let Some(earlier) = numbers.iter().take(index).position(|earlier| earlier == operand) {
            for Combination { types, .. } in &mut combinations {
                types.extend(types.get(earlier).copied());
            }
            continue;
        }
        let ty = bb.operand_type(operand);
        if let Type::Scalar(ty) = ty {
            combinations.iter_mut().for_each(|combination| combination.types.push(ty));
            continue;
        }
        let known = Numbers::of(module, &ty, asked)?;
        match known.others {
            Others::None => {}
            Others::Nothing if matches!(rest, Rest::LastWay) => rest = Rest::FailingCall,
            Others::Nothing => {}
            Others::Some => rest = Rest::NoDerivative(result.name(module, &inst.stmt)?),
        }
        let mut longer = Vec::with_capacity(combinations.len() * known.types.len());
        for ty in known.types {
            let test = (result.skipped() + index + 1, Type::Scalar(ty));
            longer.extend(combinations.iter().map(|shorter| shorter.clone().with(ty, test.clone())));
        }
        combinations = longer;
        if combinations.len() > MOST {
            return None;
        }
    }
    let is_open = matches!(rest, Rest::NoDerivative(_));
    if combinations.len() < 2 && !is_open {
        return None;
    }
    let way = |Combination { types, tests }| Some(Way { callee: None, tests, ty: Some(result.of(&types)?) });
    let mut ways: Vec<Option<Way>> = combinations.into_iter().map(way).collect();
    if is_open {
        // What cannot be computed with so has no derivative, either.
        ways.retain(Option::is_some);
    }
    let ways: Vec<Way> = ways.into_iter().collect::<Option<_>>()?;
    // What is no float has no derivative that anybody would ask for.
    if is_open && ways.iter().all(|way| way.ty.as_ref().is_none_or(|ty| ty.as_float().is_none())) {
        return None;
    }
    let ty = match inst.ty.is_unknown() {
        true => Type::union(ways.iter().filter_map(|way| way.ty.clone())),
        false => inst.ty.clone(),
    };
    Some(Split { ty, ..Split::of(inst, ways, rest)? })
}

/// What becomes of a statement that reads elements of what may be an array or a tuple, or something else.
fn split_arrays(
    bb: &BBCode,
    module: &Module<BBCode>,
    inst: &Instruction<Ids>,
    known: &OnceCell<Vec<Type>>,
) -> Option<Split> {
    let Stmt::Call(call) = &inst.stmt else { return None };
    let (primitive, args) = module.primitive_call(&inst.stmt)?;
    let (at, sums, of_tuples) = match primitive.result {
        ResultType::Element(at) => (at, false, true),
        ResultType::SumOfElements(at) => (at, true, false),
        _ if primitive.name == "copy" => (0, false, false),
        _ => return None,
    };
    let ty = bb.operand_type(args.get(at)?);
    let is_read = |ty: &&Type| match ty {
        Type::Array(array) => !sums || array.element.as_scalar().is_some(),
        Type::Tuple(_) => of_tuples && method_choice::is_exact(module, ty),
        _ => false,
    };
    let types: Vec<Type> = match &ty {
        Type::Union(members) => members.iter().filter(is_read).cloned().collect(),
        ty if ty.is_unknown() || method_choice::is_abstract(module, ty) => {
            let known = known.get_or_init(|| known_types(bb, module)).iter();
            known.filter(is_read).filter(|known| module.is_a(known, ty) != Some(false)).take(MOST).cloned().collect()
        }
        _ => return None,
    };
    if types.is_empty() || types.len() > MOST || primitive.effects.writes {
        return None;
    }
    let at = at + 1 + call.args.len().checked_sub(args.len())?;
    let way = |ty: Type| Way { callee: None, tests: vec![(at, ty)], ty: None };
    let ways = types.into_iter().map(way).collect();
    Split::of(inst, ways, Rest::NoDerivative(primitive.name.into()))
}

/// What arrays in values of any type mostly are, and those that have tangents of which the program has values; then the
/// tuples that are elements of these.
fn known_types(bb: &BBCode, module: &Module<BBCode>) -> Vec<Type> {
    const USUAL: [(ScalarType, u32); 3] = [(ScalarType::Float64, 1), (ScalarType::Float64, 2), (ScalarType::Int64, 1)];
    let tangents = TangentTypes::new(module);
    let mut arrays: Vec<Type> =
        USUAL.into_iter().map(|(element, rank)| Type::array(Type::Scalar(element), rank)).collect();
    let mut seen: HashSet<Type> = arrays.iter().cloned().collect();
    for body in module.functions().iter().map(|function| &function.body).chain([bb]) {
        let types = body.argtypes.iter().chain(body.all_insts().map(|(_, inst)| &inst.ty));
        for ty in types {
            if !matches!(ty, Type::Array(_)) || seen.contains(ty) {
                continue;
            }
            seen.insert(ty.clone());
            if method_choice::is_exact(module, ty) && !tangents.of(ty).is_none() {
                arrays.push(ty.clone());
            }
        }
    }
    let mut tuples: Vec<Type> = Vec::new();
    for array in &arrays {
        let Type::Array(array) = array else { continue };
        let elements = match &array.element {
            Type::Union(members) => members.as_slice(),
            element => std::slice::from_ref(element),
        };
        for element in elements.iter().filter(|element| matches!(element, Type::Tuple(_))) {
            let is_asked = method_choice::is_exact(module, element) && !tangents.of(element).is_none();
            if is_asked && seen.insert(element.clone()) {
                tuples.push(element.clone());
            }
        }
    }
    arrays.extend(tuples);
    arrays
}

/// The numbers that the values of a type are.
struct Numbers {
    types: Vec<ScalarType>,
    others: Others,
}

/// What values of a type are beside numbers.
#[derive(PartialEq, Eq)]
enum Others {
    None,
    Nothing,
    /// What may have arithmetic of its own.
    Some,
}

impl Numbers {
    /// The numbers that values of a type are of which not all are of one; `None` where that is not asked.
    fn of(module: &Module<BBCode>, ty: &Type, asked: &Asked) -> Option<Numbers> {
        /// What numbers in values of any type mostly are.
        const USUAL: [ScalarType; 2] = [ScalarType::Float64, ScalarType::Int64];
        let is_open = matches!(asked, Asked::Open(_));
        match ty {
            Type::Union(members) => {
                let mut numbers = Numbers { types: Vec::new(), others: Others::None };
                for member in members.iter() {
                    match member {
                        Type::Scalar(ty) => numbers.types.push(*ty),
                        Type::Nothing if numbers.others == Others::None => numbers.others = Others::Nothing,
                        Type::Nothing => {}
                        _ if is_open => numbers.others = Others::Some,
                        _ => return None,
                    }
                }
                Some(numbers).filter(|numbers| !numbers.types.is_empty())
            }
            ty if is_open && (ty.is_unknown() || method_choice::is_abstract(module, ty)) => {
                let may_be = |number: &ScalarType| module.is_a(&Type::Scalar(*number), ty) != Some(false);
                let types: Vec<ScalarType> = USUAL.into_iter().filter(may_be).collect();
                (!types.is_empty()).then_some(Numbers { types, others: Others::Some })
            }
            _ => None,
        }
    }
}

/// What the type of a result follows from.
enum ResultOf {
    Arithmetic(ResultType),
    /// A call of the type itself, `Float64(x)`.
    Type(ScalarType),
    /// A call of `convert`, which has the type before the number.
    Conversion(ScalarType),
}

impl ResultOf {
    fn call(bb: &BBCode, module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<Self> {
        if let Some(Callee::Type(ty)) = module.called(stmt) {
            return ty.as_scalar().map(ResultOf::Type);
        }
        let (primitive, args) = module.primitive_call(stmt)?;
        match (&primitive.compute, args) {
            (Compute::Convert(_), [to, _]) if primitive.name == "convert" => {
                let to = module.named_type(to).or_else(|| match bb.operand_type(to) {
                    Type::TypeOf(ty) => Some((*ty).clone()),
                    _ => None,
                })?;
                to.as_scalar().map(ResultOf::Conversion)
            }
            _ => primitive.is_arithmetic().then_some(ResultOf::Arithmetic(primitive.result)),
        }
    }

    /// How many operands come before the numbers.
    fn skipped(&self) -> usize {
        usize::from(matches!(self, ResultOf::Conversion(_)))
    }

    /// What is called.
    fn name(&self, module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<Name> {
        match self {
            ResultOf::Type(ty) => Some(ty.name().into()),
            ResultOf::Arithmetic(_) | ResultOf::Conversion(_) => Some(module.primitive_call(stmt)?.0.name.into()),
        }
    }

    fn of(&self, types: &[ScalarType]) -> Option<Type> {
        match self {
            ResultOf::Arithmetic(result) => result.of_numbers(types).map(Type::from),
            ResultOf::Type(ty) | ResultOf::Conversion(ty) => Some(Type::from(*ty)),
        }
    }
}
