//! Turns copies of elements that are no numbers into loops.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use ircode::{Instruction, LineInfo, Module, NewInstruction, Operand, Stmt, Type};

use crate::manager::Context;
use crate::tangents::TangentTypes;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "lower-copies";

/// Turns `copyto!(to, i, from, j, n)` and `copyto!(to, from)` of arrays of tuples, structs, complex numbers, arrays or
/// anything into a loop that reads and writes an element at a time: the derivatives of that are known whatever the
/// elements are. Copies of numbers have rules of their own, and stay, as do those of what has no derivative, such as
/// strings. True if there was one.
///
/// As in Julia, what is copied may overlap what it is copied over. Where an index is out of bounds, the call is still
/// made, and throws before anything is copied. An element that is not assigned cannot be read: it is an `UndefRefError`
/// here. Linear in the function.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::{IRCode, parse_module};
/// use passes::{PassManager, find_pass};
///
/// let parsed = parse_module("
/// function f(a::Vector{Tuple{Float64, Int64}}, b::Vector{Tuple{Float64, Int64}})::Nothing
/// 1 ─     BBKit.copyto!(a, 1, b, 2, 3)::Vector{Tuple{Float64, Int64}}
/// └──     return nothing
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// PassManager::new([find_pass("lower-copies")?, find_pass("constant-folding")?]).verify_each(true).run(&mut module, None)?;
/// let text = IRCode::try_from(&module.functions()[0].body)?.to_string();
/// assert!(text.contains("Base.arrayref(false, _3, "), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut found: Vec<(InstId, Copy)> =
        bb.all_insts().filter_map(|(id, inst)| Some((id, Copy::of(bb, context.module, inst)?))).collect();
    if found.is_empty() {
        return Ok(false);
    }
    let tangents = TangentTypes::new(context.module);
    found.retain(|(_, copy)| !tangents.of(&copy.element).is_none());
    // The last first: what follows one in its block moves, and so moves once.
    for (id, copy) in found.iter().rev() {
        copy.lower(bb, *id).map_err(|error| PassError::because(NAME, context.function, error).at(bb, *id))?;
    }
    Ok(!found.is_empty())
}

/// A call of `copyto!` that can be a loop.
struct Copy {
    to: Operand<Ids>,
    from: Operand<Ids>,
    /// Where the first element goes, where it is, and how many there are; `None` for all of `from`.
    places: Option<[Operand<Ids>; 3]>,
    element: Type,
    array: Type,
    line: LineInfo,
}

impl Copy {
    fn of(bb: &BBCode, module: &Module<BBCode>, inst: &Instruction<Ids>) -> Option<Copy> {
        let (_, args) = module.primitive_call(&inst.stmt).filter(|(primitive, _)| primitive.name == "copyto!")?;
        let (to, from, places) = match args {
            [to, i, from, j, count] => (to, from, Some([i.clone(), j.clone(), count.clone()])),
            [to, from] => (to, from, None),
            _ => return None,
        };
        let (Type::Array(array), Type::Array(other)) = (bb.operand_type(to), bb.operand_type(from)) else {
            return None;
        };
        let element = array.element.clone();
        if element.as_scalar().is_some() || other.element != element {
            return None;
        }
        let whole = |place: &Operand<Ids>| bb.operand_type(place) == Type::INT64;
        places.iter().flatten().all(whole).then(|| Copy {
            to: to.clone(),
            from: from.clone(),
            places,
            element,
            array: Type::Array(array),
            line: inst.line,
        })
    }

    fn lower(&self, bb: &mut BBCode, id: InstId) -> Result<(), EditError> {
        let original = bb.inst(id).map(|inst| inst.stmt.clone()).ok_or(EditError::NoSuchInst(id))?;
        let (before, rest) = bb.cut_block(id)?;
        let [fails, start, head, body] = [(); 4].map(|()| bb.insert_block_before(rest));
        let (fails, start, head, body) = (fails?, start?, head?, body?);

        // Whether all places are inside.
        let mut at = Writer { bb, block: before, line: self.line };
        let (i, j, count) = match &self.places {
            Some([i, j, count]) => (i.clone(), j.clone(), count.clone()),
            None => {
                let count = at.int("arraylen", [self.from.clone()])?;
                (Operand::from(1), Operand::from(1), count)
            }
        };
        let mut inside = at.bool("sle_int", [Operand::from(0), count.clone()])?;
        for (array, first) in [(&self.to, &i), (&self.from, &j)] {
            let length = at.int("arraylen", [array.clone()])?;
            let next = at.int("add_int", [length, Operand::from(1)])?;
            let room = at.int("sub_int", [next, first.clone()])?;
            let fits = at.bool("sle_int", [count.clone(), room])?;
            let starts = at.bool("sle_int", [Operand::from(1), first.clone()])?;
            let both = at.bool("and_int", [fits, starts])?;
            inside = at.bool("and_int", [inside, both])?;
        }
        let empty = at.bool("eq_int", [count.clone(), Operand::from(0)])?;
        let allowed = at.bool("or_int", [inside, empty])?;
        at.push(Stmt::goto_if_not(allowed, fails), Type::Any)?;
        at.bb.set_next(before, Some(start))?;
        at.block = fails;
        at.push(original, Type::Bottom)?;
        at.push(Stmt::unreachable(), Type::Any)?;

        // What is copied over comes last.
        at.block = start;
        let upwards = at.bool("sle_int", [i.clone(), j.clone()])?;
        let last = at.int("sub_int", [count.clone(), Operand::from(1)])?;
        at.bb.set_next(start, Some(head))?;
        at.block = head;
        let entry = (start, Some(Operand::from(0)));
        let round = at.push(Stmt::phi([entry.clone()]), Type::INT64)?;
        let more = at.bool("slt_int", [Operand::Value(round), count])?;
        at.push(Stmt::goto_if_not(more, rest), Type::Any)?;
        at.bb.set_next(head, Some(body))?;

        at.block = body;
        let from_end = at.int("sub_int", [last, Operand::Value(round)])?;
        let offset = at.call("Core", "ifelse", [upwards, Operand::Value(round), from_end], Type::INT64)?;
        let (source, target) = (at.int("add_int", [j, offset.clone()])?, at.int("add_int", [i, offset])?);
        let value = at.call("Base", "arrayref", [false.into(), self.from.clone(), source], self.element.clone())?;
        at.call("Base", "arrayset", [false.into(), self.to.clone(), value, target], self.array.clone())?;
        let next = at.int("add_int", [Operand::Value(round), Operand::from(1)])?;
        at.push(Stmt::goto(head), Type::Any)?;
        if let Some(inst) = at.bb.inst_mut(round) {
            inst.stmt = Stmt::phi([entry, (body, Some(next))]);
        }
        if let Some(inst) = at.bb.inst_mut(id) {
            inst.stmt = Stmt::Value(self.to.clone());
            inst.ty = self.array.clone();
        }
        Ok(())
    }
}

/// Writes statements to the end of a block.
struct Writer<'b> {
    bb: &'b mut BBCode,
    block: BlockId,
    line: LineInfo,
}

impl Writer<'_> {
    fn push(&mut self, stmt: Stmt<Ids>, ty: Type) -> Result<InstId, EditError> {
        self.bb.push(self.block, NewInstruction::new(stmt, ty).with_line(self.line))
    }

    fn call<const N: usize>(
        &mut self,
        module: &str,
        name: &str,
        args: [Operand<Ids>; N],
        ty: Type,
    ) -> Result<Operand<Ids>, EditError> {
        self.push(Stmt::call(Operand::global(module, name), args), ty).map(Operand::Value)
    }

    fn int<const N: usize>(&mut self, name: &str, args: [Operand<Ids>; N]) -> Result<Operand<Ids>, EditError> {
        self.call("Base", name, args, Type::INT64)
    }

    fn bool<const N: usize>(&mut self, name: &str, args: [Operand<Ids>; N]) -> Result<Operand<Ids>, EditError> {
        self.call("Base", name, args, Type::BOOL)
    }
}
