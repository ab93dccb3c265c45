//! The interface of a sanitizer.

use simt::observe::{
    Access, AsyncGroup, BarrierArrival, FrameChange, Issue, MbarrierEvent, Mistake, Places, Scope, Site, Step, WarpId,
};
use simt::{every_event, nothing};

use super::finding::Findings;

/// Selects the events that sanitizers receive. Each event takes a lock, so the events that no sanitizer needs are left out.
macro_rules! received {
    ($make:ident $($(#[$doc:meta])* $method:ident($($args:tt)+);)*) => {$(
        received! { @ $make $method($($args)+) }
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

/// Makes a method that does nothing of each event that sanitizers receive.
macro_rules! ignore_received {
    ($($events:tt)*) => { received! { nothing $($events)* } };
}

/// A sanitizer during one launch. It receives the events in the order in which they happen.
pub(super) trait Checker: Send {
    every_event!(ignore_received);

    /// Whether the sanitizer needs `step` for the next instruction of the current warp.
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

    /// Whether the sanitizer does not receive accesses outside their object, which `memory` reports.
    fn skips_outside(&self) -> bool {
        false
    }

    /// Returns the lanes whose last access was outside the object that their address was made for.
    fn outside(&self) -> u32 {
        0
    }

    /// Ends the launch and adds the findings that concern all of it. `completed` is false after a fault.
    fn end(&mut self, completed: bool) {
        let _ = completed;
    }

    /// Returns the findings so far.
    fn findings(&self) -> &Findings;
}

pub(super) use received;
