//! Takes tuples, structs and enums apart.

mod objects;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Constant, Instruction, Module, NewInstruction, Operand, PhiEntry, Scalar, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::manager::Context;
use crate::replace::Replacements;
use objects::{Object, Objects, Part};

/// The pass's name on the command line.
pub const NAME: &str = "scalar-replacement";

/// How often the program is gone over: objects in objects come out one layer at a time.
const LAYERS: usize = 8;

/// Replaces tuples, immutable structs and enums by their parts where they are taken apart. True if there was one.
///
/// A `getfield`, `is_case` or `payload` of an object that was just made is what it was made from, whatever else becomes
/// of the object. A φ of objects becomes φs of those of their parts that are asked for, if all that happens to it is
/// being taken apart, or going into other such φs, around loops too. For an enum one of the parts is its case: a `Bool`
/// if there are two, else a number; where a case has no such payload, the φ is undefined. Objects that nobody uses any
/// more are removed.
///
/// What stays: objects that come from elsewhere (arguments, memory, calls); a φ that is returned, stored or given to a
/// call; a `payload` of a φ that is not seen to be of that case, as it would throw — seen is what all objects are that
/// go into the φ, and what an `is_case` of the same φ found that a goto-if-not on the way there asked; objects of more
/// than 64 parts; what is copied before it is taken apart, as `copy-propagation` removes copies. Mutable structs and
/// references stay too: what is stored in them can be seen through other names.
///
/// In the manner of Muchnick, *Advanced Compiler Design and Implementation* (1997), 12.2, on SSA form, where aggregates
/// in φs are looked at optimistically: each is taken to be one that can be taken apart until something shows that it is
/// not. It takes time linear in the function and in the φs that are made, at most 64 for one.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut changed = bb.remove_unreachable_blocks();
    for _ in 0..LAYERS {
        let layer = replace_layer(bb, context.module);
        changed |= layer.changed;
        if !layer.shows_more {
            break;
        }
    }
    Ok(changed)
}

/// What came of taking objects apart once.
#[derive(Default)]
struct Layer {
    changed: bool,
    /// Whether there may be more to take apart now.
    shows_more: bool,
}

fn replace_layer(bb: &mut BBCode, module: &Module<BBCode>) -> Layer {
    let graph = bb.cfg();
    let objects = Objects::find(bb, module, &graph);
    let mut rewriter = Rewriter {
        module,
        objects: &objects,
        replaced: Replacements::new(),
        removed: Vec::new(),
        narrowed: false,
        made: HashMap::new(),
        work: Vec::new(),
    };
    for look in &objects.looks {
        rewriter.replace_look(bb, look.id, look.object, look.part);
    }
    rewriter.fill(bb);
    let shows_more = objects.may_show_more() || rewriter.shows_objects();
    let Rewriter { replaced, mut removed, narrowed, .. } = rewriter;
    if removed.is_empty() && !narrowed {
        return Layer::default();
    }
    removed.extend(objects.phis.iter().filter(|phi| phi.apart).map(|phi| phi.id));
    replaced.apply(bb);
    for &id in &removed {
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(id);
    }
    remove_unused(bb, &objects);
    bb.fill_empty_blocks();
    Layer { changed: true, shows_more }
}

/// Removes the statements that made objects which nobody uses any more.
fn remove_unused(bb: &mut BBCode, objects: &Objects<'_>) {
    let mut uses: SecondaryMap<InstId, usize> = SecondaryMap::new();
    for (id, _) in &objects.made {
        uses.insert(*id, 0);
    }
    for (_, inst) in bb.all_insts() {
        inst.stmt.for_each_use(|used| {
            if let Some(count) = uses.get_mut(used) {
                *count += 1;
            }
        });
    }
    let mut work: Vec<InstId> = objects.made.iter().map(|(id, _)| *id).filter(|id| uses.get(*id) == Some(&0)).collect();
    while let Some(id) = work.pop() {
        let Ok(inst) = bb.remove_unchecked(id) else { continue };
        inst.stmt.for_each_use(|used| {
            if let Some(count) = uses.get_mut(used) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    work.push(used);
                }
            }
        });
    }
}

/// The type of a statement, if less is known of the value that it gives: that may be one of several types, or any.
fn narrower(bb: &BBCode, module: &Module<BBCode>, id: InstId, value: &Operand<Ids>) -> Option<Type> {
    let known = module.dispatch_type(&bb.inst(id)?.ty);
    let is_narrower = match module.dispatch_type(&bb.operand_type(value)) {
        given @ Type::Union(_) => module.is_a(&known, &given) == Some(true) && module.is_a(&given, &known).is_none(),
        given => given == Type::Any && !known.is_unknown(),
    };
    (is_narrower && known != Type::Bottom && !known.is_known_value()).then_some(known)
}

struct Rewriter<'o, 'm> {
    module: &'o Module<BBCode>,
    objects: &'o Objects<'m>,
    replaced: Replacements,
    removed: Vec<InstId>,
    /// Whether something was replaced by a π.
    narrowed: bool,
    /// The φs of parts.
    made: HashMap<(usize, Part), InstId>,
    work: Vec<(usize, Part)>,
}

impl Rewriter<'_, '_> {
    /// Whether something is replaced by an object, or by what may name a part, a type or a callee.
    fn shows_objects(&mut self) -> bool {
        self.removed.iter().filter(|id| !self.objects.is_inner(**id)).any(|&id| {
            match self.replaced.resolve(&Operand::Value(id)) {
                Operand::Value(value) => self.objects.get(value).is_some(),
                Operand::Argument(_) | Operand::Constant(Constant::Scalar(_) | Constant::Nothing) => false,
                _ => true,
            }
        })
    }

    fn replace_look(&mut self, bb: &mut BBCode, id: InstId, object: InstId, part: Part) {
        let Some(known) = self.objects.get(object) else { return };
        let value = match (known, part) {
            (Object::Made(made), Part::IsCase(case)) => {
                made.case.map(|known| Operand::Constant(Constant::bool(known == case)))
            }
            (Object::Made(made), Part::Payload(case, _)) if made.case != Some(case) => None,
            (Object::Made(made), Part::Field(index) | Part::Payload(_, index)) => made.parts.get(index).cloned(),
            (Object::Made(_), Part::Case) => None,
            (Object::Phi(index), Part::IsCase(case)) => match self.case_test(bb, index, case) {
                Ok(value) => Some(value),
                Err(stmt) => {
                    if let Some(inst) = bb.inst_mut(id) {
                        inst.stmt = stmt;
                        // The same bits would mean something else of another primitive.
                        inst.flag = 0;
                    }
                    // Only the object is gone.
                    return;
                }
            },
            (Object::Phi(index), part) => {
                let ty = bb.inst(id).map_or(Type::Untyped, |inst| inst.ty.clone());
                self.part(bb, index, part, &ty).map(Operand::Value)
            }
        };
        let Some(value) = value else { return };
        let narrower = narrower(bb, self.module, id, &value);
        match narrower.and_then(|ty| Some((ty, bb.inst_mut(id)?))) {
            Some((ty, inst)) => {
                *inst = Instruction { stmt: Stmt::pi(value, ty.clone()), ty, flag: 0, ..inst.clone() };
                self.narrowed = true;
            }
            None => {
                self.replaced.insert(id, value);
                self.removed.push(id);
            }
        }
    }

    /// Whether a φ of enums is of this case: a value, or the statement that compares.
    fn case_test(&mut self, bb: &mut BBCode, index: usize, case: usize) -> Result<Operand<Ids>, Stmt<Ids>> {
        let phi = self.objects.phis.get(index);
        let cases = phi.and_then(|phi| phi.shape.as_ref()).map_or(0, |shape| shape.cases());
        let ty = if cases == 2 { Type::BOOL } else { Type::INT64 };
        let tag = self.part(bb, index, Part::Case, &ty).map_or_else(Operand::nothing, Operand::Value);
        match (cases, case) {
            (2, 0) => Ok(tag),
            (2, _) => Err(Stmt::call(Operand::global("Core.Intrinsics", "not_int"), [tag])),
            (_, case) => Err(Stmt::call(Operand::global("Core", "==="), [tag, case_number(case)])),
        }
    }

    /// The φ of a part of a φ.
    fn part(&mut self, bb: &mut BBCode, index: usize, part: Part, ty: &Type) -> Option<InstId> {
        if let Some(&made) = self.made.get(&(index, part)) {
            return Some(made);
        }
        let phi = self.objects.phis.get(index)?;
        let inst = bb.inst(phi.id)?;
        let declared = phi.shape.as_ref().and_then(|shape| shape.part_type(&inst.ty, part));
        let ty = declared.filter(|declared| !declared.is_unknown()).unwrap_or_else(|| ty.clone());
        let new = bb.insert_before(phi.id, NewInstruction::new(Stmt::phi([]), ty)).ok()?;
        self.made.insert((index, part), new);
        self.work.push((index, part));
        Some(new)
    }

    /// Lets the φs of parts take what is to be taken.
    fn fill(&mut self, bb: &mut BBCode) {
        while let Some((index, part)) = self.work.pop() {
            let Some(phi) = self.objects.phis.get(index) else { continue };
            let Some(&new) = self.made.get(&(index, part)) else { continue };
            let ty = bb.inst(new).map_or(Type::Untyped, |inst| inst.ty.clone());
            let cases = phi.shape.as_ref().map_or(0, |shape| shape.cases());
            let entries: Vec<_> = match bb.stmt(phi.id).and_then(Stmt::as_phi) {
                Some(phi) => phi.entries.to_vec(),
                None => continue,
            };
            let mut parts = Vec::with_capacity(entries.len());
            for PhiEntry { edge, value } in entries {
                let object = value.as_ref().and_then(Operand::as_value).and_then(|value| self.objects.get(value));
                let value = match (object, part) {
                    (None, _) => None,
                    (Some(Object::Made(made)), Part::Case) => made.case.map(|case| match cases {
                        2 => Operand::Constant(Constant::bool(case == 0)),
                        _ => case_number(case),
                    }),
                    (Some(Object::Made(made)), Part::Payload(case, _)) if made.case != Some(case) => None,
                    (Some(Object::Made(made)), Part::Field(at) | Part::Payload(_, at)) => made.parts.get(at).cloned(),
                    (Some(Object::Made(_)), Part::IsCase(_)) => None,
                    (Some(Object::Phi(other)), part) => self.part(bb, other, part, &ty).map(Operand::Value),
                };
                parts.push(PhiEntry { edge, value });
            }
            if let Some(Stmt::Phi(phi)) = bb.stmt_mut(new) {
                phi.entries = parts.into();
            }
        }
    }
}

fn case_number(case: usize) -> Operand<Ids> {
    Operand::from(Scalar::Int64(i64::try_from(case).unwrap_or(i64::MAX)))
}
