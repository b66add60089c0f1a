//! Finds the types that a listing does not show.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bbcode::{BBCode, BlockId, Ids, InstId};
use ircode::primitives::{Primitive, ResultType};
use ircode::{Callee, Function, Head, Instruction, Module, Operand, ScalarType, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::analyses::effects::field_type;
use crate::analyses::method_choice::{is_abstract, is_exact};
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "infer-types";

/// A type that changes more often than this is taken to be `Any`: types of values that nest in a loop grow for ever.
const MAX_CHANGES: u8 = 12;

/// Gives a type to every statement that has none, or `Any`, where it follows from the types of the operands, and where
/// it is one of which values are, also to those that have an abstract one, as `Real`. Types that are known stay; what
/// the compiler's lattice has in the place of a type becomes the type that it stands for. True if one was found.
///
/// It is optimistic: a φ gets the union of what its values are, and around a loop that starts with what comes in. A
/// value of which nothing follows is `Any` to what takes it, φs too. It takes time linear in the statements and their
/// operands, but for the order in which they are visited (Kildall 1973).
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let widened = widen(bb);
    let graph = bb.cfg();
    let order = graph.graph().postorder().into_iter().rev().filter_map(|block| graph.block(block));
    let open: Vec<InstId> = order
        .flat_map(|block| {
            bb.insts(block).filter(|(_, inst)| is_open(context.module, inst)).map(|(id, _)| id).collect::<Vec<_>>()
        })
        .collect();
    if open.is_empty() {
        return Ok(widened);
    }
    let declared: Vec<Type> = open.iter().map(|&id| bb.inst(id).map_or(Type::Any, |inst| inst.ty.clone())).collect();
    for &id in &open {
        set_type(bb, id, Type::Untyped);
    }
    let mut inference = Inference::new(bb, open, declared);
    for index in 0..inference.open.len() {
        inference.visit(bb, context.module, index);
    }
    inference.visit_all(bb, context.module);
    // Nothing follows of what is left, and what was found without it may be too narrow.
    let mut left = vec![false; inference.open.len()];
    for (index, left) in left.iter_mut().enumerate() {
        if let Some(&id) = inference.open.get(index)
            && bb.inst(id).is_some_and(|inst| inst.ty == Type::Untyped)
        {
            *left = true;
            inference.change(bb, context.module, index, id, Type::Any);
        }
    }
    inference.visit_all(bb, context.module);
    let mut found = widened;
    for ((&id, declared), left) in inference.open.iter().zip(&inference.declared).zip(left) {
        match bb.inst(id).map(|inst| inst.ty.clone()) {
            Some(Type::Any) if left => set_type(bb, id, declared.clone()),
            Some(ty) => found |= ty != *declared,
            None => {}
        }
    }
    Ok(found)
}

/// Of more combinations of the types of operands than these nothing is said.
const MOST_COMBINATIONS: usize = 16;

/// Types of more parts than these, written out, are not said.
const LARGEST: usize = 1 << 16;

/// Types that are being found.
struct Inference {
    /// The statements without types, or of abstract ones, in reverse postorder.
    open: Vec<InstId>,
    /// What the type of each was.
    declared: Vec<Type>,
    /// Which of these take the value of each, by position.
    users: Vec<Vec<u32>>,
    /// How often the type of each has changed.
    changes: Vec<u8>,
    /// Those of which operands have changed.
    work: BinaryHeap<Reverse<u32>>,
    is_waiting: Vec<bool>,
}

impl Inference {
    fn new(bb: &BBCode, open: Vec<InstId>, declared: Vec<Type>) -> Self {
        let mut positions: SecondaryMap<InstId, u32> = SecondaryMap::with_capacity(bb.inst_count());
        positions.extend(open.iter().copied().zip(0..));
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); open.len()];
        for (&id, position) in open.iter().zip(0..) {
            let Some(stmt) = bb.stmt(id) else { continue };
            stmt.for_each_operand(&mut |operand| {
                let of = operand.as_value().and_then(|value| positions.get(value));
                if let Some(users) = of.and_then(|&of| users.get_mut(of as usize)) {
                    users.push(position);
                }
            });
        }
        let count = open.len();
        Inference {
            open,
            declared,
            users,
            changes: vec![0; count],
            work: BinaryHeap::new(),
            is_waiting: vec![false; count],
        }
    }

    /// Visits what waits, until nothing does.
    fn visit_all(&mut self, bb: &mut BBCode, module: &Module<BBCode>) {
        while let Some(Reverse(position)) = self.work.pop() {
            self.visit(bb, module, position as usize);
        }
    }

    /// Finds the type of a statement from those of its operands.
    fn visit(&mut self, bb: &mut BBCode, module: &Module<BBCode>, position: usize) {
        if let Some(is_waiting) = self.is_waiting.get_mut(position) {
            *is_waiting = false;
        }
        let Some(&id) = self.open.get(position) else { return };
        let Some(inst) = bb.inst(id) else { return };
        let ty = match result_type(bb, module, inst) {
            Some(ty) if ty.is_larger_than(LARGEST) => Type::Any,
            Some(ty) => ty,
            // Operands that are known later may tell.
            None if inst.ty == Type::Untyped => return,
            None => Type::Any,
        };
        let ty = self.at_most(module, position, ty);
        if ty != inst.ty {
            self.change(bb, module, position, id, ty);
        }
    }

    /// The type found, or the abstract one that is declared if it is not below that.
    fn at_most(&self, module: &Module<BBCode>, position: usize, found: Type) -> Type {
        match self.declared.get(position) {
            Some(declared) if is_abstract(module, declared) && !is_nearer(module, &found, declared) => declared.clone(),
            _ => found,
        }
    }

    fn change(&mut self, bb: &mut BBCode, module: &Module<BBCode>, position: usize, id: InstId, ty: Type) {
        let Some(changes) = self.changes.get_mut(position).filter(|changes| **changes <= MAX_CHANGES) else { return };
        *changes += 1;
        let ty = if *changes > MAX_CHANGES { Type::Any } else { ty };
        set_type(bb, id, self.at_most(module, position, ty));
        for &user in self.users.get(position).into_iter().flatten() {
            if let Some(is_waiting) = self.is_waiting.get_mut(user as usize)
                && !std::mem::replace(is_waiting, true)
            {
                self.work.push(Reverse(user));
            }
        }
    }
}

/// Puts types in the place of elements of the compiler's lattice, and values in the place of globals that are constant.
fn widen(bb: &mut BBCode) -> bool {
    let elements: Vec<(InstId, Type)> =
        bb.all_insts().filter_map(|(id, inst)| Some((id, inst.ty.widened()?))).collect();
    for (id, ty) in &elements {
        if let Some(inst) = bb.inst_mut(*id)
            && let (Stmt::Value(Operand::Global(_)), Some(known)) = (&inst.stmt, inst.ty.known_value())
        {
            inst.stmt = Stmt::Value(known.into());
        }
        set_type(bb, *id, ty.clone());
    }
    !elements.is_empty()
}

/// Sets the types of arguments that are not known, and finds what follows from them: what a listing needs that is to be
/// run or differentiated. `types` are those of `_2` onwards. An argument that is declared to be of an abstract type, as
/// `Real`, is of the one that is given.
pub fn specialize(bb: &mut BBCode, context: &Context<'_>, types: &[Type]) -> PassResult {
    if bb.argtypes.is_empty() {
        bb.argtypes.push(Type::Untyped);
    }
    for (i, ty) in types.iter().enumerate() {
        match bb.argtypes.get_mut(i + 1) {
            Some(known) if known.is_unknown() || is_nearer(context.module, ty, known) => *known = ty.clone(),
            Some(_) => {}
            None => bb.argtypes.push(ty.clone()),
        }
    }
    let mut changed = crate::type_literals::run(bb, context)?;
    changed |= run(bb, context)?;
    changed |= crate::type_literals::run(bb, context)?;
    Ok(changed)
}

/// Whether a declared type is abstract, and a found one is below it, of which values are.
fn is_nearer(module: &Module<BBCode>, found: &Type, declared: &Type) -> bool {
    is_abstract(module, declared) && is_exact(module, found) && module.is_a(found, declared) == Some(true)
}

/// The type of what a function returns, as far as its return statements show.
pub fn returned_type(bb: &BBCode) -> Type {
    let reachable = bb.cfg();
    let live = reachable.reachable();
    let blocks = reachable.order().iter().zip(live).filter(|(_, live)| *live).map(|(&block, _)| block);
    let returned = blocks.filter_map(|block| match bb.terminator(block).map(|(_, inst)| &inst.stmt) {
        Some(Stmt::Return(ret)) => ret.value.as_ref().map(|value| bb.operand_type(value)),
        _ => None,
    });
    let types: Vec<Type> = returned.collect();
    if types.contains(&Type::Untyped) { Type::Untyped } else { Type::union(types) }
}

fn set_type(bb: &mut BBCode, id: InstId, ty: Type) {
    if let Some(inst) = bb.inst_mut(id) {
        inst.ty = ty;
    }
}

/// Whether the type of a statement is to be found.
fn is_open(module: &Module<BBCode>, inst: &Instruction<Ids>) -> bool {
    (inst.ty.is_unknown() || is_abstract(module, &inst.ty)) && !inst.stmt.is_terminator()
}

/// A statement that declares another number type than follows from its operands, itself or in a tuple or an array, or
/// that returns or passes on what is not of the type declared for it: one of the two is a float, so that a derivative
/// would be made, or not, of what is not there. With the type that is declared, and the one that follows.
pub fn misdeclared(function: &Function<BBCode>, module: &Module<BBCode>) -> Option<(InstId, Type, Type)> {
    let bb = &function.body;
    // Of code that is never reached nobody asks for the derivative, and passes may have put other constants there.
    let reached = OnceCell::new();
    let is_reached = |block: BlockId| {
        let graph = bb.cfg();
        let reached = reached.get_or_init(|| graph.reachable());
        graph.number(block).is_some_and(|index| reached.get(index) == Some(&true))
    };
    bb.blocks().find_map(|block| {
        bb.insts(block).find_map(|(id, inst)| {
            let found = match &inst.stmt {
                Stmt::Return(ret) => Some((function.result.clone(), bb.operand_type(ret.value.as_ref()?))),
                stmt if stmt.is_terminator() => None,
                // This is asked of every statement of what is differentiated: most are calls of primitives.
                stmt => match module.primitive_call(stmt) {
                    Some((primitive, args)) if !inst.ty.is_unknown() => {
                        Some((inst.ty.clone(), primitive_type(bb, module, primitive, args)?))
                    }
                    Some(_) => None,
                    None => match wrongly_passed(bb, module, stmt) {
                        None if !inst.ty.is_unknown() => Some((inst.ty.clone(), result_type(bb, module, inst)?)),
                        wrong => wrong,
                    },
                },
            };
            let found = found.filter(|(declared, gives)| contradicts(declared, gives) && is_reached(block));
            found.map(|(declared, gives)| (id, declared, gives))
        })
    })
}

/// Whether no value is of both types, for the numbers in them, of which one is a float.
fn contradicts(declared: &Type, found: &Type) -> bool {
    match (declared, found) {
        (Type::Union(members), found) => members.iter().all(|declared| contradicts(declared, found)),
        (declared, Type::Union(members)) => members.iter().all(|found| contradicts(declared, found)),
        // What is declared to be a number, and is none, has no derivative, nor would one be made.
        (declared, Type::Scalar(found)) if is_no_scalar(declared) => found.is_float(),
        (Type::Scalar(_), Type::Tuple(found)) => found.iter().any(is_float),
        (Type::Scalar(declared), Type::Scalar(found)) => declared != found && (declared.is_float() || found.is_float()),
        (Type::Tuple(declared), Type::Tuple(found)) => {
            declared.len() == found.len()
                && declared.iter().zip(found.iter()).any(|(declared, found)| contradicts(declared, found))
        }
        (Type::Array(declared), Type::Array(found)) => contradicts(&declared.element, &found.element),
        _ => false,
    }
}

fn is_float(ty: &Type) -> bool {
    ty.as_scalar().is_some_and(|ty| ty.is_float())
}

/// Whether no value of a type is a number, nor holds any. What arrays and tuples give for indices that are no numbers is
/// not known so well.
fn is_no_scalar(ty: &Type) -> bool {
    match ty {
        Type::Nothing | Type::String | Type::Symbol => true,
        Type::Named(name) => matches!(name.as_str(), "Missing" | "Base.Missing"),
        _ => false,
    }
}

/// The type of a parameter, and that of what a call of a function of the module passes for it, of which no value is of
/// both.
fn wrongly_passed(bb: &BBCode, module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<(Type, Type)> {
    let (_, args) = stmt.as_call()?;
    let Some(Callee::Function(target)) = module.called(stmt) else { return None };
    let target = module.functions().get(target)?;
    let own = target.body.argtypes.len().saturating_sub(usize::from(target.varargs));
    let parameters = target.body.argtypes.get(1..own)?;
    let mut passed = parameters.iter().zip(args).map(|(declared, arg)| (declared, bb.operand_type(arg)));
    let wrong = passed.find(|(declared, gives)| contradicts(declared, gives));
    wrong.map(|(declared, gives)| (declared.clone(), gives))
}

/// The type of a statement's result; `None` if it does not follow from what is known.
pub(crate) fn result_type(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<Type> {
    let known = |ty: Type| (ty != Type::Untyped).then_some(ty);
    // What takes the value of something that gives none is not reached.
    let mut is_reached = true;
    if !matches!(inst.stmt, Stmt::Phi(_) | Stmt::PhiC(_)) {
        inst.stmt.for_each_operand(&mut |operand| {
            is_reached &= !matches!(operand, Operand::Value(_)) || bb.operand_type(operand) != Type::Bottom;
        });
    }
    if !is_reached {
        return Some(Type::Bottom);
    }
    if let Some((primitive, args)) = module.primitive_call(&inst.stmt) {
        return primitive_type(bb, module, primitive, args);
    }
    match &inst.stmt {
        Stmt::Value(Operand::Global(global)) => match module.global_callee(global) {
            Callee::Function(index) => Some(Type::Function(module.functions().get(index)?.name.clone())),
            Callee::Primitive(primitive) => Some(Type::function(primitive.name)),
            Callee::Type(ty) => Some(Type::type_of(ty)),
            Callee::Unknown(_) => (global.name == "nothing").then_some(Type::Nothing),
        },
        Stmt::Value(operand) => known(bb.operand_type(operand)),
        Stmt::Phi(phi) => {
            let mut types = Vec::with_capacity(phi.entries.len());
            for value in phi.entries.iter().filter_map(|entry| entry.value.as_ref()) {
                match (value, bb.operand_type(value)) {
                    // Not known yet, or never computed.
                    (Operand::Value(_), Type::Untyped) => {}
                    (_, Type::Untyped) => return None,
                    (_, ty) => types.push(ty),
                }
            }
            (!types.is_empty()).then(|| Type::union(types))
        }
        Stmt::Pi(pi) => Some(pi.ty.clone()),
        Stmt::Call(call) => called_type(bb, module, &call.callee),
        Stmt::Invoke(invoke) => called_type(bb, module, &invoke.callee),
        Stmt::Expr(expr) => match expr.head {
            Head::New => module.named_type(expr.args.first()?),
            Head::Boundscheck | Head::IsDefined => Some(Type::BOOL),
            Head::ThrowUndefIfNot => Some(Type::Any),
            _ => None,
        },
        _ => None,
    }
}

/// The type of what a call gives, of a function or of a closure.
fn called_type(bb: &BBCode, module: &Module<BBCode>, callee: &Operand<Ids>) -> Option<Type> {
    match bb.operand_type(callee) {
        Type::Closure(closure) if !closure.result.is_unknown() => Some(closure.result.clone()),
        _ => callee_type(module, callee),
    }
}

fn callee_type(module: &Module<BBCode>, callee: &Operand<Ids>) -> Option<Type> {
    match module.callee(callee)? {
        Callee::Function(index) => {
            let result = module.functions().get(index)?.result.clone();
            (!result.is_unknown()).then_some(result)
        }
        Callee::Type(ty) => Some(ty),
        Callee::Primitive(_) | Callee::Unknown(_) => None,
    }
}

/// How many dimensions an array has that is made with these, each an operand or all in a tuple.
fn rank(bb: &BBCode, dims: &[Operand<Ids>]) -> Option<u32> {
    let rank = match dims {
        [dims] => match bb.operand_type(dims) {
            Type::Tuple(dims) => dims.len(),
            Type::Scalar(_) => 1,
            _ => return None,
        },
        dims => dims.len(),
    };
    u32::try_from(rank).ok()
}

fn primitive_type(bb: &BBCode, module: &Module<BBCode>, primitive: &Primitive, args: &[Operand<Ids>]) -> Option<Type> {
    let operand = |index: usize| args.get(index).map(|arg| bb.operand_type(arg)).filter(|ty| *ty != Type::Untyped);
    match primitive.result {
        ResultType::Operand(index) => operand(index),
        ResultType::Promoted
        | ResultType::Sum
        | ResultType::Float
        | ResultType::Power
        | ResultType::SignedAs(_)
        | ResultType::WithSign(_) => {
            let types: Vec<Type> = args.iter().map(|arg| bb.operand_type(arg)).collect();
            number_type(primitive.result, &types)
        }
        ResultType::Named => module.named_type(args.first()?),
        ResultType::Bool => Some(Type::BOOL),
        ResultType::Int64 => Some(Type::INT64),
        ResultType::Nothing => Some(Type::Nothing),
        ResultType::String => Some(Type::String),
        ResultType::Function => Some(Type::named("Function")),
        ResultType::Bottom => Some(Type::Bottom),
        ResultType::Tuple => {
            let types: Option<Vec<Type>> = (0..args.len()).map(operand).collect();
            types.map(Type::tuple)
        }
        ResultType::WithFlag => Some(Type::tuple([operand(0)?, Type::BOOL])),
        ResultType::Element(index) => element_type(&operand(index)?),
        ResultType::SumOfElements(index) => {
            let element = element_type(&operand(index)?)?;
            Some(element.as_scalar().map_or(element, |ty| ty.summed().into()))
        }
        ResultType::Stack => module.named_type(args.first()?).map(Type::stack),
        ResultType::Slot => module.named_type(args.first()?).map(Type::slot),
        ResultType::Closure => module.closure_type(args.first()?, args.len() - 1),
        ResultType::DifferentiableFunction => {
            let original = match operand(0) {
                Some(Type::Closure(original)) => original,
                _ => match module.closure_type(args.first()?, 0)? {
                    Type::Closure(original) => original,
                    _ => return None,
                },
            };
            Some(Type::DifferentiableFunction(original))
        }
        ResultType::Original => match operand(0)? {
            Type::DifferentiableFunction(original) => Some(Type::Closure(original)),
            _ => None,
        },
        ResultType::Captured => {
            let number = args.get(2)?.as_constant()?.as_scalar()?;
            let index = usize::try_from(number.to_i128()).ok()?.checked_sub(1)?;
            // How many there are, the closure's own type tells.
            let Type::Closure(closure) = operand(0)? else { return None };
            module.parameters_of(args.get(1)?)?.get(closure.parameters.len() + index).cloned()
        }
        ResultType::SlotElement => slot_element_type(module, &operand(0)?, args.get(1)?),
        ResultType::MemoryRef(index) => match operand(index)? {
            Type::Memory(element) | Type::MemoryRef(element) => Some(Type::MemoryRef(element)),
            _ => None,
        },
        ResultType::Vector(index) => Some(Type::array(element_type(&operand(index)?)?, 1)),
        ResultType::Matrix(index) => Some(Type::array(element_type(&operand(index)?)?, 2)),
        ResultType::ProductOfElements => {
            let elements = [element_type(&operand(0)?)?, element_type(&operand(1)?)?];
            number_type(ResultType::Promoted, &elements)
                .or_else(|| (elements[0] == elements[1]).then(|| elements[0].clone()))
        }
        ResultType::Product => product_type(&operand(0)?, &operand(1)?),
        ResultType::Filled => Some(Type::array(operand(0)?, rank(bb, args.get(1..)?)?)),
        ResultType::New => Some(Type::array(module.named_type(args.first()?)?, rank(bb, args.get(1..)?)?)),
        ResultType::Mapped => mapped_type(bb, module, args),
        ResultType::Field => field_type(module, &operand(0)?, args.get(1)?),
        ResultType::Branches => Some(Type::union([operand(1)?, operand(2)?])),
        ResultType::Unknown => match (primitive.name, args) {
            ("typeassert" | "assert_number", [_, ty]) => module.named_type(ty),
            _ => None,
        },
    }
}

/// The type of what arithmetic on numbers of these types gives. Where some are of several types, so may the result be;
/// on `nothing` it fails.
fn number_type(result: ResultType, types: &[Type]) -> Option<Type> {
    let mut combinations: Vec<Vec<ScalarType>> = vec![Vec::with_capacity(types.len())];
    for ty in types {
        match ty {
            Type::Scalar(ty) => combinations.iter_mut().for_each(|types| types.push(*ty)),
            Type::Union(members) => {
                let numbers: Vec<&Type> = members.iter().filter(|ty| **ty != Type::Nothing).collect();
                let numbers: Vec<ScalarType> = numbers.into_iter().map(Type::as_scalar).collect::<Option<_>>()?;
                let with = |number: &ScalarType| {
                    let longer = combinations.iter().cloned();
                    longer.map(|types| [types, vec![*number]].concat()).collect::<Vec<_>>()
                };
                combinations = numbers.iter().flat_map(with).collect();
            }
            _ => return None,
        }
        if combinations.is_empty() || combinations.len() > MOST_COMBINATIONS {
            return None;
        }
    }
    let results = combinations.iter().map(|types| result.of_numbers(types).map(Type::from));
    results.collect::<Option<Vec<_>>>().map(Type::union)
}

/// The type of what a call of a function or primitive with operands of these types gives, as far as it follows from the
/// types.
pub(crate) fn result_of_call(module: &Module<BBCode>, callee: &Operand<Ids>, types: &[Type]) -> Option<Type> {
    match module.callee(callee)? {
        Callee::Primitive(primitive) => match primitive.result {
            ResultType::Operand(index) => types.get(index).cloned(),
            ResultType::Bool => Some(Type::BOOL),
            ResultType::Int64 => Some(Type::INT64),
            ResultType::Tuple => Some(Type::tuple(types.iter().cloned())),
            result => number_type(result, types),
        },
        _ => callee_type(module, callee),
    }
}

/// The type of the array that a map gives.
fn mapped_type(bb: &BBCode, module: &Module<BBCode>, args: &[Operand<Ids>]) -> Option<Type> {
    let (callee, args) = args.split_first()?;
    let mut rank = None;
    let mut types = Vec::with_capacity(args.len());
    for arg in args {
        types.push(match bb.operand_type(arg) {
            Type::Array(array) => {
                rank = rank.or(Some(array.rank));
                array.element.clone()
            }
            ty => ty,
        });
    }
    // Where results are of several types, those that there are decide.
    let element = result_of_call(module, callee, &types).filter(|ty| !matches!(ty, Type::Union(_)))?;
    Some(Type::array(element, rank?))
}

/// The type of the product of two matrices or vectors.
pub(crate) fn product_type(a: &Type, b: &Type) -> Option<Type> {
    let (Type::Array(a), Type::Array(b)) = (a, b) else { return None };
    let rank = match (a.rank, b.rank) {
        (2, 1) => 1,
        (1 | 2, 2) => 2,
        _ => return None,
    };
    (a.element == b.element).then(|| Type::array(a.element.clone(), rank))
}

/// The type of the projection of a slot to the field that a constant names.
fn slot_element_type(module: &Module<BBCode>, slot: &Type, field: &Operand<Ids>) -> Option<Type> {
    let Type::Slot(of) = slot else { return None };
    module.immutable_field(of, field.as_constant()?).map(|(_, ty)| Type::slot(ty.clone()))
}

fn element_type(ty: &Type) -> Option<Type> {
    match ty {
        Type::Array(array) => Some(array.element.clone()),
        Type::Memory(element) | Type::MemoryRef(element) | Type::Ref(element) => Some((**element).clone()),
        Type::Stack(element) | Type::Slot(element) => Some((**element).clone()),
        _ => None,
    }
}
