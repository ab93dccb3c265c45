//! Checks of a launch while it runs: for accesses outside of their object, values that nobody wrote, data races, and
//! threads that wait for each other wrongly.
//!
//! [`Machine::launch_sanitized`] runs a kernel with the [`Checks`] that it is asked for, and returns [`Finding`]s: each is
//! a pair of places in the kernel and says how often it was seen. A sanitized launch runs on one host thread.
//!
//! A sanitized launch skips the accesses that would end another launch: out of bounds, misaligned, and writes to constants.
//! Each is a finding, whatever the checks are, and the launch goes on.
//!
//! Each check is a module of its own and knows nothing of the others: it is told what an [`Observer`]
//! is told, and collects findings.

mod calls;
mod checks;
mod finding;
mod hints;
mod init;
mod memory;
mod observer;
mod race;
mod sync;

pub use checks::{Check, Checks, Extra};
pub use finding::{Finding, OtherParty};

use crate::counters::Counters;
use crate::observe::Observer;
use crate::run::{Launch, LaunchError, Machine, Schedule};
use observer::Sanitizer;

/// What a sanitized launch gives.
#[derive(Debug)]
pub struct Sanitized<O = Counters> {
    /// The observer, which is the counters if no other was given; or why the launch was refused, or the fault that ended it,
    /// which is among the findings too if the check that it belongs to was asked for. Skipped accesses are findings, and
    /// no faults.
    pub result: Result<O, LaunchError>,
    /// What the checks have found, in the order in which it was first seen.
    pub findings: Vec<Finding>,
    /// What could not be checked, a sentence each: the memory that a check takes is bounded. Also the hints, if
    /// [`Extra::Weaker`] is requested.
    pub notes: Vec<String>,
}

impl<O> Sanitized<O> {
    /// The same launch with something else in place of the observer.
    pub fn map<P>(self, make: impl FnOnce(O) -> P) -> Sanitized<P> {
        let Self { result, findings, notes } = self;
        Sanitized { result: result.map(make), findings, notes }
    }
}

impl Machine {
    /// Runs a kernel to its end as [`Machine::launch_counted`] does, and looks for faults that need not show in its results.
    ///
    /// ```
    /// use simt::sanitize::{Check, Checks};
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
    /// let mut machine = simt::Machine::new(simt::Config::default())?;
    /// let to = machine.zeroed::<u32>(4)?;
    /// let args = [to.into()];
    /// let launch = simt::Launch::new(&beyond, [1, 1, 1], [1, 1, 1], &args);
    /// let sanitized = machine.launch_sanitized(&launch, Checks::ALL);
    /// let finding = &sanitized.findings[0];
    /// assert_eq!((finding.check, finding.ptx_line), (Check::Memory, 8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn launch_sanitized(&mut self, launch: &Launch<'_>, checks: Checks) -> Sanitized {
        self.launch_sanitized_with(launch, checks, Counters::new(launch.function))
    }

    /// Runs a kernel as [`Machine::launch_sanitized`] does. Before that, runs it in as many random orders of blocks, warps and
    /// lanes as `orders` says, and undoes what these runs change: `race` and `sync` find what only shows in another order. A
    /// kernel that waits for the host waits in each run.
    pub fn launch_sanitized_in_orders(&mut self, launch: &Launch<'_>, checks: Checks, orders: u32) -> Sanitized {
        let hints = self.hints(launch, checks, orders);
        let mut sanitized = self.launch_in_orders(launch, checks.without_extra(Extra::Weaker), orders);
        sanitized.notes.extend(hints);
        sanitized
    }

    fn launch_in_orders(&mut self, launch: &Launch<'_>, checks: Checks, orders: u32) -> Sanitized {
        let by_order = checks.without(Check::Memory).without(Check::Init);
        if orders == 0 || by_order.is_empty() {
            return self.launch_sanitized(launch, checks);
        }
        let Some(state) = self.save() else {
            let mut sanitized = self.launch_sanitized(launch, checks);
            sanitized
                .notes
                .push("no other order was tried: the host has too little memory to undo a launch".to_owned());
            return sanitized;
        };
        let usual = self.config.schedule;
        let mut others: Vec<(u64, Finding)> = Vec::new();
        for seed in 1..=u64::from(orders) {
            self.config.schedule = Schedule::Random(seed);
            let found = self.launch_sanitized(launch, by_order).findings;
            others.extend(found.into_iter().map(|finding| (seed, finding)));
            self.restore(&state);
        }
        self.config.schedule = usual;
        self.resume(state);
        let mut sanitized = self.launch_sanitized(launch, checks);
        let (before, mut first) = (sanitized.findings.len(), None);
        for (seed, finding) in others {
            if !sanitized.findings.iter().any(|own| own.is_same(&finding)) {
                first = first.or(Some(seed));
                sanitized.findings.push(finding);
            }
        }
        if let Some(seed) = first {
            let count = sanitized.findings.len() - before;
            let findings = if count == 1 { "1 finding is" } else { &*format!("{count} findings are") };
            sanitized.notes.push(format!("{findings} from other orders, the first from the schedule random:{seed}"));
        }
        sanitized
    }

    /// Runs a kernel with checks as [`Machine::launch_sanitized`] does, and with an observer.
    pub fn launch_sanitized_with<O: Observer>(
        &mut self,
        launch: &Launch<'_>,
        checks: Checks,
        observer: O,
    ) -> Sanitized<O> {
        if checks.is_empty() {
            return Sanitized {
                result: self.launch_observed(launch, observer),
                findings: Vec::new(),
                notes: Vec::new(),
            };
        }
        let hints = self.hints(launch, checks, 0);
        let sanitizer = Sanitizer::new(self, launch, checks);
        let state = sanitizer.state();
        let result = self.launch_observed(launch, (observer, sanitizer)).map(|(observer, _)| observer);
        let skipped = std::mem::take(&mut self.skipped);
        let (findings, mut notes) = observer::end(&state, launch, checks, skipped, result.as_ref().err());
        notes.extend(hints);
        Sanitized { result, findings, notes }
    }
}
