//! Runs rungs on the parts of a divided problem: each rank its part, then the parts' results are combined and checked.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::time::Instant;

use super::communicator::{Collective, Communicator};
use super::meeting::Meeting;
use super::{Member, peers};
use crate::device::{BufferId, Device, DeviceInfo, DeviceMemory, GpuStream};
use crate::divide::{Combine, Element, Op, Part};
use crate::error::Error;
use crate::launch::{Arg, Launch};
use crate::problem::{Divided, Problem, Role, Verdict};
use crate::registry::{Ladder, Launches, Rung};
use crate::run::WARM_UP;
use crate::session::Session;
use crate::stats::Samples;

/// What is to be run.
pub struct Request<'a> {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The rungs' names, as [`Ladder::select`] takes them.
    pub rungs: &'a [String],
    /// The whole problem.
    pub whole: &'a dyn Problem,
    /// The block for all rungs, if not each one's own.
    pub block: Option<[u32; 3]>,
    /// The number of timed launches; `None` only checks.
    pub runs: Option<u32>,
}

/// The results of a rung, or of what it is compared with, on all ranks.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The name of the rung, or of what combines.
    pub name: String,
    /// The launch on this rank; none where no kernel of this program runs.
    pub launch: Option<Launch>,
    /// Whether the result of the whole was right, in the memory of every rank.
    pub verdict: Verdict,
    /// The times of the whole: each is that of the slowest rank. `None` without a clock.
    pub samples: Option<Samples>,
}

/// The results of a run on several devices.
#[derive(Clone, Debug)]
pub struct Report {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// This rank's device.
    pub device: DeviceInfo,
    /// This rank, and how many there are.
    pub part: Part,
    /// The whole problem in words.
    pub title: String,
    /// The bytes of the whole, for effective bandwidth.
    pub bytes: u64,
    /// The floating-point operations of the whole, if it is measured in them.
    pub flops: Option<u64>,
    /// Of an all-reduce, the bytes that each rank has.
    pub all_reduced: Option<u64>,
    /// What combines the ranks' data, in words.
    pub combined_by: String,
    /// What was run.
    pub outcomes: Vec<Outcome>,
    /// The reasons why rungs were left out.
    pub left_out: Vec<String>,
}

impl Report {
    /// Whether every result was right.
    pub fn all_right(&self) -> bool {
        self.outcomes.iter().all(|own| own.verdict.is_right())
    }
}

/// Runs a request as one rank of several. All ranks return the same but for their own launches.
///
/// # Errors
/// [`Error::NotOffered`] when the ladder cannot be divided, when [`Ladder::launches`] fails, and [`Error::Rank`] when a rank
/// fails: then no rank returns results.
pub fn measure(member: &mut Member, request: &Request<'_>) -> Result<Report, Error> {
    let Request { ladder, whole, .. } = *request;
    let mut report = Report {
        ladder,
        device: member.device.info().clone(),
        part: member.part(),
        title: whole.title(),
        bytes: whole.bytes(),
        flops: whole.flops(),
        all_reduced: None,
        combined_by: member.combined_by(),
        outcomes: Vec::new(),
        left_out: Vec::new(),
    };
    if is_of_ranks(request) {
        peers::measure(member, request, &mut report)?;
        return Ok(report);
    }
    let (divided, mut launches, left_out) = divided(request, member.part())?;
    report.left_out = left_out;
    launches.retain(|(_, launch)| match member.device.check_supported(launch) {
        Some(error) => {
            report.left_out.push(error.to_string());
            false
        }
        None => true,
    });
    if launches.is_empty() {
        let why = report.left_out.join("; ");
        return Err(Error::NotOffered(format!("no rung is left that can be divided: {why}")));
    }
    for (rung, launch) in launches {
        if simt::run::is_interrupted() {
            return Err(Error::Interrupted);
        }
        let (verdict, samples) = outcome(member, &divided, rung, &launch, request.runs)?;
        report.outcomes.push(Outcome { name: rung.name.to_owned(), launch: Some(launch), verdict, samples });
    }
    Ok(report)
}

/// Whether the ladder is about ranks, and its kernels read and write the memory of other devices.
fn is_of_ranks(request: &Request<'_>) -> bool {
    request.ladder.rungs.iter().any(|rung| request.whole.args(rung).contains(&Arg::FirstRank))
}

/// Whether a request can be run by so many ranks, as far as it is known without devices.
///
/// # Errors
/// [`Error::NotOffered`] when the problem cannot be divided so or no rung is left, and when [`Ladder::launches`] fails.
pub fn check(request: &Request<'_>, ranks: usize) -> Result<(), Error> {
    if is_of_ranks(request) {
        return peers::launches(request, ranks).map(drop);
    }
    divided(request, Part { rank: 0, ranks }).map(drop)
}

/// A rank's part, its launches, and the reasons why rungs were left out.
fn divided(request: &Request<'_>, part: Part) -> Result<(Divided, Launches, Vec<String>), Error> {
    let Request { ladder, whole, .. } = *request;
    let refused = |why| Error::NotOffered(format!("{} ({}): {why}", ladder.name, whole.size()));
    let divided = whole.part(part).map_err(refused)?;
    let problem = &*divided.problem;
    let block = |_: &Rung| request.block.into_iter().collect();
    let rungs = ladder.select(request.rungs, problem)?;
    let (launches, errors) = ladder.launches(rungs, problem, block, request.rungs.is_empty())?;
    // Of several that are refused for the same reason, it is said once.
    let mut refused: Vec<(String, Vec<&str>)> = Vec::new();
    let mut left_out = Vec::new();
    for error in &errors {
        match error {
            Error::Refused { rung, reason } => match refused.iter_mut().find(|(other, _)| other == reason) {
                Some((_, rungs)) => rungs.push(rung),
                None => refused.push((reason.clone(), vec![rung])),
            },
            other => left_out.push(other.to_string()),
        }
    }
    left_out.extend(
        refused.into_iter().map(|(reason, rungs)| format!("{} cannot compute this: {reason}", rungs.join(", "))),
    );
    if launches.is_empty() {
        return Err(Error::NotOffered(format!("no rung of {} is left: {}", ladder.name, left_out.join("; "))));
    }
    Ok((divided, launches, left_out))
}

/// Checks a rung on the parts, and times it if there are `runs` and a clock.
fn outcome(
    member: &mut Member,
    divided: &Divided,
    rung: &Rung,
    launch: &Launch,
    runs: Option<u32>,
) -> Result<(Verdict, Option<Samples>), Error> {
    let problem = &*divided.problem;
    let buffers = problem.buffers();
    let output = launch
        .args
        .iter()
        .flat_map(Arg::buffers)
        .find(|&index| matches!(buffers[index].role, Role::Output | Role::Sum));
    let output = output.ok_or_else(|| Error::NotOffered(format!("{} has no output to combine", rung.name)))?;
    let written = problem.written_bytes(launch, output);
    let lengths = member.meeting.exchange_number(written)?;
    let mut end = 0;
    let parts = lengths.iter().map(|length| {
        let start = end;
        end += length;
        start..end
    });
    let parts: Vec<_> = parts.collect();
    let collective = match divided.combine {
        Combine::Reduce { element, op } => Collective::AllReduce { count: written / element.bytes(), element, op },
        Combine::Gather => Collective::Gather { parts: parts.clone() },
    };
    // Where the result of the whole comes together.
    let gathered = match divided.combine {
        Combine::Reduce { .. } => None,
        Combine::Gather => {
            let gathered = member.device.alloc(end as usize);
            Some(member.agree(gathered)?)
        }
    };
    let done = with_buffers(member, divided, (rung, launch), runs, (output, gathered, &collective, &parts));
    if let Some(gathered) = gathered {
        member.device.free(gathered);
    }
    member.agree(done)
}

/// What is combined: the index of the part's output, where the whole comes together, how, and the place of each part.
type Combined<'a> = (usize, Option<BufferId>, &'a Collective, &'a [Range<u64>]);

fn with_buffers(
    member: &mut Member,
    divided: &Divided,
    (rung, launch): (&Rung, &Launch),
    runs: Option<u32>,
    (output, gathered, collective, parts): Combined<'_>,
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
    for &index in &divided.shared {
        let bytes = problem.buffers()[index].bytes;
        let (device, ids) = session.device_and_buffers();
        let id = ids[index];
        if meeting.part.rank > 0 {
            device.fill(id, 0)?;
        }
        communicator.run(meeting, device, [id, id], &Collective::Broadcast { bytes })?;
    }

    let ran = session.launch_poisoned(rung, launch);
    // Without this, the others would wait in the collective for a rank whose kernel has failed.
    meeting.report(&ran)?;
    let has_clock = ran?.time_ns.is_some();
    {
        let (device, ids) = session.device_and_buffers();
        let from = ids[output];
        communicator.run(meeting, device, [from, gathered.unwrap_or(from)], collective)?;
    }
    let (mut outputs, violation) = session.outputs(launch)?;
    let own = match gathered {
        None => outputs.first().cloned().unwrap_or_default(),
        Some(gathered) => {
            let mut all = vec![0; parts.last().map_or(0, |part| part.end as usize)];
            session.device_and_buffers().0.download(gathered, &mut all)?;
            all
        }
    };
    let verdict = match divided.combine {
        Combine::Reduce { .. } => problem.check_combined(&meeting.exchange(Ok(problem.reference()))?, &own),
        Combine::Gather => {
            // The part is checked where the whole came together.
            let part = &parts[meeting.part.rank];
            if let Some(first) = outputs.first_mut() {
                *first = own[part.start as usize..part.end as usize].to_vec();
            }
            problem.check(rung, launch, &outputs)
        }
    };
    let verdict = match (verdict, violation) {
        (Verdict::Right, Some(why)) => Verdict::Wrong(why),
        (verdict, _) => verdict,
    };
    let verdict = verdict_of_all(meeting, verdict, &own)?;

    let times = match runs {
        Some(runs) if has_clock && verdict.is_right() => {
            let whole = parts.last().map_or(0, |part| part.end);
            timed(
                &mut session,
                &mut **communicator,
                meeting,
                (rung, launch),
                runs,
                (output, gathered, collective, whole),
            )?
        }
        _ => Vec::new(),
    };
    Ok((verdict, slowest(meeting, times)?))
}

/// The times of launches with what combines their results, on this rank.
fn timed(
    session: &mut Session<'_>,
    communicator: &mut dyn Communicator,
    meeting: &mut Meeting,
    (rung, launch): (&Rung, &Launch),
    runs: u32,
    (output, gathered, collective, whole): (usize, Option<BufferId>, &Collective, u64),
) -> Result<Vec<f64>, Error> {
    let (device, _) = session.device_and_buffers();
    let to =
        gathered.map(|id| Ok::<_, Error>(DeviceMemory { address: device.address(id)?, bytes: whole })).transpose()?;
    let aside = device.alloc(size_of::<u32>())?;
    device.fill(aside, 0)?;
    let word = DeviceMemory { address: device.address(aside)?, bytes: size_of::<u32>() as u64 };
    // In the stream, all ranks wait for each other before the clock starts.
    let start = Collective::AllReduce { count: 1, element: Element::U32, op: Op::Sum };
    let (mut times, mut needs_host) = (Vec::new(), false);
    for run in 0..WARM_UP.saturating_add(runs) {
        let shared = RefCell::new(&mut *communicator);
        let mut before = |stream: &GpuStream, _: &[DeviceMemory]| {
            let enqueued = shared.borrow_mut().enqueue(stream, [word; 2], &start);
            needs_host = enqueued.is_none();
            enqueued.unwrap_or(Ok(()))
        };
        let mut behind = |stream: &GpuStream, memory: &[DeviceMemory]| {
            let from = memory[output];
            shared.borrow_mut().enqueue(stream, [from, to.unwrap_or(from)], collective).unwrap_or(Ok(()))
        };
        let ran = session.once_with(rung, launch, &mut before, &mut behind)?;
        let mut time = ran.time_ns.unwrap_or_default();
        if needs_host {
            // The device's clock does not see the host's work, so the host's clock measures it.
            meeting.barrier()?;
            let begin = Instant::now();
            let (device, ids) = session.device_and_buffers();
            let from = ids[output];
            communicator.run(meeting, device, [from, gathered.unwrap_or(from)], collective)?;
            time += begin.elapsed().as_nanos() as f64;
        }
        if run >= WARM_UP {
            times.push(time);
        }
    }
    session.device_and_buffers().0.free(aside);
    Ok(times)
}

/// The verdict of all ranks on what each has: the first that is not right, or that not all have the same.
pub(super) fn verdict_of_all(meeting: &mut Meeting, own: Verdict, result: &[u8]) -> Result<Verdict, Error> {
    let mut hasher = DefaultHasher::new();
    result.hash(&mut hasher);
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
