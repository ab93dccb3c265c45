//! Runs a rung on a rank's part, combines the parts' results, and checks and times both.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;

use super::Member;
use super::communicator::{Collective, Communicator, Placement};
use super::meeting::Meeting;
use crate::device::{BufferId, Device, DeviceMemory, GpuStream};
use crate::divide::{Combine, Element, Op, Part};
use crate::error::Error;
use crate::launch::{Arg, Launch};
use crate::problem::{self, Divide, ProblemPart};
use crate::problem::{POISON, Verdict};
use crate::registry::Rung;
use crate::run::WARM_UP;
use crate::session::Session;
use crate::stats::Samples;

/// What a rank launches of a rung.
pub(super) struct Planned {
    pub(super) rung: &'static Rung,
    /// The part as a whole, or the pieces that it is cut into.
    pub(super) pieces: Vec<LaunchedPiece>,
}

/// A piece's launch, and the bytes before it in the part's buffers, by their indices.
pub(super) struct LaunchedPiece {
    pub(super) launch: Launch,
    pub(super) begins: Vec<(usize, u64)>,
}

/// How a rung's results are combined.
struct Combined {
    /// The index of the part's output.
    output: usize,
    /// Where the result comes together, if that is another buffer, and its bytes.
    to: Option<(BufferId, u64)>,
    /// What is done behind the last launch.
    whole: Collective,
    /// Or behind each launch, with the bytes of the output before the piece. Empty where it is done as a whole.
    pieces: Vec<(Collective, u64)>,
}

/// Checks a rung on the parts, and times it if there are `runs` and a clock.
pub(super) fn outcome(
    member: &mut Member,
    divided: &ProblemPart,
    planned: &Planned,
    runs: Option<u32>,
) -> Result<(Verdict, Option<Samples>), Error> {
    let mut combined = combined(member, divided, planned)?;
    // Where the result of the whole comes together.
    if let Some((id, bytes)) = &mut combined.to {
        let made = member.device.alloc(*bytes as usize);
        *id = member.agree(made)?;
        // An earlier rung may have left the right result there.
        member.device.fill(*id, POISON)?;
    }
    let done = with_buffers(member, divided, planned, &combined, runs);
    if let Some((id, _)) = combined.to {
        member.device.free(id);
    }
    member.agree(done)
}

/// How the parts' results are combined. The buffer in which they come together is still to be allocated.
fn combined(member: &mut Member, divided: &ProblemPart, planned: &Planned) -> Result<Combined, Error> {
    let problem = &*divided.problem;
    let buffers = problem.buffers(member.device.info().properties());
    let args = planned.pieces[0].launch.args.iter().flat_map(Arg::buffers);
    let is_output = |index: &usize| buffers[*index].role.is_result();
    let missing = || Error::NotOffered(format!("{} has no output to combine", planned.rung.name));
    let output = args.clone().find(is_output).ok_or_else(missing)?;
    let begin = |piece: &LaunchedPiece| piece.begins.iter().find(|(own, _)| *own == output).map_or(0, |(_, at)| *at);
    let written = match &planned.pieces[..] {
        [piece] => problem.written_bytes(&piece.launch, &buffers[output]),
        _ => buffers[output].bytes,
    };
    // Each rank's bytes, then where its pieces begin among them.
    let own: Vec<u64> = [written].into_iter().chain(planned.pieces.iter().map(begin)).collect();
    let all = member.meeting.exchange(Ok(own.iter().flat_map(|number| number.to_le_bytes()).collect()))?;
    let numbers = |bytes: &Vec<u8>| -> Vec<u64> {
        bytes.chunks_exact(8).map(|number| u64::from_le_bytes(number.try_into().unwrap_or_default())).collect()
    };
    let all: Vec<Vec<u64>> = all.iter().map(numbers).collect();
    let combine = problem.divide().map_or(Combine::Gather, |problem| problem.combine(planned.rung));
    let is_other = |other: &Vec<u64>| other.len() != own.len();
    if let Some(rank) = all.iter().position(is_other).filter(|_| combine == Combine::Gather) {
        let reason =
            format!("has {} pieces, and another rank has {}", all[rank].len().saturating_sub(1), planned.pieces.len());
        return Err(Error::Rank { rank, reason });
    }
    let mut end = 0;
    let parts = all.iter().map(|own| {
        let start = end;
        end += own.first().copied().unwrap_or_default();
        start..end
    });
    let parts: Vec<_> = parts.collect();
    let (whole, to) = match combine {
        Combine::Reduce { element, op } => {
            (Collective::AllReduce { count: written / element.bytes(), element, op }, None)
        }
        Combine::Scatter { element, op, unit } => {
            let unit = unit * element.bytes();
            let part = |rank| Part { rank, ..member.meeting.part }.of(written / unit);
            let parts: Vec<_> = (0..all.len()).map(part).map(|part| part.start * unit..part.end * unit).collect();
            let own = &parts[member.meeting.part.rank];
            let to = Some(own.end - own.start);
            (Collective::Scatter { parts, element, op }, to)
        }
        Combine::Gather => (Collective::Gather { parts: parts.clone() }, Some(end)),
    };
    let count = planned.pieces.len();
    let is_cut = combine == Combine::Gather && count > 1;
    let piece = |place: usize| {
        let of_rank = |(part, own): (&Range<u64>, &Vec<u64>)| {
            let end = own.get(place + 2).map_or(part.end, |begin| part.start + begin);
            part.start + own[place + 1]..end
        };
        (Collective::Gather { parts: parts.iter().zip(&all).map(of_rank).collect() }, own[place + 1])
    };
    let pieces = if is_cut { (0..count).map(piece).collect() } else { Vec::new() };
    Ok(Combined { output, to: to.map(|bytes| (BufferId(u32::MAX), bytes)), whole, pieces })
}

fn with_buffers(
    member: &mut Member,
    divided: &ProblemPart,
    planned: &Planned,
    combined: &Combined,
    runs: Option<u32>,
) -> Result<(Verdict, Option<Samples>), Error> {
    let problem = &*divided.problem;
    let Member { device, communicator, meeting, .. } = member;
    let device: &mut dyn Device = &mut **device;
    // Every rank has its buffers before any begins to work with the others.
    let session = match runs {
        Some(_) => Session::timed(device, problem),
        None => Session::new(device, problem, true),
    };
    meeting.report(&session)?;
    let mut session = session?;
    let buffers = problem.buffers(session.device_and_buffers().0.info().properties());
    for &index in &divided.shared {
        let bytes = buffers[index].bytes;
        let (device, ids) = session.device_and_buffers();
        let id = ids[index];
        if meeting.part.rank > 0 {
            device.fill(id, 0)?;
        }
        communicator.run(meeting, device, [id, id], &Collective::Broadcast { bytes })?;
    }

    let Planned { rung, pieces } = planned;
    let launches: Vec<Launch> = pieces.iter().map(|piece| piece.launch.clone()).collect();
    // SAFETY: they were made for the problem, or for pieces of it.
    let ran = unsafe { session.launch_poisoned(rung, &launches) };
    // Without this, the others would wait in the collective for a rank whose kernel has failed.
    meeting.report(&ran)?;
    let has_clock = ran?.time_ns.is_some();
    {
        let (device, ids) = session.device_and_buffers();
        let from = ids[combined.output];
        let to = combined.to.map_or(from, |(id, _)| id);
        communicator.run(meeting, device, [from, to], &combined.whole)?;
    }
    let (mut outputs, violation) = session.outputs(&launches[0])?;
    let own = result(&mut session, combined, &outputs)?;
    let launch = &launches[0];
    let verdict = match &combined.whole {
        Collective::Gather { parts } => {
            // The part is checked where the whole came together.
            let part = &parts[meeting.part.rank];
            if let Some(first) = outputs.first_mut() {
                *first = own[part.start as usize..part.end as usize].to_vec();
            }
            problem.check(rung, launch, &outputs)
        }
        Collective::Scatter { .. } => {
            let scattered = divided.scattered.as_deref().unwrap_or(problem);
            scattered.check(rung, launch, std::slice::from_ref(&own))
        }
        _ => {
            let reference = problem.divide().map(Divide::reference).unwrap_or_default();
            let references = meeting.exchange(Ok(reference))?;
            problem::check_combined(problem, &references, &own)
        }
    };
    let verdict = match (verdict, violation) {
        (Verdict::Right, Some(why)) => Verdict::Wrong(why),
        (verdict, _) => verdict,
    };
    let is_scattered = matches!(combined.whole, Collective::Scatter { .. });
    let of_all = |meeting: &mut Meeting, verdict, own: &[u8]| {
        verdict_of_all(meeting, verdict, if is_scattered { &[] } else { own })
    };
    let mut verdict = of_all(meeting, verdict, &own)?;

    let mut times = Vec::new();
    if let (Some(runs), true, true) = (runs, has_clock, verdict.is_right()) {
        times = timed(&mut session, &mut **communicator, meeting, (rung, &launches), combined, runs)?;
        // What was timed is what was checked.
        let (outputs, _) = session.outputs(launch)?;
        let is_same = result(&mut session, combined, &outputs)? == own;
        let again = Verdict::Wrong("the last timed launch has another result than the first one".to_owned());
        verdict = of_all(meeting, if is_same { Verdict::Right } else { again }, &[])?;
    }
    Ok((verdict, slowest(meeting, times)?))
}

/// The combined result, in this rank's memory.
fn result(session: &mut Session<'_>, combined: &Combined, outputs: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
    let Some((id, bytes)) = combined.to else { return Ok(outputs.first().cloned().unwrap_or_default()) };
    let mut all = vec![0; bytes as usize];
    session.device_and_buffers().0.download(id, &mut all)?;
    Ok(all)
}

/// The times of launches with what combines their results, on this rank.
fn timed(
    session: &mut Session<'_>,
    communicator: &mut dyn Communicator,
    meeting: &mut Meeting,
    (rung, launches): (&Rung, &[Launch]),
    combined: &Combined,
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
        let shared = RefCell::new(&mut *communicator);
        let mut before = |stream: &GpuStream, _: &[DeviceMemory]| {
            let enqueued = start.enqueue(&mut **shared.borrow_mut(), stream);
            needs_host = enqueued.is_none();
            enqueued.unwrap_or(Ok(()))
        };
        let mut behind = |place: usize, stream: &GpuStream, memory: &[DeviceMemory]| {
            let communicator = &mut **shared.borrow_mut();
            let (from, is_last) = (memory[combined.output], place + 1 == launches.len());
            let Some((what, begin)) = combined.pieces.get(place) else {
                let memory = [from, to.unwrap_or(from)];
                let whole = if is_last {
                    communicator.enqueue((stream, Placement::InStream), memory, &combined.whole)
                } else {
                    None
                };
                return whole.unwrap_or(Ok(()));
            };
            let from = DeviceMemory { address: from.address + begin, bytes: from.bytes - begin };
            communicator.enqueue((stream, Placement::Beside), [from, to.unwrap_or(from)], what).unwrap_or(Ok(()))?;
            if is_last { communicator.join_beside(stream) } else { Ok(()) }
        };
        // SAFETY: as when they were checked.
        let ran = unsafe { session.once_with(rung, launches, &mut before, &mut behind) }?;
        let mut time = ran.time_ns.unwrap_or_default();
        if needs_host {
            // The device's clock does not see the host's work, so the host's clock measures it.
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
    start.free(session.device_and_buffers().0);
    Ok(times)
}

/// A word of each rank, which they add up to wait for each other in their streams before the clock starts.
pub(super) struct Start {
    id: BufferId,
    memory: DeviceMemory,
}

impl Start {
    pub(super) fn new(device: &mut dyn Device) -> Result<Self, Error> {
        let id = device.alloc(size_of::<u32>())?;
        device.fill(id, 0)?;
        Ok(Self { id, memory: DeviceMemory { address: device.address(id)?, bytes: size_of::<u32>() as u64 } })
    }

    pub(super) fn enqueue(
        &self,
        communicator: &mut dyn Communicator,
        stream: &GpuStream,
    ) -> Option<Result<(), String>> {
        let sum = Collective::AllReduce { count: 1, element: Element::U32, op: Op::Sum };
        communicator.enqueue((stream, Placement::InStream), [self.memory; 2], &sum)
    }

    pub(super) fn free(self, device: &mut dyn Device) {
        device.free(self.id);
    }
}

/// The verdict of all ranks on what each has: the first that is not right, or that not all have the same.
pub(super) fn verdict_of_all(meeting: &mut Meeting, own: Verdict, result: &[u8]) -> Result<Verdict, Error> {
    let hash = |bytes: &[u8]| {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        hasher.finish()
    };
    let mut hasher = DefaultHasher::new();
    result.par_chunks(1 << 20).map(hash).collect::<Vec<u64>>().hash(&mut hasher);
    let mut message = hasher.finish().to_le_bytes().to_vec();
    if let Verdict::Wrong(why) = &own {
        message.extend(if why.is_empty() { b"?" } else { why.as_bytes() });
    }
    let all = meeting.exchange(Ok(message))?;
    let wrong = all.iter().position(|message| message.len() > 8);
    if let Some(rank) = wrong {
        return Ok(Verdict::Wrong(format!("rank {rank}: {}", String::from_utf8_lossy(&all[rank][8..]))));
    }
    Ok(match all.iter().position(|message| *message != all[0]) {
        Some(rank) => Verdict::Wrong(format!("rank {rank} has another result than rank 0")),
        None => Verdict::Right,
    })
}

/// The times of the slowest rank, run by run; `None` when nothing was timed.
pub(super) fn slowest(meeting: &mut Meeting, own: Vec<f64>) -> Result<Option<Samples>, Error> {
    let bytes = own.iter().flat_map(|time| time.to_le_bytes()).collect();
    let all = meeting.exchange(Ok(bytes))?;
    let times = |bytes: &Vec<u8>| -> Vec<f64> {
        bytes.chunks_exact(8).map(|time| f64::from_le_bytes(time.try_into().unwrap_or_default())).collect()
    };
    let all: Vec<Vec<f64>> = all.iter().map(times).collect();
    let of_run = |run: usize| all.iter().filter_map(|times| times.get(run).copied()).fold(0.0, f64::max);
    Ok(Samples::new((0..own.len()).map(of_run).collect()))
}

#[cfg(test)]
mod tests {
    use super::{Verdict, slowest, verdict_of_all};
    use crate::group::meeting::tests::{LONG, meet};

    #[test]
    fn a_result_is_right_if_all_ranks_have_it() {
        let verdict = |own: fn(usize) -> (Verdict, Vec<u8>)| {
            let mut each = meet(3, &[], LONG, |mut meeting| {
                let (own, result) = own(meeting.part.rank);
                verdict_of_all(&mut meeting, own, &result).map(|verdict| vec![format!("{verdict:?}").into_bytes()])
            });
            assert!(each.windows(2).all(|pair| pair[0] == pair[1]), "{each:?}");
            String::from_utf8(each.swap_remove(0).expect("no rank fails").swap_remove(0)).expect("a text")
        };
        assert_eq!(verdict(|_| (Verdict::Right, vec![7])), "Right");
        let other = verdict(|rank| (Verdict::Right, vec![u8::from(rank == 2)]));
        assert_eq!(other, "Wrong(\"rank 2 has another result than rank 0\")");
        let wrong = verdict(|rank| match rank {
            1 => (Verdict::Wrong("the sum is 3".to_owned()), vec![7]),
            _ => (Verdict::Right, vec![7]),
        });
        assert_eq!(wrong, "Wrong(\"rank 1: the sum is 3\")");
    }

    #[test]
    fn the_slowest_rank_counts_run_by_run() {
        let each = meet(2, &[], LONG, |mut meeting| {
            let own = if meeting.part.rank == 0 { vec![1.0, 9.0, 3.0] } else { vec![4.0, 2.0, 3.0] };
            let median = slowest(&mut meeting, own)?.map(|samples| samples.median());
            assert_eq!(median, Some(4.0));
            assert!(slowest(&mut meeting, Vec::new())?.is_none());
            Ok(Vec::new())
        });
        assert!(each.iter().all(Result::is_ok), "{each:?}");
    }
}
