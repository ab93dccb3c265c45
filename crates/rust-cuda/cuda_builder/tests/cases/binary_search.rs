use super::*;

pub fn value(i: u32) -> u64 {
    let data: [u32; 100] = core::array::from_fn(|at| at as u32 * 3);
    let place = |it: Result<usize, usize>| it.map_or_else(|at| at as u64 + 1000, |at| at as u64);
    mix(place(data.binary_search(&i)), data.partition_point(|it| *it < i) as u64)
}
