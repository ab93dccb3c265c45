//! The work that streams have enqueued, and the threads that do it.
//!
//! Each operation has a number, in the order of enqueuing, and the numbers of the operations that it comes after: the one
//! before it in its stream, those of other streams that an event or the default stream makes it wait for, and in a graph
//! the nodes that it depends on. Of the operations that can be done, the one with the smallest number is done, one at a
//! time; so the order is always the same, and one that waits for memory holds up only what comes after it.
//!
//! Functions of the program are called by a thread of their own. The next operations wait for them too, for a while: a
//! function may itself wait for another stream.

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

/// How long other streams wait for a function of the program.
const PATIENCE: Duration = Duration::from_millis(100);

/// How often memory is looked at that a stream waits for, while there is nothing else to do.
const LOOK: Duration = Duration::from_micros(100);

/// An operation that waits for its turn, or is being done.
struct Job {
    context: Arc<Context>,
    op: Op,
    /// The operations that it comes after.
    after: Vec<u64>,
}

/// An operation of several that are enqueued together.
pub(crate) struct Piece {
    pub(crate) op: Op,
    /// The places of those that it comes after; with none, it comes after what the stream has had before.
    pub(crate) after: Vec<usize>,
}

/// What orders the streams of a context besides events.
#[derive(Default)]
struct Order {
    /// The last operation of the default stream.
    legacy: u64,
    /// The last operations behind that of the streams that wait for the default stream, by the numbers of the streams.
    blocking: HashMap<u64, u64>,
}

#[derive(Default)]
struct State {
    /// All operations that are not over.
    jobs: BTreeMap<u64, Arc<Job>>,
    /// Those that have begun.
    begun: Vec<u64>,
    /// The call of the program that is under way.
    call: Option<(u64, Arc<Job>)>,
    /// How many operations were enqueued.
    enqueued: u64,
    /// By the handles of the contexts.
    orders: HashMap<Handle, Order>,
    has_thread: bool,
    /// Whether there is the thread that calls the program.
    has_caller: bool,
}

static QUEUE: PerDriver<Queue> = PerDriver::new();

/// The driver's queue.
pub(crate) fn queue() -> Result<&'static Queue> {
    driver()?;
    Ok(QUEUE.get())
}

/// The queue.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    /// Enqueues operations in a stream, the last of which comes after all others, and returns its number. They also come
    /// after operations of other streams.
    pub(crate) fn push(
        &'static self,
        context: &Arc<Context>,
        stream: &Stream,
        pieces: Vec<Piece>,
        after: &[u64],
    ) -> Result<u64> {
        let mut state = lock(&self.state);
        if !state.has_thread {
            self.start("simulated GPU", Self::work)?;
            state.has_thread = true;
        }
        let State { jobs, enqueued, orders, .. } = &mut *state;
        let order = orders.entry(context.handle).or_default();
        let mut base = vec![stream.last.load(Ordering::Relaxed)];
        base.extend(after);
        match stream.waits() {
            Waits::NotForOthers => {}
            Waits::ForDefault => base.push(order.legacy),
            Waits::IsDefault => base.extend(order.blocking.values()),
        }
        let mut numbers: Vec<u64> = Vec::with_capacity(pieces.len());
        for Piece { op, after } in pieces {
            let mut after = match after.is_empty() {
                true => base.clone(),
                false => after.iter().map(|at| numbers[*at]).collect(),
            };
            for op in op.split() {
                *enqueued += 1;
                match &op {
                    Op::Record(event) => event.record(*enqueued),
                    Op::Wait(event) => after.push(event.recorded()),
                    _ => {}
                }
                after.retain(|number| jobs.contains_key(number));
                jobs.insert(*enqueued, Arc::new(Job { context: context.clone(), op, after }));
                after = vec![*enqueued];
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

    /// Starts a thread that does `work` until the process ends.
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

    /// Whether an operation is over.
    pub(crate) fn is_done(&self, number: u64) -> bool {
        !lock(&self.state).jobs.contains_key(&number)
    }

    /// Waits until an operation is over.
    pub(crate) fn wait(&self, number: u64) {
        let mut state = lock(&self.state);
        while state.jobs.contains_key(&number) {
            state = self.sleep(state);
        }
    }

    /// Waits until all operations are over that are enqueued now.
    pub(crate) fn wait_for_all(&self) {
        self.wait_where(|_| true);
    }

    /// Waits until all operations of a context are over that are enqueued now.
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

    /// The operations that the next one of a stream would come after.
    pub(crate) fn before(&self, stream: &Stream) -> Vec<u64> {
        if stream.waits() != Waits::IsDefault {
            return vec![stream.last.load(Ordering::Relaxed)];
        }
        let state = lock(&self.state);
        let order = state.orders.get(&stream.context);
        order.map_or_else(Vec::new, |order| order.blocking.values().chain([&order.legacy]).copied().collect())
    }

    /// What the thread does that stands for the GPU, until the process ends.
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

    /// Lets the other thread make a call of the program, and waits for it as long as there is patience.
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

    /// What the thread does that calls the program, until the process ends.
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

    /// Does one operation. One that fails is the end of all contexts.
    fn run(&self, number: u64, job: &Job) {
        let Job { context, op, .. } = job;
        let run = || match driver() {
            Ok(driver) => op.run(driver, context),
            Err(error) => Err(error),
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        let failed = Error::new(Code::UNKNOWN, "the simulated driver panicked, which is an error of its own");
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
        // What they hold may call the program when it ends, so not while the queue is locked.
        drop((done, call));
    }
}

/// What there is to do.
enum Next {
    /// This operation.
    Do(u64, Arc<Job>),
    /// Nothing before some memory changes.
    Look,
    /// Nothing before something is enqueued or over.
    Nothing,
}

impl State {
    /// The first operation that can be done; it has begun then.
    fn next(&mut self) -> Next {
        let mut looks = false;
        let has_failed = driver().is_ok_and(|driver| driver.fault().is_some());
        for (number, job) in &self.jobs {
            let waits = job.after.iter().any(|other| self.jobs.contains_key(other))
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
