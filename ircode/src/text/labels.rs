//! The word that Julia 1.12 prints before a call: what kind of function it calls.

use crate::constant::Constant;
use crate::names::Names;
use crate::operand::Operand;

/// The functions of Core.Intrinsics, but for those that compare and convert by names of their own below.
const INTRINSIC_ENDINGS: &[&str] = &["_int", "_float", "_float_fast", "_llvm", "_llvm_fast", "_ptr"];
#[rustfmt::skip]
const INTRINSICS: &[&str] = &[
    "bitcast", "cglobal", "fpext", "fpiseq", "fptosi", "fptoui", "fptrunc", "have_fma", "llvmcall", "pointerref",
    "pointerset", "sitofp", "uitofp", "atomic_fence", "atomic_pointerref", "atomic_pointerset", "atomic_pointerswap",
    "atomic_pointermodify", "atomic_pointerreplace",
];

/// Julia's builtin functions.
#[rustfmt::skip]
const BUILTINS: &[&str] = &[
    "<:", "===", "_abstracttype", "_apply_iterate", "_call_in_world_total", "_compute_sparams", "_defaultctors", "_equiv_typedef",
    "_expr", "_primitivetype", "_setsuper!", "_structtype", "_svec_ref", "_typebody!", "_typevar", "applicable", "apply_type",
    "arrayref", "arrayset", "arraysize", "compilerbarrier", "const_arrayref", "current_scope", "donotdelete", "fieldtype",
    "finalizer", "get_binding_type", "getfield", "getglobal", "ifelse", "invoke", "invoke_in_world", "invokelatest", "isa",
    "isdefined", "isdefinedglobal", "memorynew", "memoryref_isassigned", "memoryrefget", "memoryrefmodify!", "memoryrefnew",
    "memoryrefoffset", "memoryrefreplace!", "memoryrefset!", "memoryrefsetonce!", "memoryrefswap!", "modifyfield!",
    "modifyglobal!", "nfields", "opaque_closure_call", "replacefield!", "replaceglobal!", "set_binding_type!", "setfield!",
    "setfieldonce!", "setglobal!", "setglobalonce!", "sizeof", "svec", "swapfield!", "swapglobal!", "throw", "throw_methoderror",
    "tuple", "typeassert", "typeof",
];

/// Builtin functions that Julia had before 1.12.
const FORMER_BUILTINS: &[&str] =
    &["_apply", "_apply_latest", "_apply_pure", "_call_in_world", "_call_latest", "kwfunc", "select_value"];

/// Whether a function that Julia itself has is called so, in whichever version.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name) || FORMER_BUILTINS.contains(&name) || is_intrinsic(name)
}

fn is_intrinsic(name: &str) -> bool {
    INTRINSICS.contains(&name) || INTRINSIC_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The label of a call, padded as Julia pads it.
pub(super) fn label<N: Names>(callee: &Operand<N>) -> &'static str {
    let name = match callee {
        Operand::Global(global) => &global.name,
        Operand::Constant(Constant::Function(path)) => path,
        _ => return "  dynamic ",
    };
    let last = name.rsplit('.').next().filter(|last| !last.is_empty()).unwrap_or(name);
    match last {
        _ if BUILTINS.contains(&last) => "  builtin ",
        _ if is_intrinsic(last) => "intrinsic ",
        _ => "  dynamic ",
    }
}
