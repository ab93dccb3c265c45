//! The tests, and what the memory model says about each.

use super::program::Place;
use Place::{Blocks, Lanes, WarpsGlobal, WarpsShared};

/// A test: threads that share variables, and an outcome to look for.
pub(super) struct Litmus {
    pub(super) name: &'static str,
    /// The strength of its accesses, and the fences between them.
    pub(super) order: &'static str,
    pub(super) threads: &'static [&'static str],
    /// For each thread, the registers that hold its results.
    pub(super) results: &'static [&'static [u32]],
    /// Whether the outcome ends with the final values of the variables.
    pub(super) final_values: bool,
    /// Describes the outcome.
    pub(super) outcome: &'static str,
    /// Returns whether the given values are this outcome.
    pub(super) weak: fn(&[u32]) -> bool,
    pub(super) allows: fn(Place) -> bool,
    /// All outcomes of interleavings.
    pub(super) interleaved: &'static [&'static [u32]],
    pub(super) places: &'static [Place],
}

const EVERYWHERE: &[Place] = &[Lanes, WarpsShared, WarpsGlobal, Blocks];

fn never(_: Place) -> bool {
    false
}

fn always(_: Place) -> bool {
    true
}

/// A fence with the scope of a block does not order accesses of another block.
fn between_blocks(place: Place) -> bool {
    place == Blocks
}

/// Message passing: 10 means that the flag is seen without the message.
macro_rules! message {
    ($order:literal, $write:literal, $fence:literal, $flag:literal, $see:literal, $read:literal, $allows:expr) => {
        Litmus {
            name: "message passing",
            order: $order,
            threads: &[
                concat!("st.", $write, "SPACE.u32 [X], 1;\n", $fence, "st.", $flag, "SPACE.u32 [Y], 1;\n"),
                concat!("ld.", $see, "SPACE.u32 %r0, [Y];\n", $fence, "ld.", $read, "SPACE.u32 %r1, [X];\n"),
            ],
            results: &[&[], &[0, 1]],
            final_values: false,
            outcome: "the reader sees the flag y = 1, then x = 0",
            weak: |outcome| outcome == [1, 0],
            allows: $allows,
            interleaved: &[&[0, 0], &[0, 1], &[1, 1]],
            places: EVERYWHERE,
        }
    };
}

/// Store buffering: both read 0.
macro_rules! buffering {
    ($order:literal, $store:literal, $fence:literal, $load:literal, $allows:expr) => {
        Litmus {
            name: "store buffering",
            order: $order,
            threads: &[
                concat!("st.", $store, "SPACE.u32 [X], 1;\n", $fence, "ld.", $load, "SPACE.u32 %r0, [Y];\n"),
                concat!("st.", $store, "SPACE.u32 [Y], 1;\n", $fence, "ld.", $load, "SPACE.u32 %r1, [X];\n"),
            ],
            results: &[&[0], &[1]],
            final_values: false,
            outcome: "both threads read 0",
            weak: |outcome| outcome == [0, 0],
            allows: $allows,
            interleaved: &[&[0, 1], &[1, 0], &[1, 1]],
            places: EVERYWHERE,
        }
    };
}

/// Load buffering: each thread reads the value that the other thread stores after its read.
macro_rules! loads {
    ($order:literal, $load:literal, $fence:literal, $store:literal, $y:literal, $x:literal, $outcome:literal, $allows:expr,
     $weak:expr, $interleaved:expr) => {
        Litmus {
            name: "load buffering",
            order: $order,
            threads: &[
                concat!("ld.", $load, "SPACE.u32 %r0, [X];\n", $fence, "st.", $store, "SPACE.u32 [Y], ", $y, ";\n"),
                concat!("ld.", $load, "SPACE.u32 %r1, [Y];\n", $fence, "st.", $store, "SPACE.u32 [X], ", $x, ";\n"),
            ],
            results: &[&[0], &[1]],
            final_values: false,
            outcome: $outcome,
            weak: $weak,
            allows: $allows,
            interleaved: $interleaved,
            places: EVERYWHERE,
        }
    };
    ($order:literal, $load:literal, $fence:literal, $store:literal, $allows:expr) => {
        loads!(
            $order,
            $load,
            $fence,
            $store,
            "1",
            "1",
            "both threads read 1, which the other thread stores after its read",
            $allows,
            |outcome| outcome == [1, 1],
            &[&[0, 0], &[0, 1], &[1, 0]]
        )
    };
}

/// Independent reads of independent writes: two readers see the writes in different orders.
macro_rules! independent {
    ($order:literal, $store:literal, $load:literal, $fence:literal, $allows:expr) => {
        Litmus {
            name: "independent reads of independent writes",
            order: $order,
            threads: &[
                concat!("st.", $store, "SPACE.u32 [X], 1;\n"),
                concat!("st.", $store, "SPACE.u32 [Y], 1;\n"),
                concat!("ld.", $load, "SPACE.u32 %r0, [X];\n", $fence, "ld.", $load, "SPACE.u32 %r1, [Y];\n"),
                concat!("ld.", $load, "SPACE.u32 %r2, [Y];\n", $fence, "ld.", $load, "SPACE.u32 %r3, [X];\n"),
            ],
            results: &[&[], &[], &[0, 1], &[2, 3]],
            final_values: false,
            outcome: "one reader sees x before y, the other sees y before x",
            weak: |outcome| outcome == [1, 0, 1, 0],
            allows: $allows,
            interleaved: &[&[0, 0, 0, 0], &[1, 1, 1, 1], &[1, 0, 0, 1], &[0, 1, 1, 0]],
            places: EVERYWHERE,
        }
    };
}

/// Two stores to each of two variables.
macro_rules! writes {
    ($order:literal, $store:literal, $fence:literal, $allows:expr) => {
        Litmus {
            name: "2+2W",
            order: $order,
            threads: &[
                concat!("st.", $store, "SPACE.u32 [X], 1;\n", $fence, "st.", $store, "SPACE.u32 [Y], 2;\n"),
                concat!("st.", $store, "SPACE.u32 [Y], 1;\n", $fence, "st.", $store, "SPACE.u32 [X], 2;\n"),
            ],
            results: &[&[], &[]],
            final_values: true,
            outcome: "x and y both keep 1, the first store of each thread",
            weak: |outcome| outcome == [1, 1],
            allows: $allows,
            interleaved: &[&[1, 2], &[2, 1], &[2, 2]],
            places: EVERYWHERE,
        }
    };
}

/// Accesses to one variable.
macro_rules! coherence {
    ($name:literal, $order:literal, $threads:expr, $results:expr, $final_values:literal, $outcome:literal, $weak:expr, $interleaved:expr) => {
        Litmus {
            name: $name,
            order: $order,
            threads: $threads,
            results: $results,
            final_values: $final_values,
            outcome: $outcome,
            weak: $weak,
            allows: never,
            interleaved: $interleaved,
            places: EVERYWHERE,
        }
    };
}

/// An asynchronous copy from global to shared memory by a single thread.
macro_rules! copies {
    ($order:literal, $thread:literal, $outcome:literal, $weak:expr, $allows:expr, $interleaved:expr) => {
        Litmus {
            name: "asynchronous copy",
            order: $order,
            threads: &[$thread],
            results: &[&[0]],
            final_values: false,
            outcome: $outcome,
            weak: $weak,
            allows: $allows,
            interleaved: $interleaved,
            places: &[WarpsShared],
        }
    };
}

pub(super) const MODEL: &[Litmus] = &[
    message!("weak", "", "", "", "", "", always),
    message!("relaxed.gpu", "relaxed.gpu.", "", "relaxed.gpu.", "relaxed.gpu.", "relaxed.gpu.", always),
    message!("volatile", "volatile.", "", "volatile.", "volatile.", "volatile.", always),
    message!("release.gpu, acquire.gpu", "relaxed.gpu.", "", "release.gpu.", "acquire.gpu.", "relaxed.gpu.", never),
    message!("release.gpu, acquire.gpu of the flag only", "", "", "release.gpu.", "acquire.gpu.", "", never),
    message!(
        "release.cta, acquire.cta",
        "relaxed.cta.",
        "",
        "release.cta.",
        "acquire.cta.",
        "relaxed.cta.",
        between_blocks
    ),
    message!(
        "relaxed.gpu, fence.acq_rel.gpu",
        "relaxed.gpu.",
        "fence.acq_rel.gpu;\n",
        "relaxed.gpu.",
        "relaxed.gpu.",
        "relaxed.gpu.",
        never
    ),
    message!(
        "relaxed.gpu, fence.acq_rel.cta",
        "relaxed.gpu.",
        "fence.acq_rel.cta;\n",
        "relaxed.gpu.",
        "relaxed.gpu.",
        "relaxed.gpu.",
        between_blocks
    ),
    message!("volatile, membar.gl", "volatile.", "membar.gl;\n", "volatile.", "volatile.", "volatile.", never),
    buffering!("relaxed.gpu", "relaxed.gpu.", "", "relaxed.gpu.", always),
    buffering!("release.gpu, acquire.gpu", "release.gpu.", "", "acquire.gpu.", always),
    buffering!("relaxed.gpu, fence.acq_rel.gpu", "relaxed.gpu.", "fence.acq_rel.gpu;\n", "relaxed.gpu.", always),
    buffering!("relaxed.gpu, fence.sc.cta", "relaxed.gpu.", "fence.sc.cta;\n", "relaxed.gpu.", between_blocks),
    buffering!("relaxed.gpu, fence.sc.gpu", "relaxed.gpu.", "fence.sc.gpu;\n", "relaxed.gpu.", never),
    loads!("relaxed.gpu", "relaxed.gpu.", "", "relaxed.gpu.", always),
    loads!("acquire.gpu, release.gpu", "acquire.gpu.", "", "release.gpu.", never),
    loads!("relaxed.gpu, fence.acq_rel.gpu", "relaxed.gpu.", "fence.acq_rel.gpu;\n", "relaxed.gpu.", never),
    loads!(
        "relaxed.gpu, each stores the value it reads",
        "relaxed.gpu.",
        "",
        "relaxed.gpu.",
        "%r0",
        "%r1",
        "a value out of thin air: both read 1",
        never,
        |outcome| outcome != [0, 0],
        &[&[0, 0]]
    ),
    independent!("relaxed.gpu", "relaxed.gpu.", "relaxed.gpu.", "", always),
    independent!("release.gpu, acquire.gpu", "release.gpu.", "acquire.gpu.", "", always),
    independent!("relaxed.gpu, fence.acq_rel.gpu", "relaxed.gpu.", "relaxed.gpu.", "fence.acq_rel.gpu;\n", always),
    independent!("relaxed.gpu, fence.sc.cta", "relaxed.gpu.", "relaxed.gpu.", "fence.sc.cta;\n", between_blocks),
    independent!("relaxed.gpu, fence.sc.gpu", "relaxed.gpu.", "relaxed.gpu.", "fence.sc.gpu;\n", never),
    writes!("relaxed.gpu", "relaxed.gpu.", "", always),
    writes!("release.gpu", "release.gpu.", "", always),
    writes!("relaxed.gpu, fence.acq_rel.gpu", "relaxed.gpu.", "fence.acq_rel.gpu;\n", always),
    writes!("relaxed.gpu, fence.sc.gpu", "relaxed.gpu.", "fence.sc.gpu;\n", never),
    coherence!(
        "CoRR",
        "relaxed.gpu",
        &[
            "st.relaxed.gpu.SPACE.u32 [X], 1;\n",
            "ld.relaxed.gpu.SPACE.u32 %r0, [X];\nld.relaxed.gpu.SPACE.u32 %r1, [X];\n"
        ],
        &[&[], &[0, 1]],
        false,
        "a thread reads x = 1, then x = 0",
        |outcome| outcome == [1, 0],
        &[&[0, 0], &[0, 1], &[1, 1]]
    ),
    coherence!(
        "CoWW",
        "relaxed.gpu",
        &[
            "st.relaxed.gpu.SPACE.u32 [X], 1;\nst.relaxed.gpu.SPACE.u32 [X], 2;\n",
            "ld.relaxed.gpu.SPACE.u32 %r0, [X];\n"
        ],
        &[&[], &[0]],
        true,
        "x keeps the first of a thread's two stores",
        |outcome| outcome[1] == 1,
        &[&[0, 2, 0], &[1, 2, 0], &[2, 2, 0]]
    ),
    coherence!(
        "CoRW",
        "relaxed.gpu",
        &[
            "ld.relaxed.gpu.SPACE.u32 %r0, [X];\nst.relaxed.gpu.SPACE.u32 [X], 1;\n",
            "st.relaxed.gpu.SPACE.u32 [X], 2;\n"
        ],
        &[&[0], &[]],
        true,
        "a thread reads x = 2, then stores 1, and x = 2 remains",
        |outcome| outcome == [2, 2, 0],
        &[&[0, 1, 0], &[0, 2, 0], &[2, 1, 0]]
    ),
    coherence!(
        "CoWR",
        "relaxed.gpu",
        &[
            "st.relaxed.gpu.SPACE.u32 [X], 1;\nld.relaxed.gpu.SPACE.u32 %r0, [X];\n",
            "st.relaxed.gpu.SPACE.u32 [X], 2;\n"
        ],
        &[&[0], &[]],
        true,
        "a thread stores 1, then reads x = 2, and x = 1 remains",
        |outcome| outcome == [2, 1, 0],
        &[&[1, 1, 0], &[1, 2, 0], &[2, 2, 0]]
    ),
    coherence!(
        "atomicity",
        "atom.relaxed.gpu",
        &["atom.relaxed.gpu.SPACE.add.u32 %r0, [X], 1;\n", "atom.relaxed.gpu.SPACE.add.u32 %r1, [X], 1;\n"],
        &[&[0], &[1]],
        true,
        "both atomics return 0",
        |outcome| outcome[0] == outcome[1],
        &[&[0, 1, 2, 0], &[1, 0, 2, 0]]
    ),
    copies!(
        "cp.async, read before the wait",
        "st.global.u32 [%x], 5;\ncp.async.ca.shared.global [%xs+64], [%x], 4;\nadd.u32 %r1, %r1, 1;\nadd.u32 %r1, %r1, 1;\n\
         ld.shared.u32 %r0, [%xs+64];\ncp.async.wait_all;\n",
        "the old bytes of the destination are read",
        |outcome| outcome == [7],
        always,
        &[&[5]]
    ),
    copies!(
        "cp.async, read after the wait",
        "st.global.u32 [%x], 5;\ncp.async.ca.shared.global [%xs+64], [%x], 4;\ncp.async.wait_all;\nld.shared.u32 %r0, [%xs+64];\n",
        "the old bytes of the destination are read",
        |outcome| outcome == [7],
        never,
        &[&[5]]
    ),
    copies!(
        "cp.async, source changed before the wait",
        "st.global.u32 [%x], 5;\ncp.async.ca.shared.global [%xs+64], [%x], 4;\nst.global.u32 [%x], 6;\n\
         cp.async.wait_all;\nld.shared.u32 %r0, [%xs+64];\n",
        "the new value of the source is copied",
        |outcome| outcome == [6],
        always,
        &[&[5]]
    ),
];
