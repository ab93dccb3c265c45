//! A problem on a device: uploaded once, then launched, checked and timed.

use simt::Function;
use simt::observe::Observer;

use crate::device::{BufferId, Device, Enqueue, Ran, Sim};
use crate::error::Error;
use crate::launch::Launch;
use crate::problem::{POISON, Picture, Problem, Role, Verdict};
use crate::registry::Rung;
use crate::stats::Samples;

/// Launches before the first that is timed.
pub const WARM_UP: u32 = 3;

/// Device memory kept free beside the buffers, for the driver's own and the kernels' module.
const HEADROOM: u64 = 64 << 20;

/// What the sets of buffers that launches take in turn move together: so many times the L2 cache.
const ROTATION: u64 = 4;
/// The most sets. What is so small that these fit into the L2 is timed there.
const MOST_SETS: u64 = 64;
/// What is read to displace everything else from the L2: so many times the cache.
const SCRATCH: u64 = 2;
/// How long the device is held before a timed launch, in nanoseconds: longer than the driver takes to
/// enqueue it.
const HOLD_NS: u64 = 30_000;

/// A problem on a device: its buffers, filled, and what was learned of each launch.
pub struct Session<'a, D: Device + ?Sized = dyn Device + 'a> {
    device: &'a mut D,
    problem: &'a dyn Problem,
    sets: Vec<Set>,
    /// The set that the last launch ran on.
    at: usize,
    /// A copy on the device of each buffer that is an input, to restore it from.
    copies: Vec<Option<BufferId>>,
    /// What is read to displace everything else from the L2.
    scratch: Option<BufferId>,
    /// Whether the L2 may hold inputs as they were changed, for a launch to come to write back.
    is_soiled: bool,
}

/// The buffers of a problem.
struct Set {
    buffers: Vec<BufferId>,
    /// Whether an in-place rung has destroyed the inputs.
    dirty: bool,
}

impl<'a, D: Device + ?Sized> Session<'a, D> {
    /// Allocates the problem's buffers and fills its inputs. `restorable` keeps a second copy of them on
    /// the device, to restore them from; without it they are uploaded again when a rung destroyed them.
    ///
    /// # Errors
    /// [`Error::NotEnoughMemory`] where the buffers do not fit into what the device has free, before
    /// anything is allocated or computed; what the device refuses.
    pub fn new(
        device: &'a mut D,
        problem: &'a dyn Problem,
        restorable: bool,
    ) -> Result<Self, Error> {
        check_room(device, problem, restorable)?;
        let mut session = Self {
            device,
            problem,
            sets: Vec::new(),
            at: 0,
            copies: Vec::new(),
            scratch: None,
            is_soiled: false,
        };
        session.add_set()?;
        for (index, buffer) in problem.buffers().iter().enumerate() {
            let id = session.sets[0].buffers[index];
            let mut copy = None;
            if buffer.role == Role::Input {
                session.device.upload(id, problem.input(index))?;
                if restorable {
                    let new = session.device.alloc(host_size(buffer.bytes))?;
                    copy = Some(new);
                    session.device.copy(id, new)?;
                }
            }
            session.copies.push(copy);
        }
        Ok(session)
    }

    /// A session for [`Session::time`]: with copies to restore inputs from, and on a device with a known L2
    /// cache with what it takes to find the data outside it. Where the data of a launch are less than 4
    /// times the cache there are as many sets of buffers as are that much together, at most 64 and in at
    /// most half of the free memory, and launches take them in turn.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn timed(device: &'a mut D, problem: &'a dyn Problem) -> Result<Self, Error> {
        let mut session = Self::new(device, problem, true)?;
        let Some(l2) = session.device.info().l2_bytes.filter(|&l2| l2 > 0) else {
            return Ok(session);
        };
        let room = |session: &Self| {
            let free = session.device.free_bytes().unwrap_or(u64::MAX);
            free.saturating_sub(HEADROOM)
        };
        let of_a_set: u64 = problem.buffers().iter().map(|buffer| buffer.bytes).sum();
        let wanted = (ROTATION * l2).div_ceil(problem.bytes().max(1));
        let fitting = 1 + room(&session) / 2 / of_a_set.max(1);
        for _ in 1..wanted.min(fitting).min(MOST_SETS) {
            session.add_set()?;
            let set = session.sets.len() - 1;
            session.restore(set)?;
        }
        if SCRATCH * l2 <= room(&session) {
            session.scratch = Some(session.device.alloc(host_size(SCRATCH * l2))?);
            session.is_soiled = true;
        }
        Ok(session)
    }

    /// How many sets of buffers launches take in turn.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// As [`Device::lacks`].
    pub fn lacks(&self, launch: &Launch) -> Option<Error> {
        self.device.lacks(launch)
    }

    fn add_set(&mut self) -> Result<(), Error> {
        // In place before it is full, so that what there is of it is given back if the rest fails.
        self.sets.push(Set {
            buffers: Vec::new(),
            dirty: false,
        });
        for buffer in self.problem.buffers() {
            let id = self.device.alloc(host_size(buffer.bytes))?;
            let set = self.sets.last_mut().expect("pushed above");
            set.buffers.push(id);
            if buffer.role == Role::Workspace {
                self.device.fill(id, 0)?;
            }
        }
        Ok(())
    }

    /// Launches once, into poisoned outputs, and compares what comes out with the reference.
    ///
    /// # Errors
    /// What the device refuses. A wrong result is a [`Verdict`].
    pub fn check(&mut self, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        Ok(self.try_out(rung, launch)?.verdict)
    }

    /// [`Session::check`], with what the device says of the launch and what there is to see of it.
    ///
    /// # Errors
    /// As there.
    pub fn try_out(&mut self, rung: &Rung, launch: &Launch) -> Result<Tried, Error> {
        self.prepare()?;
        self.poison()?;
        let ran = self.launch(rung, launch)?;
        let outputs = self.outputs(launch)?;
        Ok(Tried {
            verdict: self.problem.check(rung, launch, &outputs),
            picture: self.problem.picture(rung, launch, &outputs),
            ran,
        })
    }

    /// Launches [`WARM_UP`] times and then `runs` times, and takes each of those launches' time on the
    /// device's clock. `None` from a device that has none.
    ///
    /// # What is in a launch's time
    /// The kernel from its first block to its last, and nothing of what happens around it:
    /// - Inputs that a rung has destroyed are restored before the launch, from a copy on the device.
    /// - The data of a launch are not in the L2 cache when it begins, wherever [`Session::timed`] found room
    ///   for that: either they are several times larger than the cache, or the launch takes the next of
    ///   several sets of buffers, which was last used that much memory ago. A launch does share the memory
    ///   with what its predecessor left in the cache to be written back, as it leaves its own outputs to its
    ///   successor: a rung at a time, each launch pays for one.
    /// - Restored inputs, and those that an in-place rung has changed, do not count as such: where the cache
    ///   may hold some, memory of twice its size is read before the launch, by a kernel that writes nothing,
    ///   until they are gone.
    /// - The launch is enqueued while the device is still busy, with [`Device::hold`], so that the time has
    ///   nothing of the driver's.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn time(
        &mut self,
        rung: &Rung,
        launch: &Launch,
        runs: u32,
    ) -> Result<Option<Samples>, Error> {
        let mut samples = Vec::with_capacity(runs as usize);
        for run in 0..WARM_UP.saturating_add(runs) {
            let Ran { time_ns, .. } = self.once(rung, launch)?;
            let Some(time_ns) = time_ns else {
                return Ok(None);
            };
            if run >= WARM_UP {
                samples.push(time_ns);
            }
        }
        Ok(Samples::new(samples))
    }

    /// Launches once as [`Session::time`] does, and gives what the device says of it.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn once(&mut self, rung: &Rung, launch: &Launch) -> Result<Ran, Error> {
        self.next()?;
        self.device.hold(HOLD_NS)?;
        self.launch(rung, launch)
    }

    /// [Calls](Device::call) other code on the problem's buffers, in their order, into poisoned outputs, and compares
    /// what comes out with what this launch of `rung` should give. The call must leave its inputs as they are.
    ///
    /// # Errors
    /// [`Error::Call`] when the call fails, [`Error::Device`] when the device does. A wrong result is a [`Verdict`].
    pub fn check_call(
        &mut self,
        (rung, launch): (&Rung, &Launch),
        what: &str,
        enqueue: Enqueue<'_>,
    ) -> Result<Verdict, Error> {
        self.prepare()?;
        self.poison()?;
        self.device
            .call(what, &self.sets[self.at].buffers, enqueue)?;
        let outputs = self.outputs(launch)?;
        Ok(self.problem.check(rung, launch, &outputs))
    }

    /// [Calls](Device::call) other code on the problem's buffers, in their order, timed as [`Session::time`] times a
    /// launch. The call must leave its inputs as they are.
    ///
    /// # Errors
    /// [`Error::Call`] when the call fails, [`Error::Device`] when the device does.
    pub fn call(&mut self, what: &str, enqueue: Enqueue<'_>) -> Result<Ran, Error> {
        self.next()?;
        self.device.hold(HOLD_NS)?;
        self.device.call(what, &self.sets[self.at].buffers, enqueue)
    }

    /// How long it takes to read the problem's largest buffer once, as [`Device::read`] does: with its bytes,
    /// what this memory can be read at. `None` from a device without a clock.
    ///
    /// # Errors
    /// As [`Device::read`].
    pub fn read(&mut self) -> Result<Option<(f64, u64)>, Error> {
        let sizes = self
            .problem
            .buffers()
            .into_iter()
            .map(|buffer| buffer.bytes);
        let Some((index, bytes)) = sizes.enumerate().max_by_key(|&(_, bytes)| bytes) else {
            return Ok(None);
        };
        self.next()?;
        self.device.hold(HOLD_NS)?;
        let ran = self.device.read(self.sets[self.at].buffers[index])?;
        Ok(ran.time_ns.map(|time| (time, bytes / 16 * 16)))
    }

    fn poison(&mut self) -> Result<(), Error> {
        let buffers = self.problem.buffers();
        for (id, buffer) in self.sets[self.at].buffers.iter().zip(buffers) {
            if buffer.role == Role::Output {
                self.device.fill(*id, POISON)?;
            }
        }
        Ok(())
    }

    /// The parts of the outputs that a check of this launch wants, as the last launch left them.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails.
    pub fn outputs(&mut self, launch: &Launch) -> Result<Vec<Vec<u8>>, Error> {
        let mut outputs = Vec::new();
        for wanted in self.problem.wanted(launch) {
            let mut bytes = vec![0; wanted.bytes];
            let id = self.sets[self.at].buffers[wanted.buffer];
            self.device.download(id, &mut bytes)?;
            outputs.push(bytes);
        }
        Ok(outputs)
    }

    /// Takes the next set of buffers, as a timed launch wants to find it.
    fn next(&mut self) -> Result<(), Error> {
        self.at = (self.at + 1) % self.sets.len();
        self.prepare()?;
        if self.is_soiled
            && let Some(scratch) = self.scratch
        {
            self.device.read(scratch)?;
        }
        self.is_soiled = false;
        Ok(())
    }

    /// Makes the inputs and the sums of the set what they were.
    fn prepare(&mut self) -> Result<(), Error> {
        if self.sets[self.at].dirty {
            self.restore(self.at)?;
        }
        for (id, buffer) in self.sets[self.at]
            .buffers
            .iter()
            .zip(self.problem.buffers())
        {
            if buffer.role == Role::Sum {
                self.device.fill(*id, 0)?;
            }
        }
        Ok(())
    }

    fn launch(&mut self, rung: &Rung, launch: &Launch) -> Result<Ran, Error> {
        let set = &mut self.sets[self.at];
        set.dirty |= rung.in_place;
        self.is_soiled |= rung.in_place;
        self.device.launch(launch, &set.buffers)
    }

    fn restore(&mut self, set: usize) -> Result<(), Error> {
        let set = &mut self.sets[set];
        for (index, buffer) in self.problem.buffers().iter().enumerate() {
            let id = set.buffers[index];
            match self.copies[index] {
                Some(copy) => self.device.copy(copy, id)?,
                None if buffer.role == Role::Input => {
                    self.device.upload(id, self.problem.input(index))?;
                }
                None => {}
            }
        }
        set.dirty = false;
        self.is_soiled = true;
        Ok(())
    }
}

/// On the SIMT machine, launches can be watched.
impl Session<'_, Sim> {
    /// Launches once, as [`Session::check`] does, with an observer: [`Sim::observe`].
    ///
    /// # Errors
    /// As there.
    pub fn observe<O: Observer>(
        &mut self,
        rung: &Rung,
        launch: &Launch,
        chosen: Option<&[u64]>,
        observer: impl FnOnce(&Function) -> O,
    ) -> Result<O, Error> {
        self.prepare()?;
        self.poison()?;
        let set = &mut self.sets[self.at];
        set.dirty |= rung.in_place;
        self.device.observe(launch, &set.buffers, chosen, observer)
    }

    /// Compares what the last launch left with the reference.
    ///
    /// # Errors
    /// What the device refuses. A wrong result is a [`Verdict`].
    pub fn verdict(&mut self, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        let outputs = self.outputs(launch)?;
        Ok(self.problem.check(rung, launch, &outputs))
    }

    /// Where the problem's buffers are in memory: their first addresses and their bytes.
    ///
    /// # Errors
    /// None while the session has its buffers.
    pub fn ranges(&self) -> Result<Vec<(u64, u64)>, Error> {
        let buffers = self.sets[self.at].buffers.iter();
        buffers.map(|&id| self.device.range(id)).collect()
    }
}

/// Whether a set of buffers fits, with a copy of the inputs or without.
fn check_room<D: Device + ?Sized>(
    device: &D,
    problem: &dyn Problem,
    restorable: bool,
) -> Result<(), Error> {
    let copies = |role| {
        if restorable && role == Role::Input {
            2
        } else {
            1
        }
    };
    let buffers = problem.buffers();
    let need: u64 = buffers
        .iter()
        .map(|buffer| buffer.bytes * copies(buffer.role))
        .sum();
    let Some(free) = device.free_bytes() else {
        return Ok(());
    };
    let room = free.saturating_sub(HEADROOM);
    if need <= room {
        return Ok(());
    }
    let fits = if room > 0 {
        problem.smaller(room as f64 / need as f64)
    } else {
        None
    };
    Err(Error::NotEnoughMemory {
        size: problem.size(),
        need,
        free,
        fits,
    })
}

/// What does not fit into the host's address space did not fit into the device either.
fn host_size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// What a checked launch brought.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Whether its result was right.
    pub verdict: Verdict,
    /// What there is to see of it.
    pub picture: Option<Picture>,
    /// What the device says of it.
    pub ran: Ran,
}

impl<D: Device + ?Sized> Drop for Session<'_, D> {
    fn drop(&mut self) {
        let buffers = self.sets.iter().flat_map(|set| &set.buffers);
        let others = self.copies.iter().flatten().chain(&self.scratch);
        for &id in buffers.chain(others) {
            self.device.free(id);
        }
    }
}
