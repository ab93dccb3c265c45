//! Tests the syntax of arguments.

use super::spec::Spec;
use super::values::{BufferInit, Type};
use proptest::prelude::*;

fn scalar(text: &str) -> Vec<u8> {
    match text.parse().unwrap() {
        Spec::Scalar { bytes, .. } => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn scalars() {
    assert_eq!(scalar("i32:5"), 5i32.to_le_bytes());
    assert_eq!(scalar("i8:-128"), [0x80]);
    assert_eq!(scalar("u64:18446744073709551615"), [0xff; 8]);
    assert_eq!(scalar("f32:1.5"), 1.5f32.to_le_bytes());
    assert_eq!(scalar("f32:-inf"), f32::NEG_INFINITY.to_le_bytes());
    assert_eq!(scalar("f64:1e-3"), 1e-3f64.to_le_bytes());
    assert_eq!(scalar("f16:-2"), 0xc000u16.to_le_bytes());
    assert!(f32::from_le_bytes(scalar("f32:nan").try_into().unwrap()).is_nan());
    assert_eq!(scalar("f64:-0"), (-0.0f64).to_le_bytes());
}

#[test]
fn buffers() {
    for (text, expected) in [
        ("i32[4]", BufferInit::Zeros),
        ("i32[4]=iota", BufferInit::Iota),
        ("i32[4]=rand:7", BufferInit::Random(7)),
        ("i32[4]=file:a=b:c", BufferInit::File("a=b:c".into())),
        ("i32[4]=uninit", BufferInit::Uninit),
    ] {
        let expected = Spec::Buffer { ty: Type::I32, count: 4, fill: expected };
        assert_eq!(text.parse::<Spec>().unwrap(), expected);
    }
}

#[test]
fn mistakes_are_reported_with_help() {
    for (text, expected) in [
        ("", "the type is missing"),
        ("5", "the type is missing"),
        ("int:5", "`int` is not a type; the types are i8 u8"),
        ("i32", "a value or a count is missing"),
        ("i32:", "`` is not an i32"),
        ("i32:1.5", "`1.5` is not an i32"),
        ("u8:256", "`256` is not a u8: 0 to 255"),
        ("u8:-1", "`-1` is not a u8: 0 to 255"),
        ("f32:x", "`x` is not an f32"),
        ("i32[x]", "`x` is not a number of elements"),
        ("i32[-1]", "`-1` is not a number of elements"),
        ("i32[4", "a value or a count is missing"),
        ("i32[4]iota", "`iota` cannot fill a buffer"),
        ("i32[4]=ones", "`=ones` cannot fill a buffer"),
        ("i32[4]=rand:x", "`x` is not a seed"),
        ("i32[4]=rand", "`=rand` cannot fill a buffer"),
        ("i32[4]=file:", "the file has no name"),
        ("i32[99999999999999999999]", "is not a number of elements"),
    ] {
        let message = text.parse::<Spec>().unwrap_err();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

proptest! {
    #[test]
    fn any_text_is_accepted_or_refused(text in "([iuf](8|16|32|64))?[:\\[\\]=a-z0-9.é-]{0,20}") {
        let _ = text.parse::<Spec>();
    }
}
