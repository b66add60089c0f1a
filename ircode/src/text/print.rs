//! Printing statements.

use std::fmt::{self, Write};

use crate::constant::{Constant, is_identifier, is_identifier_start, spelled, write_string, write_symbol};
use crate::head::Head;
use crate::instruction::Instruction;
use crate::names::{Names, SwitchNode};
use crate::operand::{GlobalRef, Operand};
use crate::scalar::{Scalar, ScalarType};
use crate::stmt::{ExprNode, InvokeNode, Stmt};
use crate::text::Style;
use crate::text::function::write_typed;
use crate::text::labels::label;
use crate::text::number_object::is_sum;
use crate::text::operators::{binds_as_plus, is_binary, is_n_ary, is_operator, is_quoted_in_parentheses, is_unary};
use crate::text::spelling::{constant_text, type_text};
use crate::types::Type;
use crate::version::JuliaVersion;

/// From here on `return` and `unreachable` are nodes of their own, and print so.
const RETURN_NODE: JuliaVersion = JuliaVersion::new(1, 6);
/// From here on `enter` is.
const ENTER_NODE: JuliaVersion = JuliaVersion::new(1, 11);
/// From here on calls have labels.
const LABELS: JuliaVersion = JuliaVersion::new(1, 12);

/// Prints statements of either representation.
#[derive(Clone, Copy, Debug)]
pub struct StatementPrinter {
    style: Style,
}

/// Where an operand stands: that decides how it is quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Among the operands of a call.
    Call,
    /// Among the operands of `$(Expr(:head, …))`.
    Expr,
}

/// The statement without its type, as Julia prints it.
///
/// ```
/// use ircode::{Operand, Positions, Stmt};
///
/// let add = Stmt::<Positions>::call(Operand::global("Base", "add_float"), [2.0.into(), 1.0.into()]);
/// assert_eq!(add.to_string(), "Base.add_float(2.0, 1.0)");
/// ```
impl<N: Names> fmt::Display for Stmt<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        StatementPrinter::new(Style::Julia).write(f, self, false)
    }
}

/// The statement with its type, as far as Julia shows it: `Base.sin(_2)::Float64`.
impl<N: Names> fmt::Display for Instruction<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_typed(f, &StatementPrinter::new(Style::Julia), &self.stmt, &self.ty)
    }
}

/// The operand as Julia prints it in a call: `%1`, `_2`, `Base.sin`, `:name`.
impl<N: Names> fmt::Display for Operand<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        StatementPrinter::new(Style::Julia).write_operand(f, self, Place::Call)
    }
}

impl StatementPrinter {
    /// A printer of this style.
    pub fn new(style: Style) -> Self {
        StatementPrinter { style }
    }

    /// Writes the statement without its name and type. Whether the type follows decides about parentheres around
    /// infix calls: `(%1 === 1)::Bool`, but `%1 === 1`.
    pub fn write<N: Names>(&self, out: &mut dyn Write, stmt: &Stmt<N>, typed: bool) -> fmt::Result {
        match stmt {
            Stmt::Value(operand) => self.write_bare(out, operand),
            Stmt::Phi(phi) => {
                out.write_str("φ (")?;
                for (i, entry) in phi.entries.iter().enumerate() {
                    write!(out, "{}{} => ", if i > 0 { ", " } else { "" }, entry.edge)?;
                    self.write_optional(out, entry.value.as_ref())?;
                }
                out.write_char(')')
            }
            Stmt::Pi(pi) => {
                out.write_str("π (")?;
                self.write_operand(out, &pi.value, Place::Call)?;
                out.write_str(", ")?;
                self.write_type(out, &pi.ty)?;
                out.write_char(')')
            }
            Stmt::PhiC(phic) => {
                out.write_str("φᶜ (")?;
                self.write_operands(out, &phic.values, Place::Call)?;
                out.write_char(')')
            }
            Stmt::Upsilon(upsilon) => {
                out.write_str("ϒ (")?;
                self.write_optional(out, upsilon.value.as_ref())?;
                out.write_char(')')
            }
            Stmt::Goto(goto) => write!(out, "goto {}", goto.label),
            Stmt::GotoIfNot(goto) => {
                write!(out, "goto {} if not ", goto.dest)?;
                self.write_operand(out, &goto.cond, Place::Call)
            }
            Stmt::Return(ret) => match &ret.value {
                Some(value) => {
                    out.write_str("return ")?;
                    self.write_operand(out, value, Place::Call)
                }
                None => out.write_str("unreachable"),
            },
            Stmt::Enter(enter) if !self.exact() && self.version() < ENTER_NODE && enter.scope.is_none() => {
                match enter.catch_dest {
                    Some(block) => write!(out, "$(Expr(:enter, {block}))"),
                    None => out.write_str("$(Expr(:enter, #0))"),
                }
            }
            Stmt::Enter(enter) => {
                match enter.catch_dest {
                    Some(block) => write!(out, "enter {block}")?,
                    None => out.write_str("enter #0")?,
                }
                match &enter.scope {
                    Some(scope) => {
                        out.write_str(" with scope ")?;
                        self.write_operand(out, scope, Place::Call)
                    }
                    None => Ok(()),
                }
            }
            Stmt::Switch(switch) => self.write_switch::<N>(out, switch),
            Stmt::Call(call) => self.write_call(out, &call.callee, &call.args, typed),
            Stmt::Invoke(invoke) => self.write_invoke(out, invoke),
            Stmt::Expr(expr) => self.write_expr(out, expr),
        }
    }

    /// The text of an operand as it stands in a call.
    pub fn operand<N: Names>(&self, operand: &Operand<N>) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_operand(&mut text, operand, Place::Call);
        text
    }

    pub(super) fn exact(&self) -> bool {
        self.style == Style::Bbkit
    }

    /// The version of Julia in whose manner this prints.
    fn version(&self) -> JuliaVersion {
        match self.style {
            Style::Version(version) => version,
            Style::Julia | Style::Bbkit => ENTER_NODE,
        }
    }

    /// The text of a type.
    pub(super) fn type_text(&self, ty: &Type) -> String {
        match self.style {
            Style::Version(version) => type_text(ty, version),
            Style::Julia | Style::Bbkit => ty.to_string(),
        }
    }

    /// Writes a type as the text of [`StatementPrinter::type_text`], on one line.
    pub(super) fn write_type_text(&self, out: &mut dyn Write, ty: &Type) -> fmt::Result {
        match (self.style, ty) {
            // Most types are these; no text is made of them first.
            (Style::Julia | Style::Bbkit, Type::Scalar(scalar)) => out.write_str(scalar.name()),
            _ => out.write_str(&on_one_line(self.type_text(ty))),
        }
    }

    /// Whether the statement is what old versions print as an expression with a type.
    pub(super) fn spells_unreachable<N: Names>(&self, stmt: &Stmt<N>) -> bool {
        matches!(stmt, Stmt::Return(ret) if ret.value.is_none()) && self.version() < RETURN_NODE
    }

    fn write_switch<N: Names>(&self, out: &mut dyn Write, switch: &N::Switch) -> fmt::Result {
        let mut targets = Vec::new();
        switch.for_each_target(&mut |target| targets.push(target));
        out.write_str("switch ")?;
        for (condition, target) in switch.conditions().iter().zip(&targets) {
            write!(out, "goto {target} if not ")?;
            self.write_operand(out, condition, Place::Call)?;
            out.write_str(", ")?;
        }
        match targets.last() {
            Some(target) => write!(out, "goto {target}"),
            None => Ok(()),
        }
    }

    fn write_call<N: Names>(
        &self,
        out: &mut dyn Write,
        callee: &Operand<N>,
        args: &[Operand<N>],
        typed: bool,
    ) -> fmt::Result {
        if typed && self.version() >= LABELS {
            out.write_str(label(callee))?;
        }
        if let Operand::Global(global) = callee
            && (global.module.is_empty() || !self.exact())
        {
            let name: &str = &global.name;
            let is_tight = name == ":" && !self.exact() && self.are_plain(args)?;
            let infix =
                is_binary(name) && (args.len() == 2 || args.len() > 2 && is_n_ary(name) || args.len() == 3 && is_tight);
            if infix {
                out.write_str(if typed { "(" } else { "" })?;
                for (i, arg) in args.iter().enumerate() {
                    match (i, is_tight) {
                        (0, _) => {}
                        (_, true) => out.write_char(':')?,
                        (_, false) => write!(out, " {name} ")?,
                    }
                    match arg {
                        Operand::Constant(Constant::Text(text)) if is_sum(text) && binds_as_plus(name) => {
                            write!(out, "({text})")?;
                        }
                        // A sign binds less closely than a power.
                        Operand::Constant(Constant::Scalar(base))
                            if i == 0 && name == "^" && base.to_string().starts_with('-') =>
                        {
                            out.write_char('(')?;
                            self.write_operand(out, arg, Place::Call)?;
                            out.write_char(')')?;
                        }
                        _ => self.write_operand(out, arg, Place::Call)?,
                    }
                }
                return out.write_str(if typed { ")" } else { "" });
            }
            if is_unary(name)
                && let [arg] = args
                && !matches!(arg, Operand::Constant(Constant::Scalar(_)))
            {
                out.write_str(name)?;
                return self.write_operand(out, arg, Place::Call);
            }
        }
        match callee {
            // An operator that has too many operands to stand between them.
            Operand::Global(global)
                if args.len() > 2 && global.module.is_empty() && is_operator(&global.name) && !self.exact() =>
            {
                out.write_str(&global.name)?;
            }
            _ => self.write_callee(out, callee)?,
        }
        out.write_char('(')?;
        match (callee, args) {
            // What inference puts in the place of code that is never reached: the code is a part of the object.
            (Operand::Global(global), [Operand::Quote(code), rest @ ..])
                if !self.exact() && global.name == "Const" && matches!(&*global.module, "Core" | "Core.Compiler") =>
            {
                match &**code {
                    Constant::Text(text) => out.write_str(text)?,
                    _ => self.write_operand(out, &args[0], Place::Call)?,
                }
                for arg in rest {
                    out.write_str(", ")?;
                    self.write_operand(out, arg, Place::Call)?;
                }
            }
            _ => self.write_operands(out, args, Place::Call)?,
        }
        out.write_char(')')
    }

    /// Whether a range of these operands needs no spaces around its colon, as `:a : :b` and `(1:2) : 3` do.
    fn are_plain<N: Names>(&self, args: &[Operand<N>]) -> Result<bool, fmt::Error> {
        for arg in args {
            let mut text = String::new();
            self.write_operand(&mut text, arg, Place::Call)?;
            if text.contains([':', ' ', '/']) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn write_invoke<N: Names>(&self, out: &mut dyn Write, invoke: &InvokeNode<N>) -> fmt::Result {
        // Julia 1.12 prints a third label for an invoke of a method that is not compiled, which listings of others do
        // not tell.
        out.write_str(if self.version() >= LABELS { "   invoke " } else { "invoke " })?;
        match &invoke.callee {
            Operand::Value(value) => write!(out, "{value}")?,
            Operand::Argument(argument) => write!(out, "{argument}")?,
            object @ Operand::Quote(_) if !self.exact() => self.write_operand(out, object, Place::Call)?,
            // An object behind its type, as functions of keyword arguments are.
            Operand::Constant(Constant::Text(object)) if !self.exact() && object.ends_with(')') => {
                out.write_str(object)?;
            }
            callee => self.write_callee(out, callee)?,
        }
        out.write_char('(')?;
        for (i, arg) in invoke.args.iter().enumerate() {
            out.write_str(if i > 0 { ", " } else { "" })?;
            self.write_operand(out, arg, Place::Call)?;
            match invoke.instance.argtypes.get(i) {
                None | Some(Type::Untyped) => {}
                Some(ty) => {
                    out.write_str("::")?;
                    self.write_type(out, ty)?;
                }
            }
        }
        out.write_char(')')
    }

    fn write_callee<N: Names>(&self, out: &mut dyn Write, callee: &Operand<N>) -> fmt::Result {
        match callee {
            Operand::Global(global) if global.module.is_empty() && is_operator(&global.name) && !self.exact() => {
                write!(out, "({})", global.name)
            }
            Operand::Global(global) => self.write_global(out, global, true),
            Operand::Constant(Constant::Type(ty)) if ty.to_string().contains(" where ") || is_of_function(ty) => {
                out.write_char('(')?;
                self.write_operand(out, callee, Place::Call)?;
                out.write_char(')')
            }
            Operand::Constant(Constant::Type(ty))
                if !self.exact() || reads_back_as_type(ty) && ty.to_string().contains('{') =>
            {
                write!(out, "{ty}")
            }
            Operand::Constant(Constant::Function(name))
                if !self.exact() || reads_back_as_function(name) || is_path(name) && name.contains('.') =>
            {
                write!(out, "({name})")
            }
            other => {
                out.write_char('(')?;
                self.write_operand(out, other, Place::Call)?;
                out.write_char(')')
            }
        }
    }

    fn write_expr<N: Names>(&self, out: &mut dyn Write, expr: &ExprNode<N>) -> fmt::Result {
        match expr.head {
            Head::Assign if !self.exact() && matches!(expr.args.as_slice(), [Operand::Global(_), _]) => {
                out.write_char('(')?;
                for (i, operand) in expr.args.iter().enumerate() {
                    out.write_str(if i > 0 { " = " } else { "" })?;
                    self.write_operand(out, operand, Place::Call)?;
                }
                out.write_char(')')
            }
            Head::New | Head::SplatNew => {
                write!(out, "%{}(", expr.head.name())?;
                let args = match expr.args.split_first() {
                    // A name alone is that of a type here.
                    Some((Operand::Constant(Constant::Function(name)), rest)) if self.exact() => {
                        self.write_tagged(out, "Function", name)?;
                        out.write_str(if rest.is_empty() { "" } else { ", " })?;
                        rest
                    }
                    _ => &expr.args,
                };
                self.write_operands(out, args, Place::Call)?;
                out.write_char(')')
            }
            _ => {
                out.write_str("$(Expr(")?;
                write_symbol(out, expr.head.name())?;
                if !expr.args.is_empty() {
                    out.write_str(", ")?;
                }
                self.write_operands(out, &expr.args, Place::Expr)?;
                out.write_str("))")
            }
        }
    }

    /// Writes an operand that is a whole statement.
    fn write_bare<N: Names>(&self, out: &mut dyn Write, operand: &Operand<N>) -> fmt::Result {
        match operand {
            Operand::Quote(constant) if !matches!(**constant, Constant::Symbol(_)) => {
                self.write_operand(out, operand, Place::Call)
            }
            Operand::Nested(nested) => {
                out.write_str("$(Nested(")?;
                self.write(out, nested, true)?;
                out.write_str("))")
            }
            // Up to its end a type would go on to the type of the statement.
            Operand::Constant(Constant::Type(ty)) if self.exact() && ty.to_string().contains(" where ") => {
                self.write_tagged(out, "Type", &ty.to_string())
            }
            Operand::Constant(
                constant @ (Constant::Scalar(_) | Constant::SimpleVector(_) | Constant::NamedTuple(_)),
            ) if self.exact() => {
                let mut text = String::new();
                self.write_constant(&mut text, constant)?;
                // `Int32(5)` would be read as a call.
                match text.find('(') {
                    None | Some(0) => out.write_str(&text),
                    Some(_) => write!(out, "$(Value({text}))"),
                }
            }
            _ => self.write_operand(out, operand, Place::Call),
        }
    }

    fn write_optional<N: Names>(&self, out: &mut dyn Write, operand: Option<&Operand<N>>) -> fmt::Result {
        match operand {
            Some(operand) => self.write_operand(out, operand, Place::Call),
            None => out.write_str("#undef"),
        }
    }

    fn write_operands<N: Names>(&self, out: &mut dyn Write, operands: &[Operand<N>], place: Place) -> fmt::Result {
        for (i, operand) in operands.iter().enumerate() {
            out.write_str(if i > 0 { ", " } else { "" })?;
            self.write_operand(out, operand, place)?;
        }
        Ok(())
    }

    fn write_operand<N: Names>(&self, out: &mut dyn Write, operand: &Operand<N>, place: Place) -> fmt::Result {
        let quoted = place == Place::Expr;
        match operand {
            Operand::Value(value) if quoted => write!(out, ":({value})"),
            Operand::Value(value) => write!(out, "{value}"),
            Operand::Argument(argument) if quoted => write!(out, ":({argument})"),
            Operand::Argument(argument) => write!(out, "{argument}"),
            Operand::Global(global) if quoted => {
                out.write_str(":(")?;
                self.write_global(out, global, false)?;
                out.write_char(')')
            }
            Operand::Global(global) => self.write_global(out, global, false),
            Operand::Constant(Constant::Symbol(name)) if quoted => write_symbol(out, name),
            Operand::Constant(Constant::Symbol(name)) if self.exact() => {
                out.write_str("$(")?;
                write_symbol(out, name)?;
                out.write_char(')')
            }
            Operand::Constant(Constant::Symbol(name)) => write!(out, "{name}"),
            Operand::Constant(Constant::SSAValue(number)) if quoted => write!(out, ":(%{number})"),
            Operand::Constant(constant) => self.write_constant(out, constant),
            Operand::Quote(constant) => match &**constant {
                Constant::Symbol(name) if quoted => {
                    out.write_str(":(")?;
                    write_symbol(out, name)?;
                    out.write_char(')')
                }
                Constant::Symbol(name) => write_symbol(out, name),
                other => {
                    out.write_str(if quoted { ":($(QuoteNode(" } else { "$(QuoteNode(" })?;
                    self.write_constant(out, other)?;
                    out.write_str(if quoted { ")))" } else { "))" })
                }
            },
            Operand::Nested(nested) => match &**nested {
                Stmt::Expr(_) if !quoted => self.write(out, nested, false),
                Stmt::Expr(_) | Stmt::Call(_) if quoted => {
                    out.write_str(":(")?;
                    self.write(out, nested, false)?;
                    out.write_char(')')
                }
                _ if self.exact() => {
                    out.write_str("$(Nested(")?;
                    self.write(out, nested, true)?;
                    out.write_str("))")
                }
                _ => self.write(out, nested, true),
            },
        }
    }

    /// Writes `Module.name`. As a callee a name without a module stands alone; among operands it would be taken for a
    /// function object there.
    fn write_global(&self, out: &mut dyn Write, global: &GlobalRef, callee: bool) -> fmt::Result {
        let GlobalRef { module, name, .. } = global;
        let reads_back = || match module.is_empty() {
            true => callee && is_identifier(name) && !is_word(name),
            false => is_path(module) && !name.is_empty() && !name.contains(['"', '\n', '\\']),
        };
        if self.exact() && !reads_back() {
            out.write_str("$(GlobalRef(")?;
            write_string(out, module)?;
            out.write_str(", ")?;
            write_string(out, name)?;
            return out.write_str("))");
        }
        if !module.is_empty() {
            out.write_str(module)?;
            out.write_char('.')?;
        }
        write_global_name(out, name, !module.is_empty())
    }

    fn write_constant(&self, out: &mut dyn Write, constant: &Constant) -> fmt::Result {
        if !self.exact() {
            return out.write_str(&on_one_line(match self.style {
                Style::Version(version) => constant_text(constant, version),
                Style::Julia | Style::Bbkit => constant.to_string(),
            }));
        }
        match constant {
            Constant::Scalar(scalar) => write_exact_scalar(out, scalar),
            Constant::Symbol(name) => write_symbol(out, name),
            Constant::Type(ty) if reads_back_as_type(ty) => write!(out, "{ty}"),
            Constant::Type(ty) => self.write_tagged(out, "Type", &ty.to_string()),
            Constant::Function(name) if reads_back_as_function(name) => write!(out, "{name}"),
            Constant::Function(name) => self.write_tagged(out, "Function", name),
            Constant::Text(text) => self.write_tagged(out, "Text", text),
            Constant::SSAValue(number) => write!(out, "$(SSAValue({number}))"),
            Constant::Nothing | Constant::String(_) => write!(out, "{constant}"),
            Constant::Tuple(elements) => {
                out.write_char('(')?;
                self.write_constants(out, elements)?;
                out.write_str(if elements.len() == 1 { ",)" } else { ")" })
            }
            Constant::SimpleVector(elements) => {
                out.write_str("svec(")?;
                for (i, element) in elements.iter().enumerate() {
                    out.write_str(if i > 0 { ", " } else { "" })?;
                    self.write_element_of_svec(out, element)?;
                }
                out.write_char(')')
            }
            Constant::NamedTuple(fields) if fields.is_empty() => out.write_str("NamedTuple()"),
            Constant::NamedTuple(fields) => {
                out.write_char('(')?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(out, "{}{} = ", if i > 0 { ", " } else { "" }, spelled(name))?;
                    self.write_constant(out, value)?;
                }
                out.write_str(if fields.len() == 1 { ",)" } else { ")" })
            }
        }
    }

    /// Where what starts with a name is read as a type.
    fn write_element_of_svec(&self, out: &mut dyn Write, element: &Constant) -> fmt::Result {
        if let Constant::Function(name) = element {
            return self.write_tagged(out, "Function", name);
        }
        let mut text = String::new();
        self.write_constant(&mut text, element)?;
        let is_built = text.contains('(') && text.starts_with(is_identifier_start);
        match element {
            Constant::Symbol(_) if is_built => write!(out, "$({text})"),
            Constant::Scalar(_) | Constant::SimpleVector(_) | Constant::NamedTuple(_) if is_built => {
                write!(out, "$(Value({text}))")
            }
            _ => out.write_str(&text),
        }
    }

    fn write_constants(&self, out: &mut dyn Write, constants: &[Constant]) -> fmt::Result {
        for (i, constant) in constants.iter().enumerate() {
            out.write_str(if i > 0 { ", " } else { "" })?;
            self.write_constant(out, constant)?;
        }
        Ok(())
    }

    fn write_tagged(&self, out: &mut dyn Write, tag: &str, text: &str) -> fmt::Result {
        write!(out, "$({tag}(")?;
        write_string(out, text)?;
        out.write_str("))")
    }

    fn write_type(&self, out: &mut dyn Write, ty: &Type) -> fmt::Result {
        let text = self.type_text(ty);
        if self.exact() && !is_one_type(&text) {
            return write_string(out, &text);
        }
        out.write_str(&on_one_line(text))
    }
}

/// Some objects print on several lines, which a listing has no place for.
pub(super) fn on_one_line(text: String) -> String {
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text }
}

/// Writes the name of a global behind its module: `name`, `:+`, `:(==)`, `:(var"#1#2")`.
fn write_global_name(out: &mut dyn Write, name: &str, behind_module: bool) -> fmt::Result {
    if is_identifier(name) || name.starts_with('@') {
        return out.write_str(name);
    }
    match (is_operator(name), behind_module) {
        (true, false) => out.write_str(name),
        (true, true) if is_quoted_in_parentheses(name) => write!(out, ":({name})"),
        (true, true) => write!(out, ":{name}"),
        (false, true) => write!(out, ":({})", spelled(name)),
        (false, false) => out.write_str(&spelled(name)),
    }
}

/// Writes a scalar so that its type and all its bits can be read back.
pub(crate) fn write_exact_scalar(out: &mut dyn Write, scalar: &Scalar) -> fmt::Result {
    let ty = scalar.scalar_type();
    match ty {
        ScalarType::Int8 | ScalarType::Int16 | ScalarType::Int32 | ScalarType::Int128 => write!(out, "{ty}({scalar})"),
        _ if scalar.is_unusual_nan() => {
            write!(out, "reinterpret({ty}, 0x{:0width$x})", scalar.to_bits(), width = ty.bytes() * 2)
        }
        _ => write!(out, "{scalar}"),
    }
}

/// The type of a statement that prints without one, as Julia's `should_print_ssa_type` decides; `None` for statements
/// whose type is printed.
pub fn default_type<N: Names>(stmt: &Stmt<N>) -> Option<Type> {
    match stmt {
        Stmt::Goto(_) | Stmt::GotoIfNot(_) | Stmt::Return(_) | Stmt::Enter(_) | Stmt::Switch(_) => Some(Type::Any),
        Stmt::Pi(pi) => Some(pi.ty.clone()),
        Stmt::Value(Operand::Quote(constant)) => Some(constant.ty()),
        Stmt::Expr(expr) => match expr.head {
            Head::GcPreserveBegin | Head::GcPreserveEnd | Head::Meta | Head::Leave => Some(Type::Any),
            _ => None,
        },
        _ => None,
    }
}

/// Words that mean a value when they stand alone.
pub(crate) fn is_word(name: &str) -> bool {
    matches!(
        name,
        "nothing"
            | "true"
            | "false"
            | "missing"
            | "Inf"
            | "NaN"
            | "Inf32"
            | "NaN32"
            | "Inf16"
            | "NaN16"
            | "goto"
            | "return"
            | "unreachable"
            | "invoke"
            | "enter"
            | "switch"
            | "svec"
    )
}

/// Whether the text is a path of names joined by points, such as `Base.Math`.
pub(crate) fn is_path(text: &str) -> bool {
    !text.is_empty() && text.split('.').all(|part| is_identifier(part) && !is_word(part))
}

/// Whether the printed type, standing among operands, is read as this type again.
fn reads_back_as_type(ty: &Type) -> bool {
    match ty {
        Type::Named(text) => is_one_type(text) && text.contains('{') && super::expression::starts_type(text),
        Type::Untyped | Type::Function(_) | Type::NamedTuple(_) => false,
        _ => is_one_type(&ty.to_string()),
    }
}

/// Whether this is the type of a function.
fn is_of_function(ty: &Type) -> bool {
    matches!(ty, Type::Function(_))
}

/// Whether the name, standing among operands, is read as a function object.
fn reads_back_as_function(name: &str) -> bool {
    is_path(name)
        && !name.contains('.')
        && !is_word(name)
        && matches!(Type::parse(name), Type::Named(_))
        && !super::words::is_known_type_name(name)
}

/// Whether the text holds a single type, as far as brackets tell.
pub(crate) fn is_one_type(text: &str) -> bool {
    use crate::text::balanced::{balanced_length, is_balanced};
    let ends = |rest: &str| {
        rest.starts_with([',', ')', ';', '\n', '"', '\\']) || rest.starts_with(" #") || rest.starts_with("::")
    };
    let one_line = text.trim() == text && !text.contains(['\n', '\r']);
    !text.is_empty() && one_line && balanced_length(text, ends) == text.len() && is_balanced(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{
        Constant, Function, Head, IRCode, InstructionStream, LineInfo, NewInstruction, Operand, Positions, Scalar,
        Stmt, Style, Type,
    };

    /// Holds that a statement of this type comes back from the exact style.
    fn comes_back(stmt: Stmt<Positions>, ty: Type) {
        let mut stmts = InstructionStream::default();
        stmts.push(NewInstruction::new(stmt, ty).into_instruction(LineInfo::NONE));
        stmts.push(NewInstruction::new(Stmt::unreachable(), Type::Any).into_instruction(LineInfo::NONE));
        let function = Function::new("f", Type::Any, IRCode::from_blocks(stmts, std::slice::from_ref(&(0..2))));
        let text = crate::print_function(&function, Style::Bbkit);
        assert_eq!(crate::parse_module(&text).unwrap().module.functions(), [function], "{text}");
    }

    #[test]
    fn a_global_comes_back_where_operands_are_no_uses() {
        for head in ["meta", "nonsense"] {
            let args = [Operand::global("Main", "x"), Operand::global("Base", "+")];
            comes_back(Stmt::expr(Head::from_name(head), args), Type::Any);
        }
    }

    /// In lists of constants and as what is made, names mean types; in named tuples they may be any.
    #[test]
    fn constants_come_back_wherever_they_stand() {
        let list = |constants: &[Constant]| Constant::SimpleVector(Arc::new(constants.to_vec()));
        let named = |name: &str| {
            let fields = vec![(name.into(), Constant::Nothing), ("c".into(), Constant::Scalar(Scalar::Bool(true)))];
            Constant::NamedTuple(Arc::new(fields))
        };
        let of_any_rank = Constant::of_type(Type::parse("Array{T, 1} where T"));
        let symbol = Constant::Symbol("a".into());
        let elements = [
            symbol.clone(),
            Constant::Symbol("a b".into()),
            Constant::Function("sin".into()),
            Constant::of_type(Type::INT64),
            of_any_rank.clone(),
            Constant::Scalar(Scalar::Int8(1)),
            Constant::Scalar(Scalar::from_char('a')),
            Constant::Scalar(Scalar::Float32(f32::INFINITY)),
            list(&[]),
            list(&[Constant::Scalar(Scalar::Int32(-2)), symbol]),
            named("a b"),
            named("a\"b\\"),
            Constant::Nothing,
        ];
        for constant in elements.iter().cloned().chain([list(&elements), list(&[list(&elements)])]) {
            let call = Stmt::call(Operand::global("Base", "g"), [Operand::Constant(constant.clone())]);
            comes_back(call, Type::Any);
            comes_back(
                Stmt::call(Operand::global("Base", "g"), [Operand::Constant(list(std::slice::from_ref(&constant)))]),
                Type::Any,
            );
            comes_back(Stmt::Value(Operand::Constant(constant)), Type::parse("Type{Array{T, 1} where T}"));
        }
        for made in [Constant::of_type(Type::named("Holder")), Constant::Function("Holder".into())] {
            comes_back(Stmt::expr(Head::New, [Operand::Constant(made), Operand::argument(2)]), Type::Any);
        }
    }

    /// As Julia 1.5.3 prints them.
    #[test]
    fn listings_of_julia_print_back() {
        for line in [
            "Base.f(:., :.., :..., :.+, :(==), :.==, :.=, :+=, :->, :(::), :(=), :&&, :||, :(=>), :<:, :(:), :$, :if)::Any",
            "Base.f(Symbol(\"'\"), :.', :?, Symbol(\"@x\"), Symbol(\"a b\"), :∘, :.&, :(:=))::Any",
            "(_2:-1:0)::StepRange{Int64,Int64}",
            "invoke Base.var\"#f##kw\"()(_2::Any)::Any",
            "(var\"#f##kw\"())(_2, Main.f)::Any",
            "$(Expr(:foreigncall, :(:jl_f), Any, svec(Any), 0, :(:ccall), :($(Expr(:static_parameter, 1)))))::Any",
        ] {
            let text = format!("1 ─ %1 = {line}\n└──      return %1\n");
            let function = crate::parse_function(&text).unwrap();
            let printed = crate::print_function(&function, Style::Version(crate::JuliaVersion::new(1, 5)));
            assert!(printed.ends_with(&format!(")\n{text}end\n")), "{printed}");
        }
    }

    #[test]
    fn what_is_called_comes_back() {
        for name in ["sin", "Base.sin", "Symbol", "Base.Symbol", "Int64", "Function", "a b", "nothing"] {
            let callee = Operand::Constant(Constant::Function(name.into()));
            comes_back(Stmt::call(callee, [Operand::argument(2)]), Type::Any);
        }
    }

    #[test]
    fn what_new_makes_is_of_a_type() {
        let body =
            |made: &str| crate::parse_function(&format!("1 ─ %1 = {made}::Holder\n└──      return %1\n")).unwrap();
        assert_eq!(body("$(Expr(:new, Holder, :(_2)))"), body("%new(Holder, _2)"));
    }
}
