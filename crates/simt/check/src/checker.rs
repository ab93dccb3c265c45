//! The interface of a sanitizer.

use simt::observe::{
    Access, AsyncGroup, BarrierArrival, FrameChange, Issue, MbarrierEvent, Mistake, Places, Scope, Site, Step, WarpId,
};
use simt::{every_event, nothing};

use super::finding::Findings;

/// Selects the events that sanitizers receive. Forwarding an event takes a lock, so unneeded events are left out.
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

/// Defines, for each event that sanitizers receive, a method that does nothing.
macro_rules! ignore_received {
    ($($events:tt)*) => { received! { nothing $($events)* } };
}

/// A sanitizer during one launch. It receives the events in the order in which they happen.
pub(super) trait Checker: Send {
    every_event!(ignore_received);

    /// Returns whether the sanitizer needs `step` for the next instruction of the current warp.
    fn steps(&self) -> bool {
        false
    }

    /// Returns whether the simulator must compare the values that stores write with the values already in memory.
    fn compares_values(&self) -> bool {
        false
    }

    /// Returns whether the simulator must record which bytes of device memory the launch writes.
    fn records_writes(&self) -> bool {
        false
    }

    /// Returns whether accesses outside their object are withheld from this sanitizer, because `memory` reports them.
    fn skips_outside(&self) -> bool {
        false
    }

    /// Returns the lanes whose last access was outside the object from which their address was computed.
    fn outside(&self) -> u32 {
        0
    }

    /// Ends the launch and adds the findings that concern the whole launch. `completed` is false after a fault.
    fn end(&mut self, completed: bool) {
        let _ = completed;
    }

    /// Returns the findings so far.
    fn findings(&self) -> &Findings;
}

pub(super) use received;
