//! Pictures: programs as HTML pages, each a file of its own that needs nothing else.
//!
//! A page has a list at the left (functions, or the steps of a pipeline), and for what is picked listings side by side
//! with a drawing of the control-flow graph. Statements, blocks and arguments light up everywhere together when one of
//! their names is pointed at. A page is made of the listings that [`ircode::print_function`] and
//! [`bbcode::print_function`] print, character by character: IRCode that is copied from it can be read again. BBCode is
//! read from JSON only, as its names are no numbers of lines.
//!
//! The same input gives the same bytes.

mod derivative;
mod diff;
mod escape;
mod graph;
mod layout;
mod listing;
mod page;
mod pipeline;
mod token;

use bbcode::{BBCode, ConversionError};
use ircode::text::print_declaration;
use ircode::wording::counted;
use ircode::{Function, IRCode, Module, Style};

use self::escape::escaped;
use self::listing::{Listing, Manner};
use self::page::{Item, Page, graph_panel, listing_panel, panels, rows_panel, shown_name};

pub use self::derivative::derivative_page;
pub use self::pipeline::PipelineRecorder;

/// The page of a program: every function as IRCode, in this style, as BBCode, and as a drawing of its control flow.
/// `title` names the program.
///
/// Functions come in the order of the module, behind them what it declares.
///
/// ```
/// let parsed = ircode::parse_module("
/// function same(x::Float64)::Float64
/// 1 ─ return x
/// end
/// ")?;
/// let page = bbkit::html::module_page("same.ir", &parsed.module, Default::default())?;
/// assert!(page.starts_with("<!doctype html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`ConversionError`], which verified code without pending nodes never gives.
pub fn module_page(title: &str, module: &Module<IRCode>, style: Style) -> Result<String, ConversionError> {
    let count = module.functions().len();
    let mut page = Page::new(title, &counted(count, "function"));
    for function in module.functions() {
        let facts = size(&function.body);
        let name = shown_name(&function.name);
        let item = Item { name, detail: &facts, class: "function" };
        page.add(&item, name, &facts, &function_panels(function, style)?);
    }
    let declarations: Vec<String> = module.declarations().map(|declaration| print_declaration(&declaration)).collect();
    if !declarations.is_empty() {
        let facts = counted(declarations.len(), "declaration");
        let item = Item { name: "declarations", detail: &facts, class: "function" };
        let width = declarations.iter().flat_map(|text| text.lines()).map(|line| line.chars().count()).max();
        let rows = format!("<pre>{}</pre>", escaped(declarations.join("\n").trim_end()));
        let panel = rows_panel("Declarations", "types, constants and tables", &rows, width.unwrap_or(0), false);
        page.add(&item, "Declarations", &facts, &panels(&[panel], ""));
    }
    Ok(page.finish())
}

/// A function in both representations, with its graph.
fn function_panels(function: &Function<IRCode>, style: Style) -> Result<String, ConversionError> {
    let keyed = function.map(|body| BBCode::try_from(body))?;
    let left = listing_panel("IRCode", "by position", &Listing::of_ircode(function, style), Manner::default());
    let right = listing_panel("BBCode", "keyed by ID", &Listing::of_bbcode(&keyed), Manner::default());
    let drawing = graph::svg(&function.body, style, Manner::default(), &|_| false);
    Ok(panels(&[left, right], &graph_panel("Control flow", &drawing)))
}

fn size(body: &IRCode) -> String {
    format!("{} · {}", counted(body.stmts.len(), "statement"), counted(body.cfg.blocks.len(), "block"))
}
