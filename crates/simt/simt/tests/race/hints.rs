//! Hints about synchronization that could be weaker.

use simt_check::{Check, Checks, Extra};

use super::launched;

/// Returns the hints about a kernel, and other notes.
fn hints_of(body: &str, grid: u32, block: u32) -> Vec<String> {
    launched(body, grid, block, 1, Checks::NONE.with_extra(Extra::Weaker)).notes
}

/// Fails unless these are the hints, without the prefix and the line numbers.
#[track_caller]
fn hints(body: &str, grid: u32, block: u32, expected: &[&str]) {
    let all = hints_of(body, grid, block);
    let without_line = |hint: &String| {
        let hint = hint.strip_prefix("hint: ").unwrap_or(hint);
        match (hint.find(" at line "), hint.find(" of the PTX")) {
            (Some(at), Some(of)) => format!("{}{}", &hint[..at], &hint[of + " of the PTX".len()..]),
            _ => hint.to_owned(),
        }
    };
    let all: Vec<String> = all.iter().map(without_line).collect();
    assert_eq!(all, expected, "\n{body}");
}

const NOTHING: &str = " orders no accesses in this run";
const IN_BLOCK: &str = ": it orders only threads of one block in this run";

/// Thread 0 of each block passes a message to thread 32 of the same block or, if `across`, of the other block.
fn message(across: bool, before: &str, set: &str, get: &str, after: &str) -> String {
    let partner = if across { "xor.b32 %r2, %cta, 1;" } else { "mov.u32 %r2, %cta;" };
    format!(
        "{partner}\nmad.wide.u32 %a0, %cta, 8, %out;\nmad.wide.u32 %a1, %r2, 8, %out;\n\
         setp.eq.u32 %p0, %tid, 32;\n@%p0 bra wait;\nsetp.ne.u32 %p1, %tid, 0;\n@%p1 bra done;\n\
         {DATA_SET}\n{before}\n{set}\nbra done;\n\
         wait:\n{get}\nsetp.eq.u32 %p2, %r0, 0;\n@%p2 bra wait;\n{after}\n{DATA_GET}\ndone:"
    )
}

const DATA_SET: &str = "st.global.u32 [%a0+4], 7;";
const DATA_GET: &str = "ld.global.u32 %r1, [%a1+4];";
const SET: &str = "st.relaxed.gpu.global.u32 [%a0], 1;";
const GET: &str = "ld.relaxed.gpu.global.u32 %r0, [%a1];";
const FENCE: &str = "fence.acq_rel.gpu;";

#[test]
fn a_fence_for_the_block_is_enough() {
    let (cta_set, cta_get) = (SET.replace("gpu", "cta"), GET.replace("gpu", "cta"));
    let fence = format!("`fence.acq_rel.gpu` could be `fence.acq_rel.cta`{IN_BLOCK}");
    hints(&message(false, FENCE, &cta_set, &cta_get, FENCE), 2, 64, &[&fence, &fence]);
    let membar = format!("`membar.gl` could be `membar.cta`{IN_BLOCK}");
    hints(&message(false, "membar.gl;", &cta_set, &cta_get, "membar.gl;"), 2, 64, &[&membar, &membar]);
    // The scopes of the flag's accesses could be smaller too.
    let access = |op: &str| {
        let smaller = op.replace("gpu", "cta");
        format!("`{op}` could be `{smaller}`: only threads of one block depend on it in this run")
    };
    let all = [fence.clone(), access("st.relaxed.gpu.global.u32"), access("ld.relaxed.gpu.global.u32"), fence];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    hints(&message(false, FENCE, SET, GET, FENCE), 2, 64, &all);
}

#[test]
fn needed_fences_and_scopes_stay() {
    hints(&message(true, FENCE, SET, GET, FENCE), 2, 64, &[]);
    hints(&message(true, "membar.gl;", SET, GET, "membar.gl;"), 2, 64, &[]);
    hints(&message(true, "", &SET.replace("relaxed", "release"), &GET.replace("relaxed", "acquire"), ""), 2, 64, &[]);
    // With only one block, the run cannot show whether a wider scope is needed.
    hints(&message(false, FENCE, SET, GET, FENCE), 1, 64, &[]);
    // Volatile accesses to flags do not race, but only the fence orders them.
    let volatile = |text: &str| text.replace("relaxed.gpu", "volatile");
    let body = message(true, "membar.gl;", &volatile(SET), &volatile(GET), "membar.gl;");
    hints(&body, 2, 64, &[]);
    let data =
        body.replace("st.global.u32", "st.volatile.global.u32").replace("ld.global.u32", "ld.volatile.global.u32");
    hints(&data, 2, 64, &[]);
}

#[test]
fn fences_that_order_only_atomics_stay() {
    let body = message(true, FENCE, SET, GET, FENCE);
    let body = body.replace("st.global.u32", "st.relaxed.cta.global.u32");
    hints(&body.replace("ld.global.u32", "ld.relaxed.cta.global.u32"), 2, 64, &[]);
}

#[test]
fn unnecessary_fences() {
    let body = "st.global.u32 [%word], %tid;\nmembar.gl;\nred.global.add.u32 [%out+32768], 1;";
    hints(body, 2, 64, &[&format!("`membar.gl`{NOTHING}")]);
    hints("fence.sc.cta;", 1, 64, &[&format!("`fence.sc.cta`{NOTHING}")]);
    hints("fence.sc.gpu;", 1, 64, &[]);
    hints(
        "fence.sc.sys;",
        1,
        64,
        &[
            "`fence.sc.sys` could be `fence.sc.gpu`, unless the host or another GPU accesses the memory during the launch",
        ],
    );
    let unless = ", unless the host or another GPU accesses the memory during the launch";
    hints("fence.sc.sys;", 2, 64, &[&format!("`fence.sc.sys`{NOTHING}{unless}")]);
}

#[test]
fn one_of_two_barriers_is_enough() {
    let read_next = "xor.b32 %r1, %tid, 32;\nmad.wide.u32 %a0, %r1, 4, %tile;\nld.shared.u32 %r0, [%a0];";
    let barrier = format!("the barrier{NOTHING}");
    hints(&format!("st.shared.u32 [%slot], %tid;\nbar.sync 0;\n{read_next}"), 1, 64, &[]);
    hints(&format!("st.shared.u32 [%slot], %tid;\nbar.sync 0;\nbar.sync 0;\n{read_next}"), 1, 64, &[&barrier]);
    hints(&format!("st.shared.u32 [%slot], %tid;\nbar.sync 0;\n{read_next}\nbar.sync 0;"), 1, 64, &[&barrier]);
    hints(
        &format!("st.shared.u32 [%slot], %tid;\nbar.sync 0;\n{read_next}\nbar.sync 0;\nst.shared.u32 [%slot], 0;"),
        1,
        64,
        &[],
    );
    // In one warp, a warp barrier is enough, but only one of the two barriers orders the accesses.
    let lane = read_next.replace("32;", "1;");
    let both = format!("st.shared.u32 [%slot], %tid;\nbar.sync 0;\nbar.warp.sync -1;\n{lane}");
    hints(&both, 1, 32, &[&barrier]);
    hints(&format!("st.shared.u32 [%slot], %tid;\nbar.warp.sync -1;\n{lane}"), 1, 64, &[]);
    hints("bar.warp.sync -1;", 1, 64, &[&format!("the warp barrier{NOTHING}")]);
}

#[test]
fn copies_of_one_source_line_are_one_place() {
    let read_next = "xor.b32 %r1, %tid, 32;\nmad.wide.u32 %a0, %r1, 4, %tile;\nld.shared.u32 %r0, [%a0];";
    // An unrolled loop: only its last barrier is unnecessary.
    let store = "st.shared.u32 [%slot], %tid;";
    let unrolled = |line: u32| {
        format!("{store}\n.loc 1 12 5\nbar.sync 0;\n.loc 1 13 5\n{read_next}\n.loc 1 {line} 5\nbar.sync 0;")
    };
    hints(&unrolled(12), 1, 64, &[]);
    hints(&unrolled(14), 1, 64, &[&format!("the barrier at kernel.cu:14{NOTHING}")]);
    // The hint also gives CUDA's name of the fence.
    let body = message(false, ".loc 1 7 5\nmembar.gl;\n.loc 1 8 5", SET, GET, "").replace(".gpu", ".cta");
    let fence = format!("`membar.gl` at kernel.cu:7 could be `membar.cta` (`__threadfence_block()`){IN_BLOCK}");
    hints(&body.replace(DATA_GET, "fence.acq_rel.cta;\nld.global.u32 %r1, [%a1+4];"), 2, 64, &[&fence]);
}

#[test]
fn barriers_that_order_only_atomics_stay() {
    let read = "atom.shared.exch.b32 %r0, [%tile], 0;";
    hints(&format!("red.shared.add.u32 [%tile], 1;\nbar.sync 0;\n{read}"), 1, 64, &[]);
    // Sums commute, unless a thread uses the value that its atomic returns.
    let barrier = format!("the barrier{NOTHING}");
    hints("red.shared.add.u32 [%tile], 1;\nbar.sync 0;\nred.shared.add.u32 [%tile], 1;", 1, 64, &[&barrier]);
    hints("atom.shared.add.u32 %r0, [%tile], 1;\nbar.sync 0;\nred.shared.add.u32 [%tile], 1;", 1, 64, &[&barrier]);
    let ticket = "atom.shared.add.u32 %r0, [%tile], 1;\nst.global.u32 [%word], %r0;";
    hints(&format!("red.shared.add.u32 [%tile], 1;\nbar.sync 0;\n{ticket}"), 1, 64, &[]);
    let rounds =
        "mov.u32 %r5, 0;\nagain:\nTICKET\nbar.sync 0;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, 3;\n@%p0 bra again;";
    hints(&rounds.replace("TICKET", ticket), 1, 64, &[]);
}

#[test]
fn barriers_that_cannot_be_judged_stay() {
    hints(
        "setp.lt.u32 %p0, %tid, 32;\n@%p0 bra low;\nbar.sync 1, 64;\nbra done;\nlow:\nbar.sync 1, 64;\ndone:",
        1,
        64,
        &[],
    );
    hints(
        "setp.lt.u32 %p0, %tid, 32;\n@%p0 bra low;\nbar.sync 1, 64;\nbra done;\nlow:\nbar.arrive 1, 64;\ndone:",
        1,
        64,
        &[],
    );
    hints("mov.u32 %r0, %clock;\nbar.sync 0;\nmov.u32 %r1, %clock;", 1, 64, &[]);
    hints("bar.warp.sync -1;\nactivemask.b32 %r0;", 1, 64, &[]);
    // The lanes meet at two instructions.
    let meet = "setp.lt.u32 %p0, %tid, 16;\n@%p0 bra low;\nst.global.u32 [%word+4], 1;\nbar.warp.sync -1;\nbra done;\n\
                low:\nadd.u32 %r0, %tid, 1;\nbar.warp.sync -1;\ndone:";
    hints(meet, 1, 32, &[]);
}

#[test]
fn full_fences_of_lanes_are_in_any_order() {
    // The fence of the lane that sets the flag may come before the fences of other lanes.
    let body = "setp.ne.u32 %p0, %cta, 0;\n@%p0 bra wait;\nst.global.u32 [%word+4], %tid;\nmembar.gl;\nBARRIER\n\
                setp.ne.u32 %p1, %tid, 0;\n@%p1 bra done;\nst.relaxed.gpu.global.u32 [%out], 1;\nbra done;\n\
                wait:\nld.relaxed.gpu.global.u32 %r0, [%out];\nsetp.eq.u32 %p2, %r0, 0;\n@%p2 bra wait;\n\
                membar.gl;\nld.global.u32 %r1, [%word+4];\ndone:";
    for barrier in ["bar.sync 0;", "bar.warp.sync -1;"] {
        hints(&body.replace("BARRIER", barrier), 2, 32, &[]);
    }
}

/// Each of two threads sets a flag, then reads the other thread's flag.
fn dekker(fence: &str, kind: &str) -> String {
    format!(
        "setp.ne.u32 %p0, %tid, 0;\n@%p0 bra done;\nxor.b32 %r1, %cta, 1;\nmad.wide.u32 %a0, %cta, 4, %out;\n\
         mad.wide.u32 %a1, %r1, 4, %out;\nst.{kind}.global.u32 [%a0], 1;\n{fence}\nld.{kind}.global.u32 %r0, [%a1];\ndone:"
    )
}

#[test]
fn full_fences_between_a_store_and_a_load_stay() {
    for kind in ["relaxed.gpu", "volatile"] {
        for fence in ["fence.sc.gpu;", "membar.gl;", "membar.gl;\nmembar.gl;"] {
            hints(&dekker(fence, kind), 2, 32, &[]);
        }
        // A fence that is not `fence.sc` does not prevent both threads from reading 0.
        hints(&dekker("fence.acq_rel.gpu;", kind), 2, 32, &[&format!("`fence.acq_rel.gpu`{NOTHING}")]);
    }
}

#[test]
fn scopes_of_atomics() {
    let host = ", unless the host or another GPU accesses the memory during the launch";
    let block = "only threads of one block depend on it in this run";
    let shared = "atom.relaxed.sys.global.add.u32 %r0, [%out], 1;";
    let gpu = format!("`atom.relaxed.sys.global.add.u32` could be `atom.relaxed.gpu.global.add.u32`{host}");
    hints(shared, 2, 64, &[&gpu]);
    let separate = "mad.wide.u32 %a0, %cta, 4, %out;\natom.relaxed.sys.global.add.u32 %r0, [%a0], 1;";
    let cta = format!("`atom.relaxed.sys.global.add.u32` could be `atom.relaxed.cta.global.add.u32`: {block}{host}");
    hints(separate, 2, 64, &[&cta]);
    hints(separate, 1, 64, &[&gpu]);
    let default = separate.replace("relaxed.sys.", "");
    hints(&default, 2, 64, &[&format!("`atom.global.add.u32` could have the scope .cta: {block}")]);
    hints(&default.replace("[%a0]", "[%out]"), 2, 64, &[]);
    // An access to shared memory concerns only one block, whatever its scope.
    hints("atom.shared.add.u32 %r0, [%tile], 1;\nst.volatile.shared.u32 [%slot+8], 1;", 2, 64, &[]);
}

#[test]
fn cluster_barriers() {
    let notes = |body: &str| launched(body, 4, 32, 2, Checks::NONE.with_extra(Extra::Weaker)).notes;
    let (arrive, wait) = ("barrier.cluster.arrive;", "barrier.cluster.wait;");
    let both = format!("st.global.u32 [%word+4096], 1;\n{arrive}\n{wait}");
    let all = notes(&both.replace("%word", "%out"));
    let [hint] = &all[..] else { panic!("{all:?}") };
    assert!(hint.starts_with("hint: the cluster barrier at line ") && hint.ends_with(NOTHING), "{hint}");
    // A block reads what the other block of its cluster has written.
    let read = "xor.b32 %r1, %cta, 1;\nmad.wide.u32 %a0, %cta, 4, %out;\nmad.wide.u32 %a1, %r1, 4, %out;\n\
                setp.ne.u32 %p0, %tid, 0;\n@!%p0 st.global.u32 [%a0], 1;\nBARRIER\n@!%p0 ld.global.u32 %r0, [%a1];";
    assert_eq!(notes(&read.replace("BARRIER", &format!("{arrive}\n{wait}"))), Vec::<String>::new());
    // A block must still run while other blocks access its shared memory.
    let remote =
        format!("mapa.u64 %a0, %tile, 1;\n{arrive}\n{wait}\nld.shared::cluster.u32 %r0, [%a0];\n{arrive}\n{wait}");
    assert_eq!(notes(&remote), Vec::<String>::new());
    // A fence for the whole device, where the cluster's barrier is enough.
    let fence = read.replace("BARRIER", &format!("fence.acq_rel.gpu;\n{arrive}\n{wait}"));
    let all = notes(&fence);
    assert!(all.len() == 1 && all[0].contains("`fence.acq_rel.gpu`") && all[0].ends_with(NOTHING), "{all:?}");
}

#[test]
fn launches_that_cannot_be_judged() {
    hints(
        "st.global.u32 [%out+8388608], 1;\nbar.sync 0;",
        1,
        64,
        &["weaker: nothing was tried: the launch faults, in the usual order or in another one"],
    );
    let barriers = "bar.sync 0;\n".repeat(70);
    let all = hints_of(&barriers, 1, 64);
    assert_eq!(all.len(), 65);
    assert_eq!(all[64], "weaker: only the first 64 of 70 places were tried");
}

#[test]
fn hints_do_not_change_the_launch() {
    // Without the name of the extra, there are no hints.
    let body = "red.global.add.u32 [%out], 1;\nbar.sync 0;\nld.global.u32 %r0, [%out];\nbar.sync 0;";
    assert_eq!(launched(body, 1, 64, 1, Checks::ALL).notes, Vec::<String>::new());
    // The changes that the other runs make to memory are undone, and their findings are not listed.
    let body = format!("{body}\nst.global.u32 [%word+4], %r0;");
    for checks in [Checks::NONE.with_extra(Extra::Weaker), Checks::ALL.with_extra(Extra::Weaker)] {
        let sanitized = launched(&body, 1, 64, 1, checks);
        assert_eq!(sanitized.findings, []);
        assert_eq!(sanitized.notes.len(), 1, "{:?}", sanitized.notes);
    }
    let racy = "st.global.u32 [%out], %tid;\nbar.sync 0;";
    let sanitized = launched(racy, 1, 64, 1, Checks::NONE.with_extra(Extra::Weaker));
    assert!(sanitized.findings.iter().all(|finding| finding.check == Check::Race) && !sanitized.findings.is_empty());
}
