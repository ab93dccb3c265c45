//! Runs rungs whose kernels read and write the memory of other devices. Each rank has buffers on its device and knows
//! the addresses of all ranks' buffers.

use std::cell::RefCell;
use std::slice;
use std::time::Instant;

use engine::Error as EngineError;
use engine::device::{BufferId, Device, DeviceMemory, GpuStream};
use engine::launch::{Arg, Launch, TABLE_LENGTH};
use engine::problem::{GUARD_BYTES, Problem, Role, Verdict};
use engine::registry::{DeviceProperties, Launches, Rung, grid};
use engine::run::WARM_UP;

use crate::communicator::{Collective, Communicator};
use crate::devices::open_peers;
use crate::divide::{ElementType, Operation};
use crate::error::Error;
use crate::member::Member;
use crate::problem::{FIRST_RANK, PeerProblem};
use crate::report::{GroupReport, GroupRequest, Measurement};
use crate::through_host::ThroughHost;
use crate::work::{Start, slowest, verdict_of_all};

/// The number of consecutive launches in a stream that are timed together, as in nccl-tests.
const TOGETHER: usize = 20;

/// A rank's buffer: its index among the problem's buffers, its role, and the addresses of this buffer on all ranks.
struct SharedBuffer {
    index: usize,
    id: BufferId,
    role: Role,
    bytes: u64,
    addresses: Vec<u64>,
}

/// Runs all rungs of the request, and the baselines for comparison.
pub(crate) fn measure(
    member: &mut Member,
    request: &GroupRequest<'_>,
    whole: &dyn PeerProblem,
    report: &mut GroupReport,
) -> Result<(), Error> {
    if !member.shares_addresses {
        let why = "its ranks must be in one process that has the addresses of all ranks: use ladder run --devices";
        let name = request.ladder.name;
        return Err(EngineError::NotOffered(format!("the ladder {name} reads other ranks' memory: {why}")).into());
    }
    let device = member.device.info().properties();
    let (launches, left_out) = launches(request, member.rank().count, device)?;
    report.left_out.extend(left_out.iter().map(ToString::to_string));
    let numbers = member.device_numbers()?;
    let opened = match member.device.info().kind {
        "sim" => Ok(()),
        _ => open_peers(member.number, &numbers),
    };
    member.agree(opened)?;

    let buffers = buffers(member, whole)?;
    report.all_reduced = buffers.iter().find(|buffer| buffer.role.is_result()).map(|buffer| buffer.bytes);
    let done = measurements(member, request, (whole, &launches), &buffers, report);
    // No rank frees a buffer while another rank's kernel can still read the buffer.
    let done = member.agree(done);
    buffers.iter().for_each(|buffer| member.device.free(buffer.id));
    done
}

/// Returns the launches of the requested rungs, and the reasons why other rungs are left out. Each launch covers all
/// ranks.
pub(crate) fn launches(
    request: &GroupRequest<'_>,
    ranks: usize,
    device: DeviceProperties,
) -> Result<(Launches, Vec<EngineError>), EngineError> {
    let GroupRequest { ladder, rungs, block, .. } = *request;
    let whole = request.whole.problem();
    if ranks > TABLE_LENGTH {
        let why = format!("the ladder {} supports at most {TABLE_LENGTH} devices, not {ranks}", ladder.name);
        return Err(EngineError::NotOffered(why));
    }
    ladder.launches(ladder.select(rungs, whole)?, whole, device, |_| block.into_iter().collect(), rungs.is_empty())
}

/// Allocates and fills the rank's buffers, and exchanges their addresses with the other ranks.
fn buffers(member: &mut Member, whole: &dyn Problem) -> Result<Vec<SharedBuffer>, Error> {
    let rank = member.rank();
    let all = whole.buffers(member.device.info().properties());
    let mut shared_buffers = Vec::new();
    for index in (rank.index..all.len()).step_by(rank.count) {
        let shared_buffer = member.device.alloc(all[index].allocated_bytes() as usize).and_then(|id| {
            let role = all[index].role;
            match role.is_input() {
                true => member.device.upload(id, whole.input(index))?,
                false => member.device.fill(id, role.initial_byte().unwrap_or_default())?,
            }
            Ok((id, member.device.address(id)?))
        });
        let (id, address) = member.agree(shared_buffer)?;
        let addresses = member.meeting.exchange_number(address)?;
        shared_buffers.push(SharedBuffer { index, id, role: all[index].role, bytes: all[index].bytes, addresses });
    }
    Ok(shared_buffers)
}

fn measurements(
    member: &mut Member,
    request: &GroupRequest<'_>,
    (whole, launches): (&dyn PeerProblem, &[(&'static Rung, Launch)]),
    buffers: &[SharedBuffer],
    report: &mut GroupReport,
) -> Result<(), Error> {
    for (rung, launch) in launches {
        if simt::run::is_interrupted() {
            return Err(EngineError::Interrupted.into());
        }
        let launch = rank_launch(member, (rung, launch), whole, buffers);
        poison(&mut *member.device, buffers)?;
        member.meeting.barrier()?;
        let launch_result = run(member, launch.as_ref());
        member.agree(launch_result)?;
        let mut verdict = checked(member, whole, buffers)?;
        // Times on the simulator are meaningless.
        let runs = request.runs.filter(|_| !member.is_simulated && verdict.is_right());
        let mut times = Vec::new();
        if let (Some(runs), Some(launch)) = (runs, &launch) {
            poison(&mut *member.device, buffers)?;
            times = timed(member, slice::from_ref(launch), None, runs)?;
            // The timed launches must also have computed the right result.
            verdict = checked(member, whole, buffers)?;
        }
        let samples = slowest(&mut member.meeting, times)?;
        report.measurements.push(Measurement { name: rung.name.to_owned(), launch, verdict, samples });
    }
    if request.rungs.is_empty() {
        for way in [Way::Host, Way::HostCopies, Way::Copies, Way::Communicator] {
            if way != Way::Communicator || !member.is_simulated {
                report.measurements.push(baseline(member, (request, whole), buffers, way)?);
            }
        }
    }
    Ok(())
}

/// A collective on these buffers, which is timed in place of launches.
type Timed<'a> = (&'a [BufferId; 2], &'a Collective);

/// Returns the times of launches, or of a collective, on this rank. Each time is the mean of [`TOGETHER`] runs.
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
        let mut after = |_, stream: &GpuStream, memory: &[DeviceMemory]| {
            let Some((_, what)) = collective else { return Ok(()) };
            let mut once = |_| shared.borrow_mut().enqueue(stream, [memory[0], memory[1]], what).unwrap_or(Ok(()));
            (0..TOGETHER).try_for_each(&mut once)
        };
        // SAFETY: the launches only access the ranks' buffers, which no rank frees before all ranks are done. Every
        // launch restores the flags.
        let launch_result = unsafe { device.launch_with((launches, TOGETHER), bound, &mut before, &mut after) };
        let time = member.agree(launch_result)?.time_ns.unwrap_or_default();
        if run >= WARM_UP {
            times.push(time / TOGETHER as f64);
        }
    }
    start.free(&mut *member.device);
    Ok(times)
}

/// Returns a rank's launch, which is its row of the grid. On the simulator, the first rank launches all rows as one
/// grid. The rows wait for each other, but the simulator runs the kernels of different devices one after another.
fn rank_launch(
    member: &Member,
    (rung, launch): (&Rung, &Launch),
    whole: &dyn Problem,
    buffers: &[SharedBuffer],
) -> Option<Launch> {
    let rank = member.rank();
    if member.is_simulated && rank.index > 0 {
        return None;
    }
    let first_rank = if member.is_simulated { 0 } else { rank.index as u32 };
    let arg = |(parameter, arg): (&&str, &Arg)| match *arg {
        _ if *parameter == FIRST_RANK => Arg::U32(first_rank),
        Arg::Table { first, .. } => {
            let mut table = [0; TABLE_LENGTH];
            let buffer = buffers.iter().find(|buffer| buffer.index == first + rank.index);
            let addresses = buffer.map_or(&[][..], |buffer| &buffer.addresses);
            table.iter_mut().zip(addresses).for_each(|(entry, address)| *entry = *address);
            Arg::Addresses(table)
        }
        other => other,
    };
    let args = rung.parameters.iter().zip(&launch.args).map(arg).collect();
    let mut shape = whole.facts().shape;
    if !member.is_simulated {
        // The first length is the number of ranks whose rows this device launches. Every rank computes the same grid,
        // as the kernels require, because the shape is the same and the grid does not depend on the device.
        shape[0] = 1;
    }
    Some(Launch { args, grid: grid(rung, &shape, launch.block, member.device.info().properties()), ..launch.clone() })
}

/// Runs the rank's launch, if the rank has one.
fn run(member: &mut Member, launch: Option<&Launch>) -> Result<(), EngineError> {
    let Some(launch) = launch else { return Ok(()) };
    // SAFETY: the addresses belong to the ranks' buffers. No rank frees a buffer before all ranks agree that the
    // launches are done, and implementations of `Problem` guarantee that the kernels access nothing else.
    unsafe { member.device.launch(launch, &[]) }.map(drop)
}

/// Fills the outputs with poison.
fn poison(device: &mut dyn Device, buffers: &[SharedBuffer]) -> Result<(), EngineError> {
    let mut outputs = buffers.iter().filter(|buffer| buffer.role.is_poisoned());
    outputs.try_for_each(|buffer| device.fill(buffer.id, buffer.role.initial_byte().unwrap_or_default()))
}

/// Checks that all ranks have the right output, that no kernel wrote beyond it, and that the flags are zero again.
fn checked(member: &mut Member, whole: &dyn PeerProblem, buffers: &[SharedBuffer]) -> Result<Verdict, Error> {
    let look = |device: &mut dyn Device| -> Result<(Verdict, Vec<u8>), EngineError> {
        let (mut verdict, mut result) = (Verdict::Right, Vec::new());
        for buffer in buffers.iter().filter(|buffer| !buffer.role.is_input()) {
            let mut bytes = vec![0; (buffer.bytes + GUARD_BYTES) as usize];
            device.download(buffer.id, &mut bytes)?;
            let initial = buffer.role.initial_byte().unwrap_or_default();
            let written = if buffer.role.is_left_zeroed() { 0 } else { buffer.bytes as usize };
            if let Some(at) = bytes[written..].iter().position(|byte| *byte != initial) {
                let what =
                    if written == 0 { "of the flags is not 0 after" } else { "beyond the output was written by" };
                verdict = Verdict::Wrong(format!("byte {at} {what} the launch"));
            }
            if buffer.role.is_result() {
                bytes.truncate(written);
                result = bytes;
            }
        }
        Ok((verdict, result))
    };
    let looked = look(&mut *member.device);
    let (mut verdict, result) = member.agree(looked)?;
    // `verdict_of_all` compares the outputs of the other ranks with the first rank's output.
    if member.rank().index == 0 && verdict.is_right() {
        verdict = whole.check_output(&result);
    }
    verdict_of_all(&mut member.meeting, verdict, &result)
}

/// A baseline for comparison with the rungs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The host downloads the inputs, adds them and uploads the sum to all devices.
    Host,
    /// The copies of [`Way::Host`] without the additions. The outputs keep the sums of [`Way::Host`].
    HostCopies,
    /// The first device receives copies of all inputs and runs the first rung by itself. Then the sums are copied back.
    Copies,
    /// The ranks' communicator.
    Communicator,
}

/// Runs a baseline on the inputs.
fn baseline(
    member: &mut Member,
    (request, whole): (&GroupRequest<'_>, &dyn PeerProblem),
    buffers: &[SharedBuffer],
    way: Way,
) -> Result<Measurement, Error> {
    let find = |has_role: fn(Role) -> bool| buffers.iter().find(|buffer| has_role(buffer.role));
    let (Some(input), Some(output)) = (find(Role::is_input), find(Role::is_result)) else {
        return Err(EngineError::NotOffered("the problem has no input or no output".to_owned()).into());
    };
    let (count, element) = (output.bytes / 4, ElementType::F32);
    let collective = Collective::AllReduce { count, element, operation: Operation::Sum };
    let ids = [input.id, output.id];
    let name = match way {
        Way::Host => "through the host".to_owned(),
        Way::HostCopies => "host copies alone".to_owned(),
        Way::Copies => "copies to one device".to_owned(),
        // The caption contains the rest of the description.
        Way::Communicator => member.communicator.describe().split(" (").next().unwrap_or_default().to_owned(),
    };
    let staged = match way {
        Way::Copies => Some(Staged::new(member, (request, whole), [input, output])?),
        _ => None,
    };
    let once = |member: &mut Member| -> Result<(), Error> {
        let Member { device, communicator, meeting, .. } = &mut *member;
        match (&staged, way) {
            (Some(staged), _) => {
                let launch_result = staged.run(member, [input, output]);
                member.agree(launch_result)
            }
            (None, Way::HostCopies) => Ok(ThroughHost::copy_alone(meeting, &mut **device, ids, (count, element))?),
            (None, Way::Host) => ThroughHost.run(meeting, &mut **device, ids, &collective),
            _ => communicator.run(meeting, &mut **device, ids, &collective),
        }
    };
    poison(&mut *member.device, buffers)?;
    // Poison all outputs before a rank writes another rank's output.
    member.meeting.barrier()?;
    once(member)?;
    let verdict = checked(member, whole, buffers)?;
    let runs = request.runs.filter(|_| !member.is_simulated && verdict.is_right());
    let times = match runs {
        None => Vec::new(),
        Some(runs) if way == Way::Communicator => timed(member, &[], Some((&ids, &collective)), runs)?,
        Some(runs) => {
            let mut times = Vec::new();
            for _ in 0..runs {
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
    Ok(Measurement { name, launch: None, verdict, samples })
}

/// The first device's copies of all ranks' data. Empty on other ranks.
struct Staged {
    launch: Option<Launch>,
    /// The copies of the inputs and outputs of all ranks except the first, and the flags.
    ids: Vec<BufferId>,
    addresses: [Vec<u64>; 2],
    /// The numbers of the ranks' devices.
    devices: Vec<u32>,
}

impl Staged {
    fn new(
        member: &mut Member,
        request: (&GroupRequest<'_>, &dyn PeerProblem),
        both: [&SharedBuffer; 2],
    ) -> Result<Self, Error> {
        let devices = member.device_numbers()?;
        let mut staged = Self { launch: None, ids: Vec::new(), addresses: Default::default(), devices };
        let created = match member.rank().index {
            0 => staged.make(&mut *member.device, request, both),
            _ => Ok(()),
        };
        member.agree(created).map(|()| staged)
    }

    fn make(
        &mut self,
        device: &mut dyn Device,
        (request, whole): (&GroupRequest<'_>, &dyn PeerProblem),
        [input, output]: [&SharedBuffer; 2],
    ) -> Result<(), EngineError> {
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
            if let Arg::Table { first, .. } = *arg {
                let mut table = [0; TABLE_LENGTH];
                table.iter_mut().zip(&tables[first / ranks]).for_each(|(entry, address)| *entry = *address);
                *arg = Arg::Addresses(table);
            }
        }
        tables.truncate(2);
        self.addresses = tables.try_into().unwrap_or_default();
        self.launch = Some(launch);
        Ok(())
    }

    fn run(&self, member: &mut Member, [input, output]: [&SharedBuffer; 2]) -> Result<(), EngineError> {
        let Some(launch) = &self.launch else { return Ok(()) };
        let [inputs, outputs] = &self.addresses;
        let copy = |stream: &GpuStream, buffer: &SharedBuffer, copies: &[u64], is_input: bool| {
            let places = self.devices.iter().zip(&buffer.addresses).zip(copies).skip(1);
            places.map(|((&device, &address), &copy)| ((device as i32, address), copy)).try_for_each(|(other, copy)| {
                let first_device = (self.devices[0] as i32, copy);
                let (to, from) = if is_input { (first_device, other) } else { (other, first_device) };
                // SAFETY: both memory ranges are as large as the buffer. The other ranks do not use them until this
                // rank agrees that the launch is done.
                let copied = unsafe { libcuda::copy_peer(to, from, buffer.bytes as usize, stream.as_raw().cast()) };
                copied.map_err(|error| format!("copying between devices: {error:?}"))
            })
        };
        let mut before = |stream: &GpuStream, _: &[DeviceMemory]| copy(stream, input, inputs, true);
        let mut after = |_, stream: &GpuStream, _: &[DeviceMemory]| copy(stream, output, outputs, false);
        // SAFETY: the addresses belong to the first rank's buffers and to the copies. Implementations of `Problem`
        // guarantee that the kernels access nothing else.
        let launch_result =
            unsafe { member.device.launch_with((slice::from_ref(launch), 1), &[], &mut before, &mut after) };
        launch_result.map(drop)
    }

    fn free(self, member: &mut Member) {
        self.ids.into_iter().for_each(|id| member.device.free(id));
    }
}
