//! A problem on a device: uploaded once, then launched, checked and timed.

mod buffers;

use simt::Function;
use simt::observe::Observer;

use crate::device::{Device, Enqueue, LaunchResult, Sim};
use crate::error::Error;
use crate::launch::Launch;
use crate::problem::{Picture, Problem, Verdict};
use crate::registry::Rung;
use crate::stats::Samples;
use buffers::{Buffers, Outputs};

/// Launches before the first that is timed.
pub const WARM_UP: u32 = 3;

/// How long the device is held before a timed launch, in nanoseconds: longer than the driver takes to
/// enqueue it.
const HOLD_NS: u64 = 30_000;

/// A problem on a device: its buffers, filled, and what was learned of each launch.
pub struct Session<'a, D: Device + ?Sized = dyn Device + 'a> {
    buffers: Buffers<'a, D>,
    problem: &'a dyn Problem,
}

impl<'a, D: Device + ?Sized> Session<'a, D> {
    /// Allocates the problem's buffers and fills its inputs. `restorable` keeps a second copy of them on
    /// the device, to restore them from; without it they are uploaded again when a rung destroyed them.
    ///
    /// # Errors
    /// [`Error::NotEnoughMemory`] when the buffers do not fit into what the device or the host has free, before
    /// anything is allocated or computed; [`Error::Device`] when the device fails.
    pub fn new(
        device: &'a mut D,
        problem: &'a dyn Problem,
        restorable: bool,
    ) -> Result<Self, Error> {
        let buffers = Buffers::new(device, problem, restorable)?;
        Ok(Self { buffers, problem })
    }

    /// A session for [`Session::time`]: with copies to restore inputs from, and on a device with a known L2
    /// cache with what it takes to find the data outside it. Where the data of a launch are less than 4
    /// times the cache there are as many sets of buffers as are that much together, at most 64 and in at
    /// most half of the free memory, and launches take them in turn.
    ///
    /// # Errors
    /// When [`Session::new`] fails, and when the further buffers cannot be allocated.
    pub fn timed(device: &'a mut D, problem: &'a dyn Problem) -> Result<Self, Error> {
        let mut session = Self::new(device, problem, true)?;
        session.buffers.rotate()?;
        Ok(session)
    }

    /// How many sets of buffers launches take in turn.
    pub fn sets(&self) -> usize {
        self.buffers.sets()
    }

    /// As [`Device::check_supported`].
    pub fn check_supported(&self, launch: &Launch) -> Option<Error> {
        self.buffers.device.check_supported(launch)
    }

    /// Launches once, into poisoned outputs, and compares what comes out with the reference.
    ///
    /// # Errors
    /// What the device refuses. A wrong result is a [`Verdict`].
    pub fn check(&mut self, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        Ok(self.launch_checked(rung, launch)?.verdict)
    }

    /// Launches once, into poisoned outputs, and gives what the launch left in them: what [`Problem::check`] takes.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn written(&mut self, rung: &Rung, launch: &Launch) -> Result<Vec<Vec<u8>>, Error> {
        self.buffers.prepare()?;
        self.buffers.poison()?;
        self.launch(rung, launch)?;
        Ok(self.buffers.download(launch)?.written)
    }

    /// [`Session::check`], with what the device says of the launch and what there is to see of it.
    ///
    /// # Errors
    /// As there.
    pub fn launch_checked(&mut self, rung: &Rung, launch: &Launch) -> Result<CheckedLaunch, Error> {
        self.buffers.prepare()?;
        self.buffers.poison()?;
        let ran = self.launch(rung, launch)?;
        let outputs = self.buffers.download(launch)?;
        Ok(CheckedLaunch {
            verdict: self.verdict_of(rung, launch, &outputs),
            picture: self.problem.picture(rung, launch, &outputs.written),
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
            let LaunchResult { time_ns, .. } = self.once(rung, launch)?;
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
    pub fn once(&mut self, rung: &Rung, launch: &Launch) -> Result<LaunchResult, Error> {
        self.buffers.next()?;
        self.buffers.device.hold(HOLD_NS)?;
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
        self.buffers.prepare()?;
        self.buffers.poison()?;
        self.buffers.call(what, enqueue)?;
        let outputs = self.buffers.download(launch)?;
        Ok(self.verdict_of(rung, launch, &outputs))
    }

    /// [Calls](Device::call) other code on the problem's buffers, in their order, timed as [`Session::time`] times a
    /// launch. The call must leave its inputs as they are.
    ///
    /// # Errors
    /// [`Error::Call`] when the call fails, [`Error::Device`] when the device does.
    pub fn call(&mut self, what: &str, enqueue: Enqueue<'_>) -> Result<LaunchResult, Error> {
        self.buffers.next()?;
        self.buffers.device.hold(HOLD_NS)?;
        self.buffers.call(what, enqueue)
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
        self.buffers.next()?;
        self.buffers.device.hold(HOLD_NS)?;
        let ran = self.buffers.read(index)?;
        Ok(ran.time_ns.map(|time| (time, bytes / 16 * 16)))
    }

    /// What is wrong inside of the outputs comes before what is wrong behind them.
    fn verdict_of(&self, rung: &Rung, launch: &Launch, outputs: &Outputs) -> Verdict {
        match self.problem.check(rung, launch, &outputs.written) {
            Verdict::Right => match &outputs.violation {
                Some(why) => Verdict::Wrong(why.clone()),
                None => Verdict::Right,
            },
            wrong @ Verdict::Wrong(_) => wrong,
        }
    }

    fn launch(&mut self, rung: &Rung, launch: &Launch) -> Result<LaunchResult, Error> {
        let (device, ids) = self.buffers.for_launch_of(rung);
        device.launch(launch, ids)
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
        self.buffers.prepare()?;
        self.buffers.poison()?;
        let (device, ids) = self.buffers.for_launch_of(rung);
        device.observe(launch, ids, chosen, observer)
    }

    /// Compares what the last launch left with the reference.
    ///
    /// # Errors
    /// What the device refuses. A wrong result is a [`Verdict`].
    pub fn verdict(&mut self, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        let outputs = self.buffers.download(launch)?;
        Ok(self.verdict_of(rung, launch, &outputs))
    }

    /// Where the problem's buffers are in memory: their first addresses and their bytes.
    ///
    /// # Errors
    /// None while the session has its buffers.
    pub fn ranges(&self) -> Result<Vec<(u64, u64)>, Error> {
        let ids = self.buffers.ids().iter();
        ids.map(|&id| self.buffers.device.range(id)).collect()
    }
}

/// What a checked launch brought.
#[derive(Clone, Debug)]
pub struct CheckedLaunch {
    /// Whether its result was right.
    pub verdict: Verdict,
    /// What there is to see of it.
    pub picture: Option<Picture>,
    /// What the device says of it.
    pub ran: LaunchResult,
}
