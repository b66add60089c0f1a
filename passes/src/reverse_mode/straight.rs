//! The gradient of a function that is one block of operations on numbers, written statement by statement.
//!
//! Nothing has to be decided there: nothing is saved where value and pullback are one function, and control comes from
//! nowhere else. So the function is written as it is to be, in one walk forwards and one backwards (Speelpenning,
//! *Compiling fast partial derivatives of functions given by algorithms*, 1980), and needs no cleaning up: of long
//! functions that takes a small part of the time that the general way takes. The statements that it computes with are
//! those of the same rules, in the same order, so that the bits are the same. What is known of a statement without
//! running it is known before, as in the general way: it changes which sums are made.

mod writer;

use std::sync::Arc;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashMap;
use ircode::primitives::Primitive;
use ircode::tangents::{Tangent, TangentTypes};
use ircode::{
    DerivativeKind, Function, LineInfo, Module, Name, NewInstruction, Operand, Operands, Scalar, ScalarType, Stmt, Type,
};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use self::writer::{Called, Reverse, Writer};
use super::at_hand::costly_name;
use super::closed::{Closed, seed_of};
use super::derivation::DerivativeNames;
use super::emit::callee;
use super::operation::{Classifier, Operation, argument};
use super::tangent_code::zero;
use super::{Carrier, Derivative, NAME, Options, closed_kinds};
use crate::analyses::effects::call_effects;
use crate::derivative_entries::RegisteredDerivatives;
use crate::differentiation::base_names::base_name;
use crate::differentiation::preparation::{debug_info_of_copy, origin_line};
use crate::differentiation::with_respect_to::wanted_arguments;
use crate::rules::{Bindings, Rule, RuleKind, RuleTable, RuleTarget};
use crate::{PassError, constant_folding, type_literals};

/// Adds the gradient of a function to its module, if the function is one block of operations on numbers, and nothing
/// else was asked for than the function that computes value and gradient together. `None` for all others, and for what
/// has errors or warnings, which the general way tells.
pub(super) fn derive(
    module: &mut Module<BBCode>,
    name: &Name,
    options: &Options,
) -> Result<Option<Derivative>, PassError> {
    let is_asked_for = options.only_joined && options.carrier == Carrier::Stacks && options.savings.one_function;
    let kind = match closed_kinds(options).as_slice() {
        [kind] if is_asked_for && !options.vjp && !options.checkpoint => *kind,
        _ => return Ok(None),
    };
    let Some(function) = module.function(name).filter(|function| function.body.blocks().nth(1).is_none()) else {
        return Ok(None);
    };
    let rules = RuleTable::of_module(module).map_err(|error| PassError::because(NAME, name, error))?;
    // By its own rule, if it has one, and not by what its code does.
    if rules.has_function_rule(name, RuleKind::Vjp) {
        return Ok(None);
    }
    let Some(mut straight) = Straight::of(module, &rules, function, options) else { return Ok(None) };
    let made = straight.classify().and_then(|()| {
        straight.mark();
        straight.generate(kind)
    });
    let Some(made) = made else { return Ok(None) };
    let names = straight.names;
    module.replace_function(made);
    Ok(Some(Derivative { names, warnings: Vec::new() }))
}

/// What is known of a statement, and what it is in the gradient.
#[derive(Debug, Default)]
struct Node {
    /// What it calls.
    primitive: Option<&'static Primitive>,
    /// The operands through which it depends on the arguments, as far as derivatives see: a bit for each.
    through: u8,
    /// If there are such, what its reverse is, by number, and the type of its cotangent.
    reverse: Option<u32>,
    float: Option<ScalarType>,
    /// Whether the result depends on it in that way.
    useful: bool,
    /// Whether the function executes it: the result is computed from it, or it may throw.
    live: bool,
    /// Its value.
    value: Option<Operand<Ids>>,
    /// What was added up of its cotangent.
    cotangent: Option<Operand<Ids>>,
}

/// What statements that call one primitive with operands of the same types, and with results of one type, do.
struct Kind {
    primitive: &'static Primitive,
    types: SmallVec<[Type; 3]>,
    result: ScalarType,
    does: Does,
    /// The reverses, by number, by the operands through which statements depend on the arguments.
    reverses: Vec<(u8, u32)>,
}

enum Does {
    /// Nothing that carries a derivative.
    Steps,
    /// The value is the first operand.
    Copy,
    /// The value is the second operand or the third, by the first.
    Choose,
    Rule(Arc<Rule>, Bindings),
}

impl Does {
    /// Whether the value depends on an operand, as far as derivatives see.
    fn depends_on(&self, index: usize) -> bool {
        match self {
            Does::Steps => false,
            Does::Copy => index == 0,
            Does::Choose => index > 0,
            Does::Rule(rule, _) => !rule.is_zero(index),
        }
    }
}

/// The gradient seldom has more statements than so many times those of the function. What is not needed of the room
/// stays untouched.
const ROOM: usize = 3;

/// More different calls go the general way: they are looked for one after the other.
const MOST_KINDS: usize = 256;

struct Straight<'m> {
    module: &'m Module<BBCode>,
    rules: &'m RuleTable,
    function: &'m Function<BBCode>,
    names: DerivativeNames,
    /// By argument, `_1` first: the type of its cotangent, if that is wanted.
    wanted: Vec<Option<ScalarType>>,
    /// The type of the result.
    result: ScalarType,
    returned: InstId,
    kinds: Vec<Kind>,
    reverses: Vec<Reverse>,
    /// Statements that are known to be one of their operands, or a constant.
    aliases: HashMap<InstId, Operand<Ids>>,
    /// The statements in their order, without the one that returns.
    order: Vec<InstId>,
    nodes: SecondaryMap<InstId, Node>,
}

impl<'m> Straight<'m> {
    /// The function, if it may be a straight one, and differentiating it gives no error before its statements are
    /// looked at.
    fn of(
        module: &'m Module<BBCode>,
        rules: &'m RuleTable,
        function: &'m Function<BBCode>,
        options: &Options,
    ) -> Option<Self> {
        let body = &function.body;
        let entry = body.entry().filter(|_| !function.varargs)?;
        let (_, end) = body.terminator(entry)?;
        let Stmt::Return(ret) = &end.stmt else { return None };
        let returned = ret.value.as_ref()?.as_value()?;
        let result = match function.result.is_unknown() {
            true => body.operand_type(&Operand::Value(returned)),
            false => function.result.clone(),
        };
        let result = result.as_scalar().filter(|ty| ty.is_float())?;
        let tangents = TangentTypes::new(module);
        let of_arguments: Vec<Tangent> = body.argtypes.iter().map(|ty| tangents.of(ty)).collect();
        let has_tangent = |ty: &Type| !tangents.of(ty).is_none();
        let chosen = wanted_arguments(&body.argtypes, has_tangent, options.with_respect_to.as_deref()).ok()?;
        let mut wanted = Vec::with_capacity(chosen.len());
        for (tangent, is_wanted) in of_arguments.iter().zip(&chosen) {
            wanted.push(match (is_wanted, tangent) {
                (false, _) => None,
                (true, Tangent::Float(float)) => Some(*float),
                (true, _) => return None,
            });
        }
        let position = module.function_index(&function.name)?;
        if !RegisteredDerivatives::of(module, DerivativeKind::Vjp).get(position).is_empty() {
            return None;
        }
        let has_tangents = of_arguments.iter().map(|tangent| !tangent.is_none());
        let names = DerivativeNames::for_arguments(&base_name(&function.name), has_tangents, &chosen);
        let count = body.inst_count();
        Some(Straight {
            module,
            rules,
            function,
            names,
            wanted,
            result,
            returned,
            kinds: Vec::new(),
            reverses: Vec::new(),
            aliases: HashMap::new(),
            order: Vec::with_capacity(count),
            nodes: SecondaryMap::with_capacity(count),
        })
    }

    /// Finds out what the statements do, first to last. `None` if one does anything else than compute a number from
    /// numbers, or has no known derivative, or if the result does not depend on the arguments.
    fn classify(&mut self) -> Option<()> {
        let body = &self.function.body;
        let entry = body.entry()?;
        for (id, inst) in body.insts(entry) {
            if inst.stmt.is_terminator() {
                break;
            }
            if !matches!(inst.stmt, Stmt::Call(_) | Stmt::Invoke(_)) {
                return None;
            }
            let (primitive, given) = self.module.primitive_call(&inst.stmt)?;
            let effects = call_effects(self.module, body, primitive, given);
            let ty = inst.ty.as_scalar()?;
            // Of some calls a primitive takes a part of the operands.
            let takes_all = given.len() == args_of(&inst.stmt).len();
            if effects.reads || effects.writes || effects.allocates || !takes_all {
                return None;
            }
            if type_literals::changes(body, self.module, inst) {
                return None;
            }
            let resolved: Operands<Ids>;
            let args = if self.aliases.is_empty() {
                given
            } else {
                resolved = given.iter().map(|arg| self.resolved(arg).clone()).collect();
                resolved.as_slice()
            };
            self.order.push(id);
            if let Some(value) = constant_folding::value_if_known(body, self.module, primitive, args) {
                let value = self.resolved(&value).clone();
                self.aliases.insert(id, value);
                self.nodes.insert(id, Node::default());
                continue;
            }
            let mut node = Node { primitive: Some(primitive), live: effects.throws, ..Node::default() };
            let mut depends = false;
            for arg in args {
                match arg {
                    Operand::Value(_) | Operand::Argument(_) => depends |= self.varies(arg),
                    Operand::Constant(_) => {}
                    // The type to which something is converted.
                    Operand::Global(_) if self.module.named_type(arg).is_some() => {}
                    _ => return None,
                }
            }
            if depends {
                let kind = self.kind(id, primitive, given, ty)?;
                for (index, _) in args.iter().enumerate().filter(|(_, arg)| self.varies(arg)) {
                    if self.kinds.get(kind)?.does.depends_on(index) {
                        node.through |= 1_u8.checked_shl(u32::try_from(index).ok()?)?;
                    }
                }
                if node.through != 0 {
                    node.float = Some(ty).filter(|ty| ty.is_float());
                    node.reverse = Some(self.reverse(kind, node.through, node.float?)?);
                }
            }
            self.nodes.insert(id, node);
        }
        self.returned = self.resolved(&Operand::Value(self.returned)).as_value()?;
        let returned = self.nodes.get(self.returned)?;
        (returned.through != 0 && returned.float == Some(self.result)).then_some(())
    }

    /// What an operand is, if it is known to be another one.
    fn resolved<'s>(&'s self, operand: &'s Operand<Ids>) -> &'s Operand<Ids> {
        if self.aliases.is_empty() {
            return operand;
        }
        // An alias is of what is none itself.
        operand.as_value().and_then(|value| self.aliases.get(&value)).unwrap_or(operand)
    }

    /// What calls of a primitive with operands of these types do, by number.
    fn kind(
        &mut self,
        id: InstId,
        primitive: &'static Primitive,
        args: &[Operand<Ids>],
        result: ScalarType,
    ) -> Option<usize> {
        let body = &self.function.body;
        let types: SmallVec<[Type; 3]> = args.iter().map(|arg| self.type_of(arg)).collect();
        let same =
            |kind: &Kind| std::ptr::eq(kind.primitive, primitive) && kind.result == result && kind.types == types;
        if let Some(known) = self.kinds.iter().position(same) {
            return Some(known);
        }
        if self.kinds.len() == MOST_KINDS {
            return None;
        }
        let classifier = Classifier { module: self.module, rules: self.rules, bb: body };
        let does = match classifier.operation(id, &|_| None) {
            Operation::Steps => Does::Steps,
            Operation::Copy(of) if args.first() == Some(&of) && types.first() == Some(&result.into()) => Does::Copy,
            Operation::Choose { .. } if types.iter().skip(1).all(|ty| *ty == result.into()) => Does::Choose,
            Operation::Rule { rule, bindings, args: taken } => {
                let has_shadows = rule.out_shadow.is_some() || rule.shadows.iter().any(Option::is_some);
                let is_plain = matches!(rule.target, RuleTarget::Primitive(_)) && !rule.changes_first();
                if taken != args || has_shadows || !is_plain {
                    return None;
                }
                Does::Rule(rule, bindings)
            }
            _ => return None,
        };
        self.kinds.push(Kind { primitive, types, result, does, reverses: Vec::new() });
        Some(self.kinds.len() - 1)
    }

    /// The number of the reverse of statements of a kind that depend on the arguments through some of their operands.
    fn reverse(&mut self, kind: usize, through: u8, float: ScalarType) -> Option<u32> {
        let kind = self.kinds.get_mut(kind)?;
        if let Some((_, known)) = kind.reverses.iter().find(|(of, _)| *of == through) {
            return Some(*known);
        }
        let wanted: SmallVec<[usize; 8]> = (0..8).filter(|index| through & (1 << index) != 0).collect();
        let operands = kind.types.len();
        let reverse = match &kind.does {
            Does::Steps => return None,
            Does::Copy => Reverse::of_copy(operands),
            Does::Choose => Reverse::of_choice(&wanted, operands, float)?,
            Does::Rule(rule, bindings) => Reverse::of_rule(self.module, (rule, bindings), &wanted)?,
        };
        let number = u32::try_from(self.reverses.len()).ok()?;
        kind.reverses.push((through, number));
        self.reverses.push(reverse);
        Some(number)
    }

    /// The type of an operand, with that of globals that name types.
    fn type_of(&self, operand: &Operand<Ids>) -> Type {
        match operand {
            Operand::Global(_) => self.module.named_type(operand).map_or(Type::Untyped, Type::type_of),
            other => self.function.body.operand_type(other),
        }
    }

    fn varies(&self, operand: &Operand<Ids>) -> bool {
        match operand {
            Operand::Value(value) => self.nodes.get(*value).is_some_and(|node| node.through != 0),
            Operand::Argument(argument) => {
                argument.index().is_some_and(|index| self.wanted.get(index).is_some_and(Option::is_some))
            }
            _ => false,
        }
    }

    /// Finds what the result is computed from, last to first, and by way of what it depends on the arguments.
    fn mark(&mut self) {
        if let Some(node) = self.nodes.get_mut(self.returned) {
            (node.live, node.useful) = (true, true);
        }
        for position in (0..self.order.len()).rev() {
            let Some(&id) = self.order.get(position) else { continue };
            let Some(&Node { live, useful, through, .. }) = self.nodes.get(id) else { continue };
            if !live {
                continue;
            }
            for (index, arg) in self.function.body.stmt(id).map(args_of).unwrap_or_default().iter().enumerate() {
                let value = self.resolved(arg).as_value();
                if let Some(node) = value.and_then(|value| self.nodes.get_mut(value)) {
                    node.live = true;
                    node.useful |= useful && index < 8 && through & (1 << index) != 0;
                }
            }
        }
    }

    /// Writes the function.
    fn generate(&mut self, kind: Closed) -> Option<Function<BBCode>> {
        let function = self.function;
        let name = kind.name(&self.names).clone();
        // The general way takes names for its passes, too, and tells which ones it finds taken.
        let DerivativeNames { forward, pullback, .. } = self.names.once();
        if [&name, &forward, &pullback].into_iter().any(|name| self.module.function(name).is_some()) {
            return None;
        }
        let mut argtypes = function.body.argtypes.clone();
        let seed_argument = argument(argtypes.len());
        if let Some(own) = argtypes.first_mut() {
            *own = Type::function(name.clone());
        }
        let mut parameters = function.parameters.clone();
        let result = Tangent::Float(self.result);
        let seed = match kind {
            Closed::Gradient => seed_of(&result),
            Closed::Vjp => return None,
            Closed::Accumulate => {
                argtypes.push(self.result.into());
                // What is added has no name.
                if parameters.iter().any(Option::is_some) {
                    parameters.push(None);
                }
                seed_argument
            }
        };
        let mut bb = BBCode::new(argtypes);
        let block = bb.push_block();
        bb.reserve(ROOM * function.body.inst_count());
        let mut writer = Writer {
            module: self.module,
            bb,
            block,
            line: LineInfo::NONE,
            add: Called::of("Base", "add_float")?,
            costly: HashMap::new(),
        };
        writer.bb.debuginfo = Arc::new(debug_info_of_copy(&function.body, &function.name));
        self.forwards(&mut writer)?;
        let mut cotangents = vec![None; self.wanted.len()];
        if let Some(node) = self.nodes.get_mut(self.returned) {
            node.cotangent = Some(seed);
        }
        self.backwards(&mut writer, &mut cotangents)?;
        let value = self.nodes.get(self.returned).and_then(|node| node.value.clone()).unwrap_or_else(Operand::nothing);
        let (mut elements, mut types) = (vec![value], vec![Type::from(self.result)]);
        writer.line = LineInfo::NONE;
        for (ty, cotangent) in self.wanted.iter().zip(cotangents).skip(1) {
            let Some(ty) = *ty else {
                elements.push(Operand::nothing());
                types.push(Type::Nothing);
                continue;
            };
            let cotangent = cotangent.unwrap_or_else(|| zero(&Tangent::Float(ty)));
            // This turns the zero of the adjoints, which is -0.0, into the usual one.
            let positive = Operand::from(Scalar::from_bits(ty, 0));
            elements.push(writer.add(ty, cotangent, positive)?);
            types.push(ty.into());
        }
        let result = Type::tuple(types);
        let tuple = Stmt::call(callee("Core", "tuple"), elements);
        let tuple = writer.push(tuple, result.clone())?;
        writer.push(Stmt::ret(Operand::Value(tuple)), Type::Any)?;
        Some(Function { name, parameters, varargs: false, result, body: writer.bb })
    }

    /// The function itself, without what nothing needs.
    fn forwards(&mut self, writer: &mut Writer<'_>) -> Option<()> {
        let body = &self.function.body;
        for (position, &id) in self.order.iter().enumerate() {
            let (Some(inst), Some(node)) = (body.inst(id), self.nodes.get(id)) else { continue };
            let Some(primitive) = node.primitive.filter(|_| node.live) else { continue };
            let mut stmt = inst.stmt.clone();
            stmt.for_each_operand_mut(&mut |operand| {
                if matches!(operand, Operand::Value(_)) {
                    *operand = self.in_gradient(operand);
                }
            });
            writer.line = origin_line(inst.line, position);
            let (info, flag) = (inst.info.clone(), inst.flag);
            let costly = if args_of(&stmt).len() == 1 { costly_name(primitive) } else { None };
            let new = NewInstruction::new(stmt, inst.ty.clone()).with_line(writer.line);
            let value = writer.push_costly(costly, NewInstruction { info, flag, ..new })?;
            if let Some(node) = self.nodes.get_mut(id) {
                node.value = Some(value);
            }
        }
        Some(())
    }

    /// What an operand of the function is in the gradient.
    fn in_gradient(&self, operand: &Operand<Ids>) -> Operand<Ids> {
        let operand = self.resolved(operand);
        let node = operand.as_value().and_then(|value| self.nodes.get(value));
        node.and_then(|node| node.value.as_ref()).unwrap_or(operand).clone()
    }

    /// The statements backwards, each adding to the cotangents of its operands. Those of the arguments end up in the
    /// list.
    fn backwards(&mut self, writer: &mut Writer<'_>, arguments: &mut [Option<Operand<Ids>>]) -> Option<()> {
        let body = &self.function.body;
        for position in (0..self.order.len()).rev() {
            let Some(&id) = self.order.get(position) else { continue };
            let (Some(inst), Some(node)) = (body.inst(id), self.nodes.get_mut(id)) else { continue };
            let (Some(number), Some(float)) = (node.reverse.filter(|_| node.useful), node.float) else { continue };
            let seed = node.cotangent.take().unwrap_or_else(|| zero(&Tangent::Float(float)));
            writer.line = origin_line(inst.line, position);
            let args = args_of(&inst.stmt);
            let parameter = |index: usize| match args.get(index) {
                Some(arg) => Some(self.in_gradient(arg)),
                None if index == args.len() => self.nodes.get(id)?.value.clone(),
                None => Some(seed.clone()),
            };
            let outputs = writer.write(self.reverses.get(number as usize)?, &parameter)?;
            for (index, added) in outputs {
                match args.get(index).map(|arg| self.resolved(arg).clone()) {
                    Some(Operand::Value(value)) => {
                        if let Some(node) = self.nodes.get_mut(value)
                            && let Some(ty) = node.float
                        {
                            writer.accumulate(&mut node.cotangent, added, ty)?;
                        }
                    }
                    Some(Operand::Argument(argument)) => {
                        let place = argument.index().and_then(|index| Some((index, arguments.get_mut(index)?)));
                        if let Some((index, place)) = place
                            && let Some(ty) = self.wanted.get(index).copied().flatten()
                        {
                            writer.accumulate(place, added, ty)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Some(())
    }
}

/// The operands of a call.
fn args_of(stmt: &Stmt<Ids>) -> &[Operand<Ids>] {
    stmt.as_call().map_or(&[], |(_, args)| args)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails should stop")]
mod tests {
    use ircode::{IRCode, parse_module};

    use super::*;

    /// The gradient of the function `f` of a module, if it is written as one function at once.
    fn written_at_once(text: &str) -> Option<String> {
        let parsed = parse_module(text).unwrap();
        let mut module = parsed.module.map(|function| BBCode::try_from(&function.body)).unwrap();
        let options = Options { only_joined: true, ..Options::default() };
        let names = derive(&mut module, &"f".into(), &options).unwrap()?.names;
        let body = &module.function(&names.value_and_gradient).unwrap().body;
        body.verify().unwrap();
        Some(IRCode::try_from(body).unwrap().to_string())
    }

    #[test]
    fn nothing_is_left_to_clean_up() {
        let text = "
function f(x::Float64, n::Int64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
│   %2 = Base.add_int(n, n)::Int64
│   %3 = Base.sin(%1)::Float64
│   %4 = Base.mul_float(%3, 1.0)::Float64
│   %5 = Base.sitofp(Float64, n)::Float64
│   %6 = Base.cos(%1)::Float64
│   %7 = Base.mul_float(%4, %5)::Float64
└──      return %7
end";
        // The cosine is there already, and both operands of x² get the same.
        assert_eq!(
            written_at_once(text).unwrap(),
            "\
1 ─ %1  = Base.mul_float(_2, _2)::Float64
│   %2  = Base.sin(%1)::Float64
│   %3  = Base.sitofp(Float64, _3)::Float64
│   %4  = Base.cos(%1)::Float64
│   %5  = Base.mul_float(%2, %3)::Float64
│   %6  = Base.mul_float(%3, %4)::Float64
│   %7  = Base.mul_float(%6, _2)::Float64
│   %8  = Base.add_float(%7, %7)::Float64
│   %9  = Base.add_float(%8, 0.0)::Float64
│   %10 = Core.tuple(%5, %9, nothing)::Tuple{Float64, Float64, Nothing}
└──       return %10
"
        );
    }

    #[test]
    fn what_is_not_straight_is_left_alone() {
        let of = |head: &str, body: &str| written_at_once(&format!("function f({head})::Float64\n{body}\nend"));
        assert!(of("x::Float64", "1 ─ %1 = Base.neg_float(x)::Float64\n└── return %1").is_some());
        // A branch.
        let branch = "1 ─ goto #3 if not b\n2 ─ return x\n3 ─ %3 = Base.neg_float(x)::Float64\n└── return %3";
        assert!(of("x::Float64, b::Bool", branch).is_none());
        // Memory.
        let array = "1 ─ %1 = Base.getindex(x, 1)::Float64\n└── return %1";
        assert!(of("x::Vector{Float64}", array).is_none());
        // No derivative, and a result that does not depend on the argument: the general way tells.
        let bits = "1 ─ %1 = Base.bitcast(Int64, x)::Int64\n│   %2 = Base.sitofp(Float64, %1)::Float64\n└── return %2";
        assert!(of("x::Float64", bits).is_none());
        let constant = "1 ─ %1 = Base.neg_float(1.0)::Float64\n└── return %1";
        assert!(of("x::Float64", constant).is_none());
    }

    /// No rule for a primitive on numbers sends a function the general way.
    #[test]
    fn all_rules_on_numbers_are_written() {
        let mut left = Vec::new();
        let mut count = 0;
        for rule in RuleTable::standard().unwrap().rules().filter(|rule| rule.kind == RuleKind::Vjp) {
            let Some(primitive) = rule.primitive().filter(|primitive| !primitive.effects.allocates) else { continue };
            let (float, integer) = (Type::FLOAT64, Type::INT64);
            let choices = [float.clone(), integer, Type::BOOL, Type::type_of(float.clone())];
            // The first types that it takes.
            let arity = u32::try_from(rule.arity()).unwrap();
            let types = (0..choices.len().pow(arity)).find_map(|number| {
                let digit = |place: u32| choices[number / choices.len().pow(place) % choices.len()].clone();
                let types: Vec<Type> = (0..arity).map(digit).collect();
                rule.bind(&types).filter(|_| types.contains(&float)).map(|_| types)
            });
            let Some(types) = types else { continue };
            let plain: Vec<String> = types
                .iter()
                .enumerate()
                .map(|(index, ty)| match ty {
                    Type::TypeOf(_) => "Float64".into(),
                    _ => format!("_{}", index + 2),
                })
                .collect();
            let head: Vec<String> = types
                .iter()
                .map(|ty| match ty {
                    Type::TypeOf(_) => "::Type{Float64}".into(),
                    ty => format!("::{ty:?}"),
                })
                .collect();
            let all_zero = (0..types.len()).all(|index| rule.is_zero(index) || types[index] != float);
            let text = format!(
                "function f({})::Float64\n1 ─ %1 = Base.{}{}({})::Float64\n└── return %1\nend",
                head.join(", "),
                if primitive.name.starts_with(char::is_alphabetic) { "" } else { ":" },
                primitive.name,
                plain.join(", ")
            );
            count += 1;
            if written_at_once(&text).is_none() && !all_zero {
                left.push(primitive.name);
            }
        }
        assert!(count > 40, "{count}");
        assert!(left.is_empty(), "{left:?}");
    }
}
