//! The heads of expressions other than calls.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::Name;

/// The head of an expression that is neither a call nor an invoke: `$(Expr(:boundscheck, true))` has the head
/// `boundscheck`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "each variant is the Julia head of that name, see HEADS for what they are")]
pub enum Head {
    New,
    SplatNew,
    Foreigncall,
    InvokeModify,
    StaticParameter,
    Boundscheck,
    TheException,
    Leave,
    PopException,
    IsDefined,
    ThrowUndefIfNot,
    CopyAst,
    Cfunction,
    NewOpaqueClosure,
    GcPreserveBegin,
    GcPreserveEnd,
    Meta,
    LoopInfo,
    CodeCoverageEffect,
    AliasScope,
    PopAliasScope,
    Inbounds,
    Inline,
    NoInline,
    Purity,
    Ampersand,
    Assign,
    Method,
    Const,
    GlobalDecl,
    LatestWorld,
    /// A head that Julia's compiler does not know in typed code.
    Other(Name),
}

/// What is fixed about a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeadProperties {
    /// The head's name in Julia.
    pub name: &'static str,
    /// The smallest number of operands.
    pub min_operands: usize,
    /// The largest number of operands, if there is one.
    pub max_operands: Option<usize>,
    /// Whether SSA values among the operands are uses. Julia's passes rename uses only; in the other heads `%3` is a
    /// number without meaning. This is the compiler's `is_relevant_expr`.
    pub operands_are_uses: bool,
}

const fn head(
    name: &'static str,
    min_operands: usize,
    max_operands: Option<usize>,
    operands_are_uses: bool,
) -> HeadProperties {
    HeadProperties { name, min_operands, max_operands, operands_are_uses }
}

/// The table of heads. Numbers of operands are those of Julia's `validation.jl`.
#[rustfmt::skip]
pub const HEADS: &[(Head, HeadProperties)] = &[
    (Head::New,                head("new",                  1, None,    true)),
    (Head::SplatNew,           head("splatnew",             2, Some(2), true)),
    (Head::Foreigncall,        head("foreigncall",          5, None,    true)),
    (Head::InvokeModify,       head("invoke_modify",        3, None,    true)),
    (Head::StaticParameter,    head("static_parameter",     1, Some(1), false)),
    (Head::Boundscheck,        head("boundscheck",          0, Some(1), false)),
    (Head::TheException,       head("the_exception",        0, Some(0), false)),
    (Head::Leave,              head("leave",                1, None,    true)),
    (Head::PopException,       head("pop_exception",        1, Some(1), true)),
    (Head::IsDefined,          head("isdefined",            1, Some(2), true)),
    (Head::ThrowUndefIfNot,    head("throw_undef_if_not",   2, Some(3), true)),
    (Head::CopyAst,            head("copyast",              1, Some(1), true)),
    (Head::Cfunction,          head("cfunction",            5, Some(5), true)),
    (Head::NewOpaqueClosure,   head("new_opaque_closure",   4, None,    true)),
    (Head::GcPreserveBegin,    head("gc_preserve_begin",    0, None,    true)),
    (Head::GcPreserveEnd,      head("gc_preserve_end",      0, None,    true)),
    (Head::Meta,               head("meta",                 0, None,    false)),
    (Head::LoopInfo,           head("loopinfo",             0, None,    false)),
    (Head::CodeCoverageEffect, head("code_coverage_effect", 0, Some(0), false)),
    (Head::AliasScope,         head("aliasscope",           0, None,    false)),
    (Head::PopAliasScope,      head("popaliasscope",        0, None,    false)),
    (Head::Inbounds,           head("inbounds",             1, Some(1), false)),
    (Head::Inline,             head("inline",               1, Some(1), false)),
    (Head::NoInline,           head("noinline",             1, Some(1), false)),
    (Head::Purity,             head("purity",               0, None,    false)),
    (Head::Ampersand,          head("&",                    1, Some(1), true)),
    (Head::Assign,             head("=",                    2, Some(2), true)),
    (Head::Method,             head("method",               1, None,    true)),
    (Head::Const,              head("const",                1, Some(2), true)),
    (Head::GlobalDecl,         head("globaldecl",           1, Some(2), true)),
    (Head::LatestWorld,        head("latestworld",          0, Some(0), false)),
];

impl Head {
    /// Whether only the compiler looks at such an expression: it does nothing when the program runs, and its value is
    /// `nothing`.
    pub fn is_for_compiler(&self) -> bool {
        matches!(
            self,
            Head::GcPreserveBegin
                | Head::GcPreserveEnd
                | Head::Meta
                | Head::LoopInfo
                | Head::CodeCoverageEffect
                | Head::AliasScope
                | Head::PopAliasScope
                | Head::Inbounds
                | Head::Inline
                | Head::NoInline
                | Head::Purity
                | Head::LatestWorld
        )
    }

    /// The head of this name.
    pub fn from_name(name: &str) -> Head {
        match HEADS.iter().find(|(_, properties)| properties.name == name) {
            Some((head, _)) => head.clone(),
            None => Head::Other(name.into()),
        }
    }

    /// The head's name in Julia.
    pub fn name(&self) -> &str {
        match (self, self.properties()) {
            (Head::Other(name), _) => name,
            (_, Some(properties)) => properties.name,
            (_, None) => "",
        }
    }

    /// What is fixed about the head; `None` for an unknown one.
    pub fn properties(&self) -> Option<&'static HeadProperties> {
        HEADS.iter().find(|(head, _)| head == self).map(|(_, properties)| properties)
    }

    /// Whether SSA values among the operands are uses.
    pub fn operands_are_uses(&self) -> bool {
        self.properties().is_some_and(|properties| properties.operands_are_uses)
    }
}

impl Serialize for Head {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Head::from_name(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_names_are_unique() {
        for (i, (head, properties)) in HEADS.iter().enumerate() {
            assert_eq!(Head::from_name(properties.name), *head);
            assert_eq!(head.name(), properties.name);
            assert!(HEADS[..i].iter().all(|(_, other)| other.name != properties.name));
        }
        assert_eq!(Head::from_name("nonsense").name(), "nonsense");
        assert!(!Head::from_name("nonsense").operands_are_uses());
    }

    #[test]
    fn uses_are_those_of_julias_is_relevant_expr() {
        // From the compiler's `is_relevant_expr`; call, invoke are statements of their own here.
        let relevant = [
            "invoke_modify",
            "new",
            "splatnew",
            "=",
            "&",
            "gc_preserve_begin",
            "gc_preserve_end",
            "foreigncall",
            "isdefined",
            "copyast",
            "throw_undef_if_not",
            "cfunction",
            "method",
            "pop_exception",
            "leave",
            "const",
            "globaldecl",
            "new_opaque_closure",
        ];
        for (_, properties) in HEADS {
            assert_eq!(properties.operands_are_uses, relevant.contains(&properties.name), "{}", properties.name);
        }
    }
}
