#![doc = include_str!("../README.md")]

mod bits_types;
mod call_graph;
mod callee;
pub mod cfg;
mod closures;
mod code;
mod compact;
mod constant;
pub mod diagnostic;
mod differentiability;
mod element_access;
mod element_copies;
mod extensions;
mod fields;
mod globals;
pub mod graph;
mod handlers;
mod head;
mod incomplete_types;
mod instruction;
mod isa;
pub mod json;
mod module;
mod name;
mod names;
mod operand;
mod phi;
pub mod primitives;
mod reached;
mod recursive_types;
mod scalar;
mod stmt;
mod stream;
mod subtypes;
mod tables;
pub mod tangents;
pub mod text;
pub mod three_valued;
mod type_nesting;
mod types;
mod verify;
mod version;
mod view;
pub mod wording;

pub use call_graph::CallGraph;
pub use callee::{Callee, is_same_function, is_undef};
pub use cfg::{BasicBlock, Cfg};
pub use closures::Parameters;
pub use code::{IRCode, InsertError, NewNode};
pub use compact::{CompactError, Compaction, Renumbered};
pub use constant::{Constant, is_identifier};
pub use differentiability::DifferentiabilityWitness;
pub use element_access::ElementAccess;
pub use element_copies::{Replacement, addresses_copied, element_copies, with_element_copies};
pub use extensions::{ExtensionError, Extensions};
pub use fields::{Field, arrays_may_have, field_position};
pub use globals::{GlobalConstant, GlobalConstantError, GlobalPart, GlobalValue};
pub use handlers::{HandlerStyle, left_handlers};
pub use head::{HEADS, Head, HeadProperties};
pub use incomplete_types::exception_fields;
pub use instruction::{CallInfo, DebugInfo, Instruction, LineInfo, LineInfoNode, NewInstruction, Origin};
pub use json::{JsonError, from_json, to_json};
pub use module::{DefinedTwice, Function, Module, TypeDef, TypeKind, method_of};
pub use name::{Name, unqualified, without_main};
pub use names::{BlockNumber, Names, NoSwitch, NumberedNames, Positions, SSAValue, SwitchNode, write_name};
pub use operand::{Argument, GlobalRef, Operand, Operands};
pub use phi::UnnamedPhiEdge;
pub use scalar::{Scalar, ScalarType};
pub use stmt::{
    CallNode, EnterNode, ExprNode, GotoIfNot, GotoNode, InvokeNode, MethodInstance, PhiCNode, PhiEntries, PhiEntry,
    PhiNode, PiNode, Rename, ReturnNode, Stmt, UpsilonNode,
};
pub use stream::InstructionStream;
pub use subtypes::{is_below, is_nearer, is_one_name, is_parameter_below, open_tuple};
pub use tables::{Class, Declaration, DerivativeKey, DerivativeKind, Entries, Entry, Protocol, Requirement, Witness};
pub use text::{
    Style, TextError, parse_function, parse_module, parse_module_with_parameters, print_body, print_function,
    print_module,
};
pub use type_nesting::TypeNesting;
pub use types::{ArrayType, ClosureType, Type};
pub use verify::{
    Check, TableCheck, TableViolation, TableViolations, Violation, Violations, verify, verify_tables,
    verify_with_globals,
};
pub use version::{JuliaVersion, NoVersion};
pub use view::{BlockNames, BlockView, Body, PendingView, StatementView, View};
// Of which lists of operands and numbers of 16 bits are in the public interface.
pub use {half, smallvec};
