//! The arrays that are global constants of a module, as one call from outside finds and changes them.

use std::cell::RefCell;

use ircode::GlobalArray;

use crate::builtins::Runtime;
use crate::error::RunErrorKind;
use crate::machine::Fault;
use crate::value::{PlaceRef, Value};

/// The arrays that were made of global constants so far, by their positions in the module. Prepared code holds them.
#[derive(Default, Debug)]
pub(crate) struct Globals {
    made: RefCell<Vec<Option<Value>>>,
    /// Whether they are those of another run, of which this one is a part.
    are_lent: bool,
}

impl Runtime<'_> {
    /// The array of this position.
    pub(crate) fn global_array(&self, index: usize) -> Result<Value, RunErrorKind> {
        let known = self.globals.made.borrow().get(index).cloned().flatten();
        if let Some(known) = known {
            return Ok(known);
        }
        let Some(declared) = self.module.global_arrays().get(index) else {
            return Err(RunErrorKind::InvalidCode(format!("there is no global array {index}")));
        };
        let made = self.array(declared.element().into(), declared.size().to_vec(), elements(declared));
        let made = made.map_err(|_| RunErrorKind::InvalidCode("its constants do not fit in memory".into()))?;
        let mut all = self.globals.made.borrow_mut();
        if all.len() <= index {
            all.resize(index + 1, None);
        }
        if let Some(place) = all.get_mut(index) {
            *place = Some(made.clone());
        }
        Ok(made)
    }

    /// Uses these arrays, by their positions: a run to which they belong goes on here.
    #[cfg(feature = "native")]
    pub(crate) fn lend_globals(&mut self, arrays: Vec<Option<Value>>) {
        self.globals = Globals { made: RefCell::new(arrays), are_lent: true };
    }

    /// Gives all arrays what they are declared with, as a call from outside starts.
    pub(crate) fn reset_globals(&self) -> Result<(), Fault> {
        if self.globals.are_lent {
            return Ok(());
        }
        for (made, declared) in self.globals.made.borrow().iter().zip(self.module.global_arrays()) {
            let Some(Value::Array(array)) = made else { continue };
            let fresh = self.array(declared.element().into(), declared.size().to_vec(), elements(declared))?;
            if let Value::Array(fresh) = fresh {
                let place: PlaceRef = fresh.0.place.borrow().clone();
                *array.0.place.borrow_mut() = place;
                *array.0.dims.borrow_mut() = declared.size().to_vec();
            }
        }
        Ok(())
    }
}

fn elements(array: &GlobalArray) -> Vec<Value> {
    array.elements().iter().cloned().map(Value::Scalar).collect()
}
