//! Lines that were broken at the width of a page or a terminal, wherever that was in a statement.

use std::borrow::Cow;

use super::around::has_header;
use super::balanced::is_balanced;
use super::page::{is_part_of_listing, margin};
use crate::constant::is_identifier_part;
use crate::types::Type;

/// Pages are at least so wide, in characters.
const LEAST_WIDTH: usize = 40;

/// The text with lines of a listing as they were before they were broken: what stands below a line of the full width,
/// and has no margin, goes on with it. Where a line ended, an empty one is left, so that those below keep their
/// numbers.
pub(super) fn unbroken(text: &str) -> Cow<'_, str> {
    // What bbkit prints is on no such page.
    if has_header(text) {
        return Cow::Borrowed(text);
    }
    let width = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let broken = |line: &str| line.chars().count() == width;
    let goes_on_below = |line: &str| !line.trim().is_empty() && margin(line).is_none() && !is_end(line);
    let pairs = || text.lines().zip(text.lines().skip(1));
    let may_go_on = |&(line, next): &(&str, &str)| broken(line) && margin(line).is_some() && goes_on_below(next);
    if width < LEAST_WIDTH || !pairs().any(|pair| may_go_on(&pair)) {
        return Cow::Borrowed(text);
    }
    // One line alone may be the longest by chance, and have words below it.
    let many = pairs().filter(may_go_on).count() > 1;
    let mut out = String::with_capacity(text.len());
    // Whether the next line goes on with this one, and how many lines are left out so far.
    let (mut goes_on, mut left_out) = (false, 0);
    let mut below = text.lines().skip(1);
    for line in text.lines() {
        let (next, continues) = (below.next(), goes_on && goes_on_below(line));
        if continues {
            left_out += 1;
        } else {
            out.extend(std::iter::repeat_n('\n', left_out));
            left_out = 0;
            if !out.is_empty() {
                out.push('\n');
            }
        }
        out.push_str(line);
        let is_half =
            || is_unfinished(line) || next.is_some_and(|next| is_cut_in_type(line, next, below.clone().next()));
        goes_on = broken(line) && (continues || margin(line).is_some() && (many || is_half()));
    }
    out.extend(std::iter::repeat_n('\n', left_out + 1));
    Cow::Owned(out)
}

/// An object that is shown on more lines is none.
const MOST_LINES: usize = 200;

/// The text with objects on one line that Julia shows on several, as it does with blocks of quoted code, without the
/// comments in them. Where a line ended, an empty one is left.
pub(super) fn with_whole_objects(text: &str) -> Cow<'_, str> {
    let begins = |line: &str| line.contains("$(") && margin(line).is_some() && !is_balanced(line);
    if !text.contains("QuoteNode(") || !text.lines().any(begins) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        let whole = if begins(line) { whole_object(lines.get(at..).unwrap_or_default()) } else { None };
        let (shown, count) = match &whole {
            Some((whole, count)) => (whole.as_str(), *count),
            None => (line, 1),
        };
        if at > 0 {
            out.push('\n');
        }
        out.push_str(shown);
        out.extend(std::iter::repeat_n('\n', count - 1));
        at += count;
    }
    Cow::Owned(out)
}

/// The text with the entries of tables of variables on one line where they were broken within brackets: types are long.
/// Where a line ended, an empty one is left.
pub(super) fn with_whole_tables(text: &str) -> Cow<'_, str> {
    let begins = |line: &str| {
        let name = line.split_once("::").map(|(name, _)| name.trim());
        let is_entry = name.is_some_and(|name| !name.is_empty() && !name.contains([' ', '(', '=', ',']));
        is_entry && margin(line).is_none() && !is_balanced(line)
    };
    if !text.contains("Body::") || !text.lines().any(begins) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    while let Some(&line) = lines.get(out.len()) {
        let below = lines.get(out.len()..).unwrap_or_default();
        let count = if begins(line) { whole_entry(below) } else { None };
        let count = count.unwrap_or(1);
        out.push(below.get(..count).unwrap_or_default().concat());
        out.extend(std::iter::repeat_n(String::new(), count - 1));
    }
    Cow::Owned(out.join("\n"))
}

/// An entry of a table that is broken into more lines is none.
const MOST_LINES_OF_ENTRY: usize = 20;

/// How many of these lines are an entry of a table, by its brackets; `None` if they do not close.
fn whole_entry(lines: &[&str]) -> Option<usize> {
    let mut whole = String::new();
    for (index, line) in lines.iter().enumerate().take(MOST_LINES_OF_ENTRY) {
        if index > 0 && (margin(line).is_some() || line.trim().is_empty()) {
            return None;
        }
        whole.push_str(line);
        if is_balanced(&whole) {
            return Some(index + 1);
        }
    }
    None
}

/// The first of these lines with those that belong to it, and how many they are; `None` if its brackets do not close
/// before the next statement.
fn whole_object(lines: &[&str]) -> Option<(String, usize)> {
    let mut whole = without_remarks(lines.first()?.trim_end());
    for (count, line) in lines.iter().enumerate().take(MOST_LINES).skip(1) {
        if margin(line).is_some() {
            return None;
        }
        whole.push(' ');
        whole.push_str(&without_remarks(line.trim()));
        if is_balanced(&whole) {
            return Some((whole, count + 1));
        }
    }
    None
}

/// A line without `#= … =#`.
fn without_remarks(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("#=") {
        let Some((_, after)) = behind.split_once("=#") else { break };
        out.push_str(before.trim_end());
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether something is to follow what a line ends with.
fn is_unfinished(line: &str) -> bool {
    let mut brackets = [0_usize; 3];
    for c in line.chars() {
        if let Some(kind) = "([{".find(c) {
            brackets[kind] += 1;
        } else if let Some(kind) = ")]}".find(c) {
            brackets[kind] = brackets[kind].saturating_sub(1);
        }
    }
    line.ends_with([':', ',', '.']) || brackets != [0; 3]
}

/// Whether a line ends in the middle of the name of a type, of which the rest stands alone between it and another line
/// of the listing.
fn is_cut_in_type(line: &str, next: &str, after: Option<&str>) -> bool {
    let of_type = |c: char| is_identifier_part(c) || matches!(c, '.' | '{' | '}' | ',' | ':' | '<');
    // What is a whole type already is followed by something else.
    let may_be_cut = |ty: &str| !ty.is_empty() && ty.chars().all(of_type) && matches!(Type::parse(ty), Type::Named(_));
    let ends_in_type = line.rsplit_once("::").is_some_and(|(_, ty)| may_be_cut(ty));
    let is_rest = next.starts_with(is_identifier_part) && next.chars().all(of_type);
    ends_in_type && is_rest && after.is_some_and(|after| margin(after).is_some())
}

/// Whether a line ends a listing, and is no end of a statement.
fn is_end(line: &str) -> bool {
    let trimmed = line.trim_start();
    let behind = trimmed.trim_start_matches(')');
    let goes_on = behind.len() < trimmed.len() && (behind.starts_with("::") || behind.starts_with(','));
    trimmed == "end" || is_part_of_listing(line) && !goes_on
}

#[cfg(test)]
mod tests {
    use crate::{parse_function, parse_module};

    #[test]
    fn entries_of_tables_go_on_below() {
        let whole = "\
Variables
  #self#::Core.Compiler.Const(Main.absolute, false)
  a::SubArray{Float64,1,Array{Float64,2},Tuple{Base.Slice{Base.OneTo{Int64}},Int64},true}
  y::Float64

Body::Tuple{Float64,Float64}
1 ─ %1 = Core.tuple(y, y)::Tuple{Float64,Float64}
└──      return %1
";
        let broken = whole.replace(", false)", ", false\n)").replace("},Int64},true", "},Int\n64},true");
        let broken = broken.replace("Body::Tuple{Float64,", "Body::Tuple{Flo\nat64,");
        assert_eq!(parse_module(&broken).unwrap().module, parse_module(whole).unwrap().module);
        // What never closes is left as it is.
        assert!(parse_module(&whole.replace(", false)", ", false")).is_ok());
    }

    #[test]
    fn statements_go_on_below() {
        let whole = "\
1 ─ %1 = (Base.add_float)(x, y)::Float64
│   %2 = %new(Main.Box.OfComplex{Float32}, %1, %1)::Main.Box.OfComplex{Float32}
│   %3 = Main.f(%2, %2, %2, %2, %2, %2, %2, %2, %2, %2, %2, %2, %2, %2, %2, %2)::Float64
└──      return %3
";
        let mut broken = String::new();
        for line in whole.lines() {
            let characters: Vec<char> = line.chars().collect();
            for part in characters.chunks(45) {
                broken.extend(part);
                broken.push('\n');
            }
        }
        assert_ne!(broken, whole);
        assert_eq!(parse_function(&broken).unwrap().body, parse_function(whole).unwrap().body);
    }

    #[test]
    fn a_call_may_end_below() {
        let text = "\
CodeInfo(
1 ─ %1 = Core.tuple(x, y::Core.Const(2), z::Core.Const(3), r::Core.Const(55
))::Core.PartialStruct(NTuple{4, Int64}, Any[Int64, Core.Const(2), Core.Con
st(3), Core.Const(5)])
└──      return %1
) => NTuple{4, Int64}
";
        let call = "Core.tuple(x, y::Core.Const(2), z::Core.Const(3), r::Core.Const(55))::Core.PartialStruct(NTuple{4, Int64}, Any[Int64, Core.Const(2), Core.Const(3), Core.Const(5)])";
        let whole = format!("CodeInfo(\n1 ─ %1 = {call}\n└──      return %1\n) => NTuple{{4, Int64}}\n");
        assert_eq!(parse_function(text).unwrap(), parse_function(&whole).unwrap());
    }

    #[test]
    fn objects_of_several_lines_are_whole() {
        let text = "\
CodeInfo(
1 ─ %1 = $(Expr(:copyast, :($(QuoteNode(:(if neg #= f.jl:3 =#
          print(out, \"-(\")
      end))))))::Any
│   %2 = (Main.f)(%1)::Any
└──      return %2
) => Any
";
        let parsed = parse_module(text).unwrap();
        assert_eq!(parsed.module.functions()[0].body.stmts.len(), 3);
        let second = &parsed.functions[0].statements[1];
        let cleaned = parsed.cleaned.unwrap();
        assert_eq!(&cleaned[second.clone()], "%2 = (Main.f)(%1)::Any");
        assert_eq!(cleaned[..second.start].lines().count(), 5);
    }

    /// Also where that is the only line that is too long.
    #[test]
    fn the_name_of_a_type_may_go_on_below() {
        let text = |ty: &str| {
            format!(
                "CodeInfo(\n1 ─ %1 = (Base.getfield)(x, :real)::Float64\n│   %2 = %new(Main.WeaveSandBox0.Mine, %1, %1)::{ty}\n└──      return %2\n) => Any\n"
            )
        };
        for (broken, whole) in [
            ("Main.WeaveSandBox0.MyC\nomplex", "Main.WeaveSandBox0.MyComplex"),
            ("Main.WeaveSandBox0.\nMyComplex", "Main.WeaveSandBox0.MyComplex"),
            ("Main.WeaveSandBox0.My_some\nthing{Float64}", "Main.WeaveSandBox0.My_something{Float64}"),
        ] {
            assert_eq!(parse_function(&text(broken)).unwrap(), parse_function(&text(whole)).unwrap());
        }
    }

    #[test]
    fn a_long_line_that_others_follow_is_whole() {
        let text = "\
CodeInfo(
1 ─ %1 = (Base.add_float)(x, y)::Float64
└──      return %1
) => Float64
";
        assert_eq!(parse_module(text).unwrap().module.functions().len(), 1);
        let text = "1 ─ %1 = (Base.add_float)(_2, _2)::Float64\nwords\n└──      return %1\n";
        assert!(parse_module(text).is_err());
    }
}
