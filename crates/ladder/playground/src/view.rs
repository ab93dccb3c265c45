//! The state of a block after a step, as one of its warps has it.

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
    turn: u32,
    warp: u32,
    /// The warp's own last step, its number among all steps and among the warp's own, and how many the warp has.
    own: Option<u32>,
    own_number: usize,
    own_count: usize,
    /// The function and program counter of the instruction, which the warp has executed last.
    site: Option<(u32, u32)>,
    active: u32,
    lanes: u32,
    exited: u32,
    threads: u32,
    stack: Vec<Entry>,
    /// By the number of the register in the listing.
    registers: Vec<Register>,
    /// The numbers of the registers that the instruction reads, and that it writes.
    reads: Vec<usize>,
    writes: Vec<usize>,
    requests: Vec<Request>,
    warps: Vec<Warp>,
}

/// An entry of the reconvergence stack.
#[derive(Serialize)]
struct Entry {
    lanes: u32,
    site: (u32, u32),
    /// The program counter where it reconverges.
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
    /// `null` where no lane has one, one value where all have the same, else one for each lane. Values of 64 bits are
    /// texts, for the page's numbers have 53.
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
    /// The lanes' addresses; those of lanes that take no part mean nothing.
    addresses: [u64; 32],
    /// Sectors of global or local memory, as the counters have them.
    sectors: Option<f64>,
    /// The wavefronts of shared memory, each with the words that it moves and the lanes that each is for.
    wavefronts: Vec<Vec<(u64, u32)>>,
}

/// Another warp of the block.
#[derive(Serialize)]
struct Warp {
    site: Option<(u32, u32)>,
    active: u32,
    exited: u32,
    doing: String,
}

/// The state after a step.
///
/// # Errors
/// When nothing was recorded, or there is no such warp.
pub(crate) fn view(run: &Run, step: u32, warp: u32) -> Result<View, Problem> {
    let trace = run.trace.as_ref().filter(|trace| !trace.steps.is_empty());
    let trace = trace.ok_or_else(|| Problem::new("no step was recorded: the block was not run"))?;
    let step = step.min(trace.steps.len() as u32 - 1);
    let own = trace.warps.get(warp as usize).ok_or_else(|| {
        Problem::new(format!("there is no warp {warp}; the block has warps 0 to {}", trace.warps.len() - 1))
    })?;
    let own_number = trace.own_step(warp, step);
    let last = own_number.map(|number| own.steps[number]);
    let executed = last.map(|last| trace.steps[last as usize]);
    let site = executed.map_or(Site::default(), |own| own.site);
    let frame = executed.map_or_else(FramePlace::default, |own| trace.frames[own.frame as usize]);
    let names: Vec<(String, Reg)> = named(&run.function.program().functions[site.function as usize]).collect();
    let registers = names.iter().map(|(_, reg)| {
        let (values, known) = match last.filter(|_| own.registers.is_written(&frame, *reg)) {
            Some(_) => own.registers.read(&frame, *reg, step),
            None => ([0; 32], 0),
        };
        Register { reg: *reg, values, known: known & trace.threads_of(warp) }
    });
    let registers = registers.collect();
    let numbers = |all: &[Reg]| -> Vec<usize> {
        let place = |reg: &Reg| names.iter().position(|(_, own)| own == reg);
        all.iter().filter_map(place).collect()
    };
    let uses = executed.and_then(|own| trace.uses(own.site));
    let requests = last.map_or(&[][..], |last| trace.accesses_of(last));
    Ok(View {
        step,
        turn: trace.steps[step as usize].warp,
        warp,
        own: last,
        own_number: own_number.unwrap_or(0),
        own_count: own.steps.len(),
        site: executed.map(|own| pair(own.site)),
        active: executed.map_or(0, |own| own.active),
        lanes: executed.map_or(0, |own| own.lanes),
        exited: trace.exited(warp, step),
        threads: trace.threads_of(warp),
        stack: executed.map_or_else(Vec::new, |own| stack(trace, own.stack, own.site)),
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
    let entry = |(index, own): (usize, &simt::observe::Path)| Entry {
        lanes: own.lanes,
        site: pair(if index == last { at } else { own.site }),
        until: Some(own.reconverges_at).filter(|pc| *pc != NEVER),
        waits: match own.waits {
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
        counters.access(site, WarpId::default(), &access.told());
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
                    let all = counters.wavefronts(site, &access.told()).into_iter();
                    all.map(|words| words.into_iter().map(|own| (own.word, own.lanes)).collect()).collect()
                }
                _ => Vec::new(),
            },
        }
    }
}

impl Warp {
    fn of(trace: &Trace, warp: u32, step: u32) -> Self {
        let own = trace.own_step(warp, step).map(|number| trace.warps[warp as usize].steps[number]);
        let last = own.map(|own| trace.steps[own as usize]);
        Self {
            site: last.map(|own| pair(own.site)),
            active: last.map_or(0, |own| own.active),
            exited: trace.exited(warp, step),
            doing: match trace.doing(warp, step) {
                WarpActivity::Nothing => "has not begun".to_owned(),
                WarpActivity::Runs => "runs".to_owned(),
                WarpActivity::Waits(id) => format!("waits at barrier {id}"),
                WarpActivity::Ended => "has ended".to_owned(),
            },
        }
    }
}
