//! Counters: the metrics that Nsight Compute would show for a launch, and the PTX instructions that the launch
//! executed.
//!
//! Metrics of memory traffic follow the hardware's rules and use Nsight Compute's names. They count the accesses in the
//! PTX. If `ptxas` does not change a kernel's loads and stores, the requests, sectors and bytes equal those of a GPU.
//! The number of wavefronts is what a GPU would count if its warps never contended. Instructions and branches are
//! counted in the PTX, which `ptxas` translates into different instructions.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let module = simt::Module::from_ptx(
//!     ".version 8.0
//!      .target sm_80
//!      .address_size 64
//!      .entry every_other(.param .u64 p)
//!      {
//!          .reg .b32 %r<2>;
//!          .reg .b64 %rd<4>;
//!          ld.param.u64 %rd1, [p];
//!          mov.u32 %r1, %tid.x;
//!          mul.wide.u32 %rd2, %r1, 8;
//!          add.s64 %rd3, %rd1, %rd2;
//!          st.global.u32 [%rd3], %r1;
//!          ret;
//!      }",
//! )?;
//! let kernel = module.function("every_other")?;
//! let mut simulator = simt::Simulator::new(simt::Config::default())?;
//! let buffer = simulator.zeroed::<u64>(64)?;
//! let counters = simulator.launch_counted(&simt::Launch::new(&kernel, [1, 1, 1], [64, 1, 1], &[buffer.into()]))?;
//! let get = |name| counters.get(name).and_then(simt::counters::Value::number);
//! // Two warps, each with one store to 32 words over 256 bytes: half of every sector is written.
//! assert_eq!(get("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), Some(2.0));
//! assert_eq!(get("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"), Some(8.0));
//! assert_eq!(get("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"), Some(50.0));
//! # Ok(())
//! # }
//! ```

mod metrics;
mod sites;

use std::collections::HashMap;
use std::sync::Arc;

use ptx::ast::Space;
use simt_isa::Class;

use crate::code::{Op, Program};
use crate::host_simd::{self, HostSimd};
use crate::module::Function;
use crate::observe::{Access, AccessKind, BarrierArrival, Observer, Site, WarpId};
use crate::run::{Launch, LaunchError, Simulator};
use crate::traffic;

pub use crate::traffic::{BankWord, Banks, SECTOR};
pub use metrics::{Definition, METRICS, Metric, Value};
pub use sites::SiteCounters;

/// An [`Observer`] that counts the work of a launch. [`Counters::metrics`] returns all [`Metric`]s, and
/// [`Counters::get`] returns the value of one metric by name.
#[derive(Debug, Clone)]
pub struct Counters {
    program: Arc<Program>,
    /// The index in `executed` of each function's first instruction.
    bases: Arc<[usize]>,
    /// For each instruction, the difference between its count and that of the previous instruction. Counting a run of
    /// instructions therefore takes two additions, regardless of the run's length. Each function has one additional
    /// entry for the end of its last run.
    executed: Vec<Executed>,
    /// For each instruction, the number of executions as a divergent branch.
    divergent: Vec<u64>,
    events: Events,
    banks: Banks,
    simd: &'static HostSimd,
}

/// Differences from the previous instruction's counts: the sum of the differences up to an instruction is the
/// instruction's count.
#[derive(Debug, Clone, Copy, Default)]
struct Executed {
    warps: u64,
    threads: u64,
}

/// Sums over all instructions.
#[derive(Debug, Clone, Copy, Default)]
struct Events {
    blocks: u64,
    warps: u64,
    barriers: u64,
    global: [Traffic; KINDS],
    shared: [SharedTraffic; KINDS],
    local: [Traffic; KINDS],
}

/// The number of variants of [`AccessKind`].
const KINDS: usize = 5;

#[derive(Debug, Clone, Copy, Default)]
struct Traffic {
    requests: u64,
    sectors: u64,
    bytes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct SharedTraffic {
    wavefronts: u64,
    /// The number of those `wavefronts` that `ldmatrix` and `stmatrix` cause.
    of_matrices: u64,
    ideal: u64,
}

/// The sums from which metrics are computed.
#[derive(Debug, Clone, Default)]
struct Totals {
    events: Events,
    warp_instructions: u64,
    thread_instructions: u64,
    /// The number of warp instructions of each class.
    classes: HashMap<Class, u64>,
    /// The number of executed branches with more than one target.
    branches: u64,
    divergent: u64,
}

impl Totals {
    fn class(&self, class: Class) -> u64 {
        self.classes.get(&class).copied().unwrap_or(0)
    }

    fn global(&self, kind: AccessKind) -> Traffic {
        self.events.global[kind as usize]
    }

    fn shared(&self, kind: AccessKind) -> SharedTraffic {
        self.events.shared[kind as usize]
    }

    fn local(&self, kind: AccessKind) -> Traffic {
        self.events.local[kind as usize]
    }
}

/// Returns the wavefronts of an access to shared memory by the instruction at `site`. `banks` is a buffer for the
/// words.
pub fn shared_wavefronts(program: &Program, site: Site, access: &Access<'_>, banks: &mut Banks) -> u64 {
    host_simd::best().shared_access(program, site, access, banks).wavefronts
}

impl Counters {
    /// Creates counters for launches of `function`, all zero.
    pub fn new(function: &Function) -> Self {
        let program = function.program.clone();
        let mut bases = Vec::with_capacity(program.functions.len());
        let mut slots = 0;
        for func in &program.functions {
            bases.push(slots);
            slots += func.code.len() + 1;
        }
        Self {
            program,
            bases: bases.into(),
            executed: vec![Executed::default(); slots],
            divergent: vec![0; slots],
            events: Events::default(),
            banks: Banks::default(),
            simd: host_simd::best(),
        }
    }

    /// Creates counters for each supported instruction set of the host, for tests.
    #[doc(hidden)]
    pub fn of_each_instruction_set(function: &Function) -> Vec<Self> {
        host_simd::versions().iter().map(|simd| Self { simd, ..Self::new(function) }).collect()
    }

    /// Returns every metric, in the order of [`METRICS`].
    pub fn metrics(&self) -> Vec<Metric> {
        let totals = self.totals();
        METRICS.iter().map(|definition| definition.of(&totals)).collect()
    }

    /// Returns a metric by name; `None` if no metric has that name.
    pub fn get(&self, name: &str) -> Option<Value> {
        let definition = METRICS.iter().find(|definition| definition.name == name)?;
        Some(definition.of(&self.totals()).value)
    }

    /// Returns how often an instruction was executed by warps and by threads. Active threads count even if the guard
    /// disables them. Returns `None` if the program has no such instruction.
    pub fn executed_at(&self, site: Site) -> Option<(u64, u64)> {
        let function = site.function as usize;
        let func = self.program.functions.get(function)?;
        let pc = site.pc as usize;
        (pc < func.code.len()).then(|| {
            let base = self.bases[function];
            let mut sum = Executed::default();
            for slot in &self.executed[base..=base + pc] {
                sum.add(slot);
            }
            (sum.warps, sum.threads)
        })
    }

    /// Returns the words that each wavefront of an access to shared memory transfers, in order. The number of entries
    /// is the number of wavefronts that this access adds to the metrics. The hardware's order within a bank is not
    /// known; here, each bank serves its words in lane order.
    pub fn wavefronts(&self, site: Site, access: &Access<'_>) -> Vec<Vec<BankWord>> {
        traffic::wavefronts(access, self.program.is_counting_atomic(site))
    }

    fn slot(&self, site: Site) -> usize {
        self.bases[site.function as usize] + site.pc as usize
    }

    fn totals(&self) -> Totals {
        self.totals_of(self.events, |_| true)
    }

    /// Returns the totals over the instructions for which `is_counted` is true. `events` contains the sums that are
    /// already known.
    fn totals_of(&self, events: Events, is_counted: impl Fn(Site) -> bool) -> Totals {
        let mut totals = Totals { events, ..Totals::default() };
        for (function, (func, base)) in self.program.functions.iter().zip(self.bases.iter()).enumerate() {
            let mut sum = Executed::default();
            for (pc, inst) in func.code.iter().enumerate() {
                sum.add(&self.executed[base + pc]);
                if !is_counted(Site { function: function as u32, pc: pc as u32 }) {
                    continue;
                }
                totals.divergent += self.divergent[base + pc];
                totals.warp_instructions += sum.warps;
                totals.thread_instructions += sum.threads;
                *totals.classes.entry(func.origins[pc].class).or_default() += sum.warps;
                let chooses = match &inst.op {
                    Op::Branch { .. } => inst.guard.is_some(),
                    Op::BranchIndexed { .. } => true,
                    _ => false,
                };
                if chooses {
                    totals.branches += sum.warps;
                }
            }
        }
        totals
    }
}

impl Simulator {
    /// Runs a kernel to completion and counts its work: [`Simulator::launch_observed`] with [`Counters`].
    ///
    /// # Errors
    /// Returns a [`LaunchError`] when the geometry or the arguments do not match the kernel, when there is no memory
    /// for a variable of the module, or when the kernel faults: see [`Simulator::launch`].
    pub fn launch_counted(&mut self, launch: &Launch<'_>) -> Result<Counters, LaunchError> {
        // This function is not generic, so it is compiled with the optimization level of this crate instead of the
        // caller's.
        self.launch_observed(launch, Counters::new(launch.function))
    }
}

impl Executed {
    fn add(&mut self, other: &Self) {
        self.warps = self.warps.wrapping_add(other.warps);
        self.threads = self.threads.wrapping_add(other.threads);
    }
}

impl Observer for Counters {
    fn fork(&self) -> Self {
        let mut counters = self.clone();
        counters.executed.fill(Executed::default());
        counters.divergent.fill(0);
        counters.events = Events::default();
        counters
    }

    fn merge(&mut self, other: Self) {
        for (sum, added) in self.executed.iter_mut().zip(&other.executed) {
            sum.add(added);
        }
        for (sum, added) in self.divergent.iter_mut().zip(&other.divergent) {
            *sum += added;
        }
        self.events.add(&other.events);
    }

    #[inline(always)]
    fn executed(&mut self, first: Site, count: u32, active: u32) {
        let slot = self.slot(first);
        let threads = u64::from(active.count_ones());
        let begin = &mut self.executed[slot];
        begin.warps = begin.warps.wrapping_add(1);
        begin.threads = begin.threads.wrapping_add(threads);
        let end = &mut self.executed[slot + count as usize];
        end.warps = end.warps.wrapping_sub(1);
        end.threads = end.threads.wrapping_sub(threads);
    }

    #[inline(always)]
    fn branch(&mut self, site: Site, active: u32, taken: u32) {
        if taken != active && taken != 0 {
            let slot = self.slot(site);
            self.divergent[slot] += 1;
        }
    }

    #[inline]
    fn access(&mut self, site: Site, _warp_id: WarpId, access: &Access<'_>) {
        let Access { space, kind, bytes, mask, addresses, patterns, .. } = *access;
        if mask == 0 {
            return;
        }
        match space {
            Space::Global => {
                let traffic = &mut self.events.global[kind as usize];
                traffic.requests += 1;
                if matches!(kind, AccessKind::Atomic | AccessKind::Reduction) {
                    traffic.sectors += traffic::atomic_sectors(mask, addresses);
                } else {
                    let global = patterns.and_then(|patterns| traffic::global_of(patterns, bytes, addresses));
                    let global = global.unwrap_or_else(|| (self.simd.global_traffic)(bytes, mask, addresses));
                    traffic.sectors += global.sectors;
                    traffic.bytes += global.bytes;
                }
            }
            Space::Shared => {
                let banks = &mut self.banks;
                let shared = self.simd.shared_access(&self.program, site, access, banks);
                let traffic = &mut self.events.shared[kind as usize];
                traffic.wavefronts += shared.wavefronts;
                if self.program.moves_matrix_rows(site) {
                    traffic.of_matrices += shared.wavefronts;
                }
                traffic.ideal += shared.ideal;
            }
            Space::Local => {
                let (requests, sectors) = traffic::local(bytes, mask, addresses);
                let traffic = &mut self.events.local[kind as usize];
                traffic.requests += requests;
                traffic.sectors += sectors;
            }
            Space::Const | Space::Param | Space::Reg | Space::Tex => {}
        }
    }

    #[inline]
    fn barrier(&mut self, _arrival: &BarrierArrival) {
        self.events.barriers += 1;
    }

    fn block(&mut self, _block: u64, warps: u32, _threads: u32) {
        self.events.blocks += 1;
        self.events.warps += u64::from(warps);
    }
}

impl Events {
    fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.warps += other.warps;
        self.barriers += other.barriers;
        let traffic = self.global.iter_mut().chain(&mut self.local);
        for (sum, added) in traffic.zip(other.global.iter().chain(&other.local)) {
            sum.requests += added.requests;
            sum.sectors += added.sectors;
            sum.bytes += added.bytes;
        }
        for (sum, added) in self.shared.iter_mut().zip(&other.shared) {
            sum.wavefronts += added.wavefronts;
            sum.of_matrices += added.of_matrices;
            sum.ideal += added.ideal;
        }
    }
}
