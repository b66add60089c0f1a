//! `bbkit reduce`: shrink a program that makes a command fail, or succeed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bbkit::{Input, ReduceOptions, reduce_with};
use clap::{Args, ValueEnum};
use ircode::wording::counted;
use ircode::{IRCode, Module, Style, print_module, to_json};

use super::{Failure, fail, output, say, select, verified};

/// Shrink a program as long as a command finds it interesting: delta debugging on the code itself.
///
/// The command is run by `sh -c` for each candidate, `{}` being the path of a file with the candidate. As with
/// C-Reduce, a candidate is interesting if the command exits with 0; with --fails, if it does not, but for 126 and 127,
/// by which the shell says that it cannot run the command. The smallest interesting program goes to standard output,
/// what becomes of it meanwhile to standard error.
#[derive(Args)]
#[command(after_help = "\
Examples:
  bbkit reduce bad.ir --test 'bbkit grad {} --args \"[1.0]\"' --fails --expect 'no derivative'
                                                  the least code that gets this error
  bbkit reduce bad.ir --test 'bbkit opt {} --passes mem2reg --verify-each' --fails -o least.ir
                                                  the least code that a pass breaks
  bbkit reduce bad.json --as json --test './crashes {}' --timeout 60")]
pub(crate) struct Reduce {
    /// The file, or `-`.
    file: String,
    /// Shrink this function only, and keep the others and all types.
    #[arg(long = "fn", value_name = "NAME")]
    function: Option<String>,
    /// The command that finds a program interesting, with `{}` for the path of the program.
    #[arg(long, value_name = "COMMAND")]
    test: String,
    /// A program is interesting if the command fails.
    #[arg(long)]
    fails: bool,
    /// A program is interesting only if the command also prints this, to standard output or standard error.
    #[arg(long, value_name = "TEXT")]
    expect: Option<String>,
    /// After so many seconds the command is stopped, and the program is not interesting.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    timeout: f64,
    /// The form of the candidates and of the result.
    #[arg(long = "as", value_enum, value_name = "FORM", default_value = "text")]
    form: Form,
    /// Try programs, too, that the verifier refuses.
    #[arg(long)]
    allow_invalid: bool,
    /// Write the result to this file.
    #[arg(short, long = "output", value_name = "OUT")]
    output: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A listing in bbkit's own style, which is exact.
    Text,
    /// A JSON dump of the IRCode.
    Json,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if Duration::try_from_secs_f64(seconds).is_ok() && seconds > 0.0 => Ok(seconds),
        _ => Err("a number of seconds above 0 is expected".into()),
    }
}

impl Reduce {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if let Some(folder) = self.output.as_deref().and_then(|path| Path::new(path).parent())
            && !folder.as_os_str().is_empty()
            && !folder.is_dir()
        {
            return fail(format!("--output: there is no folder {}", folder.display()));
        }
        if !self.test.contains("{}") {
            return Err(Failure::of_usage("--test: the command must say by `{}` where the path of the program goes"));
        }
        let mut input = Input::read(&self.file)?;
        let only = self.function.as_deref().map(|name| select(&mut input, Some(name))).transpose()?;
        if !self.allow_invalid {
            verified(&input)?;
        }
        input.compact()?;
        let bench = Bench::new(&self)?;
        let first = bench.run(&input.module)?;
        if !self.is_interesting(&first) {
            return fail(self.complaint(&first));
        }
        let mut trouble = None;
        let mut interesting = |module: &Module<IRCode>| {
            if trouble.is_some() {
                return false;
            }
            match bench.run(module) {
                Ok(outcome) => self.is_interesting(&outcome),
                Err(failure) => {
                    trouble = Some(failure);
                    false
                }
            }
        };
        let options = ReduceOptions { only, allow_invalid: self.allow_invalid };
        let reduced = reduce_with(&input.module, &options, &mut interesting, &mut |progress| {
            let functions = counted(progress.functions, "function");
            let statements = counted(progress.statements, "statement");
            let tests = if progress.tests == 1 { "test " } else { "tests" };
            say(&format!("{:>6} {tests}  {functions}, {statements}  ({})", progress.tests, progress.step));
        });
        if let Some(failure) = trouble {
            return Err(failure);
        }
        let text = self.text(&reduced.map_err(|error| Failure::new(format!("{}: {error}", self.file)))?)?;
        match &self.output {
            Some(path) => fs::write(path, text).map_err(|error| Failure::new(format!("{path}: {error}"))),
            None => {
                output(&text);
                Ok(())
            }
        }
    }

    fn text(&self, module: &Module<IRCode>) -> Result<String, Failure> {
        match self.form {
            Form::Text => Ok(print_module(module, Style::Bbkit)),
            Form::Json => Ok(to_json(module)?),
        }
    }

    fn is_interesting(&self, outcome: &Outcome) -> bool {
        let expected = self.expect.as_ref().is_none_or(|text| outcome.text.contains(text.as_str()));
        outcome.success.is_some_and(|success| success != self.fails) && expected && !outcome.is_missing
    }

    /// Why the program as it was given is not interesting.
    fn complaint(&self, outcome: &Outcome) -> String {
        let why = match (outcome.success, &self.expect) {
            _ if outcome.is_missing => "the command cannot be run".into(),
            (None, _) => format!("the command ran for more than {} seconds", self.timeout),
            (Some(true), _) if self.fails => "the command does not fail".into(),
            (Some(false), _) if !self.fails => "the command fails".into(),
            (_, Some(text)) => format!("the command does not print `{text}`"),
            (_, None) => "the command does not say so".into(),
        };
        let text = match outcome.text.trim_end() {
            "" => "It prints nothing.".into(),
            text => format!("It prints:\n{text}"),
        };
        format!("{}: the program is not interesting as it is: {why}. {text}", self.file)
    }
}

/// What came of a run: whether the command succeeded, `None` if it was stopped; and what it printed.
struct Outcome {
    success: Option<bool>,
    /// Whether the shell could not run it, or did not find it.
    is_missing: bool,
    text: String,
}

/// Where candidates are put and commands are run.
struct Bench<'r> {
    options: &'r Reduce,
    folder: PathBuf,
    command: String,
    candidate: PathBuf,
}

impl<'r> Bench<'r> {
    fn new(options: &'r Reduce) -> Result<Self, Failure> {
        let folder = new_folder()?;
        let candidate = folder.join(match options.form {
            Form::Text => "candidate.ir",
            Form::Json => "candidate.json",
        });
        let command = options.test.replace("{}", &quoted(&candidate));
        Ok(Bench { options, folder, command, candidate })
    }

    fn run(&self, module: &Module<IRCode>) -> Result<Outcome, Failure> {
        let printed = self.folder.join("output");
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| Failure::new(format!("{path}: {error}"))
        };
        fs::write(&self.candidate, self.options.text(module)?).map_err(failed(&self.candidate))?;
        // A file and no pipe: what the command leaves running must not keep us waiting.
        let file = File::create(&printed).map_err(failed(&printed))?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.command).stdin(Stdio::null());
        command.stdout(file.try_clone().map_err(failed(&printed))?).stderr(file);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(failed(Path::new("sh")))?;
        let end = Instant::now() + Duration::from_secs_f64(self.options.timeout);
        let mut pause = Duration::from_micros(200);
        let status = loop {
            match child.try_wait().map_err(failed(Path::new("sh")))? {
                Some(status) => break Some(status),
                None if Instant::now() >= end => {
                    stop(&mut child);
                    break None;
                }
                None => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        let bytes = fs::read(&printed).map_err(failed(&printed))?;
        Ok(Outcome {
            success: status.map(|status| status.success()),
            is_missing: status.is_some_and(|status| matches!(status.code(), Some(126 | 127))),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        // What cannot be removed stays where temporary files are.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Stops a command with all that it started.
fn stop(child: &mut std::process::Child) {
    #[cfg(unix)]
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
    // It may have ended by now.
    let _ = child.kill();
    let _ = child.wait();
}

/// A folder of our own among the temporary files.
fn new_folder() -> Result<PathBuf, Failure> {
    let root = std::env::temp_dir();
    for number in 0..1000 {
        let folder = root.join(format!("bbkit-reduce-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return fail(format!("{}: {error}", folder.display())),
        }
    }
    fail(format!("{}: there is no name left for a folder", root.display()))
}

/// The path as a word of the shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
