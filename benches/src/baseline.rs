//! The baselines of each ladder: functions of NVIDIA's libraries that compute the same.

use std::ffi::CStr;

use host::launch::{Arg, Launch};
use host::{DeviceProperties, Ladder, Options, Problem, Rung};

use crate::library::{Call, NUMBERS};

/// A library function that computes the same as a problem.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The library's name for it: `CUB DeviceReduce`.
    pub name: &'static str,
    /// A rung that computes the same result from the same buffers. The baseline is checked like this rung.
    pub rung: &'static Rung,
    /// The launch of that rung on the problem.
    pub launch: Launch,
    /// The request to the library.
    pub call: Call,
}

/// The request of a problem with certain options to a library: the numbers that `cuda/baselines.cu` documents, and the
/// bytes that the work needs in each of the rung's first buffers. `None` when the library cannot compute the problem.
type Request = Option<([u64; NUMBERS], Vec<u64>)>;

/// A baseline of a ladder: the ladder, the library's name for the function, its name in `cuda/baselines.cu`, whether
/// it computes the same as the ladder's upper bound (and not as the other rungs), and its request.
type Registered = (&'static str, &'static str, &'static CStr, bool, fn(&Options) -> Request);

/// All baselines. A ladder that is not in this list has none.
#[rustfmt::skip] // A line each.
const BASELINES: &[Registered] = &[
    ("reduce", "CUB DeviceReduce", c"reduce", false, reduce),
    ("transpose", "memcpy", c"copy", true, copy),
    ("transpose", "cuBLAS geam", c"transpose", false, transpose),
    ("matmul", "cuBLAS SGEMM", c"matmul", false, matmul),
    ("gemm", "cuBLAS GemmEx", c"gemm", false, gemm),
    ("gemm", "cublasLt", c"gemm_lt", false, gemm),
    ("histogram", "CUB DeviceHistogram", c"histogram", false, histogram),
];

fn reduce(options: &Options) -> Request {
    /// In the order of their numbers.
    const OPS: [&str; 4] = ["sum", "product", "min", "max"];
    /// Likewise, with the bytes of an element.
    const TYPES: [(&str, u64); 5] = [("i32", 4), ("u32", 4), ("i64", 8), ("f32", 4), ("f64", 8)];
    let op = OPS.iter().position(|op| *op == options.text("op"))?;
    let element = options.text("type");
    let number = TYPES.iter().position(|(name, _)| *name == element)?;
    let (n, size) = (options.size("n"), TYPES[number].1);
    let bytes = vec![n.checked_mul(size)?, size];
    Some(([op as u64, number as u64, n, 0], bytes))
}

fn copy(options: &Options) -> Request {
    let bytes = matrix_bytes(options, ["rows", "cols"])?;
    Some(([bytes, 0, 0, 0], vec![bytes; 2]))
}

fn transpose(options: &Options) -> Request {
    let sides = ["rows", "cols"];
    let [rows, cols] = sides.map(|side| options.size(side));
    Some(([rows, cols, 0, 0], vec![matrix_bytes(options, sides)?; 2]))
}

fn matmul(options: &Options) -> Request {
    let matrices = [["m", "k"], ["k", "n"], ["m", "n"]].into_iter();
    let bytes = matrices.map(|sides| matrix_bytes(options, sides));
    let [m, n, k] = ["m", "n", "k"].map(|side| options.size(side));
    Some(([m, n, k, 0], bytes.collect::<Option<_>>()?))
}

fn gemm(options: &Options) -> Request {
    /// In the order of their numbers, with the bytes of an element.
    const TYPES: [(&str, u64); 3] = [("bf16", 2), ("f16", 2), ("tf32", 4)];
    let number = TYPES.iter().position(|(name, _)| *name == options.text("type"))?;
    let (factor, is_f32) = (TYPES[number].1, options.text("out") == "f32");
    let product = if is_f32 { 4 } else { factor };
    let [m, n, k] = ["m", "n", "k"].map(|side| options.size(side));
    let format = number as u64 + 4 * u64::from(is_f32) + 8 * u64::from(options.text("b") == "columns");
    let bytes = |rows: u64, columns: u64, size| rows.checked_mul(columns)?.checked_mul(size);
    Some(([m, n, k, format], vec![bytes(m, k, factor)?, bytes(k, n, factor)?, bytes(m, n, product)?]))
}

fn histogram(options: &Options) -> Request {
    const BINS: u64 = 256 * 4;
    let n = options.size("n");
    Some(([n, 0, 0, 0], vec![n, BINS]))
}

/// The bytes of a matrix of 32-bit words with these sides.
fn matrix_bytes(options: &Options, sides: [&str; 2]) -> Option<u64> {
    let [rows, cols] = sides.map(|side| options.size(side));
    rows.checked_mul(cols)?.checked_mul(4)
}

/// Whether a ladder has baselines.
pub fn exist_for(ladder: &str) -> bool {
    BASELINES.iter().any(|(own, ..)| *own == ladder)
}

/// The baselines for a problem of `ladder`, made from `options`, which are complete.
pub fn of(
    ladder: &'static Ladder,
    problem: &dyn Problem,
    options: &Options,
    device: DeviceProperties,
) -> Vec<Baseline> {
    let own = BASELINES.iter().filter(|(own, ..)| *own == ladder.name);
    let make = |&(_, name, function, is_bound, request): &Registered| {
        let (numbers, bytes) = request(options)?;
        let (rung, launch) = same_result(ladder, problem, is_bound, device)?;
        let buffers = launch.args.iter().filter_map(|arg| match arg {
            Arg::Buffer(index) => Some(*index),
            _ => None,
        });
        let call = Call { function, buffers: buffers.zip(bytes).collect(), numbers };
        Some(Baseline { name, rung, launch, call })
    };
    own.filter_map(make).collect()
}

/// The ladder's first rung that computes the problem to its end, or its upper bound.
fn same_result(
    ladder: &'static Ladder,
    problem: &dyn Problem,
    is_bound: bool,
    device: DeviceProperties,
) -> Option<(&'static Rung, Launch)> {
    let mut rungs = ladder.select(&[], problem).ok()?;
    rungs.retain(|rung| rung.is_bound == is_bound);
    let whole = rungs.iter().find(|rung| rung.single_pass);
    let rung = *whole.or(rungs.first())?;
    let mut launch = ladder.launch(rung, problem, None, device).ok()?;
    if whole.is_none() && ladder.rungs.iter().any(|rung| rung.single_pass) {
        // The rungs leave a result for each block; the result of one block is that of the whole.
        launch.grid = [1, 1, 1];
    }
    Some((rung, launch))
}
