//! Copies pieces of a rank's result to the memory of all ranks while the rank's device computes its next piece.
//!
//! The copies run in a second stream, on the devices' copy engines, and do not need a multiprocessor. NCCL's kernels
//! need one, but a kernel with a block on each multiprocessor leaves none free.

use std::mem;
use std::ops::Range;

use engine::device::{BufferId, DeviceMemory, GpuStream};
use libcuda::SideStream;

use crate::devices::open_peers;
use crate::error::Error;
use crate::member::Member;

/// The destinations to which pieces of a rank's result are copied.
pub(crate) struct PeerCopies {
    /// The ranks in the order in which this rank copies to them, with this rank last. Each entry is the number of the
    /// rank's device, and the first address of this rank's result in that rank's memory.
    targets: Vec<(i32, u64)>,
    /// The second stream, while copies are being enqueued.
    side: Option<SideStream>,
}

impl PeerCopies {
    /// Exchanges the addresses of the buffers into which all ranks' results are gathered. This rank's result starts at
    /// the byte `start`.
    pub(crate) fn new(member: &mut Member, to: BufferId, start: u64) -> Result<Self, Error> {
        let address = member.device.address(to);
        let address = member.agree(address)?;
        let addresses = member.meeting.exchange_number(address)?;
        let numbers = member.device_numbers()?;
        if member.device.info().kind != "sim" {
            // Without peer access, the driver copies through the host.
            let _ = open_peers(member.number, &numbers);
        }
        let targets = numbers.into_iter().zip(addresses).map(|(number, address)| (number as i32, address + start));
        let mut targets: Vec<_> = targets.collect();
        // Each rank starts with a different target.
        targets.rotate_left(member.rank().index + 1);
        Ok(Self { targets, side: None })
    }

    /// Enqueues the copies of a piece that the work in the device's stream computes. `from` is the address of this
    /// rank's result, and `piece` is the piece's byte range in the result. After the last piece, the device's stream
    /// waits for the copies of all pieces.
    pub(crate) fn enqueue(
        &mut self,
        stream: &GpuStream,
        from: DeviceMemory,
        piece: &Range<u64>,
        is_last: bool,
    ) -> Result<(), String> {
        let refused = |error| format!("copying a piece to another device: {error:?}");
        // The stream is created and destroyed here, because only calls from here go to the driver of a `sim` device.
        let side = self.side.take().map_or_else(SideStream::new, Ok).map_err(refused)?;
        let [stream, second] = [stream.as_raw().cast(), side.as_raw()];
        // SAFETY: both streams belong to the current context and exist during the call.
        unsafe { side.follow(stream) }.map_err(refused)?;
        let (source_device, _) = self.targets[self.targets.len() - 1];
        for (device, address) in &self.targets {
            let (to, from) = ((*device, address + piece.start), (source_device, from.address + piece.start));
            // SAFETY: the piece is within this rank's result and within the buffer for all ranks' results. The ranks
            // write disjoint bytes of that buffer, and no rank frees or reads its buffer before all ranks agree that
            // the copies are done.
            unsafe { libcuda::copy_peer(to, from, (piece.end - piece.start) as usize, second) }.map_err(refused)?;
        }
        if is_last {
            // SAFETY: both streams belong to the current context and exist during the call.
            return unsafe { side.lead(stream) }.map_err(refused);
        }
        self.side = Some(side);
        Ok(())
    }
}

impl Drop for PeerCopies {
    fn drop(&mut self) {
        // The stream still exists only after a failed launch. It cannot be destroyed here, because calls from here do
        // not go to the driver of a `sim` device. The driver destroys it with the context.
        mem::forget(self.side.take());
    }
}
