//! Which functions of a module call which, which of them call themselves, and which are called only where the run is
//! about to fail.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use ircode::graph::FlowGraph;
use ircode::primitives::{MemoryEffect, Primitive};
use ircode::{CallGraph, Callee, Function, Head, IRCode, Module, Operand, Positions, Stmt, Type};

use crate::native::arrays::resized::Resized;
use crate::native::function::phis::successors;

/// What is called from where.
pub(crate) struct Calls {
    /// The functions that may run: first those that do so only where the run is about to fail.
    pub(crate) reached: Vec<usize>,
    /// By function, those that it calls.
    pub(crate) called: HashMap<usize, Vec<usize>>,
    /// The functions that may call themselves, perhaps through others.
    pub(crate) recursive: HashSet<usize>,
    /// The functions that may be called as values, if any is.
    pub(crate) escaping: Vec<usize>,
    /// The functions that are reached as values only.
    pub(crate) by_value: HashSet<usize>,
    /// The arrays that may get another length.
    pub(crate) resized: Resized,
    /// Whether the first element of an array may come to lie elsewhere in it.
    pub(crate) shifts: bool,
    /// The functions that the interpreter runs.
    pub(crate) interpreted: HashSet<usize>,
    /// The functions that may run while nothing says that the run is about to fail.
    pub(crate) warm: HashSet<usize>,
}

/// In the graph of calls, what a call of a value calls: every function that may be one.
pub(crate) const ANY_VALUE: usize = usize::MAX;

/// In the graph of calls, what the interpreter runs.
pub(crate) const INTERPRETED: usize = usize::MAX - 1;

/// Whether a primitive may make an array longer or shorter at its front, or anywhere.
pub(crate) fn shifts(primitive: &Primitive) -> bool {
    primitive.memory == MemoryEffect::Resize { shifts: true }
}

impl Calls {
    /// What these functions call, directly or not, without those that are left out or left to the interpreter.
    pub(crate) fn of(
        module: &Module<IRCode>,
        entries: &[usize],
        excluded: &HashSet<usize>,
        interpreted: &HashSet<usize>,
    ) -> Calls {
        let mut calls = Calls {
            reached: Vec::new(),
            called: HashMap::new(),
            recursive: HashSet::new(),
            escaping: Vec::new(),
            by_value: HashSet::new(),
            resized: Resized::default(),
            shifts: false,
            interpreted: interpreted.clone(),
            warm: HashSet::new(),
        };
        calls.follow(module, entries.to_vec());
        let direct: HashSet<usize> = calls.reached.iter().copied().collect();
        if calls.called.values().any(|callees| callees.contains(&ANY_VALUE)) {
            let graph = CallGraph::new(module);
            let all = 0..module.functions().len();
            let left_out = |function: &usize| excluded.contains(function) || interpreted.contains(function);
            calls.escaping = all.filter(|function| graph.escapes(*function) && !left_out(function)).collect();
            calls.called.insert(ANY_VALUE, calls.escaping.clone());
            calls.follow(module, calls.escaping.clone());
            calls.by_value = calls.reached.iter().copied().filter(|function| !direct.contains(function)).collect();
        }
        calls.recursive = recursive(&calls.called);
        if calls.reached.len() > 1 {
            calls.find_warm(module, entries);
            // What may be refused only to be interpreted comes first: not much is compiled in vain.
            calls.reached.sort_by_key(|number| calls.warm.contains(number));
        }
        calls
    }

    /// Finds the functions that may run while nothing says that the run is about to fail.
    fn find_warm(&mut self, module: &Module<IRCode>, entries: &[usize]) {
        let mut work: Vec<usize> = entries.iter().chain(&self.escaping).copied().collect();
        while let Some(number) = work.pop() {
            if !self.called.contains_key(&number) || !self.warm.insert(number) {
                continue;
            }
            let Some(function) = module.functions().get(number) else { continue };
            let mut failing = failing_blocks(&function.body);
            // What never returns is asked for what it does, and not for an error.
            if failing.first() == Some(&true) {
                failing.fill(false);
            }
            for (block, fails) in function.body.cfg.blocks.iter().zip(failing) {
                let statements = function.body.stmts.stmts().get(block.stmts.clone()).unwrap_or_default();
                let callees = statements.iter().filter(|_| !fails).filter_map(|stmt| callee_of(module, stmt));
                work.extend(callees.filter(|callee| !module.functions().get(*callee).is_some_and(never_returns)));
            }
        }
    }

    /// The functions that are called only where the run is about to fail, by one that may run before: what makes
    /// messages. None if the program catches errors, or the host has primitives, which may see the objects; without
    /// those that are not for the interpreter.
    pub(crate) fn cold_callees(&self, module: &Module<IRCode>) -> Vec<usize> {
        let mut functions = self.warm.iter().filter_map(|number| module.functions().get(*number));
        let hosts = module.extensions().is_some_and(|extensions| !extensions.primitives().is_empty());
        if hosts || functions.any(enters_a_handler) {
            return Vec::new();
        }
        let called = self.warm.iter().filter_map(|number| self.called.get(number)).flatten().copied();
        let is_cold = |number: &usize| module.functions().get(*number).is_some() && !self.warm.contains(number);
        let cold: BTreeSet<usize> = called.filter(is_cold).collect();
        cold.into_iter().filter(|number| !self.needs_the_caller(module, *number, false)).collect()
    }

    /// The functions that are called only where the run is about to fail, by one that may run before, and are this
    /// function or lead to it. None if the function may run before that.
    pub(crate) fn cold_callees_that_reach(&self, module: &Module<IRCode>, number: usize) -> Vec<usize> {
        if self.warm.is_empty() || self.warm.contains(&number) {
            return Vec::new();
        }
        let callees = |caller: &usize| self.called.get(caller).map(Vec::as_slice).unwrap_or_default();
        let mut callers: HashMap<usize, Vec<usize>> = HashMap::new();
        for &caller in &self.reached {
            callees(&caller).iter().for_each(|&callee| callers.entry(callee).or_default().push(caller));
        }
        let (mut found, mut seen, mut work) = (Vec::new(), HashSet::new(), vec![number]);
        while let Some(next) = work.pop().filter(|next| *next < module.functions().len()) {
            if !seen.insert(next) {
                continue;
            }
            let of_next = callers.get(&next).map(Vec::as_slice).unwrap_or_default();
            if of_next.iter().any(|caller| self.warm.contains(caller)) {
                found.push(next);
            }
            work.extend(of_next.iter().filter(|caller| !self.warm.contains(*caller)));
        }
        if found.iter().any(|cold| self.needs_the_caller(module, *cold, true)) {
            return Vec::new();
        }
        found
    }

    /// Whether a function, or what it calls, does what only its caller's interpreter can: asks for the exception that
    /// is being handled, which, where native code `catches`, may be one that it has caught, or calls a primitive of the
    /// host.
    fn needs_the_caller(&self, module: &Module<IRCode>, number: usize, catches: bool) -> bool {
        let hosts = module.extensions().map(|extensions| extensions.primitives()).unwrap_or_default();
        let (mut seen, mut work) = (HashSet::new(), vec![number]);
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            let statements = module.functions().get(next).map(|function| function.body.stmts.stmts());
            let needs = |stmt: &Stmt<Positions>| match stmt {
                Stmt::Expr(expr) if expr.head == Head::TheException => catches,
                stmt => module
                    .primitive_call(stmt)
                    .is_some_and(|(primitive, _)| hosts.iter().any(|host| std::ptr::eq(*host, primitive))),
            };
            if statements.unwrap_or_default().iter().any(needs) {
                return true;
            }
            work.extend(self.called.get(&next).into_iter().flatten());
        }
        false
    }

    /// Takes on these functions and what they call.
    fn follow(&mut self, module: &Module<IRCode>, mut work: Vec<usize>) {
        while let Some(number) = work.pop() {
            if self.called.contains_key(&number) || number == ANY_VALUE {
                continue;
            }
            if number == INTERPRETED {
                self.called.insert(number, Vec::new());
                continue;
            }
            self.reached.push(number);
            let mut callees = Vec::new();
            if let Some(function) = module.functions().get(number) {
                for stmt in function.body.stmts.stmts() {
                    self.resized.add(module, &function.body, stmt);
                    self.shifts |= module.primitive_call(stmt).is_some_and(|(primitive, _)| shifts(primitive));
                    callees.extend(callee_of(module, stmt).map(|callee| match self.interpreted.contains(&callee) {
                        true => INTERPRETED,
                        false => callee,
                    }));
                }
            }
            callees.sort_unstable();
            callees.dedup();
            work.extend(callees.iter().copied());
            self.called.insert(number, callees);
        }
    }
}

/// Whether a function catches errors.
pub(crate) fn enters_a_handler(function: &Function<IRCode>) -> bool {
    function.body.stmts.stmts().iter().any(|stmt| matches!(stmt, Stmt::Enter(_)))
}

/// Whether a function says that it never returns.
pub(crate) fn never_returns(function: &Function<IRCode>) -> bool {
    function.result == Type::Bottom
}

/// By block, whether no way leads from it to a return: once there, the run fails or goes on for ever.
pub(crate) fn failing_blocks(ir: &IRCode) -> Vec<bool> {
    let count = ir.cfg.blocks.len();
    let edges = (0..count).flat_map(|number| successors(ir, number).into_iter().map(move |next| (number, next)));
    let returns = |number: &usize| {
        let last = ir.cfg.blocks.get(*number).and_then(|block| block.stmts.clone().next_back());
        let last = last.and_then(|last| ir.stmts.stmts().get(last));
        matches!(last, Some(Stmt::Return(returned)) if returned.value.is_some())
    };
    let reaching = FlowGraph::new(count, edges).reaching((0..count).filter(returns));
    reaching.into_iter().map(|reaches| !reaches).collect()
}

/// The function that a statement calls, or that it calls a value.
fn callee_of(module: &Module<IRCode>, stmt: &Stmt<Positions>) -> Option<usize> {
    let callee: &Operand<Positions> = match stmt {
        Stmt::Value(Operand::Nested(nested)) => return callee_of(module, nested),
        Stmt::Call(call) => &call.callee,
        Stmt::Invoke(invoke) => {
            let named = crate::prepare::invoked(module, invoke);
            if named.is_some() {
                return named;
            }
            &invoke.callee
        }
        _ => return None,
    };
    match module.callee(callee) {
        Some(Callee::Function(function)) => Some(function),
        None => Some(ANY_VALUE),
        _ => None,
    }
}

/// The functions that call none of which calls lead back, callees before their callers.
pub(crate) fn callees_first(called: &HashMap<usize, Vec<usize>>) -> Vec<usize> {
    let mut callers: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut waiting: HashMap<usize, usize> = HashMap::new();
    for (&caller, callees) in called {
        waiting.insert(caller, callees.len());
        callees.iter().for_each(|&callee| callers.entry(callee).or_default().push(caller));
    }
    let mut order: Vec<usize> = waiting.iter().filter(|(_, count)| **count == 0).map(|(number, _)| *number).collect();
    let mut done = 0;
    while let Some(number) = order.get(done).copied() {
        done += 1;
        for caller in callers.get(&number).map(Vec::as_slice).unwrap_or_default() {
            if let Some(count) = waiting.get_mut(caller) {
                *count -= 1;
                if *count == 0 {
                    order.push(*caller);
                }
            }
        }
    }
    order
}

/// The functions on cycles of calls: those in strongly connected components of several functions, or that call
/// themselves (Tarjan's algorithm, without recursion).
fn recursive(called: &HashMap<usize, Vec<usize>>) -> HashSet<usize> {
    let mut numbers: Vec<usize> = called.keys().copied().collect();
    numbers.sort_unstable();
    let mut index: HashMap<usize, usize> = HashMap::new();
    let mut low: HashMap<usize, usize> = HashMap::new();
    let mut stack: Vec<usize> = Vec::new();
    let mut on_stack: HashSet<usize> = HashSet::new();
    let mut found = HashSet::new();
    for root in numbers {
        if index.contains_key(&root) {
            continue;
        }
        let mut work: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((node, next)) = work.pop() {
            if next == 0 {
                let number = index.len();
                index.insert(node, number);
                low.insert(node, number);
                stack.push(node);
                on_stack.insert(node);
            }
            let callees = called.get(&node).map(Vec::as_slice).unwrap_or_default();
            if let Some(&callee) = callees.get(next) {
                work.push((node, next + 1));
                if !index.contains_key(&callee) {
                    work.push((callee, 0));
                } else if on_stack.contains(&callee) {
                    let lower = low[&node].min(index[&callee]);
                    low.insert(node, lower);
                }
                continue;
            }
            if low[&node] == index[&node] {
                let start = stack.iter().rposition(|&other| other == node).unwrap_or(0);
                let component = stack.split_off(start);
                let calls_itself = callees.contains(&node);
                for member in &component {
                    on_stack.remove(member);
                    if component.len() > 1 || calls_itself {
                        found.insert(*member);
                    }
                }
            }
            if let Some((parent, _)) = work.last() {
                let lower = low[parent].min(low[&node]);
                low.insert(*parent, lower);
            }
        }
    }
    found
}
