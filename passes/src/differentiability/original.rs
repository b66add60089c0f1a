//! Which function a value is of which a bundle is made.

use bbcode::{BBCode, Ids};
use ircode::{Callee, Module, Operand, Stmt, Type};

use super::Problem;

/// What a bundle is made of.
#[derive(Debug)]
pub(super) enum Original {
    /// The function at this position of the module, whose last parameters are captured.
    Function {
        /// The position.
        position: usize,
        /// The values of the last parameters.
        captured: Vec<Operand<Ids>>,
    },
    /// The original of another bundle, which has derivatives.
    Bundle {
        /// That bundle.
        bundle: Operand<Ids>,
        /// The types of what it takes.
        parameters: Vec<Type>,
    },
}

/// Finds what a value is, through copies, π, closures and the bundles that are seen to be made.
pub(super) fn original(module: &Module<BBCode>, bb: &BBCode, value: &Operand<Ids>) -> Result<Original, Problem> {
    let mut at = value.clone();
    // Copies of copies, up to a limit: a cycle of copies can stand in code that is not reached.
    for _ in 0..64 {
        let stmt = match &at {
            Operand::Value(id) => bb.stmt(*id),
            Operand::Argument(_) => None,
            function => return of_function(module, function, &[]),
        };
        let next = match stmt {
            Some(Stmt::Value(of)) => of.clone(),
            Some(Stmt::Pi(pi)) => pi.value.clone(),
            Some(stmt) => match module.primitive_call(stmt).map(|(primitive, args)| (primitive.name, args)) {
                Some(("partial_apply", [function, captured @ ..])) => return of_function(module, function, captured),
                Some(("original_of", [bundle])) => match bb.operand_type(bundle) {
                    Type::DifferentiableFunction(ty) => {
                        return Ok(Original::Bundle { bundle: bundle.clone(), parameters: ty.parameters.clone() });
                    }
                    _ => return Err(("the type of the bundle whose original this is must be known".into(), None)),
                },
                _ => break,
            },
            None => break,
        };
        at = next;
    }
    let message = "it is not seen which function is bundled, so that its derivatives are not known";
    let help = "a bundle is made of a function, of a closure that is made in the same function, or of the original of a bundle; \
                what takes a function to be differentiated takes a bundle of it";
    Err((message.into(), Some(help.into())))
}

fn of_function(
    module: &Module<BBCode>,
    function: &Operand<Ids>,
    captured: &[Operand<Ids>],
) -> Result<Original, Problem> {
    match module.callee(function) {
        Some(Callee::Function(position)) => {
            let found = module.functions().get(position);
            if found.is_some_and(|found| found.varargs) {
                let message = "a function that takes any number of arguments cannot be bundled with derivatives";
                return Err((message.into(), None));
            }
            Ok(Original::Function { position, captured: captured.to_vec() })
        }
        other => {
            let name = match &other {
                Some(Callee::Primitive(primitive)) => format!("`{}`", primitive.name),
                Some(Callee::Unknown(path)) => format!("`{path}`"),
                _ => "what is bundled".into(),
            };
            let message = format!("{name} is no function of the module, so that it has no witnesses");
            Err((message, Some("a function of the module that calls it can be bundled".into())))
        }
    }
}
