use super::*;
use core::sync::atomic::Ordering::{self, *};
use core::sync::atomic::{AtomicBool, AtomicI8, AtomicI64, AtomicU32, AtomicUsize};
use cuda_std::atomic::{AtomicF32, BlockAtomicF64, SystemAtomicF32};

static GLOBAL: [AtomicU32; 256] = [const { AtomicU32::new(5) }; 256];

/// An operation on a variable that may be local to the thread or not.
#[inline(never)]
fn exchanged(count: &AtomicU32, by: u32) -> u32 {
    let before = count.fetch_add(by, Relaxed) ^ count.fetch_max(by, AcqRel).rotate_left(3);
    let _ = count.compare_exchange(by, before, SeqCst, Relaxed);
    before ^ count.swap(by, Release)
}

#[inline(never)]
fn narrow(byte: &AtomicI8, flag: &AtomicBool, by: i8) -> u64 {
    let before = byte.fetch_add(by, Relaxed) as u8;
    let flag = flag.fetch_xor(by > 3, SeqCst);
    mix(before.into(), u64::from(byte.fetch_min(-3, Relaxed) as u8) + u64::from(flag))
}

#[inline(never)]
fn floats(a: &AtomicF32, b: &SystemAtomicF32, c: &BlockAtomicF64, by: f32) -> u64 {
    let sum = a.fetch_add(by, Relaxed) + b.fetch_sub(by, SeqCst);
    let bits = b.fetch_and(0.25, Relaxed);
    mix(bits32(sum + bits), bits64(unsafe { c.fetch_add(by.into(), AcqRel) }))
}

struct Counter {
    total: AtomicI64,
    ordering: Ordering,
}

trait Counts {
    fn count(&self, by: i64) -> i64;
}

impl Counts for Counter {
    fn count(&self, by: i64) -> i64 {
        self.total.fetch_sub(by, self.ordering)
    }
}

impl Counts for AtomicUsize {
    fn count(&self, by: i64) -> i64 {
        self.fetch_or(by as usize, Relaxed) as i64
    }
}

pub fn value(i: u32) -> u64 {
    let local = AtomicU32::new(hash(i));
    let either = if i % 3 == 0 { &local } else { &GLOBAL[i as usize % 256] };
    let mut sum = mix(exchanged(&local, i).into(), exchanged(either, i + 1).into());
    let several = [const { AtomicU32::new(0) }; 8];
    for at in 0..i as usize {
        let _ = several[at * at % 8].compare_exchange(at as u32 % 3, at as u32, Relaxed, Relaxed);
        several[at % 7].fetch_nand(hash(at as u32), Relaxed);
    }
    sum = several.iter().fold(sum, |sum, term| mix(sum, term.load(Acquire).into()));
    let (byte, flag) = (AtomicI8::new(i as i8), AtomicBool::new(i % 2 == 0));
    sum = mix(sum, narrow(&byte, &flag, i as i8 % 7));
    sum = mix(sum, u64::from(byte.load(Relaxed) as u8) + u64::from(flag.load(Relaxed)));
    let (a, b, c) = (AtomicF32::new(1.5), SystemAtomicF32::new(i as f32), BlockAtomicF64::new(0.25));
    sum = mix(sum, floats(&a, &b, &c, i as f32 / 4.0));
    sum = mix(sum, mix(bits32(a.load(Relaxed)), bits32(b.load(SeqCst))) ^ bits64(unsafe { c.load(Acquire) }));
    let (counter, bits) = (Counter { total: AtomicI64::new(9), ordering: Relaxed }, AtomicUsize::new(3));
    let counts: [&dyn Counts; 2] = [&counter, &bits];
    let counted = counts[i as usize % 2].count(i.into());
    mix(sum, counted as u64) ^ counter.total.into_inner() as u64 ^ local.into_inner() as u64
}
