//! Constants of the program that functions read by name: arrays of numbers.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::module::{DefinedTwice, Module};
use crate::name::Name;
use crate::operand::GlobalRef;
use crate::scalar::{Scalar, ScalarType};
use crate::types::Type;

/// A constant global that is an array of numbers, such as the weights of a quadrature: `const WEIGHTS = [0.5, 0.5]`.
///
/// The name is constant, as in Julia: the array can be changed. Every call of a function from outside finds it as it is declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalArray {
    name: Name,
    element: ScalarType,
    size: Vec<usize>,
    elements: Vec<Scalar>,
}

/// Why there is no such array.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GlobalArrayError {
    /// The elements are not as many as the size says.
    #[error("`{name}` has {found} elements, and {expected} by its size")]
    Count {
        /// The name of the array.
        name: Name,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// An element has another type.
    #[error("an element of `{name}` is {found}, which is no {expected}")]
    Element {
        /// The name of the array.
        name: Name,
        /// The element.
        found: Scalar,
        /// The type of the elements.
        expected: ScalarType,
    },
    /// There are no arrays of such a size.
    #[error("`{0}` has no dimension, or more elements than there can be")]
    Size(Name),
}

impl GlobalArray {
    /// An array of this name: `Main.WEIGHTS`, or `WEIGHTS`, which is the same. The elements are in Julia's order, where the first index
    /// runs fastest.
    ///
    /// ```
    /// use ircode::{GlobalArray, Scalar, ScalarType, Type};
    ///
    /// let elements = [0.5, 0.25].map(Scalar::Float64);
    /// let weights = GlobalArray::new("Main.WEIGHTS", ScalarType::Float64, vec![2], elements.into())?;
    /// assert_eq!(weights.ty(), Type::array(Type::FLOAT64, 1));
    /// # Ok::<(), ircode::GlobalArrayError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GlobalArrayError`] if there is no such array.
    pub fn new(
        name: impl Into<Name>,
        element: ScalarType,
        size: Vec<usize>,
        elements: Vec<Scalar>,
    ) -> Result<Self, GlobalArrayError> {
        let name = name.into();
        let count = size.iter().try_fold(1_usize, |count, dim| count.checked_mul(*dim));
        let Some(expected) = count.filter(|_| !size.is_empty()) else { return Err(GlobalArrayError::Size(name)) };
        if let Some(other) = elements.iter().find(|other| other.scalar_type() != element) {
            return Err(GlobalArrayError::Element { name, found: other.clone(), expected: element });
        }
        match elements.len() == expected {
            true => Ok(GlobalArray { name, element, size, elements }),
            false => Err(GlobalArrayError::Count { name, found: elements.len(), expected }),
        }
    }

    /// The path by which functions name it.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The type of its elements.
    pub fn element(&self) -> ScalarType {
        self.element
    }

    /// How many elements each dimension has; there is one dimension at least.
    pub fn size(&self) -> &[usize] {
        &self.size
    }

    /// The elements, the first index running fastest.
    pub fn elements(&self) -> &[Scalar] {
        &self.elements
    }

    /// Its type.
    pub fn ty(&self) -> Type {
        Type::array(self.element.into(), u32::try_from(self.size.len()).unwrap_or(u32::MAX))
    }
}

/// The arrays of a module, by their paths without `Main`.
#[derive(Clone, Default, Debug)]
pub(crate) struct GlobalArrays {
    list: Vec<Arc<GlobalArray>>,
    by_name: HashMap<Name, usize>,
}

impl PartialEq for GlobalArrays {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl GlobalArrays {
    /// Adds one, unless it is there already.
    pub(crate) fn declare(&mut self, array: Arc<GlobalArray>) -> Result<(), DefinedTwice> {
        let key = Name::from(plain(array.name()));
        if let Some(known) = self.by_name.get(&key).and_then(|&index| self.list.get(index)) {
            return if *known == array { Ok(()) } else { Err(DefinedTwice(array.name().clone())) };
        }
        self.by_name.insert(key, self.list.len());
        self.list.push(array);
        Ok(())
    }
}

fn plain(path: &str) -> &str {
    path.strip_prefix("Main.").unwrap_or(path)
}

/// Global constants.
impl<F> Module<F> {
    /// The arrays that are global constants, in the order in which they were declared.
    pub fn global_arrays(&self) -> &[Arc<GlobalArray>] {
        &self.tables.global_arrays.list
    }

    /// The position in [`Module::global_arrays`] of the one that a global names. A module `Main` makes no difference.
    pub fn global_array(&self, global: &GlobalRef) -> Option<usize> {
        let arrays = &self.tables.global_arrays.by_name;
        match global.module.as_str() {
            // This is asked of every global.
            _ if arrays.is_empty() => None,
            "" | "Main" => arrays.get(global.name.as_str()).copied(),
            module => arrays.get(format!("{}.{}", plain(module), global.name).as_str()).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Declaration, IRCode, from_json, parse_module, print_module, to_json};

    const TEXT: &str = "\
const WEIGHTS::Vector{Float64}
    0.5, -0.0, NaN, Inf, 1.0e-300, 6.0, 7.0, 8.0
    9.0
end

const Base.table::Matrix{UInt8} size 2 3
    0x01, 0x02, 0x03, 0xff, 0x05, 0x06
end

const NONE::Vector{Int32}
end
";

    fn refused(text: &str) -> String {
        parse_module(text).unwrap_err().to_string()
    }

    #[test]
    fn arrays_are_printed_as_they_were_read() {
        let module: Module<IRCode> = parse_module(TEXT).unwrap().module;
        assert_eq!(print_module(&module, crate::Style::Bbkit).trim_end(), TEXT.trim_end());
        let again: Module<IRCode> = from_json(&to_json(&module).unwrap()).unwrap();
        assert_eq!(again, module);
        let sizes: Vec<_> = module.global_arrays().iter().map(|array| array.size().to_vec()).collect();
        assert_eq!(sizes, [vec![9], vec![2, 3], vec![0]]);
    }

    #[test]
    fn main_makes_no_difference() {
        let module: Module<IRCode> = parse_module(TEXT).unwrap().module;
        let at = |module_name: &str, name: &str| module.global_array(&GlobalRef::new(module_name, name));
        assert_eq!((at("", "WEIGHTS"), at("Main", "WEIGHTS"), at("Base", "WEIGHTS")), (Some(0), Some(0), None));
        assert_eq!((at("Base", "table"), at("Main", "table")), (Some(1), None));
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for (text, message) in [
            ("const A::Vector{Float64}\n    1\nend\n", "is no Float64"),
            ("const A::Vector{Int8}\n    200\nend\n", "is no Int8"),
            ("const A::Matrix{Float64} size 2 2\n    1.0\nend\n", "has 1 elements, and 4 by its size"),
            ("const A::Matrix{Float64} size 2\n    1.0, 2.0\nend\n", "expected `NAME::Array{T,N} size M N`"),
            ("const A::Vector{String}\nend\n", "expected `NAME::Array{T,N} size M N`"),
            ("const A::Float64\nend\n", "expected `NAME::Array{T,N} size M N`"),
            ("const A::Vector{Float64}\n    1.0\n", "does not end"),
            ("const A::Vector{Int64}\nend\nconst Main.A::Vector{Int8}\nend\n", "defined twice"),
        ] {
            assert!(refused(text).contains(message), "{text}: {}", refused(text));
        }
        let huge = GlobalArray::new("A", ScalarType::Int8, vec![usize::MAX, 2], Vec::new());
        assert_eq!(huge, Err(GlobalArrayError::Size("A".into())));
    }

    #[test]
    fn a_module_may_declare_the_same_twice() {
        let array = GlobalArray::new("A", ScalarType::Int8, vec![1], vec![Scalar::Int8(1)]).unwrap();
        let mut module: Module<IRCode> = Module::new();
        for _ in 0..2 {
            module.declare(Declaration::Global(Arc::new(array.clone()))).unwrap();
        }
        assert_eq!(module.global_arrays().len(), 1);
    }
}
