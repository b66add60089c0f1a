//! `bbkit opt`: run passes.

use std::cell::RefCell;

use bbkit::html::PipelineRecorder;
use bbkit::{Input, to_bbcode, to_ircode};
use clap::Args;
use ircode::{Name, Style};
use passes::{PASSES, PassManager, find_pass};

use super::show::{Form, shown, style, title};
use super::{Failure, fail, output, say, select, verified, write_page};

/// Run passes over a program, and print what comes out.
#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct Opt {
    /// The file, or `-`.
    file: String,
    /// The passes, in the order in which they run.
    #[arg(long, value_delimiter = ',', required = true, value_name = "PASSES")]
    passes: Vec<String>,
    /// Run them on this function only.
    #[arg(long = "fn", value_name = "NAME")]
    function: Option<String>,
    /// The form of the result.
    #[arg(long = "as", value_enum, value_name = "FORM", default_value = "ircode")]
    form: Form,
    /// How a listing is printed.
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
    /// Run only the first N steps, where a pass on one function is a step, and tell which they are: to find by bisection
    /// the step that breaks a program.
    #[arg(long, value_name = "N")]
    opt_bisect_limit: Option<usize>,
}

fn after_help() -> String {
    let passes: Vec<String> = PASSES.iter().map(|pass| format!("  {:<22} {}", pass.name, pass.about)).collect();
    format!(
        "Passes:\n{}\n\nExamples:\n  bbkit opt file.ir --passes mem2reg,dead-code --print-after-all\n  \
         bbkit opt file.ir --fn f --passes reverse-mode    the module with f_fwd and f_pb\n  bbkit opt file.ir --passes \
         simplify-cfg,dead-code --html steps.html    a page with each step",
        passes.join("\n")
    )
}

impl Opt {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut input = Input::read(&self.file)?;
        let function: Option<Name> = match &self.function {
            Some(name) => Some(select(&mut input, Some(name))?),
            None => None,
        };
        verified(&input)?;
        input.compact()?;
        let passes = self.passes.iter().map(|name| find_pass(name)).collect::<Result<Vec<_>, _>>()?;
        let mut module = to_bbcode(&input.module)?;
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
                    let changed = if step.changed { "" } else { " (nothing changed)" };
                    let text = match &step.function {
                        Some(name) => module.function(name).map(bbcode::print_function).unwrap_or_default(),
                        None => bbcode::print_module(module),
                    };
                    say(&format!("# after {} on {on}{changed}\n{text}", step.pass));
                }
            });
        manager.run(&mut module, function.as_ref()).map_err(|error| Failure(input.describe_pass_error(&error)))?;
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
        let only_listing = input.is_listing() && module.functions().len() == 1;
        input.module = to_ircode(&module)?;
        if !only_listing {
            input.maps.clear();
        }
        if input.module.functions().is_empty() {
            return fail("there are no functions");
        }
        output(&shown(&mut input, self.form, self.style)?);
        Ok(())
    }
}
