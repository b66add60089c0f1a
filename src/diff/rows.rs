//! The rows of a comparison of two functions.

use std::fmt::Write;

use bbcode::{BBCode, BlockId, Ids};
use ircode::text::{StatementPrinter, write_header, write_typed};
use ircode::{Function, Instruction, Stmt, Style, Type};

use super::matching::{Matching, matched};
use super::shown::{Namer, Shown, ShownName};
use super::side::Side;
use super::{Change, DiffOptions, DiffRow};

/// The rows of a comparison; none if the functions are equal. A function that is not there has no header.
pub(super) fn rows(a: Option<&Function<BBCode>>, b: Option<&Function<BBCode>>, options: DiffOptions) -> Vec<DiffRow> {
    let none = BBCode::default();
    let (body_a, body_b) = (a.map_or(&none, |a| &a.body), b.map_or(&none, |b| &b.body));
    let (side_a, side_b) = (Side::new(body_a), Side::new(body_b));
    let matching = matched(&side_a, &side_b, options.all);
    let comparison = Comparison { a: &side_a, b: &side_b, matching: &matching, options };
    let mut rows = Vec::new();
    comparison.signature(a, b, &mut rows);
    if rows.iter().all(|row| row.change.is_none()) && comparison.bodies_are_equal() {
        return Vec::new();
    }
    comparison.body(&mut rows);
    let end = |change| DiffRow { change, block: None, text: "end".into() };
    rows.push(end(match (a, b) {
        (Some(_), None) => Some(Change::Removed),
        (None, Some(_)) => Some(Change::Added),
        _ => None,
    }));
    rows
}

/// A row before it has its gutter.
struct Line {
    change: Option<Change>,
    name: Option<String>,
    text: String,
}

struct Comparison<'s, 'a> {
    a: &'s Side<'a>,
    b: &'s Side<'a>,
    matching: &'s Matching,
    options: DiffOptions,
}

impl<'s, 'a> Comparison<'s, 'a> {
    fn names_a(&self) -> Namer<'s, 'a> {
        Namer { side: self.a, other: Some((self.b, self.matching)) }
    }

    fn names_b(&self) -> Namer<'s, 'a> {
        Namer { side: self.b, other: None }
    }

    /// The header, and what else is said of the functions as a whole.
    fn signature(&self, a: Option<&Function<BBCode>>, b: Option<&Function<BBCode>>, rows: &mut Vec<DiffRow>) {
        let header = |function: &Function<BBCode>| {
            let mut text = String::new();
            // Writing to a string does not fail.
            let _ = write_header(&mut text, function, &function.body.argtypes, Style::Julia);
            text
        };
        let same = match (a, b) {
            (Some(a), Some(b)) => {
                let own = usize::from(a.name != b.name);
                let (of_a, of_b) = (&a.body.argtypes, &b.body.argtypes);
                of_a.len() == of_b.len() && of_a.iter().zip(of_b).skip(own).all(|(a, b)| a == b) && a.result == b.result
            }
            _ => false,
        };
        let mut push = |a: Option<String>, b: Option<String>, same: bool| {
            let row = |change, text| DiffRow { change, block: None, text };
            if same {
                rows.extend(b.map(|text| row(None, text)));
            } else {
                rows.extend(a.map(|text| row(Some(Change::Removed), text)));
                rows.extend(b.map(|text| row(Some(Change::Added), text)));
            }
        };
        push(a.map(header), b.map(header), same);
        let mut property = |name: &str, of: &dyn Fn(&Function<BBCode>) -> Option<String>| {
            let (a, b) = (a.and_then(of), b.and_then(of));
            if a != b {
                let text = |value: String| format!("# {name}: {value}");
                push(a.map(text), b.map(text), false);
            }
        };
        property("varargs", &|function| function.varargs.then(|| "the last argument takes all that follow".into()));
        property("static parameters", &|function| list(&function.body.sptypes));
        if self.options.all {
            let names = |function: &Function<BBCode>| {
                let known = function.parameters.iter().any(Option::is_some);
                let name = |name: &Option<ircode::Name>| name.as_ref().map_or("_".into(), ToString::to_string);
                known.then(|| function.parameters.iter().map(name).collect::<Vec<_>>().join(", "))
            };
            property("names of the arguments", &names);
            property("version", &|function| function.body.julia.map(|version| version.to_string()));
            property("meta", &|function| {
                let texts: Vec<String> = function.body.meta.iter().map(ToString::to_string).collect();
                (!texts.is_empty()).then(|| texts.join(", "))
            });
            property("debug info", &|function| serde_json::to_string(&*function.body.debuginfo).ok());
        }
    }

    fn bodies_are_equal(&self) -> bool {
        self.a.statements.len() == self.b.statements.len()
            && self.a.blocks.len() == self.b.blocks.len()
            && (0..self.a.statements.len()).all(|x| self.matching.statements.of_a(x).is_some_and(|y| self.equal(x, y)))
            && (0..self.a.blocks.len()).all(|x| {
                self.matching.blocks.of_a(x).is_some_and(|y| {
                    let (exits, edges) = (self.exits(x, y), self.edges(x, y));
                    exits.0 == exits.1 && edges.0 == edges.1 && self.gotos_are_equal(x, y)
                })
            })
    }

    /// Whether two statements that stand for each other are equal.
    fn equal(&self, x: usize, y: usize) -> bool {
        let (of_a, of_b) = (self.a.statements[x].1, self.b.statements[y].1);
        of_a.ty == of_b.ty
            && self.names_a().stmt(&of_a.stmt) == self.names_b().stmt(&of_b.stmt)
            && (!self.options.all || attributes_are_equal(of_a, of_b))
    }

    /// Gotos are compared where both functions have one: whether there must be one depends on the layout.
    fn gotos_are_equal(&self, x: usize, y: usize) -> bool {
        let goto = |side: &Side<'a>, number: usize| side.blocks[number].goto.and_then(|goto| side.bb.inst(goto));
        match (goto(self.a, x), goto(self.b, y)) {
            (Some(of_a), Some(of_b)) if self.options.all => attributes_are_equal(of_a, of_b),
            _ => true,
        }
    }

    fn exits(&self, x: usize, y: usize) -> (Option<ShownName<BlockId>>, Option<ShownName<BlockId>>) {
        let exit = |names: Namer<'_, '_>, exit: Option<BlockId>| exit.map(|exit| names.block_name(exit));
        (exit(self.names_a(), self.a.blocks[x].exit), exit(self.names_b(), self.b.blocks[y].exit))
    }

    fn edges(&self, x: usize, y: usize) -> (Option<String>, Option<String>) {
        (edges(&self.names_a(), &self.a.blocks[x].id), edges(&self.names_b(), &self.b.blocks[y].id))
    }

    /// The blocks of the second function in their order, each of the first function's own behind the one that it
    /// follows there.
    fn body(&self, rows: &mut Vec<DiffRow>) {
        let mut removed: Vec<Vec<usize>> = vec![Vec::new(); self.b.blocks.len() + 1];
        let mut place = 0;
        for x in 0..self.a.blocks.len() {
            match self.matching.blocks.of_a(x) {
                Some(y) => place = y + 1,
                None => removed[place].push(x),
            }
        }
        let mut joined = vec![0; self.b.blocks.len()];
        for &succ in self.b.blocks.iter().flat_map(|block| &block.succs) {
            joined[succ] += 1;
        }
        let mut blocks = Vec::new();
        // The widths of the names of blocks and values.
        let mut names = (0, 0);
        for (y, before) in removed.iter().enumerate() {
            let before = before.iter().map(|&x| (Some(x), None));
            let own = (y < self.b.blocks.len()).then(|| (self.matching.blocks.of_b(y), Some(y)));
            for (x, y) in before.chain(own) {
                let lines = self.block(x, y);
                let name = match y {
                    Some(y) => self.names_b().block_name(self.b.blocks[y].id),
                    None => self.names_a().block_name(self.a.blocks[x.unwrap_or_default()].id),
                };
                let name = name.to_string().trim_start_matches('#').to_string();
                let joins = y.is_some_and(|y| joined[y] > 1);
                names.0 = names.0.max(name.len());
                names.1 = lines.iter().filter_map(|line| line.name.as_ref()).map(String::len).fold(names.1, usize::max);
                blocks.push((name, joins, lines));
            }
        }
        for (name, joins, lines) in blocks {
            let rule = if joins { '┄' } else { '─' };
            let count = lines.len();
            // Where a block starts otherwise than before, both starts have its name.
            let start = lines.iter().position(|line| line.change != Some(Change::Removed)).unwrap_or_default();
            for (row, line) in lines.into_iter().enumerate() {
                let gutter = match row {
                    row if row <= start => format!("{name} {rule}{}", "─".repeat(names.0 - name.len())),
                    row if row + 1 == count => format!("└{}", "─".repeat(names.0 + 1)),
                    _ => format!("│{}", " ".repeat(names.0 + 1)),
                };
                let text = match line.name {
                    Some(value) => format!("{gutter} {value:<width$} = {}", line.text, width = names.1),
                    None => format!("{gutter} {:width$}   {}", "", line.text, width = names.1),
                };
                rows.push(DiffRow { change: line.change, block: Some(name.clone()), text });
            }
        }
    }

    /// The lines of a block, or of two that stand for each other.
    fn block(&self, x: Option<usize>, y: Option<usize>) -> Vec<Line> {
        let mut lines = Vec::new();
        let (of_a, of_b) = (x.map(|x| &self.a.blocks[x]), y.map(|y| &self.b.blocks[y]));
        let of_a_matched = |x: usize| self.matching.statements.of_a(x);
        // φs have no order: those that are gone come first.
        let phis = |range: Option<std::ops::Range<usize>>| range.unwrap_or_default();
        for x in phis(of_a.map(|block| block.phis.clone())).filter(|&x| of_a_matched(x).is_none()) {
            self.statement(Some(x), None, &mut lines);
        }
        for y in phis(of_b.map(|block| block.phis.clone())) {
            self.statement(self.matching.statements.of_b(y), Some(y), &mut lines);
        }
        let mut rest = phis(of_a.map(|block| block.body.clone()));
        for y in phis(of_b.map(|block| block.body.clone())) {
            let partner = self.matching.statements.of_b(y);
            if let Some(partner) = partner {
                for x in rest.by_ref().take_while(|&x| x != partner) {
                    self.statement(Some(x), None, &mut lines);
                }
            }
            self.statement(partner, Some(y), &mut lines);
        }
        for x in rest {
            self.statement(Some(x), None, &mut lines);
        }
        self.ends(x, y, &mut lines);
        lines
    }

    fn statement(&self, x: Option<usize>, y: Option<usize>, lines: &mut Vec<Line>) {
        let equal = matches!((x, y), (Some(x), Some(y)) if self.equal(x, y));
        let attributes = self.options.all
            && matches!((x, y), (Some(x), Some(y)) if !attributes_are_equal(self.a.statements[x].1, self.b.statements[y].1));
        if let (Some(x), false) = (x, equal) {
            lines.push(line(Change::Removed, &mut self.names_a(), self.a.statements[x], attributes));
        }
        if let Some(y) = y {
            let mut line = line(Change::Added, &mut self.names_b(), self.b.statements[y], attributes);
            if equal {
                line.change = None;
            }
            lines.push(line);
        }
    }

    /// Where control goes on at the end of a block, and edges that nothing implies.
    fn ends(&self, x: Option<usize>, y: Option<usize>, lines: &mut Vec<Line>) {
        let text = |side: &Side<'a>, number: usize, names: &Namer<'_, '_>| {
            let block = &side.blocks[number];
            let verb = if block.goto.is_some() { "goto" } else { "next" };
            let goto = block.goto.filter(|_| self.options.all).and_then(|goto| side.bb.inst(goto));
            let attributes = goto.filter(|_| matches!((x, y), (Some(x), Some(y)) if !self.gotos_are_equal(x, y)));
            let attributes = attributes.map(attribute_text).unwrap_or_default();
            block.exit.map(|exit| format!("{verb} {}{attributes}", names.block_name(exit)))
        };
        // What the layout shows need not be said.
        let layout_shows = |side: &Side<'a>, number: usize| {
            let block = &side.blocks[number];
            block.goto.is_none() && block.exit == side.blocks.get(number + 1).map(|next| next.id)
        };
        let alone = x.is_none() || y.is_none();
        let said = |side: &Side<'a>, number: usize| !(alone && !lines.is_empty() && layout_shows(side, number));
        let of_a = x.filter(|&x| said(self.a, x)).and_then(|x| text(self.a, x, &self.names_a()));
        let of_b = y.filter(|&y| said(self.b, y)).and_then(|y| text(self.b, y, &self.names_b()));
        let plain = |change, text| Line { change, name: None, text };
        let same = matches!((x, y), (Some(x), Some(y)) if self.gotos_are_equal(x, y) && {
            let exits = self.exits(x, y);
            exits.0 == exits.1
        });
        if same {
            let shown = lines.is_empty() || y.is_some_and(|y| !layout_shows(self.b, y));
            lines.extend(of_b.filter(|_| shown).map(|text| plain(None, text)));
        } else {
            lines.extend(of_a.map(|text| plain(Some(Change::Removed), text)));
            lines.extend(of_b.map(|text| plain(Some(Change::Added), text)));
        }
        let of_a = x.and_then(|x| edges(&self.names_a(), &self.a.blocks[x].id));
        let of_b = y.and_then(|y| edges(&self.names_b(), &self.b.blocks[y].id));
        if of_a != of_b {
            lines.extend(of_a.map(|text| plain(Some(Change::Removed), text)));
            lines.extend(of_b.map(|text| plain(Some(Change::Added), text)));
        }
        if lines.is_empty() {
            let change = match (x, y) {
                (Some(_), Some(_)) => None,
                (Some(_), None) => Some(Change::Removed),
                _ => Some(Change::Added),
            };
            lines.push(plain(change, String::new()));
        }
    }
}

fn list(types: &[Type]) -> Option<String> {
    (!types.is_empty()).then(|| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", "))
}

fn attributes_are_equal(a: &Instruction<Ids>, b: &Instruction<Ids>) -> bool {
    (&a.info, a.line, a.flag) == (&b.info, b.line, b.flag)
}

fn attribute_text(inst: &Instruction<Ids>) -> String {
    let line = inst.line;
    let info = inst.info.0.as_ref().map(|info| format!(" info {info}")).unwrap_or_default();
    format!("  # line {} {} {} flag {}{info}", line.line, line.edge, line.pc, inst.flag)
}

fn line(
    change: Change,
    names: &mut Namer<'_, '_>,
    (id, inst): (bbcode::InstId, &Instruction<Ids>),
    attributes: bool,
) -> Line {
    let mut text = String::new();
    let shown: Stmt<Shown> = names.stmt(&inst.stmt);
    // Writing to a string does not fail.
    let _ = write_typed(&mut text, &StatementPrinter::new(Style::Julia), &shown, &inst.ty);
    if attributes {
        let _ = text.write_str(&attribute_text(inst));
    }
    let named = !inst.stmt.is_terminator() || matches!(inst.stmt, Stmt::Enter(_));
    Line { change: Some(change), name: named.then(|| names.value_name(id).to_string()), text }
}

/// The edges of a block that nothing implies, in words.
fn edges(names: &Namer<'_, '_>, block: &BlockId) -> Option<String> {
    let odd = names.side.bb.block(*block)?.odd_edges()?;
    let mut parts = Vec::new();
    if odd.virtual_preds > 0 {
        parts.push(format!("{} from outside", odd.virtual_preds));
    }
    let preds: Vec<BlockId> = odd.extra_preds.iter().chain(&odd.stale_preds).copied().collect();
    for (what, blocks) in [("also to", &odd.extra_succs), ("not to", &odd.missing_succs), ("also from", &preds)] {
        let mut shown: Vec<ShownName<BlockId>> = blocks.iter().map(|&block| names.block_name(block)).collect();
        shown.sort_unstable();
        if !shown.is_empty() {
            let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
            parts.push(format!("{what} {}", shown.join(", ")));
        }
    }
    Some(format!("# edges: {}", parts.join("; ")))
}
