//! Streams: operations that run one after another.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::abi::call::{self, In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, PerDriver, lock};
use crate::gpu::context::{self, Context};
use crate::gpu::launch_attributes::{Attributes, Owner, Value};
use crate::gpu::state::driver;

/// The highest priority. Priorities range from this value to 0, the lowest.
pub(crate) const GREATEST_PRIORITY: i32 = -5;

/// The handles of the default stream (`CU_STREAM_LEGACY`) and of each thread's default stream (`CU_STREAM_PER_THREAD`).
pub(crate) const LEGACY: Handle = 1;
pub(crate) const PER_THREAD: Handle = 2;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

static STREAMS: Handles<Stream> = Handles::new();
/// The default streams, by context handle.
static DEFAULTS: PerDriver<Mutex<HashMap<Handle, Arc<Stream>>>> = PerDriver::new();

thread_local! {
    /// This thread's private default streams, by context handle.
    static PER_THREAD_DEFAULTS: RefCell<HashMap<Handle, Arc<Stream>>> = RefCell::default();
}

/// How a stream synchronizes with the default stream of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The stream is the default stream.
    IsDefault,
    /// Each of the two streams waits for the other stream's earlier work.
    ForDefault,
    /// Neither stream waits for the other.
    NotForOthers,
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) handle: Handle,
    /// The handle of the stream's context.
    pub(crate) context: Handle,
    flags: u32,
    /// The number of the stream, unique in the process.
    pub(crate) id: u64,
    /// The number of the stream's last operation.
    pub(crate) last: AtomicU64,
    /// The number of the capture that the stream belongs to; 0 if the stream is not captured.
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

    /// Returns the priority. A smaller number is more urgent.
    pub(crate) fn priority(&self) -> i32 {
        lock(&self.attributes).priority()
    }

    /// Returns the stream with this handle, and the stream's context.
    pub(crate) fn of(handle: Handle) -> Result<(Arc<Self>, Arc<Context>)> {
        let (stream, context) = Self::find(handle)?;
        context.check()?;
        Ok((stream, context))
    }

    /// Returns the stream of a batch of operations. The default stream does not accept batches.
    pub(crate) fn of_batch(handle: Handle) -> Result<Arc<Self>> {
        let (stream, _) = Self::of(handle)?;
        match stream.waits() {
            Waits::IsDefault => Err(Error::new(Code::INVALID_VALUE, "the default stream does not accept batches")),
            _ => Ok(stream),
        }
    }

    /// Returns the stream with this handle, whatever the state of its context.
    fn find(handle: Handle) -> Result<(Arc<Self>, Arc<Context>)> {
        match handle {
            0 if call::has_per_thread_default() => Self::find(PER_THREAD),
            0 | LEGACY => {
                let context = context::current()?;
                let make = || Arc::new(Self::new(LEGACY, context.handle, 0, 0));
                let stream = lock(DEFAULTS.get()).entry(context.handle).or_insert_with(make).clone();
                Ok((stream, context))
            }
            PER_THREAD => {
                let context = context::current()?;
                let make = || Arc::new(Self::new(PER_THREAD, context.handle, 0, 0));
                let stream = PER_THREAD_DEFAULTS
                    .with_borrow_mut(|streams| streams.entry(context.handle).or_insert_with(make).clone());
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

    /// Returns how the stream synchronizes with the default stream.
    pub(crate) fn waits(&self) -> Waits {
        match self.handle {
            LEGACY => Waits::IsDefault,
            _ if self.flags & NON_BLOCKING == 0 => Waits::ForDefault,
            _ => Waits::NotForOthers,
        }
    }
}

/// Destroys the streams of a context.
pub(crate) fn remove_all(context: Handle) {
    STREAMS.remove_where(|stream| stream.context == context);
    lock(DEFAULTS.get()).remove(&context);
}

/// Destroys a stream. Default streams cannot be destroyed.
pub(crate) fn remove(stream: Handle) -> Result<Arc<Stream>> {
    driver()?;
    if stream <= PER_THREAD {
        return Err(Code::INVALID_HANDLE.into());
    }
    STREAMS.remove(stream)
}

fn create(stream: Out<Handle>, flags: u32, priority: i32) -> Result<()> {
    stream.check()?;
    let context = context::current()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    let created = STREAMS.add(|handle| Stream::new(handle, context.handle, flags, priority));
    stream.set(created.handle)
}

functions! {
    fn cuStreamCreate(stream: Out<Handle>, flags: u32) {
        create(stream, flags, 0)
    }

    fn cuStreamCreateWithPriority(stream: Out<Handle>, flags: u32, priority: i32) {
        create(stream, flags, priority)
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


}
