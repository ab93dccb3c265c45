//! The operations that streams enqueued, and the threads that run them.
//!
//! Each operation has a number, in the order of enqueuing, and a list of the operations that it must follow:
//!
//! - the previous operation in its stream
//! - operations of other streams, because of an event or the default stream
//! - in a graph, the nodes that it depends on
//!
//! Operations run one at a time. The ready operation with the smallest number runs first, so the order is
//! deterministic. An operation that waits for memory delays only the operations that depend on it.
//!
//! Functions of the program run on a separate thread. The following operations wait for such a function only up to a
//! time limit, because the function may itself wait for another stream.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, PerDriver, lock};
use crate::abi::report;
use crate::gpu::context::Context;
use crate::gpu::op::Op;
use crate::gpu::state::driver;
use crate::gpu::stream::{Stream, Waits};

/// The maximum time that other streams wait for a function of the program.
const PATIENCE: Duration = Duration::from_millis(100);

/// The polling interval for memory that a stream waits for, while no other operation can run.
const LOOK: Duration = Duration::from_micros(100);

/// An operation that is pending or running.
struct Job {
    context: Arc<Context>,
    op: Op,
    /// The operations that must finish first.
    dependencies: Vec<u64>,
}

/// One of several operations that are enqueued together.
pub(crate) struct Piece {
    pub(crate) op: Op,
    /// The indices of the pieces that must finish first. If there are none, the piece follows the stream's previous
    /// work.
    pub(crate) dependencies: Vec<usize>,
}

/// The order between the streams of a context, in addition to the order that events establish.
#[derive(Default)]
struct Order {
    /// The last operation of the default stream.
    legacy: u64,
    /// For each stream that synchronizes with the default stream, by stream number: its last operation after `legacy`.
    blocking: HashMap<u64, u64>,
}

#[derive(Default)]
struct State {
    /// All unfinished operations.
    jobs: BTreeMap<u64, Arc<Job>>,
    /// The operations that have started.
    begun: Vec<u64>,
    /// The pending or running call to a function of the program, if there is one.
    call: Option<(u64, Arc<Job>)>,
    /// The number of operations that were enqueued.
    enqueued: u64,
    /// The order of each context's streams, by context handle.
    orders: HashMap<Handle, Order>,
    has_thread: bool,
    /// Whether the thread that calls functions of the program has been started.
    has_caller: bool,
}

static QUEUE: PerDriver<Queue> = PerDriver::new();

/// Returns the driver's queue.
pub(crate) fn queue() -> Result<&'static Queue> {
    driver()?;
    Ok(QUEUE.get())
}

/// The queue of a driver.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    /// Enqueues operations in a stream and returns the number of the last one. The last operation must follow all
    /// others. All operations also follow the operations in `dependencies`, which may belong to other streams.
    pub(crate) fn push(
        &'static self,
        context: &Arc<Context>,
        stream: &Stream,
        pieces: Vec<Piece>,
        dependencies: &[u64],
    ) -> Result<u64> {
        let mut state = lock(&self.state);
        if !state.has_thread {
            self.start("device sim", Self::work)?;
            state.has_thread = true;
        }
        let State { jobs, enqueued, orders, .. } = &mut *state;
        let order = orders.entry(context.handle).or_default();
        let mut base = vec![stream.last.load(Ordering::Relaxed)];
        base.extend(dependencies);
        match stream.waits() {
            Waits::NotForOthers => {}
            Waits::ForDefault => base.push(order.legacy),
            Waits::IsDefault => base.extend(order.blocking.values()),
        }
        let mut numbers: Vec<u64> = Vec::with_capacity(pieces.len());
        for Piece { op, dependencies } in pieces {
            let mut dependencies = match dependencies.is_empty() {
                true => base.clone(),
                false => dependencies.iter().map(|at| numbers[*at]).collect(),
            };
            for op in op.split() {
                *enqueued += 1;
                match &op {
                    Op::Record(event) => event.record(*enqueued),
                    Op::Wait(event) => dependencies.push(event.recorded()),
                    _ => {}
                }
                dependencies.retain(|number| jobs.contains_key(number));
                jobs.insert(*enqueued, Arc::new(Job { context: context.clone(), op, dependencies }));
                dependencies = vec![*enqueued];
            }
            numbers.push(*enqueued);
        }
        let last = *enqueued;
        stream.last.store(last, Ordering::Relaxed);
        match stream.waits() {
            Waits::NotForOthers => {}
            Waits::ForDefault => drop(order.blocking.insert(stream.id, last)),
            Waits::IsDefault => {
                order.legacy = last;
                order.blocking.clear();
            }
        }
        drop(state);
        self.changed.notify_all();
        Ok(last)
    }

    /// Starts a thread that runs `work` until the process ends.
    fn start(&'static self, name: &str, work: fn(&'static Self)) -> Result<()> {
        let driver = crate::gpu::state::inside();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            crate::gpu::state::enter(driver);
            work(self);
        });
        thread.map(drop).map_err(|error| Error::new(Code::OUT_OF_MEMORY, error.to_string()))
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep_for<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Returns whether an operation is finished.
    pub(crate) fn is_done(&self, number: u64) -> bool {
        !lock(&self.state).jobs.contains_key(&number)
    }

    /// Waits until an operation is finished.
    pub(crate) fn wait(&self, number: u64) {
        let mut state = lock(&self.state);
        while state.jobs.contains_key(&number) {
            state = self.sleep(state);
        }
    }

    /// Waits until all currently enqueued operations are finished.
    pub(crate) fn wait_for_all(&self) {
        self.wait_where(|_| true);
    }

    /// Waits until all currently enqueued operations of a context are finished.
    pub(crate) fn wait_for_context(&self, context: Handle) {
        self.wait_where(|job| job.context.handle == context);
    }

    fn wait_where(&self, is_match: impl Fn(&Job) -> bool) {
        let mut state = lock(&self.state);
        let enqueued = state.enqueued;
        loop {
            let last = state.jobs.range(..=enqueued).rev().find(|(_, job)| is_match(job)).map(|(number, _)| *number);
            let Some(last) = last else { return };
            while state.jobs.contains_key(&last) {
                state = self.sleep(state);
            }
        }
    }

    /// Returns the operations that the next operation of a stream would follow.
    pub(crate) fn before(&self, stream: &Stream) -> Vec<u64> {
        if stream.waits() != Waits::IsDefault {
            return vec![stream.last.load(Ordering::Relaxed)];
        }
        let state = lock(&self.state);
        let order = state.orders.get(&stream.context);
        order.map_or_else(Vec::new, |order| order.blocking.values().chain([&order.legacy]).copied().collect())
    }

    /// Runs operations until the process ends. The thread represents the device.
    fn work(&'static self) {
        loop {
            let (number, job) = {
                let mut state = lock(&self.state);
                loop {
                    match state.next() {
                        Next::Do(number, job) => break (number, job),
                        Next::Look => state = self.sleep_for(state, LOOK),
                        Next::Nothing => state = self.sleep(state),
                    }
                }
            };
            match job.op {
                Op::Host(_) => self.hand_over(number, job),
                _ => self.run(number, &job),
            }
        }
    }

    /// Hands a call to the thread that calls functions of the program. Waits up to `PATIENCE` for the call to finish.
    fn hand_over(&'static self, number: u64, job: Arc<Job>) {
        let mut state = lock(&self.state);
        if !state.has_caller {
            if self.start("host functions", Self::call).is_err() {
                drop(state);
                return self.run(number, &job);
            }
            state.has_caller = true;
        }
        state.call = Some((number, job));
        self.changed.notify_all();
        let end = Instant::now() + PATIENCE;
        while state.jobs.contains_key(&number) {
            match end.checked_duration_since(Instant::now()) {
                Some(left) => state = self.sleep_for(state, left),
                None => return,
            }
        }
    }

    /// Calls functions of the program until the process ends.
    fn call(&'static self) {
        loop {
            let (number, job) = {
                let mut state = lock(&self.state);
                loop {
                    match &state.call {
                        Some((number, job)) => break (*number, job.clone()),
                        None => state = self.sleep(state),
                    }
                }
            };
            self.run(number, &job);
        }
    }

    /// Runs one operation. A failed operation ends all contexts.
    fn run(&self, number: u64, job: &Job) {
        let Job { context, op, .. } = job;
        let run = || match driver() {
            Ok(driver) => op.run(driver, context),
            Err(error) => Err(error),
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        let failed = Error::new(Code::UNKNOWN, "simt's driver panicked; this is a bug in the driver");
        if let Err(error) = result.unwrap_or(Err(failed)) {
            report::failed(&error);
            if let Ok(driver) = driver() {
                driver.poison(error.code);
            }
        }
        let mut state = lock(&self.state);
        let done = state.jobs.remove(&number);
        state.begun.retain(|begun| *begun != number);
        let call = match state.call.take() {
            Some((caller, call)) if caller != number => {
                state.call = Some((caller, call));
                None
            }
            call => call,
        };
        drop(state);
        self.changed.notify_all();
        // Dropping the jobs may call functions of the program, so it must not happen while the queue is locked.
        drop((done, call));
    }
}

/// The next step of the thread that runs operations.
enum Next {
    /// Run this operation.
    Do(u64, Arc<Job>),
    /// Wait until memory changes.
    Look,
    /// Wait until an operation is enqueued or finished.
    Nothing,
}

impl State {
    /// Returns the first operation that can run, and marks it as started.
    fn next(&mut self) -> Next {
        let mut looks = false;
        let has_failed = driver().is_ok_and(|driver| driver.fault().is_some());
        for (number, job) in &self.jobs {
            let waits = job.dependencies.iter().any(|other| self.jobs.contains_key(other))
                || self.begun.contains(number)
                || (self.call.is_some() && matches!(job.op, Op::Host(_)));
            if waits {
                continue;
            }
            if !has_failed && !job.op.is_ready() {
                looks = true;
                continue;
            }
            let (number, job) = (*number, job.clone());
            self.begun.push(number);
            return Next::Do(number, job);
        }
        if looks { Next::Look } else { Next::Nothing }
    }
}
