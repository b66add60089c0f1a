//! Making functions from Rust, without text and without φs.

use std::sync::atomic::{AtomicU64, Ordering};

use bbcode::{BBCode, BlockId, EditError, Ids, InstId, Switch, display_violations};
use ircode::wording::with_article;
use ircode::{
    Argument, Constant, EnterNode, Function, Head, LineInfo, Module, Name, NewInstruction, Operand, ReturnNode, Stmt,
    Type,
};

use crate::manager::Context;
use crate::{PassError, infer_types, mem2reg};

/// Builds a function block by block. Local variables are assigned and read freely; [`FunctionBuilder::finish`] turns
/// them into SSA values with φs where they are needed, but those that catch blocks read.
///
/// Operands and blocks are those of one builder: what another one gave is not told apart from them.
///
/// A statement that cannot stand where it was put is remembered, and [`FunctionBuilder::finish`] says which was the
/// first, so that building needs no `?` at every line.
///
/// ```
/// use ircode::{IRCode, Operand, Type};
/// use passes::FunctionBuilder;
///
/// // x^n, for n ≥ 0.
/// let mut f = FunctionBuilder::new("power", Type::FLOAT64);
/// let (x, n) = (f.parameter("x", Type::FLOAT64), f.parameter("n", Type::INT64));
/// let (product, left) = (f.variable("product", Type::FLOAT64), f.variable("left", Type::INT64));
/// let (head, body, exit) = (f.block(), f.block(), f.block());
/// f.set(product, 1.0);
/// f.set(left, n);
/// f.goto(head);
///
/// f.switch_to(head);
/// let counter = f.get(left);
/// let more = f.call("Base.slt_int", [0.into(), counter], Type::BOOL);
/// f.branch(more, body, exit);
///
/// f.switch_to(body);
/// let (old, counter) = (f.get(product), f.get(left));
/// let new = f.call("Base.mul_float", [old, x], Type::FLOAT64);
/// f.set(product, new);
/// let fewer = f.call("Base.sub_int", [counter, 1.into()], Type::INT64);
/// f.set(left, fewer);
/// f.goto(head);
///
/// f.switch_to(exit);
/// let result = f.get(product);
/// f.ret(result);
///
/// let function = f.finish()?;
/// assert_eq!(IRCode::try_from(&function.body)?.to_string(), "\
/// 1 ─      goto #2
/// 2 ┄ %2 = φ (#1 => 1.0, #3 => %6)::Float64
/// │   %3 = φ (#1 => _3, #3 => %7)::Int64
/// │   %4 = Base.slt_int(0, %3)::Bool
/// └──      goto #4 if not %4
/// 3 ─ %6 = Base.mul_float(%2, _2)::Float64
/// │   %7 = Base.sub_int(%3, 1)::Int64
/// └──      goto #2
/// 4 ─      return %2
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FunctionBuilder {
    name: Name,
    parameters: Vec<Option<Name>>,
    result: Type,
    bb: BBCode,
    entry: BlockId,
    block: BlockId,
    line: LineInfo,
    variables: Vec<(Name, InstId, Type)>,
    /// Which builder it is.
    number: u64,
    error: Option<BuildError>,
}

/// A local variable of a function that is being built; it is of no use to another builder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variable {
    builder: u64,
    index: usize,
}

/// How many builders there were. Nothing that is built depends on it.
static BUILDERS: AtomicU64 = AtomicU64::new(0);

/// Why a function cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A statement cannot stand where it was put.
    #[error("{function}: {error}")]
    Edit {
        /// The function.
        function: Name,
        /// What is wrong.
        error: EditError,
    },
    /// A variable of another builder was used.
    #[error("{0}: a variable of another function is used")]
    ForeignVariable(Name),
    /// Two parameters have the same name.
    #[error("{function}: there are two parameters `{parameter}`")]
    ParameterTwice {
        /// The function.
        function: Name,
        /// The parameter.
        parameter: Name,
    },
    /// A value is assigned to a variable of another type.
    #[error("{function}: the variable `{variable}` is {}, and is assigned {}", with_article(.expected), with_article(.given))]
    VariableType {
        /// The function.
        function: Name,
        /// The variable.
        variable: Name,
        /// The type of the variable.
        expected: Type,
        /// The type of the value.
        given: Type,
    },
    /// A value of another type is returned than the function is said to give.
    #[error("{function} gives {}, and returns {}", with_article(.expected), with_article(.given))]
    ResultType {
        /// The function.
        function: Name,
        /// The type of its result.
        expected: Type,
        /// The type of the value.
        given: Type,
    },
    /// A variable is read where no assignment has reached.
    #[error("{function}: the variable `{variable}` is read where it was never assigned")]
    Unassigned {
        /// The function.
        function: Name,
        /// The variable.
        variable: Name,
    },
    /// A pass that finishes the function failed.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// The function is not valid; the listing shows why.
    #[error("{function} is not valid:\n{listing}")]
    Invalid {
        /// The function.
        function: Name,
        /// The function with what is wrong with it.
        listing: String,
    },
}

impl FunctionBuilder {
    /// A function of this name that returns this type, with an entry block to which statements are added first.
    pub fn new(name: impl Into<Name>, result: Type) -> Self {
        let name = name.into();
        let mut bb = BBCode::new(vec![Type::function(name.clone())]);
        let entry = bb.push_block();
        let (parameters, variables) = (Vec::new(), Vec::new());
        FunctionBuilder {
            name,
            parameters,
            result,
            bb,
            entry,
            block: entry,
            line: LineInfo::NONE,
            variables,
            number: BUILDERS.fetch_add(1, Ordering::Relaxed),
            error: None,
        }
    }

    /// Adds a parameter behind those that there are; it has no name if that is empty.
    pub fn parameter(&mut self, name: impl Into<Name>, ty: Type) -> Operand<Ids> {
        let argument = Argument::from_index(self.bb.argtypes.len());
        let name = Some(name.into()).filter(|name| !name.is_empty());
        if let (true, Some(parameter)) = (self.parameters.contains(&name), &name) {
            self.fail(BuildError::ParameterTwice { function: self.name.clone(), parameter: parameter.clone() });
        }
        self.bb.argtypes.push(ty);
        self.parameters.push(name);
        argument.into()
    }

    /// A new local variable, without a value.
    pub fn variable(&mut self, name: impl Into<Name>, ty: Type) -> Variable {
        let of = Operand::Constant(Constant::of_type(ty.clone()));
        let stmt = Stmt::call(Operand::global("BBKit", "new_slot"), [of]);
        let slot = self.bb.insert_at_start(self.entry, NewInstruction::new(stmt, Type::slot(ty.clone())));
        if let Some(slot) = self.checked(slot) {
            self.variables.push((name.into(), slot, ty));
        }
        Variable { builder: self.number, index: self.variables.len().wrapping_sub(1) }
    }

    /// Assigns a value to a variable.
    pub fn set(&mut self, variable: Variable, value: impl Into<Operand<Ids>>) {
        let Some((slot, expected)) = self.slot(variable) else { return };
        let value = value.into();
        let given = self.bb.operand_type(&value);
        if let (Some(false), Some((variable, ..))) =
            (Module::<BBCode>::new().is_a(&given, &expected), self.variables.get(variable.index))
        {
            let (function, variable) = (self.name.clone(), variable.clone());
            self.fail(BuildError::VariableType { function, variable, expected, given });
        }
        self.push(Stmt::call(Operand::global("BBKit", "slot_set!"), [slot, value]), Type::Nothing);
    }

    /// The value that a variable has at this place.
    pub fn get(&mut self, variable: Variable) -> Operand<Ids> {
        match self.slot(variable) {
            Some((slot, ty)) => self.push(Stmt::call(Operand::global("BBKit", "slot_get"), [slot]), ty),
            None => Operand::nothing(),
        }
    }

    fn slot(&mut self, variable: Variable) -> Option<(Operand<Ids>, Type)> {
        let own = self.variables.get(variable.index).filter(|_| variable.builder == self.number);
        let found = own.map(|(_, slot, ty)| (Operand::Value(*slot), ty.clone()));
        if found.is_none() {
            self.fail(BuildError::ForeignVariable(self.name.clone()));
        }
        found
    }

    /// The block with which the function begins.
    pub fn entry(&self) -> BlockId {
        self.entry
    }

    /// The block to which statements are added.
    pub fn current_block(&self) -> BlockId {
        self.block
    }

    /// Whether the block to which statements are added has ended: nothing can follow there.
    pub fn is_terminated(&self) -> bool {
        self.bb.terminator(self.block).is_some()
    }

    /// A new empty block, behind those that there are.
    pub fn block(&mut self) -> BlockId {
        self.bb.push_block()
    }

    /// Adds what follows to the end of this block.
    pub fn switch_to(&mut self, block: BlockId) {
        self.block = block;
    }

    /// Says from which line of the source what follows comes.
    pub fn at_line(&mut self, line: impl Into<LineInfo>) {
        self.line = line.into();
    }

    /// Calls a function or primitive: `Base.add_float`, `Main.helper`, `sin`, `Base.:^`. A result type of
    /// [`Type::Untyped`] is found by [`infer_types`] if what is called is a primitive that is built in; else it stays
    /// so.
    pub fn call(&mut self, callee: &str, args: impl IntoIterator<Item = Operand<Ids>>, ty: Type) -> Operand<Ids> {
        let callee = match callee.rsplit_once('.') {
            Some((module, name)) => {
                let name = name.strip_prefix(':').unwrap_or(name);
                // As operators with an equals sign are printed.
                let inside = name.strip_prefix('(').and_then(|name| name.strip_suffix(')'));
                Operand::global(module, inside.unwrap_or(name))
            }
            None => Operand::global("", callee),
        };
        self.push(Stmt::call(callee, args), ty)
    }

    /// Adds any statement.
    pub fn push(&mut self, stmt: Stmt<Ids>, ty: Type) -> Operand<Ids> {
        let added = self.bb.push(self.block, NewInstruction::new(stmt, ty).with_line(self.line));
        self.checked(added).map_or_else(Operand::nothing, Operand::Value)
    }

    /// Ends the block: control goes to `target`.
    pub fn goto(&mut self, target: BlockId) {
        self.push(Stmt::goto(target), Type::Any);
    }

    /// Ends the block: control goes to `then` if the condition is true, otherwise to `otherwise`.
    pub fn branch(&mut self, condition: impl Into<Operand<Ids>>, then: BlockId, otherwise: BlockId) {
        self.push(Stmt::goto_if_not(condition, otherwise), Type::Any);
        let next = self.bb.set_next(self.block, Some(then));
        self.checked(next);
    }

    /// Ends the block: control goes to the target of the first condition that is false, or to `otherwise` if all are
    /// true.
    pub fn switch(&mut self, branches: impl IntoIterator<Item = (Operand<Ids>, BlockId)>, otherwise: BlockId) {
        self.push(Stmt::Switch(Switch::new(branches, otherwise)), Type::Any);
    }

    /// Ends the block: the function returns this value.
    pub fn ret(&mut self, value: impl Into<Operand<Ids>>) {
        self.push(Stmt::ret(value), Type::Any);
    }

    /// Ends the block: control goes to `body`, and from there on, until the handler is [left](Self::leave), what is
    /// thrown goes to `catch`. The result is the handler's token. The catch block ends the exception by
    /// [`pop_exception`](Self::pop_exception). Variables that it reads hold what they held when it was thrown.
    ///
    /// ```
    /// use ircode::{Operand, Type};
    /// use passes::FunctionBuilder;
    ///
    /// // a[i], or the last that was read where there is no such element.
    /// let mut f = FunctionBuilder::new("at", Type::FLOAT64);
    /// let (a, i) = (f.parameter("a", Type::array(Type::FLOAT64, 1)), f.parameter("i", Type::INT64));
    /// let last = f.variable("last", Type::FLOAT64);
    /// let (body, catch, rest) = (f.block(), f.block(), f.block());
    /// let first = f.call("Base.getindex", [a.clone(), 1.into()], Type::FLOAT64);
    /// f.set(last, first);
    /// let handler = f.enter(body, catch);
    ///
    /// f.switch_to(body);
    /// let element = f.call("Base.getindex", [a, i], Type::FLOAT64);
    /// f.set(last, element);
    /// f.leave(handler.clone(), rest);
    ///
    /// f.switch_to(catch);
    /// f.pop_exception(handler);
    /// f.goto(rest);
    ///
    /// f.switch_to(rest);
    /// let result = f.get(last);
    /// f.ret(result);
    ///
    /// assert!(f.finish()?.body.verify().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn enter(&mut self, body: BlockId, catch: BlockId) -> Operand<Ids> {
        let enter = EnterNode { catch_dest: Some(catch), scope: None };
        let token = self.push(Stmt::Enter(Box::new(enter)), Type::Any);
        let next = self.bb.set_next(self.block, Some(body));
        self.checked(next);
        token
    }

    /// Ends the block: the handler of this token does not handle any more, and control goes to `target`.
    pub fn leave(&mut self, token: Operand<Ids>, target: BlockId) {
        self.push(Stmt::expr(Head::Leave, [token]), Type::Any);
        let next = self.bb.set_next(self.block, Some(target));
        self.checked(next);
    }

    /// Ends the exception that the handler of this token has caught.
    pub fn pop_exception(&mut self, token: Operand<Ids>) {
        self.push(Stmt::expr(Head::PopException, [token]), Type::Nothing);
    }

    /// Ends the block: control never comes here.
    pub fn unreachable(&mut self) {
        self.push(Stmt::unreachable(), Type::Any);
    }

    fn checked<T>(&mut self, result: Result<T, EditError>) -> Option<T> {
        result.map_err(|error| self.fail(BuildError::Edit { function: self.name.clone(), error })).ok()
    }

    fn fail(&mut self, error: BuildError) {
        self.error.get_or_insert(error);
    }

    /// The function, verified, its variables turned into values. Blocks that are never reached are left out.
    ///
    /// # Errors
    ///
    /// The first [`BuildError`].
    pub fn finish(mut self) -> Result<Function<BBCode>, BuildError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let verified = |bb: &BBCode, function: &Name| {
            bb.verify().map_err(|violations| {
                let listing = display_violations(bb, &violations).to_string();
                BuildError::Invalid { function: function.clone(), listing }
            })
        };
        verified(&self.bb, &self.name)?;
        let module = Module::new();
        let context = Context { module: &module, function: &self.name };
        mem2reg::run(&mut self.bb, &context)?;
        infer_types::run(&mut self.bb, &context)?;
        // What a catch block reads stays in memory, as it may be thrown from anywhere.
        let handles = self.bb.has_handlers();
        let kept = self.variables.iter().find(|(_, slot, _)| self.bb.inst(*slot).is_some());
        if let Some((variable, ..)) = kept.filter(|_| !handles) {
            return Err(BuildError::Unassigned { function: self.name, variable: variable.clone() });
        }
        verified(&self.bb, &self.name)?;
        for (_, inst) in self.bb.all_insts() {
            let Stmt::Return(ReturnNode { value: Some(value) }) = &inst.stmt else { continue };
            let given = self.bb.operand_type(value);
            if module.is_a(&given, &self.result) == Some(false) {
                return Err(BuildError::ResultType { function: self.name, expected: self.result, given });
            }
        }
        Ok(Function {
            name: self.name,
            parameters: self.parameters,
            varargs: false,
            result: self.result,
            body: self.bb,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_type_than_its_variable_is_refused() {
        let mut f = FunctionBuilder::new("f", Type::FLOAT64);
        let sum = f.variable("sum", Type::FLOAT64);
        f.set(sum, 0);
        let value = f.get(sum);
        f.ret(value);
        let expected = "f: the variable `sum` is a Float64, and is assigned an Int64";
        assert_eq!(f.finish().unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_result_of_another_type_is_refused() {
        let mut f = FunctionBuilder::new("f", Type::FLOAT64);
        let n = f.parameter("n", Type::INT64);
        let twice = f.call("Base.add_int", [n.clone(), n], Type::Untyped);
        assert!(!f.is_terminated() && f.current_block() == f.entry());
        f.ret(twice);
        assert!(f.is_terminated());
        assert_eq!(f.finish().unwrap_err().to_string(), "f gives a Float64, and returns an Int64");
    }

    #[test]
    fn two_parameters_of_one_name_are_refused() {
        let mut f = FunctionBuilder::new("f", Type::FLOAT64);
        let x = f.parameter("x", Type::FLOAT64);
        f.parameter("x", Type::FLOAT64);
        f.ret(x);
        assert_eq!(f.finish().unwrap_err().to_string(), "f: there are two parameters `x`");

        let mut f = FunctionBuilder::new("f", Type::FLOAT64);
        let x = f.parameter("", Type::FLOAT64);
        f.parameter("", Type::FLOAT64);
        f.ret(x);
        assert_eq!(f.finish().unwrap().parameters, [None, None]);
    }

    #[test]
    fn an_operator_is_called_by_the_name_that_julia_prints() {
        let mut f = FunctionBuilder::new("f", Type::FLOAT64);
        let x = f.parameter("x", Type::FLOAT64);
        let power = f.call("Base.:^", [x.clone(), x.clone()], Type::FLOAT64);
        f.call("Core.:(===)", [x.clone(), x], Type::BOOL);
        f.ret(power);
        let printed = f.finish().unwrap().body.to_string();
        assert!(printed.contains("_2 ^ _2") && printed.contains("_2 === _2"), "{printed}");
    }

    #[test]
    fn a_variable_without_a_value_is_refused() {
        let mut f = FunctionBuilder::new("f", Type::FLOAT64);
        let never = f.variable("never", Type::FLOAT64);
        let value = f.get(never);
        f.ret(value);
        let expected = BuildError::Unassigned { function: "f".into(), variable: "never".into() };
        assert_eq!(f.finish().err(), Some(expected));
    }

    #[test]
    fn a_variable_that_some_ways_do_not_assign_is_an_undefined_phi() {
        let mut f = FunctionBuilder::new("f", Type::FLOAT64);
        let flag = f.parameter("flag", Type::BOOL);
        let maybe = f.variable("maybe", Type::FLOAT64);
        let (then, join) = (f.block(), f.block());
        f.branch(flag, then, join);
        f.switch_to(then);
        f.set(maybe, 1.0);
        f.goto(join);
        f.switch_to(join);
        let value = f.get(maybe);
        f.ret(value);
        let text = ircode::IRCode::try_from(&f.finish().unwrap().body).unwrap().to_string();
        assert!(text.contains("φ (#1 => #undef, #2 => 1.0)"), "{text}");
    }

    #[test]
    fn the_first_mistake_is_told() {
        let mut f = FunctionBuilder::new("f", Type::FLOAT64);
        f.ret(1.0);
        f.ret(2.0);
        assert!(matches!(f.finish(), Err(BuildError::Edit { error: EditError::BehindTerminator(_), .. })));

        let mut f = FunctionBuilder::new("f", Type::FLOAT64);
        let mut other = FunctionBuilder::new("g", Type::FLOAT64);
        let foreign = other.variable("x", Type::FLOAT64);
        f.variable("y", Type::FLOAT64);
        f.set(foreign, 1.0);
        f.ret(1.0);
        assert_eq!(f.finish().err(), Some(BuildError::ForeignVariable("f".into())));

        let f = FunctionBuilder::new("f", Type::FLOAT64);
        assert!(matches!(f.finish(), Err(BuildError::Invalid { .. })));
    }
}
