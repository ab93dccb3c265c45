use super::function;

const TEXT: &str = include_str!("../fixtures/sum.sass");

#[test]
fn instructions_and_the_labels_in_use() {
    let text = function(TEXT, "sum", None).expect("it is there");
    insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @r"
            LDC R1, c[0x0][0x28]
    .L_x_1:
            @P0 BRA (.L_x_1)
            EXIT
    ");
}

#[test]
fn a_missing_function_is_an_error() {
    assert_eq!(function(TEXT, "su", None).expect_err("only sum").to_string(), "nvdisasm's output has no function `su`");
}
