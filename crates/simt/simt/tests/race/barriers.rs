//! Barriers of blocks and warps.

use super::{clean, findings_of, races};

/// Each thread writes its word and reads the word of the thread `from` places after it.
fn exchange(sync: &str, from: u32) -> String {
    format!(
        "st.shared.u32 [%slot], %tid;\n{sync}\n\
         add.u32 %r0, %tid, {from};\nand.b32 %r0, %r0, 127;\nmad.wide.u32 %a0, %r0, 4, %tile;\nld.shared.u32 %r1, [%a0];"
    )
}

#[test]
fn a_missing_syncthreads_is_a_race() {
    races(&exchange("", 32), 1, 128, "by another warp of the block");
    clean(&exchange("bar.sync 0;", 32), 1, 128);
    // A warp barrier orders accesses of one warp only.
    races(&exchange("bar.warp.sync -1;", 32), 1, 128, "put `bar.sync 0` between the two accesses");
}

#[test]
fn a_missing_syncwarp_is_a_race() {
    let exchange = |sync| exchange(sync, 1).replace("and.b32 %r0, %r0, 127;", "and.b32 %r0, %r0, 31;");
    races(&exchange(""), 1, 32, "by another lane of the warp");
    clean(&exchange("bar.warp.sync -1;"), 1, 32);
    clean(&exchange("bar.sync 0;"), 1, 32);
    // A shuffle waits for the lanes, but does not order memory accesses.
    races(&exchange("shfl.sync.idx.b32 %r2, %tid, 0, 31, -1;"), 1, 32, "`bar.warp.sync` is cheaper");
    // Each half of the warp has a separate barrier.
    let halves = "setp.lt.u32 %p0, %lane, 16;\nselp.b32 %r3, 0xffff, 0xffff0000, %p0;\nbar.warp.sync %r3;";
    races(&exchange(halves), 1, 32, "`bar.warp.sync` is cheaper");
    let in_halves = exchange(halves).replace("and.b32 %r0, %r0, 31;", "xor.b32 %r0, %tid, 1;");
    clean(&in_halves, 1, 32);
}

#[test]
fn a_partial_warp_synchronizes() {
    let exchange = |sync| exchange(sync, 1).replace("and.b32 %r0, %r0, 127;", "rem.u32 %r0, %r0, 20;");
    clean(&exchange("bar.warp.sync 0xfffff;"), 1, 20);
    clean(&exchange("bar.sync 0;"), 1, 20);
    races(&exchange(""), 1, 20, "`bar.warp.sync` is cheaper");
}

#[test]
fn a_buffer_reused_too_early_is_a_race() {
    let rounds = |sync: &str| {
        format!(
            "mov.u32 %r5, 0;\nagain:\n{}\n{sync}\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, 3;\n@%p0 bra again;",
            exchange("bar.sync 0;", 32)
        )
    };
    races(&rounds(""), 1, 128, "write of 4 bytes races with a read of 4 bytes by another warp of the block");
    clean(&rounds("bar.sync 0;"), 1, 128);
}

#[test]
fn one_write_among_many_reads_is_a_race() {
    let body = |sync: &str| {
        format!("ld.shared.u32 %r0, [%tile];\n{sync}\nsetp.eq.u32 %p0, %tid, 77;\n@%p0 st.shared.u32 [%tile], %tid;")
    };
    races(&body(""), 1, 1024, "write of 4 bytes races with a read");
    clean(&body("bar.sync 0;"), 1, 1024);
}

#[test]
fn adjacent_bytes_do_not_race() {
    let body = "cvt.u64.u32 %a0, %tid;\nadd.u64 %a1, %tile, %a0;\nst.shared.u8 [%a1], %tid;\nld.shared.u8 %r0, [%a1];";
    clean(body, 1, 128);
    clean(&body.replace("%tile", "%out").replace(".shared", ".global"), 1, 128);
    let read_next = body.replace("ld.shared.u8 %r0, [%a1];", "ld.shared.u8 %r0, [%a1+1];");
    races(&read_next, 1, 2, "read of 1 bytes races with a write of 1 bytes");
    // A wider access to the same bytes.
    let wider = "setp.eq.u32 %p0, %tid, 40;\nst.shared.u8 [%slot+3], %tid;\n@%p0 ld.shared.v2.u32 {%r0, %r1}, [%tile];";
    races(wider, 1, 64, "read of 8 bytes races with a write of 1 bytes");
    clean(&wider.replace("[%tile]", "[%tile+256]"), 1, 64);
}

#[test]
fn lanes_that_write_the_same_bytes_race() {
    let body = "st.shared.u32 [%tile], %tid;";
    races(body, 1, 32, "with the same instruction in another");
    races(body, 1, 2, "with the same instruction in another");
    clean(body, 1, 1);
    clean("atom.shared.add.u32 %r0, [%tile], 1;", 1, 256);
}

#[test]
fn named_barriers_order_their_participants() {
    // The first two warps produce, the others consume.
    let body = |produce: &str, consume: &str| {
        format!(
            "setp.lt.u32 %p0, %tid, 64;\n@%p0 bra produce;\n{consume}\nld.shared.u32 %r0, [%slot+-256];\nbra done;\n\
             produce:\nst.shared.u32 [%slot], %tid;\n{produce}\ndone:"
        )
    };
    clean(&body("bar.arrive 1, 128;", "bar.sync 1, 128;"), 1, 128);
    clean(&body("bar.sync 1, 128;", "bar.sync 1, 128;"), 1, 128);
    races(&body("bar.sync 1, 64;", "bar.sync 2, 64;"), 1, 128, "put `bar.sync 0` between the two accesses");
    races(&body("bar.sync 1, 128;", "bar.arrive 1, 128;"), 1, 128, "put `bar.sync 0` between the two accesses");
}

#[test]
fn volatile_does_not_make_lanes_run_in_step() {
    let body = |sync: &str, volatile: &str| {
        format!(
            "st{volatile}.shared.u32 [%slot], %tid;\n{sync}\nsetp.lt.u32 %p0, %lane, 16;\n\
             @%p0 ld{volatile}.shared.u32 %r0, [%slot+64];\n{sync}\n@%p0 st{volatile}.shared.u32 [%slot], %r0;"
        )
    };
    races(&body("", ".volatile"), 1, 32, "the lanes of a warp do not run in lockstep");
    races(&body("", ""), 1, 32, "`bar.warp.sync` is cheaper");
    clean(&body("bar.warp.sync -1;", ".volatile"), 1, 32);
    clean(&body("bar.warp.sync -1;", ""), 1, 32);
}

#[test]
fn a_finding_names_both_threads() {
    let findings = findings_of(&exchange("", 32), 1, 128);
    let found = &findings[0];
    assert!(found.place.as_ref().unwrap().contains("variable `tile` of 4096 bytes"), "{found}");
    let other = found.other.as_ref().unwrap();
    // Warp 1 writes a word that warp 0 has read before.
    assert_eq!((other.what.as_str(), other.thread), ("read of 4 bytes", [0, 0, 0]));
    assert_eq!(found.thread, [32, 0, 0]);
    assert!(other.ptx_line > found.ptx_line);
}

#[test]
fn blocks_race_in_global_memory() {
    races("st.global.u32 [%word], %cta;", 2, 64, "with the same instruction in another block");
    clean("mad.lo.u32 %r0, %cta, 64, %tid;\nmad.wide.u32 %a0, %r0, 4, %out;\nst.global.u32 [%a0], %r0;", 40, 64);
    // A barrier of the block does not order another block's accesses.
    races("st.global.u32 [%word], %cta;\nbar.sync 0;", 2, 64, "with the same instruction in another block");
    // Each block has separate shared memory.
    clean("st.shared.u32 [%slot], %cta;", 40, 64);
}

#[test]
fn writes_of_the_same_value_are_marked() {
    let same = "both write the same value";
    // Writes by one instruction, by different warps, and by different blocks.
    races("ld.global.u32 %r0, [%out];\nst.shared.u32 [%tile], %r0;", 1, 32, same);
    races("setp.eq.u32 %p0, %lane, 0;\n@%p0 st.shared.u32 [%tile], 7;", 1, 64, same);
    races("setp.eq.u32 %p0, %lane, 0;\n@%p0 st.global.u32 [%out], 7;", 4, 32, same);
    let findings = findings_of("setp.eq.u32 %p0, %lane, 0;\n@%p0 st.shared.u32 [%tile], %tid;", 1, 64);
    assert!(findings.len() == 1 && !findings[0].what.contains(same), "{findings:?}");
}
