//! Listings on a page that says other things too: between fences, behind prompts, in comments of a program.

use std::borrow::Cow;

use super::around::without_words;
use super::cthulhu::without_menus;
use super::declaration::starts_declaration;
use super::decoration::{Decoration, decoration, variable};
use super::expression::Cursor;
use super::gutter::{Gutter, gutter};
use super::irtools;

/// A text in which all that is seen to be no part of a listing is a comment, and what marks a listing as a comment or a
/// quotation of something else is gone. Lines stay lines.
pub(super) fn listings(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for step in [
        from_workers,
        opened_before,
        closed_behind,
        fenced,
        behind_prefix,
        behind_prompts,
        without_menus,
        without_words,
    ] {
        if let Some(changed) = step(&text) {
            text = Cow::Owned(changed);
        }
    }
    text
}

/// What other processes print, without the name that Julia puts before each line of it.
fn from_workers(text: &str) -> Option<String> {
    let printed = |line: &str| -> Option<usize> {
        let worker = line.trim_start_matches(['#', ' ', '\t']).strip_prefix("From worker ")?;
        let rest = worker.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(':')?;
        Some(line.len() - rest.strip_prefix('\t').unwrap_or(rest).len())
    };
    let found = text.contains("From worker ") && text.lines().any(|line| printed(line).is_some());
    let behind = |line| printed(line).and_then(|from| line.get(from..)).unwrap_or(line);
    found.then(|| text.split_inclusive('\n').map(behind).collect())
}

/// What Julia's logging prints, without the frame that it draws at the left: from `┌ Info: …` to `└ …`.
pub(super) fn logged(text: &str) -> Option<String> {
    let opens = |line: &str| {
        let message = line.trim_start().strip_prefix("┌ ");
        message.is_some_and(|message| {
            ["Info:", "Warning:", "Error:", "Debug:"].iter().any(|level| message.starts_with(level))
        })
    };
    let found = text.contains("┌ ") && text.lines().any(opens);
    let mut is_inside = false;
    let mut unframed = |line: &str| {
        if opens(line) {
            is_inside = true;
            return format!("# {}", line.trim_start());
        }
        let framed = if is_inside { line.trim_start().strip_prefix(['│', '└']) } else { None };
        is_inside &= line.trim_start().starts_with('│');
        match framed {
            // Where in the program that was.
            Some(inside) if inside.trim_start().starts_with("@ ") => format!("# {}", inside.trim_start()),
            Some(inside) => inside.to_string(),
            None => line.to_string(),
        }
    };
    found.then(|| text.split_inclusive('\n').map(&mut unframed).collect())
}

/// What opens a fence on the first line of the listing in it, as "```CodeInfo(" does, goes.
fn opened_before(text: &str) -> Option<String> {
    let behind = |line: &str| {
        let inside = line.trim_start().strip_prefix("```").map(str::trim_end);
        inside.is_some_and(|inside| inside.ends_with("CodeInfo(") || starts_block(inside))
    };
    let found = text.contains("```") && text.lines().any(behind);
    let kept = |line| if behind(line) { line.trim_start().trim_start_matches('`') } else { line };
    found.then(|| text.split_inclusive('\n').map(kept).collect())
}

/// What ends a string or a fence on the last line of the listing in it, as `) => Int64```` does, goes.
fn closed_behind(text: &str) -> Option<String> {
    let ends = |line: &str| {
        let line = line.trim_end();
        let kept = ["```", "\"\"\""].iter().find_map(|end| line.strip_suffix(end))?;
        let closes = kept.trim_start().starts_with(')') || kept.trim_start().starts_with('└');
        // In a string of the listing itself there may be anything.
        (closes && !kept.contains(['`', '"'])).then_some(kept.len())
    };
    let found = (text.contains("```") || text.contains("\"\"\"")) && text.lines().any(|line| ends(line).is_some());
    let kept = |line: &str| match ends(line).and_then(|end| line.get(..end)) {
        Some(kept) => format!("{kept}\n"),
        None => line.to_string(),
    };
    found.then(|| text.split_inclusive('\n').map(kept).collect())
}

/// A line of three backticks or tildes, which encloses code in a page.
fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Whether a line is what is left of a fence where only the listings of a page are read.
pub(super) fn is_fence_of_page(line: &str) -> bool {
    line.strip_prefix('#').is_some_and(is_fence)
}

/// What stands between fences: if there is a listing, only what has one, and declarations. Of what is outside, too, what
/// has the first block of a listing is read.
fn fenced(text: &str) -> Option<String> {
    let fences = (text.contains('`') || text.contains('~')) && text.lines().any(is_fence);
    fences.then(|| {
        // For what stands between one fence and the next, whether it has a listing or begins as a declaration.
        let mut has_code: Vec<bool> = vec![false];
        let mut has_first_block: Vec<bool> = vec![false];
        let mut is_first = true;
        for line in text.lines() {
            let fence = is_fence(line);
            if fence {
                has_code.push(false);
                has_first_block.push(false);
            } else if let (Some(has_code), Some(has_first_block)) = (has_code.last_mut(), has_first_block.last_mut()) {
                *has_first_block |= margin(line).is_some_and(|margin| margin.block == Some(1));
                let blank = line.trim().is_empty() || line.trim_start().starts_with('#');
                *has_code |= starts_block(line) || is_first && starts_declaration(line.trim_start());
                is_first &= blank;
            }
            is_first |= fence;
        }
        let reads_all = !text.lines().any(starts_block);
        // Where the first fence was left out, what is before the others is in them.
        let is_code = |part: usize| has_code.get(part) == Some(&true);
        let lacks_first =
            has_code.len().is_multiple_of(2) && is_code(0) && !(1..has_code.len()).step_by(2).any(is_code);
        let mut part = 0;
        with_comments(text, |line| {
            let fence = is_fence(line);
            part += usize::from(fence);
            let encloses = part % 2 == usize::from(!lacks_first) && (reads_all || is_code(part));
            !fence && (encloses || has_first_block.get(part) == Some(&true))
        })
    })
}

/// What stands in comments of several lines that have a listing: if there is one nowhere else, nothing else is read.
/// The comment may open on the first line of the listing, and close on the last. What is printed behind the place of a
/// macro, `#= REPL[2]:1 =# @code_typed(f(1)) = CodeInfo(`, is in no comment.
pub(super) fn in_block_comments(text: &str) -> Option<String> {
    if !text.contains("#=") || !text.contains("=#") {
        return None;
    }
    let (lines, has_listing) = commented(text)?;
    let starts = |line: &str| starts_block(line) || irtools::starts_listing(line);
    let reads_outside = !has_listing.contains(&true)
        || lines.iter().any(|line| matches!(line.place, Place::Outside) && starts(line.shown));
    let mut out = String::with_capacity(text.len());
    for (line, whole) in lines.into_iter().zip(text.split_inclusive('\n')) {
        let is_read = match line.place {
            Place::Inside(comment) => has_listing.get(comment) == Some(&true),
            Place::Edge => false,
            Place::Outside => reads_outside,
        };
        let shown = if is_read { line.shown } else { whole.trim_end_matches(['\r', '\n']) };
        out.extend([if is_read || shown.trim().is_empty() { "" } else { "#" }, shown]);
        out.extend(whole.ends_with('\n').then_some('\n'));
    }
    Some(out)
}

/// A line of a text with comments of several lines.
struct Commented<'t> {
    /// It without what opens or closes a comment.
    shown: &'t str,
    place: Place,
}

enum Place {
    Outside,
    /// In the comment of this number.
    Inside(usize),
    /// Where a comment opens or closes, with nothing of a listing beside it.
    Edge,
}

/// The lines of a text, and for each of its comments whether it has a listing; `None` if there is none of several
/// lines, or one that does not end.
fn commented(text: &str) -> Option<(Vec<Commented<'_>>, Vec<bool>)> {
    let mut lines = Vec::new();
    let mut has_listing: Vec<bool> = Vec::new();
    let (mut is_open, mut of_irtools, mut shows_macro) = (false, false, false);
    for line in text.lines() {
        let opened = line.trim().strip_prefix("#=").filter(|_| !is_open);
        if let Some((_, behind)) = opened.and_then(|opened| opened.split_once("=#"))
            && !behind.trim().is_empty()
        {
            let prints = behind.trim_end().ends_with("CodeInfo(");
            shows_macro |= prints;
            lines.push(Commented { shown: if prints { behind.trim_start() } else { line }, place: Place::Outside });
            continue;
        }
        let opens = opened.is_some();
        has_listing.extend(opens.then_some(false));
        let closed = line.trim_end().strip_suffix("=#").filter(|_| is_open || opens);
        let Some(found) = has_listing.last_mut().filter(|_| is_open || opens) else {
            lines.push(Commented { shown: line, place: Place::Outside });
            continue;
        };
        is_open = closed.is_none();
        let shown = match (opened, closed) {
            (Some(opened), None) => opened.trim_start(),
            (None, Some(closed)) => closed.trim_end(),
            // One that is closed at once.
            (Some(_), Some(_)) => "",
            (None, None) => line,
        };
        of_irtools = !opens && of_irtools || irtools::starts_listing(shown);
        *found |= of_irtools || starts_block(shown);
        let is_read = is_part_of_listing(shown) || of_irtools && irtools::is_part_of_listing(shown);
        let is_edge = (opens || closed.is_some()) && !is_read;
        lines
            .push(Commented { shown, place: if is_edge { Place::Edge } else { Place::Inside(has_listing.len() - 1) } });
    }
    (!is_open && (shows_macro || !has_listing.is_empty())).then_some((lines, has_listing))
}

/// How other programs mark comments and quotations.
const PREFIXES: &[&str] = &["#", "//", ";", ">", ">>", "> >", "<", "+", "-", "%", "--", "*", "|"];

/// What stands behind a prefix that a listing has, if no other listing is there.
fn behind_prefix(text: &str) -> Option<String> {
    if text.lines().any(starts_block) {
        return None;
    }
    let behind = |line: &'_ str, prefix: &str| line.trim_start().strip_prefix(prefix).is_some_and(starts_block);
    let prefix = PREFIXES.iter().find(|prefix| text.lines().any(|line| behind(line, prefix)))?;
    let mut out = String::with_capacity(text.len());
    // In a table of variables.
    let mut table = false;
    let mut belongs = |line: &str| {
        if is_part_of_listing(line) {
            table = false;
            return true;
        }
        let trimmed = line.trim();
        let kind = decoration(trimmed);
        table = match kind {
            Some(Decoration::Variables | Decoration::Others) => true,
            _ => table && !trimmed.is_empty(),
        };
        let heads = kind.is_some_and(|kind| kind != Decoration::Nothing);
        heads || trimmed.ends_with("CodeInfo(") || table && variable(trimmed).is_some()
    };
    for line in text.split_inclusive('\n') {
        let behind = line.trim_start().strip_prefix(prefix);
        match behind.map(|behind| behind.strip_prefix(' ').unwrap_or(behind)) {
            // Where something is left out that is no comment.
            Some(behind) if belongs(behind) || is_ellipsis(behind) => out.push_str(behind),
            _ if line.trim().is_empty() => out.push_str(line),
            // Something else that the comment says.
            _ => {
                out.push('#');
                out.push_str(line);
            }
        }
    }
    Some(out)
}

/// Whether a line says that others are left out.
fn is_ellipsis(line: &str) -> bool {
    let dots = line.trim();
    !dots.is_empty()
        && (dots.chars().all(|c| matches!(c, '…' | '⋮' | '⋯')) || dots.len() > 2 && dots.bytes().all(|c| c == b'.'))
}

/// What was printed at the prompts of a session, where it has a listing.
fn behind_prompts(text: &str) -> Option<String> {
    let is_prompt = |line: &str| line.trim_start().starts_with("julia>");
    if !text.contains("julia>") || !text.lines().any(is_prompt) {
        return None;
    }
    // For each line, whether it is read.
    let mut read: Vec<bool> = Vec::new();
    let mut lines = text.lines().peekable();
    loop {
        let is_first = read.is_empty();
        let printed: Vec<&str> = std::iter::from_fn(|| lines.next_if(|line| !is_prompt(line))).collect();
        let has_listing = printed.iter().any(|line| starts_block(line));
        // What was typed goes on under its first character.
        let typed = |line: &&&str| {
            line.starts_with("       ") && (!is_part_of_listing(line) || line.trim_start().starts_with(')'))
        };
        let typed = if is_first { 0 } else { printed.iter().take_while(typed).count() };
        read.extend((0..printed.len()).map(|position| has_listing && position >= typed));
        if lines.next().is_none() {
            break;
        }
        read.push(false);
    }
    let mut read = read.into_iter();
    Some(with_comments(text, |_| read.next() != Some(false)))
}

/// The text in which each line that is not to be read is a comment.
pub(super) fn with_comments(text: &str, mut is_read: impl FnMut(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if !is_read(line) && !line.trim().is_empty() {
            out.push('#');
        }
        out.push_str(line);
    }
    out
}

pub(super) fn margin(line: &str) -> Option<Gutter> {
    gutter(&mut Cursor::new(line, 0)).ok().flatten()
}

/// Whether a line is the first one of a block.
pub(super) fn starts_block(line: &str) -> bool {
    margin(line).is_some_and(|margin| margin.block.is_some())
}

pub(super) fn is_part_of_listing(line: &str) -> bool {
    let trimmed = line.trim_start();
    margin(line).is_some() || ["CodeInfo(", ")", "=>", "Body::"].iter().any(|start| trimmed.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::{in_block_comments, listings};
    use crate::{parse_function, parse_module};

    #[test]
    fn frames_of_log_records_go() {
        let plain = parse_function("CodeInfo(\n1 ─ %1 = Main.f(x)::Int64\n└──      return %1\n) => Int64\n").unwrap();
        let record =
            "┌ Info: hello\n│   c =\n│    CodeInfo(\n│    1 ─ %1 = Main.f(x)::Int64\n│    └──      return %1\n";
        for end in ["└    ) => Int64\n", "│    ) => Int64\n└ @ Main REPL[3]:1\n"] {
            assert_eq!(parse_function(&format!("{record}{end}")).unwrap(), plain, "{end}");
            let second = format!("{record}{end}{}{end}", record.replace("Info:", "Warning:"));
            assert_eq!(parse_module(&second).unwrap().module.functions().len(), 2, "{second}");
        }
    }

    #[test]
    fn a_fence_may_open_on_the_first_line() {
        let code = "CodeInfo(\n1 ─      return 1\n) => Int64";
        let plain = parse_function(code).unwrap();
        for text in [format!("```{code}```\n"), format!("words\n```{code}\n```\nwords\n")] {
            assert_eq!(parse_function(&text).unwrap(), plain, "{text}");
        }
    }

    #[test]
    fn comments_of_other_programs_go() {
        let text = "# source: somewhere\n# 1 ─      nothing::Nothing\n# 3 2 ┄ %2 = 1\n#   └──      goto #2\n";
        let expected = "## source: somewhere\n1 ─      nothing::Nothing\n3 2 ┄ %2 = 1\n  └──      goto #2\n";
        assert_eq!(listings(text), expected);
        assert_eq!(listings("// 1 ─      return 1\n//"), "1 ─      return 1\n#//");
        for prefix in ["+", "-", "<", ">> ", "> > "] {
            assert_eq!(listings(&format!("{prefix}1 ─      return 1\n")), "1 ─      return 1\n");
        }
        assert_eq!(listings("# only words\n# more of them\n"), "# only words\n# more of them\n");
    }

    #[test]
    fn a_program_around_comments_with_a_listing_is_not_read() {
        let text = "f(x) = x\n@test f(1) == 1\n# 1 ─      return _2\n";
        assert_eq!(listings(text), "#f(x) = x\n#@test f(1) == 1\n1 ─      return _2\n");
        // Of a file with listings the comments are comments.
        let text = "# 1 ─      return _3\n1 ─      return _2\n";
        assert_eq!(listings(text), text);
    }

    #[test]
    fn of_comments_of_several_lines_those_with_a_listing_are_read() {
        let text = "f(x) = x\n#=\nWords.\n=#\n#=\n1 ─      return _2\n=#\n";
        let read = |text: &str| in_block_comments(text).unwrap();
        assert_eq!(read(text), "#f(x) = x\n##=\n#Words.\n#=#\n##=\n1 ─      return _2\n#=#\n");
        let text = "#= Words.\nMore. =#\n1 ─      return _2\n";
        assert_eq!(read(text), "##= Words.\n#More. =#\n1 ─      return _2\n");
    }

    /// Also where the comment opens or closes on a line of the listing.
    #[test]
    fn a_comment_is_as_good_as_what_is_in_it() {
        for code in [
            "CodeInfo(\n1 ─ %1 = Main.f(x)::Int64\n└──      return %1\n) => Int64",
            "CodeInfo(\n1 ─ %1 = x + 1\n└──      return %1\n)",
            "1 ─ %1 = Base.mul_int(_2, _2)::Int64\n│        Main.foo!(%1)::Any\n└──      return %1\n2 ─      return 7",
            "1: (%1, %2)\n  %3 = %2 * %2\n  br 3 unless %3\n2:\n  return %3\n3:\n  return %2",
        ] {
            let plain = parse_function(code).unwrap();
            for (before, after) in
                [("#=\n", "\n=#\n"), ("#= ", "\n=#"), ("#=\n", " =#\n"), ("#= ", " =#"), ("#=", "=#\n")]
            {
                for program in ["", "f(x) = x\n", "#= Words.\nMore words. =#\n"] {
                    let text = format!("{program}{before}{code}{after}");
                    assert_eq!(parse_function(&text).as_ref(), Ok(&plain), "{text}");
                }
            }
        }
    }

    #[test]
    fn what_a_macro_prints_is_read_behind_its_place() {
        let code = "CodeInfo(\n1 ─ %1 = Main.f(x)::Int64\n└──      return %1\n) => Int64\n";
        let printed = format!("#= REPL[2]:1 =# @code_typed(f(1)) = {code}");
        assert_eq!(parse_function(&printed), parse_function(code));
        assert_eq!(parse_module(&printed.repeat(2)).unwrap().module.functions().len(), 2);
    }

    #[test]
    fn a_table_of_variables_is_read_in_comments_and_above_a_lone_fence() {
        let table = "MethodInstance for f(::Int64, ::Bool)\n  from f(x, flag) in Main\nArguments\n  #self#::Core.Const(f)\n  x::Int64\n  flag::Bool\n";
        let code = "Body::Int64\n1 ─      goto #3 if not flag\n2 ─      return x\n3 ─      return 0\n";
        let plain = parse_function(&format!("{table}{code}")).unwrap();
        assert_eq!(plain.body.argtypes.len(), 3);
        for prefix in ["# ", "// ", "> "] {
            let lines: String = format!("{table}{code}").lines().map(|line| format!("{prefix}{line}\n")).collect();
            assert_eq!(parse_function(&format!("f(1, true)\n{lines}")).unwrap(), plain, "{lines}");
        }
        assert_eq!(parse_function(&format!("{table}{code}```\n")).unwrap(), plain);
        assert_eq!(parse_function(&format!("{table}{code}```\nWords, and `code`.\n")).unwrap(), plain);
    }

    #[test]
    fn a_thunk_is_read_in_comments() {
        let thunk = ":($(Expr(:thunk, CodeInfo(\n    @ none within `top-level scope`\n1 ─ %1 = 1 + 2\n└──      return %1\n))))\n";
        let commented: String = thunk.lines().map(|line| format!("# {line}\n")).collect();
        assert_eq!(parse_function(&format!("Meta.lower(Main, :(1 + 2))\n{commented}")), parse_function(thunk));
    }

    #[test]
    fn what_ends_a_string_or_a_fence_on_the_last_line_is_no_part_of_a_type() {
        let code = "CodeInfo(\n1 ─     return 1\n) => Int64";
        let plain = parse_function(code);
        for text in [format!("```\n{code}```\n"), format!("text = \"\"\"\n{code}\"\"\"\n")] {
            assert_eq!(parse_function(&text).ok(), plain.clone().ok(), "{text}");
        }
        let pointed = code.replace("return 1", "nothing::Nothing   <-- this one\n└──     return 1");
        assert_eq!(parse_function(&pointed).ok(), parse_function(&pointed.replace("   <-- this one", "")).ok());
        assert!(parse_function(&pointed.replace("<--", "words")).is_err());
    }

    #[test]
    fn a_listing_outside_of_fences_is_read_as_well() {
        let listing = |number| format!("CodeInfo(\n1 ─     return {number}\n) => Int64\n");
        let (one, two) = (listing(1), listing(2));
        for text in [
            format!("{one}```\nsome text\n{two}```\n"),
            format!("One.\n\n{one}\nAnother.\n```\n{two}```\n"),
            format!("```\n{one}```\nAnother.\n{two}\nThat was it.\n"),
        ] {
            assert_eq!(parse_module(&text).unwrap().module.functions().len(), 2, "{text}");
        }
    }

    #[test]
    fn what_was_typed_on_several_lines_is_not_read() {
        let listing = "CodeInfo(\n1 ─      return 1\n) => Int64\n";
        let typed = "julia> code_typed(\n           f,\n           (Int,),\n       )[1]\n";
        assert_eq!(parse_function(&format!("{typed}{listing}")).unwrap(), parse_function(listing).unwrap());
    }

    #[test]
    fn what_workers_print_is_read() {
        let text = "      From worker 2:\t1 ─ %1 = _2\n      From worker 12:\t└──      return %1\n";
        assert_eq!(listings(text), "1 ─ %1 = _2\n└──      return %1\n");
    }

    #[test]
    fn of_a_session_what_printed_a_listing_is_read() {
        let text = "\
Welcome.
julia> function f(x)
           x
       end
f (generic function with 1 method)

julia> f(3)
3

julia> code_typed(f,
                  (Int,))
1 ─      return _2

julia> f(4)
4
";
        let expected = "\
#Welcome.
#julia> function f(x)
#           x
#       end
#f (generic function with 1 method)

#julia> f(3)
#3

#julia> code_typed(f,
#                  (Int,))
1 ─      return _2

#julia> f(4)
#4
";
        assert_eq!(listings(text), expected);
    }
}
