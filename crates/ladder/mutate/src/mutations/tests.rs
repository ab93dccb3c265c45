#![allow(clippy::unwrap_used)]

use ptx::ast::Statement;

use super::*;

/// Mutates an instruction between an access and a label. Returns the name of each mutation, with the resulting text
/// from the access onward.
fn changed(instruction: &str) -> Vec<(&'static str, String)> {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n";
    let body = format!("st.shared.b32 [%rd1], %r1; {instruction} L: ret;");
    let text = format!("{head}{body}\n}}");
    let module = ptx::parse(&text).unwrap();
    let statements: Vec<&Statement<'_>> = module.functions[0].statements().collect();
    let instruction = statements[1].instruction().unwrap();
    let place = InstructionSite { text: &text, statements: &statements, index: 1, instruction };
    let changed = edits(&place).map(|(mutation, edit)| {
        let text = edit.apply(&text);
        ptx::parse(&text).unwrap();
        let body = text[head.len()..text.len() - 2].split_whitespace().collect::<Vec<_>>().join(" ");
        (mutation.name, body)
    });
    changed.collect()
}

/// Checks that an instruction has exactly these mutations, and that they have these results.
fn becomes(instruction: &str, expected: &[(&str, &str)]) {
    let found: Vec<(&str, String)> = changed(instruction);
    let whole = |instruction_text: &str| {
        format!("st.shared.b32 [%rd1], %r1; {instruction_text} L: ret;").replace(";  L", "; L").replace("  ", " ")
    };
    let expected: Vec<(&str, String)> =
        expected.iter().map(|(name, instruction_text)| (*name, whole(instruction_text))).collect();
    assert_eq!(found, expected, "{instruction}");
}

#[test]
fn comparisons_and_constants() {
    becomes(
        "setp.lt.u32 %p1, %r1, 32;",
        &[
            ("compare", "setp.le.u32 %p1, %r1, 32;"),
            ("constant", "setp.lt.u32 %p1, %r1, 33;"),
            ("constant", "setp.lt.u32 %p1, %r1, 31;"),
        ],
    );
    becomes("setp.ne.b32 %p1, %r1, %r2;", &[("compare", "setp.eq.b32 %p1, %r1, %r2;")]);
    becomes("mov.b32 %f1, 0f00000000;", &[("constant", "mov.b32 %f1, 0f3F800000;")]);
    becomes(
        "add.s32 %r2, %r1, -1;",
        &[
            ("operation", "sub.s32 %r2, %r1, -1;"),
            ("constant", "add.s32 %r2, %r1, 0;"),
            ("constant", "add.s32 %r2, %r1, -2;"),
        ],
    );
    becomes(
        "sub.s32 %r2, %r1, %r3;",
        &[("operation", "add.s32 %r2, %r1, %r3;"), ("swap-operands", "sub.s32 %r2, %r3, %r1;")],
    );
    becomes("min.u32 %r2, %r1, %r3;", &[("operation", "max.u32 %r2, %r1, %r3;")]);
    becomes("fma.rn.f32 %f1, %f2, %f3, %f4;", &[]);
}

#[test]
fn branches_and_guards() {
    becomes("@%p1 bra L;", &[("branch-always", "bra L;"), ("branch-never", ""), ("negate-guard", "@!%p1 bra L;")]);
    becomes("bra.uni L;", &[]);
    becomes(
        "@!%p1 mov.b32 %r1, %r2;",
        &[("negate-guard", "@%p1 mov.b32 %r1, %r2;"), ("drop-guard", "mov.b32 %r1, %r2;")],
    );
}

#[test]
fn barriers_and_fences() {
    let found = changed("bar.sync 0;");
    let expected = [
        ("drop-barrier", "st.shared.b32 [%rd1], %r1; L: ret;"),
        ("move-barrier-earlier", "bar.sync 0; st.shared.b32 [%rd1], %r1; L: ret;"),
        ("move-barrier-later", "st.shared.b32 [%rd1], %r1; L: bar.sync 0; ret;"),
    ];
    assert_eq!(found, expected.map(|(name, text)| (name, text.to_owned())));
    becomes("fence.acq_rel.gpu;", &[("drop-fence", ""), ("narrow-scope", "fence.acq_rel.cta;")]);
    becomes("membar.gl;", &[("drop-fence", ""), ("narrow-scope", "membar.cta;")]);
    becomes("cp.async.wait_group 1;", &[("drop-wait", ""), ("wait-for-fewer", "cp.async.wait_group 2;")]);
    becomes("cp.async.commit_group;", &[("drop-wait", "")]);
}

#[test]
fn accesses() {
    becomes("ld.param.b32 %r1, [p];", &[]);
    becomes(
        "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+16];",
        &[
            ("offset", "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+32];"),
            ("offset", "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+0];"),
        ],
    );
    becomes(
        "cp.async.ca.shared.global [%rd1], [%rd2+4], 4;",
        &[
            ("offset", "cp.async.ca.shared.global [%rd1+4], [%rd2+4], 4;"),
            ("offset", "cp.async.ca.shared.global [%rd1+-4], [%rd2+4], 4;"),
            ("offset", "cp.async.ca.shared.global [%rd1], [%rd2+8], 4;"),
            ("offset", "cp.async.ca.shared.global [%rd1], [%rd2+0], 4;"),
        ],
    );
    becomes(
        "st.volatile.shared.b64 [%rd2], %rd3;",
        &[
            ("offset", "st.volatile.shared.b64 [%rd2+8], %rd3;"),
            ("offset", "st.volatile.shared.b64 [%rd2+-8], %rd3;"),
            ("weaken-order", "st.shared.b64 [%rd2], %rd3;"),
        ],
    );
    let of_order: Vec<(&str, String)> =
        changed("ld.relaxed.sys.global.b64 %rd1, [%rd2];").into_iter().skip(2).collect();
    let expected = ["ld.relaxed.cta.global.b64 %rd1, [%rd2];", "ld.global.b64 %rd1, [%rd2];"];
    for ((_, found), expected) in of_order.iter().zip(expected) {
        assert!(found.contains(expected), "{found}");
    }
    assert_eq!(of_order.len(), 2);
}

#[test]
fn atomics() {
    let found = changed("@%p1 atom.global.add.u32 %r1, [%rd2], 1;");
    let names: Vec<&str> = found.iter().map(|change| change.0).collect();
    let expected =
        ["negate-guard", "drop-guard", "constant", "constant", "offset", "offset", "plain-atomic", "narrow-scope"];
    assert_eq!(names, expected);
    let plain = "{ .reg .b32 %mutant_old, %mutant_new; @%p1 ld.global.b32 %mutant_old, [%rd2]; @%p1 add.u32 \
                 %mutant_new, %mutant_old, 1; @%p1 st.global.b32 [%rd2], %mutant_new; @%p1 mov.b32 %r1, %mutant_old; }";
    assert!(found[6].1.contains(plain), "{}", found[6].1);
    assert!(found[7].1.contains("@%p1 atom.relaxed.cta.global.add.u32 %r1, [%rd2], 1;"));
    let orders: Vec<String> = changed("atom.acq_rel.gpu.global.max.u32 %r1, [%rd2], %r3;")
        .into_iter()
        .filter(|change| matches!(change.0, "operation" | "narrow-scope" | "weaken-order"))
        .map(|change| change.1)
        .collect();
    let expected = ["atom.acq_rel.gpu.global.min", "atom.acq_rel.cta.global.max", "atom.relaxed.gpu.global.max"];
    assert!(orders.len() == 3 && orders.iter().zip(expected).all(|(order, part)| order.contains(part)), "{orders:?}");
}

#[test]
fn operations_of_a_warp() {
    becomes(
        "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;",
        &[
            ("shuffle-mode", "shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;"),
            ("shuffle-lane", "shfl.sync.bfly.b32 %r1|%p1, %r2, 8, 31, -1;"),
            ("shuffle-segment", "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 15, -1;"),
            ("lane-mask", "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, 2147483647;"),
        ],
    );
    let found = changed("bar.warp.sync 3;");
    assert_eq!(found.last().map(|change| change.0), Some("lane-mask"));
    assert!(found[3].1.contains("bar.warp.sync 1;"));
}
