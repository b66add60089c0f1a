//! The table, as text and as JSON.

use std::fmt::Write;

use serde_json::json;

use super::ours::Phases;
use super::rows::{self, Row};

/// What Enzyme takes for value and gradient, as a multiple of the fastest strict primal of three sets of gcc's flags:
/// LLVM 19, in one run on a virtual machine with two cores of an AMD EPYC of the Zen 3 generation. It is not part of
/// this bench. Where the primal is in Rust here and faster than in C, as that of gmm may be, a ratio says less; and the
/// adjoint of logistic at 10⁶ steps is subnormal most of the way, which costs an Intel core forty times as much as that
/// AMD core.
const ENZYME: [(&str, usize, f64); 17] = [
    ("bs", 1000, 2.53),
    ("branch", 1000, 2.27),
    ("sincos", 1000, 1.68),
    ("sincos", 1_000_000, 1.70),
    ("logistic", 1000, 2.69),
    ("logistic", 1_000_000, 2.71),
    ("newton", 1000, 7.06),
    ("tri", 300, 1.39),
    ("sumsq", 10_000, 1.25),
    ("sumsq", 1_000_000, 1.31),
    ("fsub", 200, 3.25),
    ("lse", 10_000, 1.68),
    ("rosen", 10_000, 1.53),
    ("mlp", 16, 2.96),
    ("gmm", 1000, 3.24),
    ("ba", 1000, 4.33),
    ("ode", 1000, 2.78),
];

/// How much slower than Enzyme a row may be.
const MARGIN: f64 = 1.15;

fn enzyme(row: &Row) -> f64 {
    let of = |(name, n, _): &&(&str, usize, f64)| *name == row.reference.name && *n == row.reference.n;
    ENZYME.iter().find(of).map_or(f64::NAN, |(_, _, ratio)| *ratio)
}

/// What stands above the steps to code that was made with little effort.
pub(crate) const QUICK: &str = "\nwith little effort (Effort::Quick)\n";

/// The columns of ratios.
fn ratios(row: &Row) -> [(&'static str, f64); 6] {
    [
        ("our primal", row.ratio(row.value)),
        ("our gradient", row.ratio(row.gradient)),
        ("quick gradient", row.ratio(row.quick_gradient)),
        ("hand", row.ratio(row.hand.ns)),
        ("tape", row.ratio(row.tape)),
        ("enzyme", enzyme(row)),
    ]
}

fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// The geometric mean of each column.
fn means(rows: &[Row]) -> Vec<(&'static str, f64)> {
    let Some(first) = rows.first() else { return Vec::new() };
    let column = |i: usize| rows.iter().map(|row| ratios(row)[i].1).collect::<Vec<_>>();
    ratios(first).iter().enumerate().map(|(i, (name, _))| (*name, mean(&column(i)))).collect()
}

/// The rows that are slower than Enzyme by more than the margin.
fn slow(rows: &[Row]) -> usize {
    rows.iter().filter(|row| row.ratio(row.gradient) > MARGIN * enzyme(row)).count()
}

/// Of recurrences: how the ratio of our gradient at 10⁶ steps compares with that at 10³.
fn growth(rows: &[Row]) -> Vec<(&'static str, f64)> {
    let ratio = |name: &str, n: usize| {
        rows.iter().find(|row| row.reference.name == name && row.reference.n == n).map(|row| row.ratio(row.gradient))
    };
    let of = |name| Some((name, ratio(name, 1_000_000)? / ratio(name, 1000)?));
    ["sincos", "logistic"].into_iter().filter_map(of).collect()
}

/// A ratio in four characters or so.
fn shown(ratio: f64) -> String {
    if ratio < 100.0 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

/// The table.
pub(crate) fn text(rows: &[Row], engine: &str) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let result = write_text(&mut out, rows, engine);
    debug_assert!(result.is_ok());
    out
}

fn write_text(out: &mut String, rows: &[Row], engine: &str) -> std::fmt::Result {
    writeln!(
        out,
        "Times as multiples of the fastest strict primal; ours by the {engine}. Enzyme's are not of this run.\n"
    )?;
    write!(out, "{:<9} {:>8} {:>10}  {:<17}", "kernel", "n", "primal µs", "of")?;
    writeln!(
        out,
        " {:>11} {:>13} {:>7} {:>7} {:>7} {:>7} {:>12}",
        "our primal", "our gradient", "quick", "hand", "tape", "Enzyme", "trace bytes"
    )?;
    for row in rows {
        let [primal, gradient, quick, hand, tape, enzyme] = ratios(row).map(|(_, ratio)| shown(ratio));
        let (name, n, best) = (row.reference.name, row.reference.n, row.primal);
        write!(out, "{name:<9} {n:>8} {:>10.2}  {:<17}", best.ns / 1e3, best.flags)?;
        write!(out, " {primal:>11} {gradient:>13} {quick:>7} {hand:>7} {tape:>7} {enzyme:>7}")?;
        writeln!(out, " {:>12}", 8 * row.trace.saved)?;
    }
    let means: Vec<String> = means(rows).iter().map(|(_, mean)| shown(*mean)).collect();
    if let [primal, gradient, quick, hand, tape, enzyme] = &means[..] {
        write!(out, "{:<47}", "geometric mean")?;
        writeln!(out, " {primal:>11} {gradient:>13} {quick:>7} {hand:>7} {tape:>7} {enzyme:>7}")?;
    }
    writeln!(
        out,
        "\nslower than Enzyme by more than {:.0} %: {} of {} rows",
        100.0 * (MARGIN - 1.0),
        slow(rows),
        rows.len()
    )?;
    for (name, growth) in growth(rows) {
        writeln!(out, "{name}: the ratio of our gradient at n = 10⁶ is {growth:.2} of that at 10³")?;
    }
    // The text is the same for each size.
    let mut named: Vec<&Row> = rows.iter().collect();
    named.dedup_by_key(|row| row.reference.name);
    write!(out, "\n{}", phases(named.iter().map(|row| (row.reference.name, &row.phases))))?;
    write!(out, "{QUICK}{}", phases(named.iter().map(|row| (row.reference.name, &row.quick_phases))))
}

/// How long each step from text to gradient takes.
pub(crate) fn phases<'p>(named: impl IntoIterator<Item = (&'p str, &'p Phases)>) -> String {
    let mut out = String::new();
    for (name, phases) in named {
        if out.is_empty() {
            let steps: String = phases.iter().map(|(phase, _)| format!(" {phase:>17}")).collect();
            out = format!("{:<9}{steps} {:>10}\n", "µs", "together");
        }
        let each: String = phases.iter().map(|(_, ns)| format!(" {:>17.1}", ns / 1e3)).collect();
        let together: f64 = phases.iter().map(|(_, ns)| ns).sum();
        out.push_str(&format!("{name:<9}{each} {:>10.1}\n", together / 1e3));
    }
    out
}

/// How long it takes from text to a gradient that can be called, and to a fast one.
pub(crate) fn tiers(named: &[(&str, [f64; 2])]) -> String {
    let mut out = String::from("\nreplaced by fast code while it is called (compile_tiered), on one core\n");
    out.push_str(&format!("{:<9} {:>17} {:>17}\n", "µs", "can be called", "is fast"));
    for (name, [called, fast]) in named {
        out.push_str(&format!("{name:<9} {:>17.1} {:>17.1}\n", called / 1e3, fast / 1e3));
    }
    out
}

/// The table as JSON.
pub(crate) fn json(rows: &[Row], engine: &str) -> serde_json::Value {
    let means: serde_json::Map<String, serde_json::Value> =
        means(rows).into_iter().map(|(name, mean)| (name.replace(' ', "_"), json!(mean))).collect();
    let growth: serde_json::Map<String, serde_json::Value> =
        growth(rows).into_iter().map(|(name, growth)| (name.into(), json!(growth))).collect();
    json!({
        "engine": engine,
        "rows": rows.iter().map(|row| rows::json(row, enzyme(row))).collect::<Vec<_>>(),
        "geometric_means": means,
        "slower_than_enzyme": slow(rows),
        "growth": growth,
    })
}
