//! Random IRCode of every statement kind, most of it valid: what conversion, text and JSON must carry, and what nothing
//! may panic on.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use ircode::{
    BlockNumber, CallInfo, Constant, DebugInfo, EnterNode, Function, GlobalRef, Head, IRCode, Instruction,
    InstructionStream, InvokeNode, JuliaVersion, LineInfo, LineInfoNode, MethodInstance, Name, NewInstruction, Operand,
    Operands, PhiCNode, PhiEntry, Positions, SSAValue, Scalar, ScalarType, Stmt, Type, UpsilonNode,
};

/// Heads and a number of operands that they may have.
const EXPRESSIONS: &[(Head, usize)] = &[
    (Head::New, 2),
    (Head::SplatNew, 2),
    (Head::Boundscheck, 1),
    (Head::TheException, 0),
    (Head::IsDefined, 1),
    (Head::ThrowUndefIfNot, 2),
    (Head::CopyAst, 1),
    (Head::GcPreserveBegin, 2),
    (Head::GcPreserveEnd, 1),
    (Head::Meta, 1),
    (Head::LoopInfo, 0),
    (Head::CodeCoverageEffect, 0),
    (Head::AliasScope, 0),
    (Head::PopAliasScope, 0),
    (Head::Inbounds, 1),
    (Head::StaticParameter, 1),
];

/// A random function. What it computes has no meaning.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn anything(u: &mut Unstructured<'_>) -> Result<Function<IRCode>> {
    let mut argtypes = vec![Type::function("f")];
    for _ in 0..u.int_in_range(0..=3)? {
        argtypes.push(random_type(u)?);
    }
    let count = u.int_in_range(1..=7u32)?;
    let terminators: Vec<Option<Stmt<Positions>>> =
        (1..=count).map(|block| terminator(u, block, count, argtypes.len())).collect::<Result<_>>()?;
    let mut preds: Vec<Vec<BlockNumber>> = vec![Vec::new(); count as usize];
    for (block, terminator) in (1..).zip(&terminators) {
        let mut succs: Vec<BlockNumber> = Vec::new();
        if let Some(stmt) = terminator {
            stmt.for_each_target(|target| succs.push(target));
        }
        if terminator.as_ref().is_none_or(Stmt::falls_through) {
            succs.push(BlockNumber(block + 1));
        }
        for succ in succs {
            if let Some(preds) = succ.index().and_then(|index| preds.get_mut(index)) {
                preds.push(BlockNumber(block));
            }
        }
    }
    let mut maker = Maker { arguments: argtypes.len(), entry: Vec::new(), here: Vec::new() };
    let mut stmts = InstructionStream::default();
    let mut ranges = Vec::new();
    for (number, terminator) in terminators.into_iter().enumerate() {
        let start = stmts.len();
        maker.here.clear();
        for _ in 0..u.int_in_range(0..=2)? {
            let phi = maker.phi(u, &preds[number])?;
            maker.push(u, &mut stmts, number, phi)?;
        }
        for _ in 0..u.int_in_range(0..=4)? {
            let stmt = maker.statement(u)?;
            maker.push(u, &mut stmts, number, stmt)?;
        }
        match terminator {
            Some(stmt) => maker.push(u, &mut stmts, number, stmt)?,
            None if stmts.len() == start => maker.push(u, &mut stmts, number, Stmt::nothing())?,
            None => {}
        }
        ranges.push(start..stmts.len());
    }
    let mut body = IRCode::from_blocks(stmts, &ranges);
    body.argtypes = argtypes;
    if u.ratio(1, 4)? {
        body.sptypes.push(random_type(u)?);
        body.meta.push(Stmt::expr(Head::Meta, [Operand::Constant(Constant::Symbol("inline".into()))]));
    }
    body.debuginfo = debuginfo(u)?.into();
    if u.ratio(1, 4)? {
        // Newest first, as old versions keep fewer conditions.
        let minor = 12 - u.choose_index(3)? as u16;
        body.julia = Some(JuliaVersion::new(1, minor));
    }
    // Sometimes something that nobody would write.
    if u.ratio(1, 5)? {
        let at = SSAValue::from_index(u.choose_index(body.stmts.len().max(1))?);
        let stmt = maker.statement(u)?;
        // Where it cannot be inserted, there is nothing pending.
        let _ = body.insert_node(at, NewInstruction::new(stmt, random_type(u)?), u.ratio(1, 2)?);
    }
    let named = body.argtypes.len() > 2 && u.ratio(1, 2)?;
    let name = |index: usize| index.is_multiple_of(2).then(|| format!("p{index}").into());
    let parameters = if named { (1..body.argtypes.len()).map(name).collect() } else { Vec::new() };
    Ok(Function { name: "f".into(), parameters, varargs: u.arbitrary()?, result: random_type(u)?, body })
}

fn terminator(u: &mut Unstructured<'_>, block: u32, count: u32, arguments: usize) -> Result<Option<Stmt<Positions>>> {
    let target = |u: &mut Unstructured<'_>| -> Result<BlockNumber> {
        // Julia's verifier wants no edges to the entry from within.
        Ok(BlockNumber(u.int_in_range(2.min(count)..=count)?))
    };
    let operand = |u: &mut Unstructured<'_>| -> Result<Operand<Positions>> {
        Ok(match u.ratio(1, 2)? && arguments > 1 {
            true => Operand::argument(u32::try_from(u.int_in_range(2..=arguments)?).unwrap_or(2)),
            false => Operand::Constant(constant(u, 0)?),
        })
    };
    let last = block == count;
    Ok(match u.int_in_range(0..=if last { 3 } else { 9 })? {
        0 if count > 1 => Some(Stmt::goto(target(u)?)),
        1 => Some(Stmt::unreachable()),
        2 | 3 | 0 => Some(Stmt::ret(operand(u)?)),
        4..=6 => Some(Stmt::goto_if_not(operand(u)?, target(u)?)),
        7 => Some(Stmt::Enter(Box::new(EnterNode {
            catch_dest: Some(BlockNumber(u.int_in_range(block + 1..=count)?)),
            scope: if u.ratio(1, 4)? { Some(operand(u)?) } else { None },
        }))),
        _ => None,
    })
}

struct Maker {
    arguments: usize,
    /// The values of the entry, which dominates everything.
    entry: Vec<SSAValue>,
    /// The values of the block at hand.
    here: Vec<SSAValue>,
}

impl Maker {
    fn push(
        &mut self,
        u: &mut Unstructured<'_>,
        stmts: &mut InstructionStream,
        block: usize,
        stmt: Stmt<Positions>,
    ) -> Result<()> {
        let ty = match &stmt {
            Stmt::Goto(_) | Stmt::GotoIfNot(_) | Stmt::Return(_) | Stmt::Enter(_) => Type::Any,
            _ => statement_type(u)?,
        };
        let info = if u.ratio(1, 10)? { Some("MethodMatchInfo(…)".into()) } else { None };
        let line = LineInfo::from([u.int_in_range(0..=9)?, u.int_in_range(0..=1)?, u.int_in_range(0..=3)?]);
        let flag = u32::from(u.int_in_range(0..=3u8)?);
        let value = SSAValue::from_index(stmts.len());
        let is_value = !stmt.is_terminator();
        stmts.push(Instruction { stmt, ty, info: CallInfo(info), line, flag });
        if is_value {
            self.here.push(value);
            if block == 0 {
                self.entry.push(value);
            }
        }
        Ok(())
    }

    fn phi(&mut self, u: &mut Unstructured<'_>, preds: &[BlockNumber]) -> Result<Stmt<Positions>> {
        let mut entries: Vec<PhiEntry<Positions>> = Vec::new();
        for &edge in preds {
            if entries.iter().any(|entry| entry.edge == edge) || u.ratio(1, 10)? {
                continue;
            }
            let value = match u.ratio(1, 8)? {
                true => None,
                false => Some(self.outside_operand(u)?),
            };
            entries.push(PhiEntry { edge, value });
        }
        Ok(Stmt::phi(entries.into_iter().map(|entry| (entry.edge, entry.value))))
    }

    /// An operand that is there on every edge.
    fn outside_operand(&self, u: &mut Unstructured<'_>) -> Result<Operand<Positions>> {
        Ok(match u.int_in_range(0..=2)? {
            0 if !self.entry.is_empty() => Operand::Value(*u.choose(&self.entry)?),
            1 => Operand::argument(u32::try_from(u.int_in_range(1..=self.arguments)?).unwrap_or(1)),
            _ => Operand::Constant(constant(u, 0)?),
        })
    }

    fn operand(&self, u: &mut Unstructured<'_>) -> Result<Operand<Positions>> {
        Ok(match u.int_in_range(0..=5)? {
            0 | 1 if !self.here.is_empty() => Operand::Value(*u.choose(&self.here)?),
            2 => Operand::Global(Arc::new(GlobalRef::new(*u.choose(&["Main", "Base", "Base.Math"])?, name(u)?))),
            3 => Operand::Quote(Arc::new(constant(u, 0)?)),
            4 if u.ratio(1, 6)? => {
                let inner = Stmt::expr(Head::StaticParameter, [Operand::Constant(Constant::int64(1))]);
                Operand::Nested(Box::new(inner))
            }
            _ => self.outside_operand(u)?,
        })
    }

    fn operands(&self, u: &mut Unstructured<'_>, count: usize) -> Result<Vec<Operand<Positions>>> {
        (0..count).map(|_| self.operand(u)).collect()
    }

    fn statement(&self, u: &mut Unstructured<'_>) -> Result<Stmt<Positions>> {
        Ok(match u.int_in_range(0..=9)? {
            0 => Stmt::Value(self.operand(u)?),
            1 => Stmt::pi(self.outside_operand(u)?, random_type(u)?),
            2 => {
                Stmt::Upsilon(UpsilonNode { value: if u.ratio(1, 4)? { None } else { Some(self.outside_operand(u)?) } })
            }
            3 => Stmt::PhiC(PhiCNode { values: Operands::new() }),
            4 | 5 => {
                let callee = *u.choose(&["add_float", "sin", "+", "===", "getfield", "tuple", "no_such", "≤", "!="])?;
                let count = u.int_in_range(0..=3)?;
                Stmt::call(Operand::global(u.choose(&["Base", "Core", "Main", ""])?, callee), self.operands(u, count)?)
            }
            6 => {
                let args = u.int_in_range(0..=2)?;
                let argtypes = (0..args).map(|_| random_type(u)).collect::<Result<_>>()?;
                let code_instance = u.ratio(1, 3)?;
                Stmt::Invoke(Box::new(InvokeNode {
                    instance: Arc::new(MethodInstance { argtypes, name: None, code_instance }),
                    callee: Operand::global("Main", &name(u)?),
                    args: self.operands(u, args)?.into(),
                }))
            }
            7 => {
                let args = [
                    Operand::Quote(Arc::new(Constant::Symbol("jl_f".into()))),
                    Operand::Constant(Constant::of_type(random_type(u)?)),
                    Operand::Constant(Constant::SimpleVector(Arc::new(vec![Constant::of_type(Type::Any)]))),
                    Operand::Constant(Constant::int64(0)),
                    Operand::Quote(Arc::new(Constant::Symbol("ccall".into()))),
                    self.operand(u)?,
                ];
                Stmt::expr(Head::Foreigncall, args)
            }
            _ => {
                let (head, count) = u.choose(EXPRESSIONS)?.clone();
                let mut args = match head.operands_are_uses() {
                    true => self.operands(u, count)?,
                    false => (0..count).map(|_| Ok(Operand::Constant(constant(u, 0)?))).collect::<Result<_>>()?,
                };
                if head == Head::StaticParameter {
                    args = vec![Operand::Constant(Constant::int64(1))];
                }
                Stmt::expr(head, args)
            }
        })
    }
}

fn name(u: &mut Unstructured<'_>) -> Result<Name> {
    Ok((*u.choose(&["f", "x", "g!", "var\"odd name\"", "+", "#1#2", "αβ", "==", "a b", "\"", "end"])?).into())
}

/// A type, or that there is none.
fn statement_type(u: &mut Unstructured<'_>) -> Result<Type> {
    if u.ratio(1, 12)? { Ok(Type::Untyped) } else { random_type(u) }
}

fn random_type(u: &mut Unstructured<'_>) -> Result<Type> {
    const TYPES: &[&str] = &[
        "Any",
        "Union{}",
        "Nothing",
        "Float64",
        "Float32",
        "Float16",
        "Int64",
        "Int32",
        "UInt8",
        "Bool",
        "Char",
        "String",
        "Symbol",
        "Tuple{Int64, Float64}",
        "Tuple{}",
        "@NamedTuple{a::Int64}",
        "Union{Nothing, Float64}",
        "Vector{Float64}",
        "Array{Float32, 3}",
        "Base.RefValue{Int64}",
        "Memory{Float64}",
        "MemoryRef{Float64}",
        "typeof(sin)",
        "Type{Float64}",
        "Dict{Symbol, Any}",
        "Core.Const(1.5)",
        "Vararg{Int64}",
    ];
    Ok(Type::parse(u.choose(TYPES)?))
}

fn constant(u: &mut Unstructured<'_>, depth: usize) -> Result<Constant> {
    const TYPES: &[ScalarType] = &[
        ScalarType::Float64,
        ScalarType::Float32,
        ScalarType::Float16,
        ScalarType::Int64,
        ScalarType::Int32,
        ScalarType::Int128,
        ScalarType::UInt8,
        ScalarType::UInt64,
        ScalarType::UInt128,
        ScalarType::Bool,
    ];
    Ok(match u.int_in_range(0..=9)? {
        0 => Constant::Nothing,
        1..=4 => {
            let ty = *u.choose(TYPES)?;
            let bits: u128 = u.arbitrary()?;
            let mask = if ty.bits() == 128 { u128::MAX } else { (1 << ty.bits()) - 1 };
            Constant::Scalar(Scalar::from_bits(ty, bits & if ty == ScalarType::Bool { 1 } else { mask }))
        }
        5 => Constant::String((*u.choose(&["", "text", "\"quoted\" \\ $x\n\t", "ünïcode ∂"])?).into()),
        6 => Constant::of_type(random_type(u)?),
        7 => Constant::float64(*u.choose(&[
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e300,
            5e-324,
            0.1,
        ])?),
        8 if depth < 2 => Constant::Tuple(Arc::new(vec![constant(u, depth + 1)?, constant(u, depth + 1)?])),
        _ => Constant::int64(*u.choose(&[0, 1, -1, i64::MAX, i64::MIN, 1 << 53])?),
    })
}

fn debuginfo(u: &mut Unstructured<'_>) -> Result<DebugInfo> {
    let mut info = DebugInfo { def: Some("f".into()), file: Some("file.jl".into()), ..DebugInfo::default() };
    if u.ratio(1, 3)? {
        info.linetable = vec![LineInfoNode {
            method: "f".into(),
            file: "file.jl".into(),
            line: 3,
            inlined_at: u.int_in_range(0..=1)?,
        }];
    }
    Ok(info)
}
