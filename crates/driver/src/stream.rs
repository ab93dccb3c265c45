//! Streams: operations that are done one behind the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use crate::call::{Out, functions, host_function};
use crate::context::{self, Context};
use crate::error::{Code, Error, Result};
use crate::handles::{Handle, Handles};
use crate::memory;
use crate::op::Op;
use crate::state::driver;

/// The priority of the most urgent streams; that of the others is 0 and all numbers between.
pub(crate) const GREATEST_PRIORITY: i32 = -5;

/// The handles of the default stream (`CU_STREAM_LEGACY`) and of that of each thread (`CU_STREAM_PER_THREAD`).
pub(crate) const LEGACY: Handle = 1;
const PER_THREAD: Handle = 2;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

static STREAMS: Handles<Stream> = Handles::new();

/// A stream.
pub(crate) struct Stream {
    pub(crate) handle: Handle,
    /// The handle of its context.
    context: Handle,
    flags: u32,
    priority: i32,
    /// Its number, which no other stream of the process has.
    id: u64,
    /// The number of its last operation.
    last: AtomicU64,
}

impl Stream {
    fn new(handle: Handle, context: Handle, flags: u32, priority: i32) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { handle, context, flags, priority, id, last: 0.into() }
    }

    /// The default stream of a context.
    pub(crate) fn default_of(context: Handle) -> Arc<Self> {
        Arc::new(Self::new(LEGACY, context, 0, 0))
    }

    /// The stream of a handle, with its context.
    pub(crate) fn of(handle: Handle) -> Result<(Arc<Self>, Arc<Context>)> {
        match handle {
            0 | LEGACY | PER_THREAD => {
                let context = context::current()?;
                Ok((context.default_stream.clone(), context))
            }
            _ => {
                driver()?;
                let stream = STREAMS.get(handle)?;
                let context = Context::of(stream.context)?;
                context.check()?;
                Ok((stream, context))
            }
        }
    }

    /// The number of its last operation.
    pub(crate) fn last_number(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Waits for its operations.
    pub(crate) fn synchronize(&self, context: &Context) -> Result<()> {
        driver()?.queue.wait(self.last.load(Ordering::Relaxed));
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

/// Enqueues an operation in the stream of a handle, and waits for it.
pub(crate) fn enqueue_and_wait(stream: Handle, op: Op) -> Result<()> {
    push(stream, op, true)
}

fn push(stream: Handle, op: Op, waits: bool) -> Result<()> {
    let (stream, context) = Stream::of(stream)?;
    let number = driver()?.queue.push(context.clone(), op)?;
    stream.last.fetch_max(number, Ordering::Relaxed);
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
        STREAMS.remove(stream).map(drop)
    }

    fn cuStreamSynchronize(stream: Handle) {
        let (stream, context) = Stream::of(stream)?;
        match stream.handle {
            LEGACY => context.synchronize(),
            _ => stream.synchronize(&context),
        }
    }

    fn cuStreamQuery(stream: Handle) {
        let (stream, _) = Stream::of(stream)?;
        match driver()?.queue.is_done(stream.last.load(Ordering::Relaxed)) {
            true => Ok(()),
            false => Err(Code::NOT_READY.into()),
        }
    }

    fn cuStreamGetFlags(stream: Handle, flags: Out<u32>) {
        flags.set(Stream::of(stream)?.0.flags)
    }

    fn cuStreamGetPriority(stream: Handle, priority: Out<i32>) {
        priority.set(Stream::of(stream)?.0.priority)
    }

    fn cuStreamGetId(stream: Handle, id: Out<u64>) {
        id.set(Stream::of(stream)?.0.id)
    }

    fn cuStreamGetCtx(stream: Handle, context: Out<Handle>) {
        context.set(Stream::of(stream)?.1.handle)
    }

    fn cuStreamGetDevice(stream: Handle, device: Out<i32>) {
        device.set(Stream::of(stream)?.1.device as i32)
    }

    fn cuStreamAttachMemAsync(stream: Handle, _address: u64, _bytes: usize, _flags: u32) {
        Stream::of(stream).map(drop)
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
