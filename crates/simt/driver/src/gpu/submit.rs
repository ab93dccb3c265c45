//! Submitting operations to a stream, which runs or captures them.

use std::sync::LazyLock;

use crate::abi::error::Result;
use crate::abi::handles::Handle;
use crate::gpu::capture;
use crate::gpu::context::Context;
use crate::gpu::op::Op;
use crate::gpu::queue::{Piece, queue};
use crate::gpu::state::driver;
use crate::gpu::stream::Stream;

/// Enqueues an operation in the stream with this handle.
pub(crate) fn enqueue(stream: Handle, op: Op) -> Result<()> {
    enqueue_or_wait(stream, op, false)
}

/// Enqueues an operation in the stream with this handle. If `waits` is true, waits until the operation has run, unless
/// it is captured.
pub(crate) fn enqueue_or_wait(stream: Handle, op: Op, waits: bool) -> Result<()> {
    static BLOCKING: LazyLock<bool> =
        LazyLock::new(|| std::env::var("CUDA_LAUNCH_BLOCKING").is_ok_and(|value| value == "1"));
    let (stream, context) = Stream::of(stream)?;
    if capture::take(&stream, &op)? {
        return Ok(());
    }
    queue()?.push(&context, &stream, vec![Piece { op, dependencies: Vec::new() }], &[])?;
    if waits || *BLOCKING { synchronize(&stream, &context) } else { Ok(()) }
}

/// Waits for the operations of a stream.
pub(crate) fn synchronize(stream: &Stream, context: &Context) -> Result<()> {
    let queue = queue()?;
    queue.before(stream).into_iter().for_each(|number| queue.wait(number));
    driver()?.print_printed();
    context.check()
}
