//! The baselines of each ladder: what NVIDIA's own libraries have for the same job.

use std::ffi::CStr;

use host::launch::{Arg, Launch};
use host::{Ladder, Options, Problem, Rung};

use crate::library::Call;

/// A library's call for the job of a problem.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// What the library calls it: `CUB DeviceReduce`.
    pub name: &'static str,
    /// A rung that gives the same result from the same buffers: the baseline is checked as this rung is.
    pub rung: &'static Rung,
    /// How that rung is launched on the problem.
    pub launch: Launch,
    /// What the library is asked to do.
    pub call: Call,
}

/// A baseline of a ladder.
struct Registered {
    ladder: &'static str,
    name: &'static str,
    function: &'static CStr,
    /// Whether it gives what the ladder's upper bound gives, and not what the other rungs do.
    is_bound: bool,
    request: fn(&Options) -> Option<Request>,
}

/// What a problem with certain options asks of a library.
struct Request {
    /// The numbers that `cuda/baselines.cu` documents.
    numbers: [u64; 3],
    /// The bytes that the work needs in each of the rung's first buffers.
    bytes: Vec<u64>,
}

/// All baselines. A ladder that is not here has none.
const BASELINES: &[Registered] = &[
    Registered {
        ladder: "reduce",
        name: "CUB DeviceReduce",
        function: c"reduce",
        is_bound: false,
        request: reduce,
    },
    Registered {
        ladder: "transpose",
        name: "memcpy",
        function: c"copy",
        is_bound: true,
        request: |options| {
            let bytes = product(options, ["rows", "cols"])?;
            Some(Request {
                numbers: [bytes, 0, 0],
                bytes: vec![bytes; 2],
            })
        },
    },
    Registered {
        ladder: "transpose",
        name: "cuBLAS geam",
        function: c"transpose",
        is_bound: false,
        request: |options| {
            Some(Request {
                numbers: [options.size("rows"), options.size("cols"), 0],
                bytes: vec![product(options, ["rows", "cols"])?; 2],
            })
        },
    },
    Registered {
        ladder: "matmul",
        name: "cuBLAS SGEMM",
        function: c"matmul",
        is_bound: false,
        request: |options| {
            let sides = [["m", "k"], ["k", "n"], ["m", "n"]].map(|sides| product(options, sides));
            Some(Request {
                numbers: ["m", "n", "k"].map(|side| options.size(side)),
                bytes: sides.into_iter().collect::<Option<_>>()?,
            })
        },
    },
    Registered {
        ladder: "histogram",
        name: "CUB DeviceHistogram",
        function: c"histogram",
        is_bound: false,
        request: |options| {
            let n = options.size("n");
            Some(Request {
                numbers: [n, 0, 0],
                bytes: vec![n, 256 * 4],
            })
        },
    },
];

/// The bytes of a matrix of 32-bit words with these sides.
fn product(options: &Options, sides: [&str; 2]) -> Option<u64> {
    let [rows, cols] = sides.map(|side| options.size(side));
    rows.checked_mul(cols)?.checked_mul(4)
}

fn reduce(options: &Options) -> Option<Request> {
    /// In the order of their numbers.
    const OPS: [&str; 4] = ["sum", "product", "min", "max"];
    /// Likewise, with the bytes of an element.
    const TYPES: [(&str, u64); 5] = [("i32", 4), ("u32", 4), ("i64", 8), ("f32", 4), ("f64", 8)];
    let op = OPS.iter().position(|op| *op == options.text("op"))?;
    let element = options.text("type");
    let number = TYPES.iter().position(|(name, _)| *name == element)?;
    let (n, size) = (options.size("n"), TYPES[number].1);
    Some(Request {
        numbers: [op as u64, number as u64, n],
        bytes: vec![n.checked_mul(size)?, size],
    })
}

/// Whether a ladder has baselines.
#[must_use]
pub fn exist_for(ladder: &str) -> bool {
    BASELINES.iter().any(|own| own.ladder == ladder)
}

/// The baselines for a problem of `ladder`, made from `options`, which are complete.
#[must_use]
pub fn of(ladder: &'static Ladder, problem: &dyn Problem, options: &Options) -> Vec<Baseline> {
    let make = |own: &Registered| {
        let Request { numbers, bytes } = (own.request)(options)?;
        let (rung, launch) = same_result(ladder, problem, own.is_bound)?;
        let buffers = launch.args.iter().filter_map(|arg| match arg {
            Arg::Buffer(index) => Some(*index),
            _ => None,
        });
        let call = Call {
            function: own.function,
            buffers: buffers.zip(bytes).collect(),
            numbers,
        };
        Some(Baseline {
            name: own.name,
            rung,
            launch,
            call,
        })
    };
    let own = BASELINES.iter().filter(|own| own.ladder == ladder.name);
    own.filter_map(make).collect()
}

/// The ladder's first rung that computes the problem to its end, or its upper bound.
fn same_result(
    ladder: &'static Ladder,
    problem: &dyn Problem,
    is_bound: bool,
) -> Option<(&'static Rung, Launch)> {
    let all_in_parts = !ladder.rungs.iter().any(|rung| rung.single_pass);
    let mut rungs = ladder.select(&[], problem).ok()?.into_iter();
    let rung =
        rungs.find(|rung| rung.is_bound == is_bound && (all_in_parts || rung.single_pass))?;
    let launch = ladder.launch(rung, problem, None).ok()?;
    Some((rung, launch))
}
