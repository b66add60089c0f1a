//! Turns maps over arrays into loops.

use bbcode::{BBCode, EditError, Ids, InstId};
use ircode::{Callee, Constant, Instruction, LineInfo, Module, NewInstruction, Operand, Stmt, Type};

use crate::analyses::method_choice::{methods_named, only_choice};
use crate::infer_types::result_of_call;
use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "lower-broadcast";

/// Turns `map(f, arrays…)` and `broadcast(f, arrays or numbers…)` into a loop over the elements, in memory order, that
/// calls `f` and stores what it gives in a new array. So they are differentiated as loops and calls are, whatever `f`
/// is. True if there was one.
///
/// That takes a function of the module, a method of one, a closure of one, a primitive or a type in the place of `f`,
/// and the types of the operands and of what `f` gives: what is not known stays as it is, for the interpreter. As
/// there, the arrays must have the same dimensions; that is checked before the first call. Linear in the function.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::{IRCode, parse_module};
/// use passes::{PassManager, find_pass};
///
/// let parsed = parse_module("
/// function f(a::Vector{Float64})::Vector{Float64}
/// 1 ─ %1 = Base.map(Base.sin, a)::Vector{Float64}
/// └──      return %1
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// PassManager::new([find_pass("lower-broadcast")?]).verify_each(true).run(&mut module, None)?;
/// assert_eq!(IRCode::try_from(&module.functions()[0].body)?.to_string(), "\
/// 1 ─ %1  = Base.length(_2)::Int64
/// │   %2  = Base.size(_2)::Tuple{Int64}
/// └── %3  = BBKit.new_array(Float64, %2)::Vector{Float64}
/// 2 ┄ %4  = φ (#1 => 1, #3 => %10)::Int64
/// │   %5  = Base.sle_int(%4, %1)::Bool
/// └──       goto #4 if not %5
/// 3 ─ %7  = Base.arrayref(true, _2, %4)::Float64
/// │   %8  = Base.sin(%7)::Float64
/// │         Base.arrayset(true, %3, %8, %4)::Vector{Float64}
/// │   %10 = Base.add_int(%4, 1)::Int64
/// └──       goto #2
/// 4 ─ %12 = %3::Vector{Float64}
/// └──       return %12
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let found: Vec<(InstId, Map)> =
        bb.all_insts().filter_map(|(id, inst)| Some((id, Map::of(bb, context.module, inst)?))).collect();
    // The last first: what follows one in its block moves, and so moves once.
    for (id, map) in found.iter().rev() {
        map.lower(bb, *id).map_err(|error| PassError::because(NAME, context.function, error).at(bb, *id))?;
    }
    Ok(!found.is_empty())
}

/// Whether a statement maps over arrays, but cannot be made a loop here: what it calls is an object, or not known.
pub(crate) fn is_opaque(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> bool {
    let maps =
        module.primitive_call(&inst.stmt).is_some_and(|(primitive, _)| matches!(primitive.name, "map" | "broadcast"));
    maps && Map::of(bb, module, inst).is_none()
}

/// A call of `map` or `broadcast` that can be a loop.
struct Map {
    /// What is called on the elements.
    callee: Operand<Ids>,
    args: Vec<Operand<Ids>>,
    /// The element types of those that are arrays.
    elements: Vec<Option<Type>>,
    /// The first array.
    first: Operand<Ids>,
    rank: u32,
    /// What is called gives this.
    result: Type,
    line: LineInfo,
}

impl Map {
    fn of(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<Map> {
        let (primitive, operands) = module.primitive_call(&inst.stmt)?;
        let broadcasts = match primitive.name {
            "map" => false,
            "broadcast" => true,
            _ => return None,
        };
        let (callee, args) = operands.split_first()?;
        let mut first: Option<(&Operand<Ids>, u32)> = None;
        let mut elements = Vec::with_capacity(args.len());
        let mut types = Vec::with_capacity(args.len());
        for arg in args {
            match bb.operand_type(arg) {
                Type::Array(array) if !array.element.is_unknown() => {
                    let (_, rank) = *first.get_or_insert((arg, array.rank));
                    // Of other ranks, the dimensions are not the same.
                    if rank != array.rank {
                        return None;
                    }
                    elements.push(Some(array.element.clone()));
                    types.push(array.element.clone());
                }
                ty @ Type::Scalar(_) if broadcasts => {
                    elements.push(None);
                    types.push(ty);
                }
                _ => return None,
            }
        }
        let (first, rank) = first?;
        let (callee, found) = match bb.operand_type(callee) {
            // It is called as it is.
            Type::Closure(closure) if closure.parameters.len() == types.len() => {
                (callee.clone(), Some(closure.result.clone()))
            }
            _ => {
                let callee = called(module, callee, &types)?;
                let found = result_of_call(module, &callee, &types);
                (callee, found)
            }
        };
        let result = match &inst.ty {
            Type::Array(array) if !array.element.is_unknown() => array.element.clone(),
            _ => found.filter(|ty| !ty.is_unknown() && *ty != Type::Bottom)?,
        };
        Some(Map { callee, args: args.to_vec(), elements, first: first.clone(), rank, result, line: inst.line })
    }

    /// The array of which the results are.
    fn array_type(&self) -> Type {
        Type::array(self.result.clone(), self.rank)
    }

    fn lower(&self, bb: &mut BBCode, id: InstId) -> Result<(), EditError> {
        let instruction = |name: (&str, &str), args: Vec<Operand<Ids>>, ty: Type| -> NewInstruction<Ids> {
            NewInstruction::new(Stmt::call(Operand::global(name.0, name.1), args), ty).with_line(self.line)
        };
        let jump = |stmt: Stmt<Ids>| NewInstruction::new(stmt, Type::Any).with_line(self.line);
        let array_type = self.array_type();

        // Before the loop.
        for (arg, element) in self.args.iter().zip(&self.elements) {
            if element.is_some() && *arg != self.first {
                let check = instruction(("BBKit", "same_shape"), vec![self.first.clone(), arg.clone()], Type::Nothing);
                bb.insert_before(id, check)?;
            }
        }
        let length = bb.insert_before(id, instruction(("Base", "length"), vec![self.first.clone()], Type::INT64))?;
        let sizes = Type::tuple((0..self.rank).map(|_| Type::INT64));
        let size = bb.insert_before(id, instruction(("Base", "size"), vec![self.first.clone()], sizes))?;
        let element = Operand::Constant(Constant::of_type(self.result.clone()));
        let made = instruction(("BBKit", "new_array"), vec![element, Operand::Value(size)], array_type.clone());
        let made = bb.insert_before(id, made)?;

        let Some(before) = bb.block_of(id) else { return Err(EditError::NoSuchInst(id)) };
        let rest = bb.split_block(id)?;
        let head = bb.insert_block_after(before)?;
        let body = bb.insert_block_after(head)?;
        bb.set_next(before, Some(head))?;

        // The head: whether there is another element. What comes around the loop is named when it is there.
        let entry = (before, Some(Operand::from(1)));
        let at = bb.push(head, NewInstruction::new(Stmt::phi([entry.clone()]), Type::INT64).with_line(self.line))?;
        let more = instruction(("Base", "sle_int"), vec![Operand::Value(at), Operand::Value(length)], Type::BOOL);
        let more = bb.push(head, more)?;
        bb.push(head, jump(Stmt::goto_if_not(Operand::Value(more), rest)))?;
        bb.set_next(head, Some(body))?;

        // The body: one call.
        let mut args = Vec::with_capacity(self.args.len());
        for (arg, element) in self.args.iter().zip(&self.elements) {
            args.push(match element {
                Some(element) => {
                    let read = vec![Operand::from(true), arg.clone(), Operand::Value(at)];
                    Operand::Value(bb.push(body, instruction(("Base", "arrayref"), read, element.clone()))?)
                }
                None => arg.clone(),
            });
        }
        let call = NewInstruction::new(Stmt::call(self.callee.clone(), args), self.result.clone());
        let result = bb.push(body, call.with_line(self.line))?;
        let write = [Operand::from(true), Operand::Value(made), Operand::Value(result), Operand::Value(at)];
        bb.push(body, instruction(("Base", "arrayset"), write.to_vec(), array_type.clone()))?;
        let next = instruction(("Base", "add_int"), vec![Operand::Value(at), Operand::from(1)], Type::INT64);
        let next = bb.push(body, next)?;
        bb.push(body, jump(Stmt::goto(head)))?;
        if let Some(inst) = bb.inst_mut(at) {
            inst.stmt = Stmt::phi([entry, (body, Some(Operand::Value(next)))]);
        }
        if let Some(inst) = bb.inst_mut(id) {
            inst.stmt = Stmt::Value(Operand::Value(made));
            inst.ty = array_type;
        }
        Ok(())
    }
}

/// What is called on all elements of these types, by a name that means it; `None` if that is known only when the
/// program runs.
fn called(module: &Module<BBCode>, callee: &Operand<Ids>, types: &[Type]) -> Option<Operand<Ids>> {
    let Callee::Unknown(path) = module.callee(callee)? else { return Some(callee.clone()) };
    let methods = methods_named(module, &path)?;
    let method = module.functions().get(only_choice(module, methods.iter().copied(), types)?)?;
    Some(Operand::global("", &method.name))
}
