//! In which order the arguments of a listing come that names them but does not declare them.
//!
//! A `CodeInfo` shows arguments by name in most places and by number (`_2`) in the others, and nowhere which name is
//! which number.

use bbkit::Input;
use exec::Machine;
use ircode::{Argument, Name, Operand, Type};
use serde_json::Value as Json;

use super::diagnose;

/// The names of `_2`, `_3`, …, as far as the listing uses them.
pub(super) type Order = Vec<Option<Name>>;

/// An order, and whether another is as good.
pub(super) struct Found {
    pub(super) order: Order,
    pub(super) ambiguous: bool,
}

/// No more orders than this are tried, and no more text than this is read for it.
const MAX_ORDERS: usize = 5_000;
const MAX_BYTES: usize = 50_000_000;

/// The order that fits the arguments best; `None` if there is nothing to choose.
///
/// It must contradict neither the uses of the arguments nor the values given. Among those that remain, numbers written
/// with a point go to floats and others to integers, every argument is used, and then the guess of the parser counts.
pub(super) fn order_of_names(input: &Input, args: &Json) -> Option<Found> {
    let names = input.maps.iter().find(|map| map.headerless).map(|map| &map.guessed_order)?;
    let (values, names): (Vec<&Json>, Vec<Name>) = match args {
        Json::Array(values) => (values.iter().collect(), names.clone()),
        // Named arguments are what the listing names, and those that it shows by number only.
        Json::Object(members) => {
            let unused = members.keys().filter(|key| !names.iter().any(|name| name.as_str() == key.as_str()));
            let all: Vec<Name> = names.iter().cloned().chain(unused.map(|key| key.as_str().into())).collect();
            (members.values().collect(), all)
        }
        _ => return None,
    };
    let named = args.is_object();
    if names.is_empty() || names.len() > values.len() || values.len() == 1 && !named {
        return None;
    }
    let orders = placements(&names, values.len(), MAX_ORDERS.min(MAX_BYTES / input.source.len().max(1)));
    let mut best: Option<(Score, Found)> = None;
    for order in orders {
        let ordered: Vec<&Json> = match args {
            Json::Object(members) => order.iter().flatten().filter_map(|name| members.get(name.as_str())).collect(),
            _ => values.clone(),
        };
        let Some(score) = score(input, &order, &ordered) else { continue };
        match &mut best {
            Some((least, found)) if score == *least => found.ambiguous = true,
            Some((least, _)) if score < *least => {}
            _ => best = Some((score, Found { order, ambiguous: false })),
        }
    }
    let default = || Found { order: names.iter().cloned().map(Some).collect(), ambiguous: true };
    let mut found = best.map_or_else(default, |(_, found)| found);
    // Whatever the order, each named argument gets its own value.
    found.ambiguous &= !named;
    Some(found)
}

/// Warns of a listing that is to become another one, and of which it was guessed which argument is which: where that is
/// printed, all have numbers.
pub(super) fn warn_of_guess(input: &Input) {
    let functions = input.module.functions().iter().zip(&input.maps);
    let Some((function, map)) = functions.into_iter().find(|(_, map)| map.headerless) else { return };
    let names = &map.guessed_order;
    if names.len() >= 2 || !names.is_empty() && map.has_numbers {
        let numbered = function.parameters.iter().zip(2..).filter_map(|(name, number)| Some((name.as_ref()?, number)));
        let guessed = numbered.filter(|(name, _)| names.contains(name));
        let taken: Vec<String> = guessed.map(|(name, number)| format!("{name} for _{number}")).collect();
        diagnose(&format!(
            "warning: the listing does not say in which order its arguments come; taken are {}",
            taken.join(", ")
        ));
    }
}

/// How well an order fits: the values that are written as their parameters are typed, then the arguments that are used.
type Score = (usize, usize);

/// All ways to give the names to so many arguments, in the order given first; those up to the limit.
fn placements(names: &[Name], count: usize, limit: usize) -> Vec<Order> {
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in names {
        let mut longer = Vec::new();
        for order in &orders {
            for place in (0..count).filter(|place| !order.contains(place)) {
                let mut order = order.clone();
                order.push(place);
                longer.push(order);
            }
        }
        if longer.len() > limit {
            return Vec::new();
        }
        orders = longer;
    }
    let named = |places: Vec<usize>| {
        let mut order = vec![None; count];
        for (place, name) in places.into_iter().zip(names) {
            if let Some(slot) = order.get_mut(place) {
                *slot = Some(name.clone());
            }
        }
        order
    };
    orders.into_iter().map(named).collect()
}

/// How well the values can be the arguments in this order, as far as the uses of the arguments tell; `None` if they
/// cannot.
fn score(input: &Input, order: &Order, values: &[&Json]) -> Option<Score> {
    let input = Input::parse(&input.path, &input.source, order).ok()?;
    let function = input.module.function("")?;
    if function.body.argtypes.len() > order.len() + 1 || passes::contradictory_arguments(&input.module, function) {
        return None;
    }
    let types = passes::argument_types(&input.module, function);
    let machine = Machine::new(&input.module);
    let fits = |(json, ty): (&&Json, &Type)| machine.value_from_json(json, ty).is_ok();
    if !values.iter().zip(&types).all(fits) {
        return None;
    }
    let mut used = vec![false; order.len() + 1];
    for stmt in function.body.stmts.stmts() {
        stmt.for_each_operand(&mut |operand| {
            if let Operand::Argument(Argument(number)) = operand
                && let Some(used) = used.get_mut((*number as usize).saturating_sub(1))
            {
                *used = true;
            }
        });
    }
    let alike = values.iter().zip(&types).filter(|(json, ty)| written_as(json, ty)).count();
    Some((alike, used.into_iter().filter(|used| *used).count()))
}

/// Whether a value is written as those of this type usually are.
fn written_as(json: &Json, ty: &Type) -> bool {
    match ty.as_scalar() {
        Some(scalar) if scalar.is_float() => json.is_f64() || json.is_string(),
        Some(_) => !json.is_f64(),
        None => true,
    }
}
