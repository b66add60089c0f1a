//! Which objects outlive the code that makes them (escape analysis, as in Choi et al., "Escape analysis for Java",
//! 1999, without telling objects apart).
//!
//! A stretch of code — a loop's blocks, or all of a function — makes objects *inside*; all others are *outside*. For
//! each value it is found out whether it may lead to either, by what statements do with values. What the stretch does
//! to objects outside is summed up: whether one may come to lead to an object inside. Calls do what the functions' own
//! summaries say, callees first.
//!
//! Types decide what can be an object. Where the code compiled for a statement turns out to give something else than
//! its type says, all that was concluded is wrong, and the program is compiled again without.

use hashbrown::HashMap;
use ircode::primitives::{MemoryEffect, Primitive, ResultType, Transfer};
use ircode::{Callee, Constant, ExprNode, Head, IRCode, Module, Operand, Positions, Stmt, Type};
use smallvec::SmallVec;

use super::phis::phi_type;
use crate::native::arrays::slices::CHANGING;
use crate::native::compiler::Signature;
use crate::native::layout::{Kind, Layouts};
use crate::prepare::invoked;

/// Where the objects were made to which a value may lead.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Origins {
    outside: bool,
    pub(crate) inside: bool,
}

impl Origins {
    const NONE: Origins = Origins { outside: false, inside: false };
    const OUTSIDE: Origins = Origins { outside: true, inside: false };
    const INSIDE: Origins = Origins { outside: false, inside: true };
    const BOTH: Origins = Origins { outside: true, inside: true };

    fn or(self, other: Origins) -> Origins {
        Origins { outside: self.outside || other.outside, inside: self.inside || other.inside }
    }
}

/// What a stretch of code does to objects.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Effects {
    /// Whether it may make some.
    pub(crate) makes: bool,
    /// Whether one from outside may lead to one made inside when it is over, or have got more memory inside.
    pub(crate) keeps: bool,
    /// Whether one from outside may lead to another one from outside to which it did not lead before.
    pub(crate) links: bool,
    /// Whether it names global objects, which then are outside beside those that it is given.
    pub(crate) globals: bool,
}

impl Effects {
    fn or(self, other: Effects) -> Effects {
        Effects {
            makes: self.makes || other.makes,
            keeps: self.keeps || other.keeps,
            links: self.links || other.links,
            globals: self.globals || other.globals,
        }
    }
}

/// What the functions do that are known, by their numbers.
pub(crate) type Summaries = HashMap<usize, Effects>;

type Operands<'s> = SmallVec<[&'s Operand<Positions>; 4]>;

/// What a statement does with the objects among its operands.
#[derive(Debug)]
enum Action<'s> {
    /// Nothing, and its value is none.
    None,
    /// Its value is one of these, or their parts.
    Same(Operands<'s>),
    /// Its value lies in an object.
    Load(&'s Operand<Positions>),
    /// Its value may be new, one of the operands, or lie in one.
    Make(Operands<'s>),
    /// A value is put into an object, which may get more memory; its own value is one of the two.
    Store { object: &'s Operand<Positions>, value: &'s Operand<Positions>, grows: bool },
    /// A function is called.
    Call(usize, &'s [Operand<Positions>]),
}

/// What is expected of the code compiled for a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// Its value is no more than this.
    pub(crate) kind: Kind,
    /// It does not let the interpreter make an object.
    pub(crate) native: bool,
}

/// A function that is looked at.
pub(crate) struct Body<'a> {
    module: &'a Module<IRCode>,
    pub(crate) ir: &'a IRCode,
    /// By statement.
    pub(crate) kinds: Vec<Kind>,
    /// By argument, `_2` first.
    arguments: Vec<Kind>,
}

impl<'a> Body<'a> {
    /// Of a function with this signature.
    pub(crate) fn new(
        module: &'a Module<IRCode>,
        ir: &'a IRCode,
        layouts: &mut Layouts,
        signature: &Signature,
    ) -> Body<'a> {
        let kinds = ir.stmts.stmts().iter().enumerate().map(|(index, stmt)| {
            let ty = match stmt {
                Stmt::Phi(_) => phi_type(ir, index),
                _ => ir.stmts.types().get(index).map_or(Type::Any, |ty| ty.widened().unwrap_or_else(|| ty.clone())),
            };
            layouts.of(&ty).kind
        });
        let kinds = kinds.collect();
        let arguments = signature.parameters.iter().map(|layout| layout.kind).collect();
        Body { module, ir, kinds, arguments }
    }

    /// Calls this with each operand of a statement.
    pub(crate) fn for_each_operand(&self, index: usize, each: &mut dyn FnMut(&Operand<Positions>)) {
        if let Some(stmt) = self.ir.stmts.stmts().get(index) {
            stmt.for_each_operand(&mut |operand| each(operand));
        }
    }

    /// Whether a global object is among the operands of a statement.
    fn names_global_object(&self, index: usize) -> bool {
        let mut names = false;
        self.for_each_operand(index, &mut |operand| {
            names |= matches!(operand, Operand::Global(global) if self.module.global_constant(global).is_some());
        });
        names
    }

    /// What is expected of a statement; `None` if it is not known what it does.
    pub(crate) fn expected(&self, index: usize) -> Option<Expected> {
        let action = self.action(index, self.ir.stmts.stmts().get(index)?)?;
        let native = !matches!(action, Action::Make(_) | Action::Call(..));
        Some(Expected { kind: *self.kinds.get(index)?, native })
    }

    /// Whether a statement may make objects, as far as that is known.
    pub(crate) fn may_make(&self, index: usize, summaries: &Summaries) -> bool {
        let kind = self.kinds.get(index).copied().unwrap_or(Kind::Unsure);
        match self.ir.stmts.stmts().get(index).and_then(|stmt| self.action(index, stmt)) {
            Some(Action::Make(_)) => kind != Kind::Plain,
            Some(Action::Store { grows, .. }) => grows,
            Some(Action::Call(function, _)) => summaries.get(&function).is_some_and(|effects| effects.makes),
            _ => false,
        }
    }

    fn action<'s>(&'s self, index: usize, stmt: &'s Stmt<Positions>) -> Option<Action<'s>> {
        match stmt {
            Stmt::Value(Operand::Nested(nested)) => self.action(index, nested),
            // It may be known to be a constant.
            Stmt::Value(Operand::Global(global)) if self.module.global_constant(global).is_none() => {
                Some(Action::Make(SmallVec::new()))
            }
            Stmt::Value(operand) => Some(Action::Same(SmallVec::from_slice(&[operand]))),
            Stmt::Pi(pi) => Some(Action::Same(SmallVec::from_slice(&[&pi.value]))),
            Stmt::Phi(phi) => Some(Action::Same(phi.entries.iter().filter_map(|entry| entry.value.as_ref()).collect())),
            Stmt::Goto(_) | Stmt::GotoIfNot(_) | Stmt::Return(_) => Some(Action::None),
            // What is thrown past a handler may lead to anything.
            Stmt::PhiC(_) | Stmt::Upsilon(_) | Stmt::Enter(_) | Stmt::Switch(_) => None,
            Stmt::Call(call) => self.call(index, stmt, &call.args),
            Stmt::Invoke(invoke) => match invoked(self.module, invoke) {
                Some(function) => Some(Action::Call(function, &invoke.args)),
                None => self.call(index, stmt, &invoke.args),
            },
            Stmt::Expr(expr) => self.expression(index, stmt, expr),
        }
    }

    fn call<'s>(
        &'s self,
        index: usize,
        stmt: &'s Stmt<Positions>,
        args: &'s [Operand<Positions>],
    ) -> Option<Action<'s>> {
        if let Some((primitive, args)) = self.module.primitive_call(stmt) {
            return self.primitive(index, primitive, args);
        }
        match self.module.called(stmt)? {
            Callee::Function(function) => Some(Action::Call(function, args)),
            Callee::Type(_) => Some(self.aggregate(index, args)),
            // An error, when it runs.
            Callee::Unknown(_) => Some(Action::None),
            Callee::Primitive(_) => None,
        }
    }

    /// Makes a value of these: an object, or several parts.
    fn aggregate<'s>(&'s self, index: usize, fields: &'s [Operand<Positions>]) -> Action<'s> {
        match self.kinds.get(index) {
            Some(Kind::Plain | Kind::Parts) => Action::Same(fields.iter().collect()),
            _ => Action::Make(fields.iter().collect()),
        }
    }

    fn primitive<'s>(
        &'s self,
        index: usize,
        primitive: &Primitive,
        args: &'s [Operand<Positions>],
    ) -> Option<Action<'s>> {
        let name = primitive.name;
        if primitive.result == ResultType::Bottom {
            return Some(Action::None);
        }
        match primitive.transfer {
            Transfer::Load { object } => {
                let object = args.get(object)?;
                // The interpreter does the rest, as what lies at an index of a tuple: its value is made for it.
                return Some(match self.kind_of(object) {
                    Kind::Pointer => Action::Load(object),
                    Kind::Parts if name != "getindex" => Action::Load(object),
                    _ => Action::Make(args.iter().collect()),
                });
            }
            Transfer::Store { object, value } if !CHANGING.contains(&name) => {
                let (object, value) = (args.get(object)?, args.get(value)?);
                let grows = matches!(primitive.memory, MemoryEffect::Resize { .. }) || name == "stack_push!";
                let native = self.kind_of(object) == Kind::Pointer;
                return native.then_some(Action::Store { object, value, grows });
            }
            _ => {}
        }
        if name == "stack_empty!" {
            let native = self.kind_of(args.first()?) == Kind::Pointer;
            return native.then_some(Action::None);
        }
        // Numbers lead nowhere. Where the interpreter does it after all, that is noticed.
        if CHANGING.contains(&name) && self.changes_numbers(args) {
            return Some(Action::Same(args.iter().take(1).collect()));
        }
        if name == "tuple" {
            return Some(self.aggregate(index, args));
        }
        // The interpreter copies objects and writes them back: into other memory, perhaps.
        let plain = |operand| self.kind_of(operand) == Kind::Plain;
        match primitive.effects.writes && !args.iter().all(plain) {
            true => None,
            false => Some(Action::Make(args.iter().collect())),
        }
    }

    /// Whether the arrays among these operands, the first of which is one, have numbers of one type as elements.
    fn changes_numbers(&self, args: &[Operand<Positions>]) -> bool {
        let mut elements = args.iter().filter_map(|operand| match self.ir.operand_type(operand) {
            Type::Array(array) => Some(array.element.as_scalar()),
            _ => None,
        });
        let first = elements.next().flatten();
        first.is_some() && elements.all(|element| element == first)
    }

    fn expression<'s>(
        &'s self,
        index: usize,
        stmt: &'s Stmt<Positions>,
        expr: &'s ExprNode<Positions>,
    ) -> Option<Action<'s>> {
        match &expr.head {
            Head::New => Some(self.aggregate(index, expr.args.get(1..).unwrap_or_default())),
            Head::Boundscheck | Head::ThrowUndefIfNot => Some(Action::None),
            // It may be known to be a constant.
            Head::StaticParameter => Some(Action::Make(SmallVec::new())),
            Head::CopyAst => Some(Action::Same(expr.args.iter().collect())),
            head if head.is_for_compiler() => Some(Action::None),
            _ => {
                let (primitive, args) = self.module.primitive_call(stmt)?;
                self.primitive(index, primitive, args)
            }
        }
    }

    /// What an operand is; a constant that may be an object is made where it is used.
    fn kind_of(&self, operand: &Operand<Positions>) -> Kind {
        let known = match operand {
            Operand::Value(value) => value.index().and_then(|index| self.kinds.get(index)),
            Operand::Argument(argument) => match argument.index() {
                Some(0) => Some(&Kind::Plain),
                index => index.and_then(|index| self.arguments.get(index - 1)),
            },
            Operand::Constant(constant) => Some(kind_of_constant(constant)),
            Operand::Quote(constant) => Some(kind_of_constant(constant)),
            // It was made before the call.
            Operand::Global(global) if self.module.global_constant(global).is_some() => Some(&Kind::Pointer),
            Operand::Global(_) | Operand::Nested(_) => Some(&Kind::Plain),
        };
        known.copied().unwrap_or(Kind::Unsure)
    }

    /// Where an operand leads that was made before the stretch.
    fn origins_outside(&self, operand: &Operand<Positions>) -> Origins {
        match self.kind_of(operand) {
            Kind::Plain => Origins::NONE,
            Kind::Parts | Kind::Pointer => Origins::OUTSIDE,
            Kind::Unsure => Origins::BOTH,
        }
    }
}

/// What a constant is: of many elements, an object.
fn kind_of_constant(constant: &Constant) -> &'static Kind {
    match constant {
        Constant::Tuple(_) | Constant::NamedTuple(_) => &Kind::Unsure,
        _ => &Kind::Plain,
    }
}

/// Statements are gone through so often, at most.
const MOST_SWEEPS: usize = 32;

/// A stretch of code.
pub(crate) struct Stretch<'b> {
    body: &'b Body<'b>,
    summaries: &'b Summaries,
    /// Where the values of its statements lead.
    pub(crate) origins: HashMap<usize, Origins>,
    pub(crate) effects: Effects,
    /// Whether an object inside may lead to one outside.
    mixed: bool,
}

impl<'b> Stretch<'b> {
    /// What these blocks do, in reverse postorder; `None` if that is not known.
    pub(crate) fn follow(body: &'b Body<'b>, summaries: &'b Summaries, blocks: &[usize]) -> Option<Stretch<'b>> {
        let ranges = blocks.iter().filter_map(|&block| body.ir.cfg.blocks.get(block));
        let statements: Vec<usize> = ranges.flat_map(|block| block.stmts.clone()).collect();
        let origins = statements.iter().map(|&index| (index, Origins::NONE)).collect();
        let mut stretch = Stretch { body, summaries, origins, effects: Effects::default(), mixed: false };
        for _ in 0..MOST_SWEEPS {
            if !stretch.sweep(&statements)? {
                return Some(stretch);
            }
        }
        None
    }

    /// Goes through the statements once; says whether more was found than before.
    fn sweep(&mut self, statements: &[usize]) -> Option<bool> {
        let (effects, mixed) = (self.effects, self.mixed);
        let mut more = false;
        for &index in statements {
            let action = self.body.action(index, self.body.ir.stmts.stmts().get(index)?)?;
            let value = self.act(&action)?;
            let kind = *self.body.kinds.get(index)?;
            self.effects.globals |= self.body.names_global_object(index);
            self.effects.makes |= matches!(action, Action::Make(_)) && kind != Kind::Plain;
            let value = match kind {
                Kind::Plain => Origins::NONE,
                Kind::Parts | Kind::Pointer => value,
                Kind::Unsure => Origins::BOTH,
            };
            let known = self.origins.get_mut(&index)?;
            more |= known.or(value) != *known;
            *known = known.or(value);
        }
        Some(more || effects != self.effects || mixed != self.mixed)
    }

    /// Where an operand leads.
    fn of(&self, operand: &Operand<Positions>) -> Origins {
        let inside = match operand {
            Operand::Value(value) => value.index().and_then(|index| self.origins.get(&index)).copied(),
            _ => None,
        };
        inside.unwrap_or_else(|| self.body.origins_outside(operand))
    }

    /// The statements with an operand that may lead to an object made inside.
    pub(crate) fn using_inside(&self) -> impl Iterator<Item = usize> {
        let uses = |index: usize| {
            let mut inside = false;
            self.body.for_each_operand(index, &mut |operand| inside |= self.of(operand).inside);
            inside
        };
        self.origins.keys().copied().filter(move |&index| uses(index))
    }

    fn all<'s>(&self, operands: impl IntoIterator<Item = &'s Operand<Positions>>) -> Origins {
        operands.into_iter().fold(Origins::NONE, |all, operand| all.or(self.of(operand)))
    }

    /// Where what lies in an object may lead.
    fn behind(&self, object: Origins) -> Origins {
        Origins { outside: object.outside || object.inside && self.mixed, ..object }
    }

    /// Takes note of what a statement does; gives where its value leads.
    fn act(&mut self, action: &Action<'_>) -> Option<Origins> {
        Some(match action {
            Action::None => Origins::NONE,
            Action::Same(operands) => self.all(operands.iter().copied()),
            Action::Load(object) => self.behind(self.of(object)),
            Action::Make(operands) => self.behind(self.all(operands.iter().copied())).or(Origins::INSIDE),
            Action::Store { object, value, grows } => {
                let (object, value) = (self.of(object), self.of(value));
                self.effects = self.effects.or(Effects {
                    makes: *grows,
                    keeps: object.outside && (value.inside || *grows),
                    links: object.outside && value.outside,
                    globals: false,
                });
                self.mixed |= object.inside && value.outside;
                object.or(value)
            }
            Action::Call(function, args) => {
                let callee = *self.summaries.get(function)?;
                let known = if callee.globals { Origins::OUTSIDE } else { Origins::NONE };
                let given = self.behind(self.all(*args)).or(known);
                self.effects = self.effects.or(Effects {
                    makes: callee.makes,
                    keeps: given.outside && (callee.keeps || callee.links && given.inside),
                    links: given.outside && callee.links,
                    globals: callee.globals,
                });
                given.or(Origins::INSIDE)
            }
        })
    }
}
