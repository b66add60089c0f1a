//! Copies of elements from one array to another, found where code copies bytes from address to address, and arrays that
//! are filled by their address.
//!
//! Julia's library writes `copyto!(to, i, from, j, n)` as `memmove(pointer(to, i), pointer(from, j), n * sizeof(T))`,
//! and `fill!(a, x)` of bytes as `memset(pointer(a), x, length(a))`, and compiled code has that inlined. Nothing here
//! reads or writes memory by an address, and no derivative follows one; but where it is seen from which array an
//! address comes and by how many elements it is moved on, it is an index.

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};

use crate::code::IRCode;
use crate::constant::Constant;
use crate::module::{Module, TypeKind};
use crate::names::{Names, SSAValue};
use crate::operand::Operand;
use crate::primitives::{MemoryEffect, foreign_call};
use crate::scalar::{Scalar, ScalarType};
use crate::stmt::{ExprNode, Stmt};
use crate::types::Type;
use crate::view::{Body, StatementView, View};

/// A statement that is to stand in the place of the one of this name.
#[derive(Clone, PartialEq, Debug)]
pub struct Replacement<N: Names> {
    /// The statement that is replaced.
    pub name: N::Value,
    /// The new one.
    pub stmt: Stmt<N>,
    /// The type of its result.
    pub ty: Type,
}

/// The longest way back from an address to its array, in statements, that is followed. Compiled code has four or five.
const LONGEST: usize = 16;

/// The bytes of an element that is no number and consists of none.
const REFERENCE: u64 = 8;

/// How deep the structs that are elements may hold structs.
const DEEPEST: usize = 8;

/// The address to which a statement copies, or which it fills, and the one from which it copies, if it does.
pub fn addresses_copied<N: Names>(stmt: &Stmt<N>) -> Option<(&Operand<N>, Option<&Operand<N>>)> {
    match stmt {
        Stmt::Expr(expr) => copied_by(expr).map(|copied| (copied.to, copied.source.address())),
        _ => None,
    }
}

/// What makes copies of elements of the copies by addresses in a body: each becomes `copyto!(to, i, from, j, n)`, and
/// what computed the addresses computes the indices. Statements are replaced one by one: none is added, and none moves.
///
/// An address is known where it is `jl_array_ptr(a)` of an array whose element type is a number or a struct of numbers,
/// moved on by `add_ptr` and `sub_ptr` by a multiple of their size, in whatever types of the same width. What
/// `jl_array_ptr_copy` copies are references to elements of other types. `memset` of as many bytes as an array of bytes
/// has becomes `fill!(a, x)`. Where an address is used for anything else, all that is reached from it stays as it is,
/// as does a copy that is between elements of two types, or behind a statement that moves first elements. Julia copies
/// outside of an array without a word; `copyto!` throws a `BoundsError`.
///
/// Linear in the body, of which the chains of addresses are the smallest part.
///
/// ```
/// use ircode::{IRCode, Module, parse_function, with_element_copies};
///
/// let function = parse_function("
/// 1 ─ %1 = $(Expr(:foreigncall, :(:jl_array_ptr), Ptr{Float64}, svec(Any), 0, :(:ccall), :(_2)))::Ptr{Float64}
/// │   %2 = $(Expr(:foreigncall, :(:jl_array_ptr), Ptr{Float64}, svec(Any), 0, :(:ccall), :(_3)))::Ptr{Float64}
/// │   %3 = Base.mul_int(_4, 8)::Int64
/// │   %4 = Base.bitcast(UInt64, %3)::UInt64
/// │   %5 = Base.add_ptr(%2, %4)::Ptr{Float64}
/// │   %6 = $(Expr(:foreigncall, :(:memmove), Ptr{Nothing}, svec(Ptr{Nothing}, Ptr{Nothing}, UInt64), 0, :(:ccall), :(%1), :(%5), :(%4)))::Ptr{Nothing}
/// └──      return nothing
/// ")?;
/// let mut ir: IRCode = function.body;
/// ir.argtypes = ["Any", "Vector{Float64}", "Vector{Float64}", "Int64"].map(ircode::Type::parse).to_vec();
/// let module: Module<IRCode> = Module::new();
/// assert_eq!(with_element_copies(&module, &ir).to_string(), "\
/// 1 ─ %1 = 1::Int64
/// │   %2 = 1::Int64
/// │   %3 = Base.mul_int(_4, 8)::Int64
/// │        Base.bitcast(UInt64, %3)::UInt64
/// │   %5 = Base.add_int(%2, _4)::Int64
/// │        BBKit.copyto!(_2, %1, _3, %5, _4)::Vector{Float64}
/// └──      return nothing
/// ");
/// # Ok::<(), ircode::TextError>(())
/// ```
pub fn element_copies<F, N: Names>(module: &Module<F>, view: &View<'_, N>) -> Vec<Replacement<N>> {
    let shifts = |statement: &StatementView<'_, N>| {
        let primitive = module.primitive_call(statement.stmt);
        primitive.is_some_and(|(primitive, _)| primitive.memory == MemoryEffect::Resize { shifts: true })
    };
    let indices = (0..view.statements.len()).zip(&view.statements);
    let shifts = indices.filter(|(_, statement)| shifts(statement)).map(|(index, _)| index).collect();
    let groups = Groups::default();
    let (copies, fills) = (Vec::new(), Vec::new());
    let mut found = Found { module, view, shifts, addresses: HashMap::new(), groups, copies, fills };
    for (index, statement) in view.statements.iter().enumerate() {
        if let Stmt::Expr(expr) = statement.stmt
            && let Some(copied) = copied_by(expr)
        {
            match copied.source {
                Source::Byte(byte) => found.add_fill(index, &copied, byte),
                Source::Bytes(from) => found.add_copy(index, &copied, from, false),
                Source::References(from) => found.add_copy(index, &copied, from, true),
            };
        }
    }
    if found.copies.is_empty() && found.fills.is_empty() {
        return Vec::new();
    }
    found.exclude_other_uses();
    found.replacements()
}

/// A body in which elements are copied in the place of bytes, as [`element_copies`] finds them.
pub fn with_element_copies<'i, F>(module: &Module<F>, ir: &'i IRCode) -> Cow<'i, IRCode> {
    if !ir.stmts.stmts().iter().any(|stmt| addresses_copied(stmt).is_some()) {
        return Cow::Borrowed(ir);
    }
    let replacements = element_copies(module, &ir.view());
    let mut ir = Cow::Borrowed(ir);
    for Replacement { name, stmt, ty } in replacements {
        let index = SSAValue::index(name);
        let body = ir.to_mut();
        if let Some(place) = index.and_then(|index| body.stmts.stmts_mut().get_mut(index)) {
            *place = stmt;
        }
        if let Some(place) = index.and_then(|index| body.stmts.types_mut().get_mut(index)) {
            *place = ty;
        }
    }
    ir
}

/// What a foreign function copies.
struct Copied<'s, N: Names> {
    to: &'s Operand<N>,
    source: Source<'s, N>,
    count: &'s Operand<N>,
}

/// Where what is copied comes from.
enum Source<'s, N: Names> {
    /// Bytes from this address on.
    Bytes(&'s Operand<N>),
    /// Elements, which are references, from this address on.
    References(&'s Operand<N>),
    /// This byte, again and again.
    Byte(&'s Operand<N>),
}

impl<'s, N: Names> Source<'s, N> {
    fn address(&self) -> Option<&'s Operand<N>> {
        match self {
            Source::Bytes(from) | Source::References(from) => Some(from),
            Source::Byte(_) => None,
        }
    }
}

fn copied_by<N: Names>(expr: &ExprNode<N>) -> Option<Copied<'_, N>> {
    let (symbol, args) = foreign_call(expr)?;
    match (symbol, args) {
        ("memmove" | "memcpy", [to, from, count, ..]) => Some(Copied { to, source: Source::Bytes(from), count }),
        ("memset", [to, byte, count, ..]) => Some(Copied { to, source: Source::Byte(byte), count }),
        ("jl_array_ptr_copy", [_, to, _, from, count, ..]) => {
            Some(Copied { to, source: Source::References(from), count })
        }
        _ => None,
    }
}

/// How an address comes about.
#[derive(Clone)]
enum Address<N: Names> {
    /// It is that of the first element.
    First,
    /// It is the one of this name, in another type.
    Same(N::Value),
    /// It is so many elements behind the one of this name.
    Behind(N::Value, Operand<N>),
    /// It is so many elements before it.
    Before(N::Value, Operand<N>),
}

/// A copy of which it is known what it copies.
struct Copy<N: Names> {
    index: usize,
    /// The arrays, to and from.
    arrays: [Operand<N>; 2],
    /// What becomes the indices.
    addresses: [N::Value; 2],
    count: Operand<N>,
}

/// An array of bytes that is filled.
struct Fill<N: Names> {
    index: usize,
    array: Operand<N>,
    byte: Operand<N>,
}

struct Found<'a, 'v, F, N: Names> {
    module: &'a Module<F>,
    view: &'a View<'v, N>,
    /// The statements that move first elements.
    shifts: Vec<usize>,
    /// What becomes an index, by the index of its statement.
    addresses: HashMap<usize, Address<N>>,
    /// The statements that are replaced together or not at all.
    groups: Groups,
    copies: Vec<Copy<N>>,
    fills: Vec<Fill<N>>,
}

/// Where an address leads back to.
struct Chain<N: Names> {
    array: Operand<N>,
    element: Type,
    /// The statements from the address back to that of the first element.
    links: Vec<(usize, Address<N>)>,
}

impl<F, N: Names> Found<'_, '_, F, N> {
    /// Adds a copy, if it is known of what; of elements that are references, and are counted, or of what is counted in
    /// bytes.
    fn add_copy(&mut self, index: usize, copied: &Copied<'_, N>, from: &Operand<N>, of_references: bool) {
        let chain = |address| self.chain(address, of_references);
        let (Some(from_address), Some(to_address)) = (from.as_value(), copied.to.as_value()) else { return };
        let (Some(to), Some(from)) = (chain(copied.to), chain(from)) else { return };
        if to.element != from.element || self.is_out_of_date(&to, index) || self.is_out_of_date(&from, index) {
            return;
        }
        let count = match of_references {
            true => Some(copied.count.clone()),
            false => {
                byte_size(self.module, &to.element, DEEPEST).and_then(|(size, _)| self.elements(copied.count, size))
            }
        };
        let Some(count) = count else { return };
        let arrays = [to.array, from.array];
        for (link, address) in to.links.into_iter().chain(from.links) {
            self.groups.join(index, link);
            self.addresses.insert(link, address);
        }
        self.copies.push(Copy { index, arrays, addresses: [to_address, from_address], count });
    }

    /// Adds an array of bytes that is filled as a whole.
    fn add_fill(&mut self, index: usize, copied: &Copied<'_, N>, byte: &Operand<N>) {
        let Some(to) = self.chain(copied.to, false).filter(|to| !self.is_out_of_date(to, index)) else { return };
        let at_first = to.links.iter().all(|(_, link)| matches!(link, Address::First | Address::Same(_)));
        let Some(ty) = to.element.as_scalar().filter(|ty| at_first && ty.bytes() == 1) else { return };
        let length = self.elements(copied.count, 1).and_then(|count| {
            let (primitive, args) = self.module.primitive_call(self.statement(&count)?.1)?;
            (matches!(primitive.name, "arraylen" | "length") && args == [to.array.clone()]).then_some(())
        });
        let (Some(()), Some(byte)) = (length, self.byte(byte, ty)) else { return };
        for (link, address) in to.links {
            self.groups.join(index, link);
            self.addresses.insert(link, address);
        }
        self.fills.push(Fill { index, array: to.array, byte });
    }

    /// The number of one byte that a C function takes as an `int`.
    fn byte(&self, int: &Operand<N>, ty: ScalarType) -> Option<Operand<N>> {
        if let Some(known) = integer(int) {
            let byte = Scalar::from_bits(ty, (known & 0xff) as u128);
            return Some(Operand::Constant(Constant::Scalar(byte)));
        }
        let (primitive, args) = self.module.primitive_call(self.statement(int)?.1)?;
        match (primitive.name, args) {
            ("zext_int" | "sext_int", [_, byte]) if self.view.operand_type(byte).as_scalar() == Some(ty) => {
                Some(byte.clone())
            }
            _ => None,
        }
    }

    /// Whether a first element may have been moved since the address was asked for.
    fn is_out_of_date(&self, chain: &Chain<N>, copy: usize) -> bool {
        let Some((first, _)) = chain.links.last() else { return true };
        let next = self.shifts.partition_point(|shift| shift <= first);
        self.shifts.get(next).is_some_and(|shift| *shift < copy) || (copy < *first && !self.shifts.is_empty())
    }

    /// The statement of a value.
    fn statement(&self, operand: &Operand<N>) -> Option<(usize, &Stmt<N>)> {
        let index = self.view.value_index(operand.as_value()?)?;
        Some((index, self.view.statements.get(index)?.stmt))
    }

    /// The way back from an address to the array in which it lies, whose elements may be references.
    fn chain(&self, address: &Operand<N>, of_references: bool) -> Option<Chain<N>> {
        let mut steps: Vec<(usize, Step<'_, N>)> = Vec::new();
        let mut at = address;
        let array = loop {
            let (index, stmt) = self.statement(at).filter(|_| steps.len() < LONGEST)?;
            let step = self.step(stmt)?;
            match &step {
                Step::First(array) => {
                    steps.push((index, Step::First(array)));
                    break *array;
                }
                Step::Same(base) | Step::Behind(base, _) | Step::Before(base, _) => at = base,
            }
            steps.push((index, step));
        };
        let Type::Array(ty) = self.view.operand_type(array) else { return None };
        let size = match (byte_size(self.module, &ty.element, DEEPEST), of_references) {
            (Some((size, _)), false) => size,
            (None, true) => REFERENCE,
            _ => return None,
        };
        let mut links = Vec::with_capacity(steps.len());
        for (index, step) in steps {
            let link = match step {
                Step::First(_) => Address::First,
                Step::Same(base) => Address::Same(base.as_value()?),
                Step::Behind(base, bytes) => Address::Behind(base.as_value()?, self.elements(bytes, size)?),
                Step::Before(base, bytes) => Address::Before(base.as_value()?, self.elements(bytes, size)?),
            };
            links.push((index, link));
        }
        Some(Chain { array: array.clone(), element: ty.element.clone(), links })
    }

    /// How a statement makes an address, if it may be one.
    fn step<'s>(&self, stmt: &'s Stmt<N>) -> Option<Step<'s, N>> {
        if let Some(of) = same_bits(self.module, stmt) {
            return Some(Step::Same(of));
        }
        let (primitive, args) = self.module.primitive_call(stmt)?;
        match (primitive.name, args) {
            _ if self.module.is_registered(primitive.name) => None,
            ("jl_array_ptr", [array]) => Some(Step::First(array)),
            ("add_ptr" | "add_int", [base, bytes]) => Some(Step::Behind(base, bytes)),
            ("sub_ptr" | "sub_int", [base, bytes]) => Some(Step::Before(base, bytes)),
            _ => None,
        }
    }

    /// What, times the size of an element, is this number of bytes.
    fn elements(&self, bytes: &Operand<N>, size: u64) -> Option<Operand<N>> {
        let size = i128::from(size);
        let mut at = bytes;
        for _ in 0..LONGEST {
            if let Some(constant) = integer(at) {
                // The way back is as far as the way around.
                let constant = i128::from(constant as i64);
                let count = i64::try_from(constant.checked_div(size)?).ok()?;
                return (constant % size == 0).then(|| Operand::from(count));
            }
            if size == 1 && self.view.operand_type(at) == Type::INT64 {
                return Some(at.clone());
            }
            let (_, stmt) = self.statement(at)?;
            if let Some(of) = same_bits(self.module, stmt) {
                at = of;
                continue;
            }
            let (primitive, args) = self.module.primitive_call(stmt)?;
            let count = match (primitive.name, args) {
                ("mul_int", [count, times] | [times, count]) if integer(times) == Some(size) => count,
                ("shl_int", [count, bits]) if integer(bits).and_then(two_to_the) == Some(size) => count,
                _ => return None,
            };
            // An index is an `Int64`.
            return (self.view.operand_type(count) == Type::INT64).then(|| count.clone());
        }
        None
    }

    /// Leaves out what is used otherwise, with all that belongs to it.
    fn exclude_other_uses(&mut self) {
        let filled = self.fills.iter().map(|fill| fill.index);
        let copies: HashSet<usize> = self.copies.iter().map(|copy| copy.index).chain(filled).collect();
        for (index, statement) in self.view.statements.iter().enumerate() {
            let uses_well = |value: N::Value| match self.addresses.get(&index) {
                Some(Address::First) => false,
                Some(Address::Same(base) | Address::Behind(base, _) | Address::Before(base, _)) => *base == value,
                None => is_for_compiler(statement.stmt),
            };
            let mut others: Vec<usize> = Vec::new();
            statement.stmt.for_each_use(|value| {
                let used = self.view.value_index(value);
                let well = match copies.contains(&index) {
                    true => !is_count(statement.stmt, value),
                    false => uses_well(value),
                };
                match used {
                    // Behind the addresses, what is kept alive for the call is named again. What is called has no
                    // result that is of use.
                    Some(used) if copies.contains(&used) => others.push(used),
                    Some(used) if self.addresses.contains_key(&used) && !well => others.push(used),
                    _ => {}
                }
            });
            for other in others {
                self.groups.exclude(other);
            }
        }
    }

    fn replacements(mut self) -> Vec<Replacement<N>> {
        let mut all = Vec::new();
        let mut addresses: Vec<(usize, Address<N>)> = std::mem::take(&mut self.addresses).into_iter().collect();
        addresses.sort_unstable_by_key(|(index, _)| *index);
        for (index, address) in addresses {
            let Some(statement) = self.view.statements.get(index) else { continue };
            if self.groups.is_excluded(index) {
                continue;
            }
            let moved = |name: &str, base: N::Value, by: Operand<N>| {
                Stmt::call(Operand::global("Base", name), [Operand::Value(base), by])
            };
            let stmt = match address {
                Address::First => Stmt::Value(Operand::from(1)),
                Address::Same(base) => Stmt::Value(Operand::Value(base)),
                Address::Behind(base, by) => moved("add_int", base, by),
                Address::Before(base, by) => moved("sub_int", base, by),
            };
            all.push(Replacement { name: statement.name, stmt, ty: Type::INT64 });
        }
        for copy in std::mem::take(&mut self.copies) {
            let Some(statement) = self.view.statements.get(copy.index) else { continue };
            if self.groups.is_excluded(copy.index) {
                continue;
            }
            let ([to, from], [to_first, from_first]) = (copy.arrays, copy.addresses);
            let ty = self.view.operand_type(&to);
            let args = [to, Operand::Value(to_first), from, Operand::Value(from_first), copy.count];
            let stmt = Stmt::call(Operand::global("BBKit", "copyto!"), args);
            all.push(Replacement { name: statement.name, stmt, ty });
        }
        for Fill { index, array, byte } in std::mem::take(&mut self.fills) {
            let Some(statement) = self.view.statements.get(index) else { continue };
            if self.groups.is_excluded(index) {
                continue;
            }
            let ty = self.view.operand_type(&array);
            let stmt = Stmt::call(Operand::global("BBKit", "fill!"), [array, byte]);
            all.push(Replacement { name: statement.name, stmt, ty });
        }
        all
    }
}

/// How a statement makes an address.
enum Step<'s, N: Names> {
    /// It asks this array for it.
    First(&'s Operand<N>),
    Same(&'s Operand<N>),
    /// So many bytes behind another.
    Behind(&'s Operand<N>, &'s Operand<N>),
    Before(&'s Operand<N>, &'s Operand<N>),
}

/// The operand whose bits a statement passes on.
fn same_bits<'s, F, N: Names>(module: &Module<F>, stmt: &'s Stmt<N>) -> Option<&'s Operand<N>> {
    match stmt {
        Stmt::Value(operand) => Some(operand),
        Stmt::Pi(pi) => Some(&pi.value),
        _ => match module.primitive_call(stmt)? {
            (primitive, [_, of]) if primitive.name == "bitcast" => Some(of),
            _ => None,
        },
    }
}

fn two_to_the(power: i128) -> Option<i128> {
    1_i128.checked_shl(u32::try_from(power).ok()?)
}

fn integer<N: Names>(operand: &Operand<N>) -> Option<i128> {
    match operand.as_constant()? {
        Constant::Scalar(scalar) if scalar.scalar_type().is_integer() => Some(scalar.to_i128()),
        _ => None,
    }
}

fn is_for_compiler<N: Names>(stmt: &Stmt<N>) -> bool {
    matches!(stmt, Stmt::Expr(expr) if expr.head.is_for_compiler())
}

/// Whether a value says how much a call copies, or what it fills an array with.
fn is_count<N: Names>(stmt: &Stmt<N>, value: N::Value) -> bool {
    let Stmt::Expr(expr) = stmt else { return false };
    copied_by(expr).is_some_and(|copied| {
        let byte = match copied.source {
            Source::Byte(byte) => byte.as_value(),
            _ => None,
        };
        copied.count.as_value() == Some(value) || byte == Some(value)
    })
}

/// The size of an element in an array, and at multiples of what it lies, in bytes: of numbers, and of immutable structs
/// and tuples of such, with names or without, as C has them. `None` for what an array holds by reference.
fn byte_size<F>(module: &Module<F>, ty: &Type, deeper: usize) -> Option<(u64, u64)> {
    let fields: Vec<&Type> = match ty {
        Type::Scalar(scalar) => {
            let bytes = scalar.bytes() as u64;
            return Some((bytes, bytes));
        }
        Type::Tuple(elements) => elements.iter().collect(),
        Type::NamedTuple(fields) => fields.iter().map(|(_, ty)| ty).collect(),
        Type::Named(name) => match &module.type_def(name)?.kind {
            TypeKind::Struct { mutable: false, fields } => fields.iter().map(|(_, ty)| ty).collect(),
            _ => return None,
        },
        _ => return None,
    };
    let (mut size, mut alignment) = (0_u64, 1_u64);
    for field in fields {
        // Versions of Julia do not agree on where in a struct numbers of 128 bits lie.
        let (bytes, multiple) =
            byte_size(module, field, deeper.checked_sub(1)?).filter(|(_, multiple)| *multiple <= 8)?;
        size = size.checked_next_multiple_of(multiple)?.checked_add(bytes)?;
        alignment = alignment.max(multiple);
    }
    // What takes no memory is not in it.
    (size > 0).then_some(())?;
    Some((size.checked_next_multiple_of(alignment)?, alignment))
}

/// Statements that belong together, as sets that are joined (Tarjan, 1975).
#[derive(Default)]
struct Groups {
    parents: HashMap<usize, usize>,
    excluded: HashSet<usize>,
}

impl Groups {
    fn root(&mut self, of: usize) -> usize {
        let mut at = of;
        while let Some(&parent) = self.parents.get(&at)
            && parent != at
        {
            let above = self.parents.get(&parent).copied().unwrap_or(parent);
            self.parents.insert(at, above);
            at = above;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents.insert(b, a);
    }

    fn exclude(&mut self, of: usize) {
        let root = self.root(of);
        self.excluded.insert(root);
    }

    fn is_excluded(&mut self, of: usize) -> bool {
        let root = self.root(of);
        self.excluded.contains(&root)
    }
}
