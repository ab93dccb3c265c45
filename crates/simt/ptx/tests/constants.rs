//! Tests of numbers, as operands of `mov`.

use super::{body, operands, refused, rows};
use ptx::ast::{Number, Operand, Statement};

fn number(text: &str) -> Number {
    operands(&format!("mov.b64 %rd1, {text};"), |operands| match operands {
        [Operand::Name("%rd1"), Operand::Number(number)] => *number,
        other => panic!("{text}: {other:?}"),
    })
}

fn integer(text: &str) -> i64 {
    match number(text) {
        Number::Integer(value) => value.cast_signed(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn integers_of_all_bases() {
    for (text, value) in [
        ("0", 0),
        ("42", 42),
        ("42U", 42),
        ("-7", -7),
        ("+7", 7),
        ("0x1F", 31),
        ("0XfFU", 255),
        ("017", 15),
        ("017U", 15),
        ("0b101", 5),
        ("0B11U", 3),
        ("18446744073709551615", -1),
        ("0xFFFFFFFFFFFFFFFF", -1),
        ("-9223372036854775808", i64::MIN),
        ("WARP_SZ", 32),
    ] {
        assert_eq!(integer(text), value, "{text}");
    }
}

#[test]
fn floats() {
    assert_eq!(number("0f3F800000"), Number::F32(0x3f80_0000));
    assert_eq!(number("0Fff800000"), Number::F32(0xff80_0000));
    assert_eq!(number("-0f3F800000"), Number::F32(0xbf80_0000));
    assert_eq!(number("0d3FF0000000000000"), Number::F64(1.0_f64.to_bits()));
    assert_eq!(number("0D7ff8000000000000"), Number::F64(0x7ff8 << 48));
    let decimals = [("1.0", 1.0), ("1.", 1.0), (".5", 0.5), ("1e3", 1e3), ("2.5E-3", 2.5e-3), ("-0.0", -0.0)];
    for (text, value) in decimals {
        assert_eq!(number(text), Number::F64(f64::to_bits(value)), "{text}");
    }
}

#[test]
fn expressions_bind_as_in_c() {
    for (text, value) in [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("10-4-3", 3),
        ("7/2", 3),
        ("-7/2", -3),
        ("-7 % 4", -3),
        ("1<<4|2", 18),
        ("0xF0^0x3C&0xF", 0xFC),
        ("~0", -1),
        ("!0", 1),
        ("!5", 0),
        ("- -3", 3),
        ("-8>>1", -4),
        ("-1>>64", -1),
        ("(.u64)-1>>63", 1),
        ("1<<64", 0),
        ("1U<<64", 0),
        ("1U>>64", 0),
        ("-1 < 0", 1),
        ("-1 < 0U", 0),
        ("-1 >= 0", 0),
        ("3 <= 3", 1),
        ("3 > 4", 0),
        ("3 == 3 != 0", 1),
        ("1 && 0 || 2", 1),
        ("1 ? 2 : 3", 2),
        ("0 ? 2 : 0 ? 3 : 4", 4),
        ("18446744073709551615 / 2", i64::MAX),
        ("18446744073709551615 % 10", 5),
        ("(.s64)18446744073709551615 / 2", 0),
        ("(-9223372036854775807 - 1) / -1", i64::MIN),
        ("WARP_SZ*2+1", 65),
        ("1.5 < 2", 1),
        ("0f3f800000 == 1.0", 1),
        ("0.0 || 0.5", 1),
    ] {
        assert_eq!(integer(text), value, "{text}");
    }
    assert_eq!(number("1.0/4"), Number::F64(0.25_f64.to_bits()));
    assert_eq!(number("-(0f3f800000+2)*3-.5"), Number::F64((-9.5_f64).to_bits()));
}

#[test]
fn offsets_add_up() {
    body("ld.b32 %r1, [%r2+4*2-1+-4]; ld.b32 %r1, [t-(1<<4)]; ld.b32 %r1, [16+4];", |body| {
        let offsets: Vec<_> = body
            .iter()
            .map(|statement| match statement {
                Statement::Instruction(instruction) => format!("{:?}", instruction.operands[1]),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            offsets,
            [
                r#"Address { base: Name("%r2"), offset: 3 }"#,
                r#"Address { base: Name("t"), offset: -16 }"#,
                r#"Address { base: Absolute(20), offset: 0 }"#,
            ]
        );
    });
}

const REFUSED: &str = include_str!("fixtures/refused/numbers.txt");

#[test]
fn malformed_numbers_are_refused() {
    for (text, message) in rows(REFUSED) {
        let error = refused(&format!(".entry k {{ mov.b64 %rd1, {text}; }}"));
        assert_eq!(error.message, message, "{text}");
    }
}
