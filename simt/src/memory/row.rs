//! The usual cases of loads and stores, without an address for each lane: a whole warp that accesses
//! device or shared memory in a row without gaps, or all at one place of the other spaces.
//!
//! They are told from the base register alone; each returns `false` where a case is not one of them or
//! something is wrong with it, and nothing has been done then.

use std::sync::atomic::Ordering;

use super::Env;
use super::load_store::{Load, Store, To, Width};
use super::reach::{Address, Perform, Region, Shape, observe};
use crate::code::Reg;
use crate::observe::Observer;
use crate::regs::{ALL, LANES, Lanes64, Regs};

impl Address {
    /// The first lane's address, if each lane's lies `step` bytes behind that of the lane before.
    #[inline(always)]
    fn row(&self, regs: &Regs<'_>, step: u32) -> Option<u64> {
        match self.base {
            Reg::R64(base) => {
                let base = regs.get64(base);
                let mut different = 0;
                for lane in 0..LANES {
                    different |= base[lane] ^ base[0].wrapping_add(lane as u64 * u64::from(step));
                }
                let first = base[0].wrapping_add(i64::from(self.offset) as u64);
                (different == 0).then_some(first)
            }
            Reg::R32(base) => {
                let base = regs.get32(base);
                let mut different = 0;
                for lane in 0..LANES {
                    different |= base[lane] ^ base[0].wrapping_add(lane as u32 * step);
                }
                let first = base[0].wrapping_add(self.offset as u32);
                (different == 0).then_some(u64::from(first))
            }
            Reg::Pred(_) => None,
        }
    }
}

/// All lanes' addresses; nobody asks for them unless there is an observer.
#[inline(always)]
fn addresses(first: u64, step: u32) -> Lanes64 {
    let mut at = [0; LANES];
    for (lane, at) in at.iter_mut().enumerate() {
        *at = first + lane as u64 * u64::from(step);
    }
    at
}

/// Where in a memory of `len` bytes a row begins, if all of it lies there and it begins at a multiple of
/// `align`.
#[inline(always)]
fn within(first: u64, bytes: u32, align: u64, len: usize) -> Option<usize> {
    let end = first.checked_add(u64::from(bytes))?;
    (end <= len as u64 && first.is_multiple_of(align)).then_some(first as usize)
}

impl Load {
    /// Loads the whole warp.
    #[inline(always)]
    pub(super) fn row<O: Observer>(&self, env: &mut Env<'_, O>) -> bool {
        let [to] = self.to[..] else { return false };
        if self.strong
            || !matches!(
                (self.width, to),
                (Width::B4, To::R32 { .. }) | (Width::B8, To::R64(_))
            )
        {
            return false;
        }
        self.try_row(env, to).is_some()
    }

    #[inline(always)]
    fn try_row<O: Observer>(&self, env: &mut Env<'_, O>, to: To) -> Option<()> {
        let shape: Shape = self.shape();
        let bytes = shape.bytes;
        let region = self.address.region;
        match region {
            Region::Generic | Region::Global => {
                let first = self.address.row(&env.regs, bytes)?;
                let found = env.global.find(first)?;
                // The last word may reach past the end.
                let len = found.bytes.min(usize::MAX as u64) as usize;
                let at = within(first - found.base, bytes * LANES as u32, 8, len)? / 8;
                let words = &found.words[at..];
                match to {
                    To::R32 { reg, .. } => {
                        let to = env.regs.r32[reg.0 as usize].chunks_exact_mut(2);
                        for (pair, word) in to.zip(&words[..LANES / 2]) {
                            let word = word.load(Ordering::Relaxed);
                            pair[0] = word as u32;
                            pair[1] = (word >> 32) as u32;
                        }
                    }
                    To::R64(reg) => {
                        let to = env.regs.r64[reg.0 as usize].iter_mut();
                        for (to, word) in to.zip(&words[..LANES]) {
                            *to = word.load(Ordering::Relaxed);
                        }
                    }
                    To::Nowhere => return None,
                }
                observe(env, Region::Global, &addresses(first, bytes), ALL, shape);
            }
            Region::Shared => {
                let first = self.address.row(&env.regs, bytes)?;
                let whole = bytes * LANES as u32;
                let at = within(first, whole, u64::from(bytes), env.shared.len())?;
                let from = &env.shared[at..][..whole as usize];
                match to {
                    To::R32 { reg, .. } => {
                        let from = from.as_chunks::<4>().0;
                        for (to, from) in env.regs.r32[reg.0 as usize].iter_mut().zip(from) {
                            *to = u32::from_le_bytes(*from);
                        }
                    }
                    To::R64(reg) => {
                        let from = from.as_chunks::<8>().0;
                        for (to, from) in env.regs.r64[reg.0 as usize].iter_mut().zip(from) {
                            *to = u64::from_le_bytes(*from);
                        }
                    }
                    To::Nowhere => return None,
                }
                observe(env, region, &addresses(first, bytes), ALL, shape);
            }
            Region::Local | Region::FrameParam => {
                let To::R32 { reg, .. } = to else { return None };
                let first = self.address.row(&env.regs, 0)?;
                let at = within(first, bytes, 4, env.local.len() as usize)?;
                env.regs.r32[reg.0 as usize] = *env.local.words(at as u32);
                observe(env, region, &[first; LANES], ALL, shape);
            }
            Region::Const | Region::Param => {
                let first = self.address.row(&env.regs, 0)?;
                let memory = match region {
                    Region::Const => env.constants,
                    _ => env.params,
                };
                let at = within(first, bytes, u64::from(bytes), memory.len())?;
                match to {
                    To::R32 { reg, .. } => {
                        let value = u32::from_le_bytes(*memory[at..].first_chunk()?);
                        env.regs.r32[reg.0 as usize] = [value; LANES];
                    }
                    To::R64(reg) => {
                        let value = u64::from_le_bytes(*memory[at..].first_chunk()?);
                        env.regs.r64[reg.0 as usize] = [value; LANES];
                    }
                    To::Nowhere => return None,
                }
                observe(env, region, &[first; LANES], ALL, shape);
            }
        }
        Some(())
    }
}

impl Store {
    /// Stores the whole warp.
    #[inline(always)]
    pub(super) fn row<O: Observer>(&self, env: &mut Env<'_, O>) -> bool {
        let [from] = self.from[..] else { return false };
        if self.strong
            || !matches!(
                (self.width, from),
                (Width::B4, Reg::R32(_)) | (Width::B8, Reg::R64(_))
            )
        {
            return false;
        }
        self.try_row(env, from).is_some()
    }

    #[inline(always)]
    fn try_row<O: Observer>(&self, env: &mut Env<'_, O>, from: Reg) -> Option<()> {
        let shape: Shape = self.shape();
        let bytes = shape.bytes;
        let region = self.address.region;
        match region {
            Region::Generic | Region::Global => {
                let first = self.address.row(&env.regs, bytes)?;
                let found = env.global.find(first)?;
                let len = found.bytes.min(usize::MAX as u64) as usize;
                let at = within(first - found.base, bytes * LANES as u32, 8, len)? / 8;
                let words = &found.words[at..];
                match from {
                    Reg::R32(reg) => {
                        let from = env.regs.get32(reg).as_chunks::<2>().0;
                        for ([low, high], word) in from.iter().zip(&words[..LANES / 2]) {
                            let value = u64::from(*low) | u64::from(*high) << 32;
                            word.store(value, Ordering::Relaxed);
                        }
                    }
                    Reg::R64(reg) => {
                        for (from, word) in env.regs.get64(reg).iter().zip(&words[..LANES]) {
                            word.store(*from, Ordering::Relaxed);
                        }
                    }
                    Reg::Pred(_) => return None,
                }
                observe(env, Region::Global, &addresses(first, bytes), ALL, shape);
            }
            Region::Shared => {
                let first = self.address.row(&env.regs, bytes)?;
                let whole = bytes * LANES as u32;
                let at = within(first, whole, u64::from(bytes), env.shared.len())?;
                let to = &mut env.shared[at..][..whole as usize];
                match from {
                    Reg::R32(reg) => {
                        let to = to.as_chunks_mut::<4>().0;
                        for (to, from) in to.iter_mut().zip(env.regs.get32(reg)) {
                            *to = from.to_le_bytes();
                        }
                    }
                    Reg::R64(reg) => {
                        let to = to.as_chunks_mut::<8>().0;
                        for (to, from) in to.iter_mut().zip(env.regs.get64(reg)) {
                            *to = from.to_le_bytes();
                        }
                    }
                    Reg::Pred(_) => return None,
                }
                observe(env, region, &addresses(first, bytes), ALL, shape);
            }
            Region::Local | Region::FrameParam => {
                let Reg::R32(reg) = from else { return None };
                let first = self.address.row(&env.regs, 0)?;
                let at = within(first, bytes, 4, env.local.len() as usize)?;
                *env.local.words_mut(at as u32) = *env.regs.get32(reg);
                observe(env, region, &[first; LANES], ALL, shape);
            }
            Region::Const | Region::Param => return None,
        }
        Some(())
    }
}
