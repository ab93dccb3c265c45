//! The hot parts of the simulator, compiled once for any CPU and once for CPUs with AVX2: instructions on registers,
//! loads and stores, matrix products, and the counting of memory traffic.
//!
//! The bodies of these functions are `#[inline(always)]` functions in other modules. The bodies are inlined into the
//! functions of this module, which are compiled with the features of the instruction set. None of these functions
//! depends on the observer of a launch, so they are compiled with this crate rather than with the crates that use it.

use std::sync::LazyLock;

use crate::alu::{Alu, compare, convert, float, int, logic};
use crate::code::{Inst, Op, Program};
use crate::matrix::multiply::{AddProduct, Product};
use crate::memory::load_store::{Load, Store};
use crate::memory::{AccessFault, Env, Memory, MemoryOp, PackedOutcome};
use crate::observe::{Access, AccessKind, Site};
use crate::regs::{ALL, Lanes64, Regs};
use crate::traffic::{self, Banks, Global, Shared};
use crate::vectors::Portable;

/// Runs register-only instructions from the start of `code`, and stops at the first instruction of any other kind.
/// Returns the number of executed instructions.
type Run = fn(code: &[Inst], regs: &mut Regs<'_>, mask: u32) -> usize;

/// Runs a load or a store on the lanes of a nonempty mask. Stores the addresses for the observer or, if the access
/// faults, the fault in [`Env`].
type Transfer<T> = fn(&T, &mut Env<'_, '_>, u32, &mut Lanes64) -> PackedOutcome;

/// Runs register-only instructions, loads and stores. Calls a function with each access and the number of instructions
/// executed before it.
type RunAccesses = fn(&[Inst], &mut Env<'_, '_>, u32, &mut Lanes64, &mut dyn FnMut(usize, &Access<'_>)) -> usize;

/// The functions compiled for one instruction set of the host.
#[derive(Debug)]
pub(crate) struct HostSimd {
    /// Runs register-only instructions.
    pub(crate) run_alu: Run,
    /// Runs register-only instructions, loads and stores, and returns the number of executed instructions. Stops before
    /// any other instruction, and before a load or store that faults or whose addresses are in several state spaces.
    pub(crate) run_unobserved: fn(&[Inst], &mut Env<'_, '_>, u32, &mut Lanes64) -> usize,
    /// Does the same as `run_unobserved`, and also calls a function with each access.
    pub(crate) run_accesses: RunAccesses,
    pub(crate) load: Transfer<Load>,
    pub(crate) store: Transfer<Store>,
    /// Computes the cost of a load or store in global memory from the bytes per lane, the lane mask, and the addresses.
    pub(crate) global_traffic: fn(u32, u32, &Lanes64) -> Global,
    /// Computes the cost of an access to shared memory. The first argument tells whether the access is a store; the
    /// remaining arguments are the same as for global memory.
    pub(crate) shared_traffic: fn(bool, u32, u32, &Lanes64, &mut Banks) -> Shared,
    pub(crate) add_product: AddProduct,
}

/// Generates a module with the functions for one instruction set. Each family of instructions is a separate function,
/// because a single function for all families would take minutes to compile.
macro_rules! version {
    ($name:ident, $vectors:expr $(, #[$features:meta])?) => {
        mod $name {
            use super::*;

            version!(@family int(int::Int) $(, #[$features])?);
            version!(@family logic(logic::Logic) $(, #[$features])?);
            version!(@family float(float::Float) $(, #[$features])?);
            version!(@family convert(convert::Convert) $(, #[$features])?);
            version!(@family compare(compare::Compare) $(, #[$features])?);
            version!(@transfer load(Load, $vectors) $(, #[$features])?);
            version!(@transfer store(Store, $vectors) $(, #[$features])?);

            $(#[$features])?
            pub(super) fn global(bytes: u32, mask: u32, at: &Lanes64) -> Global {
                traffic::global($vectors, bytes, mask, at)
            }

            $(#[$features])?
            pub(super) fn shared(
                store: bool,
                bytes: u32,
                mask: u32,
                at: &Lanes64,
                banks: &mut Banks,
            ) -> Shared {
                traffic::shared($vectors, store, bytes, mask, at, banks)
            }

            $(#[$features])?
            pub(super) fn add_product(product: &Product, a: &[u64], b: &[u64], c: &mut [u64], chosen: Option<&[u16]>) {
                product.add(a, b, c, chosen);
            }

            $(#[$features])?
            #[inline]
            fn one(alu: &Alu, regs: &mut Regs<'_>, mask: u32) {
                // The most frequent instructions are inlined into the loops, because a call would double their cost.
                match alu {
                    Alu::Int(op) if mask == ALL && op.fast_path(regs) => {}
                    Alu::Logic(op) if mask == ALL && op.fast_path(regs) => {}
                    Alu::Float(op) if mask == ALL && op.fast_path(regs) => {}
                    Alu::Convert(op) if mask == ALL && op.fast_path(regs) => {}
                    Alu::Int(op) => int(op, regs, mask),
                    Alu::Logic(op) => logic(op, regs, mask),
                    Alu::Float(op) => float(op, regs, mask),
                    Alu::Convert(op) => convert(op, regs, mask),
                    Alu::Compare(op) => compare(op, regs, mask),
                    Alu::Video(op) => op.execute(regs, mask),
                }
            }

            $(#[$features])?
            pub(super) fn run_alu(code: &[Inst], regs: &mut Regs<'_>, mask: u32) -> usize {
                for (count, inst) in code.iter().enumerate() {
                    let Op::Alu(alu) = &inst.op else { return count };
                    let mask = regs.guarded(inst.guard, mask);
                    if mask != 0 {
                        one(alu, regs, mask);
                    }
                }
                code.len()
            }

            $(#[$features])?
            pub(super) fn run_unobserved(
                code: &[Inst],
                env: &mut Env<'_, '_>,
                mask: u32,
                at: &mut Lanes64,
            ) -> usize {
                run(code, env, mask, at, |_, _| {})
            }

            $(#[$features])?
            pub(super) fn run_accesses(
                code: &[Inst],
                env: &mut Env<'_, '_>,
                mask: u32,
                at: &mut Lanes64,
                observe: &mut dyn FnMut(usize, &Access<'_>),
            ) -> usize {
                run(code, env, mask, at, observe)
            }

            $(#[$features])?
            #[inline]
            fn run(
                code: &[Inst],
                env: &mut Env<'_, '_>,
                mask: u32,
                at: &mut Lanes64,
                mut observe: impl FnMut(usize, &Access<'_>),
            ) -> usize {
                for (count, inst) in code.iter().enumerate() {
                    let mask = env.regs.guarded(inst.guard, mask);
                    let (outcome, shape) = match &inst.op {
                        Op::Alu(_) | Op::Memory(Memory::Load(_) | Memory::Store(_)) if mask == 0 => continue,
                        Op::Alu(alu) => {
                            one(alu, &mut env.regs, mask);
                            continue;
                        }
                        Op::Memory(Memory::Load(op)) => (load(op, env, mask, at), op.shape()),
                        Op::Memory(Memory::Store(op)) => (store(op, env, mask, at), op.shape()),
                        _ => return count,
                    };
                    let Some((region, patterns)) = outcome.done() else { return count };
                    observe(count, &shape.access(region, mask, at, patterns));
                }
                code.len()
            }
        }
    };
    (@family $family:ident($op:ty) $(, #[$features:meta])?) => {
        $(#[$features])?
        #[inline(never)]
        fn $family(op: &$op, regs: &mut Regs<'_>, mask: u32) {
            op.execute(regs, mask);
        }
    };
    (@transfer $transfer:ident($op:ty, $vectors:expr) $(, #[$features:meta])?) => {
        $(#[$features])?
        pub(super) fn $transfer(
            op: &$op,
            env: &mut Env<'_, '_>,
            mask: u32,
            at: &mut Lanes64,
        ) -> PackedOutcome {
            match op.execute($vectors, env, mask, at) {
                Ok(outcome) => PackedOutcome::of(outcome),
                Err(fault) => {
                    env.fault = Some(fault);
                    PackedOutcome::FAULT
                }
            }
        }
    };
}

version!(portable, Portable);
#[cfg(target_arch = "x86_64")]
version!(with_avx2, crate::vectors::Avx2::new(), #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,popcnt")]);

/// Returns the versions that this CPU can run; the best version is last.
pub(crate) fn versions() -> &'static [HostSimd] {
    static VERSIONS: LazyLock<Vec<HostSimd>> = LazyLock::new(|| {
        #[allow(unused_mut, reason = "other CPUs have only this version")]
        let mut versions = vec![HostSimd {
            run_alu: portable::run_alu,
            run_unobserved: portable::run_unobserved,
            run_accesses: portable::run_accesses,
            load: portable::load,
            store: portable::store,
            global_traffic: portable::global,
            shared_traffic: portable::shared,
            add_product: portable::add_product,
        }];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
        {
            versions.push(HostSimd {
                // SAFETY: the `is_x86_feature_detected!` checks above confirmed all target features of `with_avx2`.
                run_alu: |code, regs, mask| unsafe { with_avx2::run_alu(code, regs, mask) },
                // SAFETY: the `is_x86_feature_detected!` checks above confirmed all target features of `with_avx2`.
                run_unobserved: |code, env, mask, at| unsafe { with_avx2::run_unobserved(code, env, mask, at) },
                run_accesses: |code, env, mask, at, observe| {
                    // SAFETY: the `is_x86_feature_detected!` checks above confirmed all target features of `with_avx2`.
                    unsafe { with_avx2::run_accesses(code, env, mask, at, observe) }
                },
                // SAFETY: the `is_x86_feature_detected!` checks above confirmed all target features of `with_avx2`.
                load: |op, env, mask, at| unsafe { with_avx2::load(op, env, mask, at) },
                // SAFETY: the `is_x86_feature_detected!` checks above confirmed all target features of `with_avx2`.
                store: |op, env, mask, at| unsafe { with_avx2::store(op, env, mask, at) },
                // SAFETY: the `is_x86_feature_detected!` checks above confirmed all target features of `with_avx2`.
                global_traffic: |bytes, mask, at| unsafe { with_avx2::global(bytes, mask, at) },
                shared_traffic: |store, bytes, mask, at, banks| {
                    // SAFETY: the `is_x86_feature_detected!` checks above confirmed all target features of `with_avx2`.
                    unsafe { with_avx2::shared(store, bytes, mask, at, banks) }
                },
                // SAFETY: the `is_x86_feature_detected!` checks above confirmed all target features of `with_avx2`.
                add_product: |product, a, b, c, chosen| unsafe { with_avx2::add_product(product, a, b, c, chosen) },
            });
        }
        versions
    });
    &VERSIONS
}

/// Returns the best version for this CPU.
pub(crate) fn best() -> &'static HostSimd {
    versions().last().expect("the portable version is always available")
}

/// Executes an [`Alu`] instruction on the lanes of `mask` in which its guard is true; other instructions are ignored.
pub fn execute_alu(inst: &Inst, regs: &mut Regs<'_>, mask: u32) {
    (best().run_alu)(std::slice::from_ref(inst), regs, mask);
}

impl HostSimd {
    /// Runs a memory instruction on the lanes of `mask`, which must not be empty, and reports its accesses to
    /// `observe`. `at` is scratch space for addresses.
    ///
    /// # Errors
    /// Returns an [`AccessFault`] when a lane's address is misaligned or out of bounds, or when a lane writes to a
    /// read-only state space. The returned fault is that of the lowest such lane. If there is a fault, no lane has
    /// accessed memory.
    #[inline(always)]
    pub(crate) fn run_memory(
        &self,
        op: &Memory,
        env: &mut Env<'_, '_>,
        mask: u32,
        at: &mut Lanes64,
        mut observe: impl FnMut(&Access<'_>),
    ) -> Result<(), AccessFault> {
        let (outcome, shape) = match op {
            Memory::Load(op) => ((self.load)(op, env, mask, at), op.shape()),
            Memory::Store(op) => ((self.store)(op, env, mask, at), op.shape()),
            Memory::Address(op) => {
                op.execute(&mut env.regs, env.cluster, mask);
                return Ok(());
            }
            _ => return op.execute_slow_path(env, mask, at, &mut observe),
        };
        match outcome.done() {
            Some((region, patterns)) => {
                observe(&shape.access(region, mask, at, patterns));
                Ok(())
            }
            None if outcome == PackedOutcome::FAULT => {
                Err(env.fault.take().expect("the failed access stored its fault"))
            }
            None => op.execute_slow_path(env, mask, at, &mut observe),
        }
    }

    /// Returns the cost of an access to shared memory by the instruction at `site`. `banks` is scratch space for words.
    #[inline]
    pub(crate) fn shared_access(
        &self,
        program: &Program,
        site: Site,
        access: &Access<'_>,
        banks: &mut Banks,
    ) -> Shared {
        let (bytes, mask, addresses) = (access.bytes, access.mask, access.addresses);
        match access.kind {
            AccessKind::Atomic | AccessKind::Reduction => {
                let only_counts = program.is_counting_atomic(site);
                traffic::shared_atomic(only_counts, bytes, mask, addresses, banks)
            }
            AccessKind::Load | AccessKind::Store
                if let Some(shared) =
                    access.patterns.and_then(|patterns| traffic::shared_of(patterns, bytes, addresses)) =>
            {
                shared
            }
            AccessKind::Load => (self.shared_traffic)(false, bytes, mask, addresses, banks),
            AccessKind::Store | AccessKind::AsyncCopy => (self.shared_traffic)(true, bytes, mask, addresses, banks),
        }
    }
}
