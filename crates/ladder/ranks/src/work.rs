//! Runs a rung on a rank's share, combines the ranks' results, and checks and times the whole computation.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::time::Instant;

use engine::device::{BufferId, Device, DeviceMemory, GpuStream};
use engine::launch::{Arg, Launch};
use engine::problem::{POISON, Verdict};
use engine::run::WARM_UP;
use engine::stats::Samples;
use engine::{Rung, Session};
use rayon::prelude::*;

use crate::communicator::{Collective, Communicator};
use crate::divide::{Combination, ElementType, Operation, Share};
use crate::error::Error;
use crate::meeting::Meeting;
use crate::member::Member;
use crate::peer_copies::PeerCopies;
use crate::problem::RankProblem;

/// The launches of a rank for a rung.
pub(crate) struct Planned {
    pub(crate) rung: &'static Rung,
    /// The whole share, or the pieces of the share.
    pub(crate) pieces: Vec<LaunchedPiece>,
}

/// The launch of a piece, and the piece's byte offsets in the share's buffers, with the indices of the buffers.
pub(crate) struct LaunchedPiece {
    pub(crate) launch: Launch,
    pub(crate) offsets: Vec<(usize, u64)>,
}

/// How a rung's results are combined.
struct Combined {
    /// The index of the output.
    output: usize,
    /// The buffer for the combined result and its number of bytes, unless the result stays in the output.
    to: Option<(BufferId, u64)>,
    /// The collective after the last launch, unless `copies` gathers the results.
    whole: Collective,
    /// The copies of each piece after its launch, and the byte ranges of the pieces in the rank's output.
    copies: Option<(PeerCopies, Vec<Range<u64>>)>,
}

/// Checks a rung on the ranks' shares, and times it if `runs` is given and the device has a clock.
pub(crate) fn measure(
    member: &mut Member,
    divided: &RankProblem,
    planned: &Planned,
    runs: Option<u32>,
) -> Result<(Verdict, Option<Samples>), Error> {
    let mut combined = combined(member, divided, planned)?;
    let done = with_buffers(member, divided, planned, &mut combined, runs);
    // No rank frees its result while another rank can still copy to the result.
    let done = member.agree(done);
    if let Some((id, _)) = combined.to {
        member.device.free(id);
    }
    done
}

/// Returns how the ranks' results are combined. The caller must free the buffer of the combined result.
fn combined(member: &mut Member, divided: &RankProblem, planned: &Planned) -> Result<Combined, Error> {
    let problem = &*divided.problem;
    let buffers = problem.buffers(member.device.info().properties());
    let args = planned.pieces[0].launch.args.iter().flat_map(Arg::buffers);
    let is_output = |index: &usize| buffers[*index].role.is_result();
    let missing = || engine::Error::NotOffered(format!("{} has no output to combine", planned.rung.name));
    let output = args.clone().find(is_output).ok_or_else(missing)?;
    let offset =
        |piece: &LaunchedPiece| piece.offsets.iter().find(|(index, _)| *index == output).map_or(0, |(_, bytes)| *bytes);
    let written = match &planned.pieces[..] {
        [piece] => problem.written_bytes(&piece.launch, &buffers[output]),
        _ => buffers[output].bytes,
    };
    let rank = member.meeting.rank;
    let mut end = 0;
    let ranges = member.meeting.exchange_number(written)?.into_iter().map(|bytes| {
        let start = end;
        end += bytes;
        start..end
    });
    let ranges: Vec<Range<u64>> = ranges.collect();
    let start = ranges[rank.index].start;
    let mut pieces = None;
    let (whole, to) = match problem.combination(planned.rung) {
        Combination::Reduce { element, operation } => {
            (Collective::AllReduce { count: written / element.bytes(), element, operation }, None)
        }
        Combination::Scatter { element, operation, unit } => {
            let unit = unit * element.bytes();
            let units = |index| Share { index, ..rank }.of(written / unit);
            let ranges: Vec<_> = (0..rank.count).map(units).map(|units| units.start * unit..units.end * unit).collect();
            let range = &ranges[rank.index];
            let to = Some(range.end - range.start);
            (Collective::Scatter { ranges, element, operation }, to)
        }
        // The output of a single rank holds the whole result.
        Combination::Gather if rank.count == 1 => (Collective::Gather { ranges }, None),
        Combination::Gather => {
            if planned.pieces.len() > 1 && member.copies_pieces {
                let starts: Vec<u64> = planned.pieces.iter().map(offset).collect();
                let ends = starts[1..].iter().chain([&written]);
                pieces = Some(starts.iter().zip(ends).map(|(start, end)| *start..*end).collect());
            }
            (Collective::Gather { ranges }, Some(end))
        }
    };
    let mut combined = Combined { output, to: None, whole, copies: None };
    if let Some(bytes) = to {
        let allocated = member.device.alloc(bytes as usize);
        let id = member.agree(allocated)?;
        combined.to = Some((id, bytes));
        // An earlier rung can have left a right result in this buffer.
        member.device.fill(id, POISON)?;
        if let Some(pieces) = pieces {
            combined.copies = Some((PeerCopies::new(member, id, start)?, pieces));
        }
    }
    Ok(combined)
}

fn with_buffers(
    member: &mut Member,
    divided: &RankProblem,
    planned: &Planned,
    combined: &mut Combined,
    runs: Option<u32>,
) -> Result<(Verdict, Option<Samples>), Error> {
    let problem = &*divided.problem;
    let Member { device, communicator, meeting, .. } = member;
    let device: &mut dyn Device = &mut **device;
    // All ranks allocate their buffers before any rank starts working with the other ranks.
    let session = match runs {
        Some(_) => Session::timed(device, problem),
        None => Session::new(device, problem, true),
    };
    meeting.report(&session)?;
    let mut session = session?;
    let buffers = problem.buffers(session.device_and_buffers().0.info().properties());
    for &index in &divided.broadcast {
        let bytes = buffers[index].bytes;
        let (device, ids) = session.device_and_buffers();
        let id = ids[index];
        if meeting.rank.index > 0 {
            device.fill(id, 0)?;
        }
        communicator.run(meeting, device, [id, id], &Collective::Broadcast { bytes })?;
    }

    let Planned { rung, pieces } = planned;
    let launches: Vec<Launch> = pieces.iter().map(|piece| piece.launch.clone()).collect();
    // The uploads and broadcasts have waited for the device's stream, so all ranks have finished poisoning their
    // results.
    meeting.barrier()?;
    let mut after = |place, stream: &GpuStream, memory: &[DeviceMemory]| match &mut combined.copies {
        Some((copies, pieces)) => {
            copies.enqueue(stream, memory[combined.output], &pieces[place], place + 1 == launches.len())
        }
        None => Ok(()),
    };
    // SAFETY: `Ladder::launch` created the launches for the problem or for pieces of it, so the launches only access
    // the problem's buffers.
    let launch_result = unsafe { session.launch_poisoned(rung, &launches, &mut after) };
    // Without this report, the other ranks would wait in the collective for a rank whose kernel failed.
    meeting.report(&launch_result)?;
    let has_clock = launch_result?.time_ns.is_some();
    if combined.copies.is_none() {
        let (device, ids) = session.device_and_buffers();
        let from = ids[combined.output];
        let to = combined.to.map_or(from, |(id, _)| id);
        communicator.run(meeting, device, [from, to], &combined.whole)?;
    }
    let (mut outputs, violation) = session.outputs(&launches[0])?;
    let result_bytes = result(&mut session, combined, &outputs)?;
    let launch = &launches[0];
    let verdict = match &combined.whole {
        Collective::Gather { ranges } => {
            // Check the share in the combined result.
            let range = &ranges[meeting.rank.index];
            if let Some(first) = outputs.first_mut() {
                *first = result_bytes[range.start as usize..range.end as usize].to_vec();
            }
            problem.check(rung, launch, &outputs)
        }
        Collective::Scatter { .. } => {
            let scattered = divided.scattered.as_ref().unwrap_or(&divided.problem);
            scattered.check(rung, launch, std::slice::from_ref(&result_bytes))
        }
        _ => {
            let references = meeting.exchange(Ok(problem.reference()))?;
            problem.check_combined(&references, &result_bytes)
        }
    };
    let verdict = match (verdict, violation) {
        (Verdict::Right, Some(why)) => Verdict::Wrong(why),
        (verdict, _) => verdict,
    };
    let is_scattered = matches!(combined.whole, Collective::Scatter { .. });
    let of_all = |meeting: &mut Meeting, verdict, bytes: &[u8]| {
        verdict_of_all(meeting, verdict, if is_scattered { &[] } else { bytes })
    };
    let mut verdict = of_all(meeting, verdict, &result_bytes)?;

    let mut times = Vec::new();
    if let (Some(runs), true, true) = (runs, has_clock, verdict.is_right()) {
        times = timed(&mut session, &mut **communicator, meeting, (rung, &launches), combined, runs)?;
        // The timed launches must compute the same result as the checked launch.
        let (outputs, _) = session.outputs(launch)?;
        let is_same = result(&mut session, combined, &outputs)? == result_bytes;
        let again = Verdict::Wrong("the last timed launch has a different result from the first".to_owned());
        verdict = of_all(meeting, if is_same { Verdict::Right } else { again }, &[])?;
    }
    Ok((verdict, slowest(meeting, times)?))
}

/// Downloads the combined result from this rank's device.
fn result(session: &mut Session<'_>, combined: &Combined, outputs: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
    let Some((id, bytes)) = combined.to else { return Ok(outputs.first().cloned().unwrap_or_default()) };
    let mut all = vec![0; bytes as usize];
    session.device_and_buffers().0.download(id, &mut all)?;
    Ok(all)
}

/// Returns the times of launches and of the collectives that combine their results, on this rank.
fn timed(
    session: &mut Session<'_>,
    communicator: &mut dyn Communicator,
    meeting: &mut Meeting,
    (rung, launches): (&Rung, &[Launch]),
    combined: &mut Combined,
    runs: u32,
) -> Result<Vec<f64>, Error> {
    let (device, _) = session.device_and_buffers();
    let memory = |(id, bytes)| Ok::<_, Error>(DeviceMemory { address: device.address(id)?, bytes });
    let to = combined.to.map(memory).transpose()?;
    let start = Start::new(device)?;
    if let Some((id, _)) = combined.to {
        device.fill(id, POISON)?;
    }
    let (mut times, mut needs_host) = (Vec::new(), false);
    for run in 0..WARM_UP.saturating_add(runs) {
        if combined.copies.is_some() {
            // All ranks have poisoned their results and received the pieces of the previous run.
            meeting.barrier()?;
        }
        let shared = RefCell::new(&mut *communicator);
        let mut before = |stream: &GpuStream, _: &[DeviceMemory]| {
            let enqueued = start.enqueue(&mut **shared.borrow_mut(), stream);
            needs_host = enqueued.is_none();
            enqueued.unwrap_or(Ok(()))
        };
        let mut after = |place: usize, stream: &GpuStream, memory: &[DeviceMemory]| {
            let communicator = &mut **shared.borrow_mut();
            let (from, is_last) = (memory[combined.output], place + 1 == launches.len());
            let enqueued = match &mut combined.copies {
                Some((copies, pieces)) => {
                    copies.enqueue(stream, from, &pieces[place], is_last)?;
                    // A rank holds the whole result once all ranks have copied their pieces.
                    is_last.then(|| start.enqueue(communicator, stream))
                }
                None => is_last.then(|| communicator.enqueue(stream, [from, to.unwrap_or(from)], &combined.whole)),
            };
            enqueued.flatten().unwrap_or(Ok(()))
        };
        // SAFETY: these launches were checked before, so they only access the problem's buffers.
        let launch_result = unsafe { session.once_with(rung, launches, &mut before, &mut after) }?;
        let mut time = launch_result.time_ns.unwrap_or_default();
        if needs_host && combined.copies.is_none() {
            // The device's clock does not include the host's work, so use the host's clock.
            meeting.barrier()?;
            let begin = Instant::now();
            let (device, ids) = session.device_and_buffers();
            let from = ids[combined.output];
            let to = combined.to.map_or(from, |(id, _)| id);
            communicator.run(meeting, device, [from, to], &combined.whole)?;
            time += begin.elapsed().as_nanos() as f64;
        }
        if run >= WARM_UP {
            times.push(time);
        }
    }
    // Without a collective in the stream, another rank might still be copying.
    meeting.barrier()?;
    start.free(session.device_and_buffers().0);
    Ok(times)
}

/// A word on each rank. Before the clock starts, the ranks sum these words in their streams, so that all ranks start at
/// the same time.
pub(crate) struct Start {
    id: BufferId,
    memory: DeviceMemory,
}

impl Start {
    pub(crate) fn new(device: &mut dyn Device) -> Result<Self, Error> {
        let id = device.alloc(size_of::<u32>())?;
        device.fill(id, 0)?;
        Ok(Self { id, memory: DeviceMemory { address: device.address(id)?, bytes: size_of::<u32>() as u64 } })
    }

    pub(crate) fn enqueue(
        &self,
        communicator: &mut dyn Communicator,
        stream: &GpuStream,
    ) -> Option<Result<(), String>> {
        let sum = Collective::AllReduce { count: 1, element: ElementType::U32, operation: Operation::Sum };
        communicator.enqueue(stream, [self.memory; 2], &sum)
    }

    pub(crate) fn free(self, device: &mut dyn Device) {
        device.free(self.id);
    }
}

/// Returns the verdict for all ranks: the first wrong verdict, or a verdict that the ranks' results differ.
pub(crate) fn verdict_of_all(meeting: &mut Meeting, verdict: Verdict, result: &[u8]) -> Result<Verdict, Error> {
    let hash = |bytes: &[u8]| {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        hasher.finish()
    };
    let mut hasher = DefaultHasher::new();
    result.par_chunks(1 << 20).map(hash).collect::<Vec<u64>>().hash(&mut hasher);
    let mut message = hasher.finish().to_le_bytes().to_vec();
    if let Verdict::Wrong(why) = &verdict {
        message.extend(if why.is_empty() { b"?" } else { why.as_bytes() });
    }
    let all = meeting.exchange(Ok(message))?;
    let wrong = all.iter().position(|message| message.len() > 8);
    if let Some(rank) = wrong {
        return Ok(Verdict::Wrong(format!("rank {rank}: {}", String::from_utf8_lossy(&all[rank][8..]))));
    }
    Ok(match all.iter().position(|message| *message != all[0]) {
        Some(rank) => Verdict::Wrong(format!("rank {rank} has a different result from rank 0")),
        None => Verdict::Right,
    })
}

/// Returns the time of the slowest rank in each run, or `None` when no run was timed.
pub(crate) fn slowest(meeting: &mut Meeting, times: Vec<f64>) -> Result<Option<Samples>, Error> {
    let bytes = times.iter().flat_map(|time| time.to_le_bytes()).collect();
    let all = meeting.exchange(Ok(bytes))?;
    let decode = |bytes: &Vec<u8>| -> Vec<f64> {
        bytes.chunks_exact(8).map(|time| f64::from_le_bytes(time.try_into().unwrap_or_default())).collect()
    };
    let all: Vec<Vec<f64>> = all.iter().map(decode).collect();
    let of_run = |run: usize| all.iter().filter_map(|times| times.get(run).copied()).fold(0.0, f64::max);
    Ok(Samples::new((0..times.len()).map(of_run).collect()))
}

#[cfg(test)]
mod tests {
    use super::{Verdict, slowest, verdict_of_all};
    use crate::meeting::tests::{LONG, meet};

    #[test]
    fn a_result_is_right_only_if_all_ranks_agree() {
        let verdict = |rank_result: fn(usize) -> (Verdict, Vec<u8>)| {
            let mut results = meet(3, &[], LONG, |mut meeting| {
                let (verdict, result) = rank_result(meeting.rank.index);
                verdict_of_all(&mut meeting, verdict, &result).map(|verdict| vec![format!("{verdict:?}").into_bytes()])
            });
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
            String::from_utf8(results.swap_remove(0).expect("no rank fails").swap_remove(0)).expect("a text")
        };
        assert_eq!(verdict(|_| (Verdict::Right, vec![7])), "Right");
        let other = verdict(|rank| (Verdict::Right, vec![u8::from(rank == 2)]));
        assert_eq!(other, "Wrong(\"rank 2 has a different result from rank 0\")");
        let wrong = verdict(|rank| match rank {
            1 => (Verdict::Wrong("the sum is 3".to_owned()), vec![7]),
            _ => (Verdict::Right, vec![7]),
        });
        assert_eq!(wrong, "Wrong(\"rank 1: the sum is 3\")");
    }

    #[test]
    fn the_slowest_rank_counts_in_each_run() {
        let results = meet(2, &[], LONG, |mut meeting| {
            let times = if meeting.rank.index == 0 { vec![1.0, 9.0, 3.0] } else { vec![4.0, 2.0, 3.0] };
            let median = slowest(&mut meeting, times)?.map(|samples| samples.median());
            assert_eq!(median, Some(4.0));
            assert!(slowest(&mut meeting, Vec::new())?.is_none());
            Ok(Vec::new())
        });
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    }
}
