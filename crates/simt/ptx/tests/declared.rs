//! Tests of the comments on kernel parameters.

use ptx::{DataType, Declared, Role};

fn role(comment: &str) -> Role {
    Declared::read(comment).expect("a comment of this form").role
}

#[test]
fn comments_of_parameters() {
    let slice = Declared::read(" rust: a: &[f32]").expect("a slice");
    assert_eq!((slice.to_string(), &slice.role), ("a: &[f32]".to_owned(), &Role::Slice(DataType::named("f32"))));
    let colors = DataType { bytes: Some(12), ..DataType::named("Color") };
    assert_eq!(role("rust: c: &mut [Color], 12 bytes"), Role::Slice(colors));
    assert_eq!(role("rust: rows: &[[f32; 4]]"), Role::Slice(DataType::named("[f32; 4]")));
    assert_eq!(role("rust: row: &[f32; 4]"), Role::Pointer(DataType::named("[f32; 4]")));
    assert_eq!(role("rust: p: *const *mut f32"), Role::Pointer(DataType::named("*mut f32")));
    assert_eq!(role("rust: n: u32"), Role::Value(DataType::named("u32")));
    assert_eq!(role("rust: a.len()"), Role::Length);
    for other in ["rust: ", "rust: n", "n: u32", "", "rust: \u{e9}"] {
        assert_eq!(Declared::read(other), None, "{other}");
    }
}

#[test]
fn types_by_their_names() {
    for (name, bytes, number) in [
        ("f64", Some(8), Some((true, 8))),
        ("bool", Some(1), Some((false, 1))),
        ("[[u8; 4]; 3]", Some(12), Some((false, 1))),
        ("[f32; N]", None, Some((true, 4))),
        ("*mut f32", Some(8), None),
        ("[u64; 18446744073709551615]", None, Some((false, 8))),
        ("Color", None, None),
        ("f33", None, None),
    ] {
        let ty = DataType::named(name);
        assert_eq!((ty.bytes, ty.number), (bytes, number), "{name}");
    }
    let accepts = |one, other| DataType::named(one).accepts(&DataType::named(other));
    assert!(accepts("u32", "i32") && accepts("u64", "usize") && accepts("Color", "f32") && accepts("*mut u8", "u64"));
    assert!(!accepts("f32", "u32") && !accepts("f32", "f64") && !accepts("f32", "[f32; 4]"));
}
