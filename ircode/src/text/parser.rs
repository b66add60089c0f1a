//! Reading files: listings as Julia prints them, and functions with headers.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashSet;

use super::builder::{Building, Known};
use super::clean::clean;
use super::cthulhu::{self, Menu};
use super::declaration::{Unfinished, declare, declare_member, starts_declaration};
use super::decoration::{Decoration, decoration, is_hidden_variable, is_place, variable, vector_header};
use super::enclosed::Enclosed;
use super::expression::Cursor;
use super::gutter::gutter;
use super::header;
use super::irtools;
use super::page::is_fence_of_page;
use super::session::Session;
use crate::code::IRCode;
use crate::constant::Constant;
use crate::diagnostic::{Diagnostic, render};
use crate::json::sharing::{Shared, with_sharing};
use crate::module::{Function, Module};
use crate::name::{Name, without_main};
use crate::names::Positions;
use crate::operand::Operand;
use crate::types::Type;

/// Reading stops after this many errors.
const MAX_ERRORS: usize = 20;

/// The functions of a file, and where they stand in it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ParsedModule {
    /// The functions and types.
    pub module: Module<IRCode>,
    /// What is known about each function beside its code, in the order of [`Module::functions`].
    pub functions: Vec<SourceMap>,
    /// The text in which they stand, if that was [cleaned](crate::text::clean); otherwise it is the text that was
    /// given.
    pub cleaned: Option<Arc<str>>,
}

/// Where a function stands in its source, and how it was written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceMap {
    /// Where each statement stands, pending ones last: a range of bytes.
    pub statements: Vec<Range<usize>>,
    /// Whether it is a listing without a header, of which neither the name nor the arguments are known.
    pub headerless: bool,
    /// Names of arguments of which the listing does not say in which order they come. They were numbered in this order,
    /// from `_2` on but for numbers that others carry (`x@_3`): names that follow one another in the alphabet (`a`,
    /// `b`; `x0`, `x1`) in that order, others as they appear.
    pub guessed_order: Vec<Name>,
    /// Whether it names some arguments by their numbers beside these, which may be the same ones.
    pub has_numbers: bool,
}

/// Errors in a text, with the text. `{:?}` shows it as `{}` does: that is what a `main` prints that returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct TextError {
    /// The errors, in the order in which they stand; never empty.
    pub diagnostics: Vec<Diagnostic>,
    /// The text.
    pub source: Arc<str>,
}

impl std::fmt::Display for TextError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(render(&self.source, None, &self.diagnostics).trim_end())
    }
}

impl std::fmt::Debug for TextError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for TextError {}

/// Reads a file: listings as Julia prints them, functions with headers, declarations of types and tables, comments.
///
/// ```
/// let parsed = ircode::parse_module("
/// ## Twice its argument.
/// function double(x::Float64)::Float64
/// 1 ─ %1 = Base.add_float(x, x)::Float64
/// └──      return %1
/// end
/// ".replace("##", "#").as_str())?;
/// assert_eq!(parsed.module.functions()[0].name, "double");
///
/// // The types above a struct, the nearest first; `<: Any` says that there are none.
/// let parsed = ircode::parse_module("struct Disc <: Round{Float64} <: Figure\n    r::Float64\nend\n")?;
/// assert_eq!(parsed.module.supertypes("Disc").map(|above| above.len()), Some(2));
/// # Ok::<(), ircode::TextError>(())
/// ```
///
/// # Errors
///
/// All errors up to the twentieth: reading goes on after one with the next line. The code is not verified, and may have
/// pending nodes, as listings do: [`IRCode::compact`](crate::IRCode::compact) puts them where they belong, before which
/// it is neither converted nor run.
pub fn parse_module(text: &str) -> Result<ParsedModule, TextError> {
    parse_module_with_parameters(text, &[])
}

/// As [`parse_module`], where it is known how the arguments `_2`, `_3`, … of a listing without header are called.
///
/// # Errors
///
/// As [`parse_module`].
pub fn parse_module_with_parameters(text: &str, parameters: &[Option<Name>]) -> Result<ParsedModule, TextError> {
    let mut parser = Parser {
        module: ParsedModule::default(),
        errors: Vec::new(),
        building: None,
        declaring: None,
        header_failed: false,
        parameters: parameters.to_vec(),
        variables: Variables::default(),
        session: Session::default(),
        menu: Menu::default(),
        enclosed: None,
        listings: 0,
    };
    let cleaned = clean(text);
    let text = &*cleaned;
    with_sharing(&mut Shared::default(), || parser.read(text));
    if parser.errors.is_empty()
        && parser.module.module.functions().is_empty()
        && parser.module.module.declarations().next().is_none()
    {
        parser.errors.push(no_function(text));
    }
    resolve_names(&mut parser.module.module);
    match parser.errors {
        errors if errors.is_empty() => {
            if let Cow::Owned(cleaned) = cleaned {
                parser.module.cleaned = Some(cleaned.into());
            }
            Ok(parser.module)
        }
        diagnostics => Err(TextError { diagnostics, source: text.into() }),
    }
}

/// What Julia prints for a statement that is not there.
const UNASSIGNED: &str = "#UNDEF";

/// Among operands a bare name is read as a function; where the file declares a type or a constant of that name, it is
/// that.
fn resolve_names(module: &mut Module<IRCode>) {
    let types: HashSet<Name> = module.types().iter().map(|def| def.name.clone()).collect();
    let constants = module.global_constants().iter().map(|constant| constant.name().as_str());
    let constants: HashSet<Name> = constants.map(|name| without_main(name).into()).collect();
    if types.is_empty() && constants.is_empty() {
        return;
    }
    let resolve = |operand: &mut Operand<Positions>| match operand {
        Operand::Constant(Constant::Function(name)) if types.contains(name) => {
            *operand = Operand::Constant(Constant::of_type(Type::named(name.clone())));
        }
        Operand::Constant(Constant::Function(name)) if constants.contains(name) => *operand = Operand::global("", name),
        _ => {}
    };
    let names: Vec<Name> = module.functions().iter().map(|function| function.name.clone()).collect();
    for name in names {
        if let Some(body) = module.body_mut(&name) {
            let pending = body.new_nodes.iter_mut().map(|node| &mut node.inst.stmt);
            for stmt in body.stmts.stmts_mut().iter_mut().chain(pending) {
                stmt.for_each_operand_mut(&mut |operand| resolve(operand));
            }
        }
    }
}

/// Reads a text that holds a single function.
///
/// # Errors
///
/// As [`parse_module`]; also if there is not exactly one function.
pub fn parse_function(text: &str) -> Result<Function<IRCode>, TextError> {
    let parsed = parse_module(text)?;
    match parsed.module.functions() {
        [function] => Ok(function.clone()),
        functions => {
            let message = format!("there are {} functions here, expected one", functions.len());
            Err(TextError { diagnostics: vec![Diagnostic::error(0..0, message, "")], source: text.into() })
        }
    }
}

/// A declaration that is being read.
struct Declaring {
    declaration: Unfinished,
    start: Range<usize>,
}

struct Parser {
    module: ParsedModule,
    errors: Vec<Diagnostic>,
    building: Option<Building>,
    declaring: Option<Declaring>,
    /// Whether the header of the function that is being read cannot be read: its `end` is to be expected all the same.
    header_failed: bool,
    /// The names of the arguments of a listing without header.
    parameters: Vec<Option<Name>>,
    variables: Variables,
    session: Session,
    menu: Menu,
    /// What the `CodeInfo(` that is open stands in.
    enclosed: Option<Enclosed>,
    /// How many listings without header were read.
    listings: usize,
}

/// What the tables above a listing say of its arguments.
#[derive(Default)]
struct Variables {
    /// Whether lines of such a table are being read, and whether they are of arguments.
    reading: Option<bool>,
    /// The function itself first.
    arguments: Vec<(Name, Type)>,
    /// How they are called without the function itself, where a heading says only that.
    names: Vec<Name>,
    /// How many there are, where that is said: a table may have local variables behind them.
    count: Option<usize>,
    result: Option<Type>,
}

impl Parser {
    /// Reads all lines.
    fn read(&mut self, text: &str) {
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            if let Err(error) = self.line(line.trim_end(), offset) {
                self.errors.push(error);
            }
            offset += line.len();
            if self.errors.len() >= MAX_ERRORS {
                break;
            }
        }
        if self.errors.len() < MAX_ERRORS {
            self.end_of_file();
        }
    }

    fn line(&mut self, line: &str, offset: usize) -> Result<(), Diagnostic> {
        let trimmed = line.trim_start();
        let start = offset + line.len() - trimmed.len();
        let whole = start..start + trimmed.len();
        // In a table of variables what has no name of its own is one: `#self#::Core.Const(f)`, `#unused#::Type{Int64}`.
        let hidden = self.variables.reading.is_some() && is_hidden_variable(trimmed);
        if is_fence_of_page(trimmed) && self.building.as_ref().is_some_and(Building::headerless) {
            return self.end_of_page_part();
        }
        // Of a session, what was typed may be a comment here. It says something of the listing that follows.
        let typed = ["#", "julia>", "@code_", "code_", "Base.code_"].iter().any(|start| trimmed.starts_with(start));
        if (typed || trimmed.contains("(generic function with "))
            && let Some(names) = self.session.line(trimmed)
        {
            self.variables.names = names;
        }
        if trimmed == UNASSIGNED && self.building.is_some() {
            let span = start..start + trimmed.len();
            return Err(Diagnostic::error(span, "here is no statement", "a place that was not assigned"));
        }
        if trimmed.is_empty() || trimmed.starts_with('#') && !hidden {
            return Ok(());
        }
        let ends =
            trimmed.strip_prefix("end").is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with("# "));
        if let Some(declaring) = &mut self.declaring {
            if ends {
                return self.finish_declaration();
            }
            return declare_member(&mut declaring.declaration, Cursor::new(trimmed, start));
        }
        let in_header = self.building.as_ref().is_some_and(|building| !building.headerless());
        if ends {
            return match in_header {
                true => self.finish_function(),
                false if std::mem::take(&mut self.header_failed) => {
                    self.building = None;
                    Ok(())
                }
                false => Err(Diagnostic::error(whole, "there is no function to end here", "unexpected `end`")),
            };
        }
        if starts_declaration(trimmed) {
            self.finish_listing()?;
            let declaration = declare(Cursor::new(trimmed, start))?;
            self.declaring = Some(Declaring { declaration, start: whole });
            return Ok(());
        }
        if trimmed.starts_with("function ") {
            if in_header {
                let error =
                    Diagnostic::error(whole, "a function starts inside another one", "expected `end` before this");
                // Go on with the new function, so that its errors are found too.
                self.start_function(trimmed, start)?;
                return Err(error);
            }
            self.finish_listing()?;
            return self.start_function(trimmed, start);
        }
        if let (Some(attribute), Some(building)) = (trimmed.strip_prefix("; "), &mut self.building) {
            let at = start + 2;
            return building.attribute_line(Cursor::new(attribute, at));
        }
        self.listing_line(trimmed, start)
    }

    /// A line of a listing, which is a statement or one of the things that Julia prints around them.
    fn listing_line(&mut self, trimmed: &str, start: usize) -> Result<(), Diagnostic> {
        if self.menu.line(trimmed) {
            return Ok(());
        }
        let whole = start..start + trimmed.len();
        let has_result = trimmed.starts_with([')', '=']) || trimmed.starts_with("Body::");
        let trimmed = if has_result { without_comment(trimmed) } else { trimmed };
        if let Some(done) = self.enclosed_line(trimmed, &whole) {
            return done;
        }
        // Most lines are statements, of which this is the margin.
        let margin = trimmed.starts_with(['│', '└']) || trimmed.starts_with(|c: char| c.is_ascii_digit());
        if margin && cthulhu::is_call_above(trimmed) {
            return Ok(());
        }
        if let Some(kind) = if margin { vector_header(trimmed) } else { decoration(trimmed) } {
            self.decoration(kind)?;
            return Ok(());
        }
        if let Some(arguments) = self.variables.reading
            && !is_margin(trimmed)
            && let Some(variable) = variable(trimmed)
        {
            if arguments {
                self.variables.arguments.push(variable);
            }
            return Ok(());
        }
        // `T = Float64`, `T <: Real`: static parameters.
        if self.variables.reading == Some(false) && [" = ", " <: "].iter().any(|sign| trimmed.contains(sign)) {
            return Ok(());
        }
        if let Some(done) = self.code_info_line(trimmed, &whole) {
            return done;
        }
        let mut cursor = Cursor::new(trimmed, start);
        match gutter(&mut cursor)? {
            Some(gutter) => {
                cursor.skip_spaces();
                if gutter.block.is_none() && is_place(cursor.rest()) {
                    return Ok(());
                }
                self.variables.reading = None;
                // Another one begins.
                if self.building.as_ref().is_some_and(|building| building.is_followed_by(&gutter)) {
                    self.finish_listing()?;
                }
                self.listing(start).statement_line(cursor, gutter)
            }
            None => Err(unexpected_line(trimmed, whole)),
        }
    }

    /// A line that opens a `CodeInfo(` in something else, or closes one there and opens the next.
    fn enclosed_line(&mut self, trimmed: &str, whole: &Range<usize>) -> Option<Result<(), Diagnostic>> {
        if let Some((result, next)) = self.enclosed.as_ref().and_then(|enclosed| enclosed.next(trimmed))
            && let Some(building) = &mut self.building
        {
            let closed = building.close_code_info(whole.clone(), result);
            return Some(closed.and_then(|()| {
                self.enclosed = Some(next);
                self.open_code_info(whole.clone())
            }));
        }
        let enclosed = Enclosed::opening(trimmed)?;
        self.enclosed = Some(enclosed);
        Some(self.open_code_info(whole.clone()))
    }

    /// A line that opens or closes a `CodeInfo(`, or tells the result below it.
    fn code_info_line(&mut self, trimmed: &str, whole: &Range<usize>) -> Option<Result<(), Diagnostic>> {
        if trimmed.starts_with("CodeInfo(") || trimmed == THUNK {
            return Some(self.open_code_info(whole.clone()));
        }
        let Some(rest) = trimmed.strip_prefix(')') else {
            let result = trimmed.strip_prefix("=> ")?;
            return Some(self.building.as_mut()?.result_below(whole.clone(), result));
        };
        let enclosed = self.enclosed.take();
        let building = self.building.as_mut()?;
        if let Some(enclosed) = enclosed {
            return Some(match enclosed.closing(trimmed) {
                Some(result) => building.close_code_info(whole.clone(), result),
                None => {
                    let what = "this does not close what is open here";
                    Err(Diagnostic::error(whole.clone(), what, "unexpected `)`"))
                }
            });
        }
        let result = rest.trim_start();
        let result = result.strip_prefix("=>").or_else(|| result.strip_prefix('⇒'));
        let closes = result.is_some() || rest.chars().all(|c| c == ')' || c == ' ');
        closes.then(|| building.close_code_info(whole.clone(), result))
    }

    fn open_code_info(&mut self, span: Range<usize>) -> Result<(), Diagnostic> {
        if self.building.as_ref().is_some_and(Building::is_complete) {
            self.finish_listing()?;
        }
        self.listing(span.start).open_code_info(span)
    }

    /// What is being read, or a listing that begins here.
    fn listing(&mut self, start: usize) -> &mut Building {
        let Variables { arguments, names, count, result, .. } = &mut self.variables;
        self.building.get_or_insert_with(|| {
            let named = |name: &Name| (!name.starts_with('#') && name != "_").then(|| name.clone());
            let own = arguments.first().and_then(|(name, _)| named(name));
            let has_table = !arguments.is_empty();
            let (given, all_named) = match self.parameters.as_slice() {
                [] if !has_table && !names.is_empty() => {
                    (names.iter().map(|name| (Some(name.clone()), Type::Untyped)).collect(), true)
                }
                [] => (arguments.iter().skip(1).map(|(name, ty)| (named(name), ty.clone())).collect(), has_table),
                names => (
                    names.iter().map(|name| (name.clone(), Type::Untyped)).collect(),
                    has_table || names.iter().all(Option::is_some),
                ),
            };
            let count = count.take().or_else(|| (!self.parameters.is_empty()).then_some(self.parameters.len()));
            let is_code_info = has_table || !names.is_empty() || result.is_some();
            arguments.clear();
            names.clear();
            let result = result.take();
            Building::listing(start, Known { own, arguments: given, all_named, count, result, is_code_info })
        })
    }

    fn decoration(&mut self, decoration: Decoration) -> Result<(), Diagnostic> {
        let heading = !matches!(decoration, Decoration::Nothing | Decoration::Others);
        if heading && self.building.as_ref().is_some_and(Building::is_complete) {
            self.finish_listing()?;
        }
        match decoration {
            Decoration::Nothing | Decoration::Vector => {}
            Decoration::Method(names) => self.variables.names = names,
            Decoration::Body(ty) => {
                self.variables.result = Some(ty);
                self.variables.reading = None;
            }
            Decoration::MethodInstance(count) => self.variables.count = Some(count),
            Decoration::Variables => self.variables.reading = Some(true),
            Decoration::Others => self.variables.reading = Some(false),
        }
        Ok(())
    }

    fn finish_declaration(&mut self) -> Result<(), Diagnostic> {
        let Some(Declaring { declaration, start }) = self.declaring.take() else { return Ok(()) };
        let declaration = declaration.finish(&start)?;
        self.module
            .module
            .declare(declaration)
            .map_err(|twice| Diagnostic::error(start, twice.to_string(), "the second declaration"))
    }

    /// A listing without header ends where something else begins.
    fn finish_listing(&mut self) -> Result<(), Diagnostic> {
        match &self.building {
            Some(_) => self.finish_function(),
            None => Ok(()),
        }
    }

    fn start_function(&mut self, line: &str, start: usize) -> Result<(), Diagnostic> {
        self.header_failed = true;
        self.building = Some(Building::with_header(header::function(Cursor::new(line, start))?));
        self.header_failed = false;
        Ok(())
    }

    fn finish_function(&mut self) -> Result<(), Diagnostic> {
        let Some(building) = self.building.take() else { return Ok(()) };
        let start = building.start();
        let (mut function, map) = building.finish(&mut self.errors)?;
        if map.headerless {
            self.listings += 1;
            let module = &mut self.module.module;
            // One listing has no name; several are numbered.
            if self.listings == 2 {
                // There is no other of this name, as names of functions hold no spaces.
                let _ = module.rename_function("", "listing 1");
            }
            if self.listings > 1 {
                function.name = format!("listing {}", self.listings).into();
            }
        }
        self.module
            .module
            .add_function(function)
            .map_err(|twice| Diagnostic::error(start, twice.to_string(), "the second function of that name"))?;
        self.module.functions.push(map);
        Ok(())
    }

    /// Behind a fence of a page, no listing goes on.
    fn end_of_page_part(&mut self) -> Result<(), Diagnostic> {
        match self.building.as_ref().and_then(|building| building.unfinished()) {
            Some(error) => {
                self.building = None;
                Err(error)
            }
            None => self.finish_listing(),
        }
    }

    fn end_of_file(&mut self) {
        if let Some(Declaring { start, .. }) = self.declaring.take() {
            self.errors.push(Diagnostic::error(start, "this declaration does not end", "expected `end` behind it"));
        }
        if let Some(building) = &self.building
            && let Some(error) = building.unfinished()
        {
            self.errors.push(error);
            return;
        }
        if let Err(error) = self.finish_listing() {
            self.errors.push(error);
        }
    }
}

/// What opens the listing of lowered code at the top level.
const THUNK: &str = ":($(Expr(:thunk, CodeInfo(";

/// A line that ends with a type, without the comment behind that. Types have names with such a sign, in quotes or
/// behind `where`.
fn without_comment(line: &str) -> &str {
    let (mut from, mut in_quotes) = (0, false);
    let is_comment = |&(at, _): &(usize, &str)| {
        in_quotes ^= line.get(from..at).unwrap_or_default().matches('"').count() % 2 == 1;
        from = at;
        !in_quotes && !line.get(..at).unwrap_or_default().trim_end().ends_with("where")
    };
    let comment = line.match_indices(" #").find(is_comment);
    comment.and_then(|(at, _)| line.get(..at)).unwrap_or(line).trim_end()
}

fn is_margin(line: &str) -> bool {
    matches!(gutter(&mut Cursor::new(line, 0)), Ok(Some(_)))
}

fn is_irtools(span: Range<usize>) -> Diagnostic {
    let error =
        Diagnostic::error(span, "this listing of IRTools is not a whole function", "blocks take arguments here");
    error.with_help(
        "its blocks are numbered from 1 on, end with a branch or a return, and branches go to blocks that are there",
    )
}

fn no_function(text: &str) -> Diagnostic {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        // Around a listing, what is none is a comment.
        let shown = line.trim().trim_start_matches(['#', ' ']);
        if irtools::starts_block(shown) {
            return is_irtools(start..start + line.trim_end().len());
        }
        start += line.len();
    }
    Diagnostic::error(start..start, "there is no function here", "expected a listing or a function")
        .with_help("a listing starts with a block number and a rule, like `1 ─ %1 = …`")
}

fn unexpected_line(line: &str, span: Range<usize>) -> Diagnostic {
    if irtools::starts_block(line) {
        return is_irtools(span);
    }
    let length = line.chars().take(60).map(char::len_utf8).sum::<usize>();
    let span = span.start..span.start + length;
    let rule = line.chars().all(|c| c == '─');
    let nested = line.contains("Expr(:thunk") || line.contains("Expr(:method") || line.contains("CodeInfo(");
    if rule {
        let error = Diagnostic::error(span, "this rule divides a compaction that is under way", "not a whole function");
        return error.with_help("print the IRCode once it is finished");
    }
    if nested {
        let error =
            Diagnostic::error(span, "this is code of the top level, with methods inside of it", "not in SSA form");
        return error.with_help("lowered code is not typed SSA code: print a function with code_typed or code_ircode");
    }
    let error = Diagnostic::error(span, "this is no statement of a listing", "expected a block number, `│` or `└──`");
    error.with_help("comments start with `#`; functions with `function NAME(_2::T)::R`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "CodeInfo(\n1 ─ %1 = Base.add_int(_2, 1)::Int64\n└──      return %1\n) => Int64\n";

    #[test]
    fn comments_behind_a_result_are_none_of_its_type() {
        let plain = parse_function(LISTING).unwrap();
        assert_eq!(parse_function(&LISTING.replace(") => Int64", ") => Int64   # <- a comment")).unwrap(), plain);
        let with_body = |body: &str| parse_function(&format!("Body::{body}\n1 ─      return 1\n")).unwrap().result;
        assert_eq!(with_body("Union{Float64, Int64} #THIS ONE"), with_body("Union{Float64, Int64}"));
        for ty in ["Main.var\"#f#3\"", "Vector{#s12} where #s12<:Real"] {
            assert_eq!(with_body(ty), Type::parse(ty));
        }
    }

    #[test]
    fn a_listing_ends_with_the_code_of_a_page() {
        let open = LISTING.replace(") => Int64\n", "");
        let page = format!("```\n{open}```\nand\n```\n{LISTING}```\n");
        let error = parse_module(&page).unwrap_err();
        assert!(error.to_string().contains("the text ends inside of this CodeInfo"), "{error}");
        let page = format!("```\n{LISTING}```\n```julia\ny = x + 1\n```\n");
        assert_eq!(parse_module(&page).unwrap().module.functions().len(), 1);
    }

    #[test]
    fn a_pending_node_without_a_name_is_found_by_the_numbers_of_others() {
        let text = "
  1 ─      nothing::Nothing
4 2 ┄ %2 = φ (#1 => 1, #3 => %7)::Int64
  │   %3 = φ (#1 => 0, #3 => %6)::Int64
  │   %4 = Base.slt_int(%3, _2)::Bool
  └──      goto #4 if not %4
5 3 ─      (Core.Intrinsics.mul_int)(%3, 2)::Int64
  │   %6 = Base.add_int(%3, 1)::Int64
6 │   %7 = (Core.Intrinsics.add_int)(%2, %6)::Int64
7 └──      goto #2
8 4 ─      return %2
";
        let body = parse_function(text).unwrap().body;
        let anchors: Vec<_> = body.new_nodes.iter().map(|node| (node.anchor.to_string(), node.attach_after)).collect();
        assert_eq!((body.stmts.len(), anchors), (9, vec![("%6".to_string(), false)]));
        // There are two that it may be.
        let two = text.replace("%7", "%8").replace("%6", "%7");
        let two = two.replace("5 3 ─      (Core", "5 3 ─      nothing::Nothing\n  │        (Core");
        let error = parse_function(&two).unwrap_err();
        assert!(error.to_string().contains("this is the statement %8, but it is called %7"), "{error}");
    }

    #[test]
    fn what_names_a_function_is_one() {
        let of = |callee: &str| parse_function(&format!("1 ─ %1 = {callee}(_2, _2)::Float64\n└──      return %1\n"));
        assert_eq!(of(":(Base.mul_float)").unwrap(), of("(Base.mul_float)").unwrap());
        let global = parse_function("1 ─ %1 = :>::Core.Const(>)\n└──      return %1\n").unwrap();
        assert_eq!(global.body.stmts.stmts().first(), Some(&crate::Stmt::Value(Operand::global("Main", ">"))));
        let symbol = parse_function("1 ─ %1 = :>::Core.Const(:>)\n└──      return %1\n").unwrap();
        assert!(matches!(symbol.body.stmts.stmts().first(), Some(crate::Stmt::Value(Operand::Quote(_)))));
    }

    #[test]
    fn code_with_variables_is_refused() {
        let error = parse_module("1 ─      Core.NewvarNode(:(y))\n└──      return _2\n").unwrap_err();
        assert!(error.to_string().contains("this is of a variable"), "{error}");
    }
}
