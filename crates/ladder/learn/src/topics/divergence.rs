//! Divergent branches.

use crate::exercise::Case;
use crate::values::words;

exercises! {
    even_and_odd: [0, 1, 100, 129, 512], "divergent branches in total": SPLITS <= 0.0 => |n| {
        let before = words(n, 1);
        let steps = 9;
        let even = |x: u32| (0..steps).fold(x, |x, _| x.rotate_left(5) ^ x);
        let odd = |x: u32| (0..steps).fold(x, |x, k| x.wrapping_mul(3).wrapping_add(k));
        let after: Vec<u32> = before.iter().enumerate().map(|(i, &x)| if i % 2 == 0 { even(x) } else { odd(x) }).collect();
        Case::covering(n, 128).in_place("data", before, after).value(n as u32).value(steps)
    };
}
