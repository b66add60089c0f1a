//! The page of a derivative.

use bbcode::ConversionError;
use ircode::wording::counted;
use ircode::{Function, IRCode, Module, Name, Style};
use passes::reverse_mode::DerivativeNames;

use super::graph;
use super::listing::{Listing, Manner};
use super::page::{Item, Page, graph_panel, listing_panel, panels, shown_name};

/// What the keys of the primal begin with, where it stands beside what was made from it.
const PRIMAL: &str = "p";

/// The page of a derivative: the function, its forward pass, its pullback, and what runs both; then those of the
/// functions that it calls. Each derived function stands beside the one from which it was made, and shows for every
/// statement from which one that is.
///
/// `module` is what [`gradient`](crate::gradient) gives, or a module to which
/// [`differentiate`](passes::reverse_mode::differentiate) has added the derivative of the function `name`. `title`
/// names the program, and `about` is a line on what is shown.
///
/// ```
/// use exec::Value;
///
/// let parsed = ircode::parse_module("
/// function square(x::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// └──      return %1
/// end
/// ")?;
/// let result = bbkit::gradient(&parsed.module, "square", &[Value::from(3.0)], Default::default())?;
/// let page = bbkit::html::derivative_page("square.ir", "the gradient at 3 is 6", &result.module, "square")?;
/// assert!(page.contains("data-from=\"%1\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`ConversionError`], which verified code never gives.
pub fn derivative_page(
    title: &str,
    about: &str,
    module: &Module<IRCode>,
    name: &str,
) -> Result<String, ConversionError> {
    let mut page = Page::new(title, about);
    // The function that was asked for first, then the others that have a derivative.
    let asked = module.functions().iter().filter(|function| function.name == *name);
    let others = module.functions().iter().filter(|function| function.name != *name);
    for primal in asked.chain(others) {
        let names = DerivativeNames::of(&primal.name);
        let derived = [
            (&names.forward, "forward pass", "saves what the pullback needs in a trace"),
            (&names.pullback, "pullback", "runs the blocks backwards, and gives the cotangents of the arguments"),
            (
                &names.value_and_gradient,
                "value and gradient",
                "runs the forward pass, then the pullback with a seed of 1",
            ),
        ];
        if derived.iter().all(|(name, ..)| module.function(name).is_none()) {
            continue;
        }
        let shown = shown_name(&primal.name);
        let content = super::function_panels(primal, Style::Julia)?;
        let facts = format!("the function itself · {}", super::size(&primal.body));
        page.add(&Item { name: shown, detail: "the primal", class: "initial" }, shown, &facts, &content);
        for (name, what, about) in derived {
            if let Some(function) = module.function(name) {
                let statements = counted(function.body.stmts.len(), "statement");
                let item = Item { name: what, detail: &format!("{name} · {statements}"), class: "derived" };
                let facts = format!("{what} of {shown} · {about} · {}", super::size(&function.body));
                page.add(&item, name, &facts, &beside(primal, function));
            }
        }
    }
    Ok(page.finish())
}

/// A derived function beside the one from which it was made.
fn beside(primal: &Function<IRCode>, derived: &Function<IRCode>) -> String {
    let name: &Name = &primal.name;
    let of = Manner { prefix: PRIMAL, primal: None };
    let manner = Manner { prefix: "", primal: Some((name, PRIMAL)) };
    let left = listing_panel("Primal", shown_name(name), &Listing::of_ircode(primal, Style::Julia), of);
    let listing = Listing::of_ircode(derived, Style::Julia);
    let right = listing_panel("Derived", "with the statements of the primal that these come from", &listing, manner);
    let drawing = graph::svg(&derived.body, Style::Julia, Manner::default(), &|_| false);
    panels(&[left, right], &graph_panel("Control flow", &drawing))
}
