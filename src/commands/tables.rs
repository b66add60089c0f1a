//! What of a program is kept while it is read function by function, to check its tables in the end.

use std::convert::Infallible;

use bbkit::Input;
use ircode::{Module, Type, verify_tables};

/// The declarations of a program, and of its functions the types of the arguments.
#[derive(Default)]
pub(super) struct Tables {
    module: Module<Vec<Type>>,
    problems: Vec<String>,
}

impl Tables {
    /// Adds a piece of the program.
    pub(super) fn add(&mut self, input: &Input) {
        for declaration in input.module.declarations() {
            self.problems.extend(self.module.declare(declaration).err().map(|twice| format!("error: {twice}")));
        }
        for function in input.module.functions() {
            let Ok(signature) = function.map(|body| Ok::<_, Infallible>(body.argtypes.clone()));
            // A second function of a name is refused when it is read.
            let _ = self.module.add_function(signature);
        }
    }

    /// What is wrong with the tables.
    pub(super) fn problems(self) -> Vec<String> {
        let tables = verify_tables(&self.module, Vec::as_slice).err().map_or_else(Vec::new, |found| found.0);
        self.problems.into_iter().chain(tables.iter().map(ToString::to_string)).collect()
    }
}
