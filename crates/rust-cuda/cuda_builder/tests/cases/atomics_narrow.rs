use super::*;
use core::sync::atomic::{AtomicBool, AtomicI8, AtomicU16, Ordering::Relaxed};
static A: [AtomicI8; 256] = [const { AtomicI8::new(-100) }; 256];
static B: [AtomicU16; 256] = [const { AtomicU16::new(50_000) }; 256];
static C: [AtomicBool; 256] = [const { AtomicBool::new(false) }; 256];
pub fn value(i: u32) -> u64 {
    let (a, b, c) = (&A[i as usize], &B[i as usize], &C[i as usize]);
    let old = a.fetch_sub(i as i8, Relaxed);
    b.fetch_add(i as u16 * 200, Relaxed);
    let was = c.fetch_or(i % 3 == 0, Relaxed) as u64 + u64::from(c.swap(true, Relaxed));
    let exchanged = b.compare_exchange(50_400, 7, Relaxed, Relaxed).is_ok();
    mix(old as u64, u64::from(b.load(Relaxed))) ^ a.load(Relaxed) as u64 ^ was ^ u64::from(exchanged) << 9
}
