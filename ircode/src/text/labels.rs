//! The word that Julia 1.12 prints before a call: what kind of function it calls.

use crate::constant::Constant;
use crate::name::unqualified;
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

/// Whether a function that Julia itself has is called so, in whichever version. What only ends as names of intrinsics
/// do may be anything.
pub(super) fn is_builtin(name: &str) -> bool {
    [BUILTINS, FORMER_BUILTINS, INTRINSICS].iter().any(|names| names.contains(&name))
}

/// The label of a call, padded as Julia pads it.
pub(super) fn label<N: Names>(callee: &Operand<N>) -> &'static str {
    let name = match callee {
        Operand::Global(global) => &global.name,
        Operand::Constant(Constant::Function(path)) => path,
        _ => return "  dynamic ",
    };
    let last = unqualified(name);
    let intrinsic = INTRINSICS.contains(&last) || INTRINSIC_ENDINGS.iter().any(|ending| last.ends_with(ending));
    match last {
        _ if BUILTINS.contains(&last) => "  builtin ",
        _ if intrinsic => "intrinsic ",
        _ => "  dynamic ",
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_function;

    #[test]
    fn builtins_in_parentheses_are_no_arguments() {
        let code = "1 ─ %1 = (pointerref)(x, 1, 1)::Float64\n│   %2 = (count_int)(%1)::Float64\n└──      return %2\n";
        let body = parse_function(code).unwrap().body.to_string();
        assert!(body.contains("(pointerref)(_2, 1, 1)"), "{body}");
        assert!(body.contains("(_3)(%1)"), "{body}");
    }
}
