//! Pictures: the control-flow graph in the language of Graphviz.

use std::fmt::Write;

use hashbrown::HashMap;
use ircode::text::{StatementPrinter, write_typed};
use ircode::{BlockView, Body, Module, Names, Stmt, Style, View};

/// The functions of a module in either representation as DOT, one cluster each: blocks as boxes with their statements,
/// edges labelled where they depend on a condition.
///
/// ```
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function f(x::Float64)::Float64
/// 1 ─     return x
/// end
/// ")?.module;
/// let picture = bbkit::dot(&bbkit::to_bbcode(&module)?);
/// assert!(picture.contains("%1 = return _2"), "{picture}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn dot<F: Body>(module: &Module<F>) -> String {
    let mut out = String::from("digraph module {\n  node [shape=box, fontname=\"monospace\"];\n");
    for (number, function) in module.functions().iter().enumerate() {
        let view = function.body.view();
        let positions: HashMap<_, usize> = view.blocks.iter().zip(1..).map(|(block, at)| (block.name, at)).collect();
        // Writing to a string does not fail.
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={};", quoted(&function.name));
        for (i, block) in view.blocks.iter().enumerate() {
            let mut text = format!("{}\n", block.name);
            for statement in view.block_statements(block) {
                let _ = write!(text, "{} = ", statement.name);
                let printer = StatementPrinter::new(Style::Julia);
                let _ = write_typed(&mut text, &printer, statement.stmt, statement.ty);
                text.push('\n');
            }
            // Each line ends flush left.
            let label: String = text.lines().map(|line| format!("{}\\l", escaped(line))).collect();
            let _ = writeln!(out, "    f{number}_b{} [label=\"{label}\"];", i + 1);
            for succ in &block.succs {
                let (from, label) = (i + 1, edge_label(&view, block, *succ));
                if let Some(to) = positions.get(succ) {
                    let _ = writeln!(out, "    f{number}_b{from} -> f{number}_b{to}{label};");
                }
            }
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

fn edge_label<N: Names>(view: &View<'_, N>, block: &BlockView<N>, succ: N::Block) -> &'static str {
    match view.block_statements(block).last().map(|last| last.stmt) {
        Some(Stmt::GotoIfNot(goto)) if goto.dest == succ => " [label=\"false\"]",
        Some(Stmt::GotoIfNot(_)) => " [label=\"true\"]",
        Some(Stmt::Enter(enter)) if enter.catch_dest == Some(succ) => " [label=\"catch\", style=dashed]",
        _ => "",
    }
}

/// A string of DOT.
fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
