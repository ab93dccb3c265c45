//! Streams: operations that are done one behind the other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use crate::abi::call::{self, In, Out, functions, host_function};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, lock};
use crate::gpu::capture;
use crate::gpu::context::{self, Context};
use crate::gpu::launch_attributes::{Attributes, Owner, Value};
use crate::gpu::memory;
use crate::gpu::op::Op;
use crate::gpu::state::driver;

/// The priority of the most urgent streams; that of the others is 0 and all numbers between.
pub(crate) const GREATEST_PRIORITY: i32 = -5;

/// The handles of the default stream (`CU_STREAM_LEGACY`) and of that of each thread (`CU_STREAM_PER_THREAD`).
const LEGACY: Handle = 1;
const PER_THREAD: Handle = 2;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

static STREAMS: Handles<Stream> = Handles::new();

thread_local! {
    /// The default streams of this thread alone, by the handles of their contexts.
    static OWN_DEFAULT: RefCell<HashMap<Handle, Arc<Stream>>> = RefCell::default();
}

/// How a stream and the default stream of its context wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// It is the default stream.
    IsDefault,
    /// Each waits for what the other one has had before.
    ForDefault,
    /// Neither waits.
    NotForOthers,
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) handle: Handle,
    /// The handle of its context.
    pub(crate) context: Handle,
    flags: u32,
    /// Its number, which no other stream of the process has.
    pub(crate) id: u64,
    /// The number of its last operation.
    pub(crate) last: AtomicU64,
    /// The number of the capture that it takes part in; 0 without one.
    pub(crate) capture: AtomicU64,
    attributes: Mutex<Attributes>,
}

impl Stream {
    fn new(handle: Handle, context: Handle, flags: u32, priority: i32) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let attributes = Mutex::new(Attributes::with_priority(priority));
        Self { handle, context, flags, id, last: 0.into(), capture: 0.into(), attributes }
    }

    /// Its priority: the smaller, the more urgent.
    pub(crate) fn priority(&self) -> i32 {
        lock(&self.attributes).priority()
    }

    /// The default stream of a context.
    pub(crate) fn default_of(context: Handle) -> Arc<Self> {
        Arc::new(Self::new(LEGACY, context, 0, 0))
    }

    /// The stream of a handle, with its context.
    pub(crate) fn of(handle: Handle) -> Result<(Arc<Self>, Arc<Context>)> {
        let (stream, context) = Self::find(handle)?;
        context.check()?;
        Ok((stream, context))
    }

    /// Returns the stream of a batch of operations. The default stream has no batches.
    pub(crate) fn of_batch(handle: Handle) -> Result<Arc<Self>> {
        let (stream, _) = Self::of(handle)?;
        match stream.waits() {
            Waits::IsDefault => Err(Error::new(Code::INVALID_VALUE, "a batch in the default stream")),
            _ => Ok(stream),
        }
    }

    /// The stream of a handle, whatever the state of its context.
    fn find(handle: Handle) -> Result<(Arc<Self>, Arc<Context>)> {
        match handle {
            0 if call::has_own_default() => Self::find(PER_THREAD),
            0 | LEGACY => {
                let context = context::current()?;
                Ok((context.default_stream.clone(), context))
            }
            PER_THREAD => {
                let context = context::current()?;
                let make = || Arc::new(Self::new(PER_THREAD, context.handle, 0, 0));
                let stream = OWN_DEFAULT.with_borrow_mut(|own| own.entry(context.handle).or_insert_with(make).clone());
                Ok((stream, context))
            }
            _ => {
                driver()?;
                let stream = STREAMS.get(handle)?;
                let context = Context::of(stream.context)?;
                Ok((stream, context))
            }
        }
    }

    /// How it and the default stream wait for each other.
    pub(crate) fn waits(&self) -> Waits {
        match self.handle {
            LEGACY => Waits::IsDefault,
            _ if self.flags & NON_BLOCKING == 0 => Waits::ForDefault,
            _ => Waits::NotForOthers,
        }
    }

    /// The operations that one of it would come after.
    fn before(&self) -> Result<Vec<u64>> {
        Ok(match self.waits() {
            Waits::IsDefault => driver()?.queue.before_default(self.context),
            _ => vec![self.last.load(Ordering::Relaxed)],
        })
    }

    /// Waits for its operations.
    pub(crate) fn synchronize(&self, context: &Context) -> Result<()> {
        let driver = driver()?;
        self.before()?.into_iter().for_each(|number| driver.queue.wait(number));
        memory::print_printed();
        context.check()
    }
}

/// Enqueues an operation in the stream of a handle.
pub(crate) fn enqueue(stream: Handle, op: Op) -> Result<()> {
    static BLOCKING: LazyLock<bool> =
        LazyLock::new(|| std::env::var("CUDA_LAUNCH_BLOCKING").is_ok_and(|value| value == "1"));
    push(stream, op, *BLOCKING)
}

/// Enqueues an operation in the stream of a handle, and waits for it, unless it is captured.
pub(crate) fn enqueue_and_wait(stream: Handle, op: Op) -> Result<()> {
    push(stream, op, true)
}

fn push(stream: Handle, op: Op, waits: bool) -> Result<()> {
    let (stream, context) = Stream::of(stream)?;
    if capture::take(&stream, &op)? {
        return Ok(());
    }
    driver()?.queue.push(&context, &stream, op)?;
    if waits { stream.synchronize(&context) } else { Ok(()) }
}

/// Destroys the streams of a context.
pub(crate) fn remove_all(context: Handle) {
    STREAMS.remove_where(|own| own.context == context);
}

fn create(stream: Out<Handle>, flags: u32, priority: i32) -> Result<()> {
    stream.check()?;
    let context = context::current()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    let made = STREAMS.add(|handle| Stream::new(handle, context.handle, flags, priority));
    stream.set(made.handle)
}

/// A function that `cuStreamAddCallback` takes: of the stream, the result so far, and the program's own data.
pub(crate) type Callback = unsafe extern "C" fn(Handle, u32, usize);
/// A function that `cuLaunchHostFunc` takes.
pub(crate) type HostFunction = unsafe extern "C" fn(usize);

functions! {
    fn cuStreamCreate(stream: Out<Handle>, flags: u32) {
        create(stream, flags, 0)
    }

    fn cuStreamCreateWithPriority(stream: Out<Handle>, flags: u32, priority: i32) {
        create(stream, flags, priority)
    }

    fn cuStreamDestroy_v2 | cuStreamDestroy(stream: Handle) {
        driver()?;
        if stream <= PER_THREAD {
            return Err(Code::INVALID_HANDLE.into());
        }
        capture::forget(&*STREAMS.remove(stream)?);
        Ok(())
    }

    fn cuStreamSynchronize(stream: Handle) {
        let (stream, context) = Stream::of(stream)?;
        capture::check_synchronous(&stream)?;
        stream.synchronize(&context)
    }

    fn cuStreamQuery(stream: Handle) {
        let (stream, _) = Stream::of(stream)?;
        capture::check_synchronous(&stream)?;
        let queue = &driver()?.queue;
        match stream.before()?.into_iter().all(|number| queue.is_done(number)) {
            true => Ok(()),
            false => Err(Code::NOT_READY.into()),
        }
    }

    fn cuStreamGetAttribute(stream: Handle, id: u32, value: Out<Value>) {
        let (stream, _) = Stream::of(stream)?;
        value.check()?;
        value.set(lock(&stream.attributes).get(Owner::Stream, id)?)
    }

    fn cuStreamSetAttribute(stream: Handle, id: u32, value: In<Value>) {
        let (stream, _) = Stream::of(stream)?;
        let value = value.get()?;
        lock(&stream.attributes).set(Owner::Stream, id, value)
    }

    fn cuStreamCopyAttributes(to: Handle, from: Handle) {
        let ((to, _), (from, _)) = (Stream::of(to)?, Stream::of(from)?);
        let copied = lock(&from.attributes).clone();
        *lock(&to.attributes) = copied;
        Ok(())
    }

    fn cuStreamGetFlags(stream: Handle, flags: Out<u32>) {
        flags.set(Stream::of(stream)?.0.flags)
    }

    fn cuStreamGetPriority(stream: Handle, priority: Out<i32>) {
        priority.set(Stream::of(stream)?.0.priority())
    }

    fn cuStreamGetId(stream: Handle, id: Out<u64>) {
        id.set(Stream::of(stream)?.0.id)
    }

    fn cuStreamGetCtx(stream: Handle, context: Out<Handle>) {
        context.set(Stream::of(stream)?.1.handle)
    }

    fn cuStreamGetCtx_v2(stream: Handle, context: Out<Handle>, green: Out<Handle>) {
        context.set(Stream::of(stream)?.1.handle)?;
        green.offer(0);
        Ok(())
    }

    fn cuStreamGetGreenCtx(stream: Handle, green: Out<Handle>) {
        Stream::of(stream)?;
        green.set(0)
    }

    fn cuStreamGetDevice(stream: Handle, device: Out<i32>) {
        device.set(Stream::of(stream)?.1.device as i32)
    }

    fn cuStreamAttachMemAsync(stream: Handle, _address: u64, _bytes: usize, _flags: u32) {
        capture::refuse(&Stream::of(stream)?.0)
    }

    fn cuLaunchHostFunc(stream: Handle, function: Option<HostFunction>, data: usize) {
        let function = function.ok_or(Code::INVALID_VALUE)?;
        enqueue(stream, Op::Host(HostCall::Function(function, data)))
    }

    fn cuStreamAddCallback(stream: Handle, callback: Option<Callback>, data: usize, flags: u32) {
        let callback = callback.ok_or(Code::INVALID_VALUE)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        capture::refuse(&Stream::of(stream)?.0)?;
        enqueue(stream, Op::Host(HostCall::Callback(callback, stream, data)))
    }
}

/// A call of the program's own code by a stream.
#[derive(Clone, Copy)]
pub(crate) enum HostCall {
    /// A function and its data.
    Function(HostFunction, usize),
    /// A function, the stream that it is told, and its data.
    Callback(Callback, Handle, usize),
}

impl HostCall {
    /// Calls it. Of a context that an error has ended, only callbacks are called, and are told.
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let status = context.check().map_err(|error: Error| error.code.0).err().unwrap_or_default();
        host_function(|| match self {
            // SAFETY: the program gave the function and its data for this.
            HostCall::Function(function, data) if status == 0 => unsafe { function(data) },
            HostCall::Function(..) => {}
            // SAFETY: as above.
            HostCall::Callback(callback, stream, data) => unsafe { callback(stream, status, data) },
        });
        Ok(())
    }
}
