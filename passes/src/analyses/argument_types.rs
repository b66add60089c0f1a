//! What the uses of a function's arguments say about their types.

use ircode::primitives::{Primitive, ResultType};
use ircode::{Argument, Constant, Function, IRCode, Module, Operand, Positions, ScalarType, Stmt, Type};

/// The types of `_2` onwards: those that the function declares, and for the others what their uses show.
/// [`Type::Untyped`] where they show nothing.
///
/// A listing without header does not say what its arguments are, but invokes show the types of their operands, and
/// intrinsics take only some.
///
/// ```
/// use ircode::{Type, parse_function, Module};
///
/// let function = parse_function("
/// 1 ─ %1 = Base.slt_int(0, _3)::Bool
/// └──      goto #3 if not %1
/// 2 ─ %3 = invoke Main.sin(_2::Float64)::Float64
/// └──      return %3
/// 3 ─      return 0.0
/// ")?;
/// assert_eq!(passes::argument_types(&Module::new(), &function), [Type::FLOAT64, Type::INT64]);
/// # Ok::<(), ircode::TextError>(())
/// ```
pub fn argument_types(module: &Module<IRCode>, function: &Function<IRCode>) -> Vec<Type> {
    let ir = &function.body;
    let found = Evidence::of(module, function);
    let declared = ir.argtypes.iter().skip(1);
    let shown = found.types.into_iter().skip(1).map(|(_, ty)| ty);
    declared.zip(shown).map(|(declared, shown)| if declared.is_unknown() { shown } else { declared.clone() }).collect()
}

/// Whether the uses of some argument show different types: then the names of a listing's arguments were not taken in
/// their order.
pub fn contradictory_arguments(module: &Module<IRCode>, function: &Function<IRCode>) -> bool {
    Evidence::of(module, function).contradictory
}

/// How sure a piece of evidence is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    None,
    /// The kind of number is known, but not its width.
    Default,
    /// The width is known to be less than that of another type, and so is taken for half of that.
    Narrower,
    /// The type itself is shown.
    Shown,
}

/// What a type is without its width.
fn kind(ty: &Type) -> Option<(bool, bool)> {
    ty.as_scalar().map(|scalar| (scalar.is_float(), scalar.is_integer()))
}

struct Evidence {
    /// By argument, `_1` first.
    types: Vec<(Strength, Type)>,
    contradictory: bool,
}

impl Evidence {
    fn of(module: &Module<IRCode>, function: &Function<IRCode>) -> Self {
        let ir = &function.body;
        let unknown = vec![(Strength::None, Type::Untyped); ir.argtypes.len()];
        let mut found = Evidence { types: unknown, contradictory: false };
        for (stmt, ty) in ir.stmts.stmts().iter().zip(ir.stmts.types()) {
            found.statement(module, ir, function, stmt, ty);
        }
        found
    }

    fn note(&mut self, operand: &Operand<Positions>, strength: Strength, ty: Type) {
        let Operand::Argument(Argument(number)) = operand else { return };
        if ty.is_unknown() || matches!(ty, Type::Union(_) | Type::Named(_)) {
            return;
        }
        let place = (*number as usize).checked_sub(1).and_then(|index| self.types.get_mut(index));
        if let Some(place) = place {
            self.contradictory |= match (place.0, strength) {
                (Strength::None, _) => false,
                (Strength::Shown, Strength::Shown) => place.1 != ty,
                _ => kind(&place.1) != kind(&ty),
            };
            if place.0 < strength {
                *place = (strength, ty);
            }
        }
    }

    fn statement(
        &mut self,
        module: &Module<IRCode>,
        ir: &IRCode,
        function: &Function<IRCode>,
        stmt: &Stmt<Positions>,
        ty: &Type,
    ) {
        match stmt {
            Stmt::Invoke(invoke) => {
                for (arg, ty) in invoke.args.iter().zip(&invoke.instance.argtypes) {
                    self.note(arg, Strength::Shown, ty.clone());
                }
            }
            Stmt::GotoIfNot(goto) => self.note(&goto.cond, Strength::Shown, Type::BOOL),
            Stmt::Phi(phi) => {
                for value in phi.entries.iter().filter_map(|entry| entry.value.as_ref()) {
                    self.note(value, Strength::Shown, ty.clone());
                }
            }
            Stmt::Value(value) => self.note(value, Strength::Shown, ty.clone()),
            Stmt::Return(ret) => {
                if let Some(value) = &ret.value {
                    self.note(value, Strength::Shown, function.result.clone());
                }
            }
            Stmt::Expr(expr) if expr.head == ircode::Head::Foreigncall => {
                if let Some(Operand::Constant(Constant::SimpleVector(types))) = expr.args.get(2) {
                    for (arg, ty) in expr.args.iter().skip(5).zip(types.iter()) {
                        if let Constant::Type(ty) = ty {
                            self.note(arg, Strength::Shown, (**ty).clone());
                        }
                    }
                }
            }
            _ => {}
        }
        if let Some((primitive, args)) = module.primitive_call(stmt)
            && !matches!(stmt, Stmt::Expr(_))
            // What the names below say is true of the built-in ones.
            && !module.is_registered(primitive.name)
        {
            self.primitive(ir, primitive, args, ty);
        }
    }

    fn primitive(&mut self, ir: &IRCode, primitive: &Primitive, args: &[Operand<Positions>], result: &Type) {
        let known = |args: &[Operand<Positions>]| {
            args.iter().map(|arg| ir.operand_type(arg)).find(|ty| ty.as_scalar().is_some())
        };
        let name = primitive.name;
        let compares = primitive.result == ResultType::Bool;
        match name {
            "ifelse" => {
                if let [condition, a, b] = args {
                    self.note(condition, Strength::Shown, Type::BOOL);
                    self.note(a, Strength::Shown, result.clone());
                    self.note(b, Strength::Shown, result.clone());
                }
            }
            "===" | "!==" => {
                if let Some(ty) = known(args) {
                    args.iter().for_each(|arg| self.note(arg, Strength::Default, ty.clone()));
                }
            }
            "arrayref" => {
                if let [_, array, indices @ ..] = args {
                    let rank = u32::try_from(indices.len()).unwrap_or(1);
                    self.note(array, Strength::Default, Type::array(result.clone(), rank));
                    indices.iter().for_each(|index| self.note(index, Strength::Default, Type::INT64));
                }
            }
            "sext_int" | "zext_int" => {
                if let [_, value] = args {
                    self.note(value, Strength::Narrower, Type::INT32);
                }
            }
            "trunc_int" => self.note_second(args, Type::INT64),
            "sitofp" | "uitofp" => self.note_second(args, Type::INT64),
            "fptosi" | "fptoui" => self.note_second(args, Type::FLOAT64),
            "fpext" => self.note_second(args, Type::FLOAT32),
            "fptrunc" => self.note_second(args, Type::FLOAT64),
            _ if name.ends_with("_float") || name.ends_with("_llvm") || name.ends_with("_float_fast") => {
                self.same_type(args, result, known(args), compares, ScalarType::is_float, Type::FLOAT64);
            }
            _ if name.ends_with("_int") && !name.contains("sh") => {
                let integer = |ty: ScalarType| ty.is_integer() || ty == ScalarType::Bool;
                self.same_type(args, result, known(args), compares, integer, Type::INT64);
            }
            "+" | "-" | "*" | "/" | "^" => {
                self.same_type(args, result, known(args), compares, ScalarType::is_float, Type::Untyped);
            }
            _ => {}
        }
    }

    fn note_second(&mut self, args: &[Operand<Positions>], ty: Type) {
        if let [_, value] = args {
            self.note(value, Strength::Default, ty);
        }
    }

    /// All operands have one type: that of the result or of another operand, or the usual one.
    fn same_type(
        &mut self,
        args: &[Operand<Positions>],
        result: &Type,
        known: Option<Type>,
        compares: bool,
        accept: fn(ScalarType) -> bool,
        usual: Type,
    ) {
        let shown = Some(result.clone()).filter(|ty| !compares && ty.as_scalar().is_some_and(accept));
        let shown = shown.or(known.filter(|ty| ty.as_scalar().is_some_and(accept)));
        let (strength, ty) = match shown {
            Some(ty) => (Strength::Shown, ty),
            None => (Strength::Default, usual),
        };
        args.iter().for_each(|arg| self.note(arg, strength, ty.clone()));
    }
}
