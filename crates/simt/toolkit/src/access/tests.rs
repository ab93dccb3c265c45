#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::ptxas::tests::tool;

const PTX: &str = include_str!("fixtures/entries.ptx");

#[test]
fn ptx_by_kind_width_and_predicate() {
    let counts = of_ptx(PTX, "entry").unwrap().to_string();
    assert_eq!(counts, "1 @P LDG.8, 2 LDG.128, 1 STS.16, 1 LDGSTS.128, 1 ATOM.32, 1 RED.64, 1 ATOMS.32, 1 ST.32");
    assert_eq!(of_ptx(PTX, "entry2").unwrap().to_string(), "1 STL.32");
    assert_eq!(of_ptx(PTX, "other").unwrap().to_string(), "1 LDG.64");
    assert_eq!(of_ptx(PTX, "entr"), None);
    assert_eq!(of_ptx(".entry open() { ld.global.b32 %r1, [%rd1];", "open"), None);
}

#[test]
fn strong_loads_of_global_memory_may_wait() {
    assert!(waits(PTX, "entry"));
    assert!(!waits(PTX, "other") && !waits(PTX, "entry2") && !waits(PTX, "none"));
    for (load, expected) in [
        ("ld.relaxed.gpu.global.u64 %rd1, [%rd2]", true),
        ("@%p1 ld.acquire.gpu.u32 %r1, [%rd2]", true),
        ("ld.volatile.shared.u32 %r1, [%r2]", false),
        ("st.relaxed.gpu.global.u32 [%rd2], %r1", false),
        ("atom.relaxed.gpu.global.add.u32 %r1, [%rd2], 1", false),
    ] {
        let ptx = format!(".visible .entry k() {{ {load}; ret; }}");
        assert_eq!(waits(&ptx, "k"), expected, "{load}");
    }
}

#[test]
fn only_fences_of_system_scope_are_system_fences() {
    for (body, expected) in [
        ("fence.acq_rel.sys;", true),
        ("fence.sc.sys; @%p1 membar.sys;", true),
        ("fence.acq_rel.sys; fence.acq_rel.gpu;", false),
        ("fence.proxy.async.global;", false),
        ("st.relaxed.sys.global.u32 [%rd2], %r1;", false),
        ("", false),
    ] {
        let ptx = format!(".visible .entry k() {{ {body} ret; }}");
        assert_eq!(has_only_system_fences(&ptx, "k"), expected, "{body}");
    }
    assert!(!has_only_system_fences(PTX, "none"));
}

const SASS: &str = include_str!("fixtures/entries.sass");

#[test]
fn sass_by_kind_width_and_predicate() {
    let counts = of_sass(SASS, "entry").unwrap();
    assert_eq!(counts.to_string(), "1 LDG.8, 1 @P LDG.64, 1 LDG.128, 1 LDGSTS.128, 1 @P RED.64, 1 ATOMS.POPC.INC.32");
    assert_eq!((counts.of(Kind::Ldg), counts.predicated(Kind::Ldg)), (3, 1));
    assert_eq!(counts.bytes(Kind::Ldg), 25);
    assert_eq!(of_sass(SASS, "entr"), None);
}

#[test]
fn a_reduction_by_the_lane_that_a_warp_elects() {
    let elected = "/*0000*/ UFLO.U32 UR7, UR6 ;\n/*0010*/ @P0 REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R5 ;";
    let after_label = elected.replace(";\n", ";\n.L_x_1:\n");
    for (code, words) in [(elected, "1 @P RED by one lane.32"), (&after_label, "1 @P RED.32")] {
        assert_eq!(of_sass(&format!(".text.k:\n{code}"), "k").unwrap().to_string(), words);
    }
}

fn accesses(ptx: &[(Kind, u32, bool)], sass: &[(Kind, u32, bool)]) -> Vec<String> {
    let counts = |forms: &[(Kind, u32, bool)]| {
        let access = |&(kind, bits, predicated)| Access { kind, bits, predicated };
        forms.iter().map(access).collect()
    };
    let (ptx, sass) = (counts(ptx), counts(sass));
    let changes = Accesses { ptx, sass }.changes();
    changes.iter().map(ToString::to_string).collect()
}

#[test]
fn changes_by_ptxas_are_described() {
    use Kind::{Atom, Atoms, AtomsPopc, Ldg, Red, RedOfOne, Sts};
    let narrow = (Ldg, 32, false);
    assert!(accesses(&[narrow; 4], &[narrow; 4]).is_empty());
    let wide = (Ldg, 128, false);
    let (predicated, plain) = (|kind| (kind, 32, true), |kind| (kind, 32, false));
    for (ptx, sass, words) in [
        (&[narrow; 4][..], &[wide][..], "4 LDG of the PTX are 1 wider ones in SASS"),
        (&[wide], &[narrow; 4], "1 LDG of the PTX are 4 narrower ones in SASS"),
        (&[narrow; 4], &[narrow; 3], "1 of the PTX's 4 LDG are not in SASS"),
        (&[narrow], &[narrow; 4], "1 LDG of the PTX are 4 in SASS, copied or spilled"),
        (
            &[plain(Sts); 2],
            &[predicated(Sts), plain(Sts)],
            "1 STS are predicated in SASS, 0 in the PTX: a branch became a predicate",
        ),
        (
            &[plain(Atom); 3],
            &[plain(Atom), predicated(Red), predicated(Red)],
            "2 atom of the PTX are RED in SASS: their results are not used",
        ),
        (&[narrow; 3], &[wide, narrow], "3 LDG of the PTX are 2 wider ones in SASS"),
        (
            &[plain(Atom)],
            &[predicated(RedOfOne)],
            "1 ATOM of the PTX are RED by one lane of each warp in SASS: all lanes change one word",
        ),
        (
            &[plain(Atoms); 2],
            &[predicated(AtomsPopc), plain(Atoms)],
            "1 ATOMS of the PTX are ATOMS.POPC.INC in SASS: lanes that add 1 to one word need one pass together",
        ),
    ] {
        assert_eq!(accesses(ptx, sass), [words]);
    }
}

#[test]
fn a_real_entry_before_and_after() {
    let (Some(ptxas), Some(nvdisasm)) = (tool(Tool::Ptxas), tool(Tool::Nvdisasm)) else {
        return;
    };
    // Four neighboring words of shared memory, a load with an unused value, and an atomic with an unused result.
    let ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
        \t.shared .align 16 .b8 tile[4096];\n\t.reg .b64 %rd<9>;\n\t.reg .b32 %r<9>;\n\
        \tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd2, %rd1;\n\
        \tld.global.u32 %r1, [%rd2];\n\tmov.u32 %r2, %tid.x;\n\
        \tmov.u32 %r4, tile;\n\tshl.b32 %r3, %r2, 4;\n\tadd.u32 %r3, %r3, %r4;\n\
        \tst.shared.u32 [%r3], %r2;\n\tst.shared.u32 [%r3+4], %r2;\n\
        \tst.shared.u32 [%r3+8], %r2;\n\tst.shared.u32 [%r3+12], %r2;\n\tbar.sync 0;\n\
        \tld.shared.u32 %r5, [%r3+16];\n\tatom.global.add.u32 %r6, [%rd2], %r5;\n\tret;\n}\n";
    let accesses = of_entry(&ptxas, &nvdisasm, ptx, "k", "sm_80").unwrap();
    let counts = accesses.ptx.to_string();
    assert_eq!(counts, "1 LDG.32, 1 LDS.32, 4 STS.32, 1 ATOM.32");
    assert_eq!([Kind::Ldg, Kind::Red].map(|kind| accesses.sass.of(kind)), [0, 1]);
    let changes: Vec<String> = accesses.changes().iter().map(ToString::to_string).collect();
    for expected in [
        "1 atom of the PTX are RED in SASS: their results are not used",
        "1 of the PTX's 1 LDG are not in SASS",
        "4 STS of the PTX are 1 wider ones in SASS",
    ] {
        assert!(changes.contains(&expected.to_owned()), "{changes:?}");
    }
    assert!(matches!(of_entry(&ptxas, &nvdisasm, ptx, "j", "sm_80"), Err(Error::Unread { .. })));
}

proptest! {
    #[test]
    fn any_text_is_counted_or_not(text in "[.a-z0-9@%{}\\[\\];:/* \n]{0,200}") {
        let _ = of_ptx(&format!(".entry k(){text}"), "k");
        let _ = of_sass(&format!(".text.k:\n/*{text}"), "k");
    }
}
