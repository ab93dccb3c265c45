use super::{function, function_in};

const IR: &str = include_str!("../fixtures/sum.ll");

#[test]
fn one_define_without_debug_information() {
    let text = function(IR, "sum").expect("it is there");
    insta::assert_snapshot!(text, @r"
    define ptx_kernel void @sum(ptr %0) {
    start:
      %1 = load i32, ptr %0, align 4, !noundef !4
      ret void
    }
    ");
}

#[test]
fn a_missing_function_is_an_error() {
    assert_eq!(function(IR, "su"), None);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("0.ll"), IR).expect("written");
    let text = function_in(folder.path(), "sum").expect("it is there");
    assert!(text.starts_with("define ptx_kernel void @sum("), "{text}");
    let failure = function_in(folder.path(), "su").expect_err("only `sum` and `sum_64` are there");
    assert_eq!(failure.to_string(), "the kernels' LLVM IR has no function `su`");
    let failure = function_in(&folder.path().join("none"), "sum").expect_err("there is no folder");
    assert!(failure.to_string().starts_with("cannot read "), "{failure}");
}
