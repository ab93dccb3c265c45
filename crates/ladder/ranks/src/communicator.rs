//! Communicators, which combine the ranks' data in the memory of their devices, and the communicator that uses NCCL.

use std::ffi::c_void;
use std::ops::Range;
use std::time::Duration;

use nccl::Work;

use crate::divide::{ElementType, Operation, Share};
use crate::error::Error;
use crate::meeting::Meeting;
use engine::device::{BufferId, Device, DeviceMemory, GpuStream};

/// A collective operation of all ranks, each with its buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Combines the elements of all ranks and delivers the result to every rank.
    AllReduce {
        /// The number of elements.
        count: u64,
        /// The type of the elements.
        element: ElementType,
        /// How elements are combined.
        operation: Operation,
    },
    /// Copies bytes from the first rank to the other ranks.
    Broadcast {
        /// The number of bytes.
        bytes: u64,
    },
    /// Combines the elements of all ranks. Each rank receives its range of the result at the start of another buffer.
    Scatter {
        /// The bytes that each rank receives. The ranges are consecutive.
        ranges: Vec<Range<u64>>,
        /// The type of the elements.
        element: ElementType,
        /// How elements are combined.
        operation: Operation,
    },
    /// Copies the bytes of each rank to that rank's range of another buffer, on every rank.
    Gather {
        /// The byte range of each rank.
        ranges: Vec<Range<u64>>,
    },
}

impl Collective {
    /// Returns the number of bytes that the collective reads from a rank's source.
    pub(crate) fn bytes_from(&self, rank: usize) -> u64 {
        match self {
            Self::AllReduce { count, element, .. } => count * element.bytes(),
            Self::Scatter { ranges, .. } => ranges.last().map_or(0, |range| range.end),
            Self::Broadcast { bytes } if rank == 0 => *bytes,
            Self::Broadcast { .. } => 0,
            Self::Gather { ranges } => ranges.get(rank).map_or(0, |range| range.end - range.start),
        }
    }
}

/// Combines the ranks' data. All ranks make the same calls in the same order.
pub trait Communicator {
    /// Returns the name of the communicator.
    fn describe(&self) -> String;

    /// Runs a collective with two buffers on each rank, the source and the target, and waits until the collective has
    /// finished. The source and the target may be the same buffer, except for [`Collective::Gather`] and
    /// [`Collective::Scatter`] of several ranks.
    ///
    /// # Errors
    /// Returns [`engine::Error::Call`] when the collective fails on this rank, [`Error::Rank`] when another rank is
    /// known to have failed.
    fn run(
        &mut self,
        meeting: &mut Meeting,
        device: &mut dyn Device,
        from_to: [BufferId; 2],
        what: &Collective,
    ) -> Result<(), Error>;

    /// Enqueues a collective on the device's stream. Returns `None` if the collective needs the host.
    fn enqueue(
        &mut self,
        _stream: &GpuStream,
        _memory: [DeviceMemory; 2],
        _what: &Collective,
    ) -> Option<Result<(), String>> {
        None
    }

    /// Aborts running collectives after a failure, on this rank and, if possible, on other ranks.
    fn abort(&mut self) {}
}

/// The communicator that uses NCCL.
pub struct Nccl {
    library: &'static nccl::Nccl,
    communicator: nccl::Communicator,
    rank: Share,
}

impl Nccl {
    /// Joins the other ranks. This rank uses the current device of this thread.
    ///
    /// # Errors
    /// Returns [`Error::Rank`] when a rank has no NCCL or a different version of NCCL, or when NCCL fails.
    pub fn new(
        meeting: &mut Meeting,
        library: Result<&'static nccl::Nccl, String>,
        limit: Duration,
    ) -> Result<Self, Error> {
        let rank = meeting.rank;
        let version = library.clone().map(|library| library.version.to_string().into_bytes());
        check_versions(meeting, "NCCL", version)?;
        let library = library.map_err(|reason| Error::Rank { rank: rank.index, reason })?;
        let id = match rank.index {
            0 => library.unique_id().map(|id| id.0.to_vec()),
            _ => Ok(Vec::new()),
        };
        let ids = meeting.exchange(id)?;
        let id = ids.first().and_then(|id| <[u8; 128]>::try_from(&id[..]).ok());
        let id = id.ok_or_else(|| Error::Rank { rank: 0, reason: "sent no NCCL identifier".to_owned() });
        let joined = id.map_err(|error| error.to_string()).and_then(|id| {
            let refused = |error| format!("cannot use the device's context: {error:?}");
            let enter = libcuda::carry_context().map_err(refused)?;
            let enter = move || enter().map_err(refused);
            library.join(nccl::UniqueId(id), [rank.index, rank.count], limit, meeting.watch(), enter)
        });
        meeting.report(&joined)?;
        let communicator = joined.map_err(|reason| Error::Rank { rank: rank.index, reason })?;
        Ok(Self { library, communicator, rank })
    }
}

/// Checks that all ranks have the same version of a library.
pub(crate) fn check_versions(meeting: &mut Meeting, what: &str, version: Result<Vec<u8>, String>) -> Result<(), Error> {
    let all = meeting.exchange(version)?;
    let first = all.first().cloned().unwrap_or_default();
    let Some(rank) = all.iter().position(|version| *version != first) else { return Ok(()) };
    let [other, first] = [&all[rank], &first].map(|version| String::from_utf8_lossy(version).into_owned());
    let reason = format!("has {what} {other}, and rank 0 has {first}: all ranks need the same version");
    Err(Error::Rank { rank, reason })
}

impl Communicator for Nccl {
    fn describe(&self) -> String {
        format!("NCCL {} ({})", self.library.version, self.library.path)
    }

    fn run(
        &mut self,
        _: &mut Meeting,
        device: &mut dyn Device,
        bound: [BufferId; 2],
        what: &Collective,
    ) -> Result<(), Error> {
        let call_result = device.call("NCCL", &bound, &mut |stream, memory| match *memory {
            [from, to] => self.enqueue_raw(stream.as_raw(), [from, to], what),
            _ => Err("two buffers are required".to_owned()),
        });
        let failed = |reason| engine::Error::Call { what: "NCCL".to_owned(), reason };
        let call_result =
            call_result.and_then(|call_result| self.communicator.check().map_err(failed).map(|()| call_result));
        if call_result.is_err() {
            self.communicator.abort();
        }
        Ok(call_result.map(drop)?)
    }

    fn enqueue(
        &mut self,
        stream: &GpuStream,
        memory: [DeviceMemory; 2],
        what: &Collective,
    ) -> Option<Result<(), String>> {
        Some(self.enqueue_raw(stream.as_raw(), memory, what))
    }

    fn abort(&mut self) {
        self.communicator.abort();
    }
}

impl Nccl {
    fn enqueue_raw(
        &mut self,
        stream: *mut c_void,
        [from, to]: [DeviceMemory; 2],
        what: &Collective,
    ) -> Result<(), String> {
        let work = |from: u64, to: u64, count: u64, element| Work { from, to, count: count as usize, element, stream };
        let rank_index = self.rank.index;
        let needed = match what {
            Collective::AllReduce { count, element, .. } => count * element.bytes(),
            Collective::Broadcast { bytes } => *bytes,
            Collective::Scatter { ranges, .. } => ranges[rank_index].end - ranges[rank_index].start,
            Collective::Gather { ranges } => ranges.iter().map(|range| range.end).max().unwrap_or_default(),
        };
        if to.bytes < needed {
            return Err(format!("the buffer has {} bytes, and {needed} are needed", to.bytes));
        }
        let length = |range: &Range<u64>| range.end - range.start;
        // SAFETY: the target holds `needed` bytes, as checked above, and the source holds the rank's elements or range.
        // Both stay allocated until the device's stream has finished.
        unsafe {
            match what {
                Collective::AllReduce { count, element, operation } => {
                    let work = work(from.address, to.address, *count, of_nccl(*element));
                    self.communicator.all_reduce(&work, op_of_nccl(*operation))
                }
                Collective::Broadcast { bytes } => {
                    self.communicator.broadcast(&work(from.address, to.address, *bytes, nccl::Element::U8), 0)
                }
                Collective::Scatter { ranges, element, operation } => {
                    let (size, operation) = (element.bytes(), op_of_nccl(*operation));
                    let work = |range: &Range<u64>, begin| {
                        work(from.address + begin, to.address, length(range) / size, of_nccl(*element))
                    };
                    if ranges.iter().all(|range| length(range) == length(&ranges[0])) {
                        return self.communicator.reduce_scatter(&work(&ranges[0], 0), operation);
                    }
                    self.communicator.group(|communicator| {
                        let mut ranges = ranges.iter().enumerate();
                        ranges.try_for_each(|(rank, range)| {
                            communicator.reduce(&work(range, range.start), operation, rank)
                        })
                    })
                }
                Collective::Gather { ranges } => {
                    let each = length(&ranges[0]);
                    let is_even = |(rank, range): (usize, &Range<u64>)| {
                        length(range) == each && range.start == ranges[0].start + rank as u64 * each
                    };
                    if ranges.iter().enumerate().all(is_even) {
                        let to = to.address + ranges[0].start;
                        return self.communicator.all_gather(&work(from.address, to, each, nccl::Element::U8));
                    }
                    self.communicator.group(|communicator| {
                        ranges.iter().enumerate().try_for_each(|(rank, range)| {
                            let to = to.address + range.start;
                            // NCCL only reads the source on the root.
                            let from = if rank == rank_index { from.address } else { to };
                            communicator.broadcast(&work(from, to, length(range), nccl::Element::U8), rank)
                        })
                    })
                }
            }
        }
    }
}

fn of_nccl(element: ElementType) -> nccl::Element {
    match element {
        ElementType::I32 => nccl::Element::I32,
        ElementType::U32 => nccl::Element::U32,
        ElementType::I64 => nccl::Element::I64,
        ElementType::F32 => nccl::Element::F32,
        ElementType::F64 => nccl::Element::F64,
    }
}

fn op_of_nccl(operation: Operation) -> nccl::Op {
    match operation {
        Operation::Sum => nccl::Op::Sum,
        Operation::Product => nccl::Op::Product,
        Operation::Min => nccl::Op::Min,
        Operation::Max => nccl::Op::Max,
    }
}

#[cfg(test)]
mod tests {
    use super::check_versions;
    use crate::meeting::tests::{LONG, meet};

    #[test]
    fn different_library_versions_are_reported_to_all() {
        let found = |library: fn(usize) -> Result<Vec<u8>, String>| {
            meet(3, &[], LONG, |mut meeting| {
                let version = library(meeting.rank.index);
                check_versions(&mut meeting, "NCCL", version).map(|()| Vec::new())
            })
        };
        assert!(found(|_| Ok(b"2.28.3".to_vec())).iter().all(Result::is_ok));
        let differs = "rank 2: has NCCL 2.27.7, and rank 0 has 2.28.3: all ranks need the same version";
        let versions = |rank| Ok(if rank == 2 { b"2.27.7" } else { b"2.28.3" }.to_vec());
        assert_eq!(found(versions), vec![Err(differs.to_owned()); 3]);
        let missing = |rank| if rank == 1 { Err("no NCCL on this machine".to_owned()) } else { Ok(Vec::new()) };
        assert_eq!(found(missing), vec![Err("rank 1: no NCCL on this machine".to_owned()); 3]);
    }
}
