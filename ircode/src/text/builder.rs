//! Putting a function together from its lines.

mod pending;

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use self::pending::{Line, Pending, PendingAt};
use super::balanced::is_balanced;
use super::capitals::parse_type_in_capitals;
use super::dead_jumps;
use super::expression::{Cursor, Scope};
use super::gutter::Gutter;
use super::header::Header;
use super::parser::SourceMap;
use super::print::default_type;
use super::slot_names::{FIRST_SLOT, Meanings, SlotNames, has_values};
use super::statement_end::{ends_statement, is_annotation, is_comment, is_far, is_overwritten};
use crate::cfg::Cfg;
use crate::code::{IRCode, NewNode};
use crate::diagnostic::Diagnostic;
use crate::instruction::{CallInfo, DebugInfo, Instruction, LineInfo};
use crate::module::Function;
use crate::name::Name;
use crate::names::{BlockNumber, Positions};
use crate::operand::{Argument, Operand};
use crate::stmt::Stmt;
use crate::stream::InstructionStream;
use crate::types::Type;
use crate::version::JuliaVersion;

type Read<T> = Result<T, Diagnostic>;

/// A function of which some lines were read.
pub(super) struct Building {
    header: Option<Header>,
    start: Range<usize>,
    scope: Scope,
    /// The names and types of the arguments of a listing without header, where they are known.
    given: Vec<(Option<Name>, Type)>,
    /// Whether these are all that have a name.
    all_given: bool,
    /// How many arguments it has, if that is known.
    count: Option<usize>,
    /// In a `CodeInfo(`, and where that opened.
    code_info: Option<Range<usize>>,
    /// Whether what stands above only code_warntype prints.
    in_warntype: bool,
    /// Whether there was one, or what stands above only a CodeInfo: names stand for arguments.
    is_code_info: bool,
    closed: bool,
    result: Option<Type>,
    stmts: InstructionStream,
    /// How many of them there are up to the last that was called by its number.
    named: usize,
    spans: Vec<Range<usize>>,
    /// Of each statement whether the margin of its line ends a block.
    ends_block: Vec<bool>,
    /// Whether something stands in the place of a statement that was refused.
    has_refused: bool,
    /// The first statement of each block.
    block_starts: Vec<usize>,
    pending: Vec<Pending>,
    last_line: i32,
    has_lines: bool,
    /// Whether a statement so far shows its type.
    has_types: bool,
    /// What the margins of all lines say that a statement costs, while that may be what their numbers are.
    costs: Costs,
    sptypes: Vec<Type>,
    varargs: bool,
    julia: Option<JuliaVersion>,
    meta: Vec<Stmt<Positions>>,
    debuginfo: DebugInfo,
    parameters: Option<Vec<Option<Name>>>,
    edges: Vec<Edges>,
    no_argtypes: bool,
}

/// What is known of a listing without header from what stands above it.
#[derive(Default)]
pub(super) struct Known {
    /// The name of the function itself, if its code may use that: of a callable object.
    pub(super) own: Option<Name>,
    /// The names and types of the arguments `_2`, `_3`, ….
    pub(super) arguments: Vec<(Option<Name>, Type)>,
    /// Whether every argument that has a name has it there.
    pub(super) all_named: bool,
    /// How many arguments there are.
    pub(super) count: Option<usize>,
    /// The type of the result.
    pub(super) result: Option<Type>,
    /// Whether it is of a CodeInfo, so that names stand for arguments.
    pub(super) is_code_info: bool,
}

/// The edges that are given for a block.
struct Edges {
    span: Range<usize>,
    block: BlockNumber,
    preds: Vec<BlockNumber>,
    succs: Vec<BlockNumber>,
}

/// Attributes behind a statement in the exact style.
#[derive(Default)]
struct Attributes {
    flag: u32,
    info: Option<Name>,
    line: Option<LineInfo>,
    ty: Option<Type>,
    instance: Option<Name>,
    signature: Option<Vec<Type>>,
    code_instance: bool,
    pending: Option<bool>,
}

/// What `Base.print_statement_costs` puts before each line, where others have the number of the line in the source.
#[derive(Default)]
struct Costs {
    /// Whether some line has no number.
    some_have_none: bool,
    last: Option<i32>,
    /// Whether some number is none of a line, or is repeated, as Julia never does with that of a line.
    are_no_lines: bool,
}

impl Costs {
    fn add(&mut self, number: Option<i32>) {
        self.some_have_none |= number.is_none();
        self.are_no_lines |= number == Some(0) || number == self.last;
        self.last = number;
    }

    fn are_costs(&self) -> bool {
        self.are_no_lines && !self.some_have_none
    }
}

/// How many blocks without statements may stand together: more are lines that are missing.
const MAX_EMPTY_BLOCKS: u32 = 16;

impl Building {
    /// A function with a header.
    pub(super) fn with_header(header: Header) -> Self {
        let parameters = header
            .parameters
            .iter()
            .enumerate()
            .filter_map(|(i, (name, _))| name.clone().map(|name| (name, Argument::from_index(i + 1))));
        let scope = Scope { parameters: parameters.collect(), ..Scope::default() };
        let start = header.span.clone();
        Building { scope, result: Some(header.result.clone()), header: Some(header), ..Building::empty(start) }
    }

    /// A listing without header, which starts at this place.
    pub(super) fn listing(start: usize, known: Known) -> Self {
        let Known { own, arguments, all_named, count, result, is_code_info } = known;
        let numbered = arguments
            .iter()
            .enumerate()
            .filter_map(|(i, (name, _))| name.clone().map(|name| (name, Argument::from_index(i + 1))));
        let own = own.map(|name| (name, Argument::from_index(0)));
        // Of two of one name the first is meant.
        let parameters = numbered.rev().chain(own).collect();
        let scope = Scope { parameters, slots: Some(SlotNames::default()), ..Scope::default() };
        let (given, all_given) = (arguments, all_named);
        Building {
            scope,
            given,
            all_given,
            count,
            result,
            in_warntype: is_code_info,
            is_code_info,
            ..Building::empty(start..start)
        }
    }

    /// Whether nothing can follow that belongs to it: what begins next is something else.
    pub(super) fn is_complete(&self) -> bool {
        self.headerless() && self.code_info.is_none() && !self.stmts.is_empty()
    }

    /// Whether a line with this margin is the first of another listing.
    pub(super) fn is_followed_by(&self, gutter: &Gutter) -> bool {
        self.is_complete() && gutter.block == Some(1)
    }

    fn empty(start: Range<usize>) -> Self {
        Building {
            header: None,
            start,
            scope: Scope::default(),
            given: Vec::new(),
            all_given: false,
            count: None,
            code_info: None,
            in_warntype: false,
            is_code_info: false,
            closed: false,
            result: None,
            stmts: InstructionStream::default(),
            named: 0,
            spans: Vec::new(),
            ends_block: Vec::new(),
            has_refused: false,
            block_starts: Vec::new(),
            pending: Vec::new(),
            last_line: 0,
            has_lines: false,
            has_types: false,
            costs: Costs::default(),
            sptypes: Vec::new(),
            varargs: false,
            julia: None,
            meta: Vec::new(),
            debuginfo: DebugInfo::default(),
            parameters: None,
            edges: Vec::new(),
            no_argtypes: false,
        }
    }

    pub(super) fn headerless(&self) -> bool {
        self.header.is_none()
    }

    pub(super) fn start(&self) -> Range<usize> {
        self.start.clone()
    }

    /// The error of a text that ends here, if it must not.
    pub(super) fn unfinished(&self) -> Option<Diagnostic> {
        let error = |start: &Range<usize>, what: &str, closes: &str| {
            let message = format!("the text ends inside of this {what}");
            Some(Diagnostic::error(start.clone(), message, format!("expected `{closes}` below")))
        };
        match (&self.header, &self.code_info) {
            (Some(header), _) => error(&header.span, "function", "end"),
            (None, Some(open)) => error(open, "CodeInfo", ")"),
            (None, None) => None,
        }
    }

    pub(super) fn open_code_info(&mut self, span: Range<usize>) -> Read<()> {
        if self.code_info.is_some() || self.closed || !self.stmts.is_empty() {
            return Err(second_listing(span));
        }
        self.code_info = Some(span);
        self.is_code_info = true;
        Ok(())
    }

    pub(super) fn close_code_info(&mut self, span: Range<usize>, result: Option<&str>) -> Read<()> {
        if self.code_info.take().is_none() {
            return Err(Diagnostic::error(span, "there is no `CodeInfo(` to close here", "unexpected `)`"));
        }
        self.closed = true;
        self.set_result(span, result)
    }

    /// `=> T` on a line of its own, below the listing of an IRCode.
    pub(super) fn result_below(&mut self, span: Range<usize>, result: &str) -> Read<()> {
        if self.code_info.is_some() || self.stmts.is_empty() {
            return Err(Diagnostic::error(span, "there is no listing above this result type", "unexpected `=>`"));
        }
        self.closed = true;
        self.set_result(span, Some(result))
    }

    fn set_result(&mut self, span: Range<usize>, result: Option<&str>) -> Read<()> {
        let Some(result) = result else { return Ok(()) };
        if !is_balanced(result) {
            return Err(Diagnostic::error(span, "the brackets of this type do not match", "expected a type"));
        }
        if let None | Some(Type::Untyped) = &self.result {
            self.result = Some(Type::parse(result));
        }
        Ok(())
    }

    /// A line with a margin.
    pub(super) fn statement_line(&mut self, mut cursor: Cursor<'_>, gutter: Gutter) -> Read<()> {
        cursor.skip_spaces();
        let from = cursor.pos();
        let here = cursor.span(from, from);
        if self.closed {
            return Err(second_listing(here));
        }
        if cursor.starts_with("next #") {
            let span = cursor.span(from, from + "next".len());
            let error = Diagnostic::error(span, "this is a listing of BBCode, which is to be looked at only", "BBCode");
            return Err(error.with_help("its dump can be read: `bbkit show --as bbcode-json`"));
        }
        self.costs.add(gutter.line);
        if let Some(line) = gutter.line {
            self.last_line = line;
            self.has_lines = true;
        }
        match gutter.block {
            Some(block) => {
                let expected = self.block_starts.len() as u32 + 1;
                if block < expected || block - expected > MAX_EMPTY_BLOCKS || expected == 1 && block != 1 {
                    let message = format!("block {block} stands where block {expected} is expected");
                    let error = Diagnostic::error(here, message, "blocks are numbered from 1");
                    let fragment = expected == 1;
                    return Err(if fragment { error.with_help("only whole functions can be read") } else { error });
                }
                if let Some(pending) = self.pending.last()
                    && self.block_starts.last() == Some(&self.stmts.len())
                    && matches!(pending.at, PendingAt::Before(next) if next == self.stmts.len())
                {
                    let message = format!("this is not the statement %{}, as its place says", self.stmts.len() + 1);
                    let error = Diagnostic::error(pending.span.clone(), message, "the only statement of its block");
                    return Err(error.with_help("a line of the listing may be missing"));
                }
                // Julia prints nothing for a block without statements: there is a gap in the numbers.
                self.block_starts.extend((expected..=block).map(|_| self.stmts.len()));
            }
            None if self.block_starts.is_empty() => {
                let message = "a statement stands before the first block";
                return Err(
                    Diagnostic::error(here, message, "expected block 1").with_help("only whole functions can be read")
                );
            }
            None => {}
        }
        if cursor.at_end() {
            // A block without statements, in the exact style.
            return Ok(());
        }
        let id = named(&mut cursor)?;
        let known = self.scope.slots.as_ref().map(SlotNames::count);
        let (stmt, ty) = match cursor.typed_statement(&mut self.scope) {
            Ok(read) => read,
            Err(error) => {
                self.push_refused(Stmt::nothing(), &Attributes::default(), here);
                return Err(error);
            }
        };
        let end = cursor.pos();
        let span = cursor.span(from, end);
        let attributes = attributes(&mut cursor)?;
        let is_aside = is_comment(cursor.rest())
            || is_annotation(cursor.rest())
            || (ty.is_some() || matches!(stmt, Stmt::Expr(_)) && is_far(cursor.rest()))
                && is_overwritten(cursor.text(from..end), cursor.rest());
        if !cursor.at_end() && !is_aside {
            cursor.skip_spaces();
            let error = cursor.expected("the end of the statement");
            self.push_refused(stmt, &attributes, span);
            return Err(error);
        }
        // Only code without types has statements that are but a name. Here a jump may have been meant.
        let is_new_name = matches!(stmt, Stmt::Value(_)) && known != self.scope.slots.as_ref().map(SlotNames::count);
        if is_new_name && id.is_none() && ty.is_none() && attributes.ty.is_none() && self.has_types {
            let error =
                Diagnostic::error(span.clone(), "this is no statement", "a name that is nowhere else, without a type");
            self.push_refused(stmt, &attributes, span);
            return Err(error);
        }
        self.has_types |= ty.is_some();
        let ty = match ty {
            Some(Type::Named(name)) if self.in_warntype => Some(parse_type_in_capitals(&name)),
            ty => ty,
        };
        let ty = attributes.ty.clone().or(ty).or_else(|| default_type(&stmt)).unwrap_or(Type::Untyped);
        let inst = self.instruction(stmt, ty, &attributes);
        let read = Line { inst, span, id, pending: attributes.pending, ends_block: gutter.ends_block };
        self.take(read)
    }

    fn instruction(&self, mut stmt: Stmt<Positions>, ty: Type, attributes: &Attributes) -> Instruction<Positions> {
        if let Stmt::Invoke(invoke) = &mut stmt
            && (attributes.instance.is_some() || attributes.code_instance || attributes.signature.is_some())
        {
            let mut instance = (*invoke.instance).clone();
            instance.name = attributes.instance.clone();
            instance.code_instance = attributes.code_instance;
            if let Some(signature) = &attributes.signature {
                instance.argtypes = signature.clone();
            }
            invoke.instance = instance.into();
        }
        Instruction {
            stmt,
            ty,
            info: CallInfo(attributes.info.clone()),
            line: attributes.line.unwrap_or(LineInfo::from(self.last_line)),
            flag: attributes.flag,
        }
    }

    /// Something in the place of a statement that is refused, so that those behind it have their numbers.
    fn push_refused(&mut self, stmt: Stmt<Positions>, attributes: &Attributes, span: Range<usize>) {
        let inst = self.instruction(stmt, Type::Untyped, attributes);
        self.push_statement(inst, span, false);
        self.has_refused = true;
    }

    fn push_statement(&mut self, inst: Instruction<Positions>, span: Range<usize>, ends_block: bool) {
        self.stmts.push(inst);
        self.spans.push(span);
        self.ends_block.push(ends_block);
    }

    /// A line of attributes about the function, in the exact style.
    pub(super) fn attribute_line(&mut self, mut cursor: Cursor<'_>) -> Read<()> {
        let start = cursor.pos();
        if cursor.eat("#") {
            return self.edges_line(cursor, start);
        }
        let key = cursor.take_while(|c| c.is_ascii_alphabetic());
        cursor.skip_spaces();
        match key {
            "varargs" => self.varargs = true,
            "argtypes" => self.no_argtypes = true,
            "sptypes" => {
                while !cursor.at_end() {
                    self.sptypes.push(cursor.quoted_type()?);
                    cursor.skip_spaces();
                }
            }
            "parameters" => {
                let mut names = Vec::new();
                while !cursor.at_end() {
                    names.push(if cursor.eat("_") { None } else { Some(cursor.string()?.into()) });
                    cursor.skip_spaces();
                }
                self.parameters = Some(names);
            }
            "julia" => {
                let at = cursor.pos();
                let text = cursor.take_while(|c| !c.is_whitespace());
                let version = text.parse().map_err(|error: crate::NoVersion| {
                    Diagnostic::error(cursor.span(at, cursor.pos()), error.to_string(), "expected a version")
                })?;
                self.julia = Some(version);
            }
            "result" => self.result = Some(cursor.quoted_type()?),
            "meta" => {
                let stmt = cursor.statement(&mut self.scope)?;
                self.meta.push(stmt);
            }
            "debuginfo" => {
                let json = cursor.rest();
                self.debuginfo = serde_json::from_str(json).map_err(|error| {
                    let at = cursor.pos() + error.column().saturating_sub(1).min(json.len());
                    Diagnostic::error(cursor.span(at, at), format!("the debug info cannot be read: {error}"), "here")
                })?;
                cursor.seek(cursor.pos() + json.len());
            }
            _ => {
                cursor.seek(start);
                return Err(cursor.expected(
                    "an attribute: julia, varargs, sptypes, parameters, result, meta, debuginfo, or a block",
                ));
            }
        }
        if cursor.at_end() { Ok(()) } else { Err(cursor.expected("the end of the line")) }
    }

    /// `#3 preds #1 #0 succs #4`: the edges of a block, where they are not those that its last statement implies.
    fn edges_line(&mut self, mut cursor: Cursor<'_>, start: usize) -> Read<()> {
        let block = BlockNumber(cursor.number("the number of a block")?);
        let mut lists = [Vec::new(), Vec::new()];
        for (list, word) in lists.iter_mut().zip([" preds", " succs"]) {
            cursor.expect(word)?;
            while cursor.eat(" #") {
                list.push(BlockNumber(cursor.number("the number of a block")?));
            }
        }
        if !cursor.at_end() {
            return Err(cursor.expected("the end of the line"));
        }
        let [preds, succs] = lists;
        self.edges.push(Edges { span: cursor.span(start, cursor.pos()), block, preds, succs });
        Ok(())
    }

    /// The function, once all its lines are read.
    pub(super) fn finish(mut self, errors: &mut Vec<Diagnostic>) -> Read<(Function<IRCode>, SourceMap)> {
        if self.block_starts.is_empty() {
            return Err(Diagnostic::error(self.start.clone(), "this function has no statements", "expected block 1"));
        }
        let has_numbers = self.uses_numbers();
        self.take_last_unnamed();
        self.forget_costs();
        let numbered = self.number_slots();
        let guessed: HashMap<Argument, Name> = numbered.iter().cloned().collect();
        let len = self.stmts.len();
        let ends = self.block_starts.iter().skip(1).copied().chain([len]);
        let ranges: Vec<Range<usize>> =
            self.block_starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect();
        dead_jumps::end_blocks(&mut self.stmts, &ranges);
        let mut cfg = Cfg::from_ranges(self.stmts.stmts(), &ranges);
        for Edges { span, block, preds, succs } in std::mem::take(&mut self.edges) {
            match block.index().and_then(|index| cfg.blocks.get_mut(index)) {
                Some(block) => (block.preds, block.succs) = (preds, succs),
                None => errors.push(Diagnostic::error(span, format!("there is no block {block}"), "unknown block")),
            }
        }
        let new_nodes = self.place_pending(errors);
        let argtypes = self.argtypes(&new_nodes);
        let headerless = self.headerless();
        let (name, parameters) = match self.header {
            Some(header) => {
                (header.name, header.parameters.into_iter().map(|(name, _)| name).collect::<Vec<Option<Name>>>())
            }
            None => (
                Name::from(""),
                (1..argtypes.len())
                    .map(|index| match self.given.get(index - 1) {
                        Some((name, _)) => name.clone(),
                        None => guessed.get(&Argument::from_index(index)).cloned(),
                    })
                    .collect(),
            ),
        };
        let parameters = if parameters.iter().all(Option::is_none) { Vec::new() } else { parameters };
        let parameters: Vec<Option<Name>> = self.parameters.unwrap_or(parameters);
        let body = IRCode {
            stmts: self.stmts,
            argtypes,
            sptypes: self.sptypes,
            julia: self.julia,
            debuginfo: Arc::new(self.debuginfo),
            meta: self.meta,
            cfg,
            new_nodes,
        };
        let varargs = self.varargs;
        let function = Function { name, parameters, varargs, result: self.result.unwrap_or(Type::Untyped), body };
        let guessed_order = numbered.into_iter().map(|(_, name)| name).collect();
        Ok((function, SourceMap { statements: self.spans, headerless, guessed_order, has_numbers }))
    }

    /// Forgets the numbers in the margin if they are no lines.
    fn forget_costs(&mut self) {
        if !self.costs.are_costs() {
            return;
        }
        self.has_lines = false;
        let pending = self.pending.iter_mut().map(|pending| &mut pending.inst.line);
        self.stmts.lines_mut().iter_mut().chain(pending).for_each(|line| *line = LineInfo::from(0));
    }

    /// Numbers the names of arguments that a listing without header uses, in their likely order. Returns them in that
    /// order, with their numbers. In the listing of an IRCode, arguments are numbers already, and below a table all of
    /// them have a name there: the names are those of objects.
    fn number_slots(&mut self) -> Vec<(Argument, Name)> {
        let Some(slots) = self.scope.slots.take() else { return Vec::new() };
        let insts = self.stmts.stmts().iter().zip(self.stmts.types());
        let insts = insts.chain(self.pending.iter().map(|pending| (&pending.inst.stmt, &pending.inst.ty)));
        // An IRCode numbers its arguments, so a name in its listing is that of an object, unless it can be none: then
        // this is the body of a CodeInfo.
        let is_ircode = !self.is_code_info
            && !slots.marked
            && (self.has_lines || self.uses_numbers())
            && !has_values(&slots, insts.clone(), self.result.as_ref());
        let are_objects = is_ircode || self.all_given;
        let mut meanings = Meanings::of(&slots, insts, self.result.as_ref(), are_objects);
        meanings.number(self.given.len(), &self.scope.numbered);
        if !is_ircode {
            meanings.given.clone_from(&self.scope.parameters);
        }
        self.stmts.stmts_mut().iter_mut().for_each(|stmt| meanings.apply(&slots, stmt));
        self.pending.iter_mut().for_each(|pending| meanings.apply(&slots, &mut pending.inst.stmt));
        meanings.arguments()
    }

    /// Whether a statement names an argument by its number.
    fn uses_numbers(&self) -> bool {
        let mut found = false;
        for stmt in self.stmts.stmts() {
            stmt.for_each_operand(&mut |operand| {
                found |= matches!(operand, Operand::Argument(argument) if (2..FIRST_SLOT).contains(&argument.0));
            });
        }
        found
    }

    /// The types of the arguments: those of the header, or unknown ones for every argument that is used.
    fn argtypes(&self, new_nodes: &[NewNode]) -> Vec<Type> {
        if self.no_argtypes {
            return Vec::new();
        }
        if let Some(header) = &self.header {
            let own = header.own_type.clone();
            return std::iter::once(own).chain(header.parameters.iter().map(|(_, ty)| ty.clone())).collect();
        }
        let mut count = self.count.unwrap_or(0) + 1;
        let mut see = |operand: &Operand<Positions>| {
            if let Operand::Argument(argument) = operand {
                count = count.max(argument.0 as usize);
            }
        };
        for stmt in self.stmts.stmts().iter().chain(new_nodes.iter().map(|node| &node.inst.stmt)) {
            stmt.for_each_operand(&mut see);
        }
        let types = self.given.iter().map(|(_, ty)| ty.clone()).chain(std::iter::repeat(Type::Untyped));
        std::iter::once(Type::Untyped).chain(types).take(count).collect()
    }
}

fn second_listing(span: Range<usize>) -> Diagnostic {
    Diagnostic::error(span, "a second listing starts here", "unexpected listing")
        .with_help("give each function a header, `function NAME(_2::T)::R` … `end`, to hold several in one file")
}

/// `%4 = ` at the start of a statement.
fn named(cursor: &mut Cursor<'_>) -> Read<Option<(u32, Range<usize>)>> {
    let start = cursor.pos();
    if !cursor.eat("%") || !cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
        cursor.seek(start);
        return Ok(None);
    }
    let id = cursor.number("the number of a value")?;
    let span = cursor.span(start, cursor.pos());
    cursor.skip_spaces();
    if !cursor.eat("= ") && !cursor.eat("=\t") {
        cursor.seek(start);
        return Ok(None);
    }
    cursor.skip_spaces();
    Ok(Some((id, span)))
}

/// The attributes behind a statement: ` ; flag=0x20 line=4:1:7`.
fn attributes(cursor: &mut Cursor<'_>) -> Read<Attributes> {
    let mut attributes = Attributes::default();
    if !ends_statement(cursor.rest()) || !cursor.eat(" ;") {
        return Ok(attributes);
    }
    while cursor.eat(" ") && !cursor.starts_with("# ") {
        let start = cursor.pos();
        let key = cursor.take_while(|c| c.is_ascii_alphabetic() || c == '_');
        let valued = cursor.eat("=");
        match (key, valued) {
            ("flag", true) => {
                cursor.expect("0x")?;
                let digits = cursor.take_while(|c| c.is_ascii_hexdigit());
                attributes.flag = u32::from_str_radix(digits, 16).map_err(|_| cursor.expected("32 bits"))?;
            }
            ("info", true) => attributes.info = Some(cursor.string()?.into()),
            ("line", true) => attributes.line = Some(line_info(cursor)?),
            ("type", true) => attributes.ty = Some(cursor.quoted_type()?),
            ("instance", true) => attributes.instance = Some(cursor.string()?.into()),
            ("signature", true) => {
                let mut types = Vec::new();
                cursor.expect("(")?;
                while !cursor.eat(")") {
                    types.push(cursor.quoted_type()?);
                    cursor.eat(",");
                }
                attributes.signature = Some(types);
            }
            ("code_instance", false) => attributes.code_instance = true,
            ("pending", true) => {
                attributes.pending = Some(match cursor.take_while(|c| c.is_ascii_alphabetic()) {
                    "before" => false,
                    "after" => true,
                    _ => return Err(cursor.expected("`before` or `after`")),
                });
            }
            _ => {
                cursor.seek(start);
                return Err(cursor
                    .expected("an attribute: flag, info, line, type, instance, signature, code_instance, pending"));
            }
        }
    }
    Ok(attributes)
}

fn line_info(cursor: &mut Cursor<'_>) -> Read<LineInfo> {
    let mut integers = [0i32; 3];
    for (i, integer) in integers.iter_mut().enumerate() {
        if i > 0 {
            cursor.expect(":")?;
        }
        let start = cursor.pos();
        cursor.eat("-");
        let _ = cursor.digits();
        let text = cursor.text(start..cursor.pos());
        *integer = text.parse().map_err(|_| {
            Diagnostic::error(cursor.span(start, cursor.pos()), format!("`{text}` is no line"), "expected 32 bits")
        })?;
    }
    let [line, edge, pc] = integers;
    Ok(LineInfo { line, edge, pc })
}
