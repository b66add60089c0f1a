//! Which arguments a function does nothing to but read them: such arrays can be lent to native code where they lie.

use hashbrown::HashMap;
use ircode::{Argument, Callee, IRCode, Module, Operand, Positions, Stmt};
use smallvec::SmallVec;

/// Primitives that read the array among their operands, and do not keep it.
const READERS: &[&str] = &["arrayref", "const_arrayref", "arraylen", "arraysize", "length", "size", "getindex"];

/// Arguments are counted up to this number.
const MOST: usize = 64;

/// By function, the arguments that may be changed, kept or returned, as bits, `_2` first.
pub(crate) struct Changed(HashMap<usize, u64>);

impl Changed {
    /// Finds out about these functions and what they call: of all of them the smallest sets that agree with one
    /// another.
    pub(crate) fn of(module: &Module<IRCode>, functions: &[usize]) -> Changed {
        let mut changed = Changed(functions.iter().map(|&function| (function, 0)).collect());
        let mut flows: HashMap<usize, Vec<Sink>> = HashMap::new();
        let mut callers: HashMap<usize, Vec<usize>> = HashMap::new();
        for &number in functions {
            let Some(function) = module.functions().get(number) else { continue };
            let sinks = sinks(module, &function.body);
            for sink in &sinks {
                let Sink::Passed { function, .. } = sink else { continue };
                let callers = callers.entry(*function).or_default();
                if callers.last() != Some(&number) {
                    callers.push(number);
                }
            }
            flows.insert(number, sinks);
        }
        // What changes in a function is news to those that call it. Those that are called mostly come later.
        let mut work: Vec<usize> = functions.to_vec();
        while let Some(number) = work.pop() {
            let Some(sinks) = flows.get(&number) else { continue };
            let bits = sinks.iter().fold(0, |bits, sink| match sink {
                Sink::Changed(origins) => bits | origins,
                Sink::Passed { origins, function, argument } => match changed.is_changed(*function, *argument) {
                    true => bits | origins,
                    false => bits,
                },
            });
            if let Some(known) = changed.0.get_mut(&number).filter(|known| **known != bits) {
                *known |= bits;
                work.extend(callers.get(&number).into_iter().flatten());
            }
        }
        changed
    }

    /// Whether the function may change, keep or return an argument, counted from 0 for `_2`.
    pub(crate) fn is_changed(&self, function: usize, argument: usize) -> bool {
        argument >= MOST || self.0.get(&function).is_none_or(|bits| bits >> argument & 1 == 1)
    }
}

/// What becomes of arguments.
enum Sink {
    Changed(u64),
    Passed { origins: u64, function: usize, argument: usize },
}

/// What becomes of the arguments of a function.
fn sinks(module: &Module<IRCode>, ir: &IRCode) -> Vec<Sink> {
    let origins = origins(ir);
    let origin = |operand: &Operand<Positions>| match operand {
        Operand::Argument(argument) => bit(*argument),
        Operand::Value(value) => value.index().and_then(|index| origins.get(index)).copied().unwrap_or(0),
        _ => 0,
    };
    let mut sinks = Vec::new();
    for stmt in ir.stmts.stmts() {
        if matches!(stmt, Stmt::Phi(_) | Stmt::Pi(_) | Stmt::Value(_)) {
            continue;
        }
        if let Some((primitive, _)) = module.primitive_call(stmt)
            && READERS.contains(&primitive.name)
        {
            continue;
        }
        let called: Option<(usize, SmallVec<[&Operand<Positions>; 4]>)> = match stmt {
            Stmt::Call(call) => match module.callee(&call.callee) {
                Some(Callee::Function(function)) => Some((function, call.args.iter().collect())),
                _ => None,
            },
            Stmt::Invoke(invoke) => {
                crate::prepare::invoked(module, invoke).map(|function| (function, invoke.args.iter().collect()))
            }
            _ => None,
        };
        match called {
            Some((function, args)) => {
                // The last parameter of a function that takes any number is the tuple of all that is left.
                let last = match module.functions().get(function) {
                    Some(called) if called.varargs => called.body.argtypes.len().saturating_sub(2),
                    _ => usize::MAX,
                };
                for (argument, operand) in args.into_iter().enumerate() {
                    let (origins, argument) = (origin(operand), argument.min(last));
                    if origins != 0 {
                        sinks.push(Sink::Passed { origins, function, argument });
                    }
                }
            }
            None => {
                let mut all = 0;
                stmt.for_each_operand(&mut |operand| all |= origin(operand));
                if all != 0 {
                    sinks.push(Sink::Changed(all));
                }
            }
        }
    }
    sinks
}

/// By statement, which arguments it may be: through φs, π-nodes and copies.
fn origins(ir: &IRCode) -> Vec<u64> {
    let mut origins = vec![0_u64; ir.stmts.len()];
    // What a statement may be, those may be that forward it.
    let mut forwarded: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut work = Vec::new();
    for (index, stmt) in ir.stmts.stmts().iter().enumerate() {
        if !matches!(stmt, Stmt::Phi(_) | Stmt::Pi(_) | Stmt::Value(_)) {
            continue;
        }
        let mut bits = 0;
        stmt.for_each_operand(&mut |operand| match operand {
            Operand::Argument(argument) => bits |= bit(*argument),
            Operand::Value(value) => {
                forwarded.entry(value.index().unwrap_or(usize::MAX)).or_default().push(index);
            }
            _ => {}
        });
        work.extend((bits != 0).then_some((index, bits)));
    }
    while let Some((index, bits)) = work.pop() {
        let Some(known) = origins.get_mut(index).filter(|known| **known | bits != **known) else { continue };
        *known |= bits;
        let bits = *known;
        work.extend(forwarded.get(&index).into_iter().flatten().map(|&index| (index, bits)));
    }
    origins
}

/// The bit of an argument, `_2` first; none of those that are not counted.
fn bit(argument: Argument) -> u64 {
    match argument.index().and_then(|index| index.checked_sub(1)) {
        Some(index) if index < MOST => 1 << index,
        _ => 0,
    }
}
