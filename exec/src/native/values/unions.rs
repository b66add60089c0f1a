//! Small unions, as `Union{Nothing, Tuple{Float64, Int64}}`, which Julia's iteration gives: a number that says which
//! member a value is of, and behind it the parts of each member, those of the others being zeros.

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use ircode::primitives::Primitive;
use ircode::{Constant, Operand, Positions, ScalarType, Type};

use crate::native::function::sites::What;
use crate::native::function::{Compiled, FunctionCompiler, Typed};
use crate::native::layout::{Composition, Layout, Layouts, Parts, Shape};

/// Unions of more members are values of the interpreter.
const MOST_MEMBERS: usize = 4;

/// So are those of more parts.
const MOST_PARTS: usize = 16;

/// What is met where a value is of no type that the code says.
const OF_ANOTHER_TYPE: &str = "a value of another type than the code says";

impl Layouts {
    /// The layouts of the members of a union, which [is small](Self::is_small_union).
    pub(crate) fn members(&mut self, types: &[Type]) -> Vec<Arc<Layout>> {
        types.iter().map(|ty| self.of(ty)).collect()
    }

    /// Whether the members of a union are few and different, and each is numbers, pointers to objects, functions,
    /// `nothing`, a union of such, or made of few such.
    pub(crate) fn is_small_union(&self, types: &[Type]) -> bool {
        self.union_parts(types, MOST_PARTS).is_some()
    }

    /// How many parts a value of a union has; `None` if it is no small one, or there are more than so many.
    fn union_parts(&self, types: &[Type], most: usize) -> Option<usize> {
        let declared: Vec<Type> = types.iter().map(|ty| self.as_declared(ty)).collect();
        let distinct = declared.iter().enumerate().all(|(at, ty)| declared.iter().take(at).all(|other| other != ty));
        if !distinct || !(2..=MOST_MEMBERS).contains(&types.len()) {
            return None;
        }
        let mut sum = 1;
        for ty in &declared {
            sum += self.part_count(ty, most.checked_sub(sum)?)?;
        }
        (sum <= most).then_some(sum)
    }

    /// How many parts a value of a member has; `None` if a union has no such members, or there are more than so many.
    fn part_count(&self, ty: &Type, most: usize) -> Option<usize> {
        match ty {
            Type::Scalar(_) | Type::Array(_) | Type::Ref(_) => Some(1),
            Type::Nothing | Type::Function(_) => Some(0),
            // The more deeply it lies, the fewer there may be: a type that is in itself has an end, too.
            Type::Union(members) => self.union_parts(members, most.checked_sub(1)?),
            // Objects of classes may be of others.
            Type::Named(_) | Type::Tuple(_) | Type::NamedTuple(_) => match self.composition(ty) {
                Composition::Pointer(_) => Some(1),
                Composition::Fields(types) => {
                    let mut sum = 0;
                    for ty in types {
                        sum += self.part_count(&ty, most.checked_sub(sum + 1)?)?;
                    }
                    Some(sum)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// The part of a union at which those of a member begin.
pub(crate) fn first_part(members: &[Arc<Layout>], member: usize) -> usize {
    1 + members.iter().take(member).map(|member| member.parts.len()).sum::<usize>()
}

fn position(members: &[Arc<Layout>], layout: &Layout) -> Option<usize> {
    members.iter().position(|member| member.ty == layout.ty)
}

/// The only member of a union that is a tuple of which each value of the type can be one: of unions in the place of its
/// elements.
pub(crate) fn covering_member(union: &Layout, ty: &Type) -> Option<Arc<Layout>> {
    let (Shape::Union(members), Type::Tuple(_)) = (&union.shape, ty) else { return None };
    let mut covering = members.iter().filter(|member| member.ty != *ty && covers(&member.ty, ty));
    let only = covering.next()?;
    covering.next().is_none().then(|| only.clone())
}

fn covers(wider: &Type, ty: &Type) -> bool {
    match (wider, ty) {
        (wider, ty) if wider == ty => true,
        (Type::Tuple(wider), Type::Tuple(elements)) => {
            wider.len() == elements.len() && wider.iter().zip(elements.iter()).all(|(wider, ty)| covers(wider, ty))
        }
        (Type::Union(members), ty) => members.contains(ty),
        _ => false,
    }
}

impl FunctionCompiler<'_, '_> {
    /// The value of a member, or of a union of some of them, as one of a union; `None` if it is no such value.
    pub(crate) fn widen_to_union(&mut self, value: &Typed, to: &Arc<Layout>) -> Option<Typed> {
        let Shape::Union(members) = &to.shape else { return None };
        let Shape::Union(own) = &value.layout.shape else {
            let member = position(members, &value.layout)?;
            let number = self.builder.ins().iconst(clif::I8, member as i64);
            return Some(self.union(to, members, number, &[(member, &value.parts)]));
        };
        if !own.iter().any(|layout| position(members, layout).is_some()) {
            return None;
        }
        let mut number = self.builder.ins().iconst(clif::I8, 0);
        let mut known = Vec::with_capacity(own.len());
        for (at, layout) in own.iter().enumerate() {
            let of_member = self.is_member(value, at)?;
            let Some(member) = position(members, layout) else {
                let fine = self.builder.ins().bxor_imm_u(of_member, 1);
                self.guard(fine, What::Refused(OF_ANOTHER_TYPE), &[]);
                continue;
            };
            let this = self.builder.ins().iconst(clif::I8, member as i64);
            number = self.builder.ins().select(of_member, this, number);
            let first = first_part(own, at);
            known.push((member, value.parts.get(first..first + layout.parts.len())?));
        }
        Some(self.union(to, members, number, &known))
    }

    /// A union of which the parts of some members are known.
    pub(crate) fn union(
        &mut self,
        layout: &Arc<Layout>,
        members: &[Arc<Layout>],
        number: ir::Value,
        known: &[(usize, &[ir::Value])],
    ) -> Typed {
        let mut parts = Parts::from_slice(&[number]);
        for (at, member) in members.iter().enumerate() {
            match known.iter().find(|(member, _)| *member == at) {
                Some((_, own)) => parts.extend(own.iter().copied()),
                None => parts.extend(member.parts.iter().map(|part| self.zero(*part))),
            }
        }
        Typed { layout: layout.clone(), parts }
    }

    /// Whether a value of a union is of the member of this number.
    pub(crate) fn is_member(&mut self, value: &Typed, member: usize) -> Option<ir::Value> {
        let number = value.parts.first().copied()?;
        Some(self.builder.ins().icmp_imm_s(IntCC::Equal, number, member as i64))
    }

    pub(crate) fn member(&mut self, value: &Typed, member: usize) -> Option<Typed> {
        let Shape::Union(members) = &value.layout.shape else { return None };
        let layout = members.get(member)?.clone();
        let first = first_part(members, member);
        let parts = value.parts.get(first..first + layout.parts.len()).map(Parts::from_slice)?;
        let of_member = self.is_member(value, member)?;
        Some(Typed { parts: self.readable(&layout, parts, of_member), layout })
    }

    /// What a value of a union is of this type, where it is known that it is; `None` if the union has no such member.
    pub(crate) fn narrow_union(&mut self, value: &Typed, to: &Layout) -> Option<Typed> {
        let Shape::Union(members) = &value.layout.shape else { return None };
        let member = position(members, to)?;
        let of_member = self.is_member(value, member)?;
        self.guard(of_member, What::Refused(OF_ANOTHER_TYPE), &[]);
        self.member(value, member)
    }

    /// Whether a value of a union is of a type: by its members. `None` if only the interpreter can say it.
    fn union_is_a(&mut self, value: &Typed, asked: impl Fn(&mut Self, &Layout) -> Option<bool>) -> Option<ir::Value> {
        let Shape::Union(members) = &value.layout.shape else { return None };
        let answers = members.iter().map(|member| asked(self, member)).collect::<Option<Vec<bool>>>()?;
        let mut any = self.builder.ins().iconst(clif::I8, 0);
        for member in (0..answers.len()).filter(|at| answers.get(*at) == Some(&true)) {
            let of_member = self.is_member(value, member)?;
            any = self.builder.ins().bor(any, of_member);
        }
        Some(any)
    }

    /// Whether the values of a member are of a type.
    fn member_is_a(&mut self, member: &Layout, ty: &Type) -> Option<bool> {
        if let Type::Union(types) = ty {
            let answers = types.iter().map(|ty| self.member_is_a(member, ty)).collect::<Option<Vec<bool>>>()?;
            return Some(answers.contains(&true));
        }
        let asked = self.compiler.layouts.of(ty);
        if *ty == Type::Any || asked.ty == member.ty {
            return Some(true);
        }
        // Tuples of abstract types have members of others; what is boxed may be abstract itself.
        let decided = match (&asked.shape, &member.shape) {
            (Shape::Scalar(_), _) | (_, Shape::Scalar(_)) => !asked.is_boxed(),
            (Shape::Array(..) | Shape::Object | Shape::Reference, _) => true,
            (_, Shape::Array(..) | Shape::Object | Shape::Reference) => !asked.is_boxed(),
            (Shape::Unit, Shape::Fields(_)) | (Shape::Fields(_), Shape::Unit) => true,
            (Shape::Fields(_), Shape::Fields(_)) => {
                !matches!((&asked.ty, &member.ty), (Type::Tuple(_), Type::Tuple(_)))
            }
            _ => false,
        };
        decided.then_some(false)
    }

    /// `isa`, `typeassert`, `===` and `!==` of values of unions; `None` if it is something else, or only the
    /// interpreter can say it.
    pub(crate) fn union_primitive(
        &mut self,
        primitive: &'static Primitive,
        args: &[Operand<Positions>],
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        let [value, other] = operands else { return Ok(None) };
        let is_union = |value: &Typed| matches!(value.layout.shape, Shape::Union(_));
        if matches!(primitive.name, "===" | "!==") && (is_union(value) || is_union(other)) {
            let Some(same) = self.same_as_union(value, other) else { return Ok(None) };
            let same = if primitive.name == "===" { same } else { self.builder.ins().bxor_imm_u(same, 1) };
            return Ok(Some(self.scalar(ScalarType::Bool, same)));
        }
        if !matches!(primitive.name, "isa" | "typeassert" | "assert_number") || !is_union(value) {
            return Ok(None);
        }
        let (of_type, asked) = match &other.layout.ty {
            Type::TypeOf(ty) => {
                let ty = (**ty).clone();
                let asked = self.compiler.layouts.of(&ty);
                (self.union_is_a(value, |compiler, member| compiler.member_is_a(member, &ty)), Some(asked))
            }
            _ if args.get(1).is_some_and(is_any_tuple) => {
                let tuple = |member: &Layout| matches!(member.ty, Type::Tuple(_));
                let Shape::Union(members) = &value.layout.shape else { return Ok(None) };
                let mut tuples = members.iter().filter(|member| tuple(member));
                let only = tuples.next().filter(|_| tuples.next().is_none()).cloned();
                (self.union_is_a(value, |_, member| Some(tuple(member))), only)
            }
            _ => return Ok(None),
        };
        let Some(of_type) = of_type else { return Ok(None) };
        if primitive.name == "isa" {
            return Ok(Some(self.scalar(ScalarType::Bool, of_type)));
        }
        self.throws_unless(of_type, primitive, operands, "a value of another type than was asserted")?;
        let asserted = asked.and_then(|asked| {
            let Shape::Union(members) = &value.layout.shape else { return None };
            self.member(value, position(members, &asked)?)
        });
        Ok(Some(asserted.unwrap_or_else(|| value.clone())))
    }

    /// Whether two values are the same, of which at least one is of a union.
    fn same_as_union(&mut self, a: &Typed, b: &Typed) -> Option<ir::Value> {
        let (union, other) = if matches!(a.layout.shape, Shape::Union(_)) { (a, b) } else { (b, a) };
        let Shape::Union(members) = &union.layout.shape else { return None };
        let mut any = self.builder.ins().iconst(clif::I8, 0);
        for at in 0..members.len() {
            let member = self.member(union, at)?;
            let of_member = self.is_member(union, at)?;
            let same = match other.layout.shape {
                Shape::Union(_) => self.same_as_union(other, &member)?,
                _ => self.egal(&member, other)?,
            };
            let both = self.builder.ins().band(of_member, same);
            any = self.builder.ins().bor(any, both);
        }
        Some(any)
    }
}

/// Whether an operand is the type of all tuples.
fn is_any_tuple(operand: &Operand<Positions>) -> bool {
    let named = |path: &str| matches!(path, "Tuple" | "Core.Tuple");
    match operand {
        Operand::Global(global) => global.name.as_str() == "Tuple" && matches!(global.module.as_str(), "" | "Core"),
        Operand::Constant(Constant::Text(text)) => named(text),
        Operand::Constant(Constant::Type(ty)) => named(&ty.to_string()),
        _ => false,
    }
}
