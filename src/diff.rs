//! Comparing programs up to renaming.

pub(crate) mod align;
mod keys;
mod matching;
mod refinement;
mod rows;
mod shown;
mod side;

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::text::print_declaration;
use ircode::{Declaration, Function, Module, Name, Operand, Stmt};

/// What counts as a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiffOptions {
    /// Lines, flags, call infos, debug infos, expressions about functions, names of arguments and versions count, too.
    pub all: bool,
}

/// Which of two programs a row belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The first only.
    Removed,
    /// The second only.
    Added,
}

/// A row of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffRow {
    /// Which program has it; `None` for both.
    pub change: Option<Change>,
    /// The block in which it stands, as it is called in the gutter. `None` for what stands in no block.
    pub block: Option<String>,
    /// The row as it is shown, gutter included. What both programs have is shown in the names of the second; a value or
    /// block that only the first has is `%a5`, `#a5`.
    pub text: String,
}

/// How two functions differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionDiff {
    /// The name, in the second program if it is there.
    pub name: Name,
    /// Which program has it; `None` for both.
    pub change: Option<Change>,
    /// All rows, those that are equal included: a statement that was changed is two rows, removed and added. Empty if
    /// the functions are equal.
    pub rows: Vec<DiffRow>,
}

impl FunctionDiff {
    /// Whether the functions are equal up to renaming.
    pub fn is_equal(&self) -> bool {
        self.rows.is_empty()
    }
}

/// How two programs differ.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModuleDiff {
    /// The declarations of types and tables that differ, line by line.
    pub types: Vec<DiffRow>,
    /// The functions that differ: those of the second program in its order, then those that only the first has.
    pub functions: Vec<FunctionDiff>,
}

impl ModuleDiff {
    /// Whether the programs are equal up to renaming.
    pub fn is_equal(&self) -> bool {
        self.types.is_empty() && self.functions.is_empty()
    }
}

/// Compares two programs up to renaming.
///
/// Names of values and blocks make no difference, nor does the order in which blocks other than the entry are laid out
/// — with the gotos that a layout asks for —, the order of the entries of a φ, or that of the φs of a block. Functions
/// are compared with those of the same name; if each program has exactly one, these two, whatever they are called and
/// call themselves. The order of functions and of types makes no difference either, nor by which of Julia's modules
/// `===`, `isa` and `<:` are called, as listings do not say.
///
/// Nothing is taken for equal that is not: what stands for what is guessed, and then compared. Of programs that are
/// equal, everything is matched by the colour refinement of their graphs. Of others, blocks are matched by walking both
/// graphs from the entry, statements by the shortest edit script of each block ([Myers 1986][myers]), first over what
/// they compute four statements deep, then over less and less. That takes time linear in the program but for
/// logarithms; what differs in more than a hundred places between two equal statements is aligned less tightly.
///
/// [myers]: https://doi.org/10.1007/BF01840446
///
/// ```
/// use bbkit::{diff, to_bbcode};
/// use ircode::parse_module;
///
/// let read = |text: &str| to_bbcode(&parse_module(text).unwrap().module).unwrap();
/// let before = read("
/// function f(x::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// │   %2 = Base.sin(%1)::Float64
/// └──      return %2
/// end
/// ");
/// let after = read("
/// function f(x::Float64)::Float64
/// 1 ─      nothing::Nothing
/// │   %2 = Base.mul_float(x, x)::Float64
/// │   %3 = Base.cos(%2)::Float64
/// └──      return %3
/// end
/// ");
/// assert_eq!(diff(&before, &after, Default::default()).to_string(), "
///   function f(x::Float64)::Float64
/// + 1 ─ %1 = nothing::Nothing
///   │   %2 = Base.mul_float(_2, _2)::Float64
/// - │   %3 = Base.sin(%2)::Float64
/// + │   %3 = Base.cos(%2)::Float64
///   └──      return %3
///   end
/// ".trim_start_matches('\n'));
/// assert!(diff(&before, &before, Default::default()).is_equal());
/// ```
pub fn diff(a: &Module<BBCode>, b: &Module<BBCode>, options: DiffOptions) -> ModuleDiff {
    let mut diff = ModuleDiff { types: types(a, b), functions: Vec::new() };
    let mut push = |a: Option<&Function<BBCode>>, b: Option<&Function<BBCode>>| {
        let function = function_diff(a, b, options);
        if !function.is_equal() {
            diff.functions.push(function);
        }
    };
    if let ([of_a], [of_b]) = (a.functions(), b.functions()) {
        push(Some(of_a), Some(of_b));
        return diff;
    }
    for of_b in b.functions() {
        push(a.function(&of_b.name), Some(of_b));
    }
    for of_a in a.functions().iter().filter(|of_a| b.function(&of_a.name).is_none()) {
        push(Some(of_a), None);
    }
    diff
}

/// Compares two functions up to renaming, see [`diff`]. Their own names make no difference, also where they call
/// themselves.
pub fn diff_functions(a: &Function<BBCode>, b: &Function<BBCode>, options: DiffOptions) -> FunctionDiff {
    function_diff(Some(a), Some(b), options)
}

fn function_diff(a: Option<&Function<BBCode>>, b: Option<&Function<BBCode>>, options: DiffOptions) -> FunctionDiff {
    let change = match (a, b) {
        (Some(_), None) => Some(Change::Removed),
        (None, Some(_)) => Some(Change::Added),
        _ => None,
    };
    let name = b.or(a).map_or_else(|| Name::from(""), |function| function.name.clone());
    let [a, b] = [a.map(with_builtins_named_once), b.map(with_builtins_named_once)];
    let renamed = a.as_deref().filter(|a| a.name != name).map(|a| called(a, &name));
    FunctionDiff { name, change, rows: rows::rows(renamed.as_ref().or(a.as_deref()), b.as_deref(), options) }
}

/// Functions of Julia's compiler that print without the module by which they are called, between their operands.
/// Nothing can be called like them.
const BUILTINS: &[&str] = &["===", "isa", "<:"];

/// The function, in which these are called without a module.
fn with_builtins_named_once(function: &Function<BBCode>) -> Cow<'_, Function<BBCode>> {
    let is_renamed = |stmt: &Stmt<Ids>| match stmt {
        Stmt::Call(call) => matches!(&call.callee, Operand::Global(global)
            if matches!(global.module.as_str(), "Base" | "Core") && BUILTINS.contains(&global.name.as_str())),
        _ => false,
    };
    let renamed = function.body.all_insts().filter(|(_, inst)| is_renamed(&inst.stmt)).map(|(id, _)| id);
    let renamed: Vec<InstId> = renamed.collect();
    if renamed.is_empty() {
        return Cow::Borrowed(function);
    }
    let mut function = function.clone();
    for id in renamed {
        if let Some(Stmt::Call(call)) = function.body.stmt_mut(id)
            && let Operand::Global(global) = &call.callee
        {
            call.callee = Operand::global("", &global.name.clone());
        }
    }
    Cow::Owned(function)
}

/// A function that calls itself by another name. What is called by that name in it is another function, and is told
/// apart.
fn called(function: &Function<BBCode>, name: &Name) -> Function<BBCode> {
    let own = &function.name;
    let other = Name::from(format!("{name} of the first"));
    let new = |old: &Name| match old {
        old if old == own => Some(name.clone()),
        old if old == name => Some(other.clone()),
        _ => None,
    };
    let mut function = function.clone();
    let insts: Vec<InstId> = function.body.all_insts().map(|(id, _)| id).collect();
    for id in insts {
        let Some(inst) = function.body.inst_mut(id) else { continue };
        if let Stmt::Invoke(invoke) = &mut inst.stmt
            && let Some(new) = invoke.instance.name.as_ref().and_then(new)
        {
            Arc::make_mut(&mut invoke.instance).name = Some(new);
        }
        inst.stmt.for_each_operand_mut(&mut |operand| {
            if let Operand::Global(global) = operand
                && matches!(global.module.as_str(), "" | "Main")
                && let Some(new) = new(&global.name)
            {
                *operand = Operand::global(&global.module, &new);
            }
        });
    }
    function
}

/// The lines of the declarations that differ: those of the second program in its order, then those that only the first
/// has.
fn types(a: &Module<BBCode>, b: &Module<BBCode>) -> Vec<DiffRow> {
    let named = |module: &Module<BBCode>| -> Vec<(Name, Declaration)> {
        module.declarations().map(|declaration| (declaration.name(), declaration)).collect()
    };
    let (a, b) = (named(a), named(b));
    let by_name: HashMap<&Name, &Declaration> = a.iter().map(|(name, declaration)| (name, declaration)).collect();
    let declared: HashSet<&Name> = b.iter().map(|(name, _)| name).collect();
    let gone = a.iter().filter(|(name, _)| !declared.contains(name));
    let mut rows = Vec::new();
    let pairs = b.iter().map(|(name, declaration)| (by_name.get(name).copied(), Some(declaration)));
    let pairs = pairs.chain(gone.map(|(_, declaration)| (Some(declaration), None)));
    for (of_a, of_b) in pairs.filter(|(of_a, of_b)| of_a != of_b) {
        let (lines_a, lines_b) = (declaration(of_a), declaration(of_b));
        let keys = |lines: &[String]| -> Vec<u64> { lines.iter().map(|line| hash(line)).collect() };
        let pairs = align::align(&keys(&lines_a), &keys(&lines_b));
        let mut push = |change, lines: &[String]| {
            rows.extend(lines.iter().map(|line| DiffRow { change, block: None, text: line.clone() }));
        };
        let (mut i, mut j) = (0, 0);
        for (x, y) in pairs.into_iter().chain([(lines_a.len(), lines_b.len())]) {
            push(Some(Change::Removed), &lines_a[i..x]);
            push(Some(Change::Added), &lines_b[j..y]);
            push(None, lines_b.get(y..=y).unwrap_or_default());
            (i, j) = (x + 1, y + 1);
        }
    }
    rows
}

/// The lines of a declaration; none if there is none.
fn declaration(declaration: Option<&Declaration>) -> Vec<String> {
    let text = declaration.map(print_declaration).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// At most this many equal rows are shown before and behind a change; a longer stretch between two changes is cut.
const CONTEXT: usize = 3;

/// The listing, equal rows far from any change left out: ` ` before a row that both have, `-` before one of the first
/// program, `+` before one of the second.
impl fmt::Display for FunctionDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_rows(f, &self.rows)
    }
}

/// The listings of all functions that differ, an empty line between two.
impl fmt::Display for ModuleDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_rows(f, &self.types)?;
        for (index, function) in self.functions.iter().enumerate() {
            f.write_str(if index > 0 || !self.types.is_empty() { "\n" } else { "" })?;
            write!(f, "{function}")?;
        }
        Ok(())
    }
}

fn write_rows(f: &mut fmt::Formatter<'_>, rows: &[DiffRow]) -> fmt::Result {
    let mut start = 0;
    for stretch in rows.chunk_by(|a, b| a.change.is_none() && b.change.is_none()) {
        let end = start + stretch.len();
        let (first, last) = (start == 0, end == rows.len());
        // The header is always shown.
        let before = if first { 1 } else { CONTEXT };
        let behind = if last { 0 } else { CONTEXT };
        let cut = stretch.len() > 2 * CONTEXT;
        for (index, row) in stretch.iter().enumerate() {
            if cut && index >= before && index < stretch.len() - behind {
                if index == before {
                    writeln!(f, "  …")?;
                }
                continue;
            }
            let sign = match row.change {
                None => ' ',
                Some(Change::Removed) => '-',
                Some(Change::Added) => '+',
            };
            writeln!(f, "{}", format!("{sign} {}", row.text).trim_end())?;
        }
        start = end;
    }
    Ok(())
}
