//! Asynchronous copies: copies without a wait, buffers reused too early, and proxies.

use super::{clean, findings_of, races};

#[test]
fn a_copy_without_a_wait_is_a_race() {
    let copy = |wait: &str, read: &str| {
        format!("cp.async.ca.shared.global [%slot], [%word], 4;\ncp.async.commit_group;\n{wait}\n{read}")
    };
    let (read_same, read_next) = (
        "ld.shared.u32 %r0, [%slot];",
        "xor.b32 %r1, %tid, 32;\nmad.wide.u32 %a0, %r1, 4, %tile;\nld.shared.u32 %r0, [%a0];",
    );
    let words = "read of 4 bytes races with a write of an asynchronous copy (cp.async)";
    clean(&copy("cp.async.wait_all;", read_same), 1, 64);
    clean(&copy("cp.async.wait_group 0;", read_same), 1, 64);
    races(&copy("", read_same), 1, 64, words);
    races(&copy("", read_same), 1, 1, words);
    races(&copy("cp.async.wait_group 1;", read_same), 1, 64, words);
    races(&copy("bar.sync 0;", read_same), 1, 64, words);
    // Other threads must synchronize with the thread that has waited for its copy.
    clean(&copy("cp.async.wait_all;\nbar.sync 0;", read_next), 1, 64);
    races(&copy("cp.async.wait_all;", read_next), 1, 64, "races with");
    races(&copy("bar.sync 0;\ncp.async.wait_all;", read_next), 1, 64, "races with");
    let lane = read_next.replace("32;", "1;");
    races(&copy("cp.async.wait_all;", &lane), 1, 32, words);
    clean(&copy("cp.async.wait_all;\nbar.warp.sync -1;", &lane), 1, 32);
    // The source of the copy must not change before the wait.
    races(&copy("", "st.global.u32 [%word], %tid;"), 1, 64, "races with a read of an asynchronous copy");
    clean(&copy("cp.async.wait_all;", "st.global.u32 [%word], %tid;"), 1, 64);
}

#[test]
fn a_wait_covers_only_its_groups() {
    let two = |wait: &str, read: &str| {
        format!(
            "cp.async.ca.shared.global [%slot], [%word], 4;\ncp.async.commit_group;\n\
             cp.async.ca.shared.global [%slot+1024], [%word+1024], 4;\ncp.async.commit_group;\n\
             cp.async.wait_group {wait};\nld.shared.u32 %r0, [%slot{read}];"
        )
    };
    clean(&two("1", ""), 1, 64);
    clean(&two("0", "+1024"), 1, 64);
    races(&two("1", "+1024"), 1, 64, "by the same thread; wait for it first (`cp.async.wait_group`)");
}

#[test]
fn a_buffer_refilled_too_early_is_a_race() {
    let rounds = |sync: &str| {
        format!(
            "mov.u32 %r5, 0;\nxor.b32 %r1, %tid, 32;\nmad.wide.u32 %a0, %r1, 4, %tile;\nagain:\n\
             cp.async.ca.shared.global [%slot], [%word], 4;\ncp.async.wait_all;\nbar.sync 0;\nld.shared.u32 %r0, [%a0];\n\
             {sync}\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, 3;\n@%p0 bra again;"
        )
    };
    clean(&rounds("bar.sync 0;"), 1, 64);
    races(&rounds(""), 1, 64, "races with");
}

/// Thread 0 copies 512 bytes to the tile, with an mbarrier for completion.
fn bulk(init: &str, wait: &str) -> String {
    format!(
        "setp.eq.u32 %p0, %tid, 0;\n@%p0 mbarrier.init.shared::cta.b64 [%tile+4088], 1;\n{init}\n@!%p0 bra issued;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 %a0, [%tile+4088], 512;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%out], 512, [%tile+4088];\n\
         issued:\n{wait}\nld.shared.u32 %r0, [%slot];"
    )
}

const WAIT: &str = "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%tile+4088], 0;\n@!%p1 bra wait;";

#[test]
fn an_mbarrier_orders_a_bulk_copy() {
    clean(&bulk("bar.sync 0;", WAIT), 1, 128);
    let one = WAIT.replace("wait:", "@!%p0 bra waited;\nwait:") + "\nwaited:\nSYNC";
    clean(&bulk("bar.sync 0;", &one.replace("SYNC", "bar.sync 0;")), 1, 128);
    let words = "read of 4 bytes races with a write of a bulk copy (cp.async.bulk)";
    races(&bulk("bar.sync 0;", &one.replace("SYNC", "")), 1, 128, words);
    races(&bulk("bar.sync 0;", ""), 1, 128, words);
    races(&bulk("", WAIT), 1, 128, "operation on an mbarrier races with an initialization of an mbarrier");
}

#[test]
fn a_bulk_copy_needs_a_proxy_fence() {
    let store = |fence: &str, wait: &str, after: &str| {
        format!(
            "st.shared.u32 [%slot], %tid;\n{fence}\nbar.sync 0;\nsetp.ne.u32 %p0, %tid, 0;\n@%p0 bra issued;\n\
             cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], 512;\ncp.async.bulk.commit_group;\n{wait}\n\
             issued:\nbar.sync 0;\n{after}"
        )
    };
    let (fence, again) = ("fence.proxy.async.shared::cta;", "st.shared.u32 [%slot], 0;");
    let read = "ld.global.u32 %r0, [%word];";
    clean(&store(fence, "cp.async.bulk.wait_group.read 0;", again), 1, 128);
    clean(&store(fence, "cp.async.bulk.wait_group 0;", again), 1, 128);
    clean(&store(fence, "cp.async.bulk.wait_group 0;", read), 1, 128);
    races(&store("", "cp.async.bulk.wait_group 0;", again), 1, 128, "put `fence.proxy.async` after the write");
    races(&store(fence, "", again), 1, 128, "write of 4 bytes races with a read of a bulk copy");
    races(
        &store(fence, "cp.async.bulk.wait_group.read 0;", read),
        1,
        128,
        "read of 4 bytes races with a write of a bulk copy",
    );
    // A fence in the thread that issues the copy suffices too.
    let fence_by_issuer = store("", "cp.async.bulk.wait_group 0;", again)
        .replace("@%p0 bra issued;", "@%p0 bra issued;\nfence.proxy.async;");
    clean(&fence_by_issuer, 1, 128);
}

#[test]
fn an_mbarrier_is_a_barrier() {
    let exchange = |arrive: &str| {
        format!(
            "setp.eq.u32 %p0, %tid, 0;\n@%p0 mbarrier.init.shared::cta.b64 [%tile+4088], 128;\nbar.sync 0;\n\
             st.shared.u32 [%slot], %tid;\n{arrive}\n{WAIT}\n\
             xor.b32 %r1, %tid, 32;\nmad.wide.u32 %a1, %r1, 4, %tile;\nld.shared.u32 %r0, [%a1];"
        )
    };
    clean(&exchange("mbarrier.arrive.shared::cta.b64 %a0, [%tile+4088];"), 1, 128);
    races(
        &exchange("mbarrier.arrive.relaxed.cta.shared::cta.b64 %a0, [%tile+4088];"),
        1,
        128,
        "put `bar.sync 0` between the two accesses",
    );
    let fenced = "fence.acq_rel.cta;\nmbarrier.arrive.relaxed.cta.shared::cta.b64 %a0, [%tile+4088];";
    clean(&exchange(fenced), 1, 128);
}

#[test]
fn copies_arrive_at_an_mbarrier() {
    let body = |arrive: &str| {
        format!(
            "setp.eq.u32 %p0, %tid, 0;\n@%p0 mbarrier.init.shared::cta.b64 [%tile+4088], 128;\nbar.sync 0;\n\
             cp.async.ca.shared.global [%slot], [%word], 4;\n{arrive}\n{WAIT}\n\
             xor.b32 %r1, %tid, 32;\nmad.wide.u32 %a1, %r1, 4, %tile;\nld.shared.u32 %r0, [%a1];"
        )
    };
    clean(&body("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%tile+4088];"), 1, 128);
    let findings = findings_of(&body("mbarrier.arrive.shared::cta.b64 %a0, [%tile+4088];"), 1, 128);
    assert!(
        findings.len() == 1 && findings[0].help.contains("wait for it in the thread that issued it"),
        "{findings:?}"
    );
}
