//! Differentiability witnesses: which derivatives of a function a module has, with respect to which parameters.
//!
//! After Swift's `sil_differentiability_witness`: a function may have several, for several sets of parameters, and
//! where a derivative with respect to some parameters is wanted, the one for the smallest superset is used. A witness
//! may leave its derivatives open, to be filled in by the pass `differentiability`.

use hashbrown::HashMap;

use crate::module::{DefinedTwice, Module};
use crate::name::{Name, without_main};
use crate::tables::DerivativeKind;

/// A differentiability witness: the derivatives of a function with respect to some of its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DifferentiabilityWitness {
    /// The function.
    pub function: Name,
    /// The numbers of the parameters, in ascending order: 2 is `_2`. Empty for all that have tangents.
    pub with_respect_to: Vec<u32>,
    /// `f_jvp(args…, tangents of these parameters…) -> (value, tangent)`; `None` while it is not filled in.
    pub jvp: Option<Name>,
    /// `f_vjp(args…, shadows of those of these parameters that hold something with identity…) -> (value, [shadow,]
    /// pullback)`, where the pullback takes a cotangent of the value and gives a tuple: `nothing`, and a cotangent for
    /// each parameter, `nothing` for others than these. `None` while it is not filled in.
    pub vjp: Option<Name>,
}

impl DifferentiabilityWitness {
    /// A witness whose derivatives are to be filled in.
    pub fn open(function: impl Into<Name>, with_respect_to: Vec<u32>) -> Self {
        DifferentiabilityWitness { function: function.into(), with_respect_to, jvp: None, vjp: None }
    }

    /// The derivative of this kind, if it is there.
    pub fn derivative(&self, kind: DerivativeKind) -> Option<&Name> {
        match kind {
            DerivativeKind::Jvp => self.jvp.as_ref(),
            DerivativeKind::Vjp => self.vjp.as_ref(),
        }
    }

    /// What tells it from others: `f wrt 2 3`.
    pub fn name(&self) -> Name {
        let numbers: String = self.with_respect_to.iter().map(|number| format!(" {number}")).collect();
        match numbers.is_empty() {
            true => format!("differentiability witness {}", self.function).into(),
            false => format!("differentiability witness {} wrt{numbers}", self.function).into(),
        }
    }
}

/// The differentiability witnesses of a module, in the order in which they were added.
#[derive(Clone, Default, Debug)]
pub(crate) struct DifferentiabilityWitnesses {
    list: Vec<DifferentiabilityWitness>,
    by_function: HashMap<Name, Vec<usize>>,
}

impl PartialEq for DifferentiabilityWitnesses {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl DifferentiabilityWitnesses {
    fn position(&self, function: &str, with_respect_to: &[u32]) -> Option<usize> {
        let own = self.by_function.get(without_main(function))?;
        let same = |at: &&usize| self.list.get(**at).is_some_and(|known| known.with_respect_to == with_respect_to);
        own.iter().find(same).copied()
    }

    pub(crate) fn declare(&mut self, witness: DifferentiabilityWitness) -> Result<(), DefinedTwice> {
        if let Some(at) = self.position(&witness.function, &witness.with_respect_to) {
            let same = self.list.get(at) == Some(&witness);
            return if same { Ok(()) } else { Err(DefinedTwice(witness.name())) };
        }
        let own = self.by_function.entry(Name::from(without_main(&witness.function))).or_default();
        own.push(self.list.len());
        self.list.push(witness);
        Ok(())
    }

    fn retain(&mut self, wanted: impl FnMut(&DifferentiabilityWitness) -> bool) {
        self.list.retain(wanted);
        self.index();
    }

    fn index(&mut self) {
        self.by_function.clear();
        for (at, witness) in self.list.iter().enumerate() {
            self.by_function.entry(Name::from(without_main(&witness.function))).or_default().push(at);
        }
    }

    /// Gives a function another name.
    pub(crate) fn rename_function(&mut self, from: &str, to: &Name) {
        for witness in &mut self.list {
            let names = std::iter::once(&mut witness.function).chain(&mut witness.jvp).chain(&mut witness.vjp);
            names.filter(|name| without_main(name) == without_main(from)).for_each(|name| *name = to.clone());
        }
        self.index();
    }
}

/// Differentiability witnesses.
impl<F> Module<F> {
    /// All differentiability witnesses, in the order in which they were added.
    pub fn differentiability_witnesses(&self) -> &[DifferentiabilityWitness] {
        &self.tables.differentiability.list
    }

    /// Those of a function, in the order in which they were added. A prefix `Main.` makes no difference.
    ///
    /// ```
    /// let module = ircode::parse_module("
    /// differentiability witness f wrt 2 3
    ///     vjp => f_vjp
    /// end
    /// differentiability witness f wrt 2
    /// end
    /// ")?.module;
    /// let sets: Vec<&[u32]> = module.witnesses_of("f").map(|witness| witness.with_respect_to.as_slice()).collect();
    /// assert_eq!(sets, [&[2, 3][..], &[2]]);
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn witnesses_of(&self, function: &str) -> impl Iterator<Item = &DifferentiabilityWitness> + '_ {
        let own = self
            .tables
            .differentiability
            .by_function
            .get(without_main(function))
            .map(Vec::as_slice)
            .unwrap_or_default();
        own.iter().filter_map(|&at| self.tables.differentiability.list.get(at))
    }

    /// Leaves only the differentiability witnesses that are wanted.
    pub fn retain_differentiability_witnesses(&mut self, wanted: impl FnMut(&DifferentiabilityWitness) -> bool) {
        self.tables.differentiability.retain(wanted);
    }

    /// Fills in a derivative of the witness of this function for these parameters, as they stand in its declaration.
    /// False if there is no such witness.
    pub fn fill_in(
        &mut self,
        function: &str,
        with_respect_to: &[u32],
        kind: DerivativeKind,
        derivative: impl Into<Name>,
    ) -> bool {
        let witnesses = &mut self.tables.differentiability;
        let at = witnesses.position(function, with_respect_to);
        let Some(witness) = at.and_then(|at| witnesses.list.get_mut(at)) else { return false };
        match kind {
            DerivativeKind::Jvp => witness.jvp = Some(derivative.into()),
            DerivativeKind::Vjp => witness.vjp = Some(derivative.into()),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::code::IRCode;
    use crate::module::Module;
    use crate::text::parse_module;

    #[test]
    fn witnesses_of_a_function_that_is_renamed_are_its_own() {
        let text = "
function f(x::Float64)::Float64
1 ─      return x
end
differentiability witness f wrt 2
end
differentiability witness g wrt 2 3
end
";
        let mut module: Module<IRCode> = parse_module(text).unwrap().module;
        assert_eq!(module.rename_function("f", "g"), Ok(true));
        let sets: Vec<&[u32]> = module.witnesses_of("g").map(|witness| witness.with_respect_to.as_slice()).collect();
        assert_eq!(sets, [&[2][..], &[2, 3]]);
        assert_eq!(module.witnesses_of("f").count(), 0);
    }
}
