//! Which derivatives are made together: of a function, and of all that it calls with what is differentiated.

use bbcode::BBCode;
use hashbrown::HashSet;
use ircode::{Module, Name};

use crate::PassError;
use crate::differentiability::Made;

/// A derivative: of the function at this position, with respect to these arguments, `_1` first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Signature {
    pub(crate) function: usize,
    pub(crate) wanted: Vec<bool>,
}

impl Signature {
    /// The numbers of the arguments that are wanted: 2 is `_2`.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.wanted.iter().zip(1..).filter(|(wanted, _)| **wanted).map(|(_, number)| number).collect()
    }
}

/// The derivatives that are to be made, each once; what was added last is made first.
#[derive(Debug, Default)]
pub(crate) struct Signatures {
    waiting: Vec<Signature>,
    seen: HashSet<Signature>,
}

impl Signatures {
    /// Adds some that are to be made, but those that were added before.
    pub(crate) fn add(&mut self, signatures: impl IntoIterator<Item = Signature>) {
        let new = signatures.into_iter().filter(|signature| self.seen.insert(signature.clone()));
        self.waiting.extend(new);
    }

    /// Leaves out one that was made already.
    pub(crate) fn leave_out(&mut self, signature: Signature) {
        self.seen.insert(signature);
    }

    pub(crate) fn next(&mut self) -> Option<Signature> {
        self.waiting.pop()
    }
}

/// Makes the derivatives of several functions, with respect to arguments of these numbers, and of all that they call.
/// `wanted` says of a function which arguments these are, `generate` makes a derivative and gives those that it calls,
/// and `name` is what it is called. Errors are those of all functions.
pub(crate) fn generate_several(
    module: &Module<BBCode>,
    roots: &[(Name, Vec<u32>)],
    wanted: impl Fn(&Name, usize, &[usize]) -> Result<Vec<bool>, PassError>,
    mut generate: impl FnMut(&Signature) -> Result<Vec<Signature>, PassError>,
    name: impl Fn(&Signature) -> Name,
) -> Result<Vec<Made>, Vec<PassError>> {
    let (mut asked, mut made, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for (root, numbers) in roots {
        let numbers: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
        let Some(function) = module.function_index(root) else { continue };
        match wanted(root, function, &numbers) {
            Ok(wanted) => asked.push(Signature { function, wanted }),
            Err(error) => errors.push(error),
        }
    }
    let mut signatures = Signatures::default();
    signatures.add(asked.into_iter().rev());
    while let Some(signature) = signatures.next() {
        match generate(&signature) {
            Ok(called) => signatures.add(called),
            Err(error) => {
                errors.push(error);
                continue;
            }
        }
        if let Some(function) = module.functions().get(signature.function) {
            let (with_respect_to, derivative) = (signature.numbers(), name(&signature));
            made.push(Made { function: function.name.clone(), with_respect_to, derivative });
        }
    }
    if errors.is_empty() { Ok(made) } else { Err(errors) }
}
