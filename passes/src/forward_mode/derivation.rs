//! Deriving a function and all that it calls: what was prepared, what is to be made, and what it is called.

use std::cell::RefCell;
use std::sync::Arc;

use bbcode::{BBCode, EditError};
use hashbrown::HashMap;
use ircode::{DerivativeKind, Function, IRCode, Module, Name, Type};

use super::NAME;
use super::failing::{leave_calls, may_be_caught};
use super::operation::{Classifier, Operation};
use crate::PassError;
use crate::analyses::changed_globals;
use crate::derivative_entries::RegisteredDerivatives;
use crate::differentiation::base_names::BaseNames;
use crate::differentiation::bits::BitsOfFloats;
use crate::differentiation::dispatch::{self, Candidate};
use crate::differentiation::preparation::{OpenArithmetic, by_its_rule, prepared_body};
use crate::differentiation::signatures::Signature;
use crate::differentiation::witnesses::given_derivative;
use crate::infer_types::returned_type;
use crate::reverse_mode::{Thunks, bits_of_floats, free_entry};
use crate::rules::{RuleKind, RuleTable};
use crate::tangents::{Tangent, TangentTypes};

/// A function made ready to be differentiated.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The body: slots are values, generic arithmetic is intrinsics, types and callees are known as far as they follow,
    /// every block is reachable, and every statement remembers which one of the original it comes from.
    pub(super) ir: IRCode,
    /// What its statements do.
    pub(super) operations: Vec<Operation>,
    /// The type of what it returns.
    pub(super) result: Type,
}

impl Prepared {
    /// The statement of the function as it was given from which the one at this index comes, counted from 0.
    pub(super) fn origin(&self, index: usize) -> Option<usize> {
        let line = *self.ir.stmts.lines().get(index)?;
        let origin = self.ir.debuginfo.origins(line).into_iter().next()?;
        (origin.statement as usize).checked_sub(1)
    }

    /// The name of a statement in the function as it was given.
    pub(super) fn shown(&self, index: usize) -> String {
        match self.origin(index) {
            Some(origin) => format!("%{}", origin + 1),
            None => "a statement".into(),
        }
    }
}

/// A function that is called with what has tangents.
pub(super) struct Called {
    /// The derivative, with respect to no argument yet.
    pub(super) signature: Signature,
    /// The types of its arguments, `_1` first.
    pub(super) argtypes: Vec<Type>,
    pub(super) result: Type,
    /// Whether the last argument collects.
    pub(super) varargs: bool,
}

/// What all derivatives that are made together share.
pub(super) struct Derivation<'a> {
    pub(super) module: &'a Module<BBCode>,
    pub(super) rules: &'a RuleTable,
    pub(super) tangents: TangentTypes<'a, BBCode>,
    pub(super) directions: usize,
    /// What tables of methods say the derivatives of their functions are.
    pub(super) registered: RegisteredDerivatives,
    /// Whether nothing may go to the first block of a prepared function.
    pub(super) frees_entry: bool,
    /// Whether the run asks what the operands of open arithmetic are.
    pub(super) open_arithmetic: OpenArithmetic,
    /// What a value that is called may be.
    candidates: Vec<Candidate>,
    base_names: BaseNames,
    /// By function: what it may do with bits of floats.
    pub(super) bits: Vec<BitsOfFloats>,
    /// By function: whether exceptions that it throws may be caught.
    may_be_caught: Vec<bool>,
    /// The thunks through which derivatives that the module has are called.
    pub(super) thunks: Thunks,
    prepared: RefCell<HashMap<usize, Arc<Prepared>>>,
}

impl<'a> Derivation<'a> {
    pub(super) fn new(module: &'a Module<BBCode>, rules: &'a RuleTable, roots: &[usize], directions: usize) -> Self {
        let tangents = TangentTypes::new(module);
        let candidates = dispatch::candidates(module, roots, false);
        let bits = bits_of_floats(module, rules);
        let registered = RegisteredDerivatives::of(module, DerivativeKind::Jvp);
        Derivation {
            module,
            rules,
            tangents,
            directions,
            frees_entry: false,
            bits,
            may_be_caught: may_be_caught(module, roots, &candidates),
            registered,
            thunks: Thunks::default(),
            open_arithmetic: OpenArithmetic::Stays,
            candidates,
            base_names: BaseNames::default(),
            prepared: RefCell::default(),
        }
    }

    /// Refuses code that may change a global constant. The functions at these positions are differentiated.
    pub(super) fn check_globals(&self, roots: &[usize]) -> Result<(), PassError> {
        changed_globals::refuse(NAME, self.module, roots, &self.candidates)
    }

    /// The function at this position, prepared.
    pub(super) fn prepared(&self, position: usize) -> Result<Option<Arc<Prepared>>, PassError> {
        if let Some(known) = self.prepared.borrow().get(&position) {
            return Ok(Some(known.clone()));
        }
        let Some(function) = self.module.functions().get(position) else { return Ok(None) };
        let prepared = Arc::new(self.prepare(position, function)?);
        self.prepared.borrow_mut().insert(position, prepared.clone());
        Ok(Some(prepared))
    }

    fn prepare(&self, position: usize, function: &Function<BBCode>) -> Result<Prepared, PassError> {
        let by_rule = by_its_rule(NAME, self.rules, RuleKind::Jvp, function)?;
        let mut bb = prepared_body(
            NAME,
            self.module,
            by_rule.as_ref().unwrap_or(function),
            &self.candidates,
            self.open_arithmetic,
        )?;
        let error = |error: EditError| PassError::because(NAME, &function.name, error);
        if self.frees_entry {
            free_entry(&mut bb).map_err(error)?;
        }
        bb.fill_empty_blocks();
        let inferred = returned_type(&bb);
        let result = if function.result.is_unknown() { inferred } else { function.result.clone() };
        crate::differentiation::checkpointed::unmark(&mut bb);
        let ir = IRCode::try_from(bb).map_err(|error| PassError::because(NAME, &function.name, error))?;
        let classifier = Classifier { module: self.module, rules: self.rules, tangents: &self.tangents, ir: &ir };
        let stmts = ir.stmts.stmts().iter().zip(ir.stmts.types());
        let mut operations: Vec<Operation> = stmts.map(|(stmt, ty)| classifier.operation(stmt, ty)).collect();
        if self.may_be_caught.get(position) == Some(&false) {
            leave_calls(&ir, &mut operations);
        }
        Ok(Prepared { ir, operations, result })
    }

    /// What is known of a function that is called.
    pub(super) fn called(&self, function: usize) -> Result<Option<Called>, PassError> {
        let Some((prepared, target)) = self.prepared(function)?.zip(self.module.functions().get(function)) else {
            return Ok(None);
        };
        let argtypes = prepared.ir.argtypes.clone();
        let signature = Signature { function, wanted: vec![false; argtypes.len()] };
        Ok(Some(Called { signature, argtypes, result: prepared.result.clone(), varargs: target.varargs }))
    }

    /// The types of what a derivative returns: the value, and its tangents.
    pub(super) fn result_types(&self, result: &Type) -> Vec<Type> {
        let tangent: Tangent = self.tangents.of(result);
        std::iter::once(result.clone().or_any()).chain(std::iter::repeat_n(tangent.ty(), self.directions)).collect()
    }

    /// The JVP that a witness of the module gives for what is wanted, perhaps through a thunk. It goes in one
    /// direction.
    pub(super) fn given(&self, signature: &Signature) -> Option<Name> {
        if self.directions != 1 || self.module.differentiability_witnesses().is_empty() {
            return None;
        }
        let function = self.module.functions().get(signature.function).filter(|function| !function.varargs)?;
        let wanted = signature.numbers();
        let found = given_derivative(self.module, &self.tangents, function, &wanted, 0, DerivativeKind::Jvp);
        // Straight code is written where nothing stands yet, which does not fail.
        let given = found.ok().flatten()?;
        self.thunks.add(given.thunks);
        Some(given.name)
    }

    /// The name of a derivative.
    pub(super) fn name(&self, signature: &Signature) -> Name {
        let base = self.base(signature);
        match self.directions {
            1 => format!("{base}_jvp").into(),
            directions => format!("{base}_jvp_{directions}").into(),
        }
    }

    /// What the names of derivatives with respect to these arguments begin with.
    pub(super) fn base(&self, signature: &Signature) -> String {
        let Some(function) = self.module.functions().get(signature.function) else { return String::new() };
        let base = self.base_names.of(self.module, signature.function);
        let has_tangent = |ty: &Type| !self.tangents.of(ty).is_none();
        let pairs = function.body.argtypes.iter().zip(&signature.wanted).skip(1);
        let all = pairs.into_iter().all(|(ty, wanted)| has_tangent(ty) == *wanted);
        let wanted: String = match all {
            true => String::new(),
            false => {
                let numbers = signature.wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
                let numbers: String = numbers.map(|(index, _)| format!("_{}", index + 1)).collect();
                format!("_wrt{numbers}")
            }
        };
        format!("{base}{wanted}")
    }
}
