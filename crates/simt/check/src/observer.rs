//! The observer of a sanitized launch, which forwards events to the sanitizers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::calls::{Calls, WarpCalls};
use super::checker::{Checker, received};
use super::checks::{Check, Checks, Extra, every_sanitizer};
use super::facts::LaunchFacts;
use super::finding::Finding;
use super::race::Race;
use super::race::trial::Trial;
use simt::every_event;
use simt::observe::{
    Access, AsyncGroup, BarrierArrival, FrameChange, Issue, MbarrierEvent, Mistake, Observer, Places, Requests, Scope,
    Site, Step, WarpId,
};
use simt::run::{Launch, LaunchError, Simulator, SkippedFaults};

/// Defines, for each event that sanitizers receive, a method that forwards it to all sanitizers.
macro_rules! forward_received {
    ($($events:tt)*) => { received! { forward $($events)* } };
}

/// Defines a method that forwards an event to all sanitizers. [`Sanitizer`] implements `located` itself.
macro_rules! forward {
    (located($($args:tt)+);) => {};
    ($method:ident($($arg:ident: $ty:ty),+);) => {
        fn $method(&mut self, $($arg: $ty),+) {
            let mut state = lock(&self.state);
            let calls = state.calls.$method($($arg),+);
            state.enter(calls);
            for (_, checker) in &mut state.checkers {
                checker.$method($($arg),+);
            }
            state.update_steps();
        }
    };
}

/// Defines a method that returns no new calls.
macro_rules! no_change {
    (located($($args:tt)+);) => {};
    ($method:ident($($arg:ident: $ty:ty),+);) => {
        #[inline(always)]
        fn $method(&mut self, $($arg: $ty),+) -> Option<Arc<WarpCalls>> {
            let _ = ($($arg,)+);
            None
        }
    };
}

/// Defines, for each event that sanitizers receive, a method that returns no new calls.
macro_rules! no_change_received {
    ($($events:tt)*) => { received! { no_change $($events)* } };
}

/// The events that change the function calls of a warp. Each method returns the calls of the current warp if they
/// changed.
trait CallEvents {
    every_event!(no_change_received);
}

impl CallEvents for Calls {
    fn turn(&mut self, warp_id: WarpId) -> Option<Arc<WarpCalls>> {
        self.begin_turn(warp_id)
    }

    fn frames(&mut self, _: Site, warp_id: WarpId, lanes: u32, change: &FrameChange) -> Option<Arc<WarpCalls>> {
        self.change(warp_id, lanes, change)
    }

    fn exited(&mut self, _: Site, warp_id: WarpId, lanes: u32) -> Option<Arc<WarpCalls>> {
        self.exit(warp_id, lanes)
    }
}

/// Defines the function that creates the [`Checker`] of a sanitizer.
macro_rules! define_checker {
    ($($(#[$doc:meta])* $module:ident::$Check:ident;)*) => {
        fn checker(check: Check, simulator: &mut Simulator, facts: Arc<LaunchFacts>) -> Box<dyn Checker> {
            match check {
                $(Check::$Check => Box::new(super::$module::$Check::new(simulator, facts)),)*
            }
        }
    };
}

every_sanitizer!(define_checker);

/// The sanitizers of a launch.
pub(super) struct State {
    checkers: Vec<(Check, Box<dyn Checker>)>,
    calls: Calls,
    /// Whether a sanitizer needs each instruction.
    steps: Arc<AtomicBool>,
}

impl State {
    /// Stores whether a sanitizer needs each instruction.
    fn update_steps(&self) {
        let steps = self.checkers.iter().any(|(_, checker)| checker.steps());
        self.steps.store(steps, Ordering::Relaxed);
    }

    /// Sets the function calls of the current warp, unless `calls` is `None`.
    fn enter(&mut self, calls: Option<Arc<WarpCalls>>) {
        let Some(calls) = calls else { return };
        for (_, checker) in &self.checkers {
            checker.findings().enter(&calls);
        }
    }
}

/// Forwards the events of a launch to its checks. All clones share the same checks.
pub(super) struct Sanitizer {
    state: Arc<Mutex<State>>,
    steps: Arc<AtomicBool>,
    compares_values: bool,
    records_writes: bool,
}

impl Sanitizer {
    /// Creates the observer of a launch.
    pub(super) fn new(simulator: &mut Simulator, launch: &Launch<'_>, checks: Checks) -> Self {
        let facts = Arc::new(LaunchFacts::of(launch, checks));
        let requested = Check::ALL.iter().filter(|check| checks.contains(**check));
        Self::of(requested.map(|check| (*check, checker(*check, simulator, facts.clone()))).collect())
    }

    /// Creates the observer of a trial launch for [`hints`](super::hints).
    pub(super) fn of_trial(launch: &Launch<'_>, trial: Trial) -> Self {
        // The lenient rules for volatile flags would hide why a fence is needed.
        let checks = Checks::NONE.with_extra(Extra::PtxVolatile);
        let race = Race::of_trial(Arc::new(LaunchFacts::of(launch, checks)), trial);
        Self::of(vec![(Check::Race, Box::new(race))])
    }

    fn of(checkers: Vec<(Check, Box<dyn Checker>)>) -> Self {
        let any = |has: fn(&dyn Checker) -> bool| checkers.iter().any(|(_, checker)| has(&**checker));
        let compares_values = any(|checker| checker.compares_values());
        let records_writes = any(|checker| checker.records_writes());
        let steps = Arc::<AtomicBool>::default();
        let state = State { checkers, calls: Calls::default(), steps: steps.clone() };
        Self { state: Arc::new(Mutex::new(state)), steps, compares_values, records_writes }
    }

    /// Returns the checks, which outlive the observer if the launch faults.
    pub(super) fn state(&self) -> Arc<Mutex<State>> {
        self.state.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the findings and notes of a finished launch, including its skipped accesses and the fault that ended it.
pub(super) fn end(
    state: &Mutex<State>,
    launch: &Launch<'_>,
    checks: Checks,
    skipped: SkippedFaults,
    error: Option<&LaunchError>,
) -> (Vec<Finding>, Vec<String>) {
    let mut state = lock(state);
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    state.enter(Some(Arc::default()));
    for (check, checker) in &mut state.checkers {
        checker.end(error.is_none());
        let (mut errors, more) = checker.findings().divide(*check, checker.findings().resolve(*check, launch));
        findings.append(&mut errors);
        notes.extend(more);
        notes.extend(checker.findings().notes(*check));
    }
    // Skipped accesses are findings even if `memory` is disabled: without the sanitizer, the launch would end at the
    // first one.
    for (fault, lanes) in &skipped.faults {
        let fault = Finding { times: *lanes, ..Finding::of_fault(Check::Memory, fault) };
        let is_same = |finding: &&mut Finding| {
            (finding.check, finding.ptx_line, &finding.source, &finding.what)
                == (fault.check, fault.ptx_line, &fault.source, &fault.what)
        };
        match findings.iter_mut().find(is_same) {
            Some(finding) => finding.times += lanes,
            None => findings.push(fault),
        }
    }
    if skipped.left_out > 0 {
        let listed = skipped.faults.len();
        notes.push(format!(
            "{listed} different skipped accesses are listed; others were skipped {} times",
            skipped.left_out
        ));
    }
    if skipped.is_full {
        notes.push(format!("the launch ended early: it had skipped {} accesses", SkippedFaults::MOST));
    } else if let Some(LaunchError::Fault(fault)) = error
        && let Some(check) = Check::of(&fault.kind).filter(|check| checks.contains(*check))
    {
        let fault = Finding::of_fault(check, fault);
        let is_known = |finding: &Finding| (finding.check, finding.ptx_line) == (check, fault.ptx_line);
        if !findings.iter().any(is_known) {
            findings.push(fault);
        }
    }
    (findings, notes)
}

impl Observer for Sanitizer {
    const REQUESTS: Requests = Requests::STEPS
        .and(Requests::PLACES)
        .and(Requests::ASYNCHRONOUS)
        .and(Requests::MISTAKES)
        .and(Requests::ONE_THREAD)
        .and(Requests::SKIPS);

    fn fork(&self) -> Self {
        Self { state: self.state.clone(), steps: self.steps.clone(), ..*self }
    }

    fn merge(&mut self, _: Self) {}

    fn located(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>) {
        let mut state = lock(&self.state);
        let mut outside = 0;
        for (_, checker) in &mut state.checkers {
            match if checker.skips_outside() { access.mask & !outside } else { access.mask } {
                0 => {}
                mask => checker.located(site, warp_id, &Access { mask, ..*access }, places),
            }
            outside |= checker.outside();
        }
        state.update_steps();
    }

    fn values(&self) -> bool {
        self.compares_values
    }

    fn records_writes(&self) -> bool {
        self.records_writes
    }

    fn steps(&self) -> bool {
        self.steps.load(Ordering::Relaxed)
    }

    every_event!(forward_received);
}
