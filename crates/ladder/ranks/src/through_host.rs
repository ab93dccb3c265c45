//! The host as a communicator: it downloads the ranks' data, combines them on the CPU and uploads the result. It serves
//! simulated devices and machines without NCCL, and shows the cost of this way.

use std::ops::Range;

use engine::device::{BufferId, Device};
use rayon::prelude::*;

use crate::communicator::{Collective, Communicator};
use crate::divide::Share;
use crate::error::Error;
use crate::host_memory::{CHUNK, HostMemory, read, write};
use crate::meeting::Meeting;

/// The host in place of NCCL.
pub(crate) struct ThroughHost;

impl ThroughHost {
    /// Runs a collective of the ranks of one process. All ranks pass the same barriers, so none overwrites data that
    /// another one still reads.
    fn run_in_memory(
        memory: &HostMemory,
        meeting: &mut Meeting,
        device: &mut dyn Device,
        [from, to]: [BufferId; 2],
        what: &Collective,
    ) -> Result<(), Error> {
        let Share { index: rank, count: ranks } = meeting.rank;
        let downloaded = {
            let mut own = write(&memory.data[rank]);
            own.resize(what.bytes_from(rank) as usize, 0);
            device.download(from, &mut own)
        };
        meeting.report(&downloaded)?;
        downloaded?;
        match what {
            Collective::AllReduce { count, element, operation } => {
                let size = element.bytes();
                let bytes = |index| {
                    let elements = Share { index, count: ranks }.of(*count);
                    (elements.start * size) as usize..(elements.end * size) as usize
                };
                memory.combine(rank, &bytes(rank), *element, *operation);
                meeting.barrier()?;
                let mut whole = write(&memory.data[rank]);
                for (other, combined) in memory.combined.iter().enumerate() {
                    let combined = read(combined);
                    let parts = whole[bytes(other)].par_chunks_mut(CHUNK).zip(combined.par_chunks(CHUNK));
                    parts.for_each(|(to, from)| to.copy_from_slice(from));
                }
                Ok(device.overwrite(to, &whole)?)
            }
            Collective::Scatter { ranges, element, operation } => {
                let Range { start, end } = ranges[rank];
                memory.combine(rank, &(start as usize..end as usize), *element, *operation);
                meeting.barrier()?;
                Ok(device.overwrite(to, &read(&memory.combined[rank]))?)
            }
            Collective::Broadcast { .. } => {
                let copied = device.overwrite(to, &read(&memory.data[0]));
                meeting.report(&copied)?;
                Ok(copied?)
            }
            Collective::Gather { .. } => {
                let all = memory.data.iter().map(read).collect::<Vec<_>>();
                let all: Vec<&[u8]> = all.iter().map(|own| &own[..]).collect();
                let copied = device.overwrite(to, &all.concat());
                meeting.report(&copied)?;
                Ok(copied?)
            }
        }
    }
}

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
        if let Some(memory) = meeting.memory.clone() {
            return Self::run_in_memory(&memory, meeting, device, [from, to], what);
        }
        let rank = meeting.rank.index;
        let mut own = vec![0; what.bytes_from(rank) as usize];
        let own = device.download(from, &mut own).map(|()| own).map_err(|error| error.to_string());
        let mut all = meeting.exchange(own)?;
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
        Ok(device.overwrite(to, &combined)?)
    }
}
