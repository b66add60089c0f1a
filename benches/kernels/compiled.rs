//! The programs in `programs/`, compiled under several sets of flags.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value as Json;

use super::{Failure, folder};

/// Flags for rustc. None of them changes what floats mean: Rust has no option that would.
const RUST: [(&str, &[&str]); 3] = [
    ("rustc -O3", &["-Copt-level=3"]),
    ("rustc -O3 native", &["-Copt-level=3", "-Ctarget-cpu=native"]),
    ("rustc -O2 scalar", &["-Copt-level=2", "-Cno-vectorize-loops", "-Cno-vectorize-slp"]),
];

/// Flags for gcc, beside the one that keeps it from fusing multiplications with additions.
const C: [(&str, &[&str]); 3] = [
    ("gcc -O3", &["-O3"]),
    ("gcc -O3 native", &["-O3", "-march=native"]),
    ("gcc -O2 scalar", &["-O2", "-fno-tree-vectorize"]),
];

/// A program that was compiled under one set of flags, running.
pub(crate) struct Program {
    /// The compiler and its flags, in short.
    pub(crate) flags: &'static str,
    /// Whether it has gradients.
    pub(crate) gradients: bool,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What a program measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// The least time of a call.
    pub(crate) ns: f64,
    /// The value.
    pub(crate) value: f64,
    /// The checksum of the gradient; NaN of a value.
    pub(crate) checksum: f64,
}

/// The arguments of a function, in files.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    name: String,
    n: usize,
    x: PathBuf,
    c: PathBuf,
}

impl Arguments {
    /// Writes them.
    pub(crate) fn write(name: &str, n: usize, x: &[f64], c: &[f64]) -> Result<Arguments, Failure> {
        let write = |what: &str, numbers: &[f64]| -> Result<PathBuf, Failure> {
            let path = folder().join(format!("{name}-{n}.{what}"));
            std::fs::write(&path, numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
            if path.to_str().is_none_or(|path| path.contains(char::is_whitespace)) {
                return Err(format!("the programs cannot be given a path with spaces: {}", path.display()).into());
            }
            Ok(path)
        };
        Ok(Arguments { name: name.into(), n, x: write("x", x)?, c: write("c", c)? })
    }
}

impl Program {
    fn start(flags: &'static str, gradients: bool, path: &Path) -> Result<Program, Failure> {
        let mut process = Command::new(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take().ok_or("no way to ask the program")?;
        let output = BufReader::new(process.stdout.take().ok_or("no answers from the program")?);
        Ok(Program { flags, gradients, process, input, output })
    }

    /// Measures the value of a kernel, or its value with the gradient.
    pub(crate) fn measure(&mut self, gradient: bool, of: &Arguments, milliseconds: u32) -> Result<Measured, Failure> {
        let what = if gradient { "gradient" } else { "value" };
        let (x, c) = (of.x.display(), of.c.display());
        writeln!(self.input, "{what} {} {} {x} {c} {milliseconds}", of.name, of.n)?;
        self.input.flush()?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Json = serde_json::from_str(&line).map_err(|error| format!("{}: {error}: {line}", self.flags))?;
        let number = |key: &str| answer[key].as_f64();
        let no_time = || format!("{}: no time in {line}", self.flags);
        Ok(Measured {
            ns: number("ns").ok_or_else(no_time)?,
            value: number("f").unwrap_or(f64::NAN),
            checksum: number("g").unwrap_or(f64::NAN),
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself, as after an error.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Compiles and starts the programs. Without gcc there are only those in Rust.
pub(crate) fn programs() -> Result<Vec<Program>, Failure> {
    let sources = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/kernels/programs"));
    std::fs::create_dir_all(folder())?;
    let mut programs = Vec::new();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    for (flags, options) in RUST {
        let path = folder().join(flags.replace(' ', "_"));
        let mut command = Command::new(&rustc);
        command.args(["--edition=2024", "-Ccodegen-units=1", "-Cpanic=abort"]).args(options);
        command.arg(sources.join("main.rs")).arg("-o").arg(&path);
        let output = command.output()?;
        if !output.status.success() {
            return Err(format!("{flags}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        programs.push(Program::start(flags, true, &path)?);
    }
    for (flags, options) in C {
        let path = folder().join(flags.replace(' ', "_"));
        let mut command = Command::new("gcc");
        command.args(["-std=c11", "-ffp-contract=off"]).args(options).arg(sources.join("primals.c"));
        let Ok(output) = command.arg("-o").arg(&path).arg("-lm").output() else {
            eprintln!("no gcc: primals are those of rustc only");
            break;
        };
        if !output.status.success() {
            return Err(format!("{flags}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        programs.push(Program::start(flags, false, &path)?);
    }
    Ok(programs)
}
