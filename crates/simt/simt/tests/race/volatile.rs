//! Volatile accesses, which are not atomic, and critical sections.

use super::{clean, findings_of, notes_of, races};

#[test]
fn volatile_accesses_race() {
    let add = "ld.volatile.global.u32 %r0, [%out];\nadd.u32 %r0, %r0, 1;\nst.volatile.global.u32 [%out], %r0;";
    races(add, 2, 1, "`volatile` neither orders nor protects an access");
    // A volatile access and an atomic access.
    let mixed =
        "setp.eq.u32 %p0, %cta, 0;\n@%p0 st.volatile.global.u32 [%out], 1;\n@!%p0 red.global.add.u32 [%out], 1;";
    races(mixed, 2, 1, "make both accesses atomic");
    // A barrier orders the accesses.
    clean(
        "st.volatile.shared.u32 [%slot], 1;\nbar.sync 0;\nxor.b32 %r1, %tid, 32;\nmad.wide.u32 %a0, %r1, 4, %tile;\n\
           ld.volatile.shared.u32 %r0, [%a0];",
        1,
        64,
    );
}

/// Block 1 spins on a flag that block 0 sets, and reads data.
fn flag(fence: &str, kind: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %cta, 0;\n@%p1 bra wait;\nst.{kind}global.u32 [%out+4], 7;\n{fence}\n\
         st.volatile.global.u32 [%out], 1;\nbra done;\n\
         wait:\nld.volatile.global.u32 %r0, [%out];\nsetp.eq.u32 %p2, %r0, 0;\n@%p2 bra wait;\n\
         ld.{kind}global.u32 %r1, [%out+4];\ndone:"
    )
}

#[test]
fn spinning_on_a_volatile_flag_is_not_a_race() {
    // The reader has no fence, and volatile accesses stay in program order.
    clean(&flag("membar.gl;", "volatile."), 2, 1);
    clean(&flag("", "volatile."), 2, 1);
    // Plain data need fences.
    races(&flag("membar.gl;", ""), 2, 1, "read of 4 bytes races with a write of 4 bytes by another block");
    // A loop over other memory is not a spin loop, and neither is a loop that stores.
    let walk = "mov.u64 %a0, %out;\nmov.u32 %r2, 0;\nagain:\nld.volatile.global.u32 %r0, [%a0];\nadd.u64 %a0, %a0, 4;\n\
                add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 4;\n@%p1 bra again;\nst.volatile.global.u32 [%out+4], 1;";
    assert!(!findings_of(walk, 2, 1).is_empty());
}

/// Each block takes a lock, writes, and releases the lock. `first` and `second` are the fences of block 0 and block 1
/// after they take the lock.
fn locked(first: &str, second: &str, before: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %cta, 0;\n{before}\n\
         wait:\natom.global.cas.b32 %r0, [%out], 0, 1;\nsetp.ne.u32 %p2, %r0, 0;\n@%p2 bra wait;\n\
         @%p1 bra other;\n{first}\nst.volatile.global.u32 [%out+4], 1;\nmembar.gl;\nbra release;\n\
         other:\n{second}\nst.volatile.global.u32 [%out+4], 2;\nmembar.gl;\n\
         release:\natom.global.exch.b32 %r0, [%out], 0;"
    )
}

#[test]
fn both_critical_sections_must_acquire() {
    clean(&locked("membar.gl;", "membar.gl;", ""), 2, 1);
    let words = "both are in critical sections of one lock, and one thread does not acquire it";
    races(&locked("", "membar.gl;", ""), 2, 1, words);
    races(&locked("membar.gl;", "", ""), 2, 1, words);
    races(&locked("membar.cta;", "membar.gl;", ""), 2, 1, words);
    // Block 1 has already waited for block 0 in another way, so the lock does not need to order anything.
    let after = "@!%p1 bra go;\nbefore:\nld.acquire.gpu.global.u32 %r1, [%out+4];\nsetp.eq.u32 %p3, %r1, 0;\n\
                 @%p3 bra before;\ngo:";
    let publishes = locked("", "membar.gl;", after)
        .replace("st.volatile.global.u32 [%out+4], 1;", "st.release.gpu.global.u32 [%out+4], 1;");
    clean(&publishes, 2, 1);
}

#[test]
fn lanes_that_store_the_same_constant_are_a_note() {
    let (findings, notes) = notes_of("st.global.u32 [%out], 1;", 1, 32);
    assert!(findings.is_empty(), "{findings:?}");
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert!(note.contains("both write the same value, at line "), "{note}");
    // The value is the same only in this launch, or it differs.
    races("ld.global.u32 %r0, [%out+64];\nst.global.u32 [%out], %r0;", 1, 32, "both write the same value");
    races("st.global.u32 [%out], %tid;", 1, 32, "with the same instruction in another");
    // Another warp may write at the same time.
    races("st.global.u32 [%out], 1;", 1, 64, "another warp of the block");
}
