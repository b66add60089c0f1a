//! What the names in a listing without a header stand for: arguments, or types.

use hashbrown::{HashMap, HashSet};

use crate::constant::Constant;
use crate::name::Name;
use crate::names::Positions;
use crate::operand::{Argument, Operand};
use crate::stmt::Stmt;
use crate::types::Type;

/// Arguments past this number stand for names of which it is not known yet which argument they are.
pub(super) const FIRST_SLOT: u32 = 1 << 24;

/// Names that may be those of arguments, in the order in which they appeared.
#[derive(Debug, Default)]
pub(super) struct SlotNames {
    names: Vec<Name>,
    places: HashMap<Name, u32>,
    /// Whether one of them is marked as that of an argument.
    pub(super) marked: bool,
}

impl SlotNames {
    pub(super) fn names(&self) -> &[Name] {
        &self.names
    }

    /// The argument, counted from [`FIRST_SLOT`] on, as which a name is read until all are known.
    pub(super) fn argument(&mut self, name: &str) -> Argument {
        let place = self.places.get(name).copied().unwrap_or_else(|| {
            let place = self.names.len() as u32;
            self.names.push(name.into());
            self.places.insert(name.into(), place);
            place
        });
        Argument(FIRST_SLOT + place)
    }

    /// The name that was read as this argument.
    pub(super) fn name(&self, argument: Argument) -> Option<&Name> {
        self.names.get(argument.0.checked_sub(FIRST_SLOT)? as usize)
    }
}

/// Which of these names are those of types: they stand where only a type can, or a statement is of that type. Where names may be those of arguments, `T` and
/// `kind` stay arguments: a function may be given the type that it asks for.
pub(super) fn names_of_types<'a>(
    slots: &SlotNames,
    insts: impl Iterator<Item = (&'a Stmt<Positions>, &'a Type)>,
    are_objects: bool,
) -> HashSet<Name> {
    let mut types: HashSet<Name> = HashSet::new();
    for (stmt, ty) in insts {
        if let Stmt::Call(call) = stmt
            && let [_, Operand::Argument(argument)] = call.args.as_slice()
            && matches!(callee_name(&call.callee), Some("isa" | "typeassert"))
        {
            types.extend(slots.name(*argument).cloned());
        }
        if let Type::Named(name) = ty
            && slots.places.contains_key(name)
        {
            types.insert(name.clone());
        }
    }
    types.retain(|name| are_objects || is_like_a_type(name));
    types
}

fn callee_name(callee: &Operand<Positions>) -> Option<&str> {
    match callee {
        Operand::Global(global) => Some(&global.name),
        Operand::Constant(Constant::Function(name)) => Some(name),
        _ => None,
    }
}

/// Whether a name is written as those of types are: `CamelCase`.
fn is_like_a_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// The order in which arguments of these names are likely declared, given the order in which they appear: names that
/// follow one another in the alphabet are sorted; otherwise `x`, `y` and `z` come first, then `a` to `d`.
pub(super) fn likely_order<'a>(names: impl Iterator<Item = &'a Name>) -> Vec<Name> {
    let names: Vec<Name> = names.cloned().collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let follows = |pair: &[Name]| match pair {
        [a, b] => match (a.char_indices().next_back(), b.char_indices().next_back()) {
            (Some((i, last)), Some((j, next))) => a.get(..i) == b.get(..j) && last as u32 + 1 == next as u32,
            _ => false,
        },
        _ => false,
    };
    let x_leads = !sorted.iter().skip(1).any(|name| name == "x");
    if x_leads && sorted.windows(2).all(follows) {
        return sorted;
    }
    let usual = |name: &Name| ["x", "y", "z", "a", "b", "c", "d"].iter().position(|usual| name == usual);
    let mut order = names;
    order.sort_by_key(|name| usual(name).unwrap_or(usize::MAX));
    order
}

#[cfg(test)]
mod tests {
    use crate::text::parse_function;

    /// The names that are taken for arguments, in the order of the listing's parameters.
    fn arguments(listing: &str) -> Vec<String> {
        let function = parse_function(listing).unwrap();
        function.parameters.iter().flatten().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_asked_for_is_a_type() {
        let listing = "1 ─ %1 = (x isa Shape)::Bool\n│   %2 = (isa)(x, Round)::Bool\n│   %3 = (Shape === y)::Bool\n└──      return %1\n";
        assert_eq!(arguments(listing), ["x", "y"]);
    }

    #[test]
    fn names_below_the_type_of_the_result_or_with_a_mark_are_those_of_arguments() {
        let lines = "2 1 ─ %1 = (Base.add_int)(x, n)::Int64\n  └──      return %1\n";
        assert_eq!(
            arguments(lines),
            [""; 0],
            "with line numbers alone it is an IRCode, where names are those of objects"
        );
        assert_eq!(arguments(&format!("Body::Int64\n{lines}")), ["x", "n"]);
        assert_eq!(arguments(&lines.replace("x, n", "%%x, %%n")), ["x", "n"]);
        assert_eq!(
            parse_function(&lines.replace("x, n", "%%2, %%3")),
            parse_function(&lines.replace("x, n", "_2, _3"))
        );
    }

    #[test]
    fn what_a_statement_is_of_is_a_type() {
        let listing = "1 ─ %1 = Main.make(Shape, x)::Shape\n└──      return %1\n";
        assert_eq!(arguments(listing), ["x"]);
    }

    #[test]
    fn a_type_that_is_an_argument_stays_one() {
        let listing = "1 ─ %1 = (x isa T)::Bool\n│   %2 = Base.convert(Kind, x)::Any\n└──      return %1\n";
        assert_eq!(arguments(listing), ["x", "T", "Kind"]);
    }
}
