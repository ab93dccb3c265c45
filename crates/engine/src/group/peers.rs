//! Runs rungs whose kernels read and write the memory of other devices: each rank has its buffers on its own device, and all
//! have the addresses of all.

use std::cell::RefCell;
use std::time::Instant;

use super::Member;
use super::communicator::{Collective, Communicator, Placement, ThroughHost};
use super::run::{Outcome, Report, Request};
use super::work::{Start, slowest, verdict_of_all};
use crate::device::{BufferId, Device, DeviceMemory, GpuStream};
use crate::divide::{Element, Op};
use crate::error::Error;
use crate::launch::{Arg, Launch, MOST_RANKS};
use crate::problem::{self, GUARD_BYTES, Problem, Role, Verdict};
use crate::registry::{DeviceProperties, Launches, Rung, grid};
use crate::run::WARM_UP;

/// How many launches are timed together, one behind the other in the stream, as nccl-tests does.
const TOGETHER: usize = 20;

/// The most bytes of an array that the host adds up.
const MUCH: u64 = 16 << 20;

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
    let device = member.device.info().properties();
    let (launches, left_out) = launches(request, member.part().ranks, device)?;
    report.left_out.extend(left_out.iter().map(Error::to_string));
    let numbers = member.meeting.exchange_number(member.number.into())?;
    let numbers: Vec<u32> = numbers.into_iter().map(|number| number as u32).collect();
    let reached = member.device.reach(member.number, &numbers);
    member.agree(reached)?;

    let buffers = buffers(member, whole)?;
    report.all_reduced = buffers.iter().find(|own| own.role.is_result()).map(|own| own.bytes);
    let done = rows(member, request, &launches, &buffers, report);
    // Nobody frees what another rank's kernel may still read.
    let done = member.agree(done);
    buffers.iter().for_each(|own| member.device.free(own.id));
    done
}

/// The launches of the rungs that are asked for, each for all ranks, and why others are left out where none were named.
pub(super) fn launches(
    request: &Request<'_>,
    ranks: usize,
    device: DeviceProperties,
) -> Result<(Launches, Vec<Error>), Error> {
    let Request { ladder, whole, rungs, block, .. } = *request;
    if ranks > MOST_RANKS {
        let why = format!("the ladder {} takes {MOST_RANKS} devices at most, and there are {ranks}", ladder.name);
        return Err(Error::NotOffered(why));
    }
    ladder.launches(ladder.select(rungs, whole)?, whole, device, |_| block.into_iter().collect(), rungs.is_empty())
}

/// Allocates and fills the rank's buffers, and learns where those of the others are.
fn buffers(member: &mut Member, whole: &dyn Problem) -> Result<Vec<Shared>, Error> {
    let part = member.part();
    let all = whole.buffers(member.device.info().properties());
    let mut own = Vec::new();
    for index in (part.rank..all.len()).step_by(part.ranks) {
        let made = member.device.alloc(all[index].allocated_bytes() as usize).and_then(|id| {
            let role = all[index].role;
            match role.is_input() {
                true => member.device.upload(id, whole.input(index))?,
                false => member.device.fill(id, role.initial_byte().unwrap_or_default())?,
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
        let launch = own_launch(member, (rung, launch), request.whole, buffers);
        poison(&mut *member.device, buffers)?;
        member.meeting.barrier()?;
        let ran = run(member, launch.as_ref());
        member.agree(ran)?;
        let verdict = checked(member, request.whole, buffers)?;
        // What simulated devices take says nothing.
        let runs = request.runs.filter(|_| !member.is_simulated && verdict.is_right());
        let times = match (runs, &launch) {
            (Some(runs), Some(launch)) => timed(member, std::slice::from_ref(launch), None, runs)?,
            _ => Vec::new(),
        };
        let samples = slowest(&mut member.meeting, times)?;
        report.outcomes.push(Outcome { name: rung.name.to_owned(), launch, verdict, samples });
    }
    if request.rungs.is_empty() {
        let bytes = report.all_reduced.unwrap_or_default();
        for way in [Way::Host, Way::Copies, Way::Communicator] {
            match way {
                Way::Host if bytes > MUCH => {
                    report.left_out.push(format!("through the host: more than {MUCH} bytes take seconds"));
                }
                Way::Communicator if member.is_simulated => {}
                _ => report.outcomes.push(baseline(member, request, buffers, way)?),
            }
        }
    }
    Ok(())
}

/// What is timed in the place of launches: a collective of these buffers.
type Timed<'a> = (&'a [BufferId; 2], &'a Collective);

/// The times of launches on this rank, or of a collective as often, each the mean of [`TOGETHER`].
fn timed(
    member: &mut Member,
    launches: &[Launch],
    collective: Option<Timed<'_>>,
    runs: u32,
) -> Result<Vec<f64>, Error> {
    let start = Start::new(&mut *member.device);
    let start = member.agree(start)?;
    let bound: &[BufferId] = collective.map_or(&[], |(ids, _)| ids);
    let mut times = Vec::new();
    for run in 0..WARM_UP.saturating_add(runs) {
        member.meeting.barrier()?;
        let Member { device, communicator, .. } = &mut *member;
        let shared = RefCell::new(&mut **communicator);
        let mut before = |stream: &GpuStream, _: &[DeviceMemory]| {
            start.enqueue(&mut **shared.borrow_mut(), stream).unwrap_or(Ok(()))
        };
        let mut behind = |_, stream: &GpuStream, memory: &[DeviceMemory]| {
            let Some((_, what)) = collective else { return Ok(()) };
            let mut once = |_| {
                let place = (stream, Placement::InStream);
                shared.borrow_mut().enqueue(place, [memory[0], memory[1]], what).unwrap_or(Ok(()))
            };
            (0..TOGETHER).try_for_each(&mut once)
        };
        // SAFETY: as in `run`; a kernel leaves its flags as it found them.
        let ran = unsafe { device.launch_with((launches, TOGETHER), bound, &mut before, &mut behind) };
        let time = member.agree(ran)?.time_ns.unwrap_or_default();
        if run >= WARM_UP {
            times.push(time / TOGETHER as f64);
        }
    }
    start.free(&mut *member.device);
    Ok(times)
}

/// A rank's launch: its row of the grid. On simulated devices the first rank launches all rows as one grid, since kernels run one
/// after the other there, and these wait for each other.
fn own_launch(
    member: &Member,
    (rung, launch): (&Rung, &Launch),
    whole: &dyn Problem,
    buffers: &[Shared],
) -> Option<Launch> {
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
    let mut shape = whole.facts().shape;
    if !member.is_simulated {
        // The first length is the number of ranks whose rows this device launches. Every rank computes the same grid, as
        // the kernels require, because the shape is the same and the device is not asked.
        shape[0] = 1;
    }
    Some(Launch { args, grid: grid(rung, &shape, launch.block, member.device.info().properties()), ..launch.clone() })
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
    let mut outputs = buffers.iter().filter(|own| own.role.is_poisoned());
    outputs.try_for_each(|own| device.fill(own.id, own.role.initial_byte().unwrap_or_default()))
}

/// Whether all ranks have the right sum, and nothing was written behind it, and the flags are zeros again.
fn checked(member: &mut Member, whole: &dyn Problem, buffers: &[Shared]) -> Result<Verdict, Error> {
    let look = |device: &mut dyn Device| -> Result<(Verdict, Vec<u8>), Error> {
        let (mut verdict, mut result) = (Verdict::Right, Vec::new());
        for own in buffers.iter().filter(|own| !own.role.is_input()) {
            let mut bytes = vec![0; (own.bytes + GUARD_BYTES) as usize];
            device.download(own.id, &mut bytes)?;
            let initial = own.role.initial_byte().unwrap_or_default();
            let written = if own.role.is_left_zeroed() { 0 } else { own.bytes as usize };
            if let Some(at) = bytes[written..].iter().position(|byte| *byte != initial) {
                let what =
                    if written == 0 { "of the flags is not 0 after" } else { "behind the output was written by" };
                verdict = Verdict::Wrong(format!("byte {at} {what} the launch"));
            }
            if own.role.is_result() {
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
        verdict = problem::check_combined(whole, &[], &result);
    }
    verdict_of_all(&mut member.meeting, verdict, &result)
}

/// What the rungs are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The host takes the inputs, adds them up and brings the sum to all.
    Host,
    /// The first device gets copies of all inputs, adds them up by the first rung on its own, and the sums are copied back.
    Copies,
    /// The group's communicator.
    Communicator,
}

/// The same in another way than by a rung, from the inputs to the outputs.
fn baseline(member: &mut Member, request: &Request<'_>, buffers: &[Shared], way: Way) -> Result<Outcome, Error> {
    let find = |has_role: fn(Role) -> bool| buffers.iter().find(|own| has_role(own.role));
    let (Some(input), Some(output)) = (find(Role::is_input), find(Role::is_result)) else {
        return Err(Error::NotOffered("the problem has no input or no output".to_owned()));
    };
    let collective = Collective::AllReduce { count: output.bytes / 4, element: Element::F32, op: Op::Sum };
    let ids = [input.id, output.id];
    let name = match way {
        Way::Host => "through the host".to_owned(),
        Way::Copies => "copies to one device".to_owned(),
        // The caption says where it is.
        Way::Communicator => member.communicator.describe().split(" (").next().unwrap_or_default().to_owned(),
    };
    let staged = match way {
        Way::Copies => Some(Staged::new(member, request, [input, output])?),
        _ => None,
    };
    let once = |member: &mut Member| -> Result<(), Error> {
        let Member { device, communicator, meeting, .. } = &mut *member;
        match (&staged, way) {
            (Some(staged), _) => {
                let ran = staged.run(member, [input, output]);
                member.agree(ran)
            }
            (None, Way::Host) => ThroughHost.run(meeting, &mut **device, ids, &collective),
            _ => communicator.run(meeting, &mut **device, ids, &collective),
        }
    };
    poison(&mut *member.device, buffers)?;
    // Nobody writes another rank's output before it is poisoned.
    member.meeting.barrier()?;
    once(member)?;
    let verdict = checked(member, request.whole, buffers)?;
    let runs = request.runs.filter(|_| !member.is_simulated && verdict.is_right());
    let times = match runs {
        None => Vec::new(),
        Some(runs) if way == Way::Communicator => timed(member, &[], Some((&ids, &collective)), runs)?,
        Some(runs) => {
            let mut times = Vec::new();
            for _ in 0..runs.min(3) {
                member.meeting.barrier()?;
                let begin = Instant::now();
                once(member)?;
                times.push(begin.elapsed().as_nanos() as f64);
            }
            times
        }
    };
    if let Some(staged) = staged {
        staged.free(member);
    }
    let samples = slowest(&mut member.meeting, times)?;
    Ok(Outcome { name, launch: None, verdict, samples })
}

/// What the first device has for copies of all ranks' data. The others have nothing.
struct Staged {
    launch: Option<Launch>,
    /// The copies of the inputs and of the outputs of all ranks but the first, and flags.
    ids: Vec<BufferId>,
    addresses: [Vec<u64>; 2],
    /// The numbers of the ranks' devices.
    devices: Vec<u32>,
}

impl Staged {
    fn new(member: &mut Member, request: &Request<'_>, both: [&Shared; 2]) -> Result<Self, Error> {
        // Simulated devices are numbered in the order of their ranks.
        let number = if member.is_simulated { member.part().rank as u64 } else { member.number.into() };
        let devices = member.meeting.exchange_number(number)?.into_iter().map(|number| number as u32).collect();
        let mut own = Self { launch: None, ids: Vec::new(), addresses: Default::default(), devices };
        let made = match member.part().rank {
            0 => own.make(&mut *member.device, request, both),
            _ => Ok(()),
        };
        member.agree(made).map(|()| own)
    }

    fn make(
        &mut self,
        device: &mut dyn Device,
        request: &Request<'_>,
        [input, output]: [&Shared; 2],
    ) -> Result<(), Error> {
        let whole = request.whole;
        let ranks = self.devices.len();
        let properties = device.info().properties();
        let all = whole.buffers(properties);
        let mut alloc = |bytes: u64| {
            let id = device.alloc(bytes as usize)?;
            self.ids.push(id);
            device.fill(id, 0)?;
            device.address(id)
        };
        let mut tables = Vec::new();
        for (buffer, shared) in [(0, Some(input)), (1, Some(output)), (2, None)] {
            let bytes = all[buffer * ranks].bytes;
            let first = shared.map_or_else(|| alloc(bytes), |shared| Ok(shared.addresses[0]))?;
            let others = (1..ranks).map(|_| alloc(bytes)).collect::<Result<Vec<_>, _>>()?;
            tables.push([vec![first], others].concat());
        }
        let mut launch = request.ladder.launch(&request.ladder.rungs[0], whole, None, properties)?;
        for arg in &mut launch.args {
            *arg = match *arg {
                Arg::Table { first, .. } => {
                    let mut table = [0; MOST_RANKS];
                    table.iter_mut().zip(&tables[first / ranks]).for_each(|(entry, address)| *entry = *address);
                    Arg::Addresses(table)
                }
                Arg::FirstRank => Arg::U32(0),
                other => other,
            };
        }
        tables.truncate(2);
        self.addresses = tables.try_into().unwrap_or_default();
        self.launch = Some(launch);
        Ok(())
    }

    fn run(&self, member: &mut Member, [input, output]: [&Shared; 2]) -> Result<(), Error> {
        let Some(launch) = &self.launch else { return Ok(()) };
        let (device, first) = (&mut *member.device, self.devices[0]);
        let [inputs, outputs] = &self.addresses;
        let others = || self.devices.iter().enumerate().skip(1);
        for (rank, &other) in others() {
            // SAFETY: both have the bytes of the input, and the other rank waits meanwhile.
            unsafe { device.copy_between((first, inputs[rank]), (other, input.addresses[rank]), input.bytes) }?;
        }
        // SAFETY: as in `run`, and the copies are the device's own.
        unsafe { device.launch(launch, &[]) }?;
        for (rank, &other) in others() {
            // SAFETY: as above, of the output.
            unsafe { device.copy_between((other, output.addresses[rank]), (first, outputs[rank]), output.bytes) }?;
        }
        // What is behind the copies in the stream is there when they are.
        // SAFETY: it launches nothing.
        unsafe { device.launch_with((&[], 1), &[], &mut |_, _| Ok(()), &mut |_, _, _| Ok(())) }.map(drop)
    }

    fn free(self, member: &mut Member) {
        self.ids.into_iter().for_each(|id| member.device.free(id));
    }
}
