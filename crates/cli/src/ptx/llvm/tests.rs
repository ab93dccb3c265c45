use super::function;

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
fn a_function_that_is_not_there() {
    let failure = function(IR, "su").expect_err("only `sum` and `sum_64` are there");
    assert_eq!(failure.to_string(), "the module's LLVM IR has no function `su`");
}
