//! Operations of streams, events in streams, and waits for streams and events.

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, lock};
use crate::gpu::capture::events;
use crate::gpu::event::{self, Event};
use crate::gpu::mem_op::{BatchParams, Interface, MemOp, wait, write};
use crate::gpu::op::{Callback, HostCall, HostFunction, Op};
use crate::gpu::queue::queue;
use crate::gpu::state::driver;
use crate::gpu::stream::{self, Stream};
use crate::gpu::{capture, submit};

/// `CU_EVENT_RECORD_EXTERNAL` and `CU_EVENT_WAIT_EXTERNAL`.
const EXTERNAL: u32 = 1;

/// Records an event in a stream.
pub(crate) fn record(event: Handle, stream: Handle, flags: u32) -> Result<()> {
    let event = event::get(event)?;
    let (on, _) = Stream::of(stream)?;
    if flags > EXTERNAL {
        return Err(Code::INVALID_VALUE.into());
    }
    if on.context != event.context {
        return Err(Error::new(Code::INVALID_HANDLE, "the event and the stream belong to different contexts"));
    }
    if events::record(&on, &event, flags == EXTERNAL)? {
        return Ok(());
    }
    match flags {
        EXTERNAL => Err(Code::ILLEGAL_STATE.into()),
        _ => submit::enqueue(stream, Op::Record(event)),
    }
}

fn is_reached(event: &Event) -> Result<bool> {
    Ok(queue()?.is_done(event.recorded()))
}

fn elapsed(milliseconds: Out<f32>, start: Handle, end: Handle) -> Result<()> {
    let (start, end) = (event::get(start)?, event::get(end)?);
    [&start, &end].into_iter().try_for_each(|event| events::check_elapsed(event))?;
    let is_known = |event: &Event| event.has_time() && event.recorded() != 0;
    if !is_known(&start) || !is_known(&end) || start.context != end.context {
        return Err(Code::INVALID_HANDLE.into());
    }
    milliseconds.check()?;
    if !is_reached(&start)? || !is_reached(&end)? {
        return Err(Code::NOT_READY.into());
    }
    start.check()?;
    // The two locks are taken one after the other because both handles may name the same event.
    let time = |event: &Event| lock(&event.time).ok_or(Code::NOT_READY);
    let (start, end) = (time(&start)?, time(&end)?);
    let forwards = end.saturating_duration_since(start).as_secs_f64();
    let backwards = start.saturating_duration_since(end).as_secs_f64();
    milliseconds.set(((forwards - backwards) * 1e3) as f32)
}

fn enqueue_word(stream: Handle, op: MemOp) -> Result<()> {
    submit::enqueue(stream, Op::Batch([op].into()))
}

fn enqueue_batch(stream: Handle, count: u32, params: In<BatchParams>, flags: u32, interface: Interface) -> Result<()> {
    Stream::of(stream)?;
    if flags != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let ops = BatchParams::read(params, count, interface)?;
    if ops.is_empty() { Ok(()) } else { submit::enqueue(stream, Op::Batch(ops)) }
}

functions! {
    fn cuStreamDestroy_v2 | cuStreamDestroy(stream: Handle) {
        capture::forget(&*stream::remove(stream)?);
        Ok(())
    }

    fn cuStreamSynchronize(stream: Handle) {
        let (stream, context) = Stream::of(stream)?;
        capture::check_synchronous(&stream)?;
        submit::synchronize(&stream, &context)
    }

    fn cuStreamQuery(stream: Handle) {
        let (stream, _) = Stream::of(stream)?;
        capture::check_synchronous(&stream)?;
        let queue = queue()?;
        match queue.before(&stream).into_iter().all(|number| queue.is_done(number)) {
            true => Ok(()),
            false => Err(Code::NOT_READY.into()),
        }
    }

    fn cuStreamAttachMemAsync(stream: Handle, _address: u64, _bytes: usize, _flags: u32) {
        capture::refuse(&Stream::of(stream)?.0)
    }

    fn cuLaunchHostFunc(stream: Handle, function: Option<HostFunction>, data: usize) {
        let function = function.ok_or(Code::INVALID_VALUE)?;
        submit::enqueue(stream, Op::Host(HostCall::Function(function, data)))
    }

    fn cuStreamAddCallback(stream: Handle, callback: Option<Callback>, data: usize, flags: u32) {
        let callback = callback.ok_or(Code::INVALID_VALUE)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        capture::refuse(&Stream::of(stream)?.0)?;
        submit::enqueue(stream, Op::Host(HostCall::Callback(callback, stream, data)))
    }

    fn cuStreamWaitValue32_v2 | cuStreamWaitValue32(stream: Handle, address: u64, value: u32, flags: u32) {
        enqueue_word(stream, wait(address, 4, value.into(), flags)?)
    }

    fn cuStreamWaitValue64_v2 | cuStreamWaitValue64(stream: Handle, address: u64, value: u64, flags: u32) {
        enqueue_word(stream, wait(address, 8, value, flags)?)
    }

    fn cuStreamWriteValue32(stream: Handle, address: u64, value: u32, flags: u32) {
        enqueue_word(stream, write(address, 4, value.into(), flags, Interface::First)?)
    }

    fn cuStreamWriteValue32_v2(stream: Handle, address: u64, value: u32, flags: u32) {
        enqueue_word(stream, write(address, 4, value.into(), flags, Interface::Second)?)
    }

    fn cuStreamWriteValue64(stream: Handle, address: u64, value: u64, flags: u32) {
        enqueue_word(stream, write(address, 8, value, flags, Interface::First)?)
    }

    fn cuStreamWriteValue64_v2(stream: Handle, address: u64, value: u64, flags: u32) {
        enqueue_word(stream, write(address, 8, value, flags, Interface::Second)?)
    }

    fn cuStreamBatchMemOp(stream: Handle, count: u32, params: In<BatchParams>, flags: u32) {
        enqueue_batch(stream, count, params, flags, Interface::First)
    }

    fn cuStreamBatchMemOp_v2(stream: Handle, count: u32, params: In<BatchParams>, flags: u32) {
        enqueue_batch(stream, count, params, flags, Interface::Second)
    }

    fn cuEventRecord(event: Handle, stream: Handle) {
        record(event, stream, 0)
    }

    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) {
        record(event, stream, flags)
    }

    fn cuEventQuery(event: Handle) {
        let event = event::get(event)?;
        events::check_event(&event)?;
        event.check()?;
        match is_reached(&event)? {
            true => Ok(()),
            false => Err(Code::NOT_READY.into()),
        }
    }

    fn cuEventSynchronize(event: Handle) {
        let event = event::get(event)?;
        events::check_event(&event)?;
        queue()?.wait(event.recorded());
        driver()?.print_printed();
        event.check()
    }

    fn cuEventElapsedTime_v2 | cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) {
        elapsed(milliseconds, start, end)
    }

    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) {
        let event = event::get(event)?;
        let (on, _) = Stream::of(stream)?;
        if flags > EXTERNAL {
            return Err(Code::INVALID_VALUE.into());
        }
        if events::wait(&on, &event, flags == EXTERNAL)? {
            return Ok(());
        }
        match flags {
            EXTERNAL => Err(Code::ILLEGAL_STATE.into()),
            _ => submit::enqueue(stream, Op::Wait(event)),
        }
    }
}
