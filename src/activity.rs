//! Which statements of a function are differentiated, on its listing.

use ircode::{Function, IRCode, Module, Style, Type, print_body, print_function};
use passes::reverse_mode::{ActivityReport, Options};

use crate::GradientError;
use crate::gradient::{selected_arguments, specialize, verified};

/// Analyses a function as reverse mode does: which statements depend on the arguments, on which the results depend, and
/// which are differentiated because both holds. `wrt` are the arguments, as
/// [`GradientOptions::wrt`](crate::GradientOptions) has them, `None` for all; a derivative with respect to a field is
/// made with respect to the whole argument, which counts here.
///
/// # Errors
///
/// [`GradientError`] where the function cannot be differentiated.
pub fn activity(module: &Module<IRCode>, name: &str, wrt: Option<&[String]>) -> Result<ActivityReport, GradientError> {
    let name = module.full_name(name);
    let types: Vec<Type> = match module.function(&name) {
        Some(function) => passes::argument_types(module, function),
        None => Vec::new(),
    };
    let mut module = verified(module, &name)?;
    specialize(&mut module, &name, &types)?;
    let with_respect_to = selected_arguments(&module, &name, wrt)?;
    let options = Options { with_respect_to, vjp: true, ..Options::default() };
    Ok(passes::reverse_mode::activity(&mut module, &name, &options)?)
}

/// Comments behind longer statements stand where these end.
const WIDEST: usize = 120;

/// The listing of a function in which comments say what is active (differentiated), varied (depends on the arguments,
/// but the results do not depend on it) and useful (the other way round). What has no comment is neither. It can be
/// read back.
///
/// ```
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function f(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// │   %2 = sin(x)::Float64
/// │   %3 = Base.neg_float(y)::Float64
/// │   %4 = Base.mul_float(%1, %3)::Float64
/// └──      return %4
/// end
/// ")?.module;
/// let report = bbkit::activity(&module, "f", Some(&["x".into()]))?;
/// let text = bbkit::print_activity(module.function("f").unwrap(), &report);
/// // The first line says what it is with respect to.
/// assert_eq!(text.split_once('\n').unwrap().1, "\
/// function f(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(_2, _2)::Float64  # active
/// │        sin(_2)::Float64                 # varied
/// │   %3 = Base.neg_float(_3)::Float64      # useful
/// │   %4 = Base.mul_float(%1, %3)::Float64  # active
/// └──      return %4                        # active
/// end
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn print_activity(function: &Function<IRCode>, report: &ActivityReport) -> String {
    let headerless = function.name.is_empty();
    let text = match headerless {
        true => print_body(&function.body, Style::Julia),
        false => print_function(function, Style::Julia),
    };
    let lines: Vec<&str> = text.lines().collect();
    let first = usize::from(!headerless);
    let count = report.statements.len();
    let statements = lines.get(first..first + count).unwrap_or_default();
    let lengths = statements.iter().map(|line| line.chars().count());
    let width = lengths.filter(|&length| length <= WIDEST).max().unwrap_or(0);
    let wanted = report.arguments.iter().enumerate().filter(|(_, wanted)| **wanted);
    let wanted: Vec<String> = wanted.map(|(index, _)| format!("_{}", index + 2)).collect();
    let mut out = match wanted.as_slice() {
        [] => "# with respect to nothing\n".to_string(),
        wanted => format!("# with respect to {}\n", wanted.join(", ")),
    };
    for (index, line) in lines.iter().enumerate() {
        let known =
            index.checked_sub(first).and_then(|index| report.statements.get(index)).copied().unwrap_or_default();
        let word = match (known.varied, known.useful) {
            (true, true) => "active",
            (true, false) => "varied",
            (false, true) => "useful",
            (false, false) => "",
        };
        match word {
            "" => out.push_str(line),
            word => {
                out.push_str(line);
                out.extend(std::iter::repeat_n(' ', width.saturating_sub(line.chars().count())));
                out.push_str("  # ");
                out.push_str(word);
            }
        }
        out.push('\n');
    }
    out
}
