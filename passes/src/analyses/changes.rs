//! What functions may change of what they are given, and of global constants.
//!
//! Where arguments and constants go is followed through values and calls, without telling the parts of a value apart,
//! but for a field that is taken from a value of which the function shows how it is made. Where only what is seen
//! counts, what is put in objects is followed there; elsewhere it counts as changed.

use std::collections::{BTreeSet, VecDeque};

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::primitives::{Primitive, ResultType, Transfer};
use ircode::{CallGraph, Callee, Head, Module, Operand, Stmt, Type, TypeKind};
use slotmap::SecondaryMap;

use crate::differentiation::preparation::part_index;
use crate::link_methods::{function_called, type_of};

/// Primitives that give a new object, of which no operand is a part.
const NEW: &[&str] = &["similar", "zero_tangent"];

/// Primitives that give a new object that holds what the first operand holds.
const COPIES: &[&str] = &["copy", "jl_array_copy", "snapshot"];

/// Others that give a new array of what their operands hold.
const GATHER: &[&str] = &["vcat", "permutedims", "slice"];

/// Primitives that give an operand, or a part of one.
const PASS_ON: &[&str] = &[
    "tuple",
    "getfield",
    "getproperty",
    "typeassert",
    "assert_number",
    "identity",
    "ifelse",
    "arrayset",
    "memoryref",
    "memoryrefget",
    "memoryrefnew",
    "reshape",
    "jl_reshape_array",
    "vec",
    "new_case",
    "payload",
    "splat_tuple",
];

/// Where a value may come from: arguments, as bits, those from the 64th on as one, or a global constant, by its
/// position.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Origins {
    /// The arguments that it may be, or be a part of.
    arguments: u64,
    /// The arguments that were put in it. What is taken out of it may be something else.
    held: u64,
    global: Option<usize>,
}

impl Origins {
    fn or(self, other: Origins) -> Origins {
        Origins {
            arguments: self.arguments | other.arguments,
            held: self.held | other.held,
            // The least, so that it does not matter what is met first.
            global: self.global.into_iter().chain(other.global).min(),
        }
    }

    fn argument(index: usize) -> Origins {
        Origins { arguments: bit(index), ..Origins::default() }
    }

    /// Of a part of this value.
    fn part(self) -> Origins {
        Origins { held: 0, ..self }
    }

    /// Of a new object in which this value is put.
    fn put(self) -> Origins {
        Origins { arguments: 0, held: self.arguments | self.held, global: None }
    }
}

/// The operand that a primitive changes which changes one, from 0 on.
fn changed_operand(primitive: &Primitive) -> usize {
    match primitive.transfer {
        Transfer::Store { object, .. } => object,
        _ => 0,
    }
}

fn bit(argument: usize) -> u64 {
    1 << argument.min(63)
}

/// What a function does with its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Summary {
    /// Those that it may change, or something in them.
    changed: u64,
    /// Those that it may put in something that it was given.
    put: u64,
    /// What its result may be, or be in.
    result: Origins,
}

impl Summary {
    /// Whether it may change the argument at this position, where that of `_2` is 1, or something in it.
    pub(super) fn changes(&self, argument: usize) -> bool {
        self.changed & bit(argument) != 0
    }

    /// Whether its result may be, or be in, that argument, or something in it.
    pub(super) fn gives_back(&self, argument: usize) -> bool {
        (self.result.arguments | self.result.held) & bit(argument) != 0
    }
}

/// Adds to what is known of a value; whether that says more.
fn add(known: &mut SecondaryMap<InstId, Origins>, id: InstId, of: Origins) -> bool {
    let before = known.get(id).copied().unwrap_or_default();
    let all = before.or(of);
    if all != before {
        known.insert(id, all);
    }
    all != before
}

/// What counts as a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counts {
    /// Whatever may be one: what is called and not known may do anything, and what is put in an object may be changed
    /// there.
    Anything,
    /// What is seen to change an object, whatever is put there. What is called and not known changes nothing, and gives
    /// something new.
    WhatIsSeen,
}

/// A place where a global constant may be changed.
pub(super) struct Change {
    pub(super) function: usize,
    pub(super) statement: InstId,
    pub(super) constant: usize,
}

/// What the functions at these positions and those that they call do, by position, or, where anything counts, the first
/// place that is found where a global constant may be changed.
pub(super) fn summaries(
    module: &Module<BBCode>,
    roots: &[usize],
    counts: Counts,
) -> Result<HashMap<usize, Summary>, Change> {
    let returning = reached(module, roots, false);
    // What fails is the end, unless something catches it that has called it.
    let catches = |position: &usize| {
        let function = module.functions().get(*position);
        function.is_some_and(|function| function.body.has_handlers())
    };
    let catching: Vec<usize> = returning.iter().copied().filter(catches).collect();
    let all_caught = reached(module, &catching, true);
    let caught: HashSet<usize> = all_caught.iter().copied().collect();
    let reached: Vec<usize> =
        returning.iter().copied().filter(|position| !caught.contains(position)).chain(all_caught).collect();
    let mut summaries: HashMap<usize, Summary> = reached.iter().map(|&at| (at, Summary::default())).collect();
    let callers = callers(module, &reached);
    // Those that are called come first, and a caller again when more is known of one of them.
    let order = CallGraph::new(module).bottom_up().concat();
    let ranks: HashMap<usize, usize> = order.iter().enumerate().map(|(rank, &position)| (position, rank)).collect();
    let mut work: BTreeSet<usize> = reached.iter().filter_map(|position| ranks.get(position)).copied().collect();
    while let Some(&position) = work.pop_first().and_then(|rank| order.get(rank)) {
        let Some(function) = module.functions().get(position) else { continue };
        let (summary, change) =
            Flow { module, bb: &function.body, may_fail: caught.contains(&position), counts, summaries: &summaries }
                .summary();
        if let (Some((statement, constant)), Counts::Anything) = (change, counts) {
            return Err(Change { function: position, statement, constant });
        }
        if summaries.insert(position, summary) != Some(summary) {
            work.extend(callers.get(&position).into_iter().flatten().filter_map(|caller| ranks.get(caller)));
        }
    }
    Ok(summaries)
}

/// Which of these functions call each of them.
fn callers(module: &Module<BBCode>, reached: &[usize]) -> HashMap<usize, Vec<usize>> {
    let mut callers: HashMap<usize, Vec<usize>> = HashMap::new();
    for &position in reached {
        let Some(function) = module.functions().get(position) else { continue };
        for callee in function.body.all_insts().filter_map(|(_, inst)| Some(called(module, &inst.stmt)?.0)) {
            let callers = callers.entry(callee).or_default();
            if callers.last() != Some(&position) {
                callers.push(position);
            }
        }
    }
    callers
}

/// These functions and those that they call, directly or not; also by calls that are known not to return, if these
/// count.
fn reached(module: &Module<BBCode>, roots: &[usize], may_fail: bool) -> Vec<usize> {
    let mut reached: Vec<usize> = Vec::new();
    let mut seen = vec![false; module.functions().len()];
    let mut work = roots.to_vec();
    while let Some(position) = work.pop() {
        let (Some(seen), Some(function)) = (seen.get_mut(position), module.functions().get(position)) else { continue };
        if !std::mem::replace(seen, true) {
            reached.push(position);
            let insts = function.body.all_insts().filter(|(_, inst)| may_fail || inst.ty != Type::Bottom);
            work.extend(insts.filter_map(|(_, inst)| Some(called(module, &inst.stmt)?.0)));
        }
    }
    reached
}

/// The function that a statement calls, and the arguments from `_2` on.
pub(super) fn called<'s>(module: &Module<BBCode>, stmt: &'s Stmt<Ids>) -> Option<(usize, &'s [Operand<Ids>])> {
    let (_, args) = stmt.as_call()?;
    Some((function_called(module, stmt)?, args))
}

struct Flow<'a> {
    module: &'a Module<BBCode>,
    bb: &'a BBCode,
    /// Whether it matters what calls do that do not return.
    may_fail: bool,
    counts: Counts,
    summaries: &'a HashMap<usize, Summary>,
}

impl Flow<'_> {
    /// What the function does, as far as that is known of those that it calls, and the first place where it may change
    /// a global constant.
    fn summary(&self) -> (Summary, Option<(InstId, usize)>) {
        let mut origins: SecondaryMap<InstId, Origins> = SecondaryMap::with_capacity(self.bb.inst_count());
        let (mut summary, mut change) = (Summary::default(), None);
        // A statement is looked at again when more is known of what it gives or uses.
        let mut work: VecDeque<InstId> = self.bb.all_insts().map(|(id, _)| id).collect();
        let mut waits: SecondaryMap<InstId, ()> = work.iter().map(|&id| (id, ())).collect();
        let mut changed: Vec<InstId> = Vec::new();
        while let Some(id) = work.pop_front() {
            waits.remove(id);
            let Some(inst) = self.bb.inst(id) else { continue };
            if may_hold_array(self.module, &inst.ty) {
                let of = self.result(&inst.stmt, &origins);
                if add(&mut origins, id, of) {
                    changed.push(id);
                }
            }
            if self.counts == Counts::WhatIsSeen {
                for (into, of) in self.put(id, &inst.stmt, &origins) {
                    match into {
                        Operand::Value(into) if add(&mut origins, into, of) => changed.push(into),
                        Operand::Argument(argument) => summary.put |= of.held & !argument.index().map_or(0, bit),
                        _ => {}
                    }
                }
            }
            for value in changed.drain(..) {
                for next in [vec![value], self.bb.users(value)].concat() {
                    if waits.insert(next, ()).is_none() {
                        work.push_back(next);
                    }
                }
            }
        }
        for (id, inst) in self.bb.all_insts().filter(|(_, inst)| self.may_fail || inst.ty != Type::Bottom) {
            let changed = self.changed(&inst.stmt, &origins);
            summary.changed |= changed.arguments;
            change = change.or(changed.global.map(|constant| (id, constant)));
            if let Stmt::Return(result) = &inst.stmt
                && let Some(value) = &result.value
            {
                summary.result = summary.result.or(self.origin(value, &origins));
            }
        }
        (summary, change)
    }

    /// What a statement puts in values and arguments, itself or as it gives them, or a part of them, and something is
    /// put in that.
    fn put(
        &self,
        id: InstId,
        stmt: &Stmt<Ids>,
        origins: &SecondaryMap<InstId, Origins>,
    ) -> Vec<(Operand<Ids>, Origins)> {
        let held = Origins { held: origins.get(id).map_or(0, |origins| origins.held), ..Origins::default() };
        let mut found: Vec<(Operand<Ids>, Origins)> = Vec::new();
        if let Some((primitive, args)) = self.module.primitive_call(stmt)
            && primitive.effects.writes
        {
            if let ResultType::Operand(given) = primitive.result {
                found.extend(args.get(given).map(|given| (given.clone(), held)));
            }
            let copied = |value: &&Operand<Ids>| {
                matches!(primitive.name, "copyto!" | "slot_copy!") && self.shares_contents(Some(value))
            };
            let (object, values) = match primitive.transfer {
                Transfer::Store { object, value } => (args.get(object), self.all(args.get(value), origins)),
                _ => (args.first(), self.all(args.iter().skip(1).filter(copied), origins)),
            };
            found.extend(object.map(|object| (object.clone(), values.put())));
        } else if let Some((callee, args)) = called(self.module, stmt) {
            let summary = self.summaries.get(&callee).copied().unwrap_or_default();
            let kept = self.passed(stmt, args, summary.put, origins).put().or(held);
            found.extend(args.iter().map(|arg| (arg.clone(), kept)));
        } else if self.passes_on(stmt) {
            let taken = self.module.primitive_call(stmt).filter(|(primitive, _)| primitive.name == "getfield");
            match taken.and_then(|(_, args)| self.field(args)) {
                Some(field) => found.push((field.clone(), held)),
                None => stmt.for_each_operand(&mut |operand| found.push((operand.clone(), held))),
            }
        }
        found.retain(|(into, of)| of.held != 0 && self.may_hold_objects(into));
        found
    }

    /// Whether what can be changed may be put in the value of an operand.
    fn may_hold_objects(&self, operand: &Operand<Ids>) -> bool {
        match type_of(self.module, self.bb, operand) {
            Type::Array(array) => may_hold_array(self.module, &array.element),
            Type::Ref(element) | Type::Memory(element) | Type::MemoryRef(element) | Type::Stack(element) => {
                may_hold_array(self.module, &element)
            }
            ty => may_hold_array(self.module, &ty),
        }
    }

    fn origin(&self, operand: &Operand<Ids>, origins: &SecondaryMap<InstId, Origins>) -> Origins {
        match operand {
            Operand::Value(value) => origins.get(*value).copied().unwrap_or_default(),
            Operand::Argument(argument) => match argument.index() {
                Some(index) if self.bb.argtypes.get(index).is_none_or(|ty| may_hold_array(self.module, ty)) => {
                    Origins::argument(index)
                }
                _ => Origins::default(),
            },
            Operand::Global(global) => {
                let constant = self.module.global_constant(global);
                let declared = constant.and_then(|constant| self.module.global_constants().get(constant));
                let holds = declared.is_some_and(|declared| may_hold_array(self.module, declared.ty()));
                Origins { global: constant.filter(|_| holds), ..Origins::default() }
            }
            _ => Origins::default(),
        }
    }

    fn all<'o>(
        &self,
        operands: impl IntoIterator<Item = &'o Operand<Ids>>,
        origins: &SecondaryMap<InstId, Origins>,
    ) -> Origins {
        operands.into_iter().fold(Origins::default(), |all, operand| all.or(self.origin(operand, origins)))
    }

    fn operands(&self, stmt: &Stmt<Ids>, origins: &SecondaryMap<InstId, Origins>) -> Origins {
        let mut all = Origins::default();
        stmt.for_each_operand(&mut |operand| all = all.or(self.origin(operand, origins)));
        all
    }

    /// Where the arguments of a call come from of which these are some, `_1` first.
    fn passed(
        &self,
        stmt: &Stmt<Ids>,
        args: &[Operand<Ids>],
        numbers: u64,
        origins: &SecondaryMap<InstId, Origins>,
    ) -> Origins {
        let callee = stmt.as_call().map(|(callee, _)| callee);
        let callee = callee.filter(|callee| self.module.callee(callee).is_none() && numbers & 1 == 1);
        let args = args.iter().enumerate().filter(|(index, _)| numbers & bit(index + 1) != 0);
        self.all(callee.into_iter().chain(args.map(|(_, arg)| arg)), origins)
    }

    /// What the value of a statement may be, or be in.
    fn result(&self, stmt: &Stmt<Ids>, origins: &SecondaryMap<InstId, Origins>) -> Origins {
        let seen = self.counts == Counts::WhatIsSeen;
        if seen && !self.passes_on(stmt) {
            return if self.puts_in_new(stmt) { self.operands(stmt, origins).put() } else { Origins::default() };
        }
        if let Some((primitive, args)) = self.module.primitive_call(stmt) {
            return match primitive.name {
                name if NEW.contains(&name) => Origins::default(),
                name if COPIES.contains(&name) && !self.shares_contents(args.first()) => Origins::default(),
                "fill" => self.all(args.first(), origins),
                "getfield" => match self.field(args) {
                    Some(field) => self.origin(field, origins),
                    None => self.all(args.first(), origins).part(),
                },
                _ => match (primitive.transfer, primitive.result) {
                    (Transfer::Load { object }, _) => self.all(args.get(object), origins).part(),
                    (_, ResultType::Operand(operand)) if seen => self.all(args.get(operand), origins),
                    _ => self.all(args, origins),
                },
            };
        }
        match called(self.module, stmt) {
            Some((callee, args)) => {
                let result = self.summaries.get(&callee).copied().unwrap_or_default().result;
                let given_back = self.passed(stmt, args, result.arguments, origins);
                let held = self.passed(stmt, args, result.held, origins).put();
                given_back.or(held).or(Origins { global: result.global, ..Origins::default() })
            }
            None => self.operands(stmt, origins),
        }
    }

    /// Whether a statement is seen to give what it is given, or a part of it, and nothing new.
    fn passes_on(&self, stmt: &Stmt<Ids>) -> bool {
        if let Some((primitive, args)) = self.module.primitive_call(stmt) {
            return match primitive.name {
                "getindex" | "arrayref" | "const_arrayref" => {
                    self.shares_contents(args.iter().find(|arg| !matches!(self.bb.operand_type(arg), Type::Scalar(_))))
                }
                name => PASS_ON.contains(&name) || name.ends_with('!'),
            };
        }
        match stmt {
            Stmt::Expr(expr) => {
                let is_ref = expr
                    .args
                    .first()
                    .and_then(|ty| self.module.named_type(ty))
                    .is_some_and(|ty| matches!(ty, Type::Ref(_)));
                expr.head == Head::New && !is_ref && !self.makes_object(&expr.args)
            }
            Stmt::Call(_) | Stmt::Invoke(_) => called(self.module, stmt).is_some(),
            _ => true,
        }
    }

    /// Whether a statement makes a new object of which what it is given is a part.
    fn puts_in_new(&self, stmt: &Stmt<Ids>) -> bool {
        match (self.module.primitive_call(stmt), stmt) {
            (Some((primitive, args)), _) => {
                let gathers = COPIES.contains(&primitive.name) || GATHER.contains(&primitive.name);
                primitive.name == "fill" || gathers && self.shares_contents(args.first())
            }
            (None, Stmt::Expr(expr)) => expr.head == Head::New,
            _ => false,
        }
    }

    /// What the function shows to be the field of a tuple or an immutable struct.
    fn field(&self, args: &[Operand<Ids>]) -> Option<&Operand<Ids>> {
        let [object, field, ..] = args else { return None };
        let index = part_index(field.as_constant()?.as_scalar()?)?;
        let made = self.bb.stmt(object.as_value()?)?;
        let fields = match (self.module.primitive_call(made), made) {
            (Some((primitive, fields)), _) if primitive.name == "tuple" => fields,
            (None, Stmt::Expr(expr)) if expr.head == Head::New => expr.args.get(1..)?,
            _ => return None,
        };
        fields.get(index)
    }

    /// What a statement may change, or put in an object.
    fn changed(&self, stmt: &Stmt<Ids>, origins: &SecondaryMap<InstId, Origins>) -> Origins {
        if let Some((primitive, args)) = self.module.primitive_call(stmt) {
            if !primitive.effects.writes || primitive.result == ResultType::Bottom {
                return Origins::default();
            }
            return match primitive.name {
                "print" | "println" => Origins::default(),
                // What they call is not seen.
                "map" | "broadcast" if self.counts == Counts::WhatIsSeen || self.calls_harmless(args) => {
                    Origins::default()
                }
                // Derivatives do not depend on what has no tangent, such as a counter.
                "setfield!" | "setproperty!" | "arrayset" | "setindex!"
                    if self.counts == Counts::Anything && self.sets_no_tangent(primitive.name, args) =>
                {
                    Origins::default()
                }
                // What these call, and what a host does, may change any operand.
                "map" | "broadcast" => self.all(args, origins),
                name if self.counts == Counts::Anything && self.module.is_registered(name) => self.all(args, origins),
                // The object, and what is put in it, if anything is.
                _ => {
                    let object = changed_operand(primitive);
                    let puts = self.counts == Counts::Anything && self.shares_contents(args.get(object));
                    self.all(args.iter().skip(object).take(if puts { 3 } else { 1 }), origins)
                }
            };
        }
        if let Some((callee, args)) = called(self.module, stmt) {
            let changed = self.summaries.get(&callee).copied().unwrap_or_default().changed;
            return self.passed(stmt, args, changed, origins);
        }
        match stmt {
            _ if self.counts == Counts::WhatIsSeen => Origins::default(),
            // What nobody knows may do anything with its operands; where it is known not to return, that is not seen
            // any more.
            Stmt::Call(_) | Stmt::Invoke(_) => match self.module.called(stmt) {
                Some(Callee::Type(_)) => Origins::default(),
                // It is an error.
                Some(Callee::Unknown(path)) if self.module.methods(&path).is_empty() => Origins::default(),
                _ => self.operands(stmt, origins),
            },
            Stmt::Expr(expr) => match expr.head {
                Head::New if !self.makes_object(&expr.args) => Origins::default(),
                Head::New | Head::Foreigncall => self.operands(stmt, origins),
                _ => Origins::default(),
            },
            _ => Origins::default(),
        }
    }

    /// Whether what this object holds may be changed where a copy of the object holds it, too.
    fn shares_contents(&self, object: Option<&Operand<Ids>>) -> bool {
        let held = match object.map(|object| type_of(self.module, self.bb, object)) {
            Some(Type::Array(array)) => array.element.clone(),
            Some(Type::Ref(element) | Type::Memory(element) | Type::Stack(element)) => (*element).clone(),
            _ => return true,
        };
        may_hold_array(self.module, &held)
    }

    /// Whether what is called with elements is a primitive that changes nothing.
    fn calls_harmless(&self, args: &[Operand<Ids>]) -> bool {
        let called = args.first().and_then(|called| self.module.callee(called));
        matches!(called, Some(Callee::Primitive(primitive)) if !primitive.effects.writes)
    }

    /// Whether what is put in an object is an integer or the like, and stays one.
    fn sets_no_tangent(&self, name: &str, args: &[Operand<Ids>]) -> bool {
        let position = if name == "setindex!" { 1 } else { 2 };
        let ty = args.get(position).map(|value| self.bb.operand_type(value));
        let becomes_float = || {
            // Arrays convert what is assigned to their elements.
            let object = args.first().filter(|_| name == "setindex!").map(|array| type_of(self.module, self.bb, array));
            matches!(object, Some(Type::Array(array)) if matches!(array.element, Type::Scalar(scalar) if scalar.is_float()))
        };
        ty.is_some_and(|ty| matches!(ty, Type::Scalar(scalar) if !scalar.is_float())) && !becomes_float()
    }

    /// Whether `%new` makes something that can be changed.
    fn makes_object(&self, args: &[Operand<Ids>]) -> bool {
        let Some(ty) = args.first().and_then(|ty| self.module.named_type(ty)) else {
            return true;
        };
        let Type::Named(name) = ty else { return false };
        !matches!(self.module.type_def(&name).map(|def| &def.kind), Some(TypeKind::Struct { mutable: false, .. }))
    }
}

/// Structs in structs are looked into so deep.
const DEEPEST: usize = 8;

/// Whether a value of this type may be or hold what can be changed: an array, or an object.
fn may_hold_array(module: &Module<BBCode>, ty: &Type) -> bool {
    may_hold_array_within(module, ty, DEEPEST)
}

fn may_hold_array_within(module: &Module<BBCode>, ty: &Type, deepest: usize) -> bool {
    match ty {
        Type::Scalar(_) | Type::Nothing | Type::Bottom | Type::String | Type::Symbol => false,
        Type::Function(_) | Type::TypeOf(_) => false,
        Type::Union(members) => members.iter().any(|member| may_hold_array_within(module, member, deepest)),
        ty => match (module.immutable_fields(ty), deepest.checked_sub(1)) {
            (Some(fields), Some(deepest)) => {
                fields.iter().any(|(_, field)| may_hold_array_within(module, field, deepest))
            }
            _ => true,
        },
    }
}
