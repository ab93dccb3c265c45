//! What combines the ranks' data in their devices' memory: NCCL, or the host.

use std::ffi::c_void;
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

use libcuda::SideStream;
use nccl::Work;

use super::meeting::Meeting;
use crate::device::{BufferId, Device, DeviceMemory, GpuStream};
use crate::divide::{Element, Op, Part};
use crate::error::Error;

/// What all ranks do together with a buffer of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Combines so many elements of all ranks, for every rank.
    AllReduce {
        /// How many elements.
        count: u64,
        /// Their type.
        element: Element,
        /// How they are combined.
        op: Op,
    },
    /// Copies so many bytes of the first rank to the others.
    Broadcast {
        /// How many bytes.
        bytes: u64,
    },
    /// Combines the elements of all ranks, and gives each rank those of its range, at the beginning of another buffer.
    Scatter {
        /// The place of each rank's bytes, one behind the other.
        parts: Vec<Range<u64>>,
        /// The elements' type.
        element: Element,
        /// How they are combined.
        op: Op,
    },
    /// Puts the ranks' bytes into another buffer: each rank's are those of its range.
    Gather {
        /// The place of each rank's bytes.
        parts: Vec<Range<u64>>,
    },
}

/// Where a collective runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// In the device's stream.
    InStream,
    /// In a second stream, in which it begins when the device's stream has come to this point: what is put into that afterwards
    /// runs beside it.
    Beside,
}

/// What combines the ranks' data. All ranks call the same in the same order.
pub trait Communicator {
    /// What it is, in words.
    fn describe(&self) -> String;

    /// Does it with a buffer of each rank, and waits for the end: what it takes the data from, and where the result goes. These may be
    /// the same buffer, but for [`Collective::Gather`] and [`Collective::Scatter`].
    ///
    /// # Errors
    /// [`Error::Call`] when it fails here, [`Error::Rank`] when a rank has failed, as far as it is known.
    fn run(
        &mut self,
        meeting: &mut Meeting,
        device: &mut dyn Device,
        from_to: [BufferId; 2],
        what: &Collective,
    ) -> Result<(), Error>;

    /// Puts it into a stream of the device. `None` when it needs the host.
    fn enqueue(
        &mut self,
        _stream: (&GpuStream, Placement),
        _memory: [DeviceMemory; 2],
        _what: &Collective,
    ) -> Option<Result<(), String>> {
        None
    }

    /// Lets the device's stream wait for what is in the second one.
    ///
    /// # Errors
    /// The driver's, in words.
    fn join_beside(&mut self, _stream: &GpuStream) -> Result<(), String> {
        Ok(())
    }

    /// Ends what is under way, here and on other ranks as far as possible, after something has failed.
    fn abort(&mut self) {}
}

/// NCCL.
pub struct Nccl {
    library: &'static nccl::Nccl,
    communicator: nccl::Communicator,
    part: Part,
    /// What runs beside the device's stream.
    beside: Option<SideStream>,
}

impl Nccl {
    /// Joins the other ranks with the current device of this thread.
    ///
    /// # Errors
    /// [`Error::Rank`] when a rank has another version of NCCL, when it has none, or when NCCL fails.
    pub fn new(
        meeting: &mut Meeting,
        library: Result<&'static nccl::Nccl, String>,
        limit: Duration,
    ) -> Result<Self, Error> {
        let part = meeting.part;
        let version = library.clone().map(|library| library.version.to_string().into_bytes());
        check_versions(meeting, "NCCL", version)?;
        let library = library.map_err(|reason| Error::Rank { rank: part.rank, reason })?;
        let id = match part.rank {
            0 => library.unique_id().map(|id| id.0.to_vec()),
            _ => Ok(Vec::new()),
        };
        let ids = meeting.exchange(id)?;
        let id = ids.first().and_then(|id| <[u8; 128]>::try_from(&id[..]).ok());
        let id = id.ok_or_else(|| Error::Rank { rank: 0, reason: "sends no identity of NCCL's".to_owned() });
        let joined = id.map_err(|error| error.to_string()).and_then(|id| {
            let refused = |error| format!("its context: {error:?}");
            let enter = libcuda::carry_context().map_err(refused)?;
            let enter = move || enter().map_err(refused);
            library.join(nccl::UniqueId(id), [part.rank, part.ranks], limit, meeting.watch(), enter)
        });
        meeting.report(&joined)?;
        let communicator = joined.map_err(|reason| Error::Rank { rank: part.rank, reason })?;
        Ok(Self { library, communicator, part, beside: None })
    }
}

/// Checks that all ranks have the same version of something.
pub(super) fn check_versions(meeting: &mut Meeting, what: &str, own: Result<Vec<u8>, String>) -> Result<(), Error> {
    let all = meeting.exchange(own)?;
    let first = all.first().cloned().unwrap_or_default();
    let Some(rank) = all.iter().position(|version| *version != first) else { return Ok(()) };
    let [other, first] = [&all[rank], &first].map(|version| String::from_utf8_lossy(version).into_owned());
    let reason = format!("has {what} {other}, and rank 0 has {first}: all ranks need the same");
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
        let ran = device.call("NCCL", &bound, &mut |stream, memory| match *memory {
            [from, to] => self.enqueue_raw(stream.as_raw(), [from, to], what),
            _ => Err("two buffers are bound".to_owned()),
        });
        let failed = |reason| Error::Call { what: "NCCL".to_owned(), reason };
        let ran = ran.and_then(|ran| self.communicator.check().map_err(failed).map(|()| ran));
        if ran.is_err() {
            self.communicator.abort();
        }
        ran.map(drop)
    }

    fn enqueue(
        &mut self,
        (stream, placement): (&GpuStream, Placement),
        memory: [DeviceMemory; 2],
        what: &Collective,
    ) -> Option<Result<(), String>> {
        let stream = match placement {
            Placement::InStream => Ok(stream.as_raw()),
            Placement::Beside => self.follow(stream),
        };
        Some(stream.and_then(|stream| self.enqueue_raw(stream, memory, what)))
    }

    fn join_beside(&mut self, stream: &GpuStream) -> Result<(), String> {
        let Some(beside) = &self.beside else { return Ok(()) };
        // SAFETY: the device's stream exists as long as the borrow.
        unsafe { beside.lead(stream.as_raw().cast()) }.map_err(beside_failed)
    }

    fn abort(&mut self) {
        self.communicator.abort();
    }
}

impl Nccl {
    /// Lets the second stream wait for what is in the device's, and gives it.
    fn follow(&mut self, stream: &GpuStream) -> Result<*mut c_void, String> {
        let beside = match self.beside.take() {
            Some(beside) => beside,
            None => SideStream::new().map_err(beside_failed)?,
        };
        // SAFETY: the device's stream exists as long as the borrow.
        unsafe { beside.follow(stream.as_raw().cast()) }.map_err(beside_failed)?;
        Ok(self.beside.insert(beside).as_raw().cast())
    }

    fn enqueue_raw(
        &mut self,
        stream: *mut c_void,
        [from, to]: [DeviceMemory; 2],
        what: &Collective,
    ) -> Result<(), String> {
        let work = |from: u64, to: u64, count: u64, element| Work { from, to, count: count as usize, element, stream };
        let own = self.part.rank;
        let needed = match what {
            Collective::AllReduce { count, element, .. } => count * element.bytes(),
            Collective::Broadcast { bytes } => *bytes,
            Collective::Scatter { parts, .. } => parts[own].end - parts[own].start,
            Collective::Gather { parts } => parts.iter().map(|part| part.end).max().unwrap_or_default(),
        };
        if to.bytes < needed {
            return Err(format!("the buffer has {} bytes, and {needed} are needed", to.bytes));
        }
        let length = |part: &Range<u64>| part.end - part.start;
        // SAFETY: the buffers have as many bytes, as was checked, and of a part's the rank's own; they stay allocated until the
        // device's stream has been waited for.
        unsafe {
            match what {
                Collective::AllReduce { count, element, op } => {
                    let work = work(from.address, to.address, *count, of_nccl(*element));
                    self.communicator.all_reduce(&work, op_of_nccl(*op))
                }
                Collective::Broadcast { bytes } => {
                    self.communicator.broadcast(&work(from.address, to.address, *bytes, nccl::Element::U8), 0)
                }
                Collective::Scatter { parts, element, op } => {
                    let (size, op) = (element.bytes(), op_of_nccl(*op));
                    let work = |part: &Range<u64>, begin| {
                        work(from.address + begin, to.address, length(part) / size, of_nccl(*element))
                    };
                    if parts.iter().all(|part| length(part) == length(&parts[0])) {
                        return self.communicator.reduce_scatter(&work(&parts[0], 0), op);
                    }
                    self.communicator.group(|communicator| {
                        let mut parts = parts.iter().enumerate();
                        parts.try_for_each(|(rank, part)| communicator.reduce(&work(part, part.start), op, rank))
                    })
                }
                Collective::Gather { parts } => {
                    let each = length(&parts[0]);
                    let is_even = |(rank, part): (usize, &Range<u64>)| {
                        length(part) == each && part.start == parts[0].start + rank as u64 * each
                    };
                    if parts.iter().enumerate().all(is_even) {
                        let to = to.address + parts[0].start;
                        return self.communicator.all_gather(&work(from.address, to, each, nccl::Element::U8));
                    }
                    self.communicator.group(|communicator| {
                        parts.iter().enumerate().try_for_each(|(rank, part)| {
                            let to = to.address + part.start;
                            // Only the root's first place counts.
                            let from = if rank == own { from.address } else { to };
                            communicator.broadcast(&work(from, to, length(part), nccl::Element::U8), rank)
                        })
                    })
                }
            }
        }
    }
}

fn beside_failed(error: impl Debug) -> String {
    format!("a second stream: {error:?}")
}

fn of_nccl(element: Element) -> nccl::Element {
    match element {
        Element::I32 => nccl::Element::I32,
        Element::U32 => nccl::Element::U32,
        Element::I64 => nccl::Element::I64,
        Element::F32 => nccl::Element::F32,
        Element::F64 => nccl::Element::F64,
    }
}

fn op_of_nccl(op: Op) -> nccl::Op {
    match op {
        Op::Sum => nccl::Op::Sum,
        Op::Product => nccl::Op::Product,
        Op::Min => nccl::Op::Min,
        Op::Max => nccl::Op::Max,
    }
}

/// The host in NCCL's place: it takes the ranks' data from their devices, combines them on the CPU and brings them back. For
/// tests on simulated devices, and to show what it costs.
pub struct ThroughHost;

impl Communicator for ThroughHost {
    fn describe(&self) -> String {
        "the host's CPU, in NCCL's place".to_owned()
    }

    fn run(
        &mut self,
        meeting: &mut Meeting,
        device: &mut dyn Device,
        [from, to]: [BufferId; 2],
        what: &Collective,
    ) -> Result<(), Error> {
        let rank = meeting.part.rank;
        let bytes = match what {
            Collective::AllReduce { count, element, .. } => count * element.bytes(),
            Collective::Scatter { parts, .. } => parts.last().map_or(0, |part| part.end),
            Collective::Broadcast { bytes } if rank == 0 => *bytes,
            Collective::Broadcast { .. } => 0,
            Collective::Gather { parts } => parts.get(rank).map_or(0, |part| part.end - part.start),
        };
        let mut own = vec![0; bytes as usize];
        let own = device.download(from, &mut own).map(|()| own).map_err(|error| error.to_string());
        let mut all = meeting.exchange(own)?;
        let combined = match what {
            Collective::AllReduce { element, op, .. } | Collective::Scatter { element, op, .. } => {
                let (first, others) = all.split_first_mut().expect("there is a rank");
                others.iter().for_each(|other| element.combine(*op, first, other));
                match what {
                    Collective::Scatter { parts, .. } => {
                        first[parts[rank].start as usize..parts[rank].end as usize].to_vec()
                    }
                    _ => std::mem::take(first),
                }
            }
            Collective::Broadcast { .. } => all.swap_remove(0),
            Collective::Gather { .. } => all.concat(),
        };
        device.overwrite(to, &combined)
    }
}

#[cfg(test)]
mod tests {
    use super::check_versions;
    use crate::group::meeting::tests::{LONG, meet};

    #[test]
    fn ranks_with_other_libraries_are_named_to_all() {
        let found = |library: fn(usize) -> Result<Vec<u8>, String>| {
            meet(3, &[], LONG, |mut meeting| {
                let own = library(meeting.part.rank);
                check_versions(&mut meeting, "NCCL", own).map(|()| Vec::new())
            })
        };
        assert!(found(|_| Ok(b"2.28.3".to_vec())).iter().all(Result::is_ok));
        let differs = "rank 2: has NCCL 2.27.7, and rank 0 has 2.28.3: all ranks need the same";
        let versions = |rank| Ok(if rank == 2 { b"2.27.7" } else { b"2.28.3" }.to_vec());
        assert_eq!(found(versions), vec![Err(differs.to_owned()); 3]);
        let missing = |rank| if rank == 1 { Err("no NCCL on this machine".to_owned()) } else { Ok(Vec::new()) };
        assert_eq!(found(missing), vec![Err("rank 1: no NCCL on this machine".to_owned()); 3]);
    }
}
