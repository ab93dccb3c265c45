//! The observer that records the trace of a block.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use simt::Function;
use simt::code::Op;
use simt::memory::Memory;
use simt::observe::{self, AccessKind, BarrierArrival, FramePlace, Observer, Path, Requests, Site, Space, WarpId};

use super::{Access, MOST_STEPS, MOST_VALUES, Step, Trace, Uses, Warp};

/// The slot that receives the trace when the launch ends.
type Slot = Arc<Mutex<Option<Trace>>>;

/// Records one block of a launch.
pub(crate) struct Recorder {
    function: Function,
    /// The index of the block to record.
    chosen: u64,
    slot: Slot,
    trace: Option<Trace>,
    /// Whether the current warp belongs to the recorded block.
    is_turn: bool,
    /// For each warp, the writes whose values are not known yet.
    written: Vec<Vec<PendingWrite>>,
    /// The words of shared memory whose new values are not known yet.
    touched: Vec<u32>,
    /// Whether any word of shared memory can have changed.
    is_all_touched: bool,
    /// The contents of shared memory at the last step.
    memory: Vec<u32>,
    stacks: HashMap<Vec<Path>, u32>,
    frames: HashMap<[u32; 5], u32>,
    stack: Vec<Path>,
    /// The number of recorded register values.
    size: usize,
}

/// A register write that was reported before the instruction executed.
#[derive(Clone, Copy)]
struct PendingWrite {
    site: Site,
    frame: FramePlace,
    lanes: u32,
    step: u32,
}

impl Recorder {
    /// Creates a recorder, and the slot that contains its trace after the launch.
    pub(crate) fn new(function: &Function, chosen: u64) -> (Self, Slot) {
        let slot = Slot::default();
        (Self::with(function.clone(), chosen, slot.clone()), slot)
    }

    fn with(function: Function, chosen: u64, slot: Slot) -> Self {
        Self {
            function,
            chosen,
            slot,
            trace: None,
            is_turn: false,
            written: Vec::new(),
            touched: Vec::new(),
            is_all_touched: false,
            memory: Vec::new(),
            stacks: HashMap::new(),
            frames: HashMap::new(),
            stack: Vec::new(),
            size: 0,
        }
    }

    /// Returns the trace if the current warp belongs to the recorded block.
    fn current_trace(&mut self) -> Option<&mut Trace> {
        self.trace.as_mut().filter(|trace| self.is_turn && !trace.is_cut)
    }

    /// Returns the number of the last step, or `u32::MAX` before the first step.
    fn now(trace: &Trace) -> u32 {
        (trace.steps.len() as u32).wrapping_sub(1)
    }

    /// Records the values that earlier instructions have written.
    fn take_registers(&mut self, step: &observe::Step<'_>) {
        let Some(trace) = &mut self.trace else { return };
        let warp = step.warp_id.warp as usize;
        let registers = &mut trace.warps[warp].registers;
        let before = registers.size();
        self.written[warp].retain(|written| {
            // A write in another frame stays pending until the warp returns to that frame.
            let is_here = written.frame == step.frame;
            let uses = trace.uses[written.site.function as usize][written.site.pc as usize].as_ref();
            if let Some(uses) = uses.filter(|_| is_here) {
                for reg in &uses.writes {
                    let values = step.registers.value(*reg);
                    registers.write(written.step, &written.frame, *reg, written.lanes, &values);
                }
            }
            !is_here
        });
        self.size += registers.size() - before;
    }

    /// Records the words of shared memory that were written since the last step.
    fn take_shared(&mut self, bytes: &[u8]) {
        let Some(trace) = &mut self.trace else { return };
        if trace.shared.is_empty() && !bytes.is_empty() {
            trace.shared = vec![Vec::new(); bytes.len().div_ceil(4)];
            self.memory = vec![0; trace.shared.len()];
            self.is_all_touched = true;
        }
        let now = Self::now(trace);
        let mut take = |word: usize| {
            let Some(known) = self.memory.get_mut(word) else { return };
            let mut value = [0; 4];
            let part = &bytes[word * 4..bytes.len().min(word * 4 + 4)];
            value[..part.len()].copy_from_slice(part);
            let value = u32::from_le_bytes(value);
            if *known != value {
                *known = value;
                // The contents before the first step count as a change by the first step.
                trace.shared[word].push((if now == u32::MAX { 0 } else { now }, value));
            }
        };
        if std::mem::take(&mut self.is_all_touched) {
            (0..bytes.len().div_ceil(4)).for_each(&mut take);
            self.touched.clear();
        }
        self.touched.drain(..).for_each(|word| take(word as usize));
    }

    /// Returns whether asynchronous copies can write to shared memory at this instruction.
    fn is_asynchronous(&self, site: Site) -> bool {
        let op = &self.function.program().functions[site.function as usize].code[site.pc as usize].op;
        match op {
            Op::Memory(op) => {
                !matches!(op, Memory::Load(_) | Memory::Store(_) | Memory::Atomic(_) | Memory::Address(_))
            }
            Op::Matrix(_) | Op::ClusterBarrier { .. } => true,
            _ => false,
        }
    }
}

impl Observer for Recorder {
    const REQUESTS: Requests = Requests::STEPS.and(Requests::ONE_THREAD);

    fn steps(&self) -> bool {
        self.is_turn
    }

    fn fork(&self) -> Self {
        Self::with(self.function.clone(), self.chosen, self.slot.clone())
    }

    fn merge(&mut self, _: Self) {}

    fn block(&mut self, block: u64, warps: u32, threads: u32) {
        if block != self.chosen {
            return;
        }
        let functions = &self.function.program().functions;
        let uses = functions.iter().map(|function| function.code.iter().map(|_| None).collect());
        self.trace = Some(Trace {
            block,
            threads,
            warps: (0..warps).map(|_| Warp::default()).collect(),
            uses: uses.collect(),
            ..Trace::default()
        });
        self.written = vec![Vec::new(); warps as usize];
    }

    fn turn(&mut self, warp_id: WarpId) {
        let is_recorded = self.trace.as_ref().is_some_and(|trace| !trace.is_cut);
        self.is_turn = warp_id.block == self.chosen && is_recorded;
        // Other blocks of the cluster can have written to shared memory in the meantime.
        self.is_all_touched |= self.is_turn && self.function.program().required_cluster.is_some();
    }

    fn step(&mut self, step: &observe::Step<'_>) {
        self.take_registers(step);
        self.take_shared(step.shared);
        let Some(trace) = self.trace.as_mut() else { return };
        if trace.steps.len() >= MOST_STEPS || self.size >= MOST_VALUES {
            trace.is_cut = true;
            self.is_turn = false;
            return;
        }
        let site = step.site;
        let uses = &mut trace.uses[site.function as usize][site.pc as usize];
        uses.get_or_insert_with(|| Uses { reads: step.reads().into(), writes: step.writes().into() });
        self.stack.clear();
        step.stack(&mut self.stack);
        // The top entry always has the program counter of the step, so only the program counters of the lower entries
        // distinguish stacks.
        if let Some(top) = self.stack.last_mut() {
            top.site = Site::default();
        }
        let stack = self.stacks.get(&self.stack).copied().unwrap_or_else(|| {
            let number = trace.stacks.len() as u32;
            trace.stacks.push(self.stack.clone());
            self.stacks.insert(self.stack.clone(), number);
            number
        });
        let place = step.frame;
        let [r32, r64, preds] = place.registers;
        let frame = *self.frames.entry([place.function, r32, r64, preds, place.local]).or_insert_with(|| {
            trace.frames.push(place);
            trace.frames.len() as u32 - 1
        });
        let (now, warp) = (trace.steps.len() as u32, step.warp_id.warp);
        trace.steps.push(Step { site, warp, active: step.active, lanes: step.lanes, stack, frame });
        trace.warps[warp as usize].steps.push(now);
        if step.lanes != 0 && !step.writes().is_empty() {
            self.written[warp as usize].push(PendingWrite { site, frame: place, lanes: step.lanes, step: now });
        }
        self.is_all_touched |= self.is_asynchronous(site);
    }

    fn access(&mut self, _: Site, _: WarpId, access: &observe::Access<'_>) {
        let Some(trace) = self.current_trace() else { return };
        let observe::Access { space, kind, bytes, mask, rank, addresses, .. } = *access;
        let step = Self::now(trace);
        trace.accesses.push(Access { step, space, kind, bytes, mask, rank, addresses: *addresses });
        if space == Space::Shared && kind != AccessKind::Load && rank.is_none() {
            for lane in simt::regs::lanes(mask) {
                let (first, end) = (addresses[lane] / 4, (addresses[lane] + u64::from(bytes)).div_ceil(4));
                self.touched.extend((first..end).map(|word| word as u32));
            }
        }
    }

    fn synchronized(&mut self, site: Site, warp_id: WarpId, lanes: u32) {
        let Some(trace) = self.current_trace() else { return };
        let steps = &trace.warps[warp_id.warp as usize].steps;
        let Some(now) = steps.last().copied() else { return };
        let last = trace.steps[now as usize];
        if (last.site, last.lanes) == (site, lanes) {
            return;
        }
        // Lanes that arrived before the other lanes receive their results only now.
        let arrived = steps.iter().rev().map(|number| trace.steps[*number as usize]).find(|step| step.site == site);
        if let Some(arrived) = arrived {
            let frame = trace.frames[arrived.frame as usize];
            self.written[warp_id.warp as usize].push(PendingWrite { site, frame, lanes, step: now });
        }
    }

    fn barrier(&mut self, arrival: &BarrierArrival) {
        if let Some(trace) = self.current_trace()
            && arrival.waits
        {
            let now = Self::now(trace);
            trace.warps[arrival.warp_id.warp as usize].waits.push((now, arrival.id));
        }
    }

    fn released(&mut self, block: u64, id: u32) {
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.block == block && !trace.is_cut) {
            let now = Self::now(trace);
            trace.releases.push((now, id));
        }
    }

    fn exited(&mut self, _: Site, warp_id: WarpId, lanes: u32) {
        if let Some(trace) = self.current_trace() {
            let now = Self::now(trace);
            trace.warps[warp_id.warp as usize].exits.push((now, lanes));
        }
    }

    fn block_ended(&mut self, block: u64) {
        if block == self.chosen {
            self.is_turn = false;
        }
    }
}

impl Drop for Recorder {
    /// Stores the trace. This also happens after a failed launch, which drops its observers.
    fn drop(&mut self) {
        if let (Some(trace), Ok(mut slot)) = (self.trace.take(), self.slot.lock()) {
            *slot = Some(trace);
        }
    }
}
