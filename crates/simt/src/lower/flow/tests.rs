use super::*;
use crate::code::{Guard, Pred};

fn inst(op: Op) -> Inst {
    Inst { guard: None, op }
}

fn branch(target: u32, conditional: bool) -> Inst {
    Inst {
        guard: conditional.then_some(Guard { pred: Pred(0), negated: false }),
        op: Op::Branch { target, reconverge: 0 },
    }
}

fn meets(mut code: Vec<Inst>) -> Vec<(usize, u32)> {
    reconverge(&mut code);
    code.iter()
        .enumerate()
        .filter_map(|(at, inst)| match inst.op {
            Op::Branch { reconverge, .. } => Some((at, reconverge)),
            _ => None,
        })
        .collect()
}

#[test]
fn an_if_meets_behind_its_else() {
    // 0: @p bra 3; 1: nothing; 2: bra 4; 3: nothing; 4: ret
    let code = vec![branch(3, true), inst(Op::Nothing), branch(4, false), inst(Op::Nothing), inst(Op::Return)];
    assert_eq!(meets(code), [(0, 4), (2, 4)]);
}

#[test]
fn a_loop_meets_at_its_exit() {
    // 0: nothing; 1: @p bra 0; 2: ret
    let code = vec![inst(Op::Nothing), branch(0, true), inst(Op::Return)];
    assert_eq!(meets(code), [(1, 2)]);
}

#[test]
fn ways_that_both_end_never_meet() {
    // 0: @p bra 2; 1: ret; 2: ret
    let code = vec![branch(2, true), inst(Op::Return), inst(Op::Return)];
    assert_eq!(meets(code), [(0, NEVER)]);
}

#[test]
fn an_endless_loop_has_no_meeting_place() {
    // 0: @p bra 2; 1: bra 1; 2: ret
    let code = vec![branch(2, true), branch(1, false), inst(Op::Return)];
    assert_eq!(meets(code), [(0, 2), (1, NEVER)]);
}

#[test]
fn breaks_out_of_nested_loops() {
    // 0: nothing (outer) 1: nothing (inner) 2: @p bra 5 (break) 3: @q bra 1 4: @q bra 0 5: ret
    let code =
        vec![inst(Op::Nothing), inst(Op::Nothing), branch(5, true), branch(1, true), branch(0, true), inst(Op::Return)];
    assert_eq!(meets(code), [(2, 5), (3, 5), (4, 5)]);
}
