//! A problem on a device: its data are uploaded once, then launches are checked and timed on them.

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

/// A problem whose buffers are allocated and filled on a device.
pub struct Session<'a, D: Device + ?Sized = dyn Device + 'a> {
    buffers: Buffers<'a, D>,
    problem: &'a dyn Problem,
}

impl<'a, D: Device + ?Sized> Session<'a, D> {
    /// Allocates the problem's buffers and fills its inputs. With `restorable`, a second copy of the inputs stays on
    /// the device to restore them from; without it, they are uploaded again after a rung has destroyed them.
    ///
    /// # Errors
    /// Returns [`Error::NotEnoughMemory`] when the buffers do not fit into what the device or the host has free, before
    /// anything is allocated or computed; [`Error::Device`] when the device fails.
    pub fn new(device: &'a mut D, problem: &'a dyn Problem, restorable: bool) -> Result<Self, Error> {
        let buffers = Buffers::new(device, problem, restorable)?;
        Ok(Self { buffers, problem })
    }

    /// Makes a session for [`Session::time`], which can restore inputs and, on a device with a known L2 cache, runs
    /// launches on data outside of that cache. When the data of a launch are smaller than 4 times the cache, the
    /// session allocates several sets of buffers that are this large together, at most 64 sets and at most half of the
    /// free memory, and launches rotate through them.
    ///
    /// # Errors
    /// When [`Session::new`] fails, and when the further buffers cannot be allocated.
    pub fn timed(device: &'a mut D, problem: &'a dyn Problem) -> Result<Self, Error> {
        let mut session = Self::new(device, problem, true)?;
        session.buffers.rotate()?;
        Ok(session)
    }

    /// Returns the number of sets of buffers that launches rotate through.
    pub fn sets(&self) -> usize {
        self.buffers.sets()
    }

    /// Returns the reason why the device does not support the launch: [`Device::check_supported`].
    pub fn check_supported(&self, launch: &Launch) -> Option<Error> {
        self.buffers.device.check_supported(launch)
    }

    /// Launches once with poisoned outputs, and compares the outputs with the reference.
    ///
    /// # Errors
    /// Returns [`Error::Launch`], [`Error::NeedsNewer`] or [`Error::Ptx`] when the device cannot run the launch,
    /// [`Error::Device`] when a copy fails. A wrong result is a [`Verdict`].
    pub fn check(&mut self, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        Ok(self.launch_checked(rung, launch)?.verdict)
    }

    /// Launches like [`Session::launch_checked`]. A launch that fails has a wrong result too.
    ///
    /// # Errors
    /// Returns [`Error::Interrupted`] when somebody ended the launch, and when [`Session::launch_checked`] fails with anything but
    /// [`Error::Launch`].
    pub fn attempt(&mut self, rung: &Rung, launch: &Launch) -> Result<Step, Error> {
        Step::or_failed(self.launch_checked(rung, launch))
    }

    /// Returns whether the device runs further launches: after one that has failed, not each does ([`Device::is_usable`]).
    pub fn is_usable_after(&mut self, has_failed: bool) -> bool {
        !has_failed || self.buffers.device.is_usable()
    }

    /// In which order launches execute blocks, warps and diverged lanes: [`Device::schedule`].
    pub fn schedule(&self) -> Schedule {
        self.buffers.device.schedule()
    }

    /// What the device's checks have found since the last time: [`Device::take_findings`].
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.buffers.device.take_findings()
    }

    /// What the device's checks could not do since the last time: [`Device::take_notes`].
    pub fn take_notes(&mut self) -> Vec<String> {
        self.buffers.device.take_notes()
    }

    /// [Attempts](Session::attempt) a launch under another schedule than the device's, where memory that is not initialized holds
    /// other bytes too, without further checks.
    ///
    /// # Errors
    /// Returns the errors of [`Session::attempt`].
    pub fn check_under(&mut self, schedule: Schedule, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        let usual = (self.buffers.device.schedule(), self.buffers.device.checks());
        self.buffers.device.set_schedule(schedule);
        self.buffers.device.set_checks(Checks::NONE);
        let attempt = self.attempt(rung, launch);
        self.buffers.device.set_schedule(usual.0);
        self.buffers.device.set_checks(usual.1);
        Ok(attempt?.verdict)
    }

    /// Launches once with poisoned outputs, and returns the outputs in the form that [`Problem::check`] takes.
    ///
    /// # Errors
    /// Returns the errors of [`Session::check`].
    pub fn written(&mut self, rung: &Rung, launch: &Launch) -> Result<Vec<Vec<u8>>, Error> {
        self.launch(rung, launch, Buffers::prepare_poisoned)?;
        Ok(self.buffers.download(launch)?.written)
    }

    /// Launches like [`Session::check`], and returns the device's measurements and the picture of the launch as well.
    ///
    /// # Errors
    /// Returns the errors of [`Session::check`].
    pub fn launch_checked(&mut self, rung: &Rung, launch: &Launch) -> Result<Step, Error> {
        let ran = self.launch(rung, launch, Buffers::prepare_poisoned)?;
        let outputs = self.buffers.download(launch)?;
        let picture = self.problem.picture(rung, launch, &outputs.written);
        Ok(Step { picture, ran, ..self.verdict_of(rung, launch, &outputs).into() })
    }

    /// Launches [`WARM_UP`] times and then `runs` times, and measures each of the latter with the device's clock.
    /// `None` when the device has no clock.
    ///
    /// # What a launch's time includes
    /// The time of the kernel from its first block to its last, and nothing around it:
    /// - Inputs that a rung has destroyed are restored before the launch, from a copy on the device.
    /// - The data of a launch are not in the L2 cache when it begins, if [`Session::timed`] found enough memory:
    ///   either they are several times larger than the cache, or the launch runs on the next of several sets of
    ///   buffers. The cache does hold modified data of the preceding launch, which have to be written back, just as
    ///   this launch leaves its own outputs to its successor. As rungs are timed one at a time, each launch pays for
    ///   one such write-back.
    /// - Restored inputs, and inputs that an in-place rung has changed, may still be in the cache. In this case a
    ///   kernel that writes nothing reads memory of twice the cache's size before the launch, until they are evicted.
    /// - The launch is enqueued while the device is still busy with [`Device::hold`], so that the time does not
    ///   include the driver's.
    ///
    /// # Errors
    /// When [`Session::check`] fails, and with [`Error::Ptx`] or [`Error::Device`] when [`Device::hold`] or
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

    /// [Calls](Device::call) other code on the problem's buffers, in their order, with poisoned outputs, and lets `check`
    /// check the outputs, which are those of `launch`. The call must not change its inputs.
    ///
    /// # Errors
    /// Returns [`Error::Call`] when the call fails, [`Error::Device`] when the device does. A wrong result is a [`Verdict`].
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

    /// [Calls](Device::call) other code on the problem's buffers, in their order, timed as [`Session::time`] times a
    /// launch. The call must not change its inputs.
    ///
    /// # Errors
    /// Returns [`Error::Call`] when the call fails, [`Error::Device`] when the device does.
    pub fn call(&mut self, what: &str, enqueue: Enqueue<'_>) -> Result<LaunchResult, Error> {
        self.buffers.next()?;
        self.buffers.call(what, enqueue)
    }

    /// Reads the problem's largest buffer once with [`Device::read`], and returns the time and the buffer's size: the
    /// bandwidth that this memory can be read at. `None` when the device has no clock.
    ///
    /// # Errors
    /// When [`Device::hold`] or [`Device::read`] fails.
    pub fn read(&mut self) -> Result<Option<(f64, u64)>, Error> {
        let buffers = self.buffers.described();
        let sizes = buffers.iter().map(|buffer| buffer.bytes).enumerate();
        let Some((index, bytes)) = sizes.max_by_key(|&(_, bytes)| bytes) else {
            return Ok(None);
        };
        self.buffers.next()?;
        let ran = self.buffers.read(index)?;
        Ok(ran.time_ns.map(|time| (time, bytes / 16 * 16)))
    }

    /// Returns the device, and the buffers of the problem.
    pub fn device_and_buffers(&mut self) -> (&mut D, &[crate::device::BufferId]) {
        self.buffers.device_and_ids()
    }

    /// Runs launches one after another, with outputs that are poisoned before the first one, and with other work after each.
    ///
    /// # Errors
    /// Returns the errors of [`Device::launch_with`].
    ///
    /// # Safety
    /// The launches' kernels must access only the problem's buffers, as those of [`Ladder::launch`](crate::Ladder::launch) do.
    pub unsafe fn launch_poisoned(
        &mut self,
        rung: &Rung,
        launches: &[Launch],
        after: EnqueueAfter<'_>,
    ) -> Result<LaunchResult, Error> {
        self.buffers.prepare_poisoned()?;
        let (device, ids) = self.buffers.for_launch_of(rung);
        // SAFETY: the kernels access only the buffers.
        unsafe { device.launch_with((launches, 1), ids, &mut |_, _| Ok(()), after) }
    }

    /// Returns the outputs of a launch, and a description of memory that the launch changed although it must not.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when a copy fails.
    pub fn outputs(&mut self, launch: &Launch) -> Result<(Vec<Vec<u8>>, Option<String>), Error> {
        let Outputs { written, violation } = self.buffers.download(launch)?;
        Ok((written, violation))
    }

    /// Runs launches with other work around them, timed like a launch by [`Session::time`]: [`Device::launch_with`].
    ///
    /// # Errors
    /// Returns the errors of [`Device::launch_with`].
    ///
    /// # Safety
    /// The launches' kernels must access only the problem's buffers, as for [`Session::launch_poisoned`].
    pub unsafe fn once_with(
        &mut self,
        rung: &Rung,
        launches: &[Launch],
        before: Enqueue<'_>,
        after: EnqueueAfter<'_>,
    ) -> Result<LaunchResult, Error> {
        self.buffers.next()?;
        let (device, ids) = self.buffers.for_launch_of(rung);
        // SAFETY: the kernels access only the buffers.
        unsafe { device.launch_with((launches, 1), ids, before, after) }
    }

    fn verdict_of(&self, rung: &Rung, launch: &Launch, outputs: &Outputs) -> Verdict {
        outputs.verdict(self.problem.check(rung, launch, &outputs.written))
    }

    /// Compares the launch's arguments with the problem's, lets `prepare` prepare the buffers, and launches. No other work
    /// runs between the end of `prepare` and the launch, because `prepare` may hold the device for a timed launch.
    ///
    /// # Errors
    /// Returns [`Error::Launch`] when the launch has other arguments than the problem gives the rung, and when `prepare` or
    /// [`Device::launch`] fails.
    fn launch(
        &mut self,
        rung: &Rung,
        launch: &Launch,
        prepare: impl FnOnce(&mut Buffers<'a, D>) -> Result<(), Error>,
    ) -> Result<LaunchResult, Error> {
        if launch.args != crate::registry::arguments(rung, self.problem, self.buffers.device.info().properties())? {
            return Err(Error::launch(launch, "its arguments are not those of the problem"));
        }
        prepare(&mut self.buffers)?;
        let (device, ids) = self.buffers.for_launch_of(rung);
        // SAFETY: the arguments are those of the problem, whose implementation promises that its ladder's kernels access only
        // the buffers with them.
        unsafe { device.launch(launch, ids) }
    }
}

/// The results of a checked launch. A process can send them to another one, without what only a simulator gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Whether its result was right.
    pub verdict: Verdict,
    /// Whether the device supports the launch. If not, it did not run, and the verdict has the reason.
    pub is_supported: bool,
    /// Whether the launch failed; the verdict has the device's words.
    pub has_failed: bool,
    /// A picture of its values, when the ladder shows one.
    pub picture: Option<Picture>,
    /// Its times, when it was timed.
    pub samples: Option<Samples>,
    /// The device's measurements.
    #[serde(skip)]
    pub ran: LaunchResult,
    /// The schedule that it ran under, if it was not the usual one.
    #[serde(skip)]
    pub schedule: Option<String>,
    /// The findings of the sanitizers, in the results of [`steps`](crate::run::steps).
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// What else there is to say of the sanitizers, a sentence each.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// The number of sets of buffers that launches rotate through.
    pub sets: usize,
    /// Whether its process can run further launches.
    pub is_usable: bool,
}

impl From<Verdict> for Step {
    /// Returns the results of a launch of which only the verdict is known.
    fn from(verdict: Verdict) -> Self {
        let (picture, samples, ran, schedule, findings, notes) = Default::default();
        let (is_supported, has_failed, sets, is_usable) = (true, false, 1, true);
        Self { verdict, is_supported, has_failed, picture, samples, ran, schedule, findings, notes, sets, is_usable }
    }
}

impl Step {
    /// A launch that the device does not support, for this reason.
    pub fn unsupported(why: &Error) -> Self {
        Self { is_supported: false, ..Verdict::Wrong(why.to_string()).into() }
    }

    /// A launch that has failed for this reason, and has ended its process if not `is_usable`.
    pub fn failed(why: &str, is_usable: bool) -> Self {
        Self { has_failed: true, is_usable, ..Verdict::Wrong(format!("failed: {why}")).into() }
    }

    /// These results, where [`Error::Launch`] is a wrong one, unless the launch failed because the user ended it.
    pub(crate) fn or_failed(checked: Result<Self, Error>) -> Result<Self, Error> {
        match checked {
            Err(Error::Launch { .. }) if is_interrupted() => Err(Error::Interrupted),
            Err(Error::Launch { reason, .. }) => Ok(Self::failed(&reason, true)),
            checked => checked,
        }
    }
}
