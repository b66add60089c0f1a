//! The names of specialisations.

use ircode::Name;

use super::clones::{Target, Way};
use super::things::Shape;

/// A longer name is cut there.
const LONGEST: usize = 120;

/// What the specialisation of a function is to be called: `g_spec_2h1_3same2`. `name` says what a closure is one of.
/// `thing` what an enum or a stack is called.
pub(super) fn specialized_name(
    function: &Name,
    ways: &[Way],
    name: impl Fn(Target) -> Name,
    thing: impl Fn(&Shape) -> Name,
) -> String {
    let mut text = format!("{function}_spec");
    for (index, way) in ways.iter().enumerate() {
        match way {
            Way::Kept => {}
            Way::Closure { of, captured } => text.push_str(&format!("_{}{}{captured}", index + 2, name(*of))),
            Way::Recast(shape) => text.push_str(&format!("_{}{}", index + 2, thing(shape))),
            Way::Same(other) => text.push_str(&format!("_{}same{}", index + 2, other + 2)),
        }
    }
    cut(text)
}

/// The name, cut where it is too long.
pub(super) fn cut(mut name: String) -> String {
    if let Some((end, _)) = name.char_indices().nth(LONGEST) {
        name.truncate(end);
    }
    name
}
