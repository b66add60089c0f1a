//! The law for the compact form of the interpreter's code: it does what the interpreter does statement by statement.

use exec::{Limits, Machine, RunError, Value, first_difference};
use ircode::{IRCode, Module};

use crate::laws::{Broken, broken};

/// What can be seen of a run.
struct Seen {
    result: Result<Value, RunError>,
    exception: Option<Value>,
    args: Vec<Value>,
    printed: String,
    statistics: exec::Statistics,
}

/// Compact code gives the same value as the interpreter does when it shows each statement, or the same error at the
/// same place; it prints the same, leaves the same in the arguments, and counts the same statements, objects and bytes.
/// A limit ends both at the same statement. `args` makes the arguments anew for each run. What runs in compact form is
/// what `changed` makes of the module: the same, or one with a planted bug.
///
/// # Errors
///
/// [`Broken`].
pub fn compact_agrees(
    module: &Module<IRCode>,
    name: &str,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
    changed: &dyn Fn(&mut Module<IRCode>),
) -> Result<(), Broken> {
    let run = |module: &Module<IRCode>, shown: bool| {
        let mut printed = String::new();
        let machine = Machine::with_limits(module, limits).on_output(|text| printed.push_str(text));
        let mut machine = if shown { machine.on_step(|_| ()) } else { machine };
        let args = args();
        let result = machine.call(name, &args);
        let (statistics, exception) = (machine.statistics(), machine.exception().cloned());
        drop(machine);
        Seen { result, exception, args, printed, statistics }
    };
    let mut compact = module.clone();
    changed(&mut compact);
    let (expected, found) = (run(module, true), run(&compact, false));
    match difference(&expected, &found) {
        None => Ok(()),
        Some(what) => {
            let shown = |seen: &Seen| match &seen.result {
                Ok(value) => value.to_string(),
                Err(error) => error.to_string(),
            };
            let problem = format!("{what}: expected {}, but there is {}", shown(&expected), shown(&found));
            Err(broken("compact code does what the interpreter does", problem))
        }
    }
}

fn difference(a: &Seen, b: &Seen) -> Option<String> {
    let result = |seen: &Seen| match &seen.result {
        Ok(value) => value.clone(),
        Err(_) => seen.exception.clone().unwrap_or(Value::Nothing),
    };
    let all = |seen: &Seen| -> Vec<Value> { std::iter::once(result(seen)).chain(seen.args.iter().cloned()).collect() };
    let errors = match (&a.result, &b.result) {
        (Ok(_), Ok(_)) => None,
        (Err(a), Err(b)) if a.to_string() == b.to_string() && a.trace == b.trace => None,
        _ => Some("the errors differ".to_string()),
    };
    let values =
        || first_difference(&all(a), &all(b)).map(|place| format!("they differ in {place} (_2 is the result)"));
    let printed = || (a.printed != b.printed).then(|| format!("{:?} and {:?} are printed", a.printed, b.printed));
    let counts = || {
        let counted = format!("{:?} and {:?} are counted", a.statistics, b.statistics);
        (a.statistics != b.statistics).then_some(counted)
    };
    errors.or_else(values).or_else(printed).or_else(counts)
}
