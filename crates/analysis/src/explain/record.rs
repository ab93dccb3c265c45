//! The observer that keeps what a warp does.

use std::collections::HashMap;

use ptx::ast::Space;
use simt::Function;
use simt::code::Op;
use simt::counters::{Counters, Value};
use simt::observe::{Access, AccessKind, Observer, Reg, Site, Step, StoredValues, WarpId};
use simt::run::Position;
use simt::warp::{ShuffleMode, Warp};

/// The most requests and shuffles that are kept of a warp.
const MOST: usize = 1 << 16;

/// The warp that is watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    pub(super) block: u64,
    pub(super) warp: u32,
}

/// What a warp did.
#[derive(Debug)]
pub struct Recording {
    function: Function,
    /// The places of the problem's buffers: first addresses and sizes in bytes.
    buffers: Vec<(u64, u64)>,
    /// Its requests to global and shared memory, in their order.
    pub requests: Vec<Request>,
    /// Its shuffles, in their order.
    pub shuffles: Vec<Shuffle>,
}

/// A request of a warp to global or shared memory.
#[derive(Clone, Debug)]
pub struct Request {
    /// The instruction.
    pub site: Site,
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

/// A shuffle of a warp.
#[derive(Clone, Debug)]
pub struct Shuffle {
    /// The instruction.
    pub site: Site,
    /// How it finds the source lanes.
    pub mode: ShuffleMode,
    /// The lanes that execute it.
    pub lanes: u32,
    /// The lanes that it names.
    pub members: u32,
    /// How many lanes exchange values with each other.
    pub width: u32,
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
        Access { space, kind, bytes, mask, rank: None, stored: StoredValues::default(), addresses }
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

    /// Where an instruction stands in the texts.
    pub(super) fn position(&self, site: Site) -> Position {
        Position::of(&self.function, site)
    }

    /// An address in global memory in words: `buffer 0 + 128`.
    pub(super) fn place(&self, address: u64) -> String {
        let is_in = |(first, bytes): &(u64, u64)| (*first..first + bytes.max(&1)).contains(&address);
        match self.buffers.iter().position(is_in) {
            Some(number) => format!("buffer {number} + {}", address - self.buffers[number].0),
            None => format!("{address:#x}"),
        }
    }

    /// The requests to a space, those together that are alike: of one source line and form, and with the same distances
    /// between addresses. Each has the others behind it.
    pub(super) fn alike(&self, space: Space) -> Vec<Vec<&Request>> {
        let mut positions = HashMap::new();
        let (mut groups, mut known): (Vec<Vec<&Request>>, HashMap<_, usize>) = (Vec::new(), HashMap::new());
        for request in self.requests.iter().filter(|request| request.space == space) {
            let source = positions.entry(request.site).or_insert_with(|| self.position(request.site).source).clone();
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

/// Keeps what a warp does.
pub(super) struct Recorder {
    function: Function,
    watched: Watched,
    is_turn: bool,
    requests: Vec<Request>,
    shuffles: Vec<Shuffle>,
}

impl Recorder {
    pub(super) fn new(function: &Function, watched: Watched) -> Self {
        let function = function.clone();
        Self { function, watched, is_turn: false, requests: Vec::new(), shuffles: Vec::new() }
    }

    pub(super) fn finish(self, buffers: Vec<(u64, u64)>) -> Recording {
        let Self { function, requests, shuffles, .. } = self;
        Recording { function, buffers, requests, shuffles }
    }

    fn is_watched(&self, warp: WarpId) -> bool {
        (warp.block, warp.warp) == (self.watched.block, self.watched.warp)
    }
}

impl Observer for Recorder {
    const STEPS: bool = true;

    fn steps(&self) -> bool {
        self.is_turn
    }

    fn fork(&self) -> Self {
        Self::new(&self.function, self.watched)
    }

    fn merge(&mut self, other: Self) {
        self.requests.extend(other.requests);
        self.shuffles.extend(other.shuffles);
    }

    fn turn(&mut self, warp: WarpId) {
        self.is_turn = self.is_watched(warp);
    }

    fn access(&mut self, site: Site, warp: WarpId, access: &Access<'_>) {
        let Access { space, kind, bytes, mask, addresses, .. } = *access;
        let is_drawn = matches!(space, Space::Global | Space::Shared) && mask != 0;
        if is_drawn && self.is_watched(warp) && self.requests.len() < MOST {
            self.requests.push(Request { site, space, kind, bytes, mask, addresses: *addresses });
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        let Site { function, pc } = step.site;
        let op = &self.function.program().functions[function as usize].code[pc as usize].op;
        let Op::Warp(Warp::Shuffle { mode, value, lane, clamp, mask, .. }) = op else { return };
        if !self.is_watched(step.warp_id) || step.lanes == 0 || self.shuffles.len() == MOST {
            return;
        }
        let register = |register| step.registers.value(Reg::R32(register)).map(|value| value as u32);
        let clamp = register(*clamp);
        let first = step.lanes.trailing_zeros() as usize;
        let (sources, in_range) = mode.sources(&register(*lane), &clamp);
        self.shuffles.push(Shuffle {
            site: step.site,
            mode: *mode,
            lanes: step.lanes,
            members: register(*mask)[first],
            width: 32 - (clamp[first] >> 8 & 31),
            values: register(*value),
            sources,
            in_range,
        });
    }
}
