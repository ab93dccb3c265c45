//! Tests whether arguments fit the parameters of a kernel.

use simt::Module;
use simt::params::{Argument, DataType, check};

/// Returns the error for arguments of `scale(data: &mut [f32], by: f32, out: *mut [u32; 4])`. Unless `is_described`,
/// the PTX does not contain this signature.
fn wrong(is_described: bool, arguments: &[Argument]) -> String {
    let ptx = ".version 8.0 .target sm_80 .address_size 64
        .visible .entry scale(
            .param .u64 .ptr .align 1 scale_param_0, // rust: data: &mut [f32]
            .param .u64 scale_param_1, // rust: data.len()
            .param .f32 scale_param_2, // rust: by: f32
            .param .u64 .ptr .align 1 scale_param_3 // rust: out: *mut [u32; 4]
        ) { ret; }";
    let ptx = if is_described { ptx.to_owned() } else { ptx.replace("// rust: ", "// ") };
    let module = Module::from_ptx(ptx).unwrap();
    let kernel = module.function("scale").unwrap();
    check(&kernel.program().params, arguments).err().unwrap_or_default()
}

fn buffer(ty: &str) -> Argument {
    Argument::Buffer(DataType::named(ty))
}

fn value(ty: &str) -> Argument {
    Argument::Value(DataType::named(ty))
}

#[test]
fn arguments_that_fit() {
    for (element, length, by, out) in [
        ("f32", "usize", "f32", buffer("[u32; 4]")),
        ("f32", "u64", "f32", buffer("u32")),
        ("f32", "i64", "f32", buffer("u8")),
        ("half::Strange", "u64", "f32", Argument::Zero(DataType::named("u64"))),
    ] {
        for is_described in [true, false] {
            let arguments = [buffer(element), value(length), value(by), out.clone()];
            assert_eq!(wrong(is_described, &arguments), "", "{arguments:?}");
        }
    }
}

#[test]
fn arguments_that_do_not_fit_name_the_parameter() {
    let valid = [buffer("f32"), value("usize"), value("f32"), buffer("u32")];
    let cases = [
        (0, buffer("f64"), "argument 0 is a buffer of `f64`, but the parameter is `data: &mut [f32]`"),
        (0, buffer("u32"), "argument 0 is a buffer of `u32`, but the parameter is `data: &mut [f32]`"),
        (0, buffer("[f32; 4]"), "argument 0 is a buffer of `[f32; 4]`"),
        (0, buffer("u8"), "argument 0 is a buffer of `u8`"),
        (0, value("usize"), "argument 0 is a number (`usize`), but the parameter `data: &mut [f32]` is an address"),
        (
            1,
            buffer("f32"),
            "argument 1 is a buffer of `f32`, but the parameter is `data.len(): usize`; a slice takes two",
        ),
        (1, value("f64"), "argument 1 is `f64`, but the parameter is `data.len(): usize`"),
        (1, value("u32"), "argument 1 has 4 bytes (`u32`), but the parameter `data.len(): usize` has 8"),
        (2, value("u32"), "argument 2 is `u32`, but the parameter is `by: f32`"),
        (2, value("f64"), "argument 2 has 8 bytes (`f64`), but the parameter `by: f32` has 4"),
        (
            2,
            buffer("f32"),
            "argument 2 is the address of a buffer, which has 8 bytes, but the parameter `by: f32` has 4",
        ),
        (3, buffer("f32"), "argument 3 is a buffer of `f32`, but the parameter is `out: *mut [u32; 4]`"),
        (3, value("u64"), "argument 3 is a number (`u64`), but the parameter `out: *mut [u32; 4]` is an address"),
    ];
    for (index, other, words) in cases {
        let mut arguments = valid.clone();
        arguments[index] = other;
        let message = wrong(true, &arguments);
        assert!(message.starts_with(words), "{message}");
    }
    let message = wrong(true, &valid[..3]);
    assert_eq!(message, "3 arguments for 4 parameters; `data: &mut [f32]` counts twice, as a pointer and a length");
}

#[test]
fn ptx_alone_has_sizes_and_kinds_of_numbers() {
    let mut arguments = [buffer("f64"), value("usize"), value("u32"), buffer("u32")];
    assert_eq!(wrong(false, &arguments), "argument 2 is `u32`, but the parameter is `scale_param_2` (.f32)");
    arguments[2] = value("f32");
    arguments[1] = value("f64");
    assert_eq!(wrong(false, &arguments), "argument 1 is `f64`, but the parameter is `scale_param_1` (.u64)");
    assert_eq!(wrong(false, &arguments[..3]), "3 arguments for 4 parameters");
}
