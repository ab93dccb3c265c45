//! Sanitizers for kernels on the simulator [`simt`]: accesses outside their object, reads of memory that no thread has
//! written, data races, and wrong synchronization.
//!
//! [`Checks::launch`] runs a kernel with the given [`Checks`] and returns [`Finding`]s. A finding describes an error at
//! one place or a pair of places in the kernel, and contains the number of times that the error was seen.
//! [`diagnostic`] formats findings and faults for people. A sanitized launch runs on one host thread.
//!
//! A sanitized launch skips the accesses that would end a launch without sanitizers: out-of-bounds accesses, misaligned
//! accesses and writes to constants. Each skipped access is a finding, whichever checks are enabled, and the launch
//! continues.
//!
//! Each check is a separate module, which receives the events of an [`Observer`] and collects findings.

mod calls;
mod checker;
mod checks;
pub mod diagnostic;
mod facts;
mod faults;
mod finding;
mod hints;
mod init;
mod language;
mod memory;
mod observer;
mod race;
mod sync;

pub use checks::{Check, Checks, Extra};
pub use finding::{Finding, OtherParty};

use observer::Sanitizer;
use simt::Counters;
use simt::observe::Observer;
use simt::run::{Launch, LaunchError, Schedule, Simulator};

/// The result of a sanitized launch.
#[derive(Debug)]
pub struct Sanitized<O = Counters> {
    /// The observer (by default, the counters), or the error that prevented or ended the launch. A fault is also a
    /// finding if its check is enabled. Skipped accesses are findings and do not make the launch fail.
    pub result: Result<O, LaunchError>,
    /// The findings, in the order in which they were first seen.
    pub findings: Vec<Finding>,
    /// Sentences that state what could not be checked, for example because a check reached its memory limit. Also
    /// contains the hints if [`Extra::Weaker`] is enabled.
    pub notes: Vec<String>,
}

impl<O> Sanitized<O> {
    /// Replaces the observer with the result of `make`.
    pub fn map<P>(self, make: impl FnOnce(O) -> P) -> Sanitized<P> {
        let Self { result, findings, notes } = self;
        Sanitized { result: result.map(make), findings, notes }
    }
}

impl Checks {
    /// Runs a kernel as [`Simulator::launch_counted`] does, and looks for errors that may not show in its results.
    ///
    /// ```
    /// use simt_check::{Check, Checks};
    ///
    /// # const BEYOND: &str = ".version 8.0
    /// # .target sm_80
    /// # .address_size 64
    /// # .entry beyond(.param .u64 to)
    /// # {
    /// #     .reg .b64 %rd<2>;
    /// #     ld.param.u64 %rd1, [to];
    /// #     st.global.u32 [%rd1+16], 7;
    /// #     ret;
    /// # }";
    /// let beyond = simt::Module::from_ptx(BEYOND)?.function("beyond")?;
    /// let mut simulator = simt::Simulator::new(simt::Config::default())?;
    /// let to = simulator.zeroed::<u32>(4)?;
    /// let args = [to.into()];
    /// let launch = simt::Launch::new(&beyond, [1, 1, 1], [1, 1, 1], &args);
    /// let sanitized = Checks::ALL.launch(&mut simulator, &launch);
    /// let finding = &sanitized.findings[0];
    /// assert_eq!((finding.check, finding.ptx_line), (Check::Memory, 8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn launch(self, simulator: &mut Simulator, launch: &Launch<'_>) -> Sanitized {
        self.launch_with(simulator, launch, Counters::new(launch.function))
    }

    /// Runs a kernel as [`Checks::launch`] does. Before that, runs the kernel in `orders` random orders of blocks,
    /// warps and lanes, and undoes the changes of each run. In these orders, `race` and `sync` can find errors that do
    /// not occur in the usual order. A kernel that waits for the host waits in every run.
    pub fn launch_in_orders(self, simulator: &mut Simulator, launch: &Launch<'_>, orders: u32) -> Sanitized {
        let hints = hints::hints(simulator, launch, self, orders);
        let mut sanitized = self.without_extra(Extra::Weaker).try_orders(simulator, launch, orders);
        sanitized.notes.extend(hints);
        sanitized
    }

    fn try_orders(self, simulator: &mut Simulator, launch: &Launch<'_>, orders: u32) -> Sanitized {
        let by_order = self.without(Check::Memory).without(Check::Init);
        if orders == 0 || by_order.is_empty() {
            return self.launch(simulator, launch);
        }
        let Some(state) = simulator.save() else {
            let mut sanitized = self.launch(simulator, launch);
            sanitized
                .notes
                .push("no other order was tried: the host has too little memory to undo a launch".to_owned());
            return sanitized;
        };
        let usual = simulator.config().schedule;
        let mut others: Vec<(u64, Finding)> = Vec::new();
        for seed in 1..=u64::from(orders) {
            simulator.config_mut().schedule = Schedule::Random(seed);
            let found = by_order.launch(simulator, launch).findings;
            others.extend(found.into_iter().map(|finding| (seed, finding)));
            simulator.restore(&state);
        }
        simulator.config_mut().schedule = usual;
        simulator.resume(state);
        let mut sanitized = self.launch(simulator, launch);
        let (before, mut first) = (sanitized.findings.len(), None);
        for (seed, finding) in others {
            if !sanitized.findings.iter().any(|known| known.is_same(&finding)) {
                first = first.or(Some(seed));
                sanitized.findings.push(finding);
            }
        }
        if let Some(seed) = first {
            let count = sanitized.findings.len() - before;
            let findings = if count == 1 { "1 finding is" } else { &*format!("{count} findings are") };
            sanitized.notes.push(format!("{findings} from other orders; the first is from the schedule random:{seed}"));
        }
        sanitized
    }

    /// Runs a kernel with checks as [`Checks::launch`] does, but with `observer` instead of the counters.
    pub fn launch_with<O: Observer>(self, simulator: &mut Simulator, launch: &Launch<'_>, observer: O) -> Sanitized<O> {
        if self.is_empty() {
            let result = simulator.launch_observed(launch, observer);
            return Sanitized { result, findings: Vec::new(), notes: Vec::new() };
        }
        let hints = hints::hints(simulator, launch, self, 0);
        let sanitizer = Sanitizer::new(simulator, launch, self);
        let state = sanitizer.state();
        let result = simulator.launch_observed(launch, (observer, sanitizer)).map(|(observer, _)| observer);
        let skipped = simulator.take_skipped();
        let (findings, mut notes) = observer::end(&state, launch, self, skipped, result.as_ref().err());
        notes.extend(hints);
        Sanitized { result, findings, notes }
    }
}
