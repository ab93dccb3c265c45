//! A session's buffers on a device. The buffers are filled, restored and poisoned, and timed launches rotate through
//! several sets of buffers, so that their data are not in the L2 cache.

use crate::device::{BufferId, Device, Enqueue, LaunchResult, Schedule, not_enough_memory};
use crate::error::Error;
use crate::launch::{Arg, Launch};
use crate::problem::{Buffer, GUARD_BYTES, POISON, Problem, Role, Verdict};
use crate::registry::Rung;

/// The device memory that is kept free for the driver and the module of kernels.
const HEADROOM: u64 = 64 << 20;

/// The time for which the device is kept busy before a timed launch, in nanoseconds. The driver takes less time than
/// this to enqueue the launch.
const HOLD_NS: u64 = 30_000;

/// The total size of the buffer sets that launches rotate through, as a multiple of the L2 cache size.
const ROTATION: u64 = 4;
/// The maximum number of sets. If this many sets fit into the L2 cache, launches are timed with their data in the
/// cache.
const MOST_SETS: u64 = 64;
/// The size of the memory that is read to evict other data from the L2 cache, as a multiple of the cache size.
const SCRATCH: u64 = 2;

/// The buffers of a problem on a device.
pub(super) struct Buffers<'a, D: Device + ?Sized> {
    pub(super) device: &'a mut D,
    problem: &'a dyn Problem,
    sets: Vec<Set>,
    /// The index of the set that the last launch ran on.
    current: usize,
    /// For each buffer that is an input, a copy on the device to restore the buffer from.
    copies: Vec<Option<BufferId>>,
    /// The memory that is read to evict other data from the L2 cache.
    scratch: Option<BufferId>,
    /// Whether the L2 cache may hold changed inputs, which would be written back during a timed launch.
    l2_contaminated: bool,
}

/// The contents of the buffers after a launch.
#[derive(Default)]
pub(super) struct Outputs {
    /// The bytes of each output and sum that the launch was expected to write.
    pub(super) written: Vec<Vec<u8>>,
    /// A description of memory that the launch changed but must not change.
    pub(super) violation: Option<String>,
}

impl Outputs {
    /// Returns the verdict on the written bytes, or the violation. A wrong output is reported in preference to a
    /// violation.
    pub(super) fn verdict(&self, of_written: Verdict) -> Verdict {
        match (&of_written, &self.violation) {
            (Verdict::Right, Some(why)) => Verdict::Wrong(why.clone()),
            _ => of_written,
        }
    }
}

struct Set {
    buffers: Vec<BufferId>,
    /// Whether an in-place rung has overwritten the inputs.
    dirty: bool,
}

impl<'a, D: Device + ?Sized> Buffers<'a, D> {
    /// Allocates one set and fills its inputs. If `restorable`, also keeps copies of the inputs on the device.
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

    /// Adds sets of buffers to rotate through, and memory to read between launches, so that a launch's data are not in
    /// the L2 cache. Does nothing on a device without a known L2 cache.
    pub(super) fn rotate(&mut self) -> Result<(), Error> {
        let Some(l2) = self.device.info().l2_bytes.filter(|&l2| l2 > 0) else {
            return Ok(());
        };
        let buffers = self.described();
        let of_a_set: u64 = buffers.iter().map(Buffer::allocated_bytes).sum();
        let target_sets = (ROTATION * l2).div_ceil(self.problem.facts().bytes.max(1));
        let fitting = 1 + self.room() / 2 / of_a_set.max(1);
        for _ in 1..target_sets.min(fitting).min(MOST_SETS) {
            self.add_set()?;
            self.restore(self.sets.len() - 1)?;
        }
        if SCRATCH * l2 <= self.room() {
            let scratch = self.device.alloc(host_size(SCRATCH * l2))?;
            // `compute-sanitizer --tool initcheck` would report millions of reads of this memory if it were
            // uninitialized.
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

    /// Returns the bytes of device memory that are available for further buffers.
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

    /// Returns the device and the buffers for a launch of this rung, and records the rung's effect on the inputs.
    pub(super) fn for_launch_of(&mut self, rung: &Rung) -> (&mut D, &[BufferId]) {
        let set = &mut self.sets[self.current];
        set.dirty |= rung.in_place;
        self.l2_contaminated |= rung.in_place;
        (self.device, &set.buffers)
    }

    /// Returns the device and the buffers of the current set.
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
        // Store the set before filling it, so that its buffers are freed if a later allocation fails.
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

    /// Fills the buffers of the current set whose role satisfies `chosen` with one byte.
    fn fill(&mut self, chosen: fn(Role) -> bool, byte: u8) -> Result<(), Error> {
        let buffers = self.described();
        for (&id, buffer) in self.sets[self.current].buffers.iter().zip(buffers) {
            if chosen(buffer.role) {
                self.device.fill(id, byte)?;
            }
        }
        Ok(())
    }

    /// Downloads the contents that a launch left in its buffer arguments, except inputs.
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
                        "byte {place} of the workspace is not 0 after the launch, and the next launch relies on that"
                    ),
                    false => {
                        format!("byte {} was written, beyond the {written} bytes of the output", written + place as u64)
                    }
                });
            }
            if buffer.role.is_result() {
                outputs.written.push(bytes);
            }
        }
        Ok(outputs)
    }

    /// Downloads all buffers of the current set, including their guards, in the problem's order.
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

    /// Returns the value of each byte of an output before a checked launch: [`POISON`], or a value that depends on the
    /// random schedule.
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

/// Checks that a set of buffers fits into memory, with or without a copy of the inputs.
fn check_room<D: Device + ?Sized>(device: &D, problem: &dyn Problem, restorable: bool) -> Result<(), Error> {
    let buffers = problem.buffers(device.info().properties());
    let need = buffers.iter().map(|buffer| {
        let is_copied = restorable && buffer.role.is_input();
        buffer.allocated_bytes() * (1 + u64::from(is_copied))
    });
    let need: u64 = need.sum();
    // The host keeps a copy of the inputs and outputs. For the simulator, host memory is also the device's memory.
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

/// Converts a number of bytes to a `usize`. A size beyond the host's address space does not fit into the device either.
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
