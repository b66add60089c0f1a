//! What the primitives do that are not pure functions of scalars.

mod addresses;
pub(crate) mod arrays;
mod closures;
mod control;
mod derivative;
mod differentiable_functions;
mod dispatch;
mod enums;
mod floats;
mod linear_algebra;
mod memory;
mod slots;
mod structs;
mod tangents;
mod text;
mod vectors;
pub(crate) mod whole_arrays;

pub(crate) use control::unsupported;
pub(crate) use structs::splatted;
#[cfg(feature = "native")]
pub(crate) use tangents::USED_TWICE;
pub(crate) use tangents::zero_tangent_of;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ircode::primitives::{Compute, Primitive};
use ircode::tangents::TangentTypes;
use ircode::wording::counted;
use ircode::{IRCode, Module, Name, Scalar, Type, is_undef, unqualified};

use crate::error::RunErrorKind;
use crate::globals::Globals;
use crate::host::HostFunction;
use crate::machine::{Fault, named, wrong_operands};
use crate::object::{Kind, Meter};
use crate::prepare::struct_info;
use crate::value::{
    ArrayRef, MemoryObject, MemoryRef, NamedTupleObject, NamedTupleRef, PlaceObject, PlaceRef, StackObject, StackRef,
    StructInfo, StructObject, StructRef, TupleObject, TupleRef, Value, known_isa,
};

/// What a primitive does with its operands.
pub(crate) type Builtin = fn(&mut Runtime<'_>, &[Value]) -> Result<Value, Fault>;

/// What the primitives work with.
pub(crate) struct Runtime<'m> {
    pub(crate) module: &'m Module<IRCode>,
    pub(crate) meter: Rc<Meter>,
    pub(crate) output: Box<dyn FnMut(&str) + 'm>,
    /// The tangents of types, for derivatives.
    pub(crate) tangents: TangentTypes<'m, IRCode>,
    /// What primitives of the host do, by name.
    pub(crate) host: BTreeMap<Name, HostFunction<'m>>,
    /// How many values were saved for later.
    pub(crate) saved: u64,
    pub(crate) globals: Globals,
}

impl std::fmt::Debug for Runtime<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("meter", &self.meter).finish_non_exhaustive()
    }
}

/// What the primitive of this name does.
#[rustfmt::skip]
pub(crate) fn builtin(name: &str) -> Option<Builtin> {
    Some(match name {
        "checked_sadd_int" => control::checked_sadd,
        "checked_uadd_int" => control::checked_uadd,
        "checked_ssub_int" => control::checked_ssub,
        "checked_usub_int" => control::checked_usub,
        "checked_smul_int" => control::checked_smul,
        "checked_umul_int" => control::checked_umul,
        "===" => control::egal,
        "!==" => control::not_egal,
        "ifelse" => control::ifelse,
        "identity" => control::identity,
        "isa" => control::isa,
        "typeof" => control::type_of,
        "typeassert" => control::typeassert,
        "assert_number" => control::assert_number,
        "throw" | "rethrow" => control::throw,
        "error" => control::error,
        "throw_complex_domainerror" => control::throw_complex_domainerror,
        "throw_exp_domainerror" => control::throw_exp_domainerror,
        "throw_boundserror" => control::throw_boundserror,
        "throw_inexacterror" => control::throw_inexacterror,
        "throw_overflowerr_binaryop" => control::throw_overflowerr_binaryop,
        "ErrorException" => control::error_exception,
        "DomainError" => control::domain_error,
        "ArgumentError" => control::argument_error,
        "BoundsError" => control::bounds_error,
        "DivideError" => control::divide_error,
        "println" => text::println,
        "print" => text::print,
        "string" | "print_to_string" => text::string,
        "tuple" => structs::tuple,
        "splat_tuple" => structs::splat_tuple,
        "getfield" | "getproperty" => structs::getfield,
        "setfield!" | "setproperty!" => structs::setfield,
        "isdefined" => structs::isdefined,
        "nfields" => structs::nfields,
        "svec" => structs::svec,
        "arrayref" | "const_arrayref" => arrays::arrayref,
        "arrayset" => arrays::arrayset,
        "arraylen" => arrays::arraylen,
        "arraysize" => arrays::arraysize,
        "mightalias" => arrays::mightalias,
        "new_array" => arrays::new_array,
        "length" => arrays::length,
        "size" => arrays::size,
        "getindex" => arrays::getindex,
        "setindex!" => arrays::setindex,
        "push!" => arrays::push,
        "copy" => arrays::copy,
        "sum" => whole_arrays::sum,
        "maximum" => whole_arrays::maximum,
        "minimum" => whole_arrays::minimum,
        "argmax" => whole_arrays::argmax,
        "argmin" => whole_arrays::argmin,
        "dot" => linear_algebra::dot,
        "fill" => whole_arrays::fill,
        "fill!" => whole_arrays::fill_all,
        "copyto!" => whole_arrays::copyto,
        "map" | "broadcast" => whole_arrays::mapping,
        "similar" => whole_arrays::similar,
        "vcat" => whole_arrays::vcat,
        "permutedims" => whole_arrays::permutedims,
        "same_shape" => whole_arrays::same_shape,
        "slice" => whole_arrays::slice,
        "scaled" => linear_algebra::scaled,
        "matmul" => linear_algebra::matmul,
        "matmul_add!" => linear_algebra::matmul_add,
        "add_scaled!" => linear_algebra::add_scaled,
        "add_scalar!" => whole_arrays::add_scalar,
        "add_at!" => whole_arrays::add_at,
        "add_slice!" => whole_arrays::add_slice,
        "fill_slice!" => whole_arrays::fill_slice,
        "jl_alloc_array_1d" | "jl_alloc_array_2d" | "jl_alloc_array_3d" | "jl_new_array" => vectors::alloc_array,
        "jl_array_copy" => arrays::copy,
        "jl_array_isassigned" => arrays::is_assigned,
        "jl_array_ptr" => addresses::array_address,
        "jl_object_id" => addresses::object_id,
        "jl_reshape_array" => addresses::reshape,
        "jl_array_grow_end" => vectors::grow_end,
        "jl_array_grow_beg" => vectors::grow_begin,
        "jl_array_grow_at" => vectors::grow_at,
        "jl_array_del_end" => vectors::delete_end,
        "jl_array_del_beg" => vectors::delete_begin,
        "jl_array_del_at" => vectors::delete_at,
        "jl_array_sizehint" => vectors::size_hint,
        "sizeof" => vectors::size_of,
        "memorynew" => memory::memorynew,
        "memoryref" | "memoryrefnew" => memory::memoryref,
        "memoryrefget" => memory::memoryrefget,
        "memoryrefset!" => memory::memoryrefset,
        "memoryrefoffset" => memory::memoryrefoffset,
        "memoryref_isassigned" => memory::memoryref_isassigned,
        "new_case" => enums::new_case,
        "is_case" => enums::is_case,
        "payload" => enums::payload,
        "partial_apply" => closures::partial_apply,
        "applies" => closures::applies,
        "captured" => closures::captured,
        "differentiable_function" => differentiable_functions::differentiable_function,
        "differentiable_function_with" => differentiable_functions::differentiable_function_with,
        "original_of" => differentiable_functions::original_of,
        "jvp_of" => differentiable_functions::jvp_of,
        "vjp_of" => differentiable_functions::vjp_of,
        "class_method" => dispatch::class_method,
        "witness_method" => dispatch::witness_method,
        "new_stack" => derivative::new_stack,
        "stack_push!" => derivative::stack_push,
        "stack_get" => derivative::stack_get,
        "stack_set!" => derivative::stack_set,
        "stack_pop!" => derivative::stack_pop,
        "stack_empty!" => derivative::stack_empty,
        "stack_length" => derivative::stack_length,
        "new_slot" => slots::new_slot,
        "slot_get" => slots::slot_get,
        "slot_set!" => slots::slot_set,
        "slot_element" => slots::slot_element,
        "slot_copy!" => slots::slot_copy,
        "slot_end!" => slots::slot_end,
        "zero_tangent" => tangents::zero_tangent,
        "add_tangents" => tangents::add_tangents,
        "tangent_field" => tangents::tangent_field,
        "tangent_float" => tangents::tangent_float,
        "shadow_of" => tangents::shadow_of,
        "cotangent_of" => tangents::cotangent_of,
        "reset_shadow!" => tangents::reset_shadow,
        "add_shadow!" => tangents::add_shadow,
        "add_seed!" => tangents::add_seed,
        "fill_unassigned!" => tangents::fill_unassigned,
        "snapshot" => tangents::snapshot,
        "restore!" => tangents::restore,
        "saved_element" => tangents::saved_element,
        "restore_element!" => tangents::restore_element,
        "saved_field" => tangents::saved_field,
        "restore_field!" => tangents::restore_field,
        "use_once!" => tangents::use_once,
        "no_derivative" => tangents::no_derivative,
        "no_method" => tangents::no_method,
        _ => return None,
    })
}

/// The operands are not what the primitive takes. The machine adds which primitive it is.
pub(crate) fn expected(what: &str) -> Fault {
    Fault::Fatal(RunErrorKind::Operands { primitive: "", expected: what.into(), got: String::new() })
}

impl<'m> Runtime<'m> {
    pub(crate) fn new(module: &'m Module<IRCode>, meter: Rc<Meter>) -> Self {
        let tangents = TangentTypes::new(module);
        Runtime {
            module,
            meter,
            output: Box::new(|_| ()),
            tangents,
            host: BTreeMap::new(),
            saved: 0,
            globals: Globals::default(),
        }
    }

    pub(crate) fn tuple(&self, values: Vec<Value>) -> Result<Value, Fault> {
        Ok(Value::Tuple(TupleRef(Rc::new(TupleObject { fields: self.meter.fields(Kind::Tuple, values)? }))))
    }

    /// A named tuple of the types of its values.
    pub(crate) fn named_tuple(&self, names: Arc<[Name]>, values: Vec<Value>) -> Result<Value, Fault> {
        let fields = self.meter.fields(Kind::Tuple, values)?;
        Ok(Value::NamedTuple(NamedTupleRef(Rc::new(NamedTupleObject { names, declared: None, fields }))))
    }

    /// A named tuple of the type with these fields, of which there are as many as values.
    pub(crate) fn named_tuple_of(&self, of: &Arc<Vec<(Name, Type)>>, values: Vec<Value>) -> Result<Value, Fault> {
        let names = of.iter().map(|(name, _)| name.clone()).collect();
        let declared = of.iter().all(|(_, ty)| *ty != Type::Untyped).then(|| of.clone());
        let fields = self.meter.fields(Kind::Tuple, values)?;
        Ok(Value::NamedTuple(NamedTupleRef(Rc::new(NamedTupleObject { names, declared, fields }))))
    }

    pub(crate) fn structure(&self, ty: Arc<StructInfo>, values: Vec<Value>) -> Result<Value, Fault> {
        let fields = RefCell::new(self.meter.fields(Kind::of_struct(ty.mutable), values)?);
        Ok(Value::Struct(StructRef(Rc::new(StructObject { ty, fields }))))
    }

    /// A new struct of its first fields. Of the others those that are bits are zeros, which Julia leaves as they happen
    /// to be, and the rest are undefined.
    pub(crate) fn new_structure(&self, ty: Arc<StructInfo>, mut values: Vec<Value>) -> Result<Value, Fault> {
        if values.len() < ty.names.len() {
            let types = self.module.field_types(&ty.ty);
            let given = values.len();
            for (index, field) in types.iter().enumerate().skip(given) {
                if let Some(zero) = self.zero_bits(field)? {
                    values.resize(index, Value::Undefined);
                    values.push(zero);
                }
            }
        }
        self.structure(ty, values)
    }

    /// What a place of this type holds before anything is put there: zeros for types that are bits, nothing at all for
    /// others.
    pub(crate) fn unassigned(&self, ty: &Type) -> Result<Value, Fault> {
        Ok(match ty {
            Type::Scalar(scalar) => Value::Scalar(Scalar::from_bits(*scalar, 0)),
            ty => self.zero_bits(ty)?.unwrap_or(Value::Undefined),
        })
    }

    /// The value of a type that is zeros as bits; `None` of types whose values are not bits.
    fn zero_bits(&self, ty: &Type) -> Result<Option<Value>, Fault> {
        if self.module.is_bits_type(ty) != Some(true) {
            return Ok(None);
        }
        let zeros = |types: &[Type]| -> Result<Option<Vec<Value>>, Fault> {
            types.iter().map(|ty| self.zero_bits(ty)).collect()
        };
        Ok(match ty {
            Type::Scalar(scalar) => Some(Value::Scalar(Scalar::from_bits(*scalar, 0))),
            Type::Nothing => Some(Value::Nothing),
            Type::Tuple(types) => zeros(types)?.map(|values| self.tuple(values)).transpose()?,
            Type::NamedTuple(fields) => {
                let types: Vec<Type> = fields.iter().map(|(_, ty)| ty.clone()).collect();
                zeros(&types)?.map(|values| self.named_tuple_of(fields, values)).transpose()?
            }
            other => {
                let types = self.module.field_types(other);
                match (zeros(&types)?, struct_info(self.module, other, types.len())) {
                    (Some(values), Some(info)) => Some(self.structure(info, values)?),
                    _ => None,
                }
            }
        })
    }

    pub(crate) fn memory(&self, element: Type, values: Vec<Value>) -> Result<MemoryRef, Fault> {
        let fields = RefCell::new(self.meter.fields(Kind::Array, values)?);
        Ok(MemoryRef(Rc::new(MemoryObject { element, fields, address: Cell::new(0) })))
    }

    pub(crate) fn array(&self, element: Type, dims: Vec<usize>, values: Vec<Value>) -> Result<Value, Fault> {
        let memory = self.memory(element, values)?;
        let place = PlaceRef(Rc::new(PlaceObject { memory, offset: 0 }));
        Ok(Value::Array(ArrayRef::new(place, dims)))
    }

    pub(crate) fn stack(&self, element: Type) -> Result<Value, Fault> {
        let fields = RefCell::new(self.meter.fields(Kind::Stack, Vec::new())?);
        Ok(Value::Stack(StackRef(Rc::new(StackObject { element, fields }))))
    }

    /// A new object of a type that is known only now.
    pub(crate) fn new_of(&self, ty: &Type, args: Vec<Value>) -> Result<Value, Fault> {
        match ty {
            Type::Tuple(_) => self.tuple(args),
            Type::NamedTuple(fields) if fields.len() == args.len() => self.named_tuple_of(fields, args),
            // From Julia 1.11 on: a place in memory and the dimensions.
            Type::Array(_) => match args.as_slice() {
                [Value::MemoryRef(place), Value::Tuple(dims)] => {
                    let behind = place.0.memory.0.fields.borrow().values().len().saturating_sub(place.0.offset);
                    let dims = arrays::dimensions(dims.0.fields.values()).filter(|(_, length)| *length <= behind);
                    let Some((dims, _)) = dims else {
                        let what = "an array of other dimensions than its memory has elements for";
                        return Err(Fault::Fatal(RunErrorKind::InvalidCode(what.into())));
                    };
                    Ok(Value::Array(ArrayRef::new(place.clone(), dims)))
                }
                _ => Err(Fault::Fatal(RunErrorKind::Unsupported(format!("making a new {ty}")))),
            },
            other => match struct_info(self.module, other, args.len()) {
                Some(info) => self.new_structure(info, args),
                None => {
                    let what = format!("making a new {other} of {}", counted(args.len(), "field"));
                    Err(Fault::Fatal(RunErrorKind::Unsupported(what)))
                }
            },
        }
    }

    /// Calling a type: a conversion of a number, a new array, a struct.
    pub(crate) fn construct(&mut self, ty: &Type, args: &[Value]) -> Result<Value, Fault> {
        match (ty, args) {
            (Type::Scalar(scalar), [Value::Scalar(value)]) => {
                let primitive = ircode::primitives::lookup("convert");
                match primitive.map(|primitive| (primitive, primitive.compute)) {
                    Some((primitive, Compute::Convert(f))) => {
                        f(*scalar, value).map(Value::Scalar).map_err(|failure| self.failure(primitive, failure, args))
                    }
                    _ => Err(expected("a number")),
                }
            }
            (Type::Array(array), [Value::Text(undef) | Value::Function(undef), dims @ ..]) if is_undef(undef) => {
                arrays::undefined_array(self, &array.element, Some(array.rank), dims)
            }
            (Type::String, [Value::String(_)]) => Ok(args.first().cloned().unwrap_or(Value::Nothing)),
            (Type::Named(_) | Type::Ref(_), _) => match struct_info(self.module, ty, args.len()) {
                Some(info) => self.structure(info, args.to_vec()),
                None => Err(Fault::Fatal(RunErrorKind::Unsupported(format!("a call of the type {ty}")))),
            },
            _ => Err(Fault::Fatal(RunErrorKind::Unsupported(format!("a call of the type {ty}")))),
        }
    }

    /// Whether a value is of a type, if the program tells: by what is above the type of the value, or because the type
    /// that is asked for is declared, and so is no abstract one, and another.
    pub(crate) fn known_isa(&self, value: &Value, ty: &Type) -> Option<bool> {
        known_isa(value, ty).or_else(|| match value {
            Value::Text(path) if self.has_methods(path) => self.module.is_a(&Type::Function(path.clone()), ty),
            _ => self.module.is_a(&value.type_of(), ty),
        })
    }

    /// Whether a path names a function of which the module has methods, with the module in which it is or without.
    fn has_methods(&self, path: &str) -> bool {
        let plain = unqualified(path);
        [path, plain].iter().any(|name| !self.module.methods(name).is_empty())
    }

    /// Calls a primitive that is known only now.
    pub(crate) fn call_primitive(&mut self, primitive: &'static Primitive, args: &[Value]) -> Result<Value, Fault> {
        if !primitive.takes(args.len()) {
            return Err(wrong_operands(primitive, "another number of operands", args));
        }
        match (primitive.compute, args) {
            (Compute::Scalars(f), _) => {
                let scalars: Option<Vec<_>> = args.iter().map(|arg| arg.as_scalar().cloned()).collect();
                let scalars = scalars.ok_or_else(|| self.not_numbers(primitive, "numbers", args))?;
                f(&scalars).map(Value::Scalar).map_err(|failure| self.failure(primitive, failure, args))
            }
            (Compute::Convert(f), [Value::Type(ty), converted @ Value::Scalar(value)]) => match ty.as_scalar() {
                Some(ty) => f(ty, value)
                    .map(Value::Scalar)
                    .map_err(|failure| self.failure(primitive, failure, std::slice::from_ref(converted))),
                None => Err(wrong_operands(primitive, "a number type", args)),
            },
            (Compute::Convert(_), _) => Err(self.not_numbers(primitive, "a type and a number", args)),
            (Compute::Machine, _) => match builtin(primitive.name) {
                Some(f) => f(self, args).map_err(|fault| named(fault, primitive, args)),
                None => self.call_host(primitive, args),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_primitive_can_be_run() {
        for primitive in ircode::primitives::TABLE {
            let runs = matches!(primitive.compute, Compute::Machine) == builtin(primitive.name).is_some();
            assert!(runs, "{}", primitive.name);
        }
    }
}
