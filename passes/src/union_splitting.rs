//! Lets calls of which the run chooses the method, by the types of the arguments, choose it by branches, as Julia's compiler does where there are few; and
//! accesses to fields of values of several types.

use std::cell::OnceCell;

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use ircode::primitives::Primitive;
use ircode::{
    Callee, Constant, Instruction, LineInfo, Module, Name, NewInstruction, Operand, Stmt, Type, arrays_may_have,
    field_position, method_of,
};

use crate::differentiation::dispatch::{self, Candidate};
use crate::link_methods::{reads_itself, type_of};
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "union-splitting";

/// Where more methods fit, the call stays as it is.
pub(crate) const MOST: usize = 16;

/// Turns calls of functions of which the module has methods, and calls of objects, into calls of these methods where the types of the arguments or of the object are not
/// known: `Core.isa` asks for the types of one method after the other, and the calls take what they are known to be then. So does `getfield` of what is one of several tuples
/// or structs. Where none fits it is an error when the program runs, as it was; what may be a function that is called as a value stays such a call. True if there
/// was such a call in the functions that it was run on: in the one of this name, or in all.
///
/// A method fits whose types are the known ones of the arguments. The run can ask for types of which values have no other, more exact one; where a method that may fit
/// takes something else, the call stays as it is. So does that of a primitive, but where there is a method for each combination of types, arithmetic
/// on what is no number left aside, which fails; or for a struct that is asked for elements: that is called without a question.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let chosen: Vec<Name> = match function {
        Some(name) => vec![name.clone()],
        None => module.functions().iter().map(|function| function.name.clone()).collect(),
    };
    let splitter = Splitter { module, objects: methods_of_objects(module), candidates: OnceCell::new() };
    let mut found: Vec<(Name, Vec<(InstId, Split)>)> = Vec::new();
    for name in chosen {
        let Some(function) = module.function(&name) else { continue };
        let calls = function.body.all_insts().filter(|(_, inst)| inst.ty != Type::Bottom);
        let calls = calls.filter_map(|(id, inst)| Some((id, splitter.split(&function.body, inst)?)));
        let calls: Vec<(InstId, Split)> = calls.collect();
        if !calls.is_empty() {
            found.push((name, calls));
        }
    }
    let changed = !found.is_empty();
    for (name, calls) in found {
        let Some(bb) = module.body_mut(&name) else { continue };
        // From the last on: what comes behind a call moves to another block, and is short then.
        for (id, split) in calls.into_iter().rev() {
            branch(bb, id, split).map_err(|error| PassError::new(NAME, &name, error.to_string()).at(bb, id))?;
        }
    }
    Ok(changed)
}

/// The methods of objects, `(::T)(…)`, by position, with the types of the objects.
fn methods_of_objects(module: &Module<BBCode>) -> Vec<(usize, Type)> {
    let functions = module.functions().iter().enumerate();
    let of_object = |name: &str| Some(Type::parse(method_of(name)?.strip_prefix("(::")?.strip_suffix(')')?));
    functions.filter_map(|(position, function)| Some((position, of_object(&function.name)?))).collect()
}

/// What becomes of a call.
pub(crate) struct Split {
    /// What is called and the arguments, all of which may decide.
    pub operands: Vec<Operand<Ids>>,
    pub ways: Vec<Way>,
    pub rest: Rest,
    pub ty: Type,
    pub line: LineInfo,
}

/// What is done where no method fits.
pub(crate) enum Rest {
    /// What the last way does: it need not be asked whether that fits.
    LastWay,
    /// The run fails: nothing is called of which anything is known.
    Fails,
    /// The call, which fails.
    FailingCall,
    /// The call: it may be of something else.
    Call,
}

/// A method, or what is called as it was, and the operands that must be of these types, by number.
pub(crate) struct Way {
    pub callee: Option<Operand<Ids>>,
    pub tests: Vec<(usize, Type)>,
    /// What it gives, where that is known.
    pub ty: Option<Type>,
}

struct Splitter<'a> {
    module: &'a Module<BBCode>,
    objects: Vec<(usize, Type)>,
    /// The functions that may be called as values, once that was asked for.
    candidates: OnceCell<Vec<Candidate>>,
}

impl Splitter<'_> {
    /// What becomes of a statement, if it is a call of which methods are to be tried.
    fn split(&self, bb: &BBCode, inst: &Instruction<Ids>) -> Option<Split> {
        let Stmt::Call(call) = &inst.stmt else { return None };
        let primitive = self.module.primitive_call(&inst.stmt);
        if let Some((primitive, [object, field, ..])) = primitive
            && primitive.name == "getfield"
        {
            let ways = self.fields(&bb.operand_type(object), field)?;
            let operands = [call.callee.clone()].into_iter().chain(call.args.iter().cloned()).collect();
            return Some(Split { operands, ways, rest: Rest::Fails, ty: inst.ty.clone(), line: inst.line });
        }
        let is_value = matches!(call.callee, Operand::Value(_) | Operand::Argument(_));
        let shown = || call.callee.as_constant().and_then(Constant::shown_object).map(|(ty, _)| ty);
        let given: Vec<Type> = call.args.iter().map(|arg| type_of(self.module, bb, arg)).collect();
        let mut ways = Vec::new();
        let mut rest = Rest::Fails;
        if is_value {
            let object = bb.operand_type(&call.callee);
            if self.module.callee(&call.callee).is_some() {
                return None;
            }
            let known = plain(&object);
            if !self.is_open(&object) || !self.is_open(&known) {
                return self.methods_of_object(inst, &known, &given);
            }
            for (position, ty) in &self.objects {
                if self.may_be(&object, ty) && self.is_exact(ty) {
                    let tests = self.tests(*position, &given)?;
                    ways.extend(tests.map(|tests| Way {
                        callee: None,
                        tests: [vec![(0, ty.clone())], tests].concat(),
                        ty: None,
                    }));
                }
            }
            // What is no function has no other methods.
            let is_object = |ty: &Type| {
                self.objects.iter().any(|(_, of)| of == ty)
                    || self.module.struct_fields(ty).is_some() && self.is_exact(ty)
            };
            let is_one_of_them = matches!(&object, Type::Union(members) if members.iter().all(is_object));
            if !ways.is_empty() && !is_one_of_them {
                let candidates = self.candidates.get_or_init(|| dispatch::candidates(self.module, &[], true));
                if candidates.iter().any(|candidate| candidate.takes(given.len())) {
                    rest = Rest::Call;
                }
            }
        } else if let (None, Some(object)) = (primitive, shown()) {
            return self.methods_of_object(inst, &object, &given);
        } else if let Some(method) = primitive.and_then(|(primitive, _)| self.method_of_structs(primitive, &given)) {
            ways.push(Way { callee: Some(Operand::global("", method)), tests: Vec::new(), ty: None });
        } else {
            let combinations = match primitive {
                Some(_) => Some(self.combinations(&given)?),
                None => None,
            };
            let methods = match primitive {
                Some((primitive, _)) => self.module.methods(primitive.name),
                None => self.methods_of(&inst.stmt)?,
            };
            for &position in methods {
                let tests = self.tests(position, &given)?;
                let name = &self.module.functions().get(position)?.name;
                ways.extend(tests.map(|tests| Way { callee: Some(Operand::global("", name)), tests, ty: None }));
            }
            if let (Some((primitive, _)), Some(combinations)) = (primitive, combinations)
                && ways.len() != combinations
            {
                // What is a primitive for the rest stays one. Arithmetic is one for numbers only.
                if !primitive.is_arithmetic()
                    || self.combinations_of_numbers(&given) != self.ways_of_numbers(&ways, &given)
                {
                    return None;
                }
                rest = Rest::FailingCall;
            }
        }
        if ways.is_empty() || ways.len() > MOST {
            return None;
        }
        let operands = [call.callee.clone()].into_iter().chain(call.args.iter().cloned()).collect();
        Some(Split { operands, ways, rest, ty: inst.ty.clone(), line: inst.line })
    }

    /// The method that a call of a primitive is where what is asked for its elements is no array, but a struct of the module.
    fn method_of_structs(&self, primitive: &Primitive, given: &[Type]) -> Option<&Name> {
        let of = given.first().filter(|_| primitive.is_of_elements())?;
        self.module.struct_fields(of).filter(|_| self.is_exact(of))?;
        let mut methods = self.module.methods(primitive.name).iter();
        let fits = methods.find(|position| self.tests(**position, given) == Some(Some(Vec::new())));
        Some(&self.module.functions().get(*fits?)?.name)
    }

    /// What becomes of a call of an object of this type, if the types of the arguments decide which of its methods that is.
    fn methods_of_object(&self, inst: &Instruction<Ids>, object: &Type, given: &[Type]) -> Option<Split> {
        let Stmt::Call(call) = &inst.stmt else { return None };
        // What holds nothing is not looked at by its methods.
        let holds_nothing = self.module.struct_fields(object).is_none_or(|fields| fields.is_empty());
        let mut ways = Vec::new();
        for (position, _) in self.objects.iter().filter(|(_, ty)| ty == object) {
            let method = self.module.functions().get(*position)?;
            let callee = (holds_nothing || !reads_itself(&method.body)).then(|| Operand::global("", &method.name));
            ways.extend(self.tests(*position, given)?.map(|tests| Way { callee, tests, ty: None }));
        }
        if ways.is_empty() || ways.len() > MOST || ways.iter().any(|way| way.tests.is_empty()) {
            return None;
        }
        let operands = [&call.callee].into_iter().chain(&call.args).cloned().collect();
        Some(Split { operands, ways, rest: Rest::Fails, ty: inst.ty.clone(), line: inst.line })
    }

    /// The methods of a function that is called by its name.
    fn methods_of(&self, stmt: &Stmt<Ids>) -> Option<&[usize]> {
        let Some(Callee::Unknown(path)) = self.module.called(stmt) else { return None };
        let plain = path.rsplit('.').next().unwrap_or(&path);
        Some(match self.module.methods(&path) {
            [] => self.module.methods(plain),
            methods => methods,
        })
    }

    /// Of how many combinations of types arguments may be, if some may be of several, all of which the run can ask for.
    fn combinations(&self, given: &[Type]) -> Option<usize> {
        let mut combinations: usize = 1;
        for ty in given {
            if let Type::Union(members) = ty {
                combinations = combinations.checked_mul(members.len())?;
                if combinations > MOST || !members.iter().all(|member| self.is_exact(member)) {
                    return None;
                }
            }
        }
        (combinations > 1).then_some(combinations)
    }

    /// How many of these are of numbers only.
    fn combinations_of_numbers(&self, given: &[Type]) -> usize {
        let numbers = |ty: &Type| match ty {
            Type::Union(members) => members.iter().filter(|member| self.may_be_number(member)).count(),
            ty => usize::from(self.may_be_number(ty)),
        };
        given.iter().map(numbers).product()
    }

    /// How many ways are taken with numbers only.
    fn ways_of_numbers(&self, ways: &[Way], given: &[Type]) -> usize {
        let of_numbers = |way: &&Way| {
            let mut types = given.to_vec();
            for (number, ty) in &way.tests {
                if let Some(given) = number.checked_sub(1).and_then(|index| types.get_mut(index)) {
                    *given = ty.clone();
                }
            }
            types.iter().all(|ty| self.may_be_number(ty))
        };
        ways.iter().filter(of_numbers).count()
    }

    /// Whether values of a type may be numbers, which primitives take.
    fn may_be_number(&self, ty: &Type) -> bool {
        match ty {
            Type::Nothing | Type::String | Type::Symbol | Type::Array(_) | Type::Tuple(_) | Type::Function(_) => false,
            ty => self.module.struct_fields(ty).is_none(),
        }
    }

    /// The fields of this name or number of an object that may be of one of some types.
    fn fields(&self, object: &Type, field: &Operand<Ids>) -> Option<Vec<Way>> {
        let (Type::Union(members), Some(field)) = (object, field.as_constant()) else { return None };
        if members.len() > MOST || !members.iter().all(|member| self.is_exact(member)) {
            return None;
        }
        let mut ways = Vec::with_capacity(members.len());
        for member in members.iter() {
            let fields = self.module.immutable_fields(member).or_else(|| self.module.struct_fields(member));
            let Some(fields) = fields else {
                // A reference has a field, too, and so have arrays.
                match member {
                    Type::Scalar(_) | Type::Nothing | Type::String | Type::Symbol => continue,
                    Type::Array(_) if !arrays_may_have(field) => continue,
                    _ => return None,
                }
            };
            if let Some((_, ty)) = field_position(&fields, field).and_then(|at| fields.get(at)) {
                ways.push(Way { callee: None, tests: vec![(1, member.clone())], ty: Some((*ty).clone()) });
            }
        }
        (!ways.is_empty()).then_some(ways)
    }

    /// What must be tested before a method is called: `Some(None)` if it does not fit, `None` if that cannot be tested.
    fn tests(&self, position: usize, given: &[Type]) -> Option<Option<Vec<(usize, Type)>>> {
        let function = self.module.functions().get(position)?;
        let taken: Vec<&Type> = match (function.body.argtypes.get(1..)?, function.varargs) {
            // What it collects, of which the type says how many there are.
            ([first @ .., Type::Tuple(rest)], true) if !rest.iter().any(|ty| !self.is_exact(ty)) => {
                first.iter().chain(rest.iter()).collect()
            }
            (_, true) => return Some(None),
            (taken, false) => taken.iter().collect(),
        };
        if taken.len() != given.len() {
            return Some(None);
        }
        let mut tests = Vec::new();
        for (index, (given, taken)) in given.iter().zip(taken).enumerate() {
            let (given, taken) = (&known_type(self.module, given), &known_type(self.module, taken));
            if given == taken {
                continue;
            }
            if !self.may_be(given, taken) {
                return Some(None);
            }
            if !self.is_exact(taken) {
                return None;
            }
            tests.push((index + 1, taken.clone()));
        }
        Some(Some(tests))
    }

    /// Whether values of a type may be of several types.
    fn is_open(&self, ty: &Type) -> bool {
        match ty {
            Type::Union(_) => true,
            // An abstract type, as the module declares the others.
            Type::Named(name) => !ty.is_known_value() && self.module.type_def(name).is_none(),
            ty => ty.is_unknown(),
        }
    }

    fn may_be(&self, given: &Type, taken: &Type) -> bool {
        match given {
            Type::Union(members) => members.iter().any(|member| member == taken || self.is_open(member)),
            given => self.is_open(given),
        }
    }

    /// Whether values of a type have no other, more exact one, and the run can ask for it.
    fn is_exact(&self, ty: &Type) -> bool {
        match ty {
            Type::Scalar(_) | Type::Nothing | Type::String | Type::Symbol | Type::Function(_) => true,
            Type::Array(array) => match &array.element {
                Type::Any => true,
                Type::Union(members) => members.iter().all(|member| self.is_exact(member)),
                element => self.is_exact(element),
            },
            Type::TypeOf(ty) => self.is_exact(ty),
            Type::Tuple(elements) => elements.iter().all(|element| self.is_exact(element)),
            Type::Named(name) => self.module.type_def(name).is_some() && !self.module.may_be_of_subclass(name),
            _ => false,
        }
    }
}

/// A type by which methods are told apart: what the compiler knows of a value beside its type makes no difference, but which function it is.
pub(crate) fn known_type(module: &Module<BBCode>, ty: &Type) -> Type {
    module.type_of_known_function(ty).unwrap_or_else(|| plain(ty))
}

fn plain(ty: &Type) -> Type {
    ty.widened().unwrap_or_else(|| ty.clone())
}

/// Puts tests and calls in the place of a call.
pub(crate) fn branch(bb: &mut BBCode, id: InstId, split: Split) -> Result<(), EditError> {
    let Split { operands, ways, rest: remaining, ty, line } = split;
    let (Some(mut test), Some(call)) = (bb.block_of(id), bb.stmt(id).cloned()) else { return Ok(()) };
    let written = |stmt: Stmt<Ids>, ty: Type| NewInstruction::new(stmt, ty).with_line(line);
    let rest = bb.split_block(id)?;
    // A block with nothing else ends with a goto.
    if let Some((goto, _)) = bb.terminator(test) {
        bb.remove_unchecked(goto)?;
    }
    let mut entries: Vec<(BlockId, Option<Operand<Ids>>)> = Vec::with_capacity(ways.len() + 1);
    let asked = ways.len() - usize::from(matches!(remaining, Rest::LastWay));
    for (index, Way { callee, tests, ty: own }) in ways.into_iter().enumerate() {
        let other = (index < asked).then(|| bb.push_block());
        let mut known = operands.clone();
        let tested: Vec<usize> = tests.iter().map(|(number, _)| *number).collect();
        for (number, of) in tests {
            let Some(operand) = operands.get(number) else { continue };
            if let Some(other) = other {
                let asked = Operand::Constant(Constant::of_type(of.clone()));
                let asks = Stmt::call(Operand::global("Core", "isa"), [operand.clone(), asked]);
                let is = bb.push(test, written(asks, Type::BOOL))?;
                bb.push(test, written(Stmt::goto_if_not(Operand::Value(is), other), Type::Any))?;
                let next = bb.push_block();
                bb.set_next(test, Some(next))?;
                test = next;
            }
            let narrowed = bb.push(test, written(Stmt::pi(operand.clone(), of.clone()), of))?;
            // Where the same value is passed twice, both are known.
            for (at, known) in known.iter_mut().enumerate() {
                if at == number || *known == *operand && !tested.contains(&at) {
                    *known = Operand::Value(narrowed);
                }
            }
        }
        let mut known = known.into_iter();
        let called = known.next().unwrap_or_else(Operand::nothing);
        let call = Stmt::call(callee.unwrap_or(called), known.collect::<Vec<_>>());
        let call = bb.push(test, written(call, own.unwrap_or_else(|| ty.clone())))?;
        bb.push(test, written(Stmt::goto(rest), Type::Any))?;
        entries.push((test, Some(Operand::Value(call))));
        test = other.unwrap_or(test);
    }
    let called = operands.into_iter().next().unwrap_or_else(Operand::nothing);
    let last = match remaining {
        Rest::LastWay => None,
        Rest::Call | Rest::FailingCall => Some(call),
        Rest::Fails => {
            let message = "none of the methods that are here takes what is passed to: ";
            let message = Operand::Constant(Constant::String(message.into()));
            Some(Stmt::call(Operand::global("Base", "error"), [message, called]))
        }
    };
    if let Some(last) = last {
        if matches!(remaining, Rest::Call) {
            let call = bb.push(test, written(last, ty.clone()))?;
            bb.push(test, written(Stmt::goto(rest), Type::Any))?;
            entries.push((test, Some(Operand::Value(call))));
        } else {
            bb.push(test, written(last, Type::Bottom))?;
            bb.push(test, written(Stmt::unreachable(), Type::Any))?;
            bb.set_next(test, None)?;
        }
    }
    let phi = bb.insert_at_start(rest, written(Stmt::phi(entries), ty))?;
    bb.replace(id, Stmt::Value(Operand::Value(phi)))?;
    Ok(())
}
