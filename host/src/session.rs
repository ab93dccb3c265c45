//! A problem on a device: uploaded once, then launched, checked and timed.

use crate::device::{BufferId, Device, Ran};
use crate::error::Error;
use crate::launch::Launch;
use crate::problem::{POISON, Picture, Problem, Role, Verdict};
use crate::registry::Rung;
use crate::stats::Samples;

/// Launches before the first that is timed.
pub const WARM_UP: u32 = 3;

/// Device memory kept free beside the buffers, for the driver's own and the kernels' module.
const HEADROOM: u64 = 64 << 20;

/// A problem on a device: its buffers, filled, and what was learned of each launch.
pub struct Session<'a> {
    device: &'a mut dyn Device,
    problem: &'a dyn Problem,
    buffers: Vec<BufferId>,
    /// A copy on the device of each input, to restore it from.
    copies: Vec<(BufferId, BufferId)>,
    /// Whether an in-place rung has destroyed the inputs.
    dirty: bool,
}

impl<'a> Session<'a> {
    /// Allocates the problem's buffers and fills its inputs. `restorable` keeps a second copy of them on
    /// the device, to restore them from; without it they are uploaded again when a rung destroyed them.
    ///
    /// # Errors
    /// [`Error::NotEnoughMemory`] where the buffers do not fit into what the device has free, before
    /// anything is allocated or computed; what the device refuses.
    pub fn new(
        device: &'a mut dyn Device,
        problem: &'a dyn Problem,
        restorable: bool,
    ) -> Result<Self, Error> {
        let wanted = problem.buffers();
        let copies = |role| {
            if restorable && role == Role::Input {
                2
            } else {
                1
            }
        };
        let need: u64 = wanted
            .iter()
            .map(|buffer| buffer.bytes * copies(buffer.role))
            .sum();
        if let Some(free) = device.free_bytes() {
            let room = free.saturating_sub(HEADROOM);
            if need > room {
                let fits = if room > 0 {
                    problem.smaller(room as f64 / need as f64)
                } else {
                    None
                };
                return Err(Error::NotEnoughMemory {
                    size: problem.size(),
                    need,
                    free,
                    fits,
                });
            }
        }
        let mut session = Self {
            device,
            problem,
            buffers: Vec::new(),
            copies: Vec::new(),
            dirty: false,
        };
        for (index, buffer) in wanted.iter().enumerate() {
            // What does not fit into the host's address space did not fit into the device either.
            let bytes = usize::try_from(buffer.bytes).unwrap_or(usize::MAX);
            let id = session.device.alloc(bytes)?;
            session.buffers.push(id);
            if buffer.role == Role::Input {
                session.device.upload(id, problem.input(index))?;
                if restorable {
                    let copy = session.device.alloc(bytes)?;
                    session.copies.push((copy, id));
                    session.device.copy(id, copy)?;
                }
            }
        }
        Ok(session)
    }

    /// As [`Device::lacks`].
    pub fn lacks(&self, launch: &Launch) -> Option<Error> {
        self.device.lacks(launch)
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
        if self.dirty {
            self.restore()?;
        }
        for (id, buffer) in self.buffers.iter().zip(self.problem.buffers()) {
            if buffer.role == Role::Output {
                self.device.fill(*id, POISON)?;
            }
        }
        let ran = self.launch(rung, launch)?;
        let mut outputs = Vec::new();
        for wanted in self.problem.wanted(launch) {
            let mut bytes = vec![0; wanted.bytes];
            self.device
                .download(self.buffers[wanted.buffer], &mut bytes)?;
            outputs.push(bytes);
        }
        Ok(Tried {
            verdict: self.problem.check(rung, launch, &outputs),
            picture: self.problem.picture(rung, launch, &outputs),
            ran,
        })
    }

    /// Launches [`WARM_UP`] times and then `runs` times, and takes each of those launches' time on the
    /// device's clock. `None` from a device that has none.
    ///
    /// The inputs are restored before every launch, outside the time, and for rungs that leave them alone
    /// as well: so all rungs start from the same state of the cache, and each launch is enqueued while the
    /// copy before it still runs, so that the time is the kernel's and not the driver's.
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
            self.restore()?;
            let Ran { time_ns, .. } = self.launch(rung, launch)?;
            let Some(time_ns) = time_ns else {
                return Ok(None);
            };
            if run >= WARM_UP {
                samples.push(time_ns);
            }
        }
        Ok(Samples::new(samples))
    }

    /// Launches once with the inputs restored, and gives what the device says of it.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn once(&mut self, rung: &Rung, launch: &Launch) -> Result<Ran, Error> {
        self.restore()?;
        self.launch(rung, launch)
    }

    fn launch(&mut self, rung: &Rung, launch: &Launch) -> Result<Ran, Error> {
        self.dirty |= rung.in_place;
        for (id, buffer) in self.buffers.iter().zip(self.problem.buffers()) {
            if buffer.role == Role::Sum {
                self.device.fill(*id, 0)?;
            }
        }
        self.device.launch(launch, &self.buffers)
    }

    fn restore(&mut self) -> Result<(), Error> {
        for &(copy, input) in &self.copies {
            self.device.copy(copy, input)?;
        }
        if self.dirty && self.copies.is_empty() {
            for (index, buffer) in self.problem.buffers().iter().enumerate() {
                if buffer.role == Role::Input {
                    self.device
                        .upload(self.buffers[index], self.problem.input(index))?;
                }
            }
        }
        self.dirty = false;
        Ok(())
    }
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

impl Drop for Session<'_> {
    fn drop(&mut self) {
        let copies = self.copies.iter().map(|&(copy, _)| copy);
        for id in self.buffers.iter().copied().chain(copies) {
            self.device.free(id);
        }
    }
}
