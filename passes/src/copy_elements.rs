//! Turns copies from address to address into copies of elements, and what fills memory by its address into filled
//! arrays.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashSet;
use ircode::{Body, Module, Operand, Replacement, Stmt, Type, addresses_copied, element_copies};
use smallvec::SmallVec;

use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "copy-elements";

/// Turns `memmove(pointer(to, i), pointer(from, j), n * sizeof(T))` of two arrays into `copyto!(to, i, from, j, n)`, as
/// [`element_copies`] says. True if there was one.
///
/// Slices, `vcat`, `append!` and `sort` of Julia's library copy so. A derivative follows the elements; addresses have
/// none. Where a copy by addresses is left as it is, it stays a foreign function without a derivative.
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
    if !bb.all_insts().any(|(_, inst)| addresses_copied(&inst.stmt).is_some()) {
        return Ok(false);
    }
    let replacements = element_copies(context.module, &bb.view());
    let changed = !replacements.is_empty();
    for Replacement { name, stmt, ty } in replacements {
        bb.replace(name, stmt).map_err(|error| PassError::because(NAME, context.function, error).at(bb, name))?;
        if let Some(inst) = bb.inst_mut(name) {
            inst.ty = ty;
        }
    }
    Ok(changed)
}

/// The primitives that read and write by an address, which is their first operand.
const BY_ADDRESS: &[&str] = &["pointerref", "pointerset"];

/// At most this many values are followed back from an address.
const MOST: usize = 64;

/// An error if a statement still copies, reads or writes by an address that may lie in an array of floats: what comes
/// of that would have no derivative, without a word.
pub(crate) fn refuse_addresses(pass: &'static str, bb: &BBCode, context: &Context<'_>) -> Result<(), PassError> {
    for (id, inst) in bb.all_insts() {
        // Whatever types they have: the number that an address is is one, too.
        let addresses: SmallVec<[&Operand<Ids>; 2]> = match (&inst.stmt, addresses_copied(&inst.stmt)) {
            (_, Some((to, from))) => [to].into_iter().chain(from).collect(),
            (Stmt::Call(call), None) => match &call.callee {
                Operand::Global(global) if BY_ADDRESS.contains(&global.name.as_str()) => {
                    call.args.iter().take(1).collect()
                }
                _ => continue,
            },
            _ => continue,
        };
        if addresses.into_iter().any(|address| may_lie_in_floats(bb, context.module, address)) {
            let message = "memory is used by an address of which it is not known in which array it lies";
            return Err(PassError::new(pass, context.function, message).at(bb, id));
        }
    }
    Ok(())
}

/// Whether numbers of this type have derivatives, or it is not known what is of this type.
fn may_be_float(ty: &Type) -> bool {
    ty.as_scalar().is_none_or(|scalar| scalar.is_float())
}

fn may_lie_in_floats(bb: &BBCode, module: &Module<BBCode>, address: &Operand<Ids>) -> bool {
    let mut work = vec![address.clone()];
    let mut seen: HashSet<InstId> = HashSet::new();
    while let Some(operand) = work.pop() {
        if let Operand::Value(id) = operand
            && !seen.insert(id)
        {
            continue;
        }
        if seen.len() > MOST {
            return true;
        }
        let stmt = operand.as_value().and_then(|id| bb.stmt(id));
        let call = stmt.and_then(|stmt| module.primitive_call(stmt)).map(|(primitive, args)| (primitive.name, args));
        match (stmt, call) {
            (Some(Stmt::Value(of)), _) => work.push(of.clone()),
            (Some(Stmt::Pi(pi)), _) => work.push(pi.value.clone()),
            (Some(Stmt::Phi(phi)), _) => work.extend(phi.entries.iter().filter_map(|entry| entry.value.clone())),
            (_, Some(("bitcast", [_, of]))) => work.push(of.clone()),
            (_, Some(("add_ptr" | "sub_ptr" | "add_int" | "sub_int", [of, _]))) => work.push(of.clone()),
            (_, Some(("ifelse", [_, a, b]))) => work.extend([a.clone(), b.clone()]),
            (_, Some(("jl_array_ptr", [array]))) => match bb.operand_type(array) {
                Type::Array(array) if !may_be_float(&array.element) => {}
                _ => return true,
            },
            _ => match bb.operand_type(&operand) {
                Type::Named(name) => {
                    let to = name.strip_prefix("Ptr{").and_then(|rest| rest.strip_suffix('}'));
                    if to.is_none_or(|to| !to.starts_with("Ptr{") && may_be_float(&Type::parse(to))) {
                        return true;
                    }
                }
                _ => return true,
            },
        }
    }
    false
}
