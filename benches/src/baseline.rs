//! The baselines of each ladder: functions of NVIDIA's libraries that compute the same result.

use std::ffi::CStr;

use host::launch::{Arg, Launch};
use host::problem::Verdict;
use host::{DeviceProperties, Ladder, Options, Problem, Rung};

use crate::library::{Call, NUMBERS};

/// A library function that computes a problem's result.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The library's name for the function: `CUB DeviceReduce`.
    pub name: &'static str,
    /// Whether the function only copies the first buffer to the second.
    pub is_copy: bool,
    /// A rung that computes the problem from the same buffers. Unless the baseline is a copy, its result is checked in
    /// the same way as this rung's result.
    pub rung: &'static Rung,
    /// The launch of that rung on the problem.
    pub launch: Launch,
    /// The request to the library.
    pub call: Call,
}

/// A request to a library for a problem with given options. It consists of the numbers that `cuda/baselines.cu`
/// documents, and the number of bytes that the call needs in each of the rung's first buffers. The error is the reason
/// why the baseline does not compute the problem.
type Request = Result<([u64; NUMBERS], Vec<u64>), String>;

/// A baseline of a ladder: the ladder, the library's name for the function, the function's name in `cuda/baselines.cu`,
/// whether the baseline is a copy, and its request.
type Registered = (&'static str, &'static str, &'static CStr, bool, fn(&Options) -> Request);

/// All baselines. A ladder that is not in this list has no baselines.
#[rustfmt::skip] // One baseline per line.
const BASELINES: &[Registered] = &[
    ("reduce", "CUB DeviceReduce", c"reduce", false, reduce),
    ("transpose", "memcpy", c"copy", true, copy),
    ("transpose", "cuBLAS geam", c"transpose", false, transpose),
    ("matmul", "cuBLAS SGEMM", c"matmul", false, matmul),
    ("gemm", "cuBLAS GemmEx", c"gemm", false, gemm),
    ("gemm", "cublasLt", c"gemm_lt", false, gemm),
    ("histogram", "CUB DeviceHistogram", c"histogram", false, histogram),
    ("scan", "CUB DeviceScan", c"scan", false, scan),
    ("scan", "memcpy", c"copy", true, copy_elements),
    ("sort", "CUB DeviceRadixSort", c"sort", false, sort),
    ("softmax", "memcpy", c"copy", true, copy_rows),
];

fn reduce(options: &Options) -> Request {
    /// The operations, in the order of their numbers.
    const OPS: [&str; 4] = ["sum", "product", "min", "max"];
    /// The types, in the order of their numbers, with the size of an element in bytes.
    const TYPES: [(&str, u64); 5] = [("i32", 4), ("u32", 4), ("i64", 8), ("f32", 4), ("f64", 8)];
    let (op, _) = number_of(&OPS.map(|op| (op, 0)), options.text("op"))?;
    let (element, size) = number_of(&TYPES, options.text("type"))?;
    let n = options.size("n");
    Ok(([op, element, n, 0], vec![bytes([n, size])?, size]))
}

fn copy(options: &Options) -> Request {
    let bytes = matrix_bytes(options, ["rows", "cols"])?;
    Ok(([bytes, 0, 0, 0], vec![bytes; 2]))
}

fn transpose(options: &Options) -> Request {
    let sides = ["rows", "cols"];
    let [rows, cols] = sides.map(|side| options.size(side));
    Ok(([rows, cols, 0, 0], vec![matrix_bytes(options, sides)?; 2]))
}

fn matmul(options: &Options) -> Request {
    let matrices = [["m", "k"], ["k", "n"], ["m", "n"]].into_iter();
    let bytes = matrices.map(|sides| matrix_bytes(options, sides));
    let [m, n, k] = ["m", "n", "k"].map(|side| options.size(side));
    Ok(([m, n, k, 0], bytes.collect::<Result<_, _>>()?))
}

fn gemm(options: &Options) -> Request {
    /// The types, in the order of their numbers, with the size of an element in bytes.
    const TYPES: [(&str, u64); 3] = [("bf16", 2), ("f16", 2), ("tf32", 4)];
    let (number, factor) = number_of(&TYPES, options.text("type"))?;
    let is_f32 = options.text("out") == "f32";
    let product = if is_f32 { 4 } else { factor };
    let [m, n, k] = ["m", "n", "k"].map(|side| options.size(side));
    let format = number + 4 * u64::from(is_f32) + 8 * u64::from(options.text("b") == "columns");
    Ok(([m, n, k, format], vec![bytes([m, k, factor])?, bytes([k, n, factor])?, bytes([m, n, product])?]))
}

fn histogram(options: &Options) -> Request {
    const BINS: u64 = 256 * 4;
    let n = options.size("n");
    Ok(([n, 0, 0, 0], vec![n, BINS]))
}

/// The element types of a scan, in the order of their numbers, with the size of an element in bytes.
const ELEMENTS: [(&str, u64); 4] = [("i32", 4), ("u32", 4), ("i64", 8), ("f32", 4)];

fn scan(options: &Options) -> Request {
    let op = options.text("op");
    if op != "sum" {
        return Err(format!("only sums are compared with it, not --op {op}"));
    }
    let (element, size) = number_of(&ELEMENTS, options.text("type"))?;
    let (n, is_exclusive) = (options.size("n"), options.text("kind") == "exclusive");
    Ok(([element, u64::from(is_exclusive), n, 0], vec![bytes([n, size])?; 2]))
}

fn copy_elements(options: &Options) -> Request {
    let (_, size) = number_of(&ELEMENTS, options.text("type"))?;
    let bytes = bytes([options.size("n"), size])?;
    Ok(([bytes, 0, 0, 0], vec![bytes; 2]))
}

fn copy_rows(options: &Options) -> Request {
    let (_, size) = number_of(&[("bf16", 2), ("f16", 2), ("f32", 4)], options.text("type"))?;
    let bytes = bytes([options.size("m"), options.size("n"), size])?;
    Ok(([bytes, 0, 0, 0], vec![bytes; 2]))
}

fn sort(options: &Options) -> Request {
    /// The key types, in the order of their numbers, with the size of a key in bytes.
    const KEYS: [(&str, u64); 3] = [("u32", 4), ("i32", 4), ("u64", 8)];
    let name = options.text("type");
    if name == "f32" {
        return Err("it sorts -0 and 0 as equal keys, and the ladder sorts -0 before 0".to_owned());
    }
    let (key, size) = number_of(&KEYS, name)?;
    let (n, has_values) = (options.size("n"), options.text("values") == "yes");
    let (keys, values) = (bytes([n, size])?, bytes([n, if has_values { 4 } else { 0 }])?);
    Ok(([key, u64::from(has_values), n, 0], vec![keys, values, keys, values]))
}

/// Returns the index of a name in a list, and the size in bytes that follows the name.
fn number_of(all: &[(&str, u64)], name: &str) -> Result<(u64, u64), String> {
    let place = (0..).zip(all).find(|(_, (candidate, _))| *candidate == name);
    let (number, &(_, size)) = place.ok_or_else(|| format!("it has no {name}"))?;
    Ok((number, size))
}

/// Returns the size of an array in bytes: the product of its sides and the size of an element.
fn bytes<const N: usize>(factors: [u64; N]) -> Result<u64, String> {
    let product = factors.into_iter().try_fold(1, u64::checked_mul);
    product.ok_or_else(|| "an array has more than 2^64 bytes".to_owned())
}

/// Returns the size in bytes of a matrix of 32-bit words. `rows` and `columns` are the names of the options for the two
/// sides.
fn matrix_bytes(options: &Options, [rows, columns]: [&str; 2]) -> Result<u64, String> {
    bytes([options.size(rows), options.size(columns), 4])
}

/// Returns whether a ladder has baselines.
pub fn exist_for(ladder: &str) -> bool {
    BASELINES.iter().any(|(registered, ..)| *registered == ladder)
}

/// Returns the baselines for a problem of `ladder` with the complete `options`. For each baseline that is left out,
/// also returns one line with the reason.
pub fn of(
    ladder: &'static Ladder,
    problem: &dyn Problem,
    options: &Options,
    device: DeviceProperties,
) -> (Vec<Baseline>, Vec<String>) {
    let (mut baselines, mut left_out) = (Vec::new(), Vec::new());
    let Some((rung, launch)) = same_result(ladder, problem, device) else {
        return (baselines, left_out);
    };
    for &(_, name, function, is_copy, request) in BASELINES.iter().filter(|(registered, ..)| *registered == ladder.name)
    {
        match request(options) {
            Ok((numbers, bytes)) => {
                let buffers = launch.args.iter().filter_map(|arg| match arg {
                    Arg::Buffer(index) => Some(*index),
                    _ => None,
                });
                let call = Call { function, buffers: buffers.zip(bytes).collect(), numbers };
                baselines.push(Baseline { name, is_copy, rung, launch: launch.clone(), call });
            }
            Err(why) => left_out.push(format!("left out: {name} does not compute this: {why}")),
        }
    }
    (baselines, left_out)
}

/// Returns the ladder's first rung that computes the whole result.
fn same_result(
    ladder: &'static Ladder,
    problem: &dyn Problem,
    device: DeviceProperties,
) -> Option<(&'static Rung, Launch)> {
    let mut rungs = ladder.select(&[], problem).ok()?;
    rungs.retain(|rung| !rung.is_bound);
    let whole = rungs.iter().find(|rung| rung.single_pass);
    let rung = *whole.or(rungs.first())?;
    let mut launch = ladder.launch(rung, problem, None, device).ok()?;
    if whole.is_none() && ladder.rungs.iter().any(|rung| rung.single_pass) {
        // The rungs leave a result for each block; with one block, this is the whole result.
        launch.grid = [1, 1, 1];
    }
    Some((rung, launch))
}

impl Baseline {
    /// Checks these outputs of the baseline.
    pub fn verdict(&self, problem: &dyn Problem, outputs: &[Vec<u8>]) -> Verdict {
        match self.is_copy {
            true => Verdict::of_elements(outputs, problem.input(0), |index| format!("byte {index} of the copy")),
            false => problem.check(self.rung, &self.launch, outputs),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_problem_that_a_library_does_not_compute_has_a_reason() {
        let sums = Options::default().with("op", "sum").with("kind", "exclusive");
        let of =
            |op: &str, element: &str| scan(&sums.clone().with_size("n", 1 << 62).with("op", op).with("type", element));
        assert_eq!(of("max", "i32").unwrap_err(), "only sums are compared with it, not --op max");
        assert_eq!(of("sum", "f64").unwrap_err(), "it has no f64");
        assert_eq!(of("sum", "i64").unwrap_err(), "an array has more than 2^64 bytes");
        let small = sums.clone().with_size("n", 3).with("type", "i64");
        assert_eq!(scan(&small).unwrap(), ([2, 1, 3, 0], vec![24; 2]));
        assert_eq!(copy_elements(&small).unwrap(), ([24, 0, 0, 0], vec![24; 2]));

        let rows = |name: &str| copy_rows(&Options::default().with_size("m", 3).with_size("n", 5).with("type", name));
        assert_eq!(rows("f16").unwrap(), ([30, 0, 0, 0], vec![30; 2]));

        let keys = |name: &str| sort(&Options::default().with_size("n", 3).with("type", name).with("values", "yes"));
        assert_eq!(keys("u64").unwrap(), ([2, 1, 3, 0], vec![24, 12, 24, 12]));
        assert_eq!(keys("f32").unwrap_err(), "it sorts -0 and 0 as equal keys, and the ladder sorts -0 before 0");
    }
}
