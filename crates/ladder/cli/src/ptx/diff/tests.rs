use super::text;
use crate::ptx::Listing;

fn compare(a: &str, b: &str) -> String {
    let entry = |name: &str, body: &str| format!(".visible .entry {name}(.param .u64 {name}_p)\n{{\n{body}}}\n");
    let module = format!(".version 6.3\n.target sm_75\n{}{}", entry("a", a), entry("b", b));
    let listing = Listing::new(&module).expect("written here");
    let [a, b] = &listing.tree.functions[..] else {
        panic!("two entries");
    };
    anstream::adapter::strip_str(&text(&listing, a, b)).to_string()
}

#[test]
fn different_names_are_not_a_difference() {
    let shown = compare(
        "$L__tmp0:\nld.param.b64 %rd1, [a_p];\n$L1:\nadd.s64 %rd2, %rd1, 4;\nbra.uni $L1;\nret;\n",
        "ld.param.b64 %rd7, [b_p];\n$X9:\nadd.s64 %rd3, %rd7, 4;\nbra.uni $X9;\n$L__tmp8:\nret;\n",
    );
    insta::assert_snapshot!(shown, @r"
    --- a
    +++ b
    the same 5 lines, except for the names of registers, labels and variables
    ");
}

#[test]
fn a_different_register_operand_is_a_difference() {
    let shown = compare(
        "mov.b32 %r1, 1;\nmov.b32 %r2, 2;\nadd.s32 %r3, %r1, %r2;\nret;\n",
        "mov.b32 %r5, 1;\nmov.b32 %r6, 2;\nadd.s32 %r7, %r5, %r5;\nret;\n",
    );
    insta::assert_snapshot!(shown, @r"
    --- a
    +++ b
    @@ -1,4 +1,4 @@
     mov.b32 %r1, 1;
     mov.b32 %r2, 2;
    -add.s32 %r3, %r1, %r2;
    +add.s32 %r3, %r1, %r1;
     ret;
    3 equal lines, 1 only in a, 1 only in b
    ");
}

#[test]
fn an_additional_instruction_does_not_rename_the_others() {
    let shown = compare(
        "mov.b32 %r1, 1;\nadd.s32 %r2, %r1, 4;\nst.shared.b32 [%r2], %r1;\nret;\n",
        "mov.u32 %r1, %tid.x;\nmov.b32 %r2, 1;\nadd.s32 %r3, %r2, 4;\nst.shared.b32 [%r3], %r2;\nret;\n",
    );
    insta::assert_snapshot!(shown, @r"
    --- a
    +++ b
    @@ -1,3 +1,4 @@
    +mov.u32 %r3, %tid.x;
     mov.b32 %r1, 1;
     add.s32 %r2, %r1, 4;
     st.shared.b32 [%r2], %r1;
    4 equal lines, 0 only in a, 1 only in b
    ");
}
