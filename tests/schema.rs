//! The JSON Schema describes what is dumped, and nothing else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbcode::BBCode;
use ircode::{IRCode, Module, from_json, to_json};
use kit::anything::anything;
use kit::seeds::{bytes, for_each};
use serde_json::Value as Json;

fn schema() -> jsonschema::Validator {
    let text = include_str!("../schema/bbkit.schema.json");
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

fn module(seed: u64) -> Option<Module<IRCode>> {
    let bytes = bytes(seed);
    let function = anything(&mut arbitrary::Unstructured::new(&bytes)).ok()?;
    let mut module = Module::new();
    module.add_function(function).unwrap();
    Some(module)
}

#[test]
fn dumps_follow_the_schema() {
    let schema = schema();
    let valid = |json: &str| match schema.validate(&serde_json::from_str(json).unwrap()) {
        Ok(()) => Ok(()),
        Err(error) => Err(format!("{error} at {}", error.instance_path)),
    };
    for_each(150, anything, |function| {
        let mut module = Module::new();
        module.add_function(function.clone()).unwrap();
        valid(&to_json(&module).unwrap())?;
        match bbkit::to_bbcode(&module) {
            Ok(bbcode) if function.body.new_nodes.is_empty() => valid(&to_json(&bbcode).unwrap()),
            _ => Ok(()),
        }
    })
    .unwrap();
    let parsed = ircode::parse_module(include_str!("julia/modules/even_step.ir")).unwrap();
    let mut derived = bbkit::to_bbcode(&parsed.module).unwrap();
    passes::reverse_mode::differentiate(&mut derived, &"even_step".into()).unwrap();
    valid(&to_json(&derived).unwrap()).unwrap();
}

#[test]
fn declarations_come_back_and_follow_the_schema() {
    let schema = schema();
    let (classes, witnesses) = (Cell::new(0), Cell::new(0));
    for_each(300, kit::tables::tables, |module| {
        let json = to_json(module).unwrap();
        schema.validate(&serde_json::from_str(&json).unwrap()).map_err(|error| format!("{error}: {json}"))?;
        let again: Module<IRCode> = from_json(&json).unwrap();
        if again != *module || to_json(&again).unwrap() != json {
            return Err(format!("it comes back from JSON as another one: {json}"));
        }
        let text = ircode::print_module(module, ircode::Style::Bbkit);
        if module.declarations().next().is_some() {
            let again = ircode::parse_module(&text).map_err(|error| format!("{error}: {text}"))?.module;
            if again != *module || ircode::print_module(&again, ircode::Style::Bbkit) != text {
                return Err(format!("it comes back from text as another one: {text}"));
            }
        }
        // Whatever the tables hold, checking them says something.
        if let Err(violations) = ircode::verify_tables(module, |body| &body.argtypes) {
            assert!(!violations.0.is_empty() && !violations.to_string().is_empty());
        }
        classes.set(classes.get() + module.classes().len());
        witnesses.set(witnesses.get() + module.witnesses().len());
        Ok(())
    })
    .unwrap();
    assert!(classes.get() > 100 && witnesses.get() > 50, "{} classes, {} tables", classes.get(), witnesses.get());
}

/// Renames a member somewhere in the document; false if there are not so many.
fn rename_member(json: &mut Json, at: &mut usize) -> bool {
    match json {
        Json::Object(members) => {
            let keys: Vec<String> = members.keys().cloned().collect();
            for key in keys {
                if *at == 0 {
                    let value = members.remove(&key).unwrap();
                    members.insert(format!("{key}_"), value);
                    return true;
                }
                *at -= 1;
                if rename_member(members.get_mut(&key).unwrap(), at) {
                    return true;
                }
            }
            false
        }
        Json::Array(elements) => elements.iter_mut().any(|element| rename_member(element, at)),
        _ => false,
    }
}

/// What has a member that the format does not know is refused by the schema and by the reader alike.
#[test]
fn the_schema_and_the_reader_refuse_unknown_members() {
    let schema = schema();
    for seed in 0..12 {
        let Some(module) = module(seed) else { continue };
        let json: Json = serde_json::from_str(&to_json(&module).unwrap()).unwrap();
        for member in (0..).step_by(3) {
            let mut wrong = json.clone();
            if !rename_member(&mut wrong, &mut { member }) {
                break;
            }
            let text = wrong.to_string();
            assert!(!schema.is_valid(&wrong), "the schema takes {text}");
            assert!(
                from_json::<IRCode>(&text).is_err() && from_json::<BBCode>(&text).is_err(),
                "the reader takes {text}"
            );
        }
    }
}

#[test]
fn numbers_are_exact() {
    use ircode::{
        Constant, Function, Instruction, InstructionStream, LineInfo, NewInstruction, Operand, Scalar, Stmt, Type,
    };
    let mut stmts = InstructionStream::default();
    let scalars = [
        Scalar::Float64(f64::from_bits(0x7ff8_0000_0000_0001)),
        Scalar::Float64(f64::from_bits(0xfff0_0000_0000_0001)),
        Scalar::Float64(f64::NAN),
        Scalar::Float64(f64::INFINITY),
        Scalar::Float64(-0.0),
        Scalar::Float64(5e-324),
        Scalar::Float64(0.1 + 0.2),
        Scalar::Float32(f32::from_bits(0xffc1_2345)),
        Scalar::Float32(f32::MIN_POSITIVE / 2.0),
        Scalar::Int64(i64::MIN),
        Scalar::Int64((1 << 53) + 1),
        Scalar::UInt64(u64::MAX),
        Scalar::from_bits(ircode::ScalarType::Int128, 1 << 127),
        Scalar::from_bits(ircode::ScalarType::UInt128, u128::MAX),
        Scalar::from_bits(ircode::ScalarType::Float16, 0x7e01),
    ];
    for scalar in &scalars {
        let stmt = Stmt::Value(Operand::Constant(Constant::Scalar(scalar.clone())));
        let inst: Instruction<_> = NewInstruction::new(stmt, Type::Any).into_instruction(LineInfo::NONE);
        stmts.push(inst);
    }
    let count = stmts.len();
    let mut module = Module::new();
    module
        .add_function(Function::new("f", Type::Any, IRCode::from_blocks(stmts, std::slice::from_ref(&(0..count)))))
        .unwrap();
    let back: Module<IRCode> = from_json(&to_json(&module).unwrap()).unwrap();
    for (stmt, scalar) in back.functions()[0].body.stmts.stmts().iter().zip(&scalars) {
        let Stmt::Value(Operand::Constant(Constant::Scalar(found))) = stmt else { panic!("{stmt:?}") };
        assert_eq!((found.scalar_type(), found.to_bits()), (scalar.scalar_type(), scalar.to_bits()));
    }
}
