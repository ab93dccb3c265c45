//! The resources of a multiprocessor that blocks use.

use std::collections::HashMap;
use std::ops::AddAssign;

use crate::cost::Pipe;

/// The resources that blocks used, summed over the blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourceUse {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of warps.
    pub warps: u64,
    /// The number of issued instructions by pipe, indexed by [`Pipe`].
    pub issued: [f64; Pipe::COUNT],
    /// The work of `wgmma` on the tensor cores. The unit is the time of one fused multiply-add of `f16` numbers.
    pub products: f64,
    /// The work of `mma` and `wmma` on the tensor cores, in the unit of `products`.
    pub warp_products: f64,
    /// The number of tags that the L1 looks up for global loads and stores: one for each 128-byte line that an
    /// instruction touches.
    pub tags: u64,
    /// The number of global loads of one line, which occupy the L1 for more than a clock.
    pub one_line: u64,
    /// The number of passes through the banks of shared memory.
    pub wavefronts: u64,
    /// The number of bytes of shared memory that the tensor cores read and that bulk copies read and write.
    pub engine_bytes: f64,
    /// The number of sectors that loads request from the L2: the sectors that are not in the block's share of the L1.
    pub l2_reads: u64,
    /// The number of sectors that stores send to the L2.
    pub l2_writes: u64,
    /// The numbers of sectors in `l2_reads` and `l2_writes` that are the only sector of their line in a request. Writes
    /// count only if the request writes less than half of the bytes of its sectors.
    pub l2_lone: [u64; 2],
    /// The number of words of the constant bank that a warp reads sequentially, beyond the first of each request.
    pub constants: u64,
    /// The number of passes of atomics through sectors of the L2. Each change of the same word takes one pass, or more
    /// for floats.
    pub atomics: f64,
    /// The maximum number of passes of atomics through one slice of the L2, as far as its address mapping is known.
    pub hottest: f64,
    /// For each range of memory, the number of sectors that the L2 fetches for reads, once for each block.
    pub read: Vec<u64>,
    /// For each range of memory, the number of sectors that blocks write, once for each block.
    pub written: Vec<u64>,
    /// The cycles from the start of a block to its end. The first number assumes that the L2 serves loads that miss the
    /// L1, the second that memory serves them.
    pub cycles: [u64; 2],
    /// The largest number of cycles of a single block, under the same two assumptions as `cycles`.
    pub longest: [u64; 2],
    /// The cycles that warps wait at barriers of their block, if memory serves loads that miss the L1.
    pub at_barriers: u64,
    /// The maximum number of asynchronous copy groups that a block has in flight.
    pub copy_groups_in_flight: usize,
    /// The maximum number of cycles that a block's stores take beyond its end.
    pub drain: u64,
    /// The load that stores put on a multiprocessor's port to the L2: one for each whole sector, two for each partially
    /// written sector.
    pub port_writes: f64,
    /// The number of waits in the longest chain of blocks in which each block waits for the previous one. A block waits
    /// for another block if it loads a word that the other block has written for it.
    pub waits: u64,
    /// For each part of memory that is in one slice, the number of passes of atomics.
    pub(crate) passes: HashMap<u64, f64>,
}

impl ResourceUse {
    /// Returns zeros, with an entry for each of `ranges` ranges of memory.
    pub(crate) fn of_ranges(ranges: usize) -> Self {
        Self { read: vec![0; ranges], written: vec![0; ranges], ..Self::default() }
    }

    /// Adds the resources that other blocks used.
    pub(crate) fn add(&mut self, more: Self) {
        fn sum<T: AddAssign + Copy>(totals: &mut [T], more: &[T]) {
            totals.iter_mut().zip(more).for_each(|(total, more)| *total += *more);
        }
        self.blocks += more.blocks;
        self.warps += more.warps;
        self.products += more.products;
        self.warp_products += more.warp_products;
        self.engine_bytes += more.engine_bytes;
        self.at_barriers += more.at_barriers;
        self.copy_groups_in_flight = self.copy_groups_in_flight.max(more.copy_groups_in_flight);
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
