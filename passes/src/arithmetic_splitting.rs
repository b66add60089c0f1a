//! Lets arithmetic on numbers of several types ask for their types first, as Julia's compiler does.

use bbcode::{BBCode, Ids, InstId};
use ircode::primitives::Compute;
use ircode::{Callee, Instruction, Module, ScalarType, Stmt, Type};

use crate::analyses::method_choice::MOST;
use crate::manager::Context;
use crate::union_splitting::{Rest, Split, Way, branch};
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "arithmetic-splitting";

/// Turns arithmetic on operands that are of one of several types of numbers, and conversions of such, into branches, in which it is done on numbers
/// of known types: these have derivative rules. So `r *= x` has a derivative where `r` starts as the integer 1. On `nothing` it fails as it did. True if there
/// was such a statement.
///
/// What has more than 16 combinations of types stays as it is.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let found = bb.all_insts().filter_map(|(id, inst)| Some((id, split(bb, context.module, inst)?)));
    let found: Vec<(InstId, Split)> = found.collect();
    let changed = !found.is_empty();
    // From the last on, as in `union-splitting`.
    for (id, split) in found.into_iter().rev() {
        branch(bb, id, split).map_err(|error| PassError::new(NAME, context.function, error.to_string()).at(bb, id))?;
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
fn split(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<Split> {
    let Stmt::Call(call) = &inst.stmt else { return None };
    let result = ResultOf::call(module, &inst.stmt)?;
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
        match bb.operand_type(operand) {
            Type::Scalar(ty) => combinations.iter_mut().for_each(|combination| combination.types.push(ty)),
            Type::Union(members) => {
                let mut longer = Vec::with_capacity(combinations.len() * members.len());
                for member in members.iter() {
                    match member {
                        Type::Scalar(ty) => {
                            let test = (result.skipped() + index + 1, member.clone());
                            longer.extend(combinations.iter().map(|shorter| shorter.clone().with(*ty, test.clone())));
                        }
                        Type::Nothing => rest = Rest::FailingCall,
                        _ => return None,
                    }
                }
                combinations = longer;
            }
            _ => return None,
        }
        if combinations.len() > MOST {
            return None;
        }
    }
    if combinations.len() < 2 {
        return None;
    }
    let way = |Combination { types, tests }| Some(Way { callee: None, tests, ty: Some(result.of(&types)?) });
    let ways: Vec<Way> = combinations.into_iter().map(way).collect::<Option<_>>()?;
    let ty = match inst.ty.is_unknown() {
        true => Type::union(ways.iter().filter_map(|way| way.ty.clone())),
        false => inst.ty.clone(),
    };
    let operands = [&call.callee].into_iter().chain(&call.args).cloned().collect();
    Some(Split { operands, ways, rest, ty, line: inst.line })
}

/// What the type of a result follows from.
enum ResultOf {
    Arithmetic(ircode::primitives::ResultType),
    /// A call of the type itself, `Float64(x)`.
    Type(ScalarType),
    /// A call of `convert`, which has the type before the number.
    Conversion(ScalarType),
}

impl ResultOf {
    fn call(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<Self> {
        if let Some(Callee::Type(ty)) = module.called(stmt) {
            return ty.as_scalar().map(ResultOf::Type);
        }
        let (primitive, args) = module.primitive_call(stmt)?;
        match (&primitive.compute, args) {
            (Compute::Convert(_), [to, _]) if primitive.name == "convert" => {
                module.named_type(to)?.as_scalar().map(ResultOf::Conversion)
            }
            _ => primitive.is_arithmetic().then_some(ResultOf::Arithmetic(primitive.result)),
        }
    }

    /// How many operands come before the numbers.
    fn skipped(&self) -> usize {
        usize::from(matches!(self, ResultOf::Conversion(_)))
    }

    fn of(&self, types: &[ScalarType]) -> Option<Type> {
        match self {
            ResultOf::Arithmetic(result) => result.of_numbers(types).map(Type::from),
            ResultOf::Type(ty) | ResultOf::Conversion(ty) => Some(Type::from(*ty)),
        }
    }
}
