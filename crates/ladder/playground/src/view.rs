//! The state of a block after a step, from the perspective of one warp.

use serde::{Serialize, Serializer};
use simt::code::{NEVER, Reg};
use simt::counters::{Counters, Value};
use simt::observe::{AccessKind, FramePlace, Observer as _, Site, Space, Waits, WarpId};

use crate::listing::named;
use crate::run::{Problem, Run};
use crate::trace::{Access, Trace, WarpActivity};

/// The state after a step.
#[derive(Serialize)]
pub(crate) struct View {
    step: u32,
    /// The warp that executed the step.
    current_warp: u32,
    warp: u32,
    /// The last step of the shown warp, by its number among all steps.
    last_step: Option<u32>,
    /// The index of that step among the steps of the warp.
    step_index: usize,
    /// The number of steps of the warp.
    step_count: usize,
    /// The function and program counter of the warp's last executed instruction.
    site: Option<(u32, u32)>,
    active: u32,
    lanes: u32,
    exited: u32,
    threads: u32,
    stack: Vec<Entry>,
    /// The values, indexed by the register's number in the listing.
    registers: Vec<Register>,
    /// The numbers of the registers that the instruction reads.
    reads: Vec<usize>,
    /// The numbers of the registers that the instruction writes.
    writes: Vec<usize>,
    requests: Vec<Request>,
    warps: Vec<Warp>,
}

/// An entry of the reconvergence stack.
#[derive(Serialize)]
struct Entry {
    lanes: u32,
    site: (u32, u32),
    /// The program counter where the lanes reconverge.
    until: Option<u32>,
    waits: String,
}

/// The values of a register.
struct Register {
    reg: Reg,
    values: [u64; 32],
    known: u32,
}

impl Serialize for Register {
    /// Serializes `null` if no lane has a value, one value if all lanes have the same value, and otherwise one value
    /// for each lane. 64-bit values are serialized as text, because JavaScript numbers only have 53 bits of precision.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum One {
            None,
            Narrow(u32),
            Wide(String),
        }
        let one = |lane: usize| match (self.known >> lane & 1, self.reg) {
            (0, _) => One::None,
            (_, Reg::R64(_)) => One::Wide(format!("{:#x}", self.values[lane])),
            _ => One::Narrow(self.values[lane] as u32),
        };
        if self.known == 0 {
            return serializer.serialize_none();
        }
        let first = self.known.trailing_zeros() as usize;
        match self.known == u32::MAX && self.values.iter().all(|value| *value == self.values[first]) {
            true => one(first).serialize(serializer),
            false => serializer.collect_seq((0..32).map(one)),
        }
    }
}

/// A request to memory.
#[derive(Serialize)]
struct Request {
    space: &'static str,
    kind: &'static str,
    bytes: u32,
    mask: u32,
    /// The addresses of the lanes. The addresses of inactive lanes are meaningless.
    addresses: [u64; 32],
    /// The number of sectors of global or local memory, as the counters report it.
    sectors: Option<f64>,
    /// The wavefronts of shared memory. Each wavefront lists the words that it moves, each with a mask of the lanes
    /// that access the word.
    wavefronts: Vec<Vec<(u64, u32)>>,
}

/// Another warp of the block.
#[derive(Serialize)]
struct Warp {
    site: Option<(u32, u32)>,
    active: u32,
    exited: u32,
    activity: String,
}

/// Returns the state after a step.
///
/// # Errors
/// Returns a [`Problem`] when nothing was recorded or the warp does not exist.
pub(crate) fn view(run: &Run, step: u32, warp: u32) -> Result<View, Problem> {
    let trace = run.trace.as_ref().filter(|trace| !trace.steps.is_empty());
    let trace = trace.ok_or_else(|| Problem::new("no step was recorded, because the block did not run"))?;
    let step = step.min(trace.steps.len() as u32 - 1);
    let history = trace.warps.get(warp as usize).ok_or_else(|| {
        Problem::new(format!("there is no warp {warp}: the block has warps 0 to {}", trace.warps.len() - 1))
    })?;
    let index = trace.step_index(warp, step);
    let last = index.map(|index| history.steps[index]);
    let executed = last.map(|last| trace.steps[last as usize]);
    let site = executed.map_or(Site::default(), |executed| executed.site);
    let frame = executed.map_or_else(FramePlace::default, |executed| trace.frames[executed.frame as usize]);
    let names: Vec<(String, Reg)> = named(&run.function.program().functions[site.function as usize]).collect();
    let registers = names.iter().map(|(_, reg)| {
        let (values, known) = match last.filter(|_| history.registers.is_written(&frame, *reg)) {
            Some(_) => history.registers.read(&frame, *reg, step),
            None => ([0; 32], 0),
        };
        Register { reg: *reg, values, known: known & trace.threads_of(warp) }
    });
    let registers = registers.collect();
    let numbers = |all: &[Reg]| -> Vec<usize> {
        let place = |reg: &Reg| names.iter().position(|(_, named)| named == reg);
        all.iter().filter_map(place).collect()
    };
    let uses = executed.and_then(|executed| trace.uses(executed.site));
    let requests = last.map_or(&[][..], |last| trace.accesses_of(last));
    Ok(View {
        step,
        current_warp: trace.steps[step as usize].warp,
        warp,
        last_step: last,
        step_index: index.unwrap_or(0),
        step_count: history.steps.len(),
        site: executed.map(|executed| pair(executed.site)),
        active: executed.map_or(0, |executed| executed.active),
        lanes: executed.map_or(0, |executed| executed.lanes),
        exited: trace.exited(warp, step),
        threads: trace.threads_of(warp),
        stack: executed.map_or_else(Vec::new, |executed| stack(trace, executed.stack, executed.site)),
        registers,
        reads: uses.map_or_else(Vec::new, |uses| numbers(&uses.reads)),
        writes: uses.map_or_else(Vec::new, |uses| numbers(&uses.writes)),
        requests: requests.iter().map(|access| Request::of(run, site, access)).collect(),
        warps: (0..trace.warps.len() as u32).map(|warp| Warp::of(trace, warp, step)).collect(),
    })
}

fn pair(site: Site) -> (u32, u32) {
    (site.function, site.pc)
}

fn stack(trace: &Trace, number: u32, at: Site) -> Vec<Entry> {
    let entries = &trace.stacks[number as usize];
    let last = entries.len().saturating_sub(1);
    let entry = |(index, path): (usize, &simt::observe::Path)| Entry {
        lanes: path.lanes,
        site: pair(if index == last { at } else { path.site }),
        until: Some(path.reconverges_at).filter(|pc| *pc != NEVER),
        waits: match path.waits {
            Waits::Nothing => String::new(),
            Waits::Lanes => "for other lanes of the warp".to_owned(),
            Waits::Barrier(id) => format!("at barrier {id}"),
            Waits::Warp(id) => format!("at barrier {id}, for the rest of the warp"),
        },
    };
    entries.iter().enumerate().map(entry).collect()
}

impl Request {
    fn of(run: &Run, site: Site, access: &Access) -> Self {
        let mut counters = Counters::new(&run.function);
        counters.access(site, WarpId::default(), &access.as_observed());
        let (kind, operation) = match access.kind {
            AccessKind::Load => ("load", "ld"),
            AccessKind::Store => ("store", "st"),
            AccessKind::Atomic => ("atomic", "atom"),
            AccessKind::Reduction => ("reduction", "red"),
            AccessKind::AsyncCopy => ("asynchronous copy", "ldgsts"),
        };
        let space = access.space.name();
        let metric = format!("l1tex__t_sectors_pipe_lsu_mem_{space}_op_{operation}.sum");
        let metric = counters.get(&metric).and_then(Value::number);
        Self {
            space,
            kind,
            bytes: access.bytes,
            mask: access.mask,
            addresses: access.addresses,
            sectors: metric.filter(|sectors| *sectors > 0.0),
            wavefronts: match access.space {
                Space::Shared => {
                    let all = counters.wavefronts(site, &access.as_observed()).into_iter();
                    all.map(|words| words.into_iter().map(|access| (access.word, access.lanes)).collect()).collect()
                }
                _ => Vec::new(),
            },
        }
    }
}

impl Warp {
    fn of(trace: &Trace, warp: u32, step: u32) -> Self {
        let index = trace.step_index(warp, step);
        let last = index.map(|index| trace.steps[trace.warps[warp as usize].steps[index] as usize]);
        Self {
            site: last.map(|step| pair(step.site)),
            active: last.map_or(0, |step| step.active),
            exited: trace.exited(warp, step),
            activity: match trace.activity(warp, step) {
                WarpActivity::Nothing => "has not started".to_owned(),
                WarpActivity::Runs => "runs".to_owned(),
                WarpActivity::Waits(id) => format!("waits at barrier {id}"),
                WarpActivity::Ended => "has ended".to_owned(),
            },
        }
    }
}
