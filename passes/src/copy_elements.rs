//! Turns copies from address to address into copies of elements.

use bbcode::BBCode;
use ircode::{Body, Replacement, copies_by_addresses, element_copies};

use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "copy-elements";

/// Turns `memmove(pointer(to, i), pointer(from, j), n * sizeof(T))` of two arrays into `copyto!(to, i, from, j, n)`, as
/// [`element_copies`] says. True if there was one.
///
/// Slices, `vcat`, `append!` and `sort` of Julia's library copy so. A derivative follows the elements; addresses have none. Where a
/// copy by addresses is left as it is, it stays a foreign function without a derivative.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::{IRCode, parse_module};
/// use passes::{PassManager, find_pass};
///
/// let parsed = parse_module("
/// function f(to::Vector{Float64}, from::Vector{Float64})::Nothing
/// 1 ─ %1 = $(Expr(:foreigncall, :(:jl_array_ptr), Ptr{Float64}, svec(Any), 0, :(:ccall), :(_2)))::Ptr{Float64}
/// │   %2 = $(Expr(:foreigncall, :(:jl_array_ptr), Ptr{Float64}, svec(Any), 0, :(:ccall), :(_3)))::Ptr{Float64}
/// │        $(Expr(:foreigncall, :(:memmove), Ptr{Nothing}, svec(Ptr{Nothing}, Ptr{Nothing}, UInt64), 0, :(:ccall), :(%1), :(%2), 0x0000000000000018))::Ptr{Nothing}
/// └──      return nothing
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// PassManager::new([find_pass("copy-elements")?, find_pass("copy-propagation")?]).verify_each(true).run(&mut module, None)?;
/// assert_eq!(IRCode::try_from(&module.functions()[0].body)?.to_string(), "\
/// 1 ─     BBKit.copyto!(_2, 1, _3, 1, 3)::Vector{Float64}
/// └──     return nothing
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    if !bb.all_insts().any(|(_, inst)| copies_by_addresses(&inst.stmt)) {
        return Ok(false);
    }
    let replacements = element_copies(context.module, &bb.view());
    let changed = !replacements.is_empty();
    for Replacement { name, stmt, ty } in replacements {
        bb.replace(name, stmt)
            .map_err(|error| PassError::new(NAME, context.function, error.to_string()).at(bb, name))?;
        if let Some(inst) = bb.inst_mut(name) {
            inst.ty = ty;
        }
    }
    Ok(changed)
}
