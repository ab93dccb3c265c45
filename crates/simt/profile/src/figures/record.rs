//! The recording of a launch.

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

/// The recorded actions of a warp, its block and the launch.
#[derive(Debug)]
pub struct Recording {
    pub(super) function: Function,
    pub(super) positions: HashMap<Site, Position>,
    /// The first address and the size in bytes of each of the problem's buffers.
    pub(crate) buffers: Vec<(u64, u64)>,
    /// The block and warp that were watched, and the device.
    pub watch: Watch,
    /// The warp's requests to global and shared memory, in order.
    pub requests: Vec<Request>,
    /// The warp's shuffles, in order.
    pub shuffles: Vec<Shuffle>,
    /// The results of arithmetic and loads that the warp's lane 0 wrote to 32-bit registers, in order.
    pub written: Vec<Written>,
    /// The requests of all warps of the block to global memory, in simulation order.
    pub of_block: Vec<Request>,
    /// Whether some requests were discarded because the limit was reached.
    pub(super) is_cut: bool,
    /// The data flow of the block's values.
    pub flow: Graph,
    /// Descriptions of the data flow that was not followed.
    pub(super) lost: Vec<&'static str>,
    /// The counters of each instruction of the launch.
    pub counters: SiteCounters,
    /// The activity of the block's warps at each modeled cycle.
    pub spans: Vec<Span>,
    /// The accesses by which blocks synchronize, from [`exchange`](super::exchange()); empty unless a caller sets it.
    pub exchange: Vec<Exchanged>,
    /// How the launch fills a device.
    pub residence: Residence,
    /// Problem sizes for which all values can be followed, if this problem produces too many values.
    pub fits: Option<String>,
}

/// How a launch fills the multiprocessors of a device.
#[derive(Clone, Debug)]
pub struct Residence {
    /// The device.
    pub device: String,
    /// The number of multiprocessors of the device.
    pub multiprocessors: u32,
    /// The number of blocks of the launch.
    pub blocks: u64,
    /// The number of blocks that a multiprocessor holds at once.
    pub resident: u32,
    /// The number of warps per block.
    pub warps: u32,
    /// The number of warps that a multiprocessor holds at once.
    pub most_warps: u32,
    /// Whether `ptxas` reported the number of registers. Otherwise, registers are assumed not to limit the blocks.
    pub has_registers: bool,
}

/// A request of a warp to global or shared memory.
#[derive(Clone, Debug)]
pub struct Request {
    /// The instruction.
    pub site: Site,
    /// The warp, by its number in its block.
    pub warp: u32,
    /// The number of barriers that the block had passed before the request.
    pub phase: u32,
    /// The state space.
    pub space: Space,
    /// The kind of access.
    pub kind: AccessKind,
    /// The number of bytes per lane.
    pub bytes: u32,
    /// The participating lanes.
    pub mask: u32,
    /// The lanes' addresses; offsets in shared memory.
    pub addresses: [u64; 32],
}

/// A result of an instruction in a 32-bit register of a warp's lane 0.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The instruction.
    pub site: Site,
    /// The index of the register among the registers that the instruction writes, from 0.
    pub place: usize,
    /// The value.
    pub bits: u32,
}

/// A shuffle of a warp.
#[derive(Clone, Debug)]
pub struct Shuffle {
    /// The instruction.
    pub site: Site,
    /// The mode that selects the source lanes.
    pub mode: ShuffleMode,
    /// The lanes that execute the shuffle.
    pub lanes: u32,
    /// The lanes that provide a value: the executing lanes, and lanes that reach the exchange on another path.
    pub providers: u32,
    /// The member mask of each lane.
    pub members: [u32; 32],
    /// The width that each lane specifies: the number of lanes that exchange values with each other.
    pub widths: [u32; 32],
    /// The value that each lane provides.
    pub values: [u32; 32],
    /// The lane that each lane reads.
    pub sources: [u32; 32],
    /// The lanes that read the requested lane; other lanes keep their value.
    pub in_range: u32,
}

impl Request {
    /// Returns the request as an access.
    pub fn access(&self) -> Access<'_> {
        let Self { space, kind, bytes, mask, ref addresses, .. } = *self;
        Access { space, kind, bytes, mask, rank: None, stored: StoredValues::default(), addresses, patterns: None }
    }

    /// Returns the participating lanes, each with its address.
    pub fn lanes(&self) -> impl Iterator<Item = (usize, u64)> {
        simt::regs::lanes(self.mask).map(|lane| (lane, self.addresses[lane]))
    }

    /// Returns the description of the access kind.
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
    /// Returns the simulator's count of a metric for only this request; `None` if the simulator does not have the
    /// metric.
    pub fn counted(&self, request: &Request, metric: &str) -> Option<f64> {
        let mut counters = Counters::new(&self.function);
        counters.access(request.site, WarpId::default(), &request.access());
        counters.get(metric).and_then(Value::number)
    }

    /// Returns the simulator's wavefronts for a request to shared memory.
    pub(super) fn wavefronts(&self, request: &Request) -> Vec<Vec<simt::counters::BankWord>> {
        Counters::new(&self.function).wavefronts(request.site, &request.access())
    }

    /// Returns the reason why the figures that follow values are left out, or `None` if these figures are drawn.
    pub fn left_out(&self) -> Option<String> {
        let fits = self.fits.as_ref().map_or(String::new(), |sizes| format!("; {sizes} fits"));
        (self.flow.left_out > 0)
            .then(|| format!("the block produces too many values to draw the figures tree and tiles{fits}"))
    }

    /// Returns the source line and PTX line of an instruction.
    pub(super) fn position(&self, site: Site) -> Position {
        self.positions.get(&site).cloned().unwrap_or_else(|| Position::of(&self.function, site))
    }

    /// Returns the PTX.
    pub(super) fn ptx(&self) -> ptx::Source<'_> {
        ptx::Source::new(self.function.ptx())
    }

    /// Returns the buffer that contains an address of global memory, and the byte offset there.
    pub(super) fn in_buffer(&self, address: u64) -> Option<(usize, u64)> {
        let is_in = |(first, bytes): &(u64, u64)| (*first..first + bytes.max(&1)).contains(&address);
        let number = self.buffers.iter().position(is_in)?;
        Some((number, address - self.buffers[number].0))
    }

    /// Formats an address of global memory: `buffer 0 + 128`.
    pub(super) fn place(&self, address: u64) -> String {
        match self.in_buffer(address) {
            Some((number, at)) => format!("buffer {number} + {at}"),
            None => format!("{address:#x}"),
        }
    }

    /// Returns the requests to a space in groups of equal requests. Equal requests have the same source line, form, and
    /// distances between addresses.
    pub(super) fn alike(&self, space: Space) -> Vec<Vec<&Request>> {
        let (mut groups, mut known): (Vec<Vec<&Request>>, HashMap<_, usize>) = (Vec::new(), HashMap::new());
        for request in self.requests.iter().filter(|request| request.space == space) {
            let source = self.position(request.site).source;
            // A cache line of global memory and a row of shared-memory banks are each 128 bytes, so distances start at
            // a multiple of 128.
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

/// Returns a note about the number of equal requests of a warp, if there are several.
pub(super) fn times(alike: &[&Request]) -> Vec<String> {
    match alike.len() {
        1 => Vec::new(),
        count => vec![format!("the first of {count} equal requests of this line by this warp")],
    }
}
