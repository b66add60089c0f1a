//! What runs used, counted.

/// What a machine has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Statements executed, in all functions together.
    pub statements: u64,
    /// Values that were saved for later: those pushed on stacks, the elements of a tuple one by one, and the fields of
    /// structs whose type was [named](crate::Machine::count_saves_in), unless they are stacks.
    pub saved: u64,
    /// Objects that were made: arrays, structs, tuples, stacks, and so on.
    pub objects: u64,
    /// The same by kind, and how often stacks grew.
    pub allocations: Allocations,
    /// The memory that they took, in bytes, whether it was given back or not.
    pub bytes: u64,
    /// The most memory that was in use at one time, in bytes.
    pub peak: u64,
}

/// The objects that a machine has made, by kind.
///
/// Each object is counted where it is made, by a statement or, for a constant tuple, once when its function is run
/// first. What the caller made with another machine is not counted: neither arguments nor the shadows that are handed
/// in.
///
/// ```
/// use exec::{Machine, Value};
/// use ircode::parse_module;
///
/// let module = parse_module("
/// function plus(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = Base.add_float(x, y)::Float64
/// └──      return %1
/// end
///
/// function f(x::Float64)::Float64
/// 1 ─ %1 = BBKit.partial_apply(Main.plus, x)::BBKit.Closure{Tuple{Float64}, Float64}
/// │   %2 = (%1)(2.0)::Float64
/// │   %3 = Core.tuple(%2, x)::Tuple{Float64, Float64}
/// │   %4 = Core.getfield(%3, 1)::Float64
/// └──      return %4
/// end
/// ")?.module;
/// let mut machine = Machine::new(&module);
/// machine.call("f", &[Value::from(1.5)])?;
/// let made = machine.statistics().allocations;
/// // The tuple can be in registers; the closure cannot, as its size does not show in its type.
/// assert_eq!((made.closures, made.tuples), (1, 1));
/// assert_eq!((made.made(), made.on_heap()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allocations {
    /// Closures that capture something.
    pub closures: u64,
    /// Closures that capture nothing: a function, and no memory of its own.
    pub plain_closures: u64,
    /// Cases of enums with a payload.
    pub enums: u64,
    /// Cases of enums without a payload.
    pub plain_cases: u64,
    /// Tuples and named tuples.
    pub tuples: u64,
    /// Structs whose type is immutable.
    pub structs: u64,
    /// Mutable structs and references.
    pub objects: u64,
    /// Arrays: the memory of each, which several may share. One that outgrows its memory takes another.
    pub arrays: u64,
    /// Stacks.
    pub stacks: u64,
    /// Slots.
    pub slots: u64,
    /// How often a push on a stack needed more memory than the stack had; its first memory is counted, too. A stack
    /// takes twice what it needs, so that this is the logarithm of its length.
    pub stack_growths: u64,
}

impl Allocations {
    /// All objects that were made, whatever they are.
    pub fn made(&self) -> u64 {
        self.on_heap() - self.stack_growths + self.plain_closures + self.plain_cases + self.tuples + self.structs
    }

    /// How often memory had to be asked for: what cannot be in registers, as its size does not show in its type, or as
    /// it has identity. These are closures that capture something, cases with a payload, mutable structs and
    /// references, arrays, stacks, slots, and growths of stacks. Tuples and immutable structs are values, made of
    /// registers.
    pub fn on_heap(&self) -> u64 {
        self.closures + self.enums + self.objects + self.arrays + self.stacks + self.slots + self.stack_growths
    }

    /// Each counter with what it counts, in the order of the fields.
    pub fn kinds(&self) -> [(&'static str, u64); 11] {
        [
            ("closures", self.closures),
            ("plain closures", self.plain_closures),
            ("enums", self.enums),
            ("plain cases", self.plain_cases),
            ("tuples", self.tuples),
            ("structs", self.structs),
            ("objects", self.objects),
            ("arrays", self.arrays),
            ("stacks", self.stacks),
            ("slots", self.slots),
            ("stack growths", self.stack_growths),
        ]
    }
}
