//! The resources of a multiprocessor that blocks use, as sums.

use std::collections::HashMap;
use std::ops::AddAssign;

use crate::cost::Pipe;

/// The resources that blocks used, summed over the blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourceUse {
    /// Blocks.
    pub blocks: u64,
    /// Warps.
    pub warps: u64,
    /// Instructions that are issued, by pipe: [`Pipe`] numbers them.
    pub issued: [f64; Pipe::COUNT],
    /// What `wgmma` takes of the tensor cores: additions of products of two halves in the same time.
    pub products: f64,
    /// What `mma` and `wmma` take of them.
    pub warp_products: f64,
    /// Tags that the L1 looks up for global loads and stores: the lines of 128 bytes that each touches.
    pub tags: u64,
    /// Global loads of one line, which take the L1 more than a clock.
    pub one_line: u64,
    /// Passes through the banks of shared memory.
    pub wavefronts: u64,
    /// Bytes of shared memory that the tensor cores read and that bulk copies read and write.
    pub engine_bytes: f64,
    /// Sectors that go from the L1 to the L2 for loads: those that the block has not loaded before, as far
    /// as they fit into its share of the L1.
    pub l2_reads: u64,
    /// Sectors that stores send to the L2.
    pub l2_writes: u64,
    /// Of both, the sectors that are the only ones of their line in a request; of stores, those that are filled less than half.
    pub l2_lone: [u64; 2],
    /// Words of the constant bank that a warp reads one after the other, beyond the first of each request.
    pub constants: u64,
    /// Passes of atomics through sectors of the L2: those that change one word take one each, or more if they add floats.
    pub atomics: f64,
    /// The most of these passes through one slice of the L2, as far as is known of its addresses.
    pub hottest: f64,
    /// For each range of memory: sectors that the L2 fetches for what blocks read, each block's once.
    pub read: Vec<u64>,
    /// For each range of memory: sectors that blocks write, each block's once.
    pub written: Vec<u64>,
    /// Cycles from a block's start to its end if loads that miss the L1 are served by the L2, and if they are by
    /// memory.
    pub cycles: [u64; 2],
    /// The most of them that a block takes.
    pub longest: [u64; 2],
    /// Cycles that warps wait at barriers of their block, if loads that miss the L1 are served by memory.
    pub at_barriers: u64,
    /// The most groups of asynchronous copies that a block has under way.
    pub under_way: usize,
    /// The most cycles that a block's stores take beyond its end.
    pub drain: u64,
    /// What the stores take of a multiprocessor's way to the L2: whole sectors, and twice those that are written in part.
    pub port_writes: f64,
    /// The number of waits in the longest chain of blocks in which each block waits for the one before it. A block waits for
    /// another block if it loads a word that the other block has written for it.
    pub waits: u64,
    /// Passes of atomics through each part of memory that lies in one slice.
    pub(crate) passes: HashMap<u64, f64>,
}

impl ResourceUse {
    /// Zeros, with a place for each of so many ranges of memory.
    pub(crate) fn of_ranges(ranges: usize) -> Self {
        Self { read: vec![0; ranges], written: vec![0; ranges], ..Self::default() }
    }

    /// Adds the resources that other blocks used.
    pub(crate) fn add(&mut self, more: Self) {
        fn sum<T: AddAssign + Copy>(own: &mut [T], more: &[T]) {
            own.iter_mut().zip(more).for_each(|(own, more)| *own += *more);
        }
        self.blocks += more.blocks;
        self.warps += more.warps;
        self.products += more.products;
        self.warp_products += more.warp_products;
        self.engine_bytes += more.engine_bytes;
        self.at_barriers += more.at_barriers;
        self.under_way = self.under_way.max(more.under_way);
        self.drain = self.drain.max(more.drain);
        self.waits = self.waits.max(more.waits);
        self.port_writes += more.port_writes;
        self.longest = super::later(self.longest, more.longest);
        self.tags += more.tags;
        self.wavefronts += more.wavefronts;
        self.l2_reads += more.l2_reads;
        self.l2_writes += more.l2_writes;
        self.constants += more.constants;
        self.one_line += more.one_line;
        self.atomics += more.atomics;
        sum(&mut self.l2_lone, &more.l2_lone);
        sum(&mut self.issued, &more.issued);
        sum(&mut self.read, &more.read);
        sum(&mut self.written, &more.written);
        sum(&mut self.cycles, &more.cycles);
        for (sector, passes) in more.passes {
            *self.passes.entry(sector).or_default() += passes;
        }
    }
}
