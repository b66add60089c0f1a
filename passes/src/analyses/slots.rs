//! What statements do with slots, and why a slot cannot become values.

use hashbrown::{HashMap, HashSet};
use ircode::{CallNode, Callee, Module, Names, Operand, Stmt};

/// What a statement does with a slot. Its name and its operands are those of the primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SlotCall<'s, N: Names> {
    /// `new_slot(T)`.
    New(&'s Operand<N>),
    /// `slot_get(slot)`.
    Get(&'s Operand<N>),
    /// `slot_set!(slot, value)`.
    Set(&'s Operand<N>, &'s Operand<N>),
    /// `slot_element(slot, field)`.
    Element(&'s Operand<N>, &'s Operand<N>),
    /// `slot_copy!(from, to)`.
    Copy(&'s Operand<N>, &'s Operand<N>),
    /// `slot_end!(slot)`.
    End(&'s Operand<N>),
}

/// What a statement does with a slot, if it does anything.
pub(crate) fn slot_call<'s, N: Names, F>(module: &Module<F>, stmt: &'s Stmt<N>) -> Option<SlotCall<'s, N>> {
    let Stmt::Call(CallNode { callee: Operand::Global(global), args }) = stmt else { return None };
    let call = match (global.name.as_str(), args.as_slice()) {
        ("new_slot", [ty]) => SlotCall::New(ty),
        ("slot_get", [slot]) => SlotCall::Get(slot),
        ("slot_set!", [slot, value]) => SlotCall::Set(slot, value),
        ("slot_element", [slot, field]) => SlotCall::Element(slot, field),
        ("slot_copy!", [from, to]) => SlotCall::Copy(from, to),
        ("slot_end!", [slot]) => SlotCall::End(slot),
        _ => return None,
    };
    // A function of the module may have the same name.
    matches!(module.global_callee(global), Callee::Primitive(_)).then_some(call)
}

/// Why the slot with which the statement at `at` works did not become values, and the statement to blame; `None` if it
/// works with no slot. The statements are all of the function; it takes time in proportion to them.
pub(crate) fn why_it_stays<N: Names, F>(
    module: &Module<F>,
    statements: &[(N::Value, &Stmt<N>)],
    at: N::Value,
) -> Option<(N::Value, String)> {
    let (place, why) = reason(module, statements, at)?;
    Some((place, format!("the derivative depends on what is in a slot, and {why}")))
}

/// What would mend it.
pub(crate) const HELP: &str = "a slot is differentiated if it and its parts are loaded, stored, copied and ended only: inline the function that is \
     called, or let it take the value and return the new one";

fn reason<N: Names, F>(
    module: &Module<F>,
    statements: &[(N::Value, &Stmt<N>)],
    at: N::Value,
) -> Option<(N::Value, &'static str)> {
    let calls: HashMap<N::Value, SlotCall<'_, N>> =
        statements.iter().filter_map(|(id, stmt)| Some((*id, slot_call(module, stmt)?))).collect();
    let mut root = at;
    // No chain of addresses is longer than there are statements.
    for _ in 0..calls.len() {
        let slot = match calls.get(&root) {
            Some(SlotCall::New(_)) => break,
            Some(
                SlotCall::Get(slot)
                | SlotCall::Set(slot, _)
                | SlotCall::Element(slot, _)
                | SlotCall::Copy(slot, _)
                | SlotCall::End(slot),
            ) => slot,
            None => break,
        };
        root = match slot {
            Operand::Value(slot) => *slot,
            Operand::Argument(_) => return Some((at, "it is an argument")),
            _ => return None,
        };
    }
    match calls.get(&root) {
        Some(SlotCall::New(_)) => {}
        _ if calls.contains_key(&at) => return Some((at, "which one this is is known only when the program runs")),
        _ => return None,
    }
    let mut parts: HashSet<N::Value> = HashSet::new();
    let mut users: HashMap<N::Value, Vec<N::Value>> = HashMap::new();
    for (&id, call) in &calls {
        if let SlotCall::Element(Operand::Value(of), _) = call {
            users.entry(*of).or_default().push(id);
        }
    }
    let mut work = vec![root];
    while let Some(address) = work.pop() {
        if parts.insert(address) {
            work.extend(users.remove(&address).unwrap_or_default());
        }
    }
    let is_part = |operand: &Operand<N>| operand.as_value().is_some_and(|value| parts.contains(&value));
    for &(id, stmt) in statements {
        let what = match calls.get(&id) {
            Some(SlotCall::Set(_, value)) if is_part(value) => "its address is stored",
            Some(SlotCall::Element(slot, field)) if is_part(slot) && field.as_constant().is_none() => {
                "which of its parts this is is known only when the program runs"
            }
            Some(_) => continue,
            None => {
                let mut used = false;
                stmt.for_each_use(|value| used |= parts.contains(&value));
                match stmt {
                    _ if !used => continue,
                    Stmt::Return(_) => "its address is returned",
                    Stmt::Phi(_) | Stmt::PhiC(_) | Stmt::Upsilon(_) => "its address is one of several",
                    Stmt::Call(_) | Stmt::Invoke(_) => "its address is given to a function",
                    _ => "its address is used as a value",
                }
            }
        };
        return Some((id, what));
    }
    for &(id, _) in statements {
        if let Some(SlotCall::Element(slot, _)) = calls.get(&id)
            && is_part(slot)
        {
            return Some((id, "its type does not tell this part, or has too many"));
        }
    }
    let why = "it may be read before it is assigned, used after its end, or used where an exception leads";
    Some((at, why))
}

/// Slots of more parts are not taken apart: a load or store of the whole becomes as many of parts.
pub(crate) const MAX_PARTS: usize = 1024;
