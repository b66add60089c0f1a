//! What Cthulhu shows around a listing: the call it has descended into, and below it a menu of the calls inside.

use super::balanced::find_depth_0;
use super::decoration::plain_names;
use super::page::with_comments;
use crate::name::Name;

/// The text with menus as comments that stand without their heading, as where what was printed since is all that there
/// is: the calls around the one that is marked, ` • %1 = invoke f(::Int64)::Any`.
pub(super) fn without_menus(text: &str) -> Option<String> {
    if !text.contains('•') {
        return None;
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut in_menu = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let count = lines.iter().skip(at).take_while(|line| is_entry(line)).count();
        let is_marked = lines.iter().skip(at).take(count).any(|line| line.starts_with('•'));
        in_menu.iter_mut().skip(at).take(count).for_each(|in_menu| *in_menu = is_marked);
        at += count.max(1);
    }
    let mut in_menu = in_menu.into_iter();
    Some(with_comments(text, |_| in_menu.next() != Some(true)))
}

/// The menu below a listing.
#[derive(Default)]
pub(super) struct Menu {
    /// Whether its heading was read and nothing since that is no part of it.
    open: bool,
}

impl Menu {
    /// Takes a line; whether it is one of the menu.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let opens = line.starts_with("Select a call to descend into or ↩ to ascend.");
        self.open = opens || self.open && is_entry(line);
        self.open
    }
}

/// A row of keys, or a call to choose: ` • %1  = invoke f(::Int64)::Any`, `↩`.
fn is_entry(line: &str) -> bool {
    let keys = ["Toggles: ", "Show: ", "Actions: ", "Advanced: "].iter().any(|start| line.starts_with(start));
    keys || line == "↩" || line == "• ↩" || is_call(line.trim_start_matches(['•', ' ']))
}

/// Whether the line is a heading: `∘ ── %0 = invoke f(::Int64)::Any`, or the method and its place,
/// `f(x::Int64) in Main at REPL[1]:1`.
pub(super) fn is_around(line: &str) -> bool {
    line.starts_with("∘ ") || method(line).is_some()
}

/// Whether the line is the heading that older versions print, `│ ─ %-1 = invoke f(::Int64)::Any`: no statement has such
/// a number.
pub(super) fn is_call_above(line: &str) -> bool {
    line.strip_prefix("│ ─ ").is_some_and(|call| call.starts_with("%-") && is_call(call))
}

/// `%1  = invoke f(::Int64)::Any`.
fn is_call(text: &str) -> bool {
    let Some((name, call)) = text.split_once('=') else { return false };
    let number = name.trim_end().strip_prefix('%').map(|number| number.strip_prefix('-').unwrap_or(number));
    let numbered = number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    // Of some it says more than `invoke`: what kind of call it is.
    numbered && call.starts_with(' ') && call.contains('(')
}

/// The method of a heading, `f(x::Int64) in Main at REPL[1]:1`, or of newer versions `f(x::Int64) @ Main REPL[1]:1`.
fn method(line: &str) -> Option<&str> {
    let old = line.rsplit_once(" in ").and_then(|(method, place)| Some((method, place.split_once(" at ")?)));
    let new = || line.rsplit_once(" @ ").and_then(|(method, place)| Some((method, place.split_once(' ')?)));
    let (method, (module, place)) = old.or_else(new)?;
    let in_file = place.rsplit_once(':').is_some_and(|(file, number)| {
        !file.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    let plain = !module.is_empty() && !module.contains(char::is_whitespace);
    let signature = method.split_once(") where ").map_or(method.ends_with(')'), |(head, _)| head.contains('('));
    let is_heading = in_file && plain && signature && method.contains('(') && !method.contains(['│', '─', '└', '┄']);
    is_heading.then_some(method)
}

/// The names of the arguments of the method whose heading the line is, as `is_around` says. `None` if not all have
/// plain names. Arguments by keyword are none of it: it calls another method with their defaults.
pub(super) fn arguments(line: &str) -> Option<Vec<Name>> {
    // What an error has called on its way is numbered.
    let method = if line.starts_with('[') { return None } else { method(line)? };
    let method = method.split_once(") where ").map_or_else(|| method.strip_suffix(')'), |(head, _)| Some(head))?;
    let open = find_depth_0(method, "(").filter(|&open| open > 0)?;
    let arguments = method.get(open + 1..)?;
    let by_place = find_depth_0(arguments, ";").and_then(|keywords| arguments.get(..keywords)).unwrap_or(arguments);
    plain_names(by_place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_function;

    #[test]
    fn what_stands_around_is_told_from_statements() {
        assert!(is_call_above("│ ─ %-1  = invoke f(::Int64)::Int64"));
        assert!(is_around("f(x::T) where T in Main at REPL[1]:1"));
        assert!(!is_call_above("│   %1  = invoke f(1::Int64)::Int64"));
        for line in ["f(x) in Main", "x in Main at a.jl:1", "(%1 in %2) at 3", "f(x) in Main at a.jl"] {
            assert!(!is_around(line), "{line}");
        }
    }

    #[test]
    fn a_heading_says_in_which_order_arguments_are() {
        let code = "1 ─ %1 = Base.sub_int(b, x)::Int64\n└──      return %1\n";
        let of = |heading: &str| parse_function(&format!("{heading}\n{code}")).unwrap();
        let known = of("sub(c, b::Int64, x::T) where T<:Integer in Main at REPL[1]:1");
        assert!(known.body.to_string().contains("(_3, _4)"), "{}", known.body);
        assert_eq!(known.body.argtypes.len(), 4);
        for new in ["sub(c, b, x) @ Main none:1", "sub(c, b::T, x::T) where T<:Integer @ Main ~/sub.jl:12"] {
            assert_eq!(of(new).body, known.body, "{new}");
        }
        let with_keywords = of("sub(c, b, x; by, lt) @ Main a.jl:1");
        assert_eq!(with_keywords.body, known.body);
        for other in [
            "",
            "[1] sub(c, b, x) in Main at REPL[1]:1",
            "sub(::Type{T}, b, x) where T in Main at REPL[1]:1",
            "(::Main.Sub)(b, x) in Main at a.jl:1",
        ] {
            assert!(of(other).body.to_string().contains("(_3, _2)"), "{other}");
        }
    }

    #[test]
    fn only_a_menu_holds_calls_without_a_margin() {
        let listing = "1 ─ %1 = Main.f(_2)::Int64\n└──      return %1\n";
        let menu =
            "Select a call to descend into or ↩ to ascend. [q]uit.\nShow: [L]LVM IR\n • %1 = invoke f(::Int64)\n   ↩\n";
        let alone = parse_function(listing).unwrap();
        assert_eq!(parse_function(&format!("{listing}{menu}")).unwrap(), alone);
        let lost = format!("{listing}{menu}Main.g(_2)\n %1 = invoke f(::Int64)\n");
        assert_eq!(parse_function(&lost).unwrap_err().diagnostics.len(), 2);
        assert!(parse_function(&format!("{listing} %1 = invoke f(::Int64)\n")).is_err());
        // The mark is only in menus, whether their heading is there or not.
        let marked = "   %1 = invoke f(::Int64)\n • %2 = invoke g(::Int64)\n   ↩\n";
        for text in [format!("{marked}{listing}"), format!("{listing}{marked}")] {
            assert_eq!(parse_function(&text).unwrap(), alone, "{text}");
        }
    }
}
