//! Turns what Julia does to the signs of floats on their bits into arithmetic.

use bbcode::{BBCode, EditError, Ids, InstId};
use ircode::{Constant, LineInfo, Module, NewInstruction, Operand, Scalar, ScalarType, Stmt, Type};

use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "lower-signs";

/// Chooses between a float and its negation where a float is made of the bits of one, with the sign changed by a bit of
/// another: what follows need not know bits. True if there was such a float.
///
/// Julia's `flipsign(x, y)` is `bitcast(Float64, bitcast(UInt64, x) ⊻ (bitcast(UInt64, y) & 0x8000000000000000))`, and
/// becomes `ifelse(bitcast(UInt64, y) & 0x8000000000000000 === 0x0, x, neg_float(x))`, to the last bit; where the bit
/// is known to be set, `neg_float(x)`. Of a constant `y` that is positive, only the zero is left of it. It takes time
/// linear in the function.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let found: Vec<Flipped> =
        bb.all_insts().filter_map(|(id, inst)| flipped(bb, context.module, id, &inst.stmt, inst.line)).collect();
    for flipped in &found {
        choose(bb, flipped).map_err(|error| PassError::because(NAME, context.function, error).at(bb, flipped.id))?;
    }
    Ok(!found.is_empty())
}

/// A float of the bits of one, with the sign changed where another is negative.
struct Flipped {
    id: InstId,
    line: LineInfo,
    float: ScalarType,
    bits: ScalarType,
    of: Of,
    /// Zero, or the bit of the sign; `None` if it is always the bit.
    sign: Option<Operand<Ids>>,
}

/// What the float is made of.
enum Of {
    Float(Operand<Ids>),
    Bits(Operand<Ids>),
}

fn flipped(bb: &BBCode, module: &Module<BBCode>, id: InstId, stmt: &Stmt<Ids>, line: LineInfo) -> Option<Flipped> {
    let (float, made) = bitcast(module, stmt)?;
    let bits = bb.operand_type(made).as_scalar()?;
    if !float.is_float() || !bits.is_integer() || bits.bits() != float.bits() {
        return None;
    }
    let [a, b] = bits_of(bb, module, made, "xor_int")?;
    let sign = 1 << (bits.bits() - 1);
    let is_sign = |operand: &Operand<Ids>| {
        if constant_bits(operand) == Some(0) {
            return true;
        }
        let masked = bits_of(bb, module, operand, "and_int");
        masked.is_some_and(|sides| sides.iter().any(|side| constant_bits(side) == Some(sign)))
    };
    let is_set = |operand: &Operand<Ids>| constant_bits(operand) == Some(sign);
    let (of, sign) = match [a, b].map(|side| (is_set(side), is_sign(side))) {
        // `flipsign(-0.0, y)`: the constant is the float.
        [(true, _), (_, true)] => (a, Some(b)),
        [(_, true), (true, _)] => (b, Some(a)),
        [_, (true, _)] => (a, None),
        [(true, _), _] => (b, None),
        [_, (_, true)] => (a, Some(b)),
        [(_, true), _] => (b, Some(a)),
        _ => return None,
    };
    let own = of.as_value().and_then(|value| bitcast(module, bb.stmt(value)?)).map(|(_, of)| of);
    let own = own.filter(|own| bb.operand_type(own) == Type::from(float));
    let of = match (own, constant_bits(of)) {
        (Some(own), _) => Of::Float(own.clone()),
        (None, Some(bits)) => Of::Float(Operand::from(Scalar::from_bits(float, bits))),
        (None, None) => Of::Bits(of.clone()),
    };
    Some(Flipped { id, line, float, bits, of, sign: sign.cloned() })
}

/// The type that a value is read as, bit by bit, and the value.
fn bitcast<'s>(module: &Module<BBCode>, stmt: &'s Stmt<Ids>) -> Option<(ScalarType, &'s Operand<Ids>)> {
    match module.primitive_call(stmt)? {
        (primitive, [ty, of]) if primitive.name == "bitcast" => Some((module.named_type(ty)?.as_scalar()?, of)),
        _ => None,
    }
}

/// The operands of an operation on bits that a value is made by.
fn bits_of<'b>(
    bb: &'b BBCode,
    module: &Module<BBCode>,
    operand: &Operand<Ids>,
    name: &str,
) -> Option<&'b [Operand<Ids>; 2]> {
    let (primitive, args) = module.primitive_call(bb.stmt(operand.as_value()?)?)?;
    (primitive.name == name).then(|| args.try_into().ok()).flatten()
}

fn constant_bits(operand: &Operand<Ids>) -> Option<u128> {
    match operand {
        Operand::Constant(Constant::Scalar(scalar)) => Some(scalar.to_bits()),
        _ => None,
    }
}

fn choose(bb: &mut BBCode, flipped: &Flipped) -> Result<(), EditError> {
    let Flipped { id, line, float, bits, of, sign } = flipped;
    let mut call = |module: &str, name: &str, args: Vec<Operand<Ids>>, ty: Type| {
        let stmt = Stmt::call(Operand::global(module, name), args);
        bb.insert_before(*id, NewInstruction::new(stmt, ty).with_line(*line)).map(Operand::Value)
    };
    let ty = Type::from(*float);
    let float = match of {
        Of::Float(float) => float.clone(),
        Of::Bits(bits) => {
            let to = Operand::Constant(Constant::of_type(ty.clone()));
            call("Base", "bitcast", vec![to, bits.clone()], ty.clone())?
        }
    };
    let Some(sign) = sign else {
        let negated = Stmt::call(Operand::global("Base", "neg_float"), vec![float]);
        return bb.replace(*id, negated).map(|_| ());
    };
    let zero = Operand::from(Scalar::from_bits(*bits, 0));
    let stays = call("Core", "===", vec![sign.clone(), zero], Type::BOOL)?;
    let negated = call("Base", "neg_float", vec![float.clone()], ty)?;
    bb.replace(*id, Stmt::call(Operand::global("Core", "ifelse"), vec![stays, float, negated])).map(|_| ())
}
