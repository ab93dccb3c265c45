//! The host as a communicator: it downloads the ranks' data, combines them on the CPU and uploads the result. This
//! communicator serves the simulator and computers without NCCL, and shows the cost of combining on the host.

use std::ops::Range;

use engine::device::{BufferId, Device};

use crate::communicator::{Collective, Communicator};
use crate::divide::{ElementType, Share};
use crate::error::Error;
use crate::host_memory::{HostMemory, upload};
use crate::meeting::Meeting;

/// The communicator that combines data on the host instead of with NCCL.
pub(crate) struct ThroughHost;

impl ThroughHost {
    /// Runs a collective if all ranks are in one process. All ranks pass the same barriers, so no rank overwrites data
    /// that another rank still reads.
    fn run_in_memory(
        memory: &HostMemory,
        meeting: &mut Meeting,
        device: &mut dyn Device,
        [from, to]: [BufferId; 2],
        what: &Collective,
    ) -> Result<(), Error> {
        let rank = meeting.rank.index;
        let bytes = what.bytes_from(rank) as usize;
        agreed(meeting, || memory.download(rank, device, from, bytes))?;
        match what {
            Collective::AllReduce { count, element, operation } => {
                let ranges = shares(meeting.rank.count, *count, *element);
                agreed(meeting, || memory.combine(rank, device, &ranges[rank], (*element, *operation)))?;
                let mut targets = memory.combined.iter().zip(&ranges);
                Ok(targets.try_for_each(|(combined, range)| upload(combined, device, to, range))?)
            }
            Collective::Scatter { ranges, element, operation } => {
                let range = in_memory(&ranges[rank]);
                agreed(meeting, || memory.combine(rank, device, &range, (*element, *operation)))?;
                Ok(upload(&memory.combined[rank], device, to, &(0..range.len()))?)
            }
            Collective::Broadcast { bytes } => {
                agreed(meeting, || upload(&memory.data[0], device, to, &(0..*bytes as usize)))
            }
            Collective::Gather { ranges } => agreed(meeting, || {
                let mut sources = memory.data.iter().zip(ranges);
                sources.try_for_each(|(data, range)| upload(data, device, to, &in_memory(range)))
            }),
        }
    }

    /// Repeats the copies of a finished all-reduce, without its additions and barriers.
    pub(crate) fn copy_alone(
        meeting: &Meeting,
        device: &mut dyn Device,
        [from, to]: [BufferId; 2],
        (count, element): (u64, ElementType),
    ) -> Result<(), engine::Error> {
        let Some(memory) = &meeting.memory else { return Ok(()) };
        memory.download(meeting.rank.index, device, from, (count * element.bytes()) as usize)?;
        let ranges = shares(meeting.rank.count, count, element);
        memory.combined.iter().zip(&ranges).try_for_each(|(combined, range)| upload(combined, device, to, range))
    }
}

/// Runs this rank's part of a step and waits until all ranks have finished their parts.
fn agreed(meeting: &mut Meeting, step: impl FnOnce() -> Result<(), engine::Error>) -> Result<(), Error> {
    let done = step();
    meeting.report(&done)?;
    Ok(done?)
}

/// Returns the byte range of an array that each rank combines.
fn shares(count: usize, elements: u64, element: ElementType) -> Vec<Range<usize>> {
    let bytes = |index| {
        let share = Share { index, count }.of(elements);
        in_memory(&(share.start * element.bytes()..share.end * element.bytes()))
    };
    (0..count).map(bytes).collect()
}

fn in_memory(range: &Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}

impl Communicator for ThroughHost {
    fn describe(&self) -> String {
        "the host's CPU instead of NCCL".to_owned()
    }

    fn run(
        &mut self,
        meeting: &mut Meeting,
        device: &mut dyn Device,
        [from, to]: [BufferId; 2],
        what: &Collective,
    ) -> Result<(), Error> {
        if let Some(memory) = meeting.memory.clone() {
            return Self::run_in_memory(&memory, meeting, device, [from, to], what);
        }
        let rank = meeting.rank.index;
        let mut bytes = vec![0; what.bytes_from(rank) as usize];
        let bytes = device.download(from, &mut bytes).map(|()| bytes).map_err(|error| error.to_string());
        let mut all = meeting.exchange(bytes)?;
        let combined = match what {
            Collective::AllReduce { element, operation, .. } | Collective::Scatter { element, operation, .. } => {
                let (first, others) = all.split_first_mut().expect("there is a rank");
                others.iter().for_each(|other| element.combine(*operation, first, other));
                match what {
                    Collective::Scatter { ranges, .. } => {
                        first[ranges[rank].start as usize..ranges[rank].end as usize].to_vec()
                    }
                    _ => std::mem::take(first),
                }
            }
            Collective::Broadcast { .. } => all.swap_remove(0),
            Collective::Gather { .. } => all.concat(),
        };
        Ok(device.overwrite(to, 0, &combined)?)
    }
}
