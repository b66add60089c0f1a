//! `bbkit opt`: run passes.

use std::cell::RefCell;
use std::convert::Infallible;

use bbkit::html::PipelineRecorder;
use bbkit::{Input, PassStatisticsError, pass_statistics, to_ircode};
use clap::Args;
use ircode::{Name, Style};
use passes::{PASSES, PassManager, find_pass};
use passes::{checkpoint_loops, closure_specialization};

use super::argument_order::warn_of_guess;
use super::arguments::CallOptions;
use super::derivative::describe;
use super::show::{Form, shown, style, title};
use super::{Failure, fail, output, say, select, verified, write_page};

/// Run passes over a program, and print what comes out.
#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct Opt {
    /// The file, or `-`.
    file: String,
    /// The passes, in the order in which they run.
    #[arg(long, value_delimiter = ',', required = true, value_name = "PASSES", value_parser = trimmed)]
    passes: Vec<String>,
    /// Run them on this function only.
    #[arg(long = "fn", value_name = "NAME")]
    function: Option<String>,
    /// The form of the result.
    #[arg(long = "as", value_enum, value_name = "FORM", default_value = "ircode")]
    form: Form,
    /// How a listing is printed: as Julia does, or a version of it (`1.10`), which leaves out the width of literals and
    /// which method a call is linked to; or `bbkit`, which says all.
    #[arg(long, default_value = "julia", value_parser = style)]
    style: Style,
    /// Print the program before the first pass and after each, to standard error.
    #[arg(long)]
    print_after_all: bool,
    /// Write a page that shows what each pass changed: the program before and after it side by side, with its
    /// control-flow graph.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// Verify the program before the first pass and after each.
    #[arg(long)]
    verify_each: bool,
    /// Tell how long each pass took, on standard error.
    #[arg(long)]
    time_passes: bool,
    /// Run the function on the arguments before the first pass and after the last, and tell on standard error what it
    /// did each time: statements executed, closures, enums and other objects made, allocations, bytes. It must give the
    /// same both times. Without a name it is the function of --fn, else the only one there is. With
    /// closure-specialization among the passes, tell why closures stay; with checkpoint-loops, which loops do.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    stats: Option<String>,
    /// The arguments for --stats: a JSON array, or an object by name, as `bbkit run` takes them.
    #[arg(long, value_name = "JSON", requires = "stats")]
    args: Option<String>,
    /// Stop a run for --stats after so many statements.
    #[arg(long, value_name = "N", requires = "stats")]
    max_steps: Option<u64>,
    /// Run only the first N steps, where a pass on one function is a step, and tell which they are: to find by
    /// bisection the step that breaks a program.
    #[arg(long, value_name = "N")]
    opt_bisect_limit: Option<usize>,
}

/// A name, without the spaces that may stand behind commas.
fn trimmed(name: &str) -> Result<String, Infallible> {
    Ok(name.trim().to_string())
}

fn after_help() -> String {
    let width = PASSES.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    let passes: Vec<String> = PASSES.iter().map(|pass| format!("  {:<width$} {}", pass.name, pass.about)).collect();
    format!(
        "Passes:\n{}\n\nExamples:\n  bbkit opt file.ir --passes mem2reg,dead-code --print-after-all\n  \
         bbkit opt file.ir --fn f --passes reverse-mode    the module with f_fwd and f_pb\n  bbkit opt file.ir --passes \
         simplify-cfg,dead-code --html steps.html    a page with each step\n  bbkit opt file.ir \
         --passes inlining,scalar-replacement --stats=f --args '[1.5]'    what it saves",
        passes.join("\n")
    )
}

/// What is wrong, drawn on the line of the source where that is known.
fn described(input: &Input, error: &PassStatisticsError) -> Failure {
    match error {
        PassStatisticsError::Run(error) => Failure::new(input.describe_run_error(error)),
        PassStatisticsError::Gradient(error) => describe(input, error),
        error => Failure::new(error.to_string()),
    }
}

impl Opt {
    /// The call whose runs are counted.
    fn call(&self) -> Option<CallOptions> {
        let name = self.stats.as_ref()?;
        let function = Some(name).filter(|name| !name.is_empty()).or(self.function.as_ref()).cloned();
        let args = self.args.clone().unwrap_or_else(|| "[]".into());
        Some(CallOptions { function, args, called_on: None, params: Vec::new(), max_steps: self.max_steps })
    }

    pub(crate) fn run(self) -> Result<(), Failure> {
        let (mut input, subject) = match self.call() {
            Some(call) => {
                let (input, name, args) = call.prepare(&self.file)?;
                (input, Some((name, args, call.limits())))
            }
            None => {
                let input = Input::read(&self.file)?;
                warn_of_guess(&input);
                (input, None)
            }
        };
        let function: Option<Name> = match &self.function {
            Some(name) => Some(select(&mut input, Some(name))?),
            None => None,
        };
        verified(&input)?;
        input.compact()?;
        let passes = self.passes.iter().map(|name| find_pass(name)).collect::<Result<Vec<_>, _>>();
        let passes = passes.map_err(|error| Failure::of_usage(error.to_string()))?;
        let mut module = input.to_bbcode()?;
        let (print, bisect) = (self.print_after_all, self.opt_bisect_limit.is_some());
        if print {
            let text = match function.as_ref().and_then(|name| module.function(name)) {
                Some(function) => bbcode::print_function(function),
                None => bbcode::print_module(&module),
            };
            say(&format!("# before the first pass\n{text}"));
        }
        // The manager holds what watches it until it has gone itself.
        let recorder = RefCell::new(self.html.as_ref().map(|_| PipelineRecorder::new(title(&self.file), &module)));
        let mut manager = PassManager::new(passes)
            .verify_each(self.verify_each)
            .bisect_limit(self.opt_bisect_limit)
            .on_step(|step, module| {
                if let Some(recorder) = recorder.borrow_mut().as_mut() {
                    recorder.record(step, module);
                }
                let on = step.function.as_ref().map_or_else(|| "the module".to_string(), Name::to_string);
                if bisect {
                    let verb = if step.skipped { "not running" } else { "running" };
                    say(&format!("bisect: {verb} step {}, {} on {on}", step.number, step.pass));
                }
                if print && !step.skipped {
                    let changed = match (step.failed, step.changed) {
                        (true, _) => " (it failed)",
                        (_, true) => "",
                        (_, false) => " (nothing changed)",
                    };
                    let text = match &step.function {
                        Some(name) => module.function(name).map(bbcode::print_function).unwrap_or_default(),
                        None => bbcode::print_module(module),
                    };
                    say(&format!("# after {} on {on}{changed}\n{text}", step.pass));
                }
            });
        let result = manager.run(&mut module, function.as_ref());
        if self.time_passes {
            for step in manager.steps() {
                let on = step.function.as_ref().map_or("the module", Name::as_str);
                say(&format!("{:>10.3} ms  {} on {on}", step.time.as_secs_f64() * 1e3, step.pass));
            }
        }
        drop(manager);
        if let (Some(path), Some(recorder)) = (&self.html, recorder.into_inner()) {
            write_page(path, &recorder.finish())?;
        }
        // A program that a pass has failed on can be looked at.
        result.map_err(|error| Failure::new(input.describe_pass_error(&error)))?;
        if let Some((name, args, limits)) = subject {
            if self.passes.iter().any(|pass| pass == closure_specialization::NAME) {
                // What the pass would leave as it is if it ran now.
                let report = closure_specialization::specialize(&mut module.clone(), function.as_ref());
                let report = report.map_err(|error| Failure::new(input.describe_pass_error(&error)))?;
                report.kept.iter().for_each(|kept| say(&kept.to_string()));
            }
            if self.passes.iter().any(|pass| pass == checkpoint_loops::NAME) {
                let report = checkpoint_loops::checkpoint_loops(&mut module.clone(), function.as_ref());
                let report = report.map_err(|error| Failure::new(input.describe_pass_error(&error)))?;
                report.left.iter().for_each(|left| say(&left.to_string()));
            }
            let counted = pass_statistics(&input.module, &to_ircode(&module)?, &name, &args, limits);
            say(&counted.map_err(|error| described(&input, &error))?.to_string());
        }
        let only_listing = input.is_listing() && module.functions().len() == 1;
        input.module = to_ircode(&module)?;
        if !only_listing {
            input.maps.clear();
        }
        // Names of blocks and statements are those of the log, and of the program where it was not changed.
        input.bbcode = Some(module);
        if input.module.functions().is_empty() {
            return fail("there are no functions");
        }
        output(&shown(&mut input, self.form, self.style)?);
        Ok(())
    }
}
