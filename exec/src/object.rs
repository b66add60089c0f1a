//! What values consist of on the heap: counted memory, and taking apart without recursion.

use std::cell::Cell;
use std::rc::Rc;

use crate::statistics::Allocations;
use crate::value::Value;

/// What an object is, for statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Tuple,
    Struct,
    Object,
    Case,
    Closure,
    Array,
    Stack,
    Slot,
}

impl Kind {
    /// Of a struct of a type that is mutable or not.
    pub(crate) fn of_struct(mutable: bool) -> Kind {
        if mutable { Kind::Object } else { Kind::Struct }
    }

    /// Where objects of this kind with so many values are counted.
    fn counter(self, allocations: &mut Allocations, values: usize) -> &mut u64 {
        match (self, values) {
            (Kind::Tuple, _) => &mut allocations.tuples,
            (Kind::Struct, _) => &mut allocations.structs,
            (Kind::Object, _) => &mut allocations.objects,
            (Kind::Case, 0) => &mut allocations.plain_cases,
            (Kind::Case, _) => &mut allocations.enums,
            (Kind::Closure, 0) => &mut allocations.plain_closures,
            (Kind::Closure, _) => &mut allocations.closures,
            (Kind::Array, _) => &mut allocations.arrays,
            (Kind::Stack, _) => &mut allocations.stacks,
            (Kind::Slot, _) => &mut allocations.slots,
        }
    }
}

/// Counts the memory that the values of one machine hold.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    used: Cell<usize>,
    limit: Cell<usize>,
    /// Counted for statistics: what was made, the bytes it took, and the most that was in use.
    allocations: Cell<Allocations>,
    bytes: Cell<u64>,
    peak: Cell<usize>,
}

/// More memory was asked for than the limit allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OutOfMemory;

impl Meter {
    pub(crate) fn new(limit: usize) -> Rc<Meter> {
        Rc::new(Meter { limit: Cell::new(limit), ..Meter::default() })
    }

    /// The bytes that may be used in all.
    pub(crate) fn limit(&self) -> usize {
        self.limit.get()
    }

    fn take(&self, bytes: usize) -> Result<(), OutOfMemory> {
        let used = self.used.get().checked_add(bytes).filter(|&used| used <= self.limit.get()).ok_or(OutOfMemory)?;
        self.used.set(used);
        self.peak.set(self.peak.get().max(used));
        self.bytes.set(self.bytes.get() + bytes as u64);
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes));
    }

    /// The values of a new object.
    pub(crate) fn fields(self: &Rc<Meter>, kind: Kind, values: Vec<Value>) -> Result<Fields, OutOfMemory> {
        let count = values.len();
        let fields = self.contents(kind, values)?;
        self.count(|allocations| kind.counter(allocations, count));
        Ok(fields)
    }

    /// Other values for an object that was made and counted before.
    pub(crate) fn contents(self: &Rc<Meter>, kind: Kind, values: Vec<Value>) -> Result<Fields, OutOfMemory> {
        let mut fields = Fields { values: Vec::new(), charged: 0, kind, meter: self.clone() };
        fields.charge_for(values.len())?;
        fields.values = values;
        Ok(fields)
    }

    fn count(&self, counter: impl Fn(&mut Allocations) -> &mut u64) {
        let mut allocations = self.allocations.get();
        *counter(&mut allocations) += 1;
        self.allocations.set(allocations);
    }

    /// Asks whether an object of `count` values would fit, before the values are made.
    pub(crate) fn would_fit(&self, count: usize) -> Result<(), OutOfMemory> {
        let bytes = count.checked_mul(size_of::<Value>()).ok_or(OutOfMemory)?;
        let used = self.used.get().checked_add(bytes).ok_or(OutOfMemory)?;
        if used <= self.limit.get() { Ok(()) } else { Err(OutOfMemory) }
    }

    /// What was made so far, the bytes that it took, and the most bytes that were in use at one time.
    pub(crate) fn counts(&self) -> (Allocations, u64, u64) {
        (self.allocations.get(), self.bytes.get(), self.peak.get() as u64)
    }
}

/// The values in an object. Their memory is counted, and they are taken apart without recursion, however deep they
/// nest.
#[derive(Debug)]
pub(crate) struct Fields {
    values: Vec<Value>,
    charged: usize,
    kind: Kind,
    meter: Rc<Meter>,
}

/// The bytes that an object takes beside its values.
const OVERHEAD: usize = 64;

impl Fields {
    /// Values that the host made, whose memory no machine counts.
    pub(crate) fn uncounted(kind: Kind, values: Vec<Value>) -> Fields {
        Fields { values, charged: 0, kind, meter: Meter::new(usize::MAX) }
    }

    fn charge_for(&mut self, count: usize) -> Result<(), OutOfMemory> {
        let bytes = count.checked_mul(size_of::<Value>()).and_then(|b| b.checked_add(OVERHEAD)).ok_or(OutOfMemory)?;
        if bytes > self.charged {
            self.meter.take(bytes - self.charged)?;
        } else {
            self.meter.give_back(self.charged - bytes);
        }
        self.charged = bytes;
        Ok(())
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut [Value] {
        &mut self.values
    }

    pub(crate) fn push(&mut self, value: Value) -> Result<(), OutOfMemory> {
        if self.charged < OVERHEAD + (self.values.len() + 1) * size_of::<Value>() {
            // Charged ahead, as the vector grows ahead.
            self.charge_for((self.values.len() + 1).max(4) * 2)?;
            if self.kind == Kind::Stack {
                self.meter.count(|allocations| &mut allocations.stack_growths);
            }
        }
        self.values.push(value);
        Ok(())
    }
}

impl Fields {
    /// Puts other values in the place of those that are there.
    #[cfg(feature = "native")]
    pub(crate) fn replace(&mut self, values: Vec<Value>) -> Result<(), OutOfMemory> {
        self.charge_for(values.len())?;
        self.values = values;
        Ok(())
    }

    /// Takes the last value out.
    pub(crate) fn pop(&mut self) -> Option<Value> {
        self.values.pop()
    }
}

impl Drop for Fields {
    fn drop(&mut self) {
        self.meter.give_back(self.charged);
        if !self.values.iter().any(Value::owns_values) {
            return;
        }
        let mut rest = std::mem::take(&mut self.values);
        while let Some(mut value) = rest.pop() {
            // What is owned by this value alone moves to the list, so that dropping the value goes no deeper.
            value.take_owned_values(&mut rest);
        }
    }
}

impl Fields {
    /// Takes the values out.
    pub(crate) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.values)
    }
}
