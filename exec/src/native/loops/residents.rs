//! Elements that stay in registers while a loop runs: each round changes them in the same place, and nothing else in
//! the loop accesses their array but at other such places. They are loaded when the loop is entered, where it is known
//! that they exist, and stored where control leaves it (register promotion, Lu and Cooper, 1997).
//!
//! Shadows of what a loop reads on every round are such elements: as memory, each addition would wait for the store of
//! the one before.

use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Variable;
use hashbrown::HashMap;
use ircode::{ElementAccess, IRCode, Operand, Positions, Stmt, Type};

use super::straight::{Object, StraightLoop, origin};
use super::{CountedLoop, DEPTH, Finder, Index};
use crate::native::function::{Compiled, FunctionCompiler, Typed, trusted};
use crate::native::layout::{Shape, array};

/// More of them would not find registers.
const MOST: usize = 8;

/// The elements that can stay in registers while a loop runs, and everything that must be apart from them.
#[derive(Debug, Default)]
pub(crate) struct Residents {
    pub(crate) cells: Vec<Cell>,
    /// The element that a statement loads or stores.
    of: HashMap<usize, usize>,
    /// The arrays that the loop accesses.
    objects: Vec<Object>,
}

/// An element.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Cell {
    /// The number of its array.
    object: usize,
    /// An index a dimension, or one in memory order.
    indices: Vec<Index>,
}

/// A load or a store of an element in a loop.
struct Access {
    statement: usize,
    object: usize,
    /// `None` if the element is another one from round to round.
    indices: Option<Vec<Index>>,
    stores: bool,
}

impl Residents {
    /// The elements of a loop whose accesses are all inside of their arrays once it is entered; none if it calls or is
    /// likely to fail.
    pub(crate) fn find(finder: &Finder<'_>, found: &CountedLoop, blocks: &[usize]) -> Option<Residents> {
        let mut residents = Residents::default();
        let mut accesses: Vec<Access> = Vec::new();
        for &block in blocks {
            for statement in finder.ir.cfg.blocks.get(block)?.stmts.clone() {
                let stmt = finder.ir.stmts.stmts().get(statement)?;
                if matches!(stmt, Stmt::Phi(_) | Stmt::Goto(_) | Stmt::GotoIfNot(_) | Stmt::Value(_)) {
                    continue;
                }
                let Some(ElementAccess { array: object, indices, stored: value, .. }) =
                    finder.module.element_access(stmt)
                else {
                    let (primitive, args) = finder.module.primitive_call(stmt)?;
                    let is_plain = match (primitive.name, args) {
                        ("stack_get", _) if found.covered.contains_key(&statement) => true,
                        ("stack_push!", _) if found.pushes.contains(&statement) => true,
                        // Where a stack ends is known to the function alone.
                        ("stack_length" | "tuple", _) => true,
                        ("getfield", [Operand::Value(tuple), field]) if is_field(finder, tuple.index()?, field) => true,
                        _ => {
                            let effects = primitive.effects;
                            !effects.throws && !effects.writes && !effects.reads && !effects.allocates
                        }
                    };
                    is_plain.then_some(())?;
                    continue;
                };
                found.covered.contains_key(&statement).then_some(())?;
                let is_float = match value {
                    Some(Operand::Value(value)) => finder.ir.stmts.types().get(value.index()?) == Some(&Type::FLOAT64),
                    Some(_) => false,
                    None => finder.ir.stmts.types().get(statement) == Some(&Type::FLOAT64),
                };
                let of_floats = match finder.type_of(object)? {
                    Type::Array(array) if array.element == Type::FLOAT64 => {
                        indices.len() == 1 || indices.len() == array.rank as usize
                    }
                    _ => false,
                };
                let same = |index: &Operand<Positions>| finder.index(index, DEPTH).filter(|index| index.factor == 0);
                let indices = indices.iter().map(same).collect::<Option<Vec<Index>>>();
                let indices = indices.filter(|_| is_float && of_floats);
                let object = residents.object(finder, object)?;
                accesses.push(Access { statement, object, indices, stores: value.is_some() });
            }
        }
        for object in 0..residents.objects.len() {
            residents.keep(object, &accesses);
        }
        (!residents.cells.is_empty()).then_some(residents)
    }

    fn object(&mut self, finder: &Finder<'_>, operand: &Operand<Positions>) -> Option<usize> {
        if let Some(known) = self.objects.iter().position(|known| known.operand == *operand) {
            return Some(known);
        }
        self.objects.push(Object { operand: operand.clone(), origin: origin(finder, operand)?, stored: false });
        Some(self.objects.len() - 1)
    }

    /// Keeps the elements of an array, if all that are accessed stay the same and differ by constants.
    fn keep(&mut self, object: usize, accesses: &[Access]) {
        let of_object = || accesses.iter().filter(|access| access.object == object);
        let mut cells: Vec<Cell> = Vec::new();
        for access in of_object() {
            let Some(indices) = &access.indices else { return };
            let cell = Cell { object, indices: indices.clone() };
            if cells.first().is_some_and(|first| !first.differs_by_a_constant(&cell)) {
                return;
            }
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        if self.cells.len() + cells.len() > MOST || !of_object().any(|access| access.stores) {
            return;
        }
        for access in of_object() {
            let same = |cell: &Cell| Some(&cell.indices) == access.indices.as_ref();
            if let Some(cell) = cells.iter().position(same) {
                self.of.insert(access.statement, self.cells.len() + cell);
            }
        }
        if let Some(object) = self.objects.get_mut(object) {
            object.stored = true;
        }
        self.cells.extend(cells);
    }

    /// The number of the element among those that stay, if a statement accesses one.
    pub(crate) fn of(&self, statement: usize) -> Option<usize> {
        self.of.get(&statement).copied()
    }

    /// Where each element is accessed by a straight loop: its group and its offset there.
    pub(crate) fn in_straight(&self, straight: &StraightLoop) -> Vec<Option<(usize, i64)>> {
        let place = |cell: &Cell| {
            let operand = &self.objects.get(cell.object)?.operand;
            straight.place_of(operand, &cell.indices)
        };
        self.cells.iter().map(place).collect()
    }
}

/// Whether a number names a field of a tuple.
fn is_field(finder: &Finder<'_>, tuple: usize, field: &Operand<Positions>) -> bool {
    let fields = match finder.ir.stmts.types().get(tuple) {
        Some(Type::Tuple(fields)) => fields.len(),
        _ => 0,
    };
    field.as_int64().and_then(|field| usize::try_from(field).ok()).is_some_and(|field| (1..=fields).contains(&field))
}

impl Cell {
    /// Whether this is the element at the index of another one, but for a constant.
    fn differs_by_a_constant(&self, other: &Cell) -> bool {
        let (Some((first, rest)), Some((other_first, other_rest))) =
            (self.indices.split_first(), other.indices.split_first())
        else {
            return false;
        };
        first.terms == other_first.terms && rest == other_rest
    }
}

/// An element while its loop runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resident {
    pub(crate) number: Variable,
    address: Variable,
}

impl FunctionCompiler<'_, '_> {
    /// Places for elements that stay in registers.
    pub(crate) fn declare_residents(&mut self, residents: Option<&Residents>) -> Vec<Resident> {
        let cells = residents.map_or(0, |residents| residents.cells.len());
        let mut declare = |ty| self.variable(ty);
        (0..cells).map(|_| Resident { number: declare(clif::F64), address: declare(clif::I64) }).collect()
    }

    /// Whether the arrays whose elements stay share no memory with others that the loop accesses; `None` if there is
    /// nothing to compare.
    pub(crate) fn residents_apart(&mut self, ir: &IRCode, residents: &Residents) -> Compiled<Option<ir::Value>> {
        self.apart(ir, &residents.objects)
    }

    /// Loads the elements that stay, in front of the loop.
    pub(crate) fn load_residents(&mut self, ir: &IRCode, residents: &Residents, into: &[Resident]) -> Compiled<()> {
        for (cell, resident) in residents.cells.iter().zip(into) {
            let address = self.cell_address(ir, residents, cell)?;
            let number = self.builder.ins().load(clif::F64, trusted(), address, 0);
            self.write_variable(resident.address, address);
            self.write_variable(resident.number, number);
        }
        Ok(())
    }

    fn cell_address(&mut self, ir: &IRCode, residents: &Residents, cell: &Cell) -> Compiled<ir::Value> {
        let Some(object) = residents.objects.get(cell.object) else {
            return self.refuse("an array that is not there");
        };
        let (value, _) = self.peek(ir, &object.operand)?;
        let Some(parts) = self.array(&value) else { return self.refuse("an array that is not there") };
        let mut offset: Option<(ir::Value, ir::Value)> = None;
        for (dimension, index) in cell.indices.iter().enumerate() {
            let Some(at) = self.index_at_start(ir, index)? else { return self.refuse("an index that changes") };
            let size = self.header_word(&parts, array::dimension(dimension as u32));
            offset = Some(match offset {
                None => (at, size),
                Some((offset, stride)) => {
                    let further = self.builder.ins().imul(at, stride);
                    (self.builder.ins().iadd(offset, further), self.builder.ins().imul(stride, size))
                }
            });
        }
        let Some((offset, _)) = offset else { return self.refuse("an element without an index") };
        let data = self.header_word(&parts, array::DATA);
        Ok(self.at(data, offset, &parts.element))
    }

    /// The place of the element that the current statement accesses, if it stays in a register.
    fn resident(&self) -> Option<Variable> {
        let version = self.version.as_ref()?;
        let versioned = self.loops.get(version.number)?;
        let cell = versioned.counted.residents.as_ref()?.of(self.statement)?;
        versioned.residents.get(cell).map(|resident| resident.number)
    }

    /// The element that the current statement loads, if it stays in a register.
    pub(crate) fn resident_element(&mut self, array: &Typed) -> Option<Typed> {
        let variable = self.resident()?;
        let Shape::Array(element, _) = &array.layout.shape else { return None };
        let layout = self.compiler.layouts.of(element);
        let number = self.read_variable(variable);
        Some(Typed { layout, parts: [number].into_iter().collect() })
    }

    /// Stores the element of the current statement, if it stays in a register.
    pub(crate) fn set_resident_element(&mut self, value: &Typed) -> bool {
        match (self.resident(), value.one()) {
            (Some(variable), Some(number)) => {
                self.write_variable(variable, number);
                true
            }
            _ => false,
        }
    }

    /// Whether elements stay in registers in the loop that is being compiled.
    pub(crate) fn has_residents(&self) -> bool {
        let version = self.version.as_ref().and_then(|version| self.loops.get(version.number));
        version.is_some_and(|versioned| !versioned.residents.is_empty())
    }

    /// Stores what stayed in registers, where control leaves the loop, also with an error.
    pub(crate) fn store_residents(&mut self) {
        let version = self.version.as_ref().and_then(|version| self.loops.get(version.number));
        let residents = version.map(|versioned| versioned.residents.clone()).unwrap_or_default();
        self.put_back_residents(&residents);
    }

    /// Stores elements that stayed in registers.
    pub(crate) fn put_back_residents(&mut self, residents: &[Resident]) {
        for resident in residents {
            let number = self.read_variable(resident.number);
            let address = self.read_variable(resident.address);
            self.builder.ins().store(trusted(), number, address, 0);
        }
    }
}
