//! The work that streams have enqueued, and the thread that does it, one operation after the other.
//!
//! The operations of all streams are done in the order in which they were enqueued. Every order that streams, events and
//! the default stream ask for is part of that order.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::context::Context;
use crate::error::{Code, Error, Result};
use crate::handles::lock;
use crate::op::Op;
use crate::report;
use crate::state::driver;

/// An operation that waits for its turn.
struct Job {
    context: Arc<Context>,
    op: Op,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// How many operations were enqueued.
    enqueued: u64,
    /// How many of them are over.
    done: u64,
    has_thread: bool,
}

/// The queue. The number of an operation is how many were enqueued up to and with it.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    /// Enqueues an operation and returns its number.
    pub(crate) fn push(&'static self, context: Arc<Context>, op: Op) -> Result<u64> {
        let mut state = lock(&self.state);
        if !state.has_thread {
            let thread = std::thread::Builder::new().name("simulated GPU".to_owned());
            let driver = crate::state::inside();
            thread
                .spawn(move || {
                    crate::state::enter(driver);
                    self.work();
                })
                .map_err(|error| Error::new(Code::OUT_OF_MEMORY, error.to_string()))?;
            state.has_thread = true;
        }
        state.waiting.push_back(Job { context, op });
        state.enqueued += 1;
        let number = state.enqueued;
        drop(state);
        self.changed.notify_all();
        Ok(number)
    }

    /// Whether an operation is over.
    pub(crate) fn is_done(&self, number: u64) -> bool {
        lock(&self.state).done >= number
    }

    /// Waits until an operation is over.
    pub(crate) fn wait(&self, number: u64) {
        let mut state = lock(&self.state);
        while state.done < number {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until all operations are over that are enqueued now.
    pub(crate) fn wait_for_all(&self) {
        let enqueued = lock(&self.state).enqueued;
        self.wait(enqueued);
    }

    /// What the thread does, until the process ends.
    fn work(&self) {
        loop {
            let job = {
                let mut state = lock(&self.state);
                loop {
                    match state.waiting.pop_front() {
                        Some(job) => break job,
                        None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                    }
                }
            };
            run(&job);
            lock(&self.state).done += 1;
            self.changed.notify_all();
        }
    }
}

/// Does one operation. One that fails is the end of its context.
fn run(job: &Job) {
    let Job { context, op } = job;
    let run = || match driver() {
        Ok(driver) => op.run(driver, context),
        Err(error) => Err(error),
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    let failed = Error::new(Code::UNKNOWN, "the simulated driver panicked, which is an error of its own");
    if let Err(error) = result.unwrap_or(Err(failed)) {
        report::tell(&error.reason);
        context.poison(error.code);
    }
}
