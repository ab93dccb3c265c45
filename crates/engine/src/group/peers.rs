//! Runs rungs whose kernels read and write the memory of other devices: each rank has its buffers on its own device, and all
//! have the addresses of all.

use std::time::Instant;

use super::Member;
use super::communicator::{Collective, Communicator, ThroughHost};
use super::run::{Outcome, Report, Request, slowest, verdict_of_all};
use crate::device::{BufferId, Device};
use crate::divide::{Element, Op};
use crate::error::Error;
use crate::launch::{Arg, Launch, MOST_RANKS};
use crate::problem::{GUARD_BYTES, Problem, Role, Verdict};
use crate::registry::{Launches, Rung};
use crate::run::WARM_UP;

/// How many launches are timed together: what one takes less than a measurement's own time is lost otherwise.
const TOGETHER: u32 = 10;

/// A rank's buffer: its place among the problem's, what it is, and its address on every rank.
struct Shared {
    index: usize,
    id: BufferId,
    role: Role,
    bytes: u64,
    addresses: Vec<u64>,
}

/// Runs all rungs of the request, and what they are compared with: the host, and NCCL where it is.
pub(super) fn measure(member: &mut Member, request: &Request<'_>, report: &mut Report) -> Result<(), Error> {
    let whole = request.whole;
    if !member.shares_addresses {
        let why = "its ranks have to be in one process, which has the addresses of all: ladder run --devices";
        return Err(Error::NotOffered(format!("the ladder {} reads other ranks' memory: {why}", request.ladder.name)));
    }
    let launches = launches(request, member.part().ranks)?;
    let numbers = member.meeting.exchange_number(member.number.into())?;
    let numbers: Vec<u32> = numbers.into_iter().map(|number| number as u32).collect();
    let reached = member.device.reach(member.number, &numbers);
    member.agree(reached)?;

    let buffers = buffers(member, whole)?;
    report.all_reduced = buffers.iter().find(|own| own.role == Role::Output).map(|own| own.bytes);
    let done = rows(member, request, &launches, &buffers, report);
    // Nobody frees what another rank's kernel may still read.
    let done = member.agree(done);
    buffers.iter().for_each(|own| member.device.free(own.id));
    done
}

/// The launches of the rungs that are asked for, each for all ranks.
pub(super) fn launches(request: &Request<'_>, ranks: usize) -> Result<Launches, Error> {
    let Request { ladder, whole, .. } = *request;
    if ranks > MOST_RANKS {
        let why = format!("the ladder {} takes {MOST_RANKS} devices at most, and there are {ranks}", ladder.name);
        return Err(Error::NotOffered(why));
    }
    let rungs = ladder.select(request.rungs, whole)?.into_iter();
    rungs.map(|rung| Ok((rung, ladder.launch(rung, whole, request.block)?))).collect()
}

/// Allocates and fills the rank's buffers, and learns where those of the others are.
fn buffers(member: &mut Member, whole: &dyn Problem) -> Result<Vec<Shared>, Error> {
    let part = member.part();
    let all = whole.buffers();
    let mut own = Vec::new();
    for index in (part.rank..all.len()).step_by(part.ranks) {
        let made = member.device.alloc(all[index].allocated_bytes() as usize).and_then(|id| {
            match all[index].role {
                Role::Input => member.device.upload(id, whole.input(index))?,
                role => member.device.fill(id, role.initial_byte().unwrap_or_default())?,
            }
            Ok((id, member.device.address(id)?))
        });
        let (id, address) = member.agree(made)?;
        let addresses = member.meeting.exchange_number(address)?;
        own.push(Shared { index, id, role: all[index].role, bytes: all[index].bytes, addresses });
    }
    Ok(own)
}

fn rows(
    member: &mut Member,
    request: &Request<'_>,
    launches: &[(&'static Rung, Launch)],
    buffers: &[Shared],
    report: &mut Report,
) -> Result<(), Error> {
    for (rung, launch) in launches {
        if simt::run::is_interrupted() {
            return Err(Error::Interrupted);
        }
        let launch = own_launch(member, launch, buffers);
        poison(&mut *member.device, buffers)?;
        member.meeting.barrier()?;
        let ran = run(member, launch.as_ref());
        member.agree(ran)?;
        let verdict = checked(member, request.whole, buffers)?;
        let mut times = Vec::new();
        // What simulated devices take says nothing.
        let runs = request.runs.filter(|_| !member.is_simulated && verdict.is_right());
        if let (Some(runs), Some(launch)) = (runs, &launch) {
            for run in 0..WARM_UP.saturating_add(runs) {
                member.meeting.barrier()?;
                // SAFETY: as in `run`; a kernel leaves its flags as it found them.
                let ran = unsafe {
                    member.device.launch_with((launch, TOGETHER), &[], &mut |_, _| Ok(()), &mut |_, _| Ok(()))
                };
                let time = member.agree(ran)?.time_ns.unwrap_or_default();
                if run >= WARM_UP {
                    times.push(time / f64::from(TOGETHER));
                }
            }
        }
        let samples = slowest(&mut member.meeting, times)?;
        report.outcomes.push(Outcome { name: rung.name.to_owned(), launch, verdict, samples });
    }
    if request.rungs.is_empty() {
        let mut host = ThroughHost;
        report.outcomes.push(baseline(member, request, buffers, Some(&mut host))?);
        if !member.is_simulated {
            report.outcomes.push(baseline(member, request, buffers, None)?);
        }
    }
    Ok(())
}

/// A rank's launch: its row of the grid. On simulated devices the first rank launches all rows as one grid, since kernels run one
/// after the other there, and these wait for each other.
fn own_launch(member: &Member, launch: &Launch, buffers: &[Shared]) -> Option<Launch> {
    let (part, first) = (member.part(), if member.is_simulated { 0 } else { member.part().rank as u32 });
    if member.is_simulated && part.rank > 0 {
        return None;
    }
    let arg = |arg: &Arg| match *arg {
        Arg::FirstRank => Arg::U32(first),
        Arg::Table { first, .. } => {
            let mut table = [0; MOST_RANKS];
            let own = buffers.iter().find(|own| own.index == first + part.rank);
            let addresses = own.map_or(&[][..], |own| &own.addresses);
            table.iter_mut().zip(addresses).for_each(|(entry, address)| *entry = *address);
            Arg::Addresses(table)
        }
        other => other,
    };
    let args = launch.args.iter().map(arg).collect();
    let [x, y, z] = launch.grid;
    Some(Launch { args, grid: [x, if member.is_simulated { y } else { 1 }, z], ..launch.clone() })
}

/// Runs the rank's launch, if it has one.
fn run(member: &mut Member, launch: Option<&Launch>) -> Result<(), Error> {
    let Some(launch) = launch else { return Ok(()) };
    // SAFETY: the addresses are those of the ranks' buffers, which no rank frees before all have agreed that they are done; the
    // problem promises that the kernels access nothing else.
    unsafe { member.device.launch(launch, &[]) }.map(drop)
}

/// Fills the outputs with what no result is.
fn poison(device: &mut dyn Device, buffers: &[Shared]) -> Result<(), Error> {
    let mut outputs = buffers.iter().filter(|own| own.role == Role::Output);
    outputs.try_for_each(|own| device.fill(own.id, own.role.initial_byte().unwrap_or_default()))
}

/// Whether all ranks have the right sum, and nothing was written behind it, and the flags are zeros again.
fn checked(member: &mut Member, whole: &dyn Problem, buffers: &[Shared]) -> Result<Verdict, Error> {
    let look = |device: &mut dyn Device| -> Result<(Verdict, Vec<u8>), Error> {
        let (mut verdict, mut result) = (Verdict::Right, Vec::new());
        for own in buffers.iter().filter(|own| own.role != Role::Input) {
            let mut bytes = vec![0; (own.bytes + GUARD_BYTES) as usize];
            device.download(own.id, &mut bytes)?;
            let initial = own.role.initial_byte().unwrap_or_default();
            let written = if own.role == Role::Workspace { 0 } else { own.bytes as usize };
            if let Some(at) = bytes[written..].iter().position(|byte| *byte != initial) {
                let what =
                    if written == 0 { "of the flags is not 0 after" } else { "behind the output was written by" };
                verdict = Verdict::Wrong(format!("byte {at} {what} the launch"));
            }
            if own.role == Role::Output {
                bytes.truncate(written);
                result = bytes;
            }
        }
        Ok((verdict, result))
    };
    let looked = look(&mut *member.device);
    let (mut verdict, result) = member.agree(looked)?;
    // All have the same sum, or it is wrong.
    if member.part().rank == 0 && verdict.is_right() {
        verdict = whole.check_combined(&[], &result);
    }
    verdict_of_all(&mut member.meeting, verdict, &result)
}

/// The same by the host, or by the group's communicator: from a copy of the inputs, in place.
fn baseline(
    member: &mut Member,
    request: &Request<'_>,
    buffers: &[Shared],
    host: Option<&mut dyn Communicator>,
) -> Result<Outcome, Error> {
    let find = |role| buffers.iter().find(|own| own.role == role);
    let (Some(input), Some(output)) = (find(Role::Input), find(Role::Output)) else {
        return Err(Error::NotOffered("the problem has no input or no output".to_owned()));
    };
    let collective = Collective::AllReduce { count: output.bytes / 4, element: Element::F32, op: Op::Sum };
    let is_host = host.is_some();
    let Member { device, communicator, meeting, .. } = &mut *member;
    let communicator = host.unwrap_or(&mut **communicator);
    let name = if is_host { "through the host".to_owned() } else { communicator.describe() };
    let ids = [input.id, output.id];
    device.fill(output.id, output.role.initial_byte().unwrap_or_default())?;
    communicator.run(meeting, &mut **device, ids, &collective)?;
    let verdict = checked(member, request.whole, buffers)?;
    let mut times = Vec::new();
    let has_clock = !member.is_simulated;
    if let (Some(runs), true, true) = (request.runs, has_clock, verdict.is_right()) {
        let runs = if is_host { runs.min(3) } else { runs };
        for run in 0..WARM_UP.saturating_add(runs) {
            let Member { device, communicator, meeting, .. } = &mut *member;
            meeting.barrier()?;
            let time = if is_host {
                let begin = Instant::now();
                ThroughHost.run(meeting, &mut **device, ids, &collective)?;
                begin.elapsed().as_nanos() as f64
            } else {
                let mut all = |stream: &crate::device::GpuStream, memory: &[crate::device::DeviceMemory]| {
                    let one = |_| communicator.enqueue(stream, [memory[0], memory[1]], &collective).unwrap_or(Ok(()));
                    (0..TOGETHER).try_for_each(one)
                };
                device.call("NCCL", &ids, &mut all)?.time_ns.unwrap_or_default() / f64::from(TOGETHER)
            };
            if run >= WARM_UP {
                times.push(time);
            }
        }
    }
    let samples = slowest(&mut member.meeting, times)?;
    Ok(Outcome { name, launch: None, verdict, samples })
}
