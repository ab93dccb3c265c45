use super::*;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
static A: [AtomicU32; 256] = [const { AtomicU32::new(77) }; 256];
static B: [AtomicU64; 256] = [const { AtomicU64::new(1 << 40) }; 256];
pub fn value(i: u32) -> u64 {
    let (a, b) = (&A[i as usize], &B[i as usize]);
    a.fetch_add(i, Ordering::Relaxed);
    b.fetch_xor(0xff00ff, Ordering::AcqRel);
    let old = a.swap(9, Ordering::Relaxed) + a.fetch_max(i, Ordering::Relaxed) + a.fetch_nand(6, Ordering::SeqCst);
    let exchanged = b.compare_exchange(1 << 40 | 0xff00ff, u64::from(i), Ordering::Relaxed, Ordering::Relaxed);
    u64::from(old)
        + exchanged.unwrap_or_else(|it| it)
        + u64::from(a.load(Ordering::Acquire))
        + b.load(Ordering::Relaxed)
}
