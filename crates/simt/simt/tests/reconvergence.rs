//! Tests where the lanes that a branch separates reconverge.

use simt::code::{NEVER, Op};

/// Returns the branches of a kernel, and the instruction where each reconverges. The labels of the instructions are
/// `L0`, `L1` and so on.
fn reconvergence_points(instructions: &[&str]) -> Vec<(usize, u32)> {
    let rows = instructions.iter().enumerate().map(|(at, instruction)| format!("L{at}: {instruction};\n"));
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{{\n.reg .b32 %r;\n.reg .pred %p, %q;\n{}}}\n",
        rows.collect::<String>()
    );
    let program = simt::lower::lower(&ptx::parse(&text).unwrap()).kernels.remove(0).1.unwrap();
    let code = program.functions[0].code.iter().enumerate();
    code.filter_map(|(at, inst)| match inst.op {
        Op::Branch { reconverge, .. } => Some((at, reconverge)),
        _ => None,
    })
    .collect()
}

const NOTHING: &str = "add.s32 %r, %r, 1";

#[test]
fn branches_reconverge() {
    type Branches<'a> = &'a [(usize, u32)];
    let meetings: [(&[&str], Branches<'_>); 8] = [
        // An if reconverges after its else, a loop at its exit.
        (&["@%p bra L3", NOTHING, "bra L4", NOTHING, "ret"], &[(0, 4), (2, 4)]),
        (&[NOTHING, "@%p bra L0", "ret"], &[(1, 2)]),
        // Paths that both end never reconverge, and neither does an endless loop.
        (&["@%p bra L2", "ret", "ret"], &[(0, NEVER)]),
        (&["@%p bra L2", "bra L1", "ret"], &[(0, 2), (1, NEVER)]),
        // A path that ends at an `exit` or a `trap` does not count, unless all paths do.
        (&["@%p bra L3", "@%q bra L4", NOTHING, "ret", "exit"], &[(0, 3), (1, 2)]),
        (&["@%p bra L3", "@%q trap", NOTHING, "ret"], &[(0, 3)]),
        (&["@%p bra L3", "@%q bra L4", NOTHING, "exit", "exit"], &[(0, NEVER), (1, NEVER)]),
        // L0 starts the outer loop and L1 the inner loop; L2 breaks out of both.
        (&[NOTHING, NOTHING, "@%p bra L5", "@%q bra L1", "@%q bra L0", "ret"], &[(2, 5), (3, 5), (4, 5)]),
    ];
    for (code, expected) in meetings {
        assert_eq!(reconvergence_points(code), expected, "{code:?}");
    }
}
