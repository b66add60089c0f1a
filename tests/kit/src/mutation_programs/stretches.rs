//! Stretches of arrays that are copied, filled, added to and taken out.

use arbitrary::{Result, Unstructured};
use ircode::{Constant, Head, Operand, Scalar, Stmt, Type};

use super::{LENGTH, Writer, vector};
use bbcode::Ids;

impl Writer<'_> {
    /// A stretch of a vector as a new one, which is as long as the shortest.
    pub(super) fn slice(&mut self, u: &mut Unstructured<'_>) -> Result<Operand<Ids>> {
        let of = self.any(u, &vector())?;
        Ok(self.call("BBKit.slice", [of, 1.into(), (LENGTH as i64).into()], vector()))
    }

    /// Changes a stretch of a vector, which may be empty.
    pub(super) fn stretch(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let least = LENGTH as i64;
        let (to, from) = (self.any(u, &vector())?, self.any(u, &vector())?);
        let (i, j) = (u.int_in_range(1..=least)?, u.int_in_range(1..=least)?);
        let count = u.int_in_range(0..=(least + 1 - i.max(j)))?;
        match u.int_in_range(0..=4)? {
            0 => {
                self.call("BBKit.copyto!", [to, i.into(), from, j.into(), count.into()], vector());
            }
            1 => {
                let (to, from) = (self.address(to, i), self.address(from, j));
                let bytes = Operand::from(Scalar::UInt64(8 * count as u64));
                self.foreign("memmove", &["Ptr{Nothing}", "Ptr{Nothing}", "UInt64"], [to, from, bytes], "Ptr{Nothing}");
            }
            2 => {
                let value = self.float(u)?;
                self.call("BBKit.fill_slice!", [to, i.into(), (i + count - 1).into(), value], vector());
            }
            3 => {
                let added = self.call("BBKit.slice", [from, j.into(), (j + count - 1).into()], vector());
                self.call("BBKit.add_slice!", [to, i.into(), added], vector());
            }
            _ => {
                let value = self.float(u)?;
                self.call("Base.fill!", [to, value], vector());
            }
        }
        Ok(())
    }

    /// The address of an element.
    fn address(&mut self, array: Operand<Ids>, index: i64) -> Operand<Ids> {
        let first = self.foreign("jl_array_ptr", &["Any"], [array], "Ptr{Float64}");
        let bytes = Operand::from(Scalar::UInt64(8 * (index - 1) as u64));
        self.call("Base.add_ptr", [first, bytes], Type::named("Ptr{Float64}"))
    }

    fn foreign(
        &mut self,
        symbol: &str,
        types: &[&str],
        args: impl IntoIterator<Item = Operand<Ids>>,
        result: &str,
    ) -> Operand<Ids> {
        let quoted = |name: &str| Operand::Quote(std::sync::Arc::new(Constant::Symbol(name.into())));
        let result = Type::parse(result);
        let types = types.iter().map(|ty| Constant::of_type(Type::parse(ty))).collect();
        let head = [
            quoted(symbol),
            Constant::of_type(result.clone()).into(),
            Constant::SimpleVector(std::sync::Arc::new(types)).into(),
            0.into(),
            quoted("ccall"),
        ];
        self.push(Stmt::expr(Head::Foreigncall, head.into_iter().chain(args)), result)
    }
}
