//! Finding the differentiability witness for what is wanted, and thunks where it gives more than that.

use bbcode::{BBCode, EditError};
use ircode::{DerivativeKind, DifferentiabilityWitness, Function, Module, Name};

use crate::reverse_mode::subset_thunk;
use crate::tangents::TangentTypes;

/// The numbers of the parameters of a function that have tangents: 2 is `_2`.
pub(crate) fn differentiable_parameters(tangents: &TangentTypes<'_, BBCode>, function: &Function<BBCode>) -> Vec<u32> {
    let types = function.body.argtypes.iter().enumerate().skip(1);
    types.filter(|(_, ty)| !tangents.of(ty).is_none()).map(|(index, _)| index as u32 + 1).collect()
}

/// The numbers of the parameters that a witness is for, those that all stand for included.
pub(crate) fn parameters_of(
    tangents: &TangentTypes<'_, BBCode>,
    function: &Function<BBCode>,
    witness: &DifferentiabilityWitness,
) -> Vec<u32> {
    match witness.with_respect_to.is_empty() {
        true => differentiable_parameters(tangents, function),
        false => witness.with_respect_to.clone(),
    }
}

/// The witness of a function for the smallest superset of these parameters, the first of several such, with its own
/// parameters. Only those that `fits` accepts are looked at.
pub(crate) fn minimal_superset<'m>(
    module: &'m Module<BBCode>,
    tangents: &TangentTypes<'_, BBCode>,
    function: &Function<BBCode>,
    wanted: &[u32],
    fits: impl Fn(&DifferentiabilityWitness) -> bool,
) -> Option<(&'m DifferentiabilityWitness, Vec<u32>)> {
    let fitting = module.witnesses_of(&function.name).filter(|witness| fits(witness));
    let sets = fitting.map(|witness| (witness, parameters_of(tangents, function, witness)));
    let supersets = sets.filter(|(_, set)| wanted.iter().all(|number| set.binary_search(number).is_ok()));
    // Of several, `min_by_key` gives the first.
    supersets.min_by_key(|(_, set)| set.len())
}

/// A derivative that the module has.
pub(crate) struct Given {
    /// The function to call.
    pub(crate) name: Name,
    /// Functions that are to be added to the module, if it does not have them: a thunk, and its pullback.
    pub(crate) thunks: Vec<Function<BBCode>>,
}

/// The derivative of a function with respect to exactly these parameters that a witness of the module gives, through a
/// thunk if its parameters are more, or if the last `captured` ones of the function are captured by a closure. `None`
/// if no witness has this kind of derivative for a superset.
pub(crate) fn given_derivative(
    module: &Module<BBCode>,
    tangents: &TangentTypes<'_, BBCode>,
    function: &Function<BBCode>,
    wanted: &[u32],
    captured: usize,
    kind: DerivativeKind,
) -> Result<Option<Given>, EditError> {
    let fits = |witness: &DifferentiabilityWitness| witness.derivative(kind).is_some();
    let Some((witness, set)) = minimal_superset(module, tangents, function, wanted, fits) else { return Ok(None) };
    let Some(derivative) = witness.derivative(kind) else { return Ok(None) };
    if set == wanted && captured == 0 {
        return Ok(Some(Given { name: derivative.clone(), thunks: Vec::new() }));
    }
    let thunks = subset_thunk(module, tangents, function, derivative, &set, wanted, captured, kind)?;
    let name = thunks.first().map_or_else(|| derivative.clone(), |thunk| thunk.name.clone());
    Ok(Some(Given { name, thunks }))
}
