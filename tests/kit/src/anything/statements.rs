//! Statements of every kind, whose operands are there wherever dominance lets them be.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use ircode::{
    BlockNumber, Constant, EnterNode, GlobalRef, HEADS, Head, InvokeNode, JuliaVersion, MethodInstance, Operand,
    PhiCNode, Positions, SSAValue, Stmt, UpsilonNode,
};

use super::leaves::{constant, name, random_type};
use super::shape::{Ending, Shape};

/// What stands at a position, chosen before any operand is: an operand may come later in the layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Phi,
    PhiC,
    Upsilon,
    Copy,
    Pi,
    Call,
    Invoke,
    Expression(Head),
    End(Ending),
}

impl Kind {
    /// Whether it is a value that anything may use.
    fn is_value(&self) -> bool {
        !matches!(self, Kind::End(_))
    }

    pub(super) fn random(u: &mut Unstructured<'_>, julia: Option<JuliaVersion>) -> Result<Kind> {
        Ok(match u.int_in_range(0..=11)? {
            0 => Kind::Copy,
            1 => Kind::Pi,
            2 => Kind::Upsilon,
            3 => Kind::PhiC,
            4..=6 => Kind::Call,
            7 => Kind::Invoke,
            _ => Kind::Expression(head(u, julia)?),
        })
    }
}

/// Any head but that of the terminator. Assignments stand in the code of old versions only.
fn head(u: &mut Unstructured<'_>, julia: Option<JuliaVersion>) -> Result<Head> {
    let index = u.choose_index(HEADS.len() + 1)?;
    Ok(match HEADS.get(index) {
        None => Head::Other("nonsense".into()),
        Some((Head::Leave, _)) => Head::PopException,
        Some((Head::Assign, _)) if julia.is_none_or(|julia| julia >= JuliaVersion::new(1, 10)) => Head::IsDefined,
        Some((head, _)) => head.clone(),
    })
}

/// What stands where, and what operands may name.
pub(super) struct Writer<'s> {
    pub(super) shape: &'s Shape,
    /// The kinds of all statements, with the block of each.
    pub(super) kinds: Vec<(usize, Kind)>,
    pub(super) arguments: usize,
    pub(super) static_parameters: usize,
}

impl Writer<'_> {
    /// The statement at a position.
    pub(super) fn statement(&self, u: &mut Unstructured<'_>, position: usize) -> Result<Stmt<Positions>> {
        let Some((block, kind)) = self.kinds.get(position) else { return Ok(Stmt::nothing()) };
        self.statement_of(u, kind, Place { block: *block, before: Some(position) })
    }

    /// A statement of this kind in this place.
    pub(super) fn statement_of(&self, u: &mut Unstructured<'_>, kind: &Kind, place: Place) -> Result<Stmt<Positions>> {
        Ok(match kind {
            Kind::Phi => self.phi(u, place.block)?,
            Kind::PhiC => {
                let all = self.all(|kind| *kind == Kind::Upsilon);
                let mut values = Vec::new();
                for _ in 0..u.int_in_range(0..=2.min(all.len()))? {
                    values.push(Operand::Value(*u.choose(&all)?));
                }
                Stmt::PhiC(PhiCNode { values: values.into() })
            }
            Kind::Upsilon => {
                Stmt::Upsilon(UpsilonNode { value: if u.ratio(1, 4)? { None } else { Some(self.operand(u, place)?) } })
            }
            Kind::Copy => Stmt::Value(self.operand(u, place)?),
            Kind::Pi => Stmt::pi(self.operand(u, place)?, random_type(u)?),
            Kind::Call => {
                let dynamic = if u.ratio(1, 8)? { self.value(u, place)? } else { None };
                let callee = match dynamic {
                    Some(value) => Operand::Value(value),
                    None => {
                        let names = ["add_float", "sin", "+", "===", "getfield", "tuple", "no_such", "≤", "!=", "isa"];
                        let closures = ["partial_apply", "applies", "captured"];
                        match u.ratio(1, 10)? {
                            true => Operand::global("BBKit", u.choose(&closures)?),
                            false => Operand::global(u.choose(&["Base", "Core", "Main", ""])?, u.choose(&names)?),
                        }
                    }
                };
                let count = u.int_in_range(0..=3)?;
                Stmt::call(callee, self.operands(u, place, count)?)
            }
            Kind::Invoke => {
                let count = u.int_in_range(0..=2)?;
                let argtypes = (0..count).map(|_| random_type(u)).collect::<Result<_>>()?;
                let code_instance = u.ratio(1, 3)?;
                Stmt::Invoke(Box::new(InvokeNode {
                    instance: Arc::new(MethodInstance { argtypes, name: None, code_instance }),
                    callee: Operand::global("Main", &name(u)?),
                    args: self.operands(u, place, count)?.into(),
                }))
            }
            Kind::Expression(head) => Stmt::expr(head.clone(), self.expression(u, head, place)?),
            Kind::End(ending) => self.terminator(u, *ending, place)?,
        })
    }

    fn terminator(&self, u: &mut Unstructured<'_>, ending: Ending, place: Place) -> Result<Stmt<Positions>> {
        Ok(match ending {
            Ending::Goto(target) => Stmt::goto(target),
            Ending::GotoIfNot(target) => Stmt::goto_if_not(self.operand(u, place)?, target),
            Ending::Return => Stmt::ret(self.operand(u, place)?),
            Ending::Unreachable => Stmt::unreachable(),
            Ending::Enter { catch, scope } => Stmt::Enter(Box::new(EnterNode {
                catch_dest: catch,
                scope: if scope { Some(self.operand(u, place)?) } else { None },
            })),
            Ending::Leave => {
                let mut tokens = Vec::new();
                for _ in 0..u.int_in_range(1..=2)? {
                    tokens.extend(self.token(u, place)?.map(Operand::Value));
                }
                if tokens.is_empty() {
                    tokens.push(Constant::int64(1).into());
                }
                Stmt::expr(Head::Leave, tokens)
            }
            Ending::Never => Stmt::call(Operand::global("Main", "throw"), self.operands(u, place, 1)?),
            Ending::Fallthrough => Stmt::nothing(),
        })
    }

    fn phi(&self, u: &mut Unstructured<'_>, block: usize) -> Result<Stmt<Positions>> {
        let mut entries = Vec::new();
        for edge in self.shape.preds(block) {
            if u.ratio(1, 10)? {
                continue;
            }
            let value = match (u.ratio(1, 8)?, edge.index()) {
                (true, _) => None,
                (false, Some(pred)) => Some(self.operand(u, Place { block: pred, before: None })?),
                (false, None) => Some(self.leaf(u)?),
            };
            entries.push((edge, value));
        }
        Ok(Stmt::phi(entries))
    }

    /// The operands of an expression, such as Julia's compiler gives them.
    fn expression(&self, u: &mut Unstructured<'_>, head: &Head, place: Place) -> Result<Vec<Operand<Positions>>> {
        let ty =
            |u: &mut Unstructured<'_>| -> Result<Operand<Positions>> { Ok(Constant::of_type(random_type(u)?).into()) };
        let (least, most) = match head.properties() {
            Some(properties) => {
                (properties.min_operands, properties.max_operands.unwrap_or(properties.min_operands + 2))
            }
            None => (0, 2),
        };
        let count = u.int_in_range(least..=most)?;
        Ok(match head {
            Head::Foreigncall => self.foreigncall(u, place)?,
            Head::PopException => match self.token(u, place)? {
                Some(token) => vec![Operand::Value(token)],
                None => vec![Constant::int64(1).into()],
            },
            Head::GcPreserveEnd => {
                let begins = self.all(|kind| *kind == Kind::Expression(Head::GcPreserveBegin));
                if begins.is_empty() { Vec::new() } else { vec![Operand::Value(*u.choose(&begins)?)] }
            }
            Head::StaticParameter => vec![self.static_parameter(u)?],
            Head::New | Head::SplatNew | Head::NewOpaqueClosure | Head::Cfunction => {
                let mut args = vec![ty(u)?];
                args.extend(self.operands(u, place, count.saturating_sub(1))?);
                args
            }
            Head::Assign | Head::Const | Head::GlobalDecl | Head::Method => {
                let mut args = vec![Operand::Global(Arc::new(GlobalRef::new("Main", name(u)?)))];
                args.extend(self.operands(u, place, count.saturating_sub(1))?);
                args
            }
            Head::IsDefined => {
                let mut args = vec![Operand::global("Main", &name(u)?)];
                args.resize(count, Constant::bool(false).into());
                args
            }
            Head::ThrowUndefIfNot => {
                let mut args = vec![Operand::symbol(name(u)?)];
                args.extend(self.operands(u, place, count.saturating_sub(1))?);
                args
            }
            head if head.operands_are_uses() => self.operands(u, place, count)?,
            _ => (0..count).map(|_| Ok(Operand::Constant(constant(u, 0)?))).collect::<Result<_>>()?,
        })
    }

    /// Name, result type, argument types, number of required arguments, convention, arguments, what is kept alive.
    fn foreigncall(&self, u: &mut Unstructured<'_>, place: Place) -> Result<Vec<Operand<Positions>>> {
        let function = match u.ratio(1, 3)? {
            true => {
                let parts = [Operand::symbol("f"), Operand::Constant(Constant::String("libm".into()))];
                Operand::Nested(Box::new(Stmt::call(Operand::global("Core", "tuple"), parts)))
            }
            false => Operand::symbol("jl_f"),
        };
        let (arguments, roots) = (u.int_in_range(0..=2)?, u.int_in_range(0..=2)?);
        let types = (0..arguments).map(|_| Ok(Constant::of_type(random_type(u)?))).collect::<Result<_>>()?;
        let mut args = vec![
            function,
            Constant::of_type(random_type(u)?).into(),
            Constant::SimpleVector(Arc::new(types)).into(),
            Constant::int64(0).into(),
            Operand::symbol("ccall"),
        ];
        args.extend(self.operands(u, place, arguments + roots)?);
        Ok(args)
    }

    /// An operand that is there in this place.
    pub(super) fn operand(&self, u: &mut Unstructured<'_>, place: Place) -> Result<Operand<Positions>> {
        match u.int_in_range(0..=7)? {
            0..=4 => match self.value(u, place)? {
                Some(value) => Ok(Operand::Value(value)),
                None => self.leaf(u),
            },
            5 => Ok(Operand::Global(Arc::new(GlobalRef::new(*u.choose(&["Main", "Base", "Base.Math"])?, name(u)?)))),
            _ => self.leaf(u),
        }
    }

    fn operands(&self, u: &mut Unstructured<'_>, place: Place, count: usize) -> Result<Vec<Operand<Positions>>> {
        (0..count).map(|_| self.operand(u, place)).collect()
    }

    /// An operand that is there in every place.
    fn leaf(&self, u: &mut Unstructured<'_>) -> Result<Operand<Positions>> {
        Ok(match u.int_in_range(0..=7)? {
            0..=3 => Operand::argument(u32::try_from(u.int_in_range(1..=self.arguments.max(1))?).unwrap_or(1)),
            4 => Operand::Quote(Arc::new(constant(u, 0)?)),
            5 if u.ratio(1, 4)? => {
                let inner = match u.ratio(1, 2)? {
                    true => Stmt::expr(Head::StaticParameter, [self.static_parameter(u)?]),
                    false => Stmt::expr(Head::Boundscheck, [Constant::bool(true).into()]),
                };
                Operand::Nested(Box::new(inner))
            }
            _ => Operand::Constant(constant(u, 0)?),
        })
    }

    fn static_parameter(&self, u: &mut Unstructured<'_>) -> Result<Operand<Positions>> {
        let number = u.int_in_range(1..=self.static_parameters.max(1))?;
        Ok(Constant::int64(i64::try_from(number).unwrap_or(1)).into())
    }

    /// A value that is there in this place; in code that is not reached, any.
    fn value(&self, u: &mut Unstructured<'_>, place: Place) -> Result<Option<SSAValue>> {
        self.defined(u, place, Kind::is_value)
    }

    /// The result of an enter, where one is there.
    fn token(&self, u: &mut Unstructured<'_>, place: Place) -> Result<Option<SSAValue>> {
        self.defined(u, place, |kind| matches!(kind, Kind::End(Ending::Enter { .. })))
    }

    fn defined(
        &self,
        u: &mut Unstructured<'_>,
        place: Place,
        fits: impl Fn(&Kind) -> bool,
    ) -> Result<Option<SSAValue>> {
        let domtree = &self.shape.domtree;
        let mut block = place.block;
        if !domtree.is_reachable(block) {
            let all = self.all(fits);
            return if all.is_empty() { Ok(None) } else { Ok(Some(*u.choose(&all)?)) };
        }
        for _ in 0..u.int_in_range(0..=domtree.depth(block).min(3))? {
            block = domtree.immediate_dominator(block).unwrap_or(block);
        }
        loop {
            let end = place.before.filter(|_| block == place.block).unwrap_or(self.kinds.len());
            let candidates: Vec<usize> =
                (0..end).filter(|&at| self.kinds[at].0 == block && fits(&self.kinds[at].1)).collect();
            if !candidates.is_empty() {
                return Ok(Some(SSAValue::from_index(*u.choose(&candidates)?)));
            }
            match domtree.immediate_dominator(block) {
                Some(up) => block = up,
                None => return Ok(None),
            }
        }
    }

    fn all(&self, fits: impl Fn(&Kind) -> bool) -> Vec<SSAValue> {
        let positions = self.kinds.iter().enumerate().filter(|(_, (_, kind))| fits(kind));
        positions.map(|(position, _)| SSAValue::from_index(position)).collect()
    }
}

/// A place for an operand: a block, and the statement of it that uses the operand; without one, its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) before: Option<usize>,
}

impl Place {
    /// Where a statement next to this one stands.
    pub(super) fn next_to(block: Option<BlockNumber>, position: usize) -> Place {
        Place { block: block.and_then(BlockNumber::index).unwrap_or(0), before: Some(position) }
    }
}
