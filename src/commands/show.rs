//! `bbkit show`: print a program in one of its forms.

use bbkit::{Input, activity, dot, html, print_activity};
use clap::{Args, ValueEnum};
use ircode::{Declaration, JuliaVersion, Style, print_body, print_function, print_module, to_json};

use super::derivative::{describe, names};
use super::{Failure, fail, output, select};

/// Print a program: as a listing, keyed by ID, as JSON, or its control-flow graph; or as a page with all of
/// these side by side.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit show listing.txt                   the listing, as Julia prints it
  bbkit show file.ir --fn f --as bbcode    one function, keyed by ID
  bbkit show file.ir --style bbkit         exact: reading it back gives the same program
  bbkit show file.ir --fn f --activity --wrt x   what is differentiated with respect to x
  bbkit show file.ir --as dot | dot -Tsvg > file.svg
  bbkit show file.ir --as html > file.html both listings and the graph, in a page that needs nothing else")]
pub(crate) struct Show {
    /// The file, or `-`.
    file: String,
    /// Show this function only.
    #[arg(long = "fn", value_name = "NAME")]
    function: Option<String>,
    /// The form.
    #[arg(long = "as", value_enum, value_name = "FORM", default_value = "ircode")]
    form: Form,
    /// How a listing is printed: `julia`, as Julia 1.11 does; a version such as `1.5`, `1.10` or `1.12`, as that does;
    /// `bbkit`, with everything that Julia omits, so that it can be read back exactly.
    #[arg(long, default_value = "julia", value_parser = style)]
    style: Style,
    /// Say of each statement whether it is active (differentiated), only varied (it depends on the arguments, but no
    /// result depends on it) or only useful (a result depends on it, but it does not depend on the arguments), for
    /// reverse mode.
    #[arg(long)]
    activity: bool,
    /// With --activity: with respect to these arguments only, by number or name. A field stands for its argument.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    wrt: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A listing, numbered by position.
    Ircode,
    /// A listing, keyed by ID.
    Bbcode,
    /// A JSON dump of the IRCode.
    Json,
    /// A JSON dump of the BBCode.
    BbcodeJson,
    /// The control-flow graph, as Julia prints it.
    Cfg,
    /// The control-flow graph, for Graphviz.
    Dot,
    /// A page: both listings and the control-flow graph side by side, linked to each other.
    Html,
}

/// A style by its name: that of a printer, or a version of Julia.
pub(crate) fn style(name: &str) -> Result<Style, String> {
    match name {
        "julia" => Ok(Style::Julia),
        "bbkit" => Ok(Style::Bbkit),
        version => match version.parse::<JuliaVersion>() {
            Ok(version) if version >= JuliaVersion::new(1, 0) => Ok(Style::Version(version)),
            _ => Err("a style is `julia`, `bbkit`, or a version of Julia such as 1.5, 1.10, 1.12".into()),
        },
    }
}

impl Show {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut input = Input::read(&self.file)?;
        if !self.activity && !self.wrt.is_empty() {
            let message = "--wrt says what --activity is with respect to, and means nothing without it";
            return Err(Failure::of_usage(message));
        }
        if self.activity {
            return self.show_activity(input);
        }
        if self.function.is_some() {
            let name = select(&mut input, self.function.as_deref())?;
            let mut module = ircode::Module::new();
            for mut declaration in input.module.declarations() {
                // Tables name the other functions, which are not shown.
                match &mut declaration {
                    Declaration::Class(class) => class.methods.retain(|entry| entry.function == name),
                    Declaration::Protocol(_) | Declaration::Witness(_) | Declaration::Differentiability(_) => continue,
                    Declaration::Type(_) | Declaration::Global(_) => {}
                }
                module.declare(declaration)?;
            }
            if let Some(function) = input.module.function(&name) {
                module.add_function(function.clone())?;
            }
            let map = input.map(&name).cloned();
            input.module = module;
            input.maps = map.into_iter().collect();
        }
        output(&shown(&mut input, self.form, self.style)?);
        Ok(())
    }
}

impl Show {
    fn show_activity(&self, mut input: Input) -> Result<(), Failure> {
        if self.form != Form::Ircode || self.style != Style::Julia {
            return fail("--activity is shown on a listing in the style `julia`");
        }
        let name = select(&mut input, self.function.as_deref())?;
        super::verified(&input)?;
        input.compact()?;
        let wrt = names(&self.wrt);
        let report = activity(&input.module, &name, wrt.as_deref()).map_err(|error| describe(&input, &error))?;
        if let Some(function) = input.module.function(&name) {
            output(&print_activity(function, &report));
        }
        Ok(())
    }
}

/// What a page of this file is called.
pub(crate) fn title(path: &str) -> &str {
    match path {
        "-" => "standard input",
        path => path.rsplit('/').next().unwrap_or(path),
    }
}

/// The program in a form.
pub(crate) fn shown(input: &mut Input, form: Form, style: Style) -> Result<String, Failure> {
    // A dump may be of anything, and a listing has no place for some of that.
    let unplaced = input.module.functions().iter().find(|function| !holds_each_statement_once(&function.body));
    if let (Some(function), true) = (unplaced, form != Form::Json) {
        let name = &function.name;
        return fail(format!(
            "in `{name}`: the blocks do not hold each statement once; `--as json` shows it, `bbkit verify` says where"
        ));
    }
    if style != Style::Julia && !matches!(form, Form::Ircode | Form::Html) {
        return fail("--style is the manner of a listing of IRCode, and of a page: this form has none");
    }
    Ok(match form {
        Form::Ircode => match (input.module.functions(), style) {
            // A listing without header is printed without one.
            ([only], style) if input.is_listing() && style != Style::Bbkit => print_body(&only.body, style),
            ([only], _) if input.module.declarations().next().is_none() => print_function(only, style),
            _ => print_module(&input.module, style),
        },
        Form::Json => to_json(&input.module)?,
        Form::Cfg => {
            let functions = input.module.functions();
            let titled = |function: &ircode::Function<ircode::IRCode>| match functions.len() {
                1 => function.body.cfg.to_string(),
                _ => format!("{}: {}", function.name, function.body.cfg),
            };
            functions.iter().map(titled).collect::<Vec<_>>().join("\n")
        }
        Form::Dot => dot(&input.module),
        Form::Html if style == Style::Bbkit => return fail("a page has no place for what the style `bbkit` adds"),
        Form::Html if input.module.functions().is_empty() => return fail("there are no functions"),
        Form::Html => {
            input.compact()?;
            html::module_page(title(&input.path), &input.module, style)?
        }
        Form::Bbcode | Form::BbcodeJson => {
            input.compact()?;
            let module = input.to_bbcode()?;
            match (form, module.functions()) {
                (Form::BbcodeJson, _) => to_json(&module)?,
                (_, [only]) if input.is_listing() => only.body.to_string(),
                (_, []) => return fail("there are no functions"),
                _ => bbcode::print_module(&module),
            }
        }
    })
}

/// Whether the ranges of the blocks follow each other from the first statement to the last.
fn holds_each_statement_once(body: &ircode::IRCode) -> bool {
    let follows = |end: usize, block: &ircode::BasicBlock| {
        (block.stmts.start == end && block.stmts.end >= end).then_some(block.stmts.end)
    };
    body.cfg.blocks.iter().try_fold(0, follows) == Some(body.stmts.len())
}
