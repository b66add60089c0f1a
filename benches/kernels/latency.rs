//! How long it takes to get a gradient of code without loops: functions of 10³ to 10⁶ additions and multiplications,
//! each of two of the twelve values before it. And how fast the interpreter is.

mod straight;

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use self::straight::Straight;
use super::ours::{Argument, ENGINE, Ours};
use super::rows::{check, text};
use super::{Failure, clock, folder};

/// A size is measured in a process of its own, so that the most memory that it takes can be seen: that, and the first
/// run, are shown beside the least times.
pub(crate) fn run() -> Result<(), Failure> {
    let mut measured = Vec::new();
    println!("ns a statement; runs by the {ENGINE}\n");
    for n in [1_000, 10_000, 100_000, 1_000_000] {
        let output = Command::new(std::env::current_exe()?).args(["latency-of", &n.to_string()]).output()?;
        if !output.status.success() {
            return Err(format!("{n}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let size: Json = serde_json::from_slice(&output.stdout)?;
        let phases = size["phases"].as_array().ok_or("no phases")?;
        let ns = |phase: &Json| phase[1].as_f64().unwrap_or(f64::NAN);
        if measured.is_empty() {
            let names: String =
                phases.iter().map(|phase| format!(" {:>17}", phase[0].as_str().unwrap_or(""))).collect();
            println!("{:<10}{names} {:>10} {:>10} {:>9}", "statements", "total s", "first s", "peak MB");
        }
        let each: String = phases.iter().map(|phase| format!(" {:>17.1}", ns(phase) / f64::from(n))).collect();
        let total: f64 = phases.iter().map(ns).sum();
        let peak = size["peak_bytes"].as_f64().unwrap_or(f64::NAN);
        let first = size["first_ns"].as_f64().unwrap_or(f64::NAN);
        println!("{n:<10}{each} {:>10.4} {:>10.4} {:>9.0}", total / 1e9, first / 1e9, peak / 1e6);
        measured.push(size);
    }
    let (primal, gradient) = interpreter()?;
    println!("\nthe {ENGINE} on tri, ns a statement: {primal:.2}, its gradient {gradient:.2}");
    std::fs::create_dir_all(folder())?;
    let path = folder().join("latency.json");
    let all = json!({ "engine": ENGINE, "sizes": measured, "tri": { "ns": primal, "gradient_ns": gradient } });
    std::fs::write(&path, serde_json::to_string_pretty(&all)? + "\n")?;
    println!("\n{}", path.display());
    Ok(())
}

/// Measures one size, and prints JSON.
pub(crate) fn measure_one(words: &[String]) -> Result<(), Failure> {
    let n: usize = words.first().ok_or("which size?")?.parse()?;
    let (text, arguments, expected, partials) = {
        let straight = Straight::new(n);
        let (expected, partials) = straight.gradient();
        (straight.text(), straight.arguments.map(Argument::Float), expected, partials)
    };
    let mut least: Vec<(&str, f64)> = Vec::new();
    // What the first run took, which gets its memory from the system; later ones find it there.
    let mut first = (0.0, None);
    // As often as makes small sizes sure.
    for _ in 0..(300_000 / n).clamp(3, 20) {
        let (ours, mut phases) = Ours::of_text(&text)?;
        let start = Instant::now();
        let mut session = ours.session(&arguments)?;
        let value = session.gradient()?;
        phases.push(("first gradient", start.elapsed().as_nanos() as f64));
        if n <= LARGEST_COMPILED {
            let start = Instant::now();
            drop(ours.compiled()?);
            phases.push(("to machine code", start.elapsed().as_nanos() as f64));
        }
        check("the value", value, expected)?;
        for (found, expected) in session.partials().iter().zip(partials) {
            check("a derivative", *found, expected)?;
        }
        if least.is_empty() {
            first = (phases.iter().map(|(_, ns)| ns).sum(), peak_memory());
            least = phases;
        } else {
            least.iter_mut().zip(phases).for_each(|(least, (_, now))| least.1 = least.1.min(now));
        }
    }
    println!("{}", json!({ "statements": n, "phases": least, "first_ns": first.0, "peak_bytes": first.1 }));
    Ok(())
}

/// Larger functions take Cranelift too long.
const LARGEST_COMPILED: usize = 100_000;

/// The most memory that this process had, where the system says so.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}

/// The time of a statement on tri, in nanoseconds: in the function, and in its gradient.
fn interpreter() -> Result<(f64, f64), Failure> {
    let kernel = kit::kernels::kernel("tri").ok_or("no kernel tri")?;
    let n = 300;
    let kit::kernels::Inputs { x, c } = kit::kernels::inputs(kernel, n);
    let (ours, _) = Ours::of_text(&text("tri")?)?;
    let mut session = ours.session(&[Argument::Vector(x), Argument::Vector(c), Argument::Integer(n)])?;
    let before = session.statements();
    session.value()?;
    let primal = session.statements() - before;
    session.gradient()?;
    let gradient = session.statements() - before - primal;
    let primal_ns = clock::least(Duration::from_secs(1), || drop(std::hint::black_box(session.value())));
    let gradient_ns = clock::least(Duration::from_secs(1), || drop(std::hint::black_box(session.gradient())));
    Ok((primal_ns / primal as f64, gradient_ns / gradient as f64))
}
