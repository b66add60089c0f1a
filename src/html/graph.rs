//! A control-flow graph as an SVG drawing.

use std::fmt::Write;

use ircode::text::StatementPrinter;
use ircode::{BlockView, Body, Names, StatementView, Stmt, Style, SwitchNode, View};

use super::escape::{escape_into, escaped};
use super::layout::{self, Drawing, Side, Size, rounded};
use super::listing::{Manner, without_sigil, write_token};
use super::token::Tokens;

/// How wide a character of the drawing is: a little more than in the fonts that are common, at the size of the style
/// sheet.
const CHARACTER: f64 = 6.7;
/// From line to line.
const LINE: f64 = 15.0;
/// Inside of a box, at its sides.
const PADDING: f64 = 9.0;
/// The line with the name of the block.
const TITLE: f64 = 19.0;
/// Below the last line.
const BOTTOM: f64 = 6.0;
/// At most this many statements of a block are shown; of a longer one the first, and its last.
const MOST_LINES: usize = 12;
/// At most this many characters of a statement are shown.
const MOST_CHARACTERS: usize = 50;
/// The least width of a box, in characters.
const LEAST_CHARACTERS: usize = 15;

/// What an edge is, as a class of the style sheet, with the label beside its start.
struct EdgeKind {
    class: &'static str,
    label: String,
}

/// A line in a box: a statement, or how many are left out.
struct Line<N: Names> {
    name: Option<N::Value>,
    tokens: Tokens,
}

/// The control-flow graph of a function. `is_new` tells the blocks to be marked as new, without their sigils.
pub(crate) fn svg<B: Body>(body: &B, style: Style, manner: Manner<'_>, is_new: &dyn Fn(&str) -> bool) -> String {
    let view = body.view();
    let graph = view.graph();
    let mut edges = Vec::with_capacity(graph.len() * 2);
    let mut kinds = Vec::with_capacity(graph.len() * 2);
    for (from, block) in view.blocks.iter().enumerate() {
        let kind_of = edge_kinds(&view, block);
        for (succ, kind) in block.succs.iter().zip(kind_of) {
            if let Some(to) = view.block_index(*succ) {
                edges.push((from, to));
                kinds.push(kind);
            }
        }
    }
    let printer = StatementPrinter::new(style);
    let too_large = || {
        let most = layout::MOST_BLOCKS;
        format!(
            "<p class=\"note\">The drawing is left out: {} blocks and {} edges are more than can be read (at most \
             {most} blocks are drawn).</p>\n",
            view.blocks.len(),
            edges.len()
        )
    };
    if view.blocks.len() > layout::MOST_BLOCKS {
        return too_large();
    }
    let contents: Vec<Vec<Line<B::Names>>> = view.blocks.iter().map(|block| contents(&view, block, &printer)).collect();
    let sizes: Vec<Size> = contents.iter().map(|lines| size(lines)).collect();
    let Some(drawing) = layout::layout(&sizes, &edges) else { return too_large() };
    let reachable = graph.reachable();
    let is_reachable = |index: usize| reachable.get(index).copied().unwrap_or(false);
    let names: Vec<String> =
        view.blocks.iter().map(|block| format!("{}{}", manner.prefix, without_sigil(block.name))).collect();
    let mut out = String::new();
    let Drawing { size, .. } = &drawing;
    let (width, height) = (rounded(size.width), rounded(size.height));
    let _ = writeln!(
        out,
        "<svg class=\"cfg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"control-flow graph\">"
    );
    for ((path, kind), &(from, to)) in drawing.edges.iter().zip(&kinds).zip(&edges) {
        let faded = if is_reachable(from) { "" } else { " dead" };
        let back = if path.back { " back" } else { "" };
        let _ = write!(
            out,
            "<g class=\"edge {}{back}{faded}\" data-e=\"{} {}\"><path class=\"reach\" d=\"{line}\"/><path \
             class=\"line\" d=\"{line}\"/><path class=\"tip\" d=\"{}\"/>",
            kind.class,
            names[from],
            names[to],
            path.head,
            line = path.line,
        );
        if !kind.label.is_empty() {
            let (dx, anchor) = match path.side {
                Side::Left => (-5.0, "end"),
                Side::Right => (5.0, "start"),
            };
            let (x, y) = (rounded(path.start.0 + dx), rounded(path.start.1 + 13.0));
            let _ = write!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>", escaped(&kind.label));
        }
        out.push_str("</g>\n");
    }
    for (index, (block, lines)) in view.blocks.iter().zip(&contents).enumerate() {
        let class = match (is_reachable(index), is_new(&without_sigil(block.name))) {
            (false, _) => " dead",
            (true, true) => " new",
            (true, false) => "",
        };
        let (at, size) = (drawing.boxes[index], sizes[index]);
        let (x, y) = (rounded(at.0), rounded(at.1));
        let _ = write!(
            out,
            "<g class=\"box{class}\" data-b=\"{0}\" tabindex=\"0\" transform=\"translate({x} {y})\"><rect width=\"{1}\" \
             height=\"{2}\" rx=\"5\"/><path class=\"rule\" d=\"M0 {TITLE}H{1}\"/><text class=\"title\" x=\"{PADDING}\" \
             y=\"13.5\">",
            names[index],
            rounded(size.width),
            rounded(size.height),
        );
        escape_into(&mut out, &block.name.to_string());
        out.push_str("</text>");
        let remark = remark(&view, block, index, is_reachable(index));
        if !remark.is_empty() {
            let x = rounded(size.width - PADDING);
            let _ = write!(out, "<text class=\"remark\" x=\"{x}\" y=\"13.5\" text-anchor=\"end\">{remark}</text>");
        }
        write_lines(&mut out, lines, manner);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// What is said of a block beside its name.
fn remark<N: Names>(view: &View<'_, N>, block: &BlockView<N>, index: usize, reachable: bool) -> &'static str {
    let last = view.block_statements(block).last().map(|last| last.stmt);
    match (index, last) {
        _ if !reachable => "unreachable",
        (0, _) => "entry",
        (_, Some(Stmt::Return(ret))) if ret.value.is_some() => "return",
        _ => "",
    }
}

/// The lines of a box: statements without their types, which the listing has.
fn contents<N: Names>(view: &View<'_, N>, block: &BlockView<N>, printer: &StatementPrinter) -> Vec<Line<N>> {
    let statements = view.block_statements(block);
    let line = |statement: &StatementView<'_, N>| Line {
        name: Some(statement.name),
        tokens: Tokens::of_statement(view, printer, statement.stmt, None),
    };
    if statements.len() <= MOST_LINES {
        return statements.iter().map(line).collect();
    }
    let left_out = format!("… {} more", statements.len() - (MOST_LINES - 1));
    let left_out = Line { name: None, tokens: Tokens { text: left_out, pieces: Vec::new() } };
    let first = statements.iter().take(MOST_LINES - 2).map(line);
    first.chain([left_out]).chain(statements.last().map(line)).collect()
}

fn size<N: Names>(lines: &[Line<N>]) -> Size {
    let length = |line: &Line<N>| {
        let name = line.name.map_or(0, |name| name.to_string().len() + 1);
        name + line.tokens.text.chars().count()
    };
    let characters = lines.iter().map(length).max().unwrap_or(0).clamp(LEAST_CHARACTERS, MOST_CHARACTERS);
    let rows = if lines.is_empty() { 0.0 } else { lines.len() as f64 * LINE + BOTTOM };
    Size { width: characters as f64 * CHARACTER + 2.0 * PADDING, height: TITLE + rows }
}

fn write_lines<N: Names>(out: &mut String, lines: &[Line<N>], manner: Manner<'_>) {
    let prefix = manner.prefix;
    for (row, Line { name, tokens }) in lines.iter().enumerate() {
        let y = rounded(TITLE + LINE * row as f64 + 13.0);
        let Some(name) = name else {
            let _ = write!(out, "<text class=\"more\" x=\"{PADDING}\" y=\"{y}\">{}</text>", escaped(&tokens.text));
            continue;
        };
        let name = without_sigil(name);
        let _ = write!(
            out,
            "<text x=\"{PADDING}\" y=\"{y}\" data-s=\"{prefix}{name}\"><tspan class=\"v\" \
             data-d=\"{prefix}{name}\">%{name}</tspan> ",
        );
        let mut left = MOST_CHARACTERS.saturating_sub(name.len() + 2);
        for (kind, text) in tokens.iter() {
            let length = text.chars().count();
            if length <= left {
                write_token(out, "tspan", kind, text, prefix);
                left -= length;
            } else {
                // What is cut off is a piece of text and no link.
                let part: String = text.chars().take(left.saturating_sub(1)).collect();
                out.push_str(&escaped(&part));
                out.push('…');
                break;
            }
        }
        out.push_str("</text>");
    }
}

/// What the edges of a block are, in the order of its successors.
fn edge_kinds<N: Names>(view: &View<'_, N>, block: &BlockView<N>) -> Vec<EdgeKind> {
    let plain = || EdgeKind { class: "plain", label: String::new() };
    let labelled = |class: &'static str, label: &str| EdgeKind { class, label: label.into() };
    match view.block_statements(block).last().map(|last| last.stmt) {
        Some(Stmt::GotoIfNot(goto)) => {
            let mut taken = false;
            let kind = |succ: &N::Block| {
                // Both ways may lead to the same block.
                if *succ == goto.dest && !std::mem::replace(&mut taken, true) {
                    labelled("false", "false")
                } else {
                    labelled("true", "true")
                }
            };
            block.succs.iter().map(kind).collect()
        }
        Some(Stmt::Enter(enter)) => {
            let mut taken = false;
            let kind = |succ: &N::Block| match enter.catch_dest == Some(*succ) && !std::mem::replace(&mut taken, true) {
                true => labelled("catch", "catch"),
                false => labelled("plain", "try"),
            };
            block.succs.iter().map(kind).collect()
        }
        Some(Stmt::Switch(switch)) => {
            let conditions = switch.conditions().len();
            let kind = |i: usize| match i {
                i if i < conditions => EdgeKind { class: "switch", label: format!("not {}", i + 1) },
                i if i == conditions => labelled("switch", "else"),
                _ => plain(),
            };
            (0..block.succs.len()).map(kind).collect()
        }
        _ => block.succs.iter().map(|_| plain()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use bbcode::{BBCode, Switch};
    use ircode::{Function, IRCode, NewInstruction, Operand, Stmt, Type, parse_function};

    use super::*;

    /// The class and the label of each edge.
    fn edges<B: Body>(body: &B) -> Vec<String> {
        let svg = svg(body, Style::Julia, Manner::default(), &|_| false);
        let edge = |part: &str| {
            let class = part.split('"').next().unwrap_or_default().to_string();
            let ends = part.split("data-e=\"").nth(1).and_then(|part| part.split('"').next()).unwrap_or_default();
            let text = part.split("<text").nth(1).and_then(|part| part.split(['>', '<']).nth(1)).unwrap_or_default();
            format!("{ends}: {class} {text}").trim_end().to_string()
        };
        svg.split("<g class=\"edge ").skip(1).map(edge).collect()
    }

    #[test]
    fn edges_say_when_they_are_taken() -> Result<(), Box<dyn std::error::Error>> {
        let listing = "1 ─ %1 = enter #4\n2 ┄      goto #2 if not _2\n3 ─      return 1\n4 ┄      return 2\n";
        let function: Function<IRCode> = parse_function(listing)?;
        assert_eq!(
            edges(&function.body),
            ["1 4: catch catch", "1 2: plain try", "2 2: false back false", "2 3: true true"]
        );
        let mut bb = BBCode::try_from(&function.body)?;
        let blocks: Vec<_> = bb.blocks().collect();
        let switch = Switch::new([(Operand::argument(2), blocks[1]), (Operand::argument(3), blocks[2])], blocks[2]);
        let new = bb.insert_block_after(blocks[3])?;
        bb.push(new, NewInstruction::new(Stmt::Switch(switch), Type::Any))?;
        let found = edges(&bb);
        // Nothing leads to the new block.
        for expected in ["5 2: switch dead not 1", "5 3: switch dead not 2", "5 3: switch dead else"] {
            assert!(found.iter().any(|edge| edge == expected), "{expected}: {found:?}");
        }
        Ok(())
    }
}
