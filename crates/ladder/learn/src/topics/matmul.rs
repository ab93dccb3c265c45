//! Matrix products: tiles, corner turning and registers.

use crate::exercise::Case;
use crate::values::{Values, floats};

/// Returns a launch that multiplies square matrices. A block computes `columns` columns and `rows` rows of the product,
/// with `threads` threads in each direction. `b` is in column-major order if `column_major` is true.
fn product(n: usize, [columns, rows]: [usize; 2], threads: u32, column_major: bool) -> Case {
    let (a, b) = (floats(n * n, 1), floats(n * n, 2));
    let mut c = vec![0.0; n * n];
    for (at, sum) in c.iter_mut().enumerate() {
        let (row, column) = (at / n, at % n);
        let of_b = |i: usize| if column_major { b[column * n + i] } else { b[i * n + column] };
        *sum = (0..n).map(|i| a[row * n + i] * of_b(i)).sum();
    }
    let case = Case::new([n.div_ceil(columns), n.div_ceil(rows)], [threads, threads]).tolerance(1e-4);
    case.input("a", Values::from(a)).input("b", Values::from(b)).output("c", c).value(n as u32)
}

exercises! {
    matmul_naive: [1, 16, 21] => |n| product(n, [16, 16], 16, false);
    matmul_tile: [1, 17, 32, 40, 48], "load requests in total": LOADS <= 432.0 => |n| product(n, [16, 16], 16, false);
    corner_turning: [1, 17, 40, 48], "sectors per load request": SECTORS_A_LOAD <= 4.0 => |n| product(n, [16, 16], 16, true);
    coarsening: [1, 17, 70, 64], "load requests in total": LOADS <= 640.0 => |n| product(n, [64, 16], 16, false);
    register_tile: [1, 31, 40, 64], "wavefronts of shared loads in total": SHARED_WAVEFRONTS <= 12288.0 => |n| {
        product(n, [32, 32], 16, false)
    };
}
