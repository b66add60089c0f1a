//! Constants of the program that functions read by name: arrays, and objects that hold some.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::constant::Constant;
use crate::module::{DefinedTwice, Module};
use crate::name::{Name, without_main};
use crate::names::Names;
use crate::operand::{GlobalRef, Operand};
use crate::scalar::{Scalar, ScalarType};
use crate::types::Type;
use crate::wording::{counted, with_article};

/// A constant global that is an array, such as the weights of a quadrature, `const WEIGHTS = [0.5, 0.5]`, or an object
/// that holds arrays, such as a layer of a network, `const LAYER = Layer(WEIGHTS, tanh)`.
///
/// The name is constant, as in Julia: an array can be changed. Every call of a function from outside finds it as it is
/// declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalConstant {
    name: Name,
    ty: Type,
    value: GlobalValue,
}

/// What a global constant is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GlobalValue {
    /// An array of numbers.
    Numbers {
        /// How many elements each dimension has; there is one dimension at least.
        size: Vec<usize>,
        /// The elements, in Julia's order, where the first index runs fastest.
        elements: Vec<Scalar>,
    },
    /// An array of anything else.
    Elements {
        /// How many elements each dimension has; there is one dimension at least.
        size: Vec<usize>,
        /// The elements, in Julia's order, where the first index runs fastest.
        elements: Vec<GlobalPart>,
    },
    /// A tuple, a named tuple, a reference or a struct, by its fields in order.
    Fields(Vec<GlobalPart>),
}

impl GlobalValue {
    /// The elements or fields, in order; none of an array of numbers.
    pub fn parts(&self) -> &[GlobalPart] {
        match self {
            GlobalValue::Numbers { .. } => &[],
            GlobalValue::Elements { elements: parts, .. } | GlobalValue::Fields(parts) => parts,
        }
    }
}

/// An element or a field of a global constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GlobalPart {
    /// A value that is written there.
    Constant(Constant),
    /// What a global is: another constant, which is declared before this one, or a function.
    Global(GlobalRef),
    /// What was not assigned.
    Undefined,
}

/// Why there is no such constant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GlobalConstantError {
    /// The elements are not as many as the size says.
    #[error("`{name}` has {}, and {expected} by its size", counted(*.found, "element"))]
    Count {
        /// The name of the array.
        name: Name,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// An element or a field has another type.
    #[error("an element of `{name}` is {found}, which is no {expected}")]
    Element {
        /// The name of the constant.
        name: Name,
        /// The element.
        found: Constant,
        /// The type that it should have.
        expected: Type,
    },
    /// There are no arrays of such a size.
    #[error("`{0}` has no dimension, or more elements than there can be")]
    Size(Name),
    /// The type is none of a tuple or a struct with so many fields.
    #[error("`{name}` is {}, which does not have {}", with_article(.ty), counted(*.found, "field"))]
    Fields {
        /// The name of the constant.
        name: Name,
        /// Its type.
        ty: Type,
        /// How many fields there are.
        found: usize,
    },
}

impl GlobalConstant {
    /// An array of numbers of this name: `Main.WEIGHTS`, or `WEIGHTS`, which is the same. The elements are in Julia's
    /// order, where the first index runs fastest.
    ///
    /// ```
    /// use ircode::{GlobalConstant, Scalar, ScalarType, Type};
    ///
    /// let elements = [0.5, 0.25].map(Scalar::Float64);
    /// let weights = GlobalConstant::numbers("Main.WEIGHTS", ScalarType::Float64, vec![2], elements.into())?;
    /// assert_eq!(*weights.ty(), Type::array(Type::FLOAT64, 1));
    /// # Ok::<(), ircode::GlobalConstantError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GlobalConstantError`] if there is no such array.
    pub fn numbers(
        name: impl Into<Name>,
        element: ScalarType,
        size: Vec<usize>,
        elements: Vec<Scalar>,
    ) -> Result<Self, GlobalConstantError> {
        let name = name.into();
        if let Some(other) = elements.iter().find(|other| other.scalar_type() != element) {
            let found = Constant::Scalar(other.clone());
            return Err(GlobalConstantError::Element { name, found, expected: element.into() });
        }
        let ty = array_type(&name, element.into(), &size, elements.len())?;
        Ok(GlobalConstant { name, ty, value: GlobalValue::Numbers { size, elements } })
    }

    /// An array of elements of this type; see [`numbers`](Self::numbers) for arrays of numbers, which this makes of
    /// numbers, too.
    ///
    /// # Errors
    ///
    /// [`GlobalConstantError`] if there is no such array.
    pub fn elements(
        name: impl Into<Name>,
        element: Type,
        size: Vec<usize>,
        elements: Vec<GlobalPart>,
    ) -> Result<Self, GlobalConstantError> {
        let name = name.into();
        for part in &elements {
            fits(&name, part, &element)?;
        }
        if let Some(scalar) = element.as_scalar() {
            let numbers = elements.iter().map(|part| match part {
                GlobalPart::Constant(Constant::Scalar(number)) => Some(number.clone()),
                _ => None,
            });
            if let Some(numbers) = numbers.collect() {
                return GlobalConstant::numbers(name, scalar, size, numbers);
            }
        }
        let ty = array_type(&name, element, &size, elements.len())?;
        Ok(GlobalConstant { name, ty, value: GlobalValue::Elements { size, elements } })
    }

    /// A tuple, a named tuple, a reference or an object of a struct, of this type.
    ///
    /// ```
    /// use ircode::{Constant, GlobalConstant, GlobalPart, GlobalRef, Type};
    ///
    /// let weights = GlobalPart::Global(GlobalRef::new("Main", "WEIGHTS"));
    /// let fields = vec![weights, GlobalPart::Constant(Constant::float64(0.1))];
    /// let layer = GlobalConstant::fields("Main.LAYER", Type::parse("Tuple{Vector{Float64}, Float64}"), fields)?;
    /// assert_eq!(layer.name().as_str(), "Main.LAYER");
    /// # Ok::<(), ircode::GlobalConstantError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GlobalConstantError`] if the type is another one, or a field is none of its type. What fields a struct has,
    /// the module says.
    pub fn fields(name: impl Into<Name>, ty: Type, fields: Vec<GlobalPart>) -> Result<Self, GlobalConstantError> {
        let name = name.into();
        let types: Option<Vec<Type>> = match &ty {
            Type::Tuple(types) => Some(types.to_vec()),
            Type::NamedTuple(named) => Some(named.iter().map(|(_, ty)| ty.clone()).collect()),
            Type::Named(_) | Type::Ref(_) => None,
            _ => return Err(GlobalConstantError::Fields { name, ty, found: fields.len() }),
        };
        match types {
            Some(types) if types.len() != fields.len() => {
                return Err(GlobalConstantError::Fields { name, ty, found: fields.len() });
            }
            Some(types) => fields.iter().zip(&types).try_for_each(|(part, ty)| fits(&name, part, ty))?,
            None => {}
        }
        Ok(GlobalConstant { name, ty, value: GlobalValue::Fields(fields) })
    }

    /// The path by which functions name it.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Its type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// What it is.
    pub fn value(&self) -> &GlobalValue {
        &self.value
    }
}

/// The type of an array of such a size, which has so many elements.
fn array_type(name: &Name, element: Type, size: &[usize], found: usize) -> Result<Type, GlobalConstantError> {
    let count = size.iter().try_fold(1_usize, |count, dim| count.checked_mul(*dim));
    let rank = u32::try_from(size.len()).ok().filter(|rank| *rank > 0);
    let (Some(expected), Some(rank)) = (count, rank) else { return Err(GlobalConstantError::Size(name.clone())) };
    match found == expected {
        true => Ok(Type::array(element, rank)),
        false => Err(GlobalConstantError::Count { name: name.clone(), found, expected }),
    }
}

/// An error if a part is known to be of another type.
fn fits(name: &Name, part: &GlobalPart, ty: &Type) -> Result<(), GlobalConstantError> {
    let GlobalPart::Constant(constant) = part else { return Ok(()) };
    let is_plain =
        matches!(constant, Constant::Scalar(_) | Constant::Nothing | Constant::String(_) | Constant::Symbol(_));
    // Without a module: numbers and texts are below abstract types of Julia only.
    let is_of_it = || {
        let own = constant.ty();
        ty.is_unknown() || own == *ty || Module::<()>::new().is_a(&own, ty) == Some(true)
    };
    match is_plain && !is_of_it() {
        true => Err(GlobalConstantError::Element { name: name.clone(), found: constant.clone(), expected: ty.clone() }),
        false => Ok(()),
    }
}

/// The constants of a module, by their paths without `Main`.
#[derive(Clone, Default, Debug)]
pub(crate) struct GlobalConstants {
    list: Vec<Arc<GlobalConstant>>,
    by_name: HashMap<Name, usize>,
    /// The lengths of these paths, as bits, those from [`LONGEST`] on as one: every pass asks of every global whether
    /// it is one of them.
    lengths: u128,
}

/// The longest path of which the length is known.
const LONGEST: usize = 127;

impl PartialEq for GlobalConstants {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl GlobalConstants {
    /// Adds one, unless it is there already.
    pub(crate) fn declare(&mut self, constant: Arc<GlobalConstant>) -> Result<(), DefinedTwice> {
        let key = Name::from(without_main(constant.name()));
        if let Some(known) = self.by_name.get(&key).and_then(|&index| self.list.get(index)) {
            return if *known == constant { Ok(()) } else { Err(DefinedTwice(constant.name().clone())) };
        }
        self.lengths |= 1 << key.len().min(LONGEST);
        self.by_name.insert(key, self.list.len());
        self.list.push(constant);
        Ok(())
    }
}

/// Global constants.
impl<F> Module<F> {
    /// Puts a constant in the place of the one at a position, which has the same name. False if it has another one, or
    /// there is none.
    pub fn replace_global_constant(&mut self, position: usize, constant: GlobalConstant) -> bool {
        let list = &mut self.tables.global_constants.list;
        match list.get_mut(position).filter(|known| known.name == constant.name) {
            Some(known) => *known = Arc::new(constant),
            None => return false,
        }
        true
    }

    /// The global constants, in the order in which they were declared.
    pub fn global_constants(&self) -> &[Arc<GlobalConstant>] {
        &self.tables.global_constants.list
    }

    /// The position in [`Module::global_constants`] of the one that a global names. A module `Main` makes no
    /// difference.
    pub fn global_constant(&self, global: &GlobalRef) -> Option<usize> {
        let GlobalConstants { by_name, lengths, .. } = &self.tables.global_constants;
        let is_of_length = |length: usize| lengths & (1 << length.min(LONGEST)) != 0;
        match global.module.as_str() {
            "" | "Main" if is_of_length(global.name.len()) => by_name.get(global.name.as_str()).copied(),
            "" | "Main" => None,
            module => {
                let module = without_main(module);
                let may_be = is_of_length(module.len() + 1 + global.name.len());
                may_be.then(|| by_name.get(format!("{module}.{}", global.name).as_str()).copied()).flatten()
            }
        }
    }

    /// The type of the constant that an operand names, if it names one.
    pub fn type_of_global<N: Names>(&self, operand: &Operand<N>) -> Option<&Type> {
        let Operand::Global(global) = operand else { return None };
        self.global_constants().get(self.global_constant(global)?).map(|constant| constant.ty())
    }

    /// The position of the constant that a part of the constant at this position names: it stands before it.
    pub fn global_part(&self, of: usize, part: &GlobalPart) -> Option<usize> {
        let found = match part {
            GlobalPart::Global(global) => self.global_constant(global),
            // A bare name is read as that of a function.
            GlobalPart::Constant(Constant::Function(name)) => self.global_constant(&GlobalRef::new("", name.clone())),
            GlobalPart::Constant(_) | GlobalPart::Undefined => None,
        };
        found.filter(|&found| found < of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Declaration, IRCode, from_json, parse_module, print_module, to_json, verify_tables};

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

const ROWS::Vector{Vector{Float64}}
    $(undef), Main.WEIGHTS, Main.WEIGHTS
end

const NAMES::Vector{Symbol}
    $(:a), $(:b)
end

const PAIRS::Matrix{Tuple{Float64, Int32}} size 1 2
    (0.5, Int32(1)), (0.25, Int32(2))
end

const LAYER::Layer{typeof(tanh)}
    Main.ROWS, tanh, \"a, b\", nothing
end

const BOTH::Tuple{Layer{typeof(tanh)}, Float64}
    Main.LAYER, -0.0
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
        let sizes = module.global_constants().iter().map(|constant| match constant.value() {
            GlobalValue::Numbers { size, .. } | GlobalValue::Elements { size, .. } => size.clone(),
            GlobalValue::Fields(fields) => vec![fields.len()],
        });
        let expected = [vec![9], vec![2, 3], vec![0], vec![3], vec![2], vec![1, 2], vec![4], vec![2]];
        assert_eq!(sizes.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn main_makes_no_difference() {
        let module: Module<IRCode> = parse_module(TEXT).unwrap().module;
        let at = |module_name: &str, name: &str| module.global_constant(&GlobalRef::new(module_name, name));
        assert_eq!((at("", "WEIGHTS"), at("Main", "WEIGHTS"), at("Base", "WEIGHTS")), (Some(0), Some(0), None));
        assert_eq!((at("Base", "table"), at("Main", "table")), (Some(1), None));
    }

    #[test]
    fn parts_name_what_is_declared_before_them() {
        let module: Module<IRCode> = parse_module(TEXT).unwrap().module;
        let (weights, rows) = (0, 3);
        let named = |module: &str, name: &str| GlobalPart::Global(GlobalRef::new(module, name));
        assert_eq!(module.global_part(rows, &named("Main", "WEIGHTS")), Some(weights));
        assert_eq!(
            module.global_part(rows, &GlobalPart::Constant(Constant::Function("WEIGHTS".into()))),
            Some(weights)
        );
        for part in [named("Main", "ROWS"), named("Main", "LAYER"), named("Base", "WEIGHTS"), GlobalPart::Undefined] {
            assert_eq!(module.global_part(rows, &part), None, "{part:?}");
        }
    }

    #[test]
    fn parts_fit_and_are_declared_before() {
        let text = "struct Layer
    weights::Vector{Float64}
    rate::Float64
end
const W::Vector{Float64}
    1.0
end
const SWAPPED::Layer
    Main.W, Main.W
end
const EARLY::Vector{Layer}
    Main.LATE
end
const LATE::Layer
    Main.W, 0.5
end
";
        let module: Module<IRCode> = parse_module(text).unwrap().module;
        let violations = verify_tables(&module, |body| &body.argtypes).unwrap_err().to_string();
        let expected = "error[DT12]: SWAPPED: `W` is a Vector{Float64}, where a Float64 is expected
error[DT12]: EARLY: `LATE` is not declared before it";
        assert_eq!(violations, expected);
    }

    #[test]
    fn what_is_no_constant_is_refused() {
        for (text, message) in [
            ("const A::Vector{Float64}\n    1\nend\n", "is no Float64"),
            ("const A::Vector{Int8}\n    200\nend\n", "is no Int8"),
            ("const A::Matrix{Float64} size 2 2\n    1.0\nend\n", "has 1 element, and 4 by its size"),
            (
                "const A::Matrix{Float64} size 2\n    1.0, 2.0\nend\n",
                "expected `NAME::T`, or `NAME::Array{T,N} size M N`",
            ),
            ("const A::Tuple{Int64} size 1\n    1\nend\n", "expected `NAME::T`, or `NAME::Array{T,N} size M N`"),
            ("const A::Float64\nend\n", "expected `NAME::T`, or `NAME::Array{T,N} size M N`"),
            ("const A::Vector{String}\n    2.0\nend\n", "an element of `A` is 2.0, which is no String"),
            ("const A::Vector{Any}\n    %1\nend\n", "`%1` is no constant, and not the name of one"),
            ("const A::Tuple{Int64}\nend\n", "`A` is a Tuple{Int64}, which does not have 0 fields"),
            ("const A::Vector{Float64}\n    1.0\n", "does not end"),
            ("const A::Vector{Int64}\nend\nconst Main.A::Vector{Int8}\nend\n", "defined twice"),
        ] {
            assert!(refused(text).contains(message), "{text}: {}", refused(text));
        }
        let huge = GlobalConstant::numbers("A", ScalarType::Int8, vec![usize::MAX, 2], Vec::new());
        assert_eq!(huge, Err(GlobalConstantError::Size("A".into())));
    }

    #[test]
    fn a_module_may_declare_the_same_twice() {
        let array = GlobalConstant::numbers("A", ScalarType::Int8, vec![1], vec![Scalar::Int8(1)]).unwrap();
        let mut module: Module<IRCode> = Module::new();
        for _ in 0..2 {
            module.declare(Declaration::Global(Arc::new(array.clone()))).unwrap();
        }
        assert_eq!(module.global_constants().len(), 1);
    }
}
