//! Extended precision.

use crate::tests::{State, program};
use proptest::prelude::*;

#[test]
fn the_carry_goes_on_and_is_written_only_with_cc() {
    let state = State::new()
        .set("%r1", 0xffff_ffff)
        .set("%r2", 1)
        .set("%r3", 10)
        .run(
            "add.cc.u32 %r4, %r1, %r2; addc.u32 %r5, %r3, 0; addc.cc.u32 %r6, %r3, 0;\
             addc.u32 %r7, %r3, 0;",
        );
    // 0xffffffff + 1 carries; the first addc reads that and writes none; the second clears it.
    assert_eq!(state.get("%r4"), 0);
    assert_eq!(state.get("%r5"), 11);
    assert_eq!(state.get("%r6"), 11);
    assert_eq!(state.get("%r7"), 10);
}

#[test]
fn a_carry_in_may_carry_out() {
    let state = State::new().set("%r1", 0xffff_ffff).run(
        "add.cc.u32 %r2, %r1, %r1; addc.cc.u32 %r3, %r1, %r1; addc.cc.u32 %r4, %r1, 0;\
         addc.s32 %r5, 0, 0;",
    );
    assert_eq!(state.get("%r2"), 0xffff_fffe);
    assert_eq!(state.get("%r3"), 0xffff_ffff);
    assert_eq!(state.get("%r4"), 0);
    assert_eq!(state.get("%r5"), 1);
}

#[test]
fn a_borrow_is_taken_off() {
    let state = State::new().set("%r1", 5).run(
        "sub.cc.u32 %r2, %r1, 6; subc.cc.u32 %r3, %r1, 5; subc.cc.u32 %r4, %r1, 1;\
         subc.u32 %r5, %r1, 0;",
    );
    assert_eq!(state.get("%r2"), 0xffff_ffff);
    assert_eq!(state.get("%r3"), 0xffff_ffff);
    assert_eq!(state.get("%r4"), 3);
    assert_eq!(state.get("%r5"), 5);
}

#[test]
fn no_borrow_is_a_carry() {
    let state = State::new().set("%r1", 5).run(
        "sub.cc.u32 %r2, %r1, 5; addc.u32 %r3, 0, 0; sub.cc.u32 %r2, %r1, 6; addc.u32 %r4, 0, 0;\
         add.cc.u32 %r2, %r1, -1; subc.u32 %r5, %r1, 0; add.cc.u32 %r2, %r1, 1; subc.u32 %r6, %r1, 0;",
    );
    let values = ["%r3", "%r4", "%r5", "%r6"].map(|register| state.get(register));
    assert_eq!(values, [1, 0, 5, 4]);
}

#[test]
fn products_carry() {
    // The low half of 0xffffffff squared is 1: adding 0xffffffff carries. The upper one is 0xfffffffe.
    let state = State::new().set("%r1", 0xffff_ffff).set("%r2", 2).run(
        "mad.lo.cc.u32 %r3, %r1, %r1, %r1; madc.hi.cc.u32 %r4, %r1, %r1, 1; addc.u32 %r5, 0, 0;\
         mad.hi.cc.s32 %r6, %r1, %r2, 1; madc.hi.s32 %r7, %r1, %r2, 1; madc.lo.u32 %r8, %r2, %r2, 7;",
    );
    assert_eq!(state.get("%r3"), 0);
    assert_eq!(state.get("%r4"), 0);
    assert_eq!(state.get("%r5"), 1);
    // -1 · 2 has an upper half of -1: plus 1 is 0 and a carry, which both of the others add.
    assert_eq!(state.get("%r6"), 0);
    assert_eq!(state.get("%r7"), 1);
    assert_eq!(state.get("%r8"), 12);
}

#[test]
fn lanes_that_are_away_keep_their_carry() {
    let state = State::new()
        .set("%p0", 0x0000_00ff)
        .set("%r1", 0xffff_ffff)
        .run("add.cc.u32 %r2, %r1, 1; @%p0 add.cc.u32 %r2, 0, 0; addc.u32 %r3, 0, 0;");
    assert_eq!(state.lanes("%r3")[7], 0);
    assert_eq!(state.lanes("%r3")[8], 1);
}

#[test]
fn a_function_has_one_flag_and_no_more() {
    let chain = "add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r1, %r2, %r3; addc.u32 %r1, %r2, %r3;";
    let func = &program(chain).expect("known instructions").functions[0];
    assert_eq!(func.preds, 8 + 1);
    let none = &program("addc.u32 %r1, %r2, %r3;").expect("known").functions[0];
    assert_eq!(none.preds, 8 + 1);
}

proptest! {
    #[test]
    fn numbers_of_128_bits(a: u128, b: u128) {
        let (low, high) = (|v: u128| v as u64, |v: u128| (v >> 64) as u64);
        let state = State::new()
            .set("%rd1", low(a)).set("%rd2", high(a))
            .set("%rd3", low(b)).set("%rd4", high(b))
            .run(
                "add.cc.u64 %rd5, %rd1, %rd3; addc.u64 %rd6, %rd2, %rd4;\
                 sub.cc.s64 %rd7, %rd1, %rd3; subc.s64 %rd8, %rd2, %rd4;\
                 mul.lo.u64 %rd9, %rd1, %rd3; mul.hi.u64 %rd10, %rd1, %rd3;\
                 mad.lo.cc.u64 %rd11, %rd1, %rd3, %rd2; madc.hi.u64 %rd12, %rd1, %rd3, %rd4;\
                 mad.lo.cc.u64 %rd13, %rd1, %rd3, %rd2; madc.hi.cc.s64 %rd14, %rd1, %rd3, %rd4;\
                 addc.u64 %rd15, 0, 0;",
            );
        let pair = |low: &str, high: &str| u128::from(state.get(high)) << 64 | u128::from(state.get(low));
        prop_assert_eq!(pair("%rd5", "%rd6"), a.wrapping_add(b));
        prop_assert_eq!(pair("%rd7", "%rd8"), a.wrapping_sub(b));
        let product = u128::from(low(a)).wrapping_mul(low(b).into());
        prop_assert_eq!(pair("%rd9", "%rd10"), product);
        let addend = u128::from(high(b)) << 64 | u128::from(high(a));
        prop_assert_eq!(pair("%rd11", "%rd12"), product.wrapping_add(addend));
        // The signed upper half, with the carry of the lower one; then what it carries.
        let signed = i128::from(low(a).cast_signed()) * i128::from(low(b).cast_signed());
        let carry = low(product).checked_add(high(a)).is_none();
        let upper = u128::from(high(signed.cast_unsigned())) + u128::from(high(b)) + u128::from(carry);
        prop_assert_eq!(state.get("%rd14"), low(upper));
        prop_assert_eq!(state.get("%rd15"), high(upper));
    }
}
