//! The interface of a check.

use simt::observe::{
    Access, AsyncGroup, BarrierArrival, FrameChange, Issue, MbarrierEvent, Mistake, Places, Scope, Site, Step, WarpId,
};
use simt::{every_event, nothing};

use super::finding::Findings;

/// What checks are told: every event but those that none of them asks for, because each call takes a lock.
macro_rules! asked_for {
    ($make:ident $($(#[$doc:meta])* $method:ident($($args:tt)+);)*) => {$(
        asked_for! { @ $make $method($($args)+) }
    )*};
    (@ $make:ident access($($args:tt)+)) => {};
    (@ $make:ident branch($($args:tt)+)) => {};
    (@ $make:ident executed($($args:tt)+)) => {};
    (@ $make:ident freed($($args:tt)+)) => {};
    (@ $make:ident read($($args:tt)+)) => {};
    (@ $make:ident synchronized($($args:tt)+)) => {};
    (@ $make:ident written($($args:tt)+)) => {};
    (@ $make:ident $method:ident($($args:tt)+)) => { $make! { $method($($args)+); } };
}

/// The methods of a check, which do nothing.
macro_rules! nothing_of_those {
    ($($events:tt)*) => { asked_for! { nothing $($events)* } };
}

/// A check: what it is told of a launch, and what it has found. All calls come in the order in which things happen.
pub(super) trait Checker: Send {
    every_event!(nothing_of_those);

    /// Whether it is to be told of each instruction, by `step`, until the warp's turn is over. It is asked before each
    /// instruction.
    fn steps(&self) -> bool {
        false
    }

    /// Whether the machine must compare the values that stores write with those that are there.
    fn compares_values(&self) -> bool {
        false
    }

    /// Whether the machine must record which bytes of device memory the launch writes.
    fn records_writes(&self) -> bool {
        false
    }

    /// Whether accesses outside of their object, which `memory` reports, are not told.
    fn skips_outside(&self) -> bool {
        false
    }

    /// The lanes of the last access that lie outside of the object that their address was made for.
    fn outside(&self) -> u32 {
        0
    }

    /// The launch is over: what is found now concerns all of it. `completed` is false after a fault.
    fn end(&mut self, completed: bool) {
        let _ = completed;
    }

    /// What it has found.
    fn findings(&self) -> &Findings;
}

pub(super) use asked_for;
