//! A session's buffers on a device: filled, restored, poisoned, and taken in turn so that a timed launch finds its data
//! outside of the L2 cache.

use crate::device::{BufferId, Device, Enqueue, LaunchResult, Schedule, not_enough_memory};
use crate::error::Error;
use crate::launch::{Arg, Launch};
use crate::problem::{Buffer, GUARD_BYTES, POISON, Problem, Role, Verdict};
use crate::registry::Rung;

/// The device memory that is kept free for the driver and the kernels' module.
const HEADROOM: u64 = 64 << 20;

/// How long the device is kept busy before a timed launch, in nanoseconds: longer than the driver takes to enqueue the
/// launch.
const HOLD_NS: u64 = 30_000;

/// The combined size of the sets of buffers that launches rotate through, as a multiple of the L2 cache.
const ROTATION: u64 = 4;
/// The most sets. If this many sets fit into the L2 cache, launches are timed with their data in the cache.
const MOST_SETS: u64 = 64;
/// The size of the memory that is read to displace everything else from the L2, as a multiple of the cache.
const SCRATCH: u64 = 2;

/// The buffers of a problem on a device.
pub(super) struct Buffers<'a, D: Device + ?Sized> {
    pub(super) device: &'a mut D,
    problem: &'a dyn Problem,
    sets: Vec<Set>,
    /// The set that the last launch ran on.
    current: usize,
    /// A copy on the device of each buffer that is an input, to restore it from.
    copies: Vec<Option<BufferId>>,
    /// The memory that is read to displace everything else from the L2.
    scratch: Option<BufferId>,
    /// Whether the L2 may hold changed inputs, which a timed launch would have to write back.
    l2_contaminated: bool,
}

/// The buffers' contents after a launch.
#[derive(Default)]
pub(super) struct Outputs {
    /// The bytes of each output and sum that the launch had to write.
    pub(super) written: Vec<Vec<u8>>,
    /// A description of memory that the launch changed although it must not.
    pub(super) violation: Option<String>,
}

impl Outputs {
    /// Returns the verdict on the written bytes, or the violation. An error inside of the outputs is reported before a violation.
    pub(super) fn verdict(&self, of_written: Verdict) -> Verdict {
        match (&of_written, &self.violation) {
            (Verdict::Right, Some(why)) => Verdict::Wrong(why.clone()),
            _ => of_written,
        }
    }
}

struct Set {
    buffers: Vec<BufferId>,
    /// Whether an in-place rung has destroyed the inputs.
    dirty: bool,
}

impl<'a, D: Device + ?Sized> Buffers<'a, D> {
    /// Allocates one set and fills its inputs, with copies of them on the device where they are `restorable`.
    pub(super) fn new(device: &'a mut D, problem: &'a dyn Problem, restorable: bool) -> Result<Self, Error> {
        check_room(device, problem, restorable)?;
        let mut buffers = Self {
            device,
            problem,
            sets: Vec::new(),
            current: 0,
            copies: Vec::new(),
            scratch: None,
            l2_contaminated: false,
        };
        buffers.add_set()?;
        for (index, buffer) in buffers.described().iter().enumerate() {
            let id = buffers.sets[0].buffers[index];
            let mut copy = None;
            if buffer.role.is_input() {
                buffers.device.upload(id, problem.input(index))?;
                if restorable {
                    let new = buffers.device.alloc(host_size(buffer.bytes))?;
                    copy = Some(new);
                    buffers.device.copy(id, new)?;
                }
            }
            buffers.copies.push(copy);
        }
        Ok(buffers)
    }

    /// Adds sets to take in turn, and memory to read between launches, so that a launch finds its data outside of the L2
    /// cache of a device that has one.
    pub(super) fn rotate(&mut self) -> Result<(), Error> {
        let Some(l2) = self.device.info().l2_bytes.filter(|&l2| l2 > 0) else {
            return Ok(());
        };
        let buffers = self.described();
        let of_a_set: u64 = buffers.iter().map(Buffer::allocated_bytes).sum();
        let wanted = (ROTATION * l2).div_ceil(self.problem.facts().bytes.max(1));
        let fitting = 1 + self.room() / 2 / of_a_set.max(1);
        for _ in 1..wanted.min(fitting).min(MOST_SETS) {
            self.add_set()?;
            self.restore(self.sets.len() - 1)?;
        }
        if SCRATCH * l2 <= self.room() {
            let scratch = self.device.alloc(host_size(SCRATCH * l2))?;
            // A read of uninitialized memory would be reported by `compute-sanitizer --tool initcheck`, millions of times.
            self.device.fill(scratch, 0)?;
            self.scratch = Some(scratch);
            self.l2_contaminated = true;
        }
        Ok(())
    }

    /// Returns the problem's buffers on this device.
    pub(super) fn described(&self) -> Vec<Buffer> {
        self.problem.buffers(self.device.info().properties())
    }

    /// Bytes of device memory that further buffers may take.
    fn room(&self) -> u64 {
        let free = self.device.free_bytes().unwrap_or(u64::MAX);
        free.saturating_sub(HEADROOM)
    }

    pub(super) fn sets(&self) -> usize {
        self.sets.len()
    }

    /// Returns the buffers of the current set, in the problem's order.
    pub(super) fn ids(&self) -> &[BufferId] {
        &self.sets[self.current].buffers
    }

    /// Returns the device and the buffers for a launch of this rung, whose effect on the inputs is remembered.
    pub(super) fn for_launch_of(&mut self, rung: &Rung) -> (&mut D, &[BufferId]) {
        let set = &mut self.sets[self.current];
        set.dirty |= rung.in_place;
        self.l2_contaminated |= rung.in_place;
        (self.device, &set.buffers)
    }

    /// Returns the device, and the buffers of the current set.
    pub(super) fn device_and_ids(&mut self) -> (&mut D, &[BufferId]) {
        (self.device, &self.sets[self.current].buffers)
    }

    pub(super) fn call(&mut self, what: &str, enqueue: Enqueue<'_>) -> Result<LaunchResult, Error> {
        let ids = &self.sets[self.current].buffers;
        self.device.call(what, ids, enqueue)
    }

    pub(super) fn read(&mut self, index: usize) -> Result<LaunchResult, Error> {
        self.device.read(self.sets[self.current].buffers[index])
    }

    fn add_set(&mut self) -> Result<(), Error> {
        // The set is stored before it is filled, so that its buffers are freed if a later allocation fails.
        self.sets.push(Set { buffers: Vec::new(), dirty: false });
        for buffer in self.described() {
            let id = self.device.alloc(host_size(buffer.allocated_bytes()))?;
            let set = self.sets.last_mut().expect("pushed above");
            set.buffers.push(id);
            if buffer.role.is_zeroed_once() {
                self.device.fill(id, 0)?;
            }
        }
        Ok(())
    }

    /// Fills the buffers of the current set whose role is `chosen` with one byte.
    fn fill(&mut self, chosen: fn(Role) -> bool, byte: u8) -> Result<(), Error> {
        let buffers = self.described();
        for (&id, buffer) in self.sets[self.current].buffers.iter().zip(buffers) {
            if chosen(buffer.role) {
                self.device.fill(id, byte)?;
            }
        }
        Ok(())
    }

    /// Downloads what a launch left in the buffers among its arguments that are not inputs.
    pub(super) fn download(&mut self, launch: &Launch) -> Result<Outputs, Error> {
        let mut outputs = Outputs::default();
        let buffers = self.described();
        for index in launch.args.iter().flat_map(Arg::buffers) {
            let buffer = buffers[index];
            let Some(mut initial) = buffer.role.initial_byte() else {
                continue;
            };
            if buffer.role.is_poisoned() {
                initial = self.poison();
            }
            let is_left_zeroed = buffer.role.is_left_zeroed();
            let (written, guarded) = match is_left_zeroed {
                true => (0, buffer.allocated_bytes()),
                false => {
                    let written = self.problem.written_bytes(launch, &buffer);
                    (written.min(buffer.bytes), GUARD_BYTES)
                }
            };
            let mut bytes = vec![0; host_size(written + guarded)];
            self.device.download(self.ids()[index], &mut bytes)?;
            let guard = bytes.split_off(host_size(written));
            let changed = guard.iter().position(|&byte| byte != initial);
            if let (Some(place), None) = (changed, &outputs.violation) {
                outputs.violation = Some(match is_left_zeroed {
                    true => format!(
                        "byte {place} of the workspace is not 0 after the launch, and the next launch counts on that"
                    ),
                    false => {
                        format!("byte {} was written, behind the {written} bytes of the output", written + place as u64)
                    }
                });
            }
            if buffer.role.is_result() {
                outputs.written.push(bytes);
            }
        }
        Ok(outputs)
    }

    /// Downloads the whole of all buffers of the current set, in the problem's order.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn contents(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let buffers = self.described();
        let ids = &self.sets[self.current].buffers;
        let contents = ids.iter().zip(buffers).map(|(&id, buffer)| {
            let mut bytes = vec![0; host_size(buffer.allocated_bytes())];
            self.device.download(id, &mut bytes)?;
            Ok(bytes)
        });
        contents.collect()
    }

    /// Switches to the next set of buffers, prepares it for a timed launch, and keeps the device busy until the launch
    /// is enqueued.
    pub(super) fn next(&mut self) -> Result<(), Error> {
        self.current = (self.current + 1) % self.sets.len();
        self.prepare()?;
        if self.l2_contaminated
            && let Some(scratch) = self.scratch
        {
            self.device.read(scratch)?;
        }
        self.l2_contaminated = false;
        self.device.hold(HOLD_NS)
    }

    /// Prepares the set like [`Buffers::prepare`], and fills the outputs with the schedule's poison.
    pub(super) fn prepare_poisoned(&mut self) -> Result<(), Error> {
        self.prepare()?;
        self.fill(Role::is_poisoned, self.poison())
    }

    /// Returns the value of each byte of an output before a checked launch: [`POISON`], or another one for each random schedule.
    fn poison(&self) -> u8 {
        match self.device.schedule() {
            Schedule::Random(seed) => (seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8,
            Schedule::Fixed | Schedule::RoundRobin => POISON,
        }
    }

    /// Restores the inputs and zeroes the sums of the set.
    fn prepare(&mut self) -> Result<(), Error> {
        if self.sets[self.current].dirty {
            self.restore(self.current)?;
        }
        self.fill(Role::is_zeroed_before_launch, 0)
    }

    fn restore(&mut self, set: usize) -> Result<(), Error> {
        let buffers = self.described();
        let set = &mut self.sets[set];
        for (index, buffer) in buffers.iter().enumerate() {
            let id = set.buffers[index];
            match self.copies[index] {
                Some(copy) => self.device.copy(copy, id)?,
                None if buffer.role.is_input() => {
                    self.device.upload(id, self.problem.input(index))?;
                }
                None => {}
            }
        }
        set.dirty = false;
        self.l2_contaminated = true;
        Ok(())
    }
}

/// Returns whether a set of buffers fits, with a copy of the inputs or without.
fn check_room<D: Device + ?Sized>(device: &D, problem: &dyn Problem, restorable: bool) -> Result<(), Error> {
    let buffers = problem.buffers(device.info().properties());
    let need = buffers.iter().map(|buffer| {
        let is_copied = restorable && buffer.role.is_input();
        buffer.allocated_bytes() * (1 + u64::from(is_copied))
    });
    let need: u64 = need.sum();
    // The host keeps the inputs and outputs too. For the simulator, the host's memory is also the device's.
    let on_host: u64 = buffers.iter().map(|buffer| buffer.bytes).sum();
    let simulated = if device.info().kind == "sim" { need } else { 0 };
    for (place, need, free) in
        [("device", need, device.free_bytes()), ("host", on_host + simulated, simt::run::available_memory())]
    {
        let Some(free) = free else { continue };
        let room = free.saturating_sub(HEADROOM);
        if need > room {
            let share = (room > 0).then(|| room as f64 / need as f64);
            let hint = match share.and_then(|share| problem.smaller(share)) {
                None => "free some of its memory first".to_owned(),
                Some(options) => format!("{} fits", options.command_line()),
            };
            return Err(not_enough_memory(&problem.labels().size, need, place, free, &hint));
        }
    }
    Ok(())
}

/// A size beyond the host's address space did not fit into the device either.
fn host_size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl<D: Device + ?Sized> Drop for Buffers<'_, D> {
    fn drop(&mut self) {
        let buffers = self.sets.iter().flat_map(|set| &set.buffers);
        let others = self.copies.iter().flatten().chain(&self.scratch);
        for &id in buffers.chain(others) {
            self.device.free(id);
        }
    }
}
