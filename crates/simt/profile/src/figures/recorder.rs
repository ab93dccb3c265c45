//! The observers of a launch, and their conversion into a recording.

use ptx::ast::Space;
use simt::Function;
use simt::code::Op;
use simt::counters::SiteCounters;
use simt::memory::Memory;
use simt::observe::{Access, BlockFilter, Observer, Reg, Requests, Site, Step, WarpId};
use simt::run::Position;
use simt::warp::Warp;
use simt_timing::CriticalPath;

use super::flow::Flow;
use super::meeting::Meeting;
use super::record::{Recording, Request, Residence, Shuffle, Written};
use crate::watch::Watch;

/// The maximum number of recorded requests, shuffles and results of a warp, and of recorded requests of a block.
const MOST: usize = 1 << 16;

/// The observers of a launch, which record its warp and block, data flow, counters and critical path.
pub type Observers = (Recorder, (Flow, (SiteCounters, BlockFilter<CriticalPath>)));

/// Creates the observers of a launch of a function.
pub(crate) fn observers(
    function: &Function,
    watch: &Watch,
    buffers: &[(u64, u64)],
    path: BlockFilter<CriticalPath>,
) -> Observers {
    let flow = Flow::new(function, watch.block, buffers);
    (Recorder::new(function, (watch.block, watch.warp as u32)), (flow, (SiteCounters::new(function), path)))
}

/// Converts the observers to the recording, and to the critical path of the sampled blocks.
pub(crate) fn finish(
    observers: Observers,
    watch: Watch,
    buffers: Vec<(u64, u64)>,
    residence: Residence,
) -> (Recording, CriticalPath) {
    let (recorder, (flow, (counters, path))) = observers;
    let path = path.into_inner();
    let sites: Vec<Site> = counters.executed().collect();
    let positions = Position::of_all(&recorder.function, &sites);
    let Recorder { function, requests, shuffles, written, of_block, is_cut, .. } = recorder;
    let recording = Recording {
        function,
        positions: sites.into_iter().zip(positions).collect(),
        buffers,
        watch,
        requests,
        shuffles,
        written,
        of_block,
        is_cut,
        lost: flow.lost.iter().copied().collect(),
        flow: flow.graph,
        counters,
        spans: path.spans().to_vec(),
        exchange: Vec::new(),
        residence,
        fits: None,
    };
    (recording, path)
}

/// Records the actions of a warp, and the requests of its block to global memory.
pub struct Recorder {
    function: Function,
    watched: (u64, u32),
    is_turn: bool,
    phase: u32,
    requests: Vec<Request>,
    of_block: Vec<Request>,
    is_cut: bool,
    pub(super) shuffles: Vec<Shuffle>,
    pub(super) written: Vec<Written>,
    /// The instruction that lane 0 executes, with the registers that it writes. The values of these registers are
    /// available at the next step.
    executed: Option<(Site, Vec<Reg>)>,
    meeting: Meeting,
    members: [u32; 32],
    widths: [u32; 32],
    /// Whether lanes have left the exchange since the last arrival.
    has_met: bool,
}

impl Recorder {
    pub(super) fn new(function: &Function, watched: (u64, u32)) -> Self {
        Self {
            function: function.clone(),
            watched,
            is_turn: false,
            phase: 0,
            requests: Vec::new(),
            of_block: Vec::new(),
            is_cut: false,
            shuffles: Vec::new(),
            written: Vec::new(),
            executed: None,
            meeting: Meeting::default(),
            members: [0; 32],
            widths: [0; 32],
            has_met: false,
        }
    }

    fn is_watched(&self, warp: WarpId) -> bool {
        (warp.block, warp.warp) == self.watched
    }

    fn op(&self, site: Site) -> &Op {
        &self.function.program().functions[site.function as usize].code[site.pc as usize].op
    }

    /// Records the results of the previous instruction, and remembers the registers that this step writes.
    fn keep_results(&mut self, step: &Step<'_>) {
        if let Some((site, registers)) = self.executed.take().filter(|(site, _)| site.function == step.site.function) {
            for (place, register) in
                registers.into_iter().enumerate().filter(|(_, register)| matches!(register, Reg::R32(_)))
            {
                if self.written.len() < MOST {
                    let bits = step.registers.value(register)[0] as u32;
                    self.written.push(Written { site, place, bits });
                }
            }
        }
        let has_results = matches!(self.op(step.site), Op::Alu(_) | Op::Memory(Memory::Load(_)));
        if has_results && step.lanes & 1 == 1 && self.written.len() < MOST {
            self.executed = Some((step.site, step.writes().to_vec()));
        }
    }

    fn shuffle(&self, site: Site) -> Option<&Warp> {
        match self.op(site) {
            Op::Warp(shuffle @ Warp::Shuffle { .. }) => Some(shuffle),
            _ => None,
        }
    }
}

impl Observer for Recorder {
    const REQUESTS: Requests = Requests::STEPS;

    fn steps(&self) -> bool {
        self.is_turn
    }

    fn fork(&self) -> Self {
        Self::new(&self.function, self.watched)
    }

    fn merge(&mut self, other: Self) {
        self.requests.extend(other.requests);
        self.of_block.extend(other.of_block);
        self.shuffles.extend(other.shuffles);
        self.written.extend(other.written);
        self.is_cut |= other.is_cut;
    }

    fn turn(&mut self, warp: WarpId) {
        self.is_turn = self.is_watched(warp);
    }

    fn released(&mut self, block: u64, _id: u32) {
        self.phase += u32::from(block == self.watched.0);
    }

    fn access(&mut self, site: Site, warp: WarpId, access: &Access<'_>) {
        let Access { space, kind, bytes, mask, addresses, .. } = *access;
        if !matches!(space, Space::Global | Space::Shared) || mask == 0 || warp.block != self.watched.0 {
            return;
        }
        let phase = self.phase;
        let request = || Request { site, warp: warp.warp, phase, space, kind, bytes, mask, addresses: *addresses };
        let is_watched = self.is_watched(warp);
        for (kept, is_kept) in [(&mut self.requests, is_watched), (&mut self.of_block, space == Space::Global)] {
            self.is_cut |= is_kept && kept.len() == MOST;
            if is_kept && kept.len() < MOST {
                kept.push(request());
            }
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        if !self.is_watched(step.warp_id) {
            return;
        }
        self.keep_results(step);
        if step.lanes == 0 {
            return;
        }
        let Some(Warp::Shuffle { mode, value, lane, clamp, mask, .. }) = self.shuffle(step.site) else { return };
        let register = |register| step.registers.value(Reg::R32(register)).map(|value| value as u32);
        let (clamp, members) = (register(*clamp), register(*mask));
        let (sources, in_range) = mode.sources(&register(*lane), &clamp);
        self.meeting.arrive(step.lanes, &register(*value), &sources, in_range);
        for lane in simt::regs::lanes(step.lanes) {
            (self.members[lane], self.widths[lane]) = (members[lane], 32 - (clamp[lane] >> 8 & 31));
        }
        self.has_met = false;
    }

    fn synchronized(&mut self, site: Site, warp: WarpId, lanes: u32) {
        let Some(Warp::Shuffle { mode, .. }) = self.shuffle(site) else { return };
        if !self.is_watched(warp) {
            return;
        }
        let mode = *mode;
        let Meeting { arrived, values, sources, in_range, .. } = self.meeting;
        self.meeting.leave(lanes);
        // Lanes that reach the exchange on different paths are reported one after another.
        if let Some(last) = self.shuffles.last_mut().filter(|last| self.has_met && last.mode == mode) {
            last.lanes |= lanes;
            return;
        }
        self.has_met = true;
        if self.shuffles.len() < MOST {
            let (members, widths) = (self.members, self.widths);
            self.shuffles.push(Shuffle {
                site,
                mode,
                lanes,
                providers: arrived,
                members,
                widths,
                values,
                sources,
                in_range,
            });
        }
    }
}
