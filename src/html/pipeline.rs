//! The page of a pipeline of passes.

use std::collections::BTreeSet;

use bbcode::{BBCode, BBlock, BlockId};
use ircode::wording::counted;
use ircode::{Function, Module, Style};
use passes::Step;

use super::diff;
use super::graph;
use super::listing::{Listing, Manner};
use super::page::{Item, Page, graph_panel, listing_panel, panels, rows_panel, shown_name};

/// Records what each step of a [`PassManager`](passes::PassManager) changes, or what is changed
/// [by hand](Self::record_change), for a page that shows it: before and after side by side, with the control-flow graph
/// after.
///
/// Beside the page so far, which has what was changed and no more, one copy of the program is held.
///
/// ```
/// use bbkit::html::PipelineRecorder;
/// use passes::{PassManager, find_pass};
///
/// let parsed = ircode::parse_module("
/// function three()::Int64
/// 1 ─ %1 = Base.add_int(1, 2)::Int64
/// └──      return %1
/// end
/// ")?;
/// let mut module = bbkit::to_bbcode(&parsed.module)?;
/// let mut recorder = PipelineRecorder::new("three.ir", &module);
/// let passes = [find_pass("constant-folding")?, find_pass("dead-code")?];
/// PassManager::new(passes).on_step(|step, module| recorder.record(step, module)).run(&mut module, None)?;
/// let page = recorder.finish();
/// assert_eq!(page.matches("<section ").count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PipelineRecorder {
    page: Page,
    before: Module<BBCode>,
}

impl std::fmt::Debug for PipelineRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PipelineRecorder").finish_non_exhaustive()
    }
}

impl PipelineRecorder {
    /// A recorder for what happens to this program. `title` names it.
    pub fn new(title: &str, module: &Module<BBCode>) -> PipelineRecorder {
        let mut page = Page::new(title, "passes, step by step");
        let mut content = String::new();
        for function in module.functions() {
            heading(&mut content, function, module);
            let listing = listing_panel("BBCode", "keyed by ID", &Listing::of_bbcode(function), Manner::default());
            content.push_str(&panels(&[listing], &drawing("Control flow", function, None)));
        }
        let statements = module.functions().iter().map(|function| function.body.inst_count()).sum();
        let facts = size(statements, module.functions().iter().map(|function| function.body.block_count()).sum());
        let item = Item { name: "the program", detail: &facts, class: "initial" };
        page.add(&item, "Before the first pass", &facts, &content);
        PipelineRecorder { page, before: module.clone() }
    }

    /// Records a step, after which the program is `module`: to be called by
    /// [`PassManager::on_step`](passes::PassManager::on_step).
    pub fn record(&mut self, step: &Step, module: &Module<BBCode>) {
        let changed = match (&step.function, step.changed) {
            (_, false) => Vec::new(),
            (Some(name), true) => module.function(name).filter(|new| self.is_changed(new)).into_iter().collect(),
            (None, true) => self.changed_functions(module),
        };
        let name = format!("{}. {}", step.number, step.pass);
        let on = step.function.as_ref().map_or("the module", |name| shown_name(name));
        let mark = match (step.skipped, step.failed) {
            (true, _) => Some("left out"),
            (_, true) => Some("failed"),
            _ => None,
        };
        let beside = if step.function.is_none() && step.changed { self.changes_beside(module) } else { Vec::new() };
        self.add(&name, Some(on), &changed, &beside, module, mark);
    }

    /// Records what was changed by hand since the last record, or since the start, after which the program is `module`.
    /// `name` says what was done.
    ///
    /// ```
    /// use bbkit::html::PipelineRecorder;
    ///
    /// let parsed = ircode::parse_module("
    /// function same(x::Float64)::Float64
    /// 1 ─ return x
    /// end
    /// ")?;
    /// let mut module = bbkit::to_bbcode(&parsed.module)?;
    /// let mut recorder = PipelineRecorder::new("same.ir", &module);
    /// let body = module.body_mut("same").ok_or("no such function")?;
    /// let last = body.entry().and_then(|entry| body.last_inst(entry)).ok_or("no statements")?;
    /// body.split_block(last)?;
    /// recorder.record_change("split the block", &module);
    /// let page = recorder.finish();
    /// assert!(page.contains("1 → 2 blocks"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record_change(&mut self, name: &str, module: &Module<BBCode>) {
        self.add(name, None, &self.changed_functions(module), &self.changes_beside(module), module, None);
    }

    /// What has come and gone beside the code of functions: a line each.
    fn changes_beside(&self, module: &Module<BBCode>) -> Vec<String> {
        let functions = |module: &Module<BBCode>| {
            module.functions().iter().map(|function| shown_name(&function.name).to_string()).collect::<Vec<_>>()
        };
        let declared = |module: &Module<BBCode>| module.declarations().map(|each| each.name().to_string()).collect();
        let line =
            |what: &str, names: Vec<String>| (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")));
        let (old, new): (Vec<String>, Vec<String>) = (declared(&self.before), declared(module));
        let gone = missing_in(functions(&self.before), &functions(module));
        let lines = [
            line("removed", gone),
            line("no longer declared", missing_in(old.clone(), &new)),
            line("declared", missing_in(new, &old)),
        ];
        lines.into_iter().flatten().collect()
    }

    fn is_changed(&self, function: &Function<BBCode>) -> bool {
        !self.before.function(&function.name).is_some_and(|old| is_same(old, function))
    }

    /// The functions that are not as they were recorded last.
    fn changed_functions<'m>(&self, module: &'m Module<BBCode>) -> Vec<&'m Function<BBCode>> {
        module.functions().iter().filter(|function| self.is_changed(function)).collect()
    }

    /// Adds an entry for what changed these functions of the module, and what is `beside` them. `on` is what it ran on,
    /// `mark` what became of it if it did not simply run.
    fn add(
        &mut self,
        name: &str,
        on: Option<&str>,
        changed: &[&Function<BBCode>],
        beside: &[String],
        module: &Module<BBCode>,
        mark: Option<&str>,
    ) {
        let heading_text = on.map_or_else(|| name.to_string(), |on| format!("{name} on {on}"));
        let prefix = on.map(|on| format!("{on} · ")).unwrap_or_default();
        if changed.is_empty() && beside.is_empty() {
            let what = mark.unwrap_or("nothing changed");
            let class = if mark.is_some() { "skipped" } else { "unchanged" };
            self.page.add(&Item { name, detail: &format!("{prefix}{what}"), class }, &heading_text, what, "");
            return;
        }
        let mut content = String::new();
        for line in beside {
            content.push_str(&format!("<p>{}</p>\n", super::escape::escaped(line)));
        }
        let (mut counts, mut old_counts) = ((0, 0), (0, 0));
        for function in changed {
            let old = self.before.function(&function.name);
            counts = (counts.0 + function.body.inst_count(), counts.1 + function.body.block_count());
            if let Some(old) = old {
                old_counts = (old_counts.0 + old.body.inst_count(), old_counts.1 + old.body.block_count());
            }
            heading(&mut content, function, module);
            content.push_str(&difference(old, function));
        }
        let from_to = |from: usize, to: usize, what: &str| match from == to {
            true => counted(to, what),
            false => format!("{from} → {}", counted(to, what)),
        };
        let statements = from_to(old_counts.0, counts.0, "statement");
        let mark = mark.map(|mark| format!("{mark} · ")).unwrap_or_default();
        let facts = format!("{mark}{statements} · {}", from_to(old_counts.1, counts.1, "block"));
        let item = Item { name, detail: &format!("{prefix}{mark}{statements}"), class: "changed" };
        self.page.add(&item, &heading_text, &facts, &content);
        if !beside.is_empty() {
            self.before = module.clone();
            return;
        }
        for function in changed {
            self.before.replace_function((*function).clone());
        }
    }

    /// The page.
    pub fn finish(self) -> String {
        self.page.finish()
    }
}

/// The first names that are not among the others.
fn missing_in(names: Vec<String>, others: &[String]) -> Vec<String> {
    let others: BTreeSet<&String> = others.iter().collect();
    names.into_iter().filter(|name| !others.contains(name)).collect()
}

/// Whether nothing that a listing shows has changed: neither the header nor a statement nor an edge.
fn is_same(old: &Function<BBCode>, new: &Function<BBCode>) -> bool {
    let header = |function: &Function<BBCode>| {
        (function.parameters.clone(), function.varargs, function.result.clone(), function.body.argtypes.clone())
    };
    if header(old) != header(new) {
        return false;
    }
    let (old, new) = (&old.body, &new.body);
    let edges = |bb: &BBCode, block: BlockId| bb.block(block).and_then(BBlock::odd_edges).cloned();
    old.inst_count() == new.inst_count()
        && old.blocks().all(|block| edges(old, block) == edges(new, block))
        && old.blocks().eq(new.blocks())
        && old.blocks().all(|block| old.next(block) == new.next(block) && old.insts(block).eq(new.insts(block)))
}

/// The name of a function, where there are several.
fn heading(content: &mut String, function: &Function<BBCode>, module: &Module<BBCode>) {
    if module.functions().len() > 1 {
        let name = super::escape::escaped(shown_name(&function.name));
        content.push_str(&format!("<h3>{name}</h3>\n"));
    }
}

/// A function before and after, and its graph after.
fn difference(old: Option<&Function<BBCode>>, new: &Function<BBCode>) -> String {
    let after = Listing::of_bbcode(new);
    let Some(old) = old else {
        let listing = listing_panel("After", "a new function", &after, Manner::default());
        return panels(&[listing], &drawing("Control flow after", new, None));
    };
    let before = Listing::of_bbcode(old);
    let (left, right) = diff::write(&before, &after, Manner::default());
    let left = rows_panel("Before", "", &left, before.width(), false);
    let right = rows_panel("After", "", &right, after.width(), false);
    panels(&[left, right], &drawing("Control flow after", new, Some(old)))
}

fn drawing(title: &str, function: &Function<BBCode>, old: Option<&Function<BBCode>>) -> String {
    let known: BTreeSet<String> =
        old.iter().flat_map(|old| old.body.blocks()).map(super::listing::without_sigil).collect();
    let is_new = |block: &str| old.is_some() && !known.contains(block);
    graph_panel(title, &graph::svg(&function.body, Style::Julia, Manner::default(), &is_new))
}

fn size(statements: usize, blocks: usize) -> String {
    format!("{} · {}", counted(statements, "statement"), counted(blocks, "block"))
}
