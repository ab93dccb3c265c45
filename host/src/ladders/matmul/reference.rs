//! The product on the CPU, in double precision.

use std::thread;

/// A product and what bounds its error.
pub(super) struct Product {
    /// Row after row.
    pub(super) values: Vec<f64>,
    /// The same of the absolute values: for each element, the sum of |a| |b|.
    pub(super) magnitudes: Vec<f64>,
}

/// Elements of `b` that stay in a core's cache while a band of rows passes by: rows × columns.
const BLOCK: (usize, usize) = (64, 256);

/// `a` (m × k) times `b` (k × n), row after row, by bands of rows on all cores.
pub(super) fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Product {
    let mut product = Product {
        values: vec![0.0; m * n],
        magnitudes: vec![0.0; m * n],
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let rows = m.div_ceil(threads).max(1);
    thread::scope(|scope| {
        let values = product.values.chunks_mut(rows * n);
        let magnitudes = product.magnitudes.chunks_mut(rows * n);
        for ((values, magnitudes), a) in values.zip(magnitudes).zip(a.chunks(rows * k)) {
            scope.spawn(move || band(a, b, values, magnitudes, [n, k]));
        }
    });
    product
}

fn band(a: &[f32], b: &[f32], values: &mut [f64], magnitudes: &mut [f64], [n, k]: [usize; 2]) {
    for depth in (0..k).step_by(BLOCK.0) {
        for left in (0..n).step_by(BLOCK.1) {
            let columns = left..(left + BLOCK.1).min(n);
            let rows = values.chunks_mut(n).zip(magnitudes.chunks_mut(n));
            for ((values, magnitudes), a) in rows.zip(a.chunks(k)) {
                for i in depth..(depth + BLOCK.0).min(k) {
                    let a = f64::from(a[i]);
                    let b = &b[i * n..][columns.clone()];
                    let sums = values[columns.clone()]
                        .iter_mut()
                        .zip(&mut magnitudes[columns.clone()]);
                    for ((value, magnitude), &b) in sums.zip(b) {
                        let term = a * f64::from(b);
                        *value += term;
                        *magnitude += term.abs();
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_leave_nothing_out() {
        // Small integers: every sum is exact in any order.
        let number = |i: usize| (i * 7 % 11) as f32 - 5.0;
        for [m, n, k] in [[1, 1, 1], [3, 300, 70], [5, 257, 129], [2, 1, 64]] {
            let a: Vec<f32> = (0..m * k).map(number).collect();
            let b: Vec<f32> = (0..k * n).map(|i| number(i + 3)).collect();
            let product = product(&a, &b, [m, n, k]);
            for row in 0..m {
                for column in 0..n {
                    let terms = (0..k).map(|i| f64::from(a[row * k + i] * b[i * n + column]));
                    let at = row * n + column;
                    assert_eq!(product.values[at], terms.clone().sum::<f64>());
                    assert_eq!(product.magnitudes[at], terms.map(f64::abs).sum::<f64>());
                }
            }
        }
    }
}
