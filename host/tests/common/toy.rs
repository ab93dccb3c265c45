//! A ladder of two rungs, for tests of the output for a ladder that do not depend on a real ladder. It computes what
//! the reduction computes, and [`Fake`](super::Fake) runs it.

use host::options::{Kind, Opt};
use host::registry::PublishedSpeedup;
use host::{Catalog, Column, KERNELS, Ladder, Options, Rung, ShownColumns, ladder};

pub static TOYS: Catalog = Catalog { ladders: &[TOY], pitfalls: &[], kernels: &KERNELS };

pub const TOY: Ladder = Ladder {
    name: "toy",
    summary: "a sum, for tests",
    rungs: &[
        Rung {
            name: "toy_slow",
            source: "toys/slow.rs",
            lesson: "it comes first",
            parameters: &["input", "output", "n"],
            default_block: [512, 1, 1],
            in_place: true,
            ..Rung::USUAL
        },
        Rung {
            name: "toy_fast",
            source: "toys/fast.rs",
            lesson: "four data blocks a block, and shared memory",
            parameters: &["input", "output", "n"],
            items_per_thread: 4,
            default_block: [128, 1, 1],
            dynamic_shared: |[x, _, _], _| x * 4,
            published: Some(PublishedSpeedup { factor: 1.4, over: "toy_slow" }),
            ..Rung::USUAL
        },
    ],
    options: &[Opt { name: "n", metavar: "N", kind: Kind::Size, default: "16384", help: "Number of elements" }],
    blocks: &[[64, 1, 1], [128, 1, 1], [512, 1, 1]],
    block_rule: "64, 128 or 512",
    sweep: |_| vec![Options::default()],
    problem: |options| ladder("reduce")?.problem(options),
    shown: ShownColumns {
        timed: &[
            Column::Time,
            Column::OverFirst,
            Column::OverBefore,
            Column::Bandwidth,
            Column::OfPeak,
            Column::Published,
        ],
        counted: &[Column::Instructions],
        pictures: false,
    },
};
