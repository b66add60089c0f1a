//! Methods of objects, as functions that take the object: what is compiled in the place of a call of an object.

use std::sync::Arc;

use hashbrown::HashMap;
use ircode::{Argument, CallNode, Function, IRCode, Module, Name, Operand, Positions, Stmt, Type};

use crate::prepare::invoked;

/// A module in which invokes of objects, whose methods look at `_1`, call copies of the methods that take the object
/// first. Statements keep their places, so that errors can be told of the methods that the program has.
pub(crate) struct Lifted {
    pub(crate) module: Arc<Module<IRCode>>,
    /// The functions that stand behind those of the program: the methods that they are copies of.
    originals: Vec<usize>,
    /// How many functions the program has.
    count: usize,
}

impl Lifted {
    pub(crate) fn of(module: Arc<Module<IRCode>>) -> Lifted {
        let count = module.functions().len();
        let mut lifted = Lifted { module, originals: Vec::new(), count };
        let mut known: HashMap<(usize, Type), Name> = HashMap::new();
        let mut at = 0;
        // The copies may call objects, too, and stand at the end.
        while at < lifted.module.functions().len() {
            lifted.rewrite(at, &mut known);
            at += 1;
        }
        lifted
    }

    /// The function of the program that this is, or is a copy of.
    pub(crate) fn original(&self, function: usize) -> usize {
        match function.checked_sub(self.count) {
            Some(copy) => self.originals.get(copy).copied().unwrap_or(function),
            None => function,
        }
    }

    fn rewrite(&mut self, number: usize, known: &mut HashMap<(usize, Type), Name>) {
        let Some(function) = self.module.functions().get(number) else { return };
        let found: Vec<(usize, usize, Type)> = function
            .body
            .stmts
            .stmts()
            .iter()
            .enumerate()
            .filter_map(|(index, stmt)| {
                let (method, of) = self.call_of_object(&function.body, stmt)?;
                Some((index, method, of))
            })
            .collect();
        if found.is_empty() {
            return;
        }
        let name = function.name.clone();
        let mut names = Vec::with_capacity(found.len());
        for (_, method, of) in &found {
            names.push(match known.get(&(*method, of.clone())) {
                Some(known) => Some(known.clone()),
                None => self.add(*method, of.clone(), known),
            });
        }
        let Some(body) = Arc::make_mut(&mut self.module).body_mut(&name) else { return };
        for ((index, ..), name) in found.into_iter().zip(names) {
            let stmt = body.stmts.stmts_mut().get_mut(index);
            if let (Some(stmt), Some(name)) = (stmt, name)
                && let Stmt::Invoke(invoke) = &*stmt
            {
                let args = [invoke.callee.clone()].into_iter().chain(invoke.args.iter().cloned());
                *stmt = Stmt::Call(CallNode { callee: Operand::global("", &name), args: args.collect() });
            }
        }
    }

    /// The method by which a statement calls an object, and the type of that, if the method looks at it.
    fn call_of_object(&self, ir: &IRCode, stmt: &Stmt<Positions>) -> Option<(usize, Type)> {
        let Stmt::Invoke(invoke) = stmt else { return None };
        let method = invoked(&self.module, invoke)?;
        if !self.looks_at_itself(method) {
            return None;
        }
        let of = match &invoke.callee {
            Operand::Value(_) | Operand::Argument(_) => ir.operand_type(&invoke.callee),
            callee => self.module.type_of_global(callee)?.clone(),
        };
        // The layout of what is declared is known.
        let is_declared = matches!(&of, Type::Named(name) if self.module.type_def(name).is_some());
        is_declared.then_some((method, of))
    }

    fn looks_at_itself(&self, function: usize) -> bool {
        let Some(function) = self.module.functions().get(function) else { return false };
        let mut looks = false;
        for stmt in function.body.stmts.stmts() {
            stmt.for_each_operand(&mut |operand| {
                looks |= matches!(operand, Operand::Argument(argument) if argument.index() == Some(0));
            });
        }
        looks
    }

    /// Adds the copy of a method that takes an object of this type first, and gives its name.
    fn add(&mut self, method: usize, of: Type, known: &mut HashMap<(usize, Type), Name>) -> Option<Name> {
        let original = self.module.functions().get(method)?;
        let mut made: Function<IRCode> = original.clone();
        let mut name = format!("lifted {}", original.name);
        while self.module.function_index(&name).is_some() {
            name.push('\'');
        }
        let name = Name::from(name);
        made.name = name.clone();
        if !made.parameters.is_empty() {
            made.parameters.insert(0, None);
        }
        let argtypes = &mut made.body.argtypes;
        argtypes.splice(..argtypes.len().min(1), [Type::Function(name.clone()), of.clone()]);
        for stmt in made.body.stmts.stmts_mut() {
            stmt.for_each_operand_mut(&mut |operand| {
                if let Operand::Argument(argument) = operand
                    && let Some(index) = argument.index()
                {
                    *operand = Argument::from_index(index + 1).into();
                }
            });
        }
        Arc::make_mut(&mut self.module).add_function(made).ok()?;
        self.originals.push(method);
        known.insert((method, of), name.clone());
        Some(name)
    }
}
