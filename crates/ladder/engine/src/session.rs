//! A problem on a device. Its data are uploaded once. Then launches are checked and timed on these data.

mod buffers;
#[cfg(not(target_family = "wasm"))]
mod sim;

use serde::{Deserialize, Serialize};
use simt::run::is_interrupted;

use crate::device::{Checks, Device, Enqueue, EnqueueAfter, Finding, LaunchResult, Schedule};
use crate::error::Error;
use crate::launch::Launch;
use crate::problem::{Picture, Problem, Verdict};
use crate::registry::Rung;
use crate::stats::Samples;
use buffers::{Buffers, Outputs};

/// The number of launches before the first timed one.
pub const WARM_UP: u32 = 3;

/// A problem with its buffers allocated and filled on a device.
pub struct Session<'a, D: Device + ?Sized = dyn Device + 'a> {
    buffers: Buffers<'a, D>,
    problem: &'a dyn Problem,
}

impl<'a, D: Device + ?Sized> Session<'a, D> {
    /// Allocates the problem's buffers and fills its inputs. With `restorable`, the device keeps a second copy of the
    /// inputs, from which the inputs can be restored. Otherwise the inputs are uploaded again after a rung overwrites
    /// them.
    ///
    /// # Errors
    /// Returns [`Error::NotEnoughMemory`] when the buffers do not fit into the free memory of the device or the host,
    /// before anything is allocated or computed; [`Error::Device`] when the device fails.
    pub fn new(device: &'a mut D, problem: &'a dyn Problem, restorable: bool) -> Result<Self, Error> {
        let buffers = Buffers::new(device, problem, restorable)?;
        Ok(Self { buffers, problem })
    }

    /// Creates a session for [`Session::time`] that can restore inputs. On a device whose L2 cache size is known, the
    /// session runs launches on data outside of that cache. If the data of a launch are smaller than 4 times the cache,
    /// the session allocates several sets of buffers whose total size is 4 times the cache. It allocates at most 64
    /// sets, and uses at most half of the free memory. The launches rotate through the sets.
    ///
    /// # Errors
    /// Returns the errors of [`Session::new`], and an error when the further buffers cannot be allocated.
    pub fn timed(device: &'a mut D, problem: &'a dyn Problem) -> Result<Self, Error> {
        let mut session = Self::new(device, problem, true)?;
        session.buffers.rotate()?;
        Ok(session)
    }

    /// Returns the number of buffer sets that launches rotate through.
    pub fn sets(&self) -> usize {
        self.buffers.sets()
    }

    /// Returns the reason why the device does not support the launch: [`Device::check_supported`].
    pub fn check_supported(&self, launch: &Launch) -> Option<Error> {
        self.buffers.device.check_supported(launch)
    }

    /// Launches once with poisoned outputs and compares the outputs with the reference.
    ///
    /// # Errors
    /// Returns [`Error::Launch`], [`Error::NeedsNewer`] or [`Error::Ptx`] when the device cannot run the launch,
    /// [`Error::Device`] when a copy fails. A wrong result is not an error: the [`Verdict`] reports it.
    pub fn check(&mut self, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        Ok(self.launch_checked(rung, launch)?.verdict)
    }

    /// Launches like [`Session::launch_checked`]. A failed launch counts as a wrong result.
    ///
    /// # Errors
    /// Returns [`Error::Interrupted`] when the user interrupts the launch, and all errors of
    /// [`Session::launch_checked`] except [`Error::Launch`].
    pub fn attempt(&mut self, rung: &Rung, launch: &Launch) -> Result<Step, Error> {
        Step::or_failed(self.launch_checked(rung, launch))
    }

    /// Returns whether the device can run further launches. After a failed launch, some devices cannot: see
    /// [`Device::is_usable`].
    pub fn is_usable_after(&mut self, has_failed: bool) -> bool {
        !has_failed || self.buffers.device.is_usable()
    }

    /// Returns the order in which launches execute blocks, warps and diverged lanes: [`Device::schedule`].
    pub fn schedule(&self) -> Schedule {
        self.buffers.device.schedule()
    }

    /// Returns the sanitizers' findings since the last call: [`Device::take_findings`].
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.buffers.device.take_findings()
    }

    /// Returns notes on what the sanitizers could not check since the last call: [`Device::take_notes`].
    pub fn take_notes(&mut self) -> Vec<String> {
        self.buffers.device.take_notes()
    }

    /// [Attempts](Session::attempt) a launch under another schedule, without sanitizers. Another schedule also fills
    /// uninitialized memory with other bytes.
    ///
    /// # Errors
    /// Returns the errors of [`Session::attempt`].
    pub fn check_under(&mut self, schedule: Schedule, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        let previous = (self.buffers.device.schedule(), self.buffers.device.checks());
        self.buffers.device.set_schedule(schedule);
        self.buffers.device.set_checks(Checks::NONE);
        let attempt = self.attempt(rung, launch);
        self.buffers.device.set_schedule(previous.0);
        self.buffers.device.set_checks(previous.1);
        Ok(attempt?.verdict)
    }

    /// Launches once with poisoned outputs and returns the outputs in the form that [`Problem::check`] accepts.
    ///
    /// # Errors
    /// Returns the errors of [`Session::check`].
    pub fn written(&mut self, rung: &Rung, launch: &Launch) -> Result<Vec<Vec<u8>>, Error> {
        self.launch(rung, launch, Buffers::prepare_poisoned)?;
        Ok(self.buffers.download(launch)?.written)
    }

    /// Launches like [`Session::check`], and also returns the device's measurements and the picture of the launch.
    ///
    /// # Errors
    /// Returns the errors of [`Session::check`].
    pub fn launch_checked(&mut self, rung: &Rung, launch: &Launch) -> Result<Step, Error> {
        let launch_result = self.launch(rung, launch, Buffers::prepare_poisoned)?;
        let outputs = self.buffers.download(launch)?;
        let picture = self.problem.picture(rung, launch, &outputs.written);
        Ok(Step { picture, ran: launch_result, ..self.verdict_of(rung, launch, &outputs).into() })
    }

    /// Launches [`WARM_UP`] times and then `runs` times, and measures each of the `runs` launches with the device's
    /// clock. Returns `None` when the device has no clock.
    ///
    /// # What a launch's time includes
    /// The time covers the kernel from its first block to its last and nothing else:
    /// - Inputs that a rung overwrites are restored before the launch, from a copy on the device.
    /// - The data of a launch are not in the L2 cache when it starts, if [`Session::timed`] found enough memory: either
    ///   they are several times larger than the cache, or the launch runs on the next of several sets of buffers. The
    ///   cache does hold modified data of the preceding launch, which must be written back. Because rungs are timed one
    ///   at a time, each launch pays for one such write-back and leaves another to the next launch.
    /// - Restored inputs, and inputs that an in-place rung changed, may still be in the cache. In this case, a kernel
    ///   that writes nothing evicts them before the launch: it reads memory of twice the cache's size.
    /// - The launch is enqueued while [`Device::hold`] keeps the device busy, so that the time does not
    ///   include the driver's overhead.
    ///
    /// # Errors
    /// Returns the errors of [`Session::check`], and [`Error::Ptx`] or [`Error::Device`] when [`Device::hold`] or
    /// [`Device::read`] fails.
    pub fn time(&mut self, rung: &Rung, launch: &Launch, runs: u32) -> Result<Option<Samples>, Error> {
        let mut samples = Vec::with_capacity(runs as usize);
        for run in 0..WARM_UP.saturating_add(runs) {
            let Some(time_ns) = self.once(rung, launch)?.time_ns else {
                return Ok(None);
            };
            if run >= WARM_UP {
                samples.push(time_ns);
            }
        }
        Ok(Samples::new(samples))
    }

    /// Launches once as [`Session::time`] does, and returns the device's measurements.
    ///
    /// # Errors
    /// Returns the errors of [`Session::time`].
    pub fn once(&mut self, rung: &Rung, launch: &Launch) -> Result<LaunchResult, Error> {
        self.launch(rung, launch, Buffers::next)
    }

    /// [Calls](Device::call) other code on the problem's buffers, in their order, with poisoned outputs. Then checks
    /// the outputs of the call with `check`, as if they were the outputs of `launch`. The call must not change the
    /// inputs.
    ///
    /// # Errors
    /// Returns [`Error::Call`] when the call fails, [`Error::Device`] when the device fails. A wrong result is not an
    /// error: the [`Verdict`] reports it.
    pub fn check_call(
        &mut self,
        launch: &Launch,
        what: &str,
        enqueue: Enqueue<'_>,
        check: impl FnOnce(&dyn Problem, &[Vec<u8>]) -> Verdict,
    ) -> Result<Verdict, Error> {
        self.buffers.prepare_poisoned()?;
        self.buffers.call(what, enqueue)?;
        let outputs = self.buffers.download(launch)?;
        Ok(outputs.verdict(check(self.problem, &outputs.written)))
    }

    /// [Calls](Device::call) other code on the problem's buffers, in their order, timed like a launch by
    /// [`Session::time`]. The call must not change the inputs.
    ///
    /// # Errors
    /// Returns [`Error::Call`] when the call fails, [`Error::Device`] when the device fails.
    pub fn call(&mut self, what: &str, enqueue: Enqueue<'_>) -> Result<LaunchResult, Error> {
        self.buffers.next()?;
        self.buffers.call(what, enqueue)
    }

    /// Reads the problem's largest buffer once with [`Device::read`], and returns the time and the buffer's size.
    /// Together, these yield the read bandwidth of the memory that holds the buffer. Returns `None` when the device has
    /// no clock.
    ///
    /// # Errors
    /// Returns the errors of [`Device::hold`] and [`Device::read`].
    pub fn read(&mut self) -> Result<Option<(f64, u64)>, Error> {
        let buffers = self.buffers.described();
        let sizes = buffers.iter().map(|buffer| buffer.bytes).enumerate();
        let Some((index, bytes)) = sizes.max_by_key(|&(_, bytes)| bytes) else {
            return Ok(None);
        };
        self.buffers.next()?;
        let read_result = self.buffers.read(index)?;
        Ok(read_result.time_ns.map(|time| (time, bytes / 16 * 16)))
    }

    /// Returns the device, and the buffers of the problem.
    pub fn device_and_buffers(&mut self) -> (&mut D, &[crate::device::BufferId]) {
        self.buffers.device_and_ids()
    }

    /// Runs launches one after another, with other work after each. The outputs are poisoned before the first launch.
    ///
    /// # Errors
    /// Returns the errors of [`Device::launch_with`].
    ///
    /// # Safety
    /// The caller must ensure that the launches' kernels only access the problem's buffers. The kernels of
    /// [`Ladder::launch`](crate::Ladder::launch) do.
    pub unsafe fn launch_poisoned(
        &mut self,
        rung: &Rung,
        launches: &[Launch],
        after: EnqueueAfter<'_>,
    ) -> Result<LaunchResult, Error> {
        self.buffers.prepare_poisoned()?;
        let (device, ids) = self.buffers.for_launch_of(rung);
        // SAFETY: the caller ensures that the kernels only access the problem's buffers, which are `ids`.
        unsafe { device.launch_with((launches, 1), ids, &mut |_, _| Ok(()), after) }
    }

    /// Returns the outputs of a launch, and a description of any memory that the launch changed but must not change.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when a copy fails.
    pub fn outputs(&mut self, launch: &Launch) -> Result<(Vec<Vec<u8>>, Option<String>), Error> {
        let Outputs { written, violation } = self.buffers.download(launch)?;
        Ok((written, violation))
    }

    /// Runs launches with other work around them and times them like [`Session::time`]: [`Device::launch_with`].
    ///
    /// # Errors
    /// Returns the errors of [`Device::launch_with`].
    ///
    /// # Safety
    /// The caller must ensure that the launches' kernels only access the problem's buffers.
    pub unsafe fn once_with(
        &mut self,
        rung: &Rung,
        launches: &[Launch],
        before: Enqueue<'_>,
        after: EnqueueAfter<'_>,
    ) -> Result<LaunchResult, Error> {
        self.buffers.next()?;
        let (device, ids) = self.buffers.for_launch_of(rung);
        // SAFETY: the caller ensures that the kernels only access the problem's buffers, which are `ids`.
        unsafe { device.launch_with((launches, 1), ids, before, after) }
    }

    fn verdict_of(&self, rung: &Rung, launch: &Launch, outputs: &Outputs) -> Verdict {
        outputs.verdict(self.problem.check(rung, launch, &outputs.written))
    }

    /// Checks that the launch has the problem's arguments, prepares the buffers with `prepare`, and launches. No other
    /// work runs between `prepare` and the launch, because `prepare` may hold the device for a timed launch.
    ///
    /// # Errors
    /// Returns [`Error::Launch`] when the arguments differ from the problem's arguments for the rung, and the errors of
    /// `prepare` and [`Device::launch`].
    fn launch(
        &mut self,
        rung: &Rung,
        launch: &Launch,
        prepare: impl FnOnce(&mut Buffers<'a, D>) -> Result<(), Error>,
    ) -> Result<LaunchResult, Error> {
        if launch.args != crate::registry::arguments(rung, self.problem, self.buffers.device.info().properties())? {
            return Err(Error::launch(launch, "its arguments differ from the problem's arguments"));
        }
        prepare(&mut self.buffers)?;
        let (device, ids) = self.buffers.for_launch_of(rung);
        // SAFETY: the arguments are the problem's arguments. Implementations of `Problem` guarantee that the kernels of
        // their ladder only access the problem's buffers when launched with these arguments.
        unsafe { device.launch(launch, ids) }
    }
}

/// The results of a checked launch. A process can send them to another process, except for results that only the
/// simulator provides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Whether the result of the launch is right.
    pub verdict: Verdict,
    /// Whether the device supports the launch. If not, the launch did not run, and the verdict contains the reason.
    pub is_supported: bool,
    /// Whether the launch failed. The verdict then contains the device's error message.
    pub has_failed: bool,
    /// A picture of the launch's values, if the ladder shows one.
    pub picture: Option<Picture>,
    /// The times of the launches, if the rung was timed.
    pub samples: Option<Samples>,
    /// The device's measurements.
    #[serde(skip)]
    pub ran: LaunchResult,
    /// The schedule of the launch, if it differs from the default.
    #[serde(skip)]
    pub schedule: Option<String>,
    /// The findings of the sanitizers, in results of [`steps`](crate::run::steps).
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// Further notes of the sanitizers, one sentence each.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// The number of buffer sets that launches rotate through.
    pub sets: usize,
    /// Whether the process that ran the launch can run further launches.
    pub is_usable: bool,
}

impl From<Verdict> for Step {
    /// Creates the results of a launch when only its verdict is known.
    fn from(verdict: Verdict) -> Self {
        let (picture, samples, ran, schedule, findings, notes) = Default::default();
        let (is_supported, has_failed, sets, is_usable) = (true, false, 1, true);
        Self { verdict, is_supported, has_failed, picture, samples, ran, schedule, findings, notes, sets, is_usable }
    }
}

impl Step {
    /// Creates the results of a launch that the device does not support, with the reason.
    pub fn unsupported(why: &Error) -> Self {
        Self { is_supported: false, ..Verdict::Wrong(why.to_string()).into() }
    }

    /// Creates the results of a launch that failed for this reason. Unless `is_usable`, the process can run no further
    /// launches.
    pub fn failed(why: &str, is_usable: bool) -> Self {
        Self { has_failed: true, is_usable, ..Verdict::Wrong(format!("failed: {why}")).into() }
    }

    /// Turns [`Error::Launch`] into a wrong result, unless the launch failed because the user interrupted it.
    pub(crate) fn or_failed(checked: Result<Self, Error>) -> Result<Self, Error> {
        match checked {
            Err(Error::Launch { .. }) if is_interrupted() => Err(Error::Interrupted),
            Err(Error::Launch { reason, .. }) => Ok(Self::failed(&reason, true)),
            checked => checked,
        }
    }
}
