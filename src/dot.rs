//! Pictures: the control-flow graph in the language of Graphviz.

use std::fmt::Write;

use ircode::text::{StatementPrinter, write_typed};
use ircode::{Body, IRCode, Module, Style};

/// The functions of a module as DOT, one cluster each: blocks as boxes with their statements, edges labelled where they
/// depend on a condition.
pub fn dot(module: &Module<IRCode>) -> String {
    let mut out = String::from("digraph module {\n  node [shape=box, fontname=\"monospace\"];\n");
    for (number, function) in module.functions().iter().enumerate() {
        let view = function.body.view();
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
                let _ = writeln!(
                    out,
                    "    f{number}_b{} -> f{number}_b{}{};",
                    i + 1,
                    succ.0,
                    edge_label(&view, block, *succ)
                );
            }
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

fn edge_label(
    view: &ircode::View<'_, ircode::Positions>,
    block: &ircode::BlockView<ircode::Positions>,
    succ: ircode::BlockNumber,
) -> &'static str {
    match view.block_statements(block).last().map(|last| last.stmt) {
        Some(ircode::Stmt::GotoIfNot(goto)) if goto.dest == succ => " [label=\"false\"]",
        Some(ircode::Stmt::GotoIfNot(_)) => " [label=\"true\"]",
        Some(ircode::Stmt::Enter(enter)) if enter.catch_dest == Some(succ) => " [label=\"catch\", style=dashed]",
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
