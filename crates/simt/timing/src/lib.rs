//! The critical path of a launch: the time of a block that runs alone on a multiprocessor, and the resources that the
//! block uses (issue slots, wavefronts, and traffic beyond the L1).
//!
//! [`CriticalPath`] is an [`Observer`](simt::observe::Observer). It keeps a clock for each warp of a block. An
//! instruction begins when the previous one has been issued and the registers that it reads are available. The
//! registers that it writes are available after its [latency](devices::Latencies). Warps that wait at a barrier
//! continue when the last warp arrives. A block's time is the time of its slowest warp: the *critical path*. In the
//! critical path, overlapping loads of a thread count once.
//!
//! The critical path excludes contention between warps and blocks, which a model of a whole device adds. The exceptions
//! are the tensor cores and the units for bulk copies. These units work independently of the warps, and each executes
//! one operation at a time.
//!
//! The critical path also excludes waits for other blocks. A warp that polls a word counts as if its first poll had
//! succeeded, because the number of polls depends on the simulator's schedule. [`ResourceUse::waits`] is the length of
//! the chains of such waits.
//!
//! Registers and opcodes are those of the PTX. `ptxas` generates several instructions for some PTX instructions, such
//! as a division, and none for others, such as most `mov` and `cvta`. [`Cost`] contains the number of issued
//! instructions.

mod accesses;
mod asynchronous;
mod booked;
mod cost;
mod instruction;
mod log;
mod observer;
mod resource_use;
mod steps;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use devices::{Latencies, Rates};
use rustc_hash::FxHashSet;
use simt::counters::{Banks, SECTOR};
use simt::observe::Site;
use simt::{Function, Launch, LaunchError, Simulator};

use asynchronous::{BulkCopyTraffic, Units};
pub use cost::{Cost, Pipe};
use cost::{Kind, Step, UNROLLED};
use log::Log;
pub use log::{Activity, Span};
pub use resource_use::ResourceUse;

/// The number of bytes of a cache line, for which the L1 looks up one tag.
const LINE: u64 = 128;

/// The number of cycles for each further word that lanes of a warp read from the constant bank (measured with
/// `constant_divergent` on an H100).
pub const CONSTANT_CYCLES: u64 = 2;

/// An observer that keeps a clock for each warp and sums the resources that warps use.
#[derive(Debug, Clone)]
pub struct CriticalPath {
    function: Function,
    steps: Arc<[Vec<Step>]>,
    /// The number of registers of all functions together. Register numbers are unique across functions.
    registers: usize,
    latencies: Latencies,
    rates: Rates,
    /// Whether all blocks run at once.
    at_once: bool,
    l1_sectors: usize,
    ranges: Arc<[(u64, u64)]>,
    sums: ResourceUse,
    block: Block,
    /// A buffer for the words of an access to shared memory.
    banks: Banks,
    /// The activities of one block's warps, if requested.
    log: Option<Log>,
    /// The words that blocks have written for other blocks, by address.
    published: Arc<Mutex<HashMap<u64, Published>>>,
}

/// A word in global memory that was written by an atomic operation or by a store that other blocks may poll.
#[derive(Debug, Clone, Copy)]
struct Published {
    /// The block that wrote the word; `None` if several blocks did.
    block: Option<u64>,
    /// The longest chain of waits that ended in a block before that block wrote the word.
    waits: u64,
}

/// A set of sector numbers.
type Sectors = FxHashSet<u64>;

/// Two times in cycles since the start of the block. The first assumes that the L2 serves loads that miss the L1, the
/// second that memory serves them.
type Times = [u64; 2];

/// The current block.
#[derive(Debug, Clone, Default)]
struct Block {
    number: u64,
    /// The longest chain of waits that has ended in the block.
    waits: u64,
    warps: Vec<Clock>,
    at: usize,
    /// The last arrival at each of the block's barriers since the barrier was released.
    barriers: HashMap<u32, Times>,
    /// The tensor cores and the units for bulk copies.
    units: Units,
    /// The last arrival at each mbarrier, by its address in shared memory. The blocks of a cluster are assumed to
    /// behave alike. An arrival at another block's mbarrier therefore counts as an arrival at this block's mbarrier.
    mbarriers: HashMap<u64, Times>,
    /// The mbarriers of bulk copies for which no warp has waited.
    copying: FxHashSet<u64>,
    /// Sectors that the L1 loaded recently.
    young: Sectors,
    /// Sectors that the L1 loaded earlier.
    old: Sectors,
    /// Sectors of stores.
    stored: Sectors,
    /// Sectors of all loads since the start of the block.
    loaded: Sectors,
    /// The last issued memory instruction, whose accesses may follow.
    pending: Option<Pending>,
}

#[derive(Debug, Clone, Default)]
struct Clock {
    /// The time at which the next instruction can be issued.
    next: Times,
    /// The time at which the value of each register is available.
    ready: Vec<Times>,
    /// The time at which the copies of each group have arrived; the last group is still open.
    groups: Vec<Times>,
    /// The barrier at which the warp waits.
    waits: Option<u32>,
    /// The number of groups of copies that the warp has waited for.
    waited: usize,
    /// The mbarrier that the warp polls, and the time of the first poll.
    polled_mbarrier: Option<(u64, Times)>,
    /// The last access to memory, if it was a load of a word that other blocks may write.
    poll: Option<Poll>,
    /// The number of rounds of loops that `ptxas` unrolls.
    rounds: u32,
    /// The end of the last instruction above which loads are not hoisted.
    loads_from: Times,
    /// The end time of each committed group of warpgroup products; `products` is the end time of the uncommitted ones.
    product_groups: Vec<Times>,
    products: Times,
    /// The earliest start time of the next products.
    products_from: Times,
    /// Whether the next product is the first of its group.
    group_begins: bool,
}

/// The first of several polls of the same word.
#[derive(Debug, Clone)]
struct Poll {
    site: Site,
    address: u64,
    begins: Times,
    latency: Times,
    /// The time at which the instruction after the poll could be issued.
    next: Times,
    /// The numbers of instructions issued before the second poll; `None` until that poll.
    issued: Option<[f64; Pipe::COUNT]>,
}

#[derive(Debug, Clone)]
struct Pending {
    site: Site,
    begins: Times,
    latency: Times,
    /// The data that a bulk copy moves.
    copied: Option<BulkCopyTraffic>,
}

impl CriticalPath {
    /// Creates an observer of launches of `function` in which each block has `l1_bytes` of L1. `ranges` are parts of
    /// memory that [`ResourceUse::read`] and [`ResourceUse::written`] count separately, each given as first address and
    /// number of bytes.
    pub fn new(function: &Function, latencies: Latencies, l1_bytes: u64, ranges: &[(u64, u64)]) -> Self {
        let (steps, registers) = steps::of_program(function);
        Self {
            function: function.clone(),
            steps: steps.into(),
            registers,
            latencies,
            rates: Rates::default(),
            at_once: false,
            l1_sectors: (l1_bytes / SECTOR).max(1) as usize,
            ranges: ranges.into(),
            sums: ResourceUse::of_ranges(ranges.len()),
            block: Block::default(),
            banks: Banks::default(),
            log: None,
            published: Arc::default(),
        }
    }

    /// Runs a kernel to its end and tracks its critical path.
    ///
    /// # Errors
    /// Returns the errors of [`Simulator::launch_observed`].
    pub fn launch(self, simulator: &mut Simulator, launch: &Launch<'_>) -> Result<Self, LaunchError> {
        // This function is not generic, so that it is compiled with this crate's optimization level and not the
        // caller's.
        simulator.launch_observed(launch, self)
    }

    /// Sets the rates of the tensor cores and of the units for bulk copies, so that the block waits for these units.
    #[must_use]
    pub fn with_rates(self, rates: Rates) -> Self {
        Self { rates, ..self }
    }

    /// Sets whether all blocks of the launch run at once. Data that several blocks copy then comes from memory for each
    /// of these blocks.
    #[must_use]
    pub fn with_concurrent_blocks(self, at_once: bool) -> Self {
        Self { at_once, ..self }
    }

    /// Records the activities of this block's warps for [`CriticalPath::spans`].
    #[must_use]
    pub fn with_spans_of(self, block: u64) -> Self {
        Self { log: Some(Log::new(block)), ..self }
    }

    /// Returns the spans of the block selected with [`CriticalPath::with_spans_of`]. The spans assume that memory
    /// serves loads that miss the L1. The spans of each warp are in order and without gaps.
    pub fn spans(&self) -> &[Span] {
        self.log.as_ref().map_or(&[], |log| &log.spans)
    }

    /// Returns the number of instructions that warps have issued.
    pub fn instructions(&self) -> u64 {
        self.sums.issued.iter().sum::<f64>() as u64
    }

    /// Returns the number of multiply-adds of matrix products, converted to `f16` multiply-adds of the same duration.
    pub fn products(&self) -> u64 {
        (self.sums.products + self.sums.warp_products) as u64
    }

    /// Returns the resources that the launch has used, from everything that the observer has seen.
    pub fn resource_use(mut self) -> ResourceUse {
        self.end_block();
        self.sums.hottest = self.sums.passes.values().copied().fold(0.0, f64::max);
        self.sums
    }

    fn end_block(&mut self) {
        self.end_pending();
        let longest = self.block.warps.iter().map(|warp| warp.next).fold([0; 2], later);
        for (sum, cycles) in self.sums.cycles.iter_mut().zip(longest) {
            *sum += cycles;
        }
        self.sums.longest = later(self.sums.longest, longest);
        self.sums.waits = self.sums.waits.max(self.block.waits);
        let stored = self.block.units.stored();
        self.sums.drain = self.sums.drain.max(stored[1].saturating_sub(longest[1]));
        let range = |sector: &u64| {
            let address = sector * SECTOR;
            let mut all = self.ranges.iter();
            all.position(|(base, bytes)| (*base..base + bytes.next_multiple_of(SECTOR)).contains(&address))
        };
        let Block { loaded, stored, .. } = &self.block;
        // The L2 fetches two sectors at once.
        for sector in loaded {
            let fetched = if loaded.contains(&(sector ^ 1)) { 1 } else { 2 };
            range(sector).into_iter().for_each(|range| self.sums.read[range] += fetched);
        }
        stored.iter().filter_map(range).for_each(|range| self.sums.written[range] += 1);
        self.block = Block::default();
    }

    /// Ends the last issued memory instruction.
    fn end_pending(&mut self) {
        let Some(mut pending) = self.block.pending.take() else {
            return;
        };
        if let Some(copied) = pending.copied.take() {
            pending.latency = self.end_copy(&copied, pending.begins);
        }
        let step = &self.steps[pending.site.function as usize][pending.site.pc as usize];
        let warp = &mut self.block.warps[self.block.at];
        let available = [0, 1].map(|served_by| pending.begins[served_by] + pending.latency[served_by]);
        if let Some(log) = self.log.as_mut().filter(|log| log.is_on) {
            log.memory_comes(self.block.at, &step.defs);
        }
        for def in &step.defs {
            warp.ready[*def as usize] = available;
        }
        if step.kind == Kind::AsyncCopy
            && let Some(open) = warp.groups.last_mut()
        {
            *open = later(*open, available);
        }
    }

    fn step(&mut self, site: Site, active: u32) {
        self.end_pending();
        let step = &self.steps[site.function as usize][site.pc as usize];
        let warp = &mut self.block.warps[self.block.at];
        if step.kind == Kind::Commit {
            let copy_groups_in_flight = warp.groups.len() - warp.waited.min(warp.groups.len());
            self.sums.copy_groups_in_flight = self.sums.copy_groups_in_flight.max(copy_groups_in_flight);
            warp.groups.push([0; 2]);
        }
        let waited = match step.kind {
            Kind::Wait(left) => warp.groups.len().saturating_sub(1 + left as usize),
            Kind::WaitAll => warp.groups.len(),
            _ => 0,
        };
        if step.leads && (!step.unrolled || warp.rounds.is_multiple_of(UNROLLED)) {
            warp.loads_from = warp.next;
        }
        warp.rounds = warp.rounds.wrapping_add(u32::from(step.unrolled));
        warp.waited = warp.waited.max(waited);
        let used = step.uses.iter().map(|used| warp.ready[*used as usize]);
        let mut begins = warp.groups[..waited].iter().copied().fold(used.fold(warp.next, later), later);
        let cost = &step.cost;
        begins = match step.kind {
            Kind::Product => {
                self.sums.warp_products += f64::from(cost.products);
                self.block.units.product(self.block.at, cost, &self.rates, begins)
            }
            Kind::GroupProduct => {
                self.sums.products += f64::from(cost.products);
                self.sums.engine_bytes += f64::from(cost.operands);
                let from = later(begins, warp.products_from);
                let first = std::mem::take(&mut warp.group_begins);
                let first = if first { self.latencies.wgmma_group } else { 0 };
                let ends = self.block.units.group_product(self.block.at, cost, &self.rates, (from, first));
                warp.products = later(warp.products, ends);
                begins
            }
            Kind::ProductFence => {
                warp.group_begins = true;
                if warp.products != [0; 2] {
                    warp.products_from = warp.products.map(|at| at + u64::from(self.latencies.wgmma));
                }
                begins
            }
            Kind::CommitProducts => {
                warp.product_groups.push(warp.products);
                begins
            }
            Kind::WaitProducts(left) => {
                let waited = warp.product_groups.len().saturating_sub(left as usize);
                match waited.checked_sub(1).map(|last| warp.product_groups[last]) {
                    Some(ends) if ends != [0; 2] => later(begins, ends.map(|at| at + u64::from(self.latencies.wgmma))),
                    _ => begins,
                }
            }
            _ => begins,
        };
        if let Some(log) = self.log.as_mut().filter(|log| log.is_on && cost.pipe != Pipe::None) {
            let late = step.uses.iter().max_by_key(|used| warp.ready[**used as usize][1]);
            let late = late.filter(|used| warp.ready[**used as usize][1] == begins[1]);
            let waits = match (step.kind, late) {
                (Kind::WaitProducts(_), _) | (Kind::Product, None) => Activity::WaitsForProducts,
                (_, Some(used)) => log.produced(self.block.at, *used),
                // The instruction waits for asynchronous copies.
                (_, None) => Activity::WaitsForMemory,
            };
            let issued = begins[1] + cost.issued.round() as u64;
            log.issued(self.block.at, active, (warp.next[1], begins[1], issued), waits);
        }
        self.sums.issued[cost.pipe as usize] += f64::from(cost.issued);
        // An instruction that is issued in several parts occupies the warp for one cycle per part. An instruction for
        // which nothing is issued waits for no register.
        if cost.pipe != Pipe::None {
            warp.next = begins.map(|at| at + cost.issued.round() as u64);
        }
        if step.holds {
            warp.loads_from = warp.next;
        }
        let latency = u64::from(cost.latency(&self.latencies));
        if step.moves {
            // A hoisted instruction begins when its address is available.
            let used = step.uses.iter().map(|used| warp.ready[*used as usize]);
            begins = used.fold(warp.loads_from, later);
        }
        if step.kind.is_memory() {
            self.block.pending = Some(Pending { site, begins, latency: [latency; 2], copied: None });
        } else {
            for def in &step.defs {
                warp.ready[*def as usize] = begins.map(|at| at + latency);
            }
            if let Some(log) = self.log.as_mut().filter(|log| log.is_on) {
                let waits = match cost.pipe {
                    Pipe::Special => Activity::WaitsForSpecial,
                    Pipe::Matrix => Activity::WaitsForProducts,
                    _ => Activity::WaitsForResult,
                };
                log.computed(self.block.at, &step.defs, waits);
            }
        }
    }
}

/// Returns the later of two times, for each of the two assumptions.
fn later(a: Times, b: Times) -> Times {
    [a[0].max(b[0]), a[1].max(b[1])]
}
