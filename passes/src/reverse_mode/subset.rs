//! Subset-parameters thunks: derivatives with respect to some of the parameters, made of one with respect to more of
//! them.
//!
//! As in Swift: the thunk of a VJP calls it and returns a pullback that gives `nothing` for what is not wanted; the
//! thunk of a JVP passes zeros for the tangents that are not there. Where a closure captures the last parameters of a
//! function, the thunk takes these last, so that a closure of the derivative can capture them, too; with respect to
//! them nothing is wanted.

use bbcode::{BBCode, EditError, Ids};
use ircode::{Argument, DerivativeKind, Function, LineInfo, Module, Name, Operand, Stmt, Type};

use super::emit::Emitter;
use crate::tangents::{Tangent, TangentTypes};

/// What a thunk is made of.
struct Thunk<'a> {
    derivative: &'a Name,
    name: Name,
    /// What a VJP's pullback is called.
    pullback: Name,
    argtypes: &'a [Type],
    /// The tangents of the parameters with respect to which the derivative is, `_1` first; none for the others.
    tangents: Vec<Tangent>,
    /// Which of these are wanted.
    wanted: Vec<bool>,
    /// The number of arguments of the function that are not captured, `_1` included.
    own: usize,
    result: Type,
    result_tangent: Tangent,
}

/// The functions of a thunk, that which is called first. `set` are the parameters with respect to which `derivative`
/// is, `wanted` some of these; the last `captured` parameters of the function are behind all others. A function that
/// the module has already under the name of the thunk and that is another one is left alone: the thunk gets a number.
#[allow(clippy::too_many_arguments, reason = "they are what tells thunks apart")]
pub(crate) fn subset_thunk(
    module: &Module<BBCode>,
    tangents: &TangentTypes<'_, BBCode>,
    function: &Function<BBCode>,
    derivative: &Name,
    set: &[u32],
    wanted: &[u32],
    captured: usize,
    kind: DerivativeKind,
) -> Result<Vec<Function<BBCode>>, EditError> {
    let argtypes = &function.body.argtypes;
    let is_in = |numbers: &[u32], index: usize| numbers.contains(&(index as u32 + 1));
    let own = argtypes.len().saturating_sub(captured);
    let of = |index: usize, ty: &Type| if is_in(set, index) { tangents.of(ty) } else { Tangent::None };
    let mut suffix = String::new();
    if set != wanted {
        suffix.push_str("_subset");
        wanted.iter().for_each(|number| suffix.push_str(&format!("_{number}")));
    }
    if captured > 0 {
        suffix.push_str(&format!("_captured_{captured}"));
    }
    let stem = derivative.strip_suffix("_vjp").unwrap_or(derivative);
    let names = |number: &str| {
        (Name::from(format!("{derivative}{suffix}{number}")), Name::from(format!("{stem}_pullback{suffix}{number}")))
    };
    let (name, pullback) = names("");
    let mut thunk = Thunk {
        derivative,
        name,
        pullback,
        argtypes,
        tangents: argtypes.iter().enumerate().map(|(index, ty)| of(index, ty)).collect(),
        wanted: (0..argtypes.len()).map(|index| is_in(wanted, index)).collect(),
        own,
        result: function.result.clone(),
        result_tangent: tangents.of(&function.result),
    };
    let mut number = 1;
    loop {
        let functions = match kind {
            DerivativeKind::Vjp => thunk.vjp()?,
            DerivativeKind::Jvp => vec![thunk.jvp()?],
        };
        let free = |function: &Function<BBCode>| match module.function(&function.name) {
            Some(known) => is_same(known, function),
            None => true,
        };
        if functions.iter().all(free) {
            return Ok(functions);
        }
        number += 1;
        (thunk.name, thunk.pullback) = names(&format!("_thunk{number}"));
    }
}

/// Whether two functions read the same.
fn is_same(a: &Function<BBCode>, b: &Function<BBCode>) -> bool {
    a.result == b.result && a.body.argtypes == b.body.argtypes && a.body.to_string() == b.body.to_string()
}

fn argument(index: usize) -> Operand<Ids> {
    Argument::from_index(index).into()
}

impl Thunk<'_> {
    /// What the thunk takes: the parameters that are not captured, `between`, and those that are.
    fn begin(&self, between: &[Type]) -> (BBCode, bbcode::BlockId, Vec<Operand<Ids>>) {
        let (own, captured) = self.argtypes.split_at(self.own);
        let mut types = own.to_vec();
        if let Some(first) = types.first_mut() {
            *first = Type::function(self.name.clone());
        }
        types.extend(between.iter().cloned());
        let behind = types.len();
        types.extend(captured.iter().cloned());
        let primal = (1..self.own).chain(behind..types.len()).map(argument).collect();
        let mut bb = BBCode::new(types);
        let block = bb.push_block();
        (bb, block, primal)
    }

    fn function(&self, name: Name, result: Type, body: BBCode) -> Function<BBCode> {
        Function { name, parameters: Vec::new(), varargs: false, result, body }
    }

    fn jvp(&self) -> Result<Function<BBCode>, EditError> {
        let wanted = |index: usize| self.wanted.get(index) == Some(&true);
        let given = self.tangents.iter().enumerate().take(self.own).skip(1);
        let between: Vec<Type> =
            given.map(|(index, tangent)| if wanted(index) { tangent.ty() } else { Type::Any }).collect();
        let (mut bb, block, mut operands) = self.begin(&between);
        let primal = operands.clone();
        let mut emit = Emitter::new(&mut bb, block, LineInfo::NONE);
        for (index, tangent) in self.tangents.iter().enumerate().skip(1) {
            operands.push(match (wanted(index), tangent.is_none(), primal.get(index - 1)) {
                (true, _, _) => argument(self.own + index - 1),
                (false, false, Some(value)) => emit.zero_tangent(value.clone(), tangent)?,
                _ => Operand::nothing(),
            });
        }
        let result = Type::tuple([self.result.clone(), self.result_tangent.ty()]);
        let both = emit.call("Main", self.derivative, operands, result.clone())?;
        emit.stmt(Stmt::ret(both), Type::Any)?;
        Ok(self.function(self.name.clone(), result, bb))
    }

    fn vjp(&self) -> Result<Vec<Function<BBCode>>, EditError> {
        let is_wanted = |index: usize| self.wanted.get(index) == Some(&true);
        let shadows: Vec<Tangent> = self.tangents.iter().map(Tangent::shadow).collect();
        let shadowed = |wanted: bool| {
            let with = shadows.iter().enumerate().filter(|(_, shadow)| !shadow.is_none());
            with.filter(move |(index, _)| !wanted || is_wanted(*index))
        };
        let between: Vec<Type> = shadowed(true).map(|(_, shadow)| shadow.ty()).collect();
        let (mut bb, block, mut operands) = self.begin(&between);
        let primal = operands.clone();
        let mut emit = Emitter::new(&mut bb, block, LineInfo::NONE);
        let mut next = self.own;
        for (index, _) in shadowed(false) {
            if is_wanted(index) {
                operands.push(argument(next));
                next += 1;
            } else if let (Some(value), Some(tangent)) = (primal.get(index - 1), self.tangents.get(index)) {
                let zero = emit.zero_tangent(value.clone(), tangent)?;
                operands.push(emit.shadow_part(zero, tangent)?);
            }
        }
        let cotangents: Vec<Type> = self.tangents.iter().map(|tangent| tangent.cotangent().ty()).collect();
        let seed = self.result_tangent.cotangent().ty();
        let inner = Type::closure([seed.clone()], Type::tuple(cotangents.clone()));
        let kept: Vec<Type> = cotangents
            .iter()
            .enumerate()
            .take(self.own)
            .map(|(index, ty)| if is_wanted(index) { ty.clone() } else { Type::Nothing })
            .collect();
        let outer = Type::closure([seed.clone()], Type::tuple(kept.clone()));
        let mut types = vec![self.result.clone()];
        let shadow = self.result_tangent.shadow();
        types.extend((!shadow.is_none()).then(|| shadow.ty()));
        types.push(inner.clone());
        let last = types.len() - 1;
        let all = emit.call("Main", self.derivative, operands, Type::tuple(types.clone()))?;
        let mut elements = Vec::with_capacity(types.len());
        for (index, ty) in types.iter().enumerate().take(last) {
            elements.push(emit.field(all.clone(), index, ty.clone())?);
        }
        let pullback = emit.field(all, last, inner.clone())?;
        let name = self.pullback.clone();
        elements.push(emit.own("partial_apply", [Operand::global("Main", &name), pullback], outer.clone())?);
        if let Some(ty) = types.last_mut() {
            *ty = outer;
        }
        let result = Type::tuple(types.clone());
        let tuple = emit.tuple(elements, types)?;
        emit.stmt(Stmt::ret(tuple), Type::Any)?;
        let vjp = self.function(self.name.clone(), result, bb);
        Ok(vec![vjp, self.pullback(name, seed, inner, &cotangents, kept)?])
    }

    /// Calls the pullback that it captures, and gives of its results those that are wanted.
    fn pullback(
        &self,
        name: Name,
        seed: Type,
        inner: Type,
        cotangents: &[Type],
        kept: Vec<Type>,
    ) -> Result<Function<BBCode>, EditError> {
        let mut bb = BBCode::new(vec![Type::function(name.clone()), seed, inner]);
        let block = bb.push_block();
        let mut emit = Emitter::new(&mut bb, block, LineInfo::NONE);
        let all = emit.stmt(Stmt::call(argument(2), [argument(1)]), Type::tuple(cotangents.iter().cloned()))?;
        let mut elements = Vec::with_capacity(kept.len());
        for (index, ty) in kept.iter().enumerate() {
            elements.push(match ty {
                Type::Nothing => Operand::nothing(),
                ty => emit.field(Operand::Value(all), index, ty.clone())?,
            });
        }
        let result = Type::tuple(kept.iter().cloned());
        let tuple = emit.tuple(elements, kept)?;
        emit.stmt(Stmt::ret(tuple), Type::Any)?;
        Ok(self.function(name, result, bb))
    }
}
