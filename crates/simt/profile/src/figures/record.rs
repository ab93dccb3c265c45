//! What a launch did.

use std::collections::HashMap;

use ptx::ast::Space;
use simt::Function;
use simt::counters::{Counters, SiteCounters, Value};
use simt::observe::{Access, AccessKind, Observer, Site, StoredValues, WarpId};
use simt::run::Position;
use simt::warp::ShuffleMode;
use simt_timing::Span;

use super::exchange::Exchanged;
use super::flow::Graph;
use crate::watch::Watch;

/// What a warp, its block and the launch did.
#[derive(Debug)]
pub struct Recording {
    pub(super) function: Function,
    pub(super) positions: HashMap<Site, Position>,
    /// The places of the problem's buffers: first addresses and sizes in bytes.
    pub(crate) buffers: Vec<(u64, u64)>,
    /// What was watched.
    pub watch: Watch,
    /// The warp's requests to global and shared memory, in their order.
    pub requests: Vec<Request>,
    /// The warp's shuffles, in their order.
    pub shuffles: Vec<Shuffle>,
    /// What the warp's lane 0 wrote to registers of 32 bits, in its order: the results of arithmetic and of loads.
    pub written: Vec<Written>,
    /// The requests of all warps of the block to global memory, in the order of the simulation.
    pub of_block: Vec<Request>,
    /// Whether there were more requests than are kept.
    pub(super) is_cut: bool,
    /// Where the block's values went.
    pub flow: Graph,
    /// What values did that was not followed, in words.
    pub(super) lost: Vec<&'static str>,
    /// What each instruction of the launch counts.
    pub counters: SiteCounters,
    /// What the block's warps do at each modelled cycle.
    pub spans: Vec<Span>,
    /// How blocks wait for each other, by [`exchange`](super::exchange()); nothing without that.
    pub exchange: Vec<Exchanged>,
    /// How the launch fills a device.
    pub residence: Residence,
    /// The sizes of a problem that can be followed, where this one makes too many values.
    pub fits: Option<String>,
}

/// How a launch fills the multiprocessors of a device.
#[derive(Clone, Debug)]
pub struct Residence {
    /// The device.
    pub device: String,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Blocks of the launch.
    pub blocks: u64,
    /// Blocks that a multiprocessor holds at once.
    pub resident: u32,
    /// Warps of a block.
    pub warps: u32,
    /// Warps that a multiprocessor holds at once.
    pub most_warps: u32,
    /// Whether `ptxas` said how many registers there are; otherwise they are taken not to limit the blocks.
    pub has_registers: bool,
}

/// A request of a warp to global or shared memory.
#[derive(Clone, Debug)]
pub struct Request {
    /// The instruction.
    pub site: Site,
    /// The warp, by its number in its block.
    pub warp: u32,
    /// How many times the block's threads had met at a barrier by then.
    pub phase: u32,
    /// Which memory.
    pub space: Space,
    /// What it does there.
    pub kind: AccessKind,
    /// Bytes for each lane.
    pub bytes: u32,
    /// The lanes that take part.
    pub mask: u32,
    /// Their addresses; offsets in shared memory.
    pub addresses: [u64; 32],
}

/// A result of an instruction, in a register of 32 bits of a warp's lane 0.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The instruction.
    pub site: Site,
    /// The place of the register among those that the instruction writes, from 0.
    pub place: usize,
    /// The value.
    pub bits: u32,
}

/// A shuffle of a warp.
#[derive(Clone, Debug)]
pub struct Shuffle {
    /// The instruction.
    pub site: Site,
    /// How it finds the source lanes.
    pub mode: ShuffleMode,
    /// The lanes that execute it.
    pub lanes: u32,
    /// The lanes that give a value: those, and others that come to the exchange on another path.
    pub given: u32,
    /// The lanes that each lane names.
    pub members: [u32; 32],
    /// How many lanes exchange values with each other, as each lane has it.
    pub widths: [u32; 32],
    /// The value that each lane gives.
    pub values: [u32; 32],
    /// The lane that each lane reads.
    pub sources: [u32; 32],
    /// The lanes that read the lane that they ask for; others keep their own value.
    pub in_range: u32,
}

impl Request {
    /// The access that it was.
    pub fn access(&self) -> Access<'_> {
        let Self { space, kind, bytes, mask, ref addresses, .. } = *self;
        Access { space, kind, bytes, mask, rank: None, stored: StoredValues::default(), addresses, patterns: None }
    }

    /// The lanes that take part, each with its address.
    pub fn lanes(&self) -> impl Iterator<Item = (usize, u64)> {
        simt::regs::lanes(self.mask).map(|lane| (lane, self.addresses[lane]))
    }

    /// What it does, in words.
    pub(super) fn verb(&self) -> &'static str {
        match self.kind {
            AccessKind::Load => "loads",
            AccessKind::Store => "stores",
            AccessKind::Atomic | AccessKind::Reduction => "atomics",
            AccessKind::AsyncCopy => "asynchronous copies",
        }
    }
}

impl Recording {
    /// What the machine counts of a request alone, by the metric's name; `None` where it has no such metric.
    pub fn counted(&self, request: &Request, metric: &str) -> Option<f64> {
        let mut counters = Counters::new(&self.function);
        counters.access(request.site, WarpId::default(), &request.access());
        counters.get(metric).and_then(Value::number)
    }

    /// The machine's wavefronts of a request to shared memory.
    pub(super) fn wavefronts(&self, request: &Request) -> Vec<Vec<simt::counters::BankWord>> {
        Counters::new(&self.function).wavefronts(request.site, &request.access())
    }

    /// Why figures are left out that follow values, if they are.
    pub fn left_out(&self) -> Option<String> {
        let fits = self.fits.as_ref().map_or(String::new(), |sizes| format!("; {sizes} fits"));
        (self.flow.left_out > 0)
            .then(|| format!("the block makes too many values for the figures tree and tiles{fits}"))
    }

    /// Where an instruction stands in the texts.
    pub(super) fn position(&self, site: Site) -> Position {
        self.positions.get(&site).cloned().unwrap_or_else(|| Position::of(&self.function, site))
    }

    /// A line of the PTX.
    pub(super) fn ptx(&self) -> ptx::Source<'_> {
        ptx::Source::new(self.function.ptx())
    }

    /// The buffer that an address in global memory is in, and the byte there.
    pub(super) fn in_buffer(&self, address: u64) -> Option<(usize, u64)> {
        let is_in = |(first, bytes): &(u64, u64)| (*first..first + bytes.max(&1)).contains(&address);
        let number = self.buffers.iter().position(is_in)?;
        Some((number, address - self.buffers[number].0))
    }

    /// An address in global memory in words: `buffer 0 + 128`.
    pub(super) fn place(&self, address: u64) -> String {
        match self.in_buffer(address) {
            Some((number, at)) => format!("buffer {number} + {at}"),
            None => format!("{address:#x}"),
        }
    }

    /// The requests to a space, those together that are alike: of one source line and form, and with the same distances
    /// between addresses. Each has the others behind it.
    pub(super) fn alike(&self, space: Space) -> Vec<Vec<&Request>> {
        let (mut groups, mut known): (Vec<Vec<&Request>>, HashMap<_, usize>) = (Vec::new(), HashMap::new());
        for request in self.requests.iter().filter(|request| request.space == space) {
            let source = self.position(request.site).source;
            // A line of global memory, and a row of the banks, are 128 bytes.
            let first = request.lanes().map(|(_, address)| address).min().unwrap_or(0) / 128 * 128;
            let mut distances = [0; 32];
            request.lanes().for_each(|(lane, address)| distances[lane] = address - first);
            let key = (source, request.kind, request.bytes, request.mask, distances);
            let group = *known.entry(key).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[group].push(request);
        }
        groups
    }
}

/// How often a warp made requests that are alike.
pub(super) fn times(alike: &[&Request]) -> Vec<String> {
    match alike.len() {
        1 => Vec::new(),
        count => vec![format!("the first of {count} requests of this line by this warp that look alike")],
    }
}
