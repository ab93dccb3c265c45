//! Coalesced accesses to global memory.

use crate::exercise::Case;
use crate::values::{floats, words};

exercises! {
    coalesced_copy: [0, 1, 1000, 2048],
        "sectors per load request": SECTORS_A_LOAD <= 4.0, "sectors per store request": SECTORS_A_STORE <= 4.0 => |n| {
        let input = words(n, 1);
        Case::covering(n.div_ceil(8), 64).input("input", &input).output("output", input).value(n as u32)
    };
    rows_or_columns: [1, 31, 33, 64], "sectors per store request": SECTORS_A_STORE <= 4.0 => |n| {
        let (input, factors) = (floats(n * n, 2), floats(n, 3));
        let output: Vec<f32> = input.iter().enumerate().map(|(i, x)| factors[i / n] * x).collect();
        // The launch has enough threads for the rows in both x and y.
        let case = Case::new([n.div_ceil(32), n.div_ceil(8)], [32, 8]);
        case.input("input", input).input("factors", factors).output("output", output).value(n as u32)
    };
    keep_in_register: [0, 1, 33, 256], "store requests in total": STORES <= 8.0 => |n| {
        let input = floats(16 * n, 4);
        let output: Vec<f32> = (0..n).map(|column| (0..16).map(|row| input[row * n + column]).sum()).collect();
        Case::covering(n, 64).input("input", input).output("output", output).value(n as u32)
    };
    vector_load: [0, 1, 3, 30, 1022, 1024],
        "load requests in total": LOADS <= 8.0, "store requests in total": STORES <= 8.0 => |n| {
        let input = floats(n, 5);
        let output: Vec<f32> = input.iter().map(|x| 2.0 * x).collect();
        Case::covering(n.div_ceil(4), 64).input("input", input).output("output", output).value(n as u32)
    };
}
