use super::*;

pub fn value(i: u32) -> u64 {
    let data: [u32; 13] = core::array::from_fn(|at| at as u32 ^ i);
    let chunks = data.chunks(4).map(|it| u64::from(it[0]) * it.len() as u64).sum();
    let exact = data.chunks_exact(5).map(|it| u64::from(it[4])).sum::<u64>();
    let windows = data.windows(3).filter(|it| it[0] < it[2]).count() as u64;
    mix(chunks, mix(exact, windows)) + data.rchunks(6).last().unwrap().len() as u64
}
