//! BBCode of any size and of shapes that are hard on algorithms, to measure and to look for steps that are not linear.

use bbcode::{BBCode, BlockId, EditError, Ids, InstId, Switch};
use ircode::{NewInstruction, Operand, Stmt, Type};

/// Makes code of about this many statements.
pub type Shape = fn(usize) -> Result<BBCode, EditError>;

/// Numbers that look random and are the same on every run (Steele, Lea and Flood's splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// A number below this one, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * bound as u128) >> 64) as usize
    }
}

/// Code to which statements are added at the end of one block.
struct Writer {
    bb: BBCode,
    at: BlockId,
}

impl Writer {
    /// A function of a float, an integer and a condition.
    fn new() -> Self {
        let mut bb = BBCode::new(vec![Type::function("shape"), Type::FLOAT64, Type::INT64, Type::BOOL]);
        let at = bb.push_block();
        Writer { bb, at }
    }

    fn push(&mut self, stmt: Stmt<Ids>, ty: Type) -> Result<InstId, EditError> {
        self.bb.push(self.at, NewInstruction::new(stmt, ty))
    }

    fn call(&mut self, callee: &Operand<Ids>, args: [Operand<Ids>; 2], ty: Type) -> Result<InstId, EditError> {
        self.push(Stmt::call(callee.clone(), args), ty)
    }

    fn goto(&mut self, target: BlockId) -> Result<(), EditError> {
        self.push(Stmt::goto(target), Type::Any).map(drop)
    }

    /// Goes to one block if the condition holds, and to the other if it does not.
    fn branch(&mut self, condition: Operand<Ids>, then: BlockId, otherwise: BlockId) -> Result<(), EditError> {
        self.push(Stmt::goto_if_not(condition, otherwise), Type::Any)?;
        self.bb.set_next(self.at, Some(then))
    }

    fn finish(mut self, value: impl Into<Operand<Ids>>) -> Result<BBCode, EditError> {
        self.push(Stmt::ret(value), Type::Any)?;
        Ok(self.bb)
    }
}

fn argument(n: u32) -> Operand<Ids> {
    Operand::argument(n)
}

/// How many values the statements of [`dag`] choose their operands from.
const WINDOW: usize = 12;

/// What a [`dag`] is made of.
#[derive(Clone, Debug)]
struct Dag {
    add: Operand<Ids>,
    mul: Operand<Ids>,
    start: Operand<Ids>,
    ty: Type,
}

impl Dag {
    fn make(self, size: usize) -> Result<BBCode, EditError> {
        let Dag { add, mul, start, ty } = self;
        let less = Operand::global("Base", "lt_float");
        let mut f = Writer::new();
        let mut random = Random::new(0);
        let mut window: [Operand<Ids>; WINDOW] = std::array::from_fn(|_| start.clone());
        let mut count = 0;
        for turn in 0..size * 5 / 6 {
            let [a, b] = [(); 2].map(|()| window[random.below(WINDOW)].clone());
            let callee = if random.below(2) == 0 { &add } else { &mul };
            let mut value = f.call(callee, [a.clone(), b.clone()], ty.clone())?;
            if turn % 20 == 19 {
                let condition = f.call(&less, [a.clone(), b.clone()], Type::BOOL)?;
                let [then, otherwise, join] = [(); 3].map(|()| f.bb.push_block());
                f.branch(condition.into(), then, otherwise)?;
                f.at = then;
                let x = f.call(&add, [a.clone(), value.into()], ty.clone())?;
                f.goto(join)?;
                f.at = otherwise;
                let y = f.call(&mul, [b.clone(), value.into()], ty.clone())?;
                f.goto(join)?;
                f.at = join;
                value = f.push(Stmt::phi([(then, Some(x.into())), (otherwise, Some(y.into()))]), ty.clone())?;
            }
            window[count % WINDOW] = value.into();
            count += 1;
        }
        let last = window[(count + WINDOW - 1) % WINDOW].clone();
        f.finish(last)
    }
}

fn float_dag() -> Dag {
    Dag {
        add: Operand::global("Base", "add_float"),
        mul: Operand::global("Base", "mul_float"),
        start: argument(2),
        ty: Type::FLOAT64,
    }
}

/// Float arithmetic on values that were computed shortly before, chosen at random, and an if-else after every twentieth
/// statement.
///
/// # Errors
///
/// None: the code is well formed. So it is of all shapes.
pub fn dag(size: usize) -> Result<BBCode, EditError> {
    float_dag().make(size)
}

/// As [`dag`], of constants.
pub fn constant_dag(size: usize) -> Result<BBCode, EditError> {
    Dag { start: 0.5.into(), ..float_dag() }.make(size)
}

/// As [`dag`], of generic arithmetic without types.
pub fn generic_dag(size: usize) -> Result<BBCode, EditError> {
    let [add, mul] = ["+", "*"].map(|name| Operand::global("", name));
    Dag { add, mul, ..float_dag() }.make(size)
}

/// As [`dag`], whose types are not known.
pub fn untyped_dag(size: usize) -> Result<BBCode, EditError> {
    Dag { ty: Type::Untyped, ..float_dag() }.make(size)
}

/// Statements of one block, none of which is used.
pub fn unused(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let add = Operand::global("Base", "add_int");
    for turn in 0..size {
        f.call(&add, [argument(3), (turn as i64).into()], Type::INT64)?;
    }
    f.finish(argument(3))
}

/// One value that all statements use.
pub fn one_value(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let add = Operand::global("Base", "add_int");
    let used = f.call(&add, [argument(3), 1.into()], Type::INT64)?;
    for turn in 0..size {
        f.call(&add, [used.into(), (turn as i64).into()], Type::INT64)?;
    }
    f.finish(used)
}

/// One statement with very many operands, all of them the same value.
pub fn one_user(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let used = f.call(&Operand::global("Base", "add_int"), [argument(3), 1.into()], Type::INT64)?;
    let tuple = Stmt::call(Operand::global("Core", "tuple"), std::iter::repeat_n(used.into(), size));
    let all = f.push(tuple, Type::Any)?;
    f.finish(all)
}

/// Copies of copies.
pub fn copies(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let mut value = argument(2);
    for _ in 0..size {
        value = f.push(Stmt::Value(value), Type::FLOAT64)?.into();
    }
    f.finish(value)
}

/// φs of φs, each the only statement of its block but for the goto.
pub fn phi_chain(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let mut value = argument(2);
    for _ in 0..size / 2 {
        let (from, next) = (f.at, f.bb.push_block());
        f.goto(next)?;
        f.at = next;
        value = f.push(Stmt::phi([(from, Some(value))]), Type::FLOAT64)?.into();
    }
    f.finish(value)
}

/// Blocks without statements, one behind the other.
pub fn empty_blocks(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    for _ in 0..size {
        let next = f.bb.push_block();
        f.bb.set_next(f.at, Some(next))?;
        f.at = next;
    }
    f.finish(argument(2))
}

/// A switch, with a φ where its branches meet.
pub fn wide_switch(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let dests: Vec<BlockId> = (0..size / 2).map(|_| f.bb.push_block()).collect();
    let [otherwise, join] = [(); 2].map(|()| f.bb.push_block());
    let branches = dests.iter().map(|&dest| (argument(4), dest));
    f.push(Stmt::Switch(Switch::new(branches, otherwise)), Type::Any)?;
    let mut entries = Vec::with_capacity(dests.len() + 1);
    for (number, from) in dests.into_iter().chain([otherwise]).enumerate() {
        f.at = from;
        f.goto(join)?;
        entries.push((from, Some((number as f64).into())));
    }
    f.at = join;
    let value = f.push(Stmt::phi(entries), Type::FLOAT64)?;
    f.finish(value)
}

/// As [`wide_switch`], where all conditions are known but the first.
pub fn decided_switch(size: usize) -> Result<BBCode, EditError> {
    let mut bb = wide_switch(size)?;
    let found = bb.entry().and_then(|entry| bb.last_inst(entry));
    if let Some(id) = found
        && let Some(Stmt::Switch(switch)) = bb.stmt(id)
    {
        let conditions = std::iter::once(argument(4)).chain(std::iter::repeat(true.into()));
        let branches = conditions.zip(switch.dests().iter().copied());
        let decided = Switch::new(branches.collect::<Vec<_>>(), switch.fallthrough_dest());
        bb.replace(id, Stmt::Switch(decided))?;
    }
    Ok(bb)
}

/// Ladders of conditions that all go to one block, whose φ has an entry for each.
pub fn wide_join(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let less = Operand::global("Base", "lt_float");
    let join = f.bb.push_block();
    let mut entries = Vec::new();
    for turn in 0..size / 2 {
        let next = f.bb.push_block();
        let condition = f.call(&less, [argument(2), (turn as f64).into()], Type::BOOL)?;
        entries.push((f.at, Some((turn as f64).into())));
        f.branch(condition.into(), next, join)?;
        f.at = next;
    }
    entries.push((f.at, Some(argument(2))));
    f.goto(join)?;
    f.at = join;
    let value = f.push(Stmt::phi(entries), Type::FLOAT64)?;
    f.finish(value)
}

/// As [`wide_join`], through a variable: its φ is yet to be made.
pub fn wide_variable(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let [new, set, get] = ["new_slot", "slot_set!", "slot_get"].map(|name| Operand::global("BBKit", name));
    let float = Operand::Constant(ircode::Constant::Type(std::sync::Arc::new(Type::FLOAT64)));
    let slot = f.push(Stmt::call(new, [float]), Type::slot(Type::FLOAT64))?;
    let join = f.bb.push_block();
    for turn in 0..size / 2 {
        let next = f.bb.push_block();
        f.call(&set, [slot.into(), (turn as f64).into()], Type::Nothing)?;
        f.branch(argument(4), next, join)?;
        f.at = next;
    }
    f.goto(join)?;
    f.at = join;
    let value = f.push(Stmt::call(get, [slot.into()]), Type::FLOAT64)?;
    f.finish(value)
}

/// Variables that are each set in two branches and read where these meet.
pub fn variables(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let [new, set, get] = ["new_slot", "slot_set!", "slot_get"].map(|name| Operand::global("BBKit", name));
    let float = Operand::Constant(ircode::Constant::Type(std::sync::Arc::new(Type::FLOAT64)));
    let mut value = argument(2);
    for _ in 0..size / 7 {
        let slot = f.push(Stmt::call(new.clone(), [float.clone()]), Type::slot(Type::FLOAT64))?;
        let [then, otherwise, join] = [(); 3].map(|()| f.bb.push_block());
        f.branch(argument(4), then, otherwise)?;
        for (block, written) in [(then, value.clone()), (otherwise, argument(2))] {
            f.at = block;
            f.call(&set, [slot.into(), written], Type::Nothing)?;
            f.goto(join)?;
        }
        f.at = join;
        value = f.push(Stmt::call(get.clone(), [slot.into()]), Type::FLOAT64)?.into();
    }
    f.finish(value)
}

/// Variables that are all set at the start and read at the end, with branches between that set one each.
pub fn distant_variables(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let [new, set, get] = ["new_slot", "slot_set!", "slot_get"].map(|name| Operand::global("BBKit", name));
    let float = Operand::Constant(ircode::Constant::Type(std::sync::Arc::new(Type::FLOAT64)));
    let mut slots = Vec::new();
    for _ in 0..size / 7 {
        let slot = f.push(Stmt::call(new.clone(), [float.clone()]), Type::slot(Type::FLOAT64))?;
        f.call(&set, [slot.into(), argument(2)], Type::Nothing)?;
        slots.push(slot);
    }
    for slot in &slots {
        let [then, join] = [(); 2].map(|()| f.bb.push_block());
        f.branch(argument(4), then, join)?;
        f.at = then;
        f.call(&set, [(*slot).into(), 1.0.into()], Type::Nothing)?;
        f.goto(join)?;
        f.at = join;
    }
    let mut sum = argument(2);
    for slot in slots {
        let value = f.push(Stmt::call(get.clone(), [slot.into()]), Type::FLOAT64)?;
        sum = f.push(Stmt::call(Operand::global("Base", "add_float"), [sum, value.into()]), Type::FLOAT64)?.into();
    }
    f.finish(sum)
}

/// Pairs in slots, of which one part is set in two branches and both are read where these meet.
pub fn projections(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let names = ["new_slot", "slot_set!", "slot_get", "slot_element"];
    let [new, set, get, element] = names.map(|name| Operand::global("BBKit", name));
    let ty = Type::tuple([Type::FLOAT64, Type::FLOAT64]);
    let of = Operand::Constant(ircode::Constant::of_type(ty.clone()));
    let getfield = Operand::global("Core", "getfield");
    let pair = f.call(&Operand::global("Core", "tuple"), [argument(2), argument(2)], ty.clone())?;
    let mut value = argument(2);
    for _ in 0..size / 11 {
        let slot = f.push(Stmt::call(new.clone(), [of.clone()]), Type::slot(ty.clone()))?;
        f.call(&set, [slot.into(), pair.into()], Type::Nothing)?;
        let part = f.call(&element, [slot.into(), 1.into()], Type::slot(Type::FLOAT64))?;
        let [then, otherwise, join] = [(); 3].map(|()| f.bb.push_block());
        f.branch(argument(4), then, otherwise)?;
        for (block, written) in [(then, value.clone()), (otherwise, argument(2))] {
            f.at = block;
            f.call(&set, [part.into(), written], Type::Nothing)?;
            f.goto(join)?;
        }
        f.at = join;
        let whole = f.push(Stmt::call(get.clone(), [slot.into()]), ty.clone())?;
        value = f.call(&getfield, [whole.into(), 1.into()], Type::FLOAT64)?.into();
    }
    f.finish(value)
}

/// Pairs that are made and taken apart.
pub fn pairs(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let [tuple, getfield] = ["tuple", "getfield"].map(|name| Operand::global("Core", name));
    let mut values = [argument(2), argument(2)];
    let ty = Type::tuple([Type::FLOAT64, Type::FLOAT64]);
    for _ in 0..size / 3 {
        let pair = f.call(&tuple, values, ty.clone())?;
        values = [
            f.call(&getfield, [pair.into(), 2.into()], Type::FLOAT64)?,
            f.call(&getfield, [pair.into(), 1.into()], Type::FLOAT64)?,
        ]
        .map(Operand::from);
    }
    let [value, _] = values;
    f.finish(value)
}

/// Branches whose one side goes straight to where they meet, where they are critical edges, over blocks with nothing
/// but a goto.
pub fn detours(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    for _ in 0..size / 3 {
        let [then, detour, join] = [(); 3].map(|()| f.bb.push_block());
        f.branch(argument(4), then, join)?;
        f.at = then;
        f.goto(detour)?;
        f.at = detour;
        f.goto(join)?;
        f.at = join;
    }
    f.finish(argument(2))
}

/// Conditions, each of which goes on to the next, or out: by a block of its own that is empty and goes to that of the
/// next, as `a && b && c` is compiled.
pub fn early_exits(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let exits: Vec<_> = (0..size / 3).map(|_| f.bb.push_block()).collect();
    for &exit in &exits {
        let next = f.bb.push_block();
        f.branch(argument(4), next, exit)?;
        f.at = next;
    }
    let end = f.bb.push_block();
    f.goto(end)?;
    let nexts = exits.iter().skip(1).copied().chain([end]);
    for (&exit, next) in exits.iter().zip(nexts) {
        f.at = exit;
        f.goto(next)?;
    }
    f.at = end;
    f.finish(argument(2))
}

/// Blocks of which every second is not reached.
pub fn unreached(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    for _ in 0..size / 3 {
        let [skipped, next] = [(); 2].map(|()| f.bb.push_block());
        f.goto(next)?;
        f.at = skipped;
        f.push(Stmt::nothing(), Type::Nothing)?;
        f.goto(next)?;
        f.at = next;
    }
    f.finish(argument(2))
}

/// Switches of four branches each.
pub fn switches(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    for _ in 0..size / 5 {
        let [a, b, c, d] = [(); 4].map(|()| f.bb.push_block());
        let switch = Switch::new([(argument(4), a), (argument(4), b), (argument(4), c)], d);
        f.push(Stmt::Switch(switch), Type::Any)?;
        let next = f.bb.push_block();
        for block in [a, b, c, d] {
            f.at = block;
            f.goto(next)?;
        }
        f.at = next;
    }
    f.finish(argument(2))
}

/// How deep the loops of [`loop_nest`] are in each other.
const DEPTH: usize = 500;

/// Nests of loops, very deep in each other, with a statement in each loop that does not change there.
pub fn loop_nest(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let mul = Operand::global("Base", "mul_float");
    let depth = DEPTH.min(size / 3);
    for _ in 0..size / (3 * depth.max(1)) {
        let mut heads = Vec::with_capacity(depth);
        for _ in 0..depth {
            let head = f.bb.push_block();
            f.goto(head)?;
            f.at = head;
            f.call(&mul, [argument(2), 0.5.into()], Type::FLOAT64)?;
            heads.push(head);
        }
        for head in heads.into_iter().rev() {
            let exit = f.bb.push_block();
            f.branch(argument(4), head, exit)?;
            f.at = exit;
        }
    }
    f.finish(argument(2))
}

/// Calls of a function `once` that the module is to have.
pub fn calls(size: usize) -> Result<BBCode, EditError> {
    let mut f = Writer::new();
    let once = Operand::global("Main", "once");
    let mut value = argument(2);
    for _ in 0..size {
        value = f.push(Stmt::call(once.clone(), [value]), Type::FLOAT64)?.into();
    }
    f.finish(value)
}
