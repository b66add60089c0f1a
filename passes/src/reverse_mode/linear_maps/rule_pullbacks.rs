//! The pullbacks of what has a rule, as functions of their own: `sin_pullback(seed, x)`.

use std::cell::RefCell;

use bbcode::{BBCode, EditError, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Argument, Function, LineInfo, Name, Operand, Stmt, Type};

use super::vjp::is_literal;
use crate::reverse_mode::emit::Emitter;
use crate::reverse_mode::operation::Operation;
use crate::reverse_mode::plan::Plan;
use crate::reverse_mode::statement::write_rule;
use crate::rules::{Bindings, Rule, RuleTarget};
use crate::tangents::Tangent;

/// Something that the pullback of a rule captures.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::reverse_mode) enum Captured {
    /// The value of an operand.
    Value(Operand<Ids>),
    /// Its shadow.
    Shadow(Operand<Ids>),
}

/// The pullback of the rule of a statement: a function of the seed and of what it captures.
#[derive(Clone, Debug)]
pub(in crate::reverse_mode) struct RulePullback {
    pub(in crate::reverse_mode) name: Name,
    /// What is captured, in the order of the parameters.
    pub(in crate::reverse_mode) captured: Vec<Captured>,
    /// Its result: what the rule of a function gives; of the rule of a primitive the cotangents of the wanted arguments
    /// that have some, one alone as it is.
    pub(in crate::reverse_mode) result: Type,
    /// The type of the closure.
    pub(in crate::reverse_mode) ty: Type,
}

/// The functions that were made, each once.
#[derive(Debug, Default)]
pub(in crate::reverse_mode) struct RulePullbacks {
    known: RefCell<HashMap<String, Name>>,
    made: RefCell<Vec<Function<BBCode>>>,
}

impl RulePullbacks {
    /// The functions, in the order in which they were first needed.
    pub(in crate::reverse_mode) fn take(&self) -> Vec<Function<BBCode>> {
        self.made.take()
    }

    /// The name of the function with this key, which is made if it is not there.
    fn name(
        &self,
        key: String,
        base: &str,
        is_taken: impl Fn(&str) -> bool,
        make: impl FnOnce(&Name) -> Result<Function<BBCode>, EditError>,
    ) -> Result<Name, EditError> {
        if let Some(name) = self.known.borrow().get(&key) {
            return Ok(name.clone());
        }
        let taken = |name: &str| is_taken(name) || self.made.borrow().iter().any(|made| made.name == *name);
        let mut name = base.to_string();
        let mut number = 1;
        while taken(&name) {
            number += 1;
            name = format!("{base}_{number}");
        }
        let name = Name::from(name);
        let function = make(&name)?;
        self.made.borrow_mut().push(function);
        self.known.borrow_mut().insert(key, name.clone());
        Ok(name)
    }
}

/// What stands for each parameter of a rule: the function itself, the arguments, the result, the seed, the shadows.
enum Given {
    Literal(Operand<Ids>),
    Captured(Captured, Type),
    Seed,
    /// The seed, and the shadow of the result, as a tangent of this kind.
    SeedWith(Box<Given>, Tangent),
    /// A shadow that nobody reads, of the parameter at this index.
    Unused(usize),
}

impl Given {
    /// What is captured for it, and of which type that is.
    fn captured(&self) -> Option<(&Captured, &Type)> {
        match self {
            Given::Captured(what, ty) => Some((what, ty)),
            Given::SeedWith(shadow, _) => shadow.captured(),
            Given::Literal(_) | Given::Seed | Given::Unused(_) => None,
        }
    }
}

impl Plan<'_> {
    /// The pullback of the rule that a statement has; `None` if it has none.
    pub(in crate::reverse_mode) fn rule_pullback(&self, id: InstId) -> Result<Option<RulePullback>, EditError> {
        let Operation::Rule { rule, bindings, args } = self.activity.operation(id) else { return Ok(None) };
        if !self.is_reversed(id) || self.only_puts_back(rule, args) {
            return Ok(None);
        }
        let wanted = self.wanted_args(rule, args);
        let given = self.given(id, rule, args, &wanted);
        let seed = self.activity.cotangent(&Operand::Value(id));
        let mut captured = Vec::new();
        let mut types = vec![Type::Any, seed.ty()];
        for (what, ty) in given.iter().filter_map(Given::captured) {
            captured.push(what.clone());
            types.push(ty.clone());
        }
        let outputs: Vec<Tangent> = wanted
            .iter()
            .filter_map(|&index| args.get(index).map(|arg| self.activity.cotangent(arg)))
            .filter(|cotangent| !cotangent.is_none())
            .collect();
        let result = match (&rule.target, outputs.as_slice()) {
            (RuleTarget::Function(_), _) => rule.function.result.clone(),
            (_, []) => Type::Nothing,
            (_, [only]) => only.ty(),
            (_, several) => Type::tuple(several.iter().map(Tangent::ty)),
        };
        let ty = Type::closure([seed.ty()], result.clone());
        let all: Vec<usize> = (0..args.len()).filter(|&index| !rule.is_zero(index)).collect();
        // Of a function there may be a pullback beside that of its rule.
        let mut base = match &rule.target {
            RuleTarget::Function(_) => rule.called_name().replace("_vjp", "_pullback"),
            RuleTarget::Primitive(_) => rule.function.name.replace("_vjp", "_pullback"),
        };
        if wanted.as_slice() != all {
            base.push_str("_wrt");
            wanted.iter().for_each(|index| base.push_str(&format!("_{}", index + 2)));
        }
        for ty in
            types.iter().skip(1).filter_map(Type::as_float).filter(|float| Type::from(*float) != Type::FLOAT64).take(1)
        {
            base.push_str(&format!("_{ty}"));
        }
        let literals: Vec<Option<&Operand<Ids>>> = given
            .iter()
            .map(|given| match given {
                Given::Literal(operand) => Some(operand),
                _ => None,
            })
            .collect();
        let key = format!("{} {wanted:?} {types:?} {literals:?} {result:?}", rule.function.name);
        let module = self.derivation.module;
        let is_taken = |name: &str| module.function(name).is_some();
        let name = self.derivation.rule_pullbacks.name(key, &base, is_taken, |name| {
            let body = self.write(name, (rule, bindings), &given, (&wanted, args), (seed, types), &result)?;
            Ok(Function::new(name.clone(), result.clone(), body))
        })?;
        Ok(Some(RulePullback { name, captured, result, ty }))
    }

    fn given(&self, id: InstId, rule: &Rule, args: &[Operand<Ids>], wanted: &[usize]) -> Vec<Given> {
        let out = Operand::Value(id);
        let is_function = matches!(rule.target, RuleTarget::Function(_));
        let slice = (!is_function).then(|| rule.slice(wanted));
        let used = |position: usize| slice.as_ref().is_none_or(|slice| slice.parameters.get(position) == Some(&true));
        let nothing = || Given::Literal(Operand::nothing());
        let value = |operand: &Operand<Ids>, position: usize| match operand {
            _ if !used(position) => nothing(),
            literal if is_literal(literal) => Given::Literal(literal.clone()),
            other => Given::Captured(Captured::Value(other.clone()), self.primal.operand_type(other)),
        };
        let mut given = vec![nothing()];
        for operand in args.iter().chain([&out]) {
            let position = given.len();
            given.push(value(operand, position));
        }
        let shadow = |operand: &Operand<Ids>, index: usize, position: usize| match self.has_shadow(operand) {
            true if used(position) => {
                Given::Captured(Captured::Shadow(operand.clone()), self.activity.shadow(operand).ty())
            }
            false if is_function => Given::Unused(index + 1),
            _ => nothing(),
        };
        given.push(match self.seed_of_rule(id, rule) {
            Some(tangent) => Given::SeedWith(Box::new(shadow(&out, args.len(), given.len())), tangent),
            None => Given::Seed,
        });
        for (index, arg) in args.iter().enumerate() {
            if rule.shadows.get(index).is_some_and(Option::is_some) {
                given.push(shadow(arg, index, given.len()));
            }
        }
        if rule.out_shadow.is_some() {
            given.push(shadow(&out, args.len(), given.len()));
        }
        given
    }

    /// What stands for a parameter in the pullback: its seed, a new shadow, or the next of what it has captured.
    fn parameter(
        &self,
        emit: &mut Emitter<'_>,
        given: &Given,
        seed: &(Operand<Ids>, Tangent),
        parameters: &[Operand<Ids>],
        captured: &mut impl Iterator<Item = usize>,
    ) -> Result<Operand<Ids>, EditError> {
        Ok(match given {
            Given::Literal(operand) => operand.clone(),
            Given::Seed => seed.0.clone(),
            Given::SeedWith(shadow, tangent) => {
                let shadow = self.parameter(emit, shadow, seed, parameters, captured)?;
                let leaves = emit.cotangent_part(seed.0.clone(), &seed.1)?;
                emit.join(tangent, shadow, &mut leaves.into_iter())?
            }
            Given::Captured(..) => {
                captured.next().map_or_else(Operand::nothing, |index| Argument::from_index(index).into())
            }
            Given::Unused(of) => {
                let of = parameters.get(*of).cloned().unwrap_or_else(Operand::nothing);
                let tangent = self.derivation.tangents.of(&emit.bb.operand_type(&of));
                let zero = emit.zero_tangent(of, &tangent)?;
                emit.shadow_part(zero, &tangent)?
            }
        })
    }

    fn write(
        &self,
        name: &Name,
        (rule, bindings): (&Rule, &Bindings),
        given: &[Given],
        (wanted, args): (&[usize], &[Operand<Ids>]),
        (seed, mut types): (Tangent, Vec<Type>),
        result: &Type,
    ) -> Result<BBCode, EditError> {
        if let Some(own) = types.first_mut() {
            *own = Type::function(name.clone());
        }
        let mut bb = BBCode::new(types);
        let block = bb.push_block();
        let mut emit = Emitter::new(&mut bb, block, LineInfo::NONE);
        let seed = (Operand::Argument(Argument::from_index(1)), seed);
        let mut captured = 2..;
        let mut parameters: Vec<Operand<Ids>> = Vec::with_capacity(given.len());
        for given in given {
            let parameter = self.parameter(&mut emit, given, &seed, &parameters, &mut captured)?;
            parameters.push(parameter);
        }
        let value = match &rule.target {
            RuleTarget::Function(_) => {
                emit.call("Main", &rule.called_name(), parameters.into_iter().skip(1), result.clone())?
            }
            RuleTarget::Primitive(_) => {
                let outputs = write_rule(&mut emit, (rule, bindings), &parameters, wanted, &[])?;
                let mut kept = Vec::new();
                let mut kinds = Vec::new();
                for (output, index) in outputs.into_iter().zip(wanted) {
                    let cotangent = args.get(*index).map_or(Tangent::None, |arg| self.activity.cotangent(arg));
                    if !cotangent.is_none() {
                        kept.push(output);
                        kinds.push(cotangent.ty());
                    }
                }
                match kept.len() {
                    0 => Operand::nothing(),
                    1 => kept.swap_remove(0),
                    _ => emit.tuple(kept, kinds)?,
                }
            }
        };
        emit.stmt(Stmt::ret(value), Type::Any)?;
        Ok(bb)
    }
}
