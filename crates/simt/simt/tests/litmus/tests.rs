//! The tests, and what the model says of each.

use super::program::Place;
use Place::{Blocks, Lanes, WarpsGlobal, WarpsShared};

/// A test: threads that share variables, and the outcome that is asked about.
pub(super) struct Litmus {
    pub(super) name: &'static str,
    /// How strong its accesses are, and which fences stand between them.
    pub(super) order: &'static str,
    pub(super) threads: &'static [&'static str],
    /// For each thread, the registers that it has results in.
    pub(super) results: &'static [&'static [u32]],
    /// Whether the outcome has what is left in the variables at its end.
    pub(super) left: bool,
    /// The outcome in words.
    pub(super) asks: &'static str,
    /// Whether it is this one.
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

/// A fence of a block's scope does not reach another block.
fn between_blocks(place: Place) -> bool {
    place == Blocks
}

/// Message passing: 10 without the message.
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
            left: false,
            asks: "the flag y = 1 is seen, and then x = 0",
            weak: |own| own == [1, 0],
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
            left: false,
            asks: "each stores 1 and reads 0 of the other",
            weak: |own| own == [0, 0],
            allows: $allows,
            interleaved: &[&[0, 1], &[1, 0], &[1, 1]],
            places: EVERYWHERE,
        }
    };
}

/// Load buffering: each reads what the other stores behind its own read.
macro_rules! loads {
    ($order:literal, $load:literal, $fence:literal, $store:literal, $y:literal, $x:literal, $asks:literal, $allows:expr,
     $weak:expr, $interleaved:expr) => {
        Litmus {
            name: "load buffering",
            order: $order,
            threads: &[
                concat!("ld.", $load, "SPACE.u32 %r0, [X];\n", $fence, "st.", $store, "SPACE.u32 [Y], ", $y, ";\n"),
                concat!("ld.", $load, "SPACE.u32 %r1, [Y];\n", $fence, "st.", $store, "SPACE.u32 [X], ", $x, ";\n"),
            ],
            results: &[&[0], &[1]],
            left: false,
            asks: $asks,
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
            "each reads what the other stores behind its read",
            $allows,
            |own| own == [1, 1],
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
            left: false,
            asks: "one reader sees x before y, the other y before x",
            weak: |own| own == [1, 0, 1, 0],
            allows: $allows,
            interleaved: &[&[0, 0, 0, 0], &[1, 1, 1, 1], &[1, 0, 0, 1], &[0, 1, 1, 0]],
            places: EVERYWHERE,
        }
    };
}

/// Two writes of each of two variables.
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
            left: true,
            asks: "of both variables, the first store of its thread is left",
            weak: |own| own == [1, 1],
            allows: $allows,
            interleaved: &[&[1, 2], &[2, 1], &[2, 2]],
            places: EVERYWHERE,
        }
    };
}

/// Accesses of one variable.
macro_rules! coherence {
    ($name:literal, $order:literal, $threads:expr, $results:expr, $left:literal, $asks:literal, $weak:expr, $interleaved:expr) => {
        Litmus {
            name: $name,
            order: $order,
            threads: $threads,
            results: $results,
            left: $left,
            asks: $asks,
            weak: $weak,
            allows: never,
            interleaved: $interleaved,
            places: EVERYWHERE,
        }
    };
}

/// An asynchronous copy from global to shared memory, by one thread alone.
macro_rules! copies {
    ($order:literal, $thread:literal, $asks:literal, $weak:expr, $allows:expr, $interleaved:expr) => {
        Litmus {
            name: "asynchronous copy",
            order: $order,
            threads: &[$thread],
            results: &[&[0]],
            left: false,
            asks: $asks,
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
        "relaxed.gpu, what is read is stored",
        "relaxed.gpu.",
        "",
        "relaxed.gpu.",
        "%r0",
        "%r1",
        "a value out of thin air: both read 1",
        never,
        |own| own != [0, 0],
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
        "x = 1 is read, and then x = 0",
        |own| own == [1, 0],
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
        "the first of two stores of a thread is left",
        |own| own[1] == 1,
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
        "what a thread reads is stored behind its own store",
        |own| own == [2, 2, 0],
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
        "another's store is read, and then the own one is left",
        |own| own == [2, 1, 0],
        &[&[1, 1, 0], &[1, 2, 0], &[2, 2, 0]]
    ),
    coherence!(
        "atomicity",
        "atom.relaxed.gpu",
        &["atom.relaxed.gpu.SPACE.add.u32 %r0, [X], 1;\n", "atom.relaxed.gpu.SPACE.add.u32 %r1, [X], 1;\n"],
        &[&[0], &[1]],
        true,
        "both find 0",
        |own| own[0] == own[1],
        &[&[0, 1, 2, 0], &[1, 0, 2, 0]]
    ),
    copies!(
        "cp.async, not waited for",
        "st.global.u32 [%x], 5;\ncp.async.ca.shared.global [%xs+64], [%x], 4;\nadd.u32 %r1, %r1, 1;\nadd.u32 %r1, %r1, 1;\n\
         ld.shared.u32 %r0, [%xs+64];\ncp.async.wait_all;\n",
        "the old bytes of the destination are read",
        |own| own == [7],
        always,
        &[&[5]]
    ),
    copies!(
        "cp.async, waited for",
        "st.global.u32 [%x], 5;\ncp.async.ca.shared.global [%xs+64], [%x], 4;\ncp.async.wait_all;\nld.shared.u32 %r0, [%xs+64];\n",
        "the old bytes of the destination are read",
        |own| own == [7],
        never,
        &[&[5]]
    ),
    copies!(
        "cp.async, the source is changed before the wait",
        "st.global.u32 [%x], 5;\ncp.async.ca.shared.global [%xs+64], [%x], 4;\nst.global.u32 [%x], 6;\n\
         cp.async.wait_all;\nld.shared.u32 %r0, [%xs+64];\n",
        "a later value of the source is copied",
        |own| own == [6],
        always,
        &[&[5]]
    ),
];
