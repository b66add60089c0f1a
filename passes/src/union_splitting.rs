//! Lets calls of which the run chooses the method, by the types of the arguments, choose it by branches, as Julia's
//! compiler does where there are few; and accesses to fields of values of several types.

use std::cell::OnceCell;

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::HashMap;
use ircode::primitives::Primitive;
use ircode::{
    Callee, Constant, Instruction, LineInfo, Module, Name, NewInstruction, Operand, Stmt, Type, arrays_may_have,
    field_position, method_of,
};

use crate::analyses::method_choice::{Choice, MOST, choices, is_exact, is_open, methods_named, only_choice};
use crate::differentiation::dispatch::{self, Candidate};
use crate::link_methods::{reads_itself, type_of};
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "union-splitting";

/// Turns calls of functions of which the module has methods, and calls of objects, into calls of these methods where
/// the types of the arguments or of the object are not known: `Core.isa` asks for the types of one method after the
/// other, the most specific one first, and the calls take what they are known to be then. So does `getfield` of what is
/// one of several tuples or structs. Where none fits it is an error when the program runs, as it was; what may be a
/// function that is called as a value stays such a call. True if there was such a call in the functions that it was run
/// on: in the one of this name, or in all.
///
/// The run can ask for types of which values have no other, more exact one; where it would have to ask for another
/// type, or the program does not tell which of two methods is more specific, the call stays as it is. So does that of a
/// primitive, but where there is a method for each combination of types, arithmetic on what is no number left aside,
/// which fails; or for a struct that is asked for elements: that is called without a question. What may be an array or
/// `nothing` has elements if it is an array.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let chosen: Vec<Name> = match function {
        Some(name) => vec![name.clone()],
        None => module.functions().iter().map(|function| function.name.clone()).collect(),
    };
    let splitter = Splitter { module, objects: Objects::of(module), candidates: OnceCell::new() };
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
            branch(bb, id, split).map_err(|error| PassError::because(NAME, &name, error).at(bb, id))?;
        }
    }
    Ok(changed)
}

/// The methods of objects, `(::T)(…)`.
#[derive(Default)]
struct Objects {
    /// The types of the objects, in the order of the module.
    types: Vec<Type>,
    /// The positions of the methods, by these.
    methods: HashMap<Type, Vec<usize>>,
}

impl Objects {
    fn of(module: &Module<BBCode>) -> Objects {
        let mut objects = Objects::default();
        let of_object = |name: &str| Some(Type::parse(method_of(name)?.strip_prefix("(::")?.strip_suffix(')')?));
        for (position, function) in module.functions().iter().enumerate() {
            if let Some(ty) = of_object(&function.name) {
                let methods = objects.methods.entry(ty.clone()).or_default();
                if methods.is_empty() {
                    objects.types.push(ty);
                }
                methods.push(position);
            }
        }
        objects
    }
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

impl Split {
    /// That of a call which has these ways, and this for the rest, if the last way asks for anything; `None` if there
    /// is no way.
    pub(crate) fn of(inst: &Instruction<Ids>, ways: Vec<Way>, rest: Rest) -> Option<Split> {
        let Stmt::Call(call) = &inst.stmt else { return None };
        let rest = if ways.last()?.tests.is_empty() { Rest::LastWay } else { rest };
        let operands = [&call.callee].into_iter().chain(&call.args).cloned().collect();
        Some(Split { operands, ways, rest, ty: inst.ty.clone(), line: inst.line })
    }
}

/// What is done where no method fits.
pub(crate) enum Rest {
    /// What the last way does: it need not be asked whether that fits.
    LastWay,
    /// The run fails, and nothing catches that: what is called there is not in the module.
    Fails,
    /// The call, which fails.
    FailingCall,
    /// The call: it may be of something else.
    Call,
    /// The run ends: of the primitive of this name, on what is left, no derivative is known.
    NoDerivative(Name),
}

/// A method, or what is called as it was, and the operands that must be of these types, by number.
#[derive(Clone)]
pub(crate) struct Way {
    pub callee: Option<Operand<Ids>>,
    pub tests: Vec<(usize, Type)>,
    /// What it gives, where that is known.
    pub ty: Option<Type>,
}

impl Way {
    /// A call of a method by its name.
    pub(crate) fn of_method(module: &Module<BBCode>, choice: Choice) -> Option<Way> {
        let name = &module.functions().get(choice.method)?.name;
        Some(Way { callee: Some(Operand::global("", name)), tests: behind_callee(choice.tests), ty: None })
    }
}

/// The types of the arguments where a way is taken.
fn asked_types<'t>(way: &'t Way, given: &'t [Type]) -> impl Iterator<Item = &'t Type> {
    given
        .iter()
        .enumerate()
        .map(|(index, ty)| way.tests.iter().find(|(number, _)| *number == index + 1).map_or(ty, |(_, asked)| asked))
}

struct Splitter<'a> {
    module: &'a Module<BBCode>,
    objects: Objects,
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
            return Split::of(inst, self.fields(&bb.operand_type(object), field)?, Rest::FailingCall);
        }
        let is_value = matches!(call.callee, Operand::Value(_) | Operand::Argument(_));
        let shown = || call.callee.as_constant().and_then(Constant::shown_object).map(|(ty, _)| ty);
        let given: Vec<Type> = call.args.iter().map(|arg| type_of(self.module, bb, arg)).collect();
        let (ways, rest) = if is_value {
            if self.module.callee(&call.callee).is_some() {
                return None;
            }
            let object = bb.operand_type(&call.callee);
            let known = self.module.dispatch_type(&object);
            if !is_open(self.module, &object) || !is_open(self.module, &known) {
                return self.methods_of_object(inst, &known, &given);
            }
            self.methods_of_values(&object, &given)?
        } else if let (None, Some(object)) = (primitive, shown()) {
            return self.methods_of_object(inst, &object, &given);
        } else {
            match primitive {
                Some((primitive, _)) => self.methods_beside(primitive, &given)?,
                None => (self.named_ways(self.methods_of(&inst.stmt)?, &given)?, Rest::Fails),
            }
        };
        Split::of(inst, ways, rest).filter(|split| split.ways.len() <= MOST)
    }

    /// The ways of a call of what may be one of several objects, and what is done with others.
    fn methods_of_values(&self, object: &Type, given: &[Type]) -> Option<(Vec<Way>, Rest)> {
        let mut ways = Vec::new();
        for ty in &self.objects.types {
            let may_be = match object {
                Type::Union(members) => members.iter().any(|member| member == ty || is_open(self.module, member)),
                _ => true,
            };
            if may_be && is_exact(self.module, ty) {
                ways.extend(self.methods_of_type(ty, given)?.into_iter().map(|choice| Way {
                    callee: None,
                    tests: [vec![(0, ty.clone())], behind_callee(choice.tests)].concat(),
                    ty: None,
                }));
            }
        }
        // What is no function has no other methods.
        let is_object = |ty: &Type| self.objects.methods.contains_key(ty) || is_exact_struct(self.module, ty);
        let is_one_of_them = matches!(object, Type::Union(members) if members.iter().all(is_object));
        if !ways.is_empty() && !is_one_of_them {
            let candidates = self.candidates.get_or_init(|| dispatch::candidates(self.module, &[], false));
            if candidates.iter().any(|candidate| candidate.takes(given.len())) {
                return Some((ways, Rest::Call));
            }
        }
        Some((ways, Rest::Fails))
    }

    /// The ways of a call of a primitive of which the module has methods, and what is done where none fits.
    fn methods_beside(&self, primitive: &Primitive, given: &[Type]) -> Option<(Vec<Way>, Rest)> {
        if let Some(method) = self.method_of_structs(primitive, given) {
            let way = Way { callee: Some(Operand::global("", method)), tests: Vec::new(), ty: None };
            return Some((vec![way], Rest::LastWay));
        }
        if let Some(ways) = self.arrays_or_nothing(primitive, given) {
            return Some((ways, Rest::FailingCall));
        }
        let combinations = self.combinations(given)?;
        let mut ways = self.named_ways(self.module.methods(primitive.name), given)?;
        // What is certainly no number is for methods only, of which the last takes all that is left.
        let is_for_methods = primitive.is_arithmetic() && given.iter().any(|ty| self.is_no_number(ty));
        if is_for_methods && ways.last().is_some_and(|last| last.tests.is_empty()) {
            return Some((ways, Rest::LastWay));
        }
        let is_asked = |way: &Way| {
            let asked = |at: usize| way.tests.iter().any(|(number, _)| *number == at + 1);
            given.iter().enumerate().all(|(at, ty)| !matches!(ty, Type::Union(_)) || asked(at))
        };
        // Each way is for one combination then, as none asks for what another does.
        if !ways.iter().all(is_asked) {
            return None;
        }
        // Arithmetic of numbers is the primitive, also where the module has methods for them.
        let mut ways_of_numbers = 0;
        if primitive.is_arithmetic() {
            for way in &mut ways {
                let types: Vec<&Type> = asked_types(way, given).collect();
                ways_of_numbers += usize::from(types.iter().all(|ty| self.may_be_number(ty)));
                if types.iter().all(|ty| matches!(ty, Type::Scalar(_))) {
                    way.callee = None;
                }
            }
        }
        if ways.len() == combinations {
            return Some((ways, Rest::Fails));
        }
        // What is a primitive for the rest stays one. Arithmetic is one for numbers only.
        let fails = primitive.is_arithmetic() && self.combinations_of_numbers(given) == ways_of_numbers;
        fails.then_some((ways, Rest::FailingCall))
    }

    /// The ways of a call of a primitive where what is asked for its elements is an array or `nothing`, which has none.
    /// The primitive is for arrays also where the module has methods for them.
    fn arrays_or_nothing(&self, primitive: &Primitive, given: &[Type]) -> Option<Vec<Way>> {
        let (Type::Union(members), others) = given.split_first().filter(|_| primitive.is_of_elements())? else {
            return None;
        };
        let (arrays, rest): (Vec<&Type>, Vec<&Type>) = members.iter().partition(|ty| matches!(ty, Type::Array(_)));
        let methods = self.module.methods(primitive.name).iter().copied();
        let of_nothing: Vec<Type> = [&Type::Nothing].into_iter().chain(others).cloned().collect();
        if rest != [&Type::Nothing] || !choices(self.module, methods, &of_nothing)?.is_empty() {
            return None;
        }
        let exact = arrays.iter().all(|array| is_exact(self.module, array));
        let way = |array: &Type| Way { callee: None, tests: vec![(1, array.clone())], ty: None };
        (exact && !arrays.is_empty()).then(|| arrays.into_iter().map(way).collect())
    }

    /// The ways of a call that is one of these methods.
    fn named_ways(&self, methods: &[usize], given: &[Type]) -> Option<Vec<Way>> {
        let chosen = choices(self.module, methods.iter().copied(), given)?.into_iter();
        chosen.map(|choice| Way::of_method(self.module, choice)).collect()
    }

    /// The methods of objects of a type that may take such arguments.
    fn methods_of_type(&self, object: &Type, given: &[Type]) -> Option<Vec<Choice>> {
        choices(self.module, self.objects.methods.get(object).into_iter().flatten().copied(), given)
    }

    /// The method that a call of a primitive is where what is asked for its elements is no array, but a struct of the
    /// module.
    fn method_of_structs(&self, primitive: &Primitive, given: &[Type]) -> Option<&Name> {
        let of = given.first().filter(|_| primitive.is_of_elements())?;
        self.module.struct_fields(of).filter(|_| is_exact(self.module, of))?;
        let method = only_choice(self.module, self.module.methods(primitive.name).iter().copied(), given)?;
        Some(&self.module.functions().get(method)?.name)
    }

    /// What becomes of a call of an object of this type, if the types of the arguments decide which of its methods that
    /// is.
    fn methods_of_object(&self, inst: &Instruction<Ids>, object: &Type, given: &[Type]) -> Option<Split> {
        // What holds nothing is not looked at by its methods.
        let holds_nothing = self.module.struct_fields(object).is_none_or(|fields| fields.is_empty());
        let mut ways = Vec::new();
        for choice in self.methods_of_type(object, given)? {
            let method = self.module.functions().get(choice.method)?;
            let callee = (holds_nothing || !reads_itself(&method.body)).then(|| Operand::global("", &method.name));
            ways.push(Way { callee, tests: behind_callee(choice.tests), ty: None });
        }
        if ways.first()?.tests.is_empty() {
            return None;
        }
        Split::of(inst, ways, Rest::Fails)
    }

    /// The methods of a function that is called by its name.
    fn methods_of(&self, stmt: &Stmt<Ids>) -> Option<&[usize]> {
        let Some(Callee::Unknown(path)) = self.module.called(stmt) else { return None };
        methods_named(self.module, &path)
    }

    /// Of how many combinations of types arguments may be, if some may be of several, all of which the run can ask for.
    fn combinations(&self, given: &[Type]) -> Option<usize> {
        let mut combinations: usize = 1;
        for ty in given {
            if let Type::Union(members) = ty {
                combinations = combinations.checked_mul(members.len())?;
                if combinations > MOST || !members.iter().all(|member| is_exact(self.module, member)) {
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

    /// Whether values of a type are certainly arrays or structs.
    fn is_no_number(&self, ty: &Type) -> bool {
        match ty {
            Type::Union(members) => members.iter().all(|member| self.is_no_number(member)),
            Type::Array(_) => true,
            ty => self.module.struct_fields(ty).is_some(),
        }
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
        if members.len() > MOST || !members.iter().all(|member| is_exact(self.module, member)) {
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
}

/// Whether a type is that of a struct, which is exact.
fn is_exact_struct(module: &Module<BBCode>, ty: &Type) -> bool {
    module.struct_fields(ty).is_some() && is_exact(module, ty)
}

/// Tests of arguments as those of operands, of which the first is what is called.
fn behind_callee(tests: Vec<(usize, Type)>) -> Vec<(usize, Type)> {
    tests.into_iter().map(|(at, ty)| (at + 1, ty)).collect()
}

/// Puts tests and calls in the place of a call.
pub(crate) fn branch(bb: &mut BBCode, id: InstId, split: Split) -> Result<(), EditError> {
    let Split { operands, ways, rest: remaining, ty, line } = split;
    let Some(call) = bb.stmt(id).cloned() else { return Ok(()) };
    let written = |stmt: Stmt<Ids>, ty: Type| NewInstruction::new(stmt, ty).with_line(line);
    let (mut test, rest) = bb.cut_block(id)?;
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
    let mut arguments = operands.into_iter();
    let called = arguments.next().unwrap_or_else(Operand::nothing);
    let last = match remaining {
        Rest::LastWay => None,
        Rest::Call | Rest::FailingCall => Some(call),
        Rest::Fails => Some(Stmt::call(Operand::global("BBKit", "no_method"), [called])),
        Rest::NoDerivative(ref primitive) => {
            let primitive = Operand::Constant(Constant::String(primitive.as_str().into()));
            let operands = [primitive].into_iter().chain(arguments);
            Some(Stmt::call(Operand::global("BBKit", "no_derivative"), operands.collect::<Vec<_>>()))
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
