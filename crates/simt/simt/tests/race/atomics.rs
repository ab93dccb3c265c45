//! Atomics, fences, and the order they give to accesses of different blocks.

use super::{clean, races};

/// Block 0 writes a value and sets a flag; block 1 waits for the flag and reads the value.
fn message(set: &str, get: &str) -> String {
    format!(
        "setp.ne.u32 %p0, %tid, 0;\n@%p0 bra done;\nsetp.ne.u32 %p1, %cta, 0;\n@%p1 bra wait;\n\
         st.global.u32 [%out+4], 7;\n{set}\nbra done;\n\
         wait:\n{get}\nsetp.eq.u32 %p2, %r0, 0;\n@%p2 bra wait;\nAFTER\nld.global.u32 %r1, [%out+4];\ndone:"
    )
}

#[test]
fn a_message_is_passed() {
    let with_fences = |set: &str, fence: &str, get: &str, after: &str| {
        message(&format!("{fence}\n{set}"), get).replace("AFTER", after)
    };
    let (set, get) = ("st.relaxed.gpu.global.u32 [%out], 1;", "ld.relaxed.gpu.global.u32 %r0, [%out];");
    let fence = "fence.acq_rel.gpu;";
    clean(&with_fences(set, fence, get, fence), 2, 32);
    clean(
        &with_fences(
            "st.volatile.global.u32 [%out], 1;",
            "membar.gl;",
            "ld.volatile.global.u32 %r0, [%out];",
            "membar.gl;",
        ),
        2,
        32,
    );
    clean(
        &with_fences("atom.global.exch.b32 %r0, [%out], 1;", fence, "atom.global.or.b32 %r0, [%out], 0;", fence),
        2,
        32,
    );
    clean(&with_fences("red.global.add.u32 [%out], 1;", fence, get, fence), 2, 32);
    // Without one of the fences, and without both.
    let words = "read of 4 bytes races with a write of 4 bytes by another block";
    races(&with_fences(set, "", get, fence), 2, 32, words);
    races(&with_fences(set, fence, get, ""), 2, 32, words);
    races(&with_fences(set, "", get, ""), 2, 32, words);
    // A fence with the scope of a block is too weak.
    races(&with_fences(set, "fence.acq_rel.cta;", get, fence), 2, 32, words);
    races(&with_fences(set, fence, get, "fence.acq_rel.cta;"), 2, 32, words);
}

#[test]
fn a_message_is_passed_by_release_and_acquire() {
    let pass = |set: &str, get: &str| message(set, get).replace("AFTER", "");
    let (set, get) = ("st.release.gpu.global.u32 [%out], 1;", "ld.acquire.gpu.global.u32 %r0, [%out];");
    clean(&pass(set, get), 2, 32);
    clean(&pass("atom.acq_rel.gpu.global.add.u32 %r0, [%out], 1;", get), 2, 32);
    clean(&pass(set, "atom.acquire.gpu.global.or.b32 %r0, [%out], 0;"), 2, 32);
    clean(&pass("red.release.gpu.global.add.u32 [%out], 1;", get), 2, 32);
    let words = "by another block";
    races(&pass("st.relaxed.gpu.global.u32 [%out], 1;", get), 2, 32, words);
    races(&pass(set, "ld.relaxed.gpu.global.u32 %r0, [%out];"), 2, 32, words);
    races(&pass("atom.global.add.u32 %r0, [%out], 1;", get), 2, 32, words);
}

#[test]
fn a_fence_orders_only_accesses_of_its_lane() {
    // All lanes of block 0 write and execute one fence; then lane 0 sets the flag. Block 1 reads what one lane wrote.
    let pass = |offset: u32| {
        format!(
            "setp.ne.u32 %p1, %cta, 0;\n@%p1 bra wait;\nst.global.u32 [%word+4], 7;\nmembar.gl;\nsetp.eq.u32 %p0, %tid, 0;\n\
             @%p0 st.relaxed.gpu.global.u32 [%out], 1;\nbra done;\n\
             wait:\nld.relaxed.gpu.global.u32 %r0, [%out];\nsetp.eq.u32 %p2, %r0, 0;\n@%p2 bra wait;\nmembar.gl;\n\
             ld.global.u32 %r1, [%out+{offset}];\ndone:"
        )
    };
    clean(&pass(4), 2, 32);
    races(&pass(8), 2, 32, "read of 4 bytes races with a write of 4 bytes by another block");
}

#[test]
fn a_plain_flag_is_a_race() {
    let pass =
        message("membar.gl;\nst.global.u32 [%out], 1;", "ld.global.u32 %r0, [%out];").replace("AFTER", "membar.gl;");
    // Both the flag and the value written before it race.
    let findings = super::findings_of(&pass, 2, 32);
    let words = "by another block";
    assert!(findings.len() == 2 && findings.iter().all(|found| found.what.contains(words)), "{findings:?}");
}

#[test]
fn a_scope_must_include_the_other_thread() {
    let words = "the scope .cta does not include both threads";
    races("atom.cta.global.add.u32 %r0, [%out], 1;", 2, 32, words);
    races("red.cta.global.add.u32 [%out], 1;", 2, 32, words);
    clean("atom.cta.global.add.u32 %r0, [%out], 1;", 1, 128);
    clean("atom.gpu.global.add.u32 %r0, [%out], 1;", 2, 32);
    clean("atom.sys.global.add.u32 %r0, [%out], 1;\natom.global.add.u32 %r0, [%out], 1;", 2, 32);
}

#[test]
fn atomics_and_plain_accesses_race() {
    let words = "make both accesses atomic";
    races(
        "atom.global.add.u32 %r0, [%out], 1;\nsetp.eq.u32 %p0, %tid, 40;\n@%p0 ld.global.u32 %r1, [%out];",
        1,
        64,
        words,
    );
    races(
        "atom.shared.add.u32 %r0, [%tile], 1;\nsetp.eq.u32 %p0, %tid, 40;\n@%p0 ld.shared.u32 %r1, [%tile];",
        1,
        64,
        words,
    );
    clean("atom.shared.add.u32 %r0, [%tile], 1;\nbar.sync 0;\nld.shared.u32 %r1, [%tile];", 1, 64);
    races("st.shared.u32 [%slot], 0;\natom.shared.add.u32 %r0, [%tile], 1;", 1, 64, words);
    clean("st.shared.u32 [%slot], 0;\nbar.sync 0;\natom.shared.add.u32 %r0, [%tile], 1;", 1, 64);
}

#[test]
fn atomics_of_different_sizes_race() {
    let body = "setp.eq.u32 %p0, %tid, 0;\n@%p0 red.global.add.u32 [%out], 1;\n@!%p0 red.global.add.u64 [%out], 1;";
    races(body, 1, 2, "the same number of bytes in both instructions");
}

/// Each block writes its part and counts; the last block to count reads all parts.
fn last_block(before: &str, after: &str) -> String {
    format!(
        "mad.lo.u32 %r0, %cta, 64, %tid;\nmad.wide.u32 %a0, %r0, 4, %out;\nst.global.u32 [%a0+4], %r0;\n{before}\n\
         setp.ne.u32 %p0, %tid, 0;\n@%p0 bra join;\natom.global.add.u32 %r1, [%out], 1;\nst.shared.u32 [%tile], %r1;\n\
         join:\n{after}\nld.shared.u32 %r1, [%tile];\nsetp.ne.u32 %p1, %r1, 3;\n@%p1 bra done;\n\
         ld.global.u32 %r2, [%word+4];\nld.global.u32 %r3, [%word+260];\ndone:"
    )
}

#[test]
fn the_last_block_needs_fences() {
    // Either every thread has a fence before the barrier that precedes the count, or the counting thread has one.
    clean(&last_block("membar.gl;\nbar.sync 0;", "bar.sync 0;\nmembar.gl;"), 4, 64);
    let one = "bar.sync 0;\nsetp.ne.u32 %p2, %tid, 0;\n@!%p2 membar.gl;";
    clean(&last_block(one, "@!%p2 membar.gl;\nbar.sync 0;"), 4, 64);
    let words = "by another block";
    let findings = super::findings_of(&last_block("bar.sync 0;", "bar.sync 0;"), 4, 64);
    assert!(!findings.is_empty() && findings.iter().all(|found| found.what.contains(words)), "{findings:?}");
    let findings = super::findings_of(&last_block("bar.sync 0;", "bar.sync 0;\nmembar.gl;"), 4, 64);
    assert!(!findings.is_empty() && findings.iter().all(|found| found.what.contains(words)), "{findings:?}");
}
