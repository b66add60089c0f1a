//! Making the compact form of a function.

use std::collections::BTreeMap;

use ircode::{IRCode, Scalar, ScalarType, Type};

use super::code::{Compact, Edge, Instruction, Move, Register};
use super::moves::in_sequence;
use crate::prepare::{After, Code, Op, ScalarFunction, Source};
use crate::value::Value;

/// At most this many gotos are followed, one after the other.
const LONGEST_CHAIN: usize = 8;

/// The compact form of code that is otherwise ready. The types that the function claims are hints as to which
/// instructions may pay.
pub(crate) fn translate(code: &Code, ir: &IRCode) -> Compact {
    let statements = code.ops.len();
    let compact = Compact {
        instructions: Vec::with_capacity(statements),
        statements: Vec::with_capacity(statements),
        entries: Vec::with_capacity(statements),
        first: code.statement_register(0) as Register,
        ..Compact::default()
    };
    let mut translator = Translator { code, ir, compact, simple: BTreeMap::new(), others: BTreeMap::new() };
    for statement in 0..statements {
        translator.statement(statement);
    }
    translator.count();
    translator.edges();
    translator.shorten_ways();
    translator.join_conditions();
    let Translator { mut compact, .. } = translator;
    compact.constants.push(Value::Undefined);
    compact
}

struct Translator<'a> {
    code: &'a Code,
    ir: &'a IRCode,
    compact: Compact,
    /// The registers of numbers, by type and bits.
    simple: BTreeMap<(ScalarType, u128), Register>,
    /// The registers of other constants, by their index in the code.
    others: BTreeMap<u32, Register>,
}

impl Translator<'_> {
    fn push(&mut self, statement: usize, instruction: Instruction) {
        self.compact.instructions.push(instruction);
        self.compact.statements.push(statement as u32);
    }

    fn statement(&mut self, statement: usize) {
        self.compact.entries.push(self.compact.instructions.len() as u32);
        let Some(op) = self.code.ops.get(statement) else { return };
        let instruction = self.instruction(statement, op);
        match self.code.after.get(statement) {
            _ if matches!(
                instruction,
                Some(Instruction::General | Instruction::Goto { .. } | Instruction::GotoIfNot { .. })
            ) =>
            {
                self.push(statement, instruction.unwrap_or(Instruction::General));
            }
            Some(After::Next) => {
                if let Some(instruction) = instruction {
                    self.push(statement, instruction);
                }
            }
            Some(After::Edge(edge)) if self.leads_somewhere(*edge) => {
                if let Some(instruction) = instruction {
                    self.push(statement, instruction);
                }
                if !self.goes_straight_on(statement, *edge) {
                    self.push(statement, Instruction::Fall { edge: *edge });
                }
            }
            _ => self.push(statement, Instruction::General),
        }
    }

    fn leads_somewhere(&self, edge: u32) -> bool {
        self.code.edges.get(edge as usize).is_some_and(|edge| edge.statement.is_some())
    }

    /// Whether nothing happens on the edge, and it leads to the next statement.
    fn goes_straight_on(&self, statement: usize, edge: u32) -> bool {
        let edge = self.code.edges.get(edge as usize);
        edge.is_some_and(|edge| edge.moves.is_empty() && edge.statement == Some(statement as u32 + 1))
    }

    /// What a statement becomes; `None` for one that does nothing.
    fn instruction(&mut self, statement: usize, op: &Op) -> Option<Instruction> {
        let to = self.code.statement_register(statement) as Register;
        Some(match op {
            Op::Nothing => return None,
            Op::Copy(from) => Instruction::Copy { from: self.register(*from), to },
            Op::Goto(edge) if self.leads_somewhere(*edge) => Instruction::Goto { edge: *edge },
            Op::GotoIfNot { cond, dest, next } if self.leads_somewhere(*dest) && self.leads_somewhere(*next) => {
                Instruction::GotoIfNot { cond: self.register(*cond), dest: *dest, next: *next }
            }
            Op::Scalars { primitive, f, args } => {
                let special = match self.common_type(args) {
                    Some(ScalarType::Float64) => self.on_floats(primitive.name, args, to),
                    Some(ScalarType::Int64) => self.on_integers(primitive.name, args, to),
                    Some(ScalarType::Bool) => self.on_bools(primitive.name, args, to),
                    _ => None,
                };
                match special {
                    Some(special) => special,
                    None => self.scalars(*f, args, to),
                }
            }
            Op::Convert { primitive, args: [ty, from], .. } if primitive.name == "sitofp" && self.is_float64(*ty) => {
                Instruction::FloatOfInt { from: self.register(*from), to }
            }
            Op::Builtin { primitive, args, .. } => self.builtin(primitive.name, args, to),
            Op::NewTuple { args } => self.tuple(args, to),
            _ => Instruction::General,
        })
    }

    fn on_floats(&mut self, name: &str, args: &[Source], to: Register) -> Option<Instruction> {
        let registers = self.registers(args);
        Some(match (name, registers.as_slice()) {
            ("add_float" | "add_float_fast" | "+", &[a, b]) => Instruction::AddFloat { a, b, to },
            ("sub_float" | "sub_float_fast" | "-", &[a, b]) => Instruction::SubFloat { a, b, to },
            ("mul_float" | "mul_float_fast" | "*", &[a, b]) => Instruction::MulFloat { a, b, to },
            ("div_float" | "div_float_fast" | "/", &[a, b]) => Instruction::DivFloat { a, b, to },
            ("neg_float" | "neg_float_fast" | "-", &[a]) => Instruction::NegFloat { a, to },
            ("lt_float" | "lt_float_fast" | "<", &[a, b]) | (">", &[b, a]) => Instruction::LtFloat { a, b, to },
            ("le_float" | "le_float_fast" | "<=", &[a, b]) | (">=", &[b, a]) => Instruction::LeFloat { a, b, to },
            ("eq_float" | "eq_float_fast" | "==", &[a, b]) => Instruction::EqFloat { a, b, to },
            ("ne_float" | "ne_float_fast" | "!=", &[a, b]) => Instruction::NeFloat { a, b, to },
            _ => return None,
        })
    }

    fn on_integers(&mut self, name: &str, args: &[Source], to: Register) -> Option<Instruction> {
        let registers = self.registers(args);
        Some(match (name, registers.as_slice()) {
            ("add_int" | "+", &[a, b]) => Instruction::AddInt { a, b, to },
            ("sub_int" | "-", &[a, b]) => Instruction::SubInt { a, b, to },
            ("mul_int" | "*", &[a, b]) => Instruction::MulInt { a, b, to },
            ("slt_int" | "<", &[a, b]) | (">", &[b, a]) => Instruction::LtInt { a, b, to },
            ("sle_int" | "<=", &[a, b]) | (">=", &[b, a]) => Instruction::LeInt { a, b, to },
            ("eq_int" | "==", &[a, b]) => Instruction::EqInt { a, b, to },
            ("ne_int" | "!=", &[a, b]) => Instruction::NeInt { a, b, to },
            _ => return None,
        })
    }

    fn on_bools(&mut self, name: &str, args: &[Source], to: Register) -> Option<Instruction> {
        match (name, args) {
            ("not_int" | "!", &[a]) => Some(Instruction::Not { a: self.register(a), to }),
            _ => None,
        }
    }

    fn scalars(&mut self, f: ScalarFunction, args: &[Source], to: Register) -> Instruction {
        let registers = self.registers(args);
        let function = self.compact.functions.len() as u32;
        let instruction = match *registers.as_slice() {
            [a] => Instruction::Scalar { function, a, to },
            [a, b] => Instruction::Scalars { function, a, b },
            [_, _, _] => Instruction::Scalars3 { function, operands: self.operands(&registers) },
            _ => return Instruction::General,
        };
        self.compact.functions.push(f);
        instruction
    }

    fn builtin(&mut self, name: &str, args: &[Source], to: Register) -> Instruction {
        // Whether bounds are to be checked makes no difference, but the operand must be defined.
        let args = match (name, args) {
            ("arrayref" | "const_arrayref" | "arrayset", [Source::Constant(_), args @ ..]) => args,
            ("arrayref" | "const_arrayref" | "arrayset", _) => return Instruction::General,
            ("getfield", [object, field, Source::Constant(_)]) => &[*object, *field],
            _ => args,
        };
        let registers = self.registers(args);
        match (name, registers.as_slice()) {
            ("===", &[a, b]) => Instruction::Same { a, b, to },
            ("!==", &[a, b]) => Instruction::NotSame { a, b, to },
            ("ifelse", &[cond, a, b]) => Instruction::Select { cond, a, b },
            ("arrayref" | "const_arrayref" | "getindex", &[array, index]) => Instruction::ArrayRef { array, index, to },
            ("arrayref" | "const_arrayref" | "getindex", &[array, row, column]) => {
                Instruction::ArrayRef2 { array, row, column }
            }
            ("arrayset" | "setindex!", &[array, value, index]) => Instruction::ArraySet { array, value, index },
            ("arrayset" | "setindex!", [_, _, _, _]) => Instruction::ArraySet2 { operands: self.operands(&registers) },
            ("arraylen" | "length", &[array]) => Instruction::ArrayLength { array, to },
            ("arraysize" | "size", &[array, dimension]) => Instruction::ArraySize { array, dimension, to },
            ("getfield" | "getproperty", &[object, field]) => Instruction::Field { object, field, to },
            ("tuple", _) => self.tuple(args, to),
            ("stack_push!", &[stack, value]) => Instruction::StackPush { stack, value, to },
            ("stack_get", &[stack, index]) => Instruction::StackGet { stack, index, to },
            ("stack_pop!", &[stack]) => Instruction::StackPop { stack, to },
            ("stack_length", &[stack]) => Instruction::StackLength { stack, to },
            _ => Instruction::General,
        }
    }

    fn tuple(&mut self, args: &[Source], to: Register) -> Instruction {
        let registers = self.registers(args);
        Instruction::Tuple { operands: self.operands(&registers), count: registers.len() as u32, to }
    }

    fn operands(&mut self, registers: &[Register]) -> u32 {
        let start = self.compact.operands.len() as u32;
        self.compact.operands.extend_from_slice(registers);
        start
    }

    fn registers(&mut self, sources: &[Source]) -> Vec<Register> {
        sources.iter().map(|&source| self.register(source)).collect()
    }

    /// The register of an operand. Equal numbers share one.
    fn register(&mut self, source: Source) -> Register {
        let index = match source {
            Source::Register(register) => return register,
            Source::Constant(index) => index,
        };
        let value = self.code.constants.get(index as usize).cloned().unwrap_or(Value::Undefined);
        let next = (self.code.registers + self.compact.constants.len()) as Register;
        let register = match &value {
            Value::Scalar(scalar) => *self.simple.entry((scalar.scalar_type(), scalar.to_bits())).or_insert(next),
            _ => *self.others.entry(index).or_insert(next),
        };
        if register == next {
            self.compact.constants.push(value);
        }
        register
    }

    /// The type that all of these operands claim to have.
    fn common_type(&self, sources: &[Source]) -> Option<ScalarType> {
        let (first, rest) = sources.split_first()?;
        let ty = self.claimed_type(*first)?;
        rest.iter().all(|&source| self.claimed_type(source) == Some(ty)).then_some(ty)
    }

    fn claimed_type(&self, source: Source) -> Option<ScalarType> {
        let ty = match source {
            Source::Constant(index) => {
                return self.code.constants.get(index as usize)?.as_scalar().map(|scalar| scalar.scalar_type());
            }
            Source::Register(register) => match (register as usize).checked_sub(self.code.statement_register(0)) {
                Some(statement) => self.ir.stmts.types().get(statement)?,
                None => self.ir.argtypes.get(register as usize)?,
            },
        };
        ty.as_scalar().or_else(|| ty.widened()?.as_scalar())
    }

    fn is_float64(&self, source: Source) -> bool {
        match source {
            Source::Constant(index) => {
                matches!(self.code.constants.get(index as usize), Some(Value::Type(ty)) if **ty == Type::FLOAT64)
            }
            Source::Register(_) => false,
        }
    }

    /// How many statements there are from each to the end of its segment.
    fn count(&mut self) {
        let count = self.code.ops.len();
        let mut ends = vec![false; count];
        for (instruction, &statement) in self.compact.instructions.iter().zip(&self.compact.statements) {
            if let Some(ends) = ends.get_mut(statement as usize) {
                *ends |= matches!(
                    instruction,
                    Instruction::General
                        | Instruction::Goto { .. }
                        | Instruction::GotoIfNot { .. }
                        | Instruction::Fall { .. }
                );
            }
        }
        let mut costs = vec![0; count];
        let mut cost = 0;
        for (place, ends) in costs.iter_mut().zip(ends).rev() {
            cost = if ends { 1 } else { cost + 1 };
            *place = cost;
        }
        self.compact.costs = costs;
    }

    /// The edges, by the same numbers as in the code.
    fn edges(&mut self) {
        let code = self.code;
        let undefined = (code.registers + self.compact.constants.len()) as Register;
        self.compact.constants.push(Value::Undefined);
        let mut all = Vec::with_capacity(code.edges.len());
        for edge in &code.edges {
            let moves = edge.moves.iter().map(|&(to, from)| (from.map_or(undefined, |from| self.register(from)), to));
            let moves: Vec<(Register, Register)> = moves.collect();
            all.push(moves);
        }
        self.compact.spare = (code.registers + self.compact.constants.len()) as Register;
        for (edge, moves) in code.edges.iter().zip(all) {
            let start = self.compact.moves.len() as u32;
            self.compact.moves.extend(in_sequence(&moves, self.compact.spare, undefined));
            let statement = edge.statement.unwrap_or(0);
            self.compact.edges.push(Edge {
                moves: start,
                moves_end: self.compact.moves.len() as u32,
                target: self.compact.entries.get(statement as usize).copied().unwrap_or(0),
                statement,
                cost: self.compact.costs.get(statement as usize).copied().unwrap_or(0),
            });
        }
    }

    /// Lets gotos lead on to where control goes from their target, if that is clear.
    fn shorten_ways(&mut self) {
        let mut shorter = Vec::new();
        for at in 0..self.compact.instructions.len() {
            match self.compact.instructions[at] {
                Instruction::Goto { edge } => shorter.push((at, Instruction::Goto { edge: self.shortened(edge) })),
                Instruction::GotoIfNot { cond, dest, next } => {
                    let (dest, next) = (self.shortened(dest), self.shortened(next));
                    shorter.push((at, Instruction::GotoIfNot { cond, dest, next }));
                }
                _ => {}
            }
        }
        // Only now: what is followed are edges as they were, so that the moves on a way are bounded.
        for (at, instruction) in shorter {
            self.compact.instructions[at] = instruction;
        }
    }

    /// The edge, and what follows it as far as that is known.
    fn shortened(&mut self, edge: u32) -> u32 {
        let mut whole = self.compact.edges[edge as usize];
        let mut moves = self.moves_of(whole).to_vec();
        let mut links = 1;
        while links < LONGEST_CHAIN
            && let Some(next) = self.way_on(&mut moves, whole.target)
        {
            moves.extend_from_slice(self.moves_of(next));
            whole = Edge { cost: whole.cost + next.cost, ..next };
            links += 1;
        }
        if links == 1 {
            return edge;
        }
        whole.moves = self.compact.moves.len() as u32;
        self.compact.moves.extend(moves);
        whole.moves_end = self.compact.moves.len() as u32;
        self.compact.edges.push(whole);
        (self.compact.edges.len() - 1) as u32
    }

    fn moves_of(&self, edge: Edge) -> &[Move] {
        &self.compact.moves[edge.moves as usize..edge.moves_end as usize]
    }

    /// The edge that is taken from an instruction, if that is clear after these moves: it is a goto, or one whose
    /// condition they decide. The negation of a condition becomes a move.
    fn way_on(&self, moves: &mut Vec<Move>, target: u32) -> Option<Edge> {
        let mut decided = moves.clone();
        let known = |moves: &[Move], register: Register| {
            let from = moves.iter().rev().find(|step| step.to == register)?.from as usize;
            match self.compact.constants.get(from.checked_sub(self.code.registers)?)? {
                Value::Scalar(Scalar::Bool(value)) => Some(*value),
                _ => None,
            }
        };
        for instruction in self.compact.instructions.get(target as usize..)? {
            let edge = match *instruction {
                Instruction::Not { a, to } => {
                    let negated = !known(&decided, a)?;
                    let from = *self.simple.get(&(ScalarType::Bool, u128::from(negated)))?;
                    decided.push(Move { from, to });
                    continue;
                }
                Instruction::Goto { edge } => edge,
                Instruction::GotoIfNot { cond, dest, next } => match known(&decided, cond)? {
                    true => next,
                    false => dest,
                },
                _ => return None,
            };
            *moves = decided;
            return self.compact.edges.get(edge as usize).copied();
        }
        None
    }

    /// Lets what computes a condition take the way, too, that the goto behind it takes. It may be computed twice, so it
    /// must not be its own operand, as it may be in code that is not valid.
    fn join_conditions(&mut self) {
        for at in 1..self.compact.instructions.len() {
            let Instruction::GotoIfNot { cond, .. } = self.compact.instructions[at] else { continue };
            let apart = |operands: [Register; 2], to: Register| to == cond && !operands.contains(&to);
            let joined = match self.compact.instructions[at - 1] {
                Instruction::LtFloat { a, b, to } if apart([a, b], to) => Instruction::GotoIfNotLtFloat { a, b, to },
                Instruction::LtInt { a, b, to } if apart([a, b], to) => Instruction::GotoIfNotLtInt { a, b, to },
                Instruction::LeInt { a, b, to } if apart([a, b], to) => Instruction::GotoIfNotLeInt { a, b, to },
                Instruction::Same { a, b, to } if apart([a, b], to) => Instruction::GotoIfNotSame { a, b, to },
                Instruction::Not { a, to } if apart([a, a], to) => Instruction::GotoIf { a, to },
                other => other,
            };
            self.compact.instructions[at - 1] = joined;
        }
    }
}
