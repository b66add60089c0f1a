//! Who calls whom.

use hashbrown::HashSet;

use crate::callee::Callee;
use crate::constant::Constant;
use crate::globals::GlobalPart;
use crate::graph::{Components, FlowGraph};
use crate::module::Module;
use crate::names::Names;
use crate::operand::Operand;
use crate::primitives::ResultType;
use crate::view::Body;

/// The functions of a module, by position, and which of them call which. It borrows the module, so that it cannot be
/// out of date.
///
/// ```
/// use ircode::{CallGraph, parse_module};
///
/// let module = parse_module("
/// function even(n::Int64)::Bool
/// 1 ─ %1 = invoke Main.odd(n::Int64)::Bool
/// └──      return %1
/// end
/// function odd(n::Int64)::Bool
/// 1 ─ %1 = invoke Main.even(n::Int64)::Bool
/// └──      return %1
/// end
/// function main(n::Int64)::Bool
/// 1 ─ %1 = invoke Main.even(n::Int64)::Bool
/// └──      return %1
/// end
/// ")?.module;
/// let graph = CallGraph::new(&module);
/// assert!(graph.callees(2).eq([0]));
/// assert!(graph.callers(0).eq([1, 2]));
/// assert!(graph.is_recursive(0) && !graph.is_recursive(2));
/// assert_eq!(graph.bottom_up(), [vec![0, 1], vec![2]]);
/// assert_eq!(graph.reachable([0]), [0, 1]);
/// # Ok::<(), ircode::TextError>(())
/// ```
#[derive(Debug)]
pub struct CallGraph<'m, F> {
    module: &'m Module<F>,
    calls: FlowGraph,
    escapes: Vec<bool>,
    calls_unknown: Vec<bool>,
    components: Components,
}

impl<'m, F: Body> CallGraph<'m, F> {
    /// The call graph of a module, in time linear in its statements. A function named anywhere else than as what is
    /// called escapes, also in a declaration.
    pub fn new(module: &'m Module<F>) -> Self {
        let len = module.functions().len();
        let mut edges: Vec<(usize, usize)> = Vec::new();
        let (mut escapes, mut calls_unknown) = (vec![false; len], vec![false; len]);
        for (caller, function) in module.functions().iter().enumerate() {
            let mut known: HashSet<usize> = HashSet::new();
            function.body.for_each_stmt(&mut |stmt| {
                let callee = stmt.as_call().map(|(callee, _)| callee);
                match callee.map(|callee| module.callee(callee)) {
                    Some(Some(Callee::Function(callee))) if known.insert(callee) => edges.push((caller, callee)),
                    Some(None | Some(Callee::Unknown(_))) => calls_unknown[caller] = true,
                    // A map calls its operand.
                    Some(Some(Callee::Primitive(primitive))) if primitive.result == ResultType::Mapped => {
                        calls_unknown[caller] = true;
                    }
                    _ => {}
                }
                stmt.for_each_operand(&mut |operand| {
                    match operand {
                        operand if callee.is_some_and(|callee| std::ptr::eq(callee, operand)) => {}
                        Operand::Constant(Constant::Tuple(_) | Constant::NamedTuple(_)) => {
                            module.for_each_named_function(operand, &mut |named| escapes[named] = true);
                        }
                        // Methods of a function that is named are called by dispatch only.
                        operand => {
                            if let Some(named) = module.named_function(operand) {
                                escapes[named] = true;
                            }
                        }
                    }
                });
            });
        }
        module.for_each_declared_function(&mut |named| escapes[named] = true);
        let calls = FlowGraph::new(len, edges);
        let components = Components::new(&calls);
        CallGraph { module, calls, escapes, calls_unknown, components }
    }

    /// The module.
    pub fn module(&self) -> &'m Module<F> {
        self.module
    }

    /// The functions that a function calls, each once, in the order of the first calls.
    pub fn callees(&self, function: usize) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.calls.successors(function)
    }

    /// The functions that call a function, each once, in the order of the module.
    pub fn callers(&self, function: usize) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.calls.predecessors(function)
    }

    /// Whether a function is used otherwise than by calling it, so that it may be called from anywhere.
    pub fn escapes(&self, function: usize) -> bool {
        self.escapes.get(function).is_some_and(|&escapes| escapes)
    }

    /// Whether a function calls something of which is not known what it is: a value, or a name that is no function of
    /// the module and no primitive; or hands a function on to `map` or `broadcast`, which call it.
    pub fn calls_unknown(&self, function: usize) -> bool {
        self.calls_unknown.get(function).is_some_and(|&unknown| unknown)
    }

    /// Whether a function calls itself, directly or through others.
    pub fn is_recursive(&self, function: usize) -> bool {
        self.components.is_on_cycle(function)
    }

    /// These functions and those that they may call, directly or not, each once: where one calls something unknown,
    /// that may be each function that [escapes](Self::escapes).
    pub fn reachable(&self, roots: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut seen = vec![false; self.calls.len()];
        let mut found = Vec::new();
        let mut work: Vec<usize> = roots.into_iter().collect();
        let mut escape = false;
        while let Some(function) = work.pop() {
            match seen.get_mut(function) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            found.push(function);
            work.extend(self.callees(function));
            if self.calls_unknown(function) && !std::mem::replace(&mut escape, true) {
                work.extend((0..self.escapes.len()).filter(|function| self.escapes(*function)));
            }
        }
        found
    }

    /// All functions, in groups that call each other; each group behind those that it calls, and in it the order of the
    /// module. These are the strongly connected components (Tarjan 1972).
    pub fn bottom_up(&self) -> &[Vec<usize>] {
        &self.components.members
    }
}

impl<F> Module<F> {
    /// The function of the module that an operand names, by its position.
    pub fn named_function<N: Names>(&self, operand: &Operand<N>) -> Option<usize> {
        let named = match operand {
            Operand::Global(_) | Operand::Constant(Constant::Function(_)) | Operand::Quote(_) => self.callee(operand),
            _ => None,
        };
        match named {
            Some(Callee::Function(index)) => Some(index),
            _ => None,
        }
    }

    /// Calls `take` with the positions of all functions of the module that an operand may stand for: the one that it
    /// names, each method of a function that has several, and those that a tuple holds.
    ///
    /// ```
    /// use ircode::{Constant, Operand, Positions, parse_module};
    ///
    /// let module = parse_module(r#"
    /// function var"area(::Float64)"(x::Float64)::Float64
    /// 1 ─      return x
    /// end
    /// function var"area(::Int64)"(x::Int64)::Int64
    /// 1 ─      return x
    /// end
    /// "#)?.module;
    /// let both = [Constant::Function("area".into()), Constant::int64(3)];
    /// let mut found = Vec::new();
    /// let operand = Operand::<Positions>::Constant(Constant::Tuple(both.to_vec().into()));
    /// module.for_each_named_function(&operand, &mut |position| found.push(position));
    /// assert_eq!(found, [0, 1]);
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn for_each_named_function<N: Names>(&self, operand: &Operand<N>, take: &mut dyn FnMut(usize)) {
        match operand {
            Operand::Constant(constant) => self.for_each_function_in(constant, take),
            Operand::Quote(constant) => self.for_each_function_in(constant, take),
            Operand::Global(_) => self.take_functions(self.callee(operand), take),
            _ => {}
        }
    }

    /// Calls `take` with the positions of all functions of the module that its declarations name: entries of the tables
    /// of methods, differentiability witnesses, and what global constants hold. Some may come several times.
    pub fn for_each_declared_function(&self, take: &mut dyn FnMut(usize)) {
        let of_classes = self.classes().iter().map(|class| &class.methods);
        for entry in of_classes.chain(self.witnesses().iter().map(|witness| &witness.entries)).flatten() {
            self.take_functions(Some(self.function_callee(&entry.function)), take);
        }
        for witness in self.differentiability_witnesses() {
            for name in [&witness.function].into_iter().chain(&witness.jvp).chain(&witness.vjp) {
                self.take_functions(Some(self.function_callee(name)), take);
            }
        }
        for part in self.global_constants().iter().flat_map(|constant| constant.value().parts()) {
            match part {
                GlobalPart::Constant(constant) => self.for_each_function_in(constant, take),
                GlobalPart::Global(global) => self.take_functions(Some(self.global_callee(global)), take),
                GlobalPart::Undefined => {}
            }
        }
    }

    fn for_each_function_in(&self, constant: &Constant, take: &mut dyn FnMut(usize)) {
        match constant {
            Constant::Function(name) => self.take_functions(Some(self.function_callee(name)), take),
            Constant::Tuple(parts) | Constant::SimpleVector(parts) => {
                parts.iter().for_each(|part| self.for_each_function_in(part, take));
            }
            Constant::NamedTuple(fields) => {
                fields.iter().for_each(|(_, part)| self.for_each_function_in(part, take));
            }
            _ => {}
        }
    }

    fn take_functions(&self, named: Option<Callee>, take: &mut dyn FnMut(usize)) {
        match named {
            Some(Callee::Function(position)) => take(position),
            // A function of which the module has methods.
            Some(Callee::Unknown(path)) => self.methods(&path).iter().copied().for_each(take),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_module;

    #[test]
    fn a_function_that_is_handed_on_escapes() {
        let module = parse_module(
            "
function f(x::Float64)::Float64
1 ─ %1 = Main.map(Main.g, x)::Float64
└──      return %1
end
function g(x::Float64)::Float64
1 ─      return x
end
",
        )
        .unwrap()
        .module;
        let graph = CallGraph::new(&module);
        assert!(graph.escapes(1) && !graph.escapes(0));
        assert!(graph.calls_unknown(0) && !graph.calls_unknown(1));
        assert_eq!(graph.callees(0).len(), 0);
    }
}
