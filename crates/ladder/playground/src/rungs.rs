//! Runs the rungs of the ladders.

use std::sync::OnceLock;

use engine::launch::{Arg, Launch};
use engine::options::{Kind, Opt, Options};
use engine::problem::{Buffer, buffer_bytes};
use engine::{DeviceProperties, Ladder, Rung, Session, dims, parse_block};
use host::{CATALOG, KERNELS, ladders};
use serde::Serialize;

use crate::device::{Last, Purpose, SimDevice};
use crate::pasted;
use crate::request::{Argument, RungRun};
use crate::run::{Checked, Problem, Run};

/// The size in bytes of the problem that the page initially offers for a ladder. Such a problem has a few blocks, which
/// run in a moment.
const FIRST_BYTES: f64 = 8192.0;

/// A ladder in the page's catalog.
#[derive(Serialize)]
pub(crate) struct LadderView {
    name: &'static str,
    summary: &'static str,
    options: Vec<Option>,
    block_rule: &'static str,
    rungs: Vec<RungView>,
}

/// An option of a ladder.
#[derive(Serialize)]
struct Option {
    name: &'static str,
    help: &'static str,
    /// The initial value.
    first: String,
    /// The words that the option accepts. Empty if it accepts a size or any text.
    words: &'static [&'static str],
}

#[derive(Serialize)]
struct RungView {
    name: &'static str,
    lesson: &'static str,
    source: &'static str,
    /// The block sizes that the rung supports for the initial problem, starting with the default.
    blocks: Vec<String>,
}

/// Returns all ladders with their initial problems.
pub(crate) fn catalog() -> &'static [LadderView] {
    static CATALOG: OnceLock<Vec<LadderView>> = OnceLock::new();
    CATALOG.get_or_init(|| ladders().iter().map(LadderView::of).collect())
}

impl LadderView {
    fn of(ladder: &'static Ladder) -> Self {
        let first = first_options(ladder);
        let problem = ladder.problem(&first).ok();
        let option = |option: &Opt| Option {
            name: option.name,
            help: option.help,
            first: first.get(option.name).map_or_else(|| option.default.to_owned(), ToString::to_string),
            words: match option.kind {
                Kind::Word(words) => words,
                _ => &[],
            },
        };
        let rung = |rung: &'static Rung| {
            let launch = problem
                .as_ref()
                .and_then(|problem| ladder.launch(rung, &**problem, None, DeviceProperties::default()).ok());
            let default = launch.map_or(rung.default_block, |launch| launch.block);
            let others = problem.as_ref().map_or_else(Vec::new, |problem| ladder.blocks_of(rung, &**problem));
            let others = others.into_iter().filter(|block| *block != default);
            let blocks = std::iter::once(default).chain(others).map(dims).collect();
            RungView { name: rung.name, lesson: rung.lesson, source: rung.source, blocks }
        };
        Self {
            name: ladder.name,
            summary: ladder.summary,
            options: ladder.options.iter().map(option).collect(),
            block_rule: ladder.block_rule,
            rungs: ladder.rungs.iter().map(rung).collect(),
        }
    }
}

/// Returns the ladder's default options, with sizes that a browser runs in a moment.
fn first_options(ladder: &'static Ladder) -> Options {
    let defaults = Options::default();
    let small = ladder.problem(&defaults).ok().and_then(|problem| {
        let share = FIRST_BYTES / buffer_bytes(&*problem, DeviceProperties::default()).max(1) as f64;
        problem.smaller(share.min(1.0))
    });
    small.unwrap_or(defaults)
}

/// A rung, its problem and its launch.
struct SelectedRung {
    rung: &'static Rung,
    problem: Box<dyn engine::Problem>,
    launch: Launch,
}

fn select(request: &RungRun) -> Result<SelectedRung, Problem> {
    let ladder = ladders().iter().find(|ladder| ladder.rungs.iter().any(|rung| rung.name == request.rung));
    let ladder = ladder.ok_or_else(|| {
        let known: Vec<&str> = CATALOG.names().collect();
        Problem::new(format!(
            "no rung is named `{}`; {}",
            request.rung,
            engine::names::did_you_mean(&request.rung, "rungs", &known)
        ))
    })?;
    let rung = ladder.rung(&request.rung)?;
    let mut options = first_options(ladder);
    for (name, value) in &request.options {
        let known = ladder.options.iter().find(|option| option.name == name);
        let known = known.ok_or_else(|| {
            let all: Vec<&str> = ladder.options.iter().map(|option| option.name).collect();
            Problem::new(format!("the ladder {} has no option `{name}`; it has {}", ladder.name, all.join(", ")))
        })?;
        options = options.with(known.name, value);
    }
    let problem = ladder.problem(&options)?;
    ladder.select(std::slice::from_ref(&request.rung), &*problem)?;
    let block = match request.block.as_str() {
        "" => None,
        text => Some(parse_block(text)?),
    };
    let launch = ladder.launch(rung, &*problem, block, DeviceProperties::default())?;
    let blocks = launch.blocks().max(1);
    if request.record >= blocks {
        let text = format!("there is no block {} to record: {launch} has blocks 0 to {}", request.record, blocks - 1);
        return Err(Problem::new(text));
    }
    Ok(SelectedRung { rung, problem, launch })
}

/// Runs a rung and records one of its blocks.
pub(crate) fn run(request: &RungRun) -> Result<Run, Problem> {
    let SelectedRung { rung, problem, launch } = select(request)?;
    let mut device = SimDevice::new(&KERNELS, Purpose::Record(request.record))?;
    let checked = Session::new(&mut device, &*problem, false)?.check(rung, &launch);
    let Some(Last { function, ptx, recorded: Some(recorded), mut buffers, .. }) = device.last else {
        return Err(checked.err().map_or_else(|| Problem::new("the kernel was not launched"), Problem::from));
    };
    let described = problem.buffers(DeviceProperties::default());
    let declared = || function.program().params.iter().filter_map(|parameter| parameter.declared.as_ref());
    for (shown, buffer) in buffers.iter_mut().zip(&described) {
        shown.kind = declared().find(|declared| declared.name == buffer.name).and_then(pasted::element);
        shown.name = format!("{}, {:?}", shown.name, buffer.role).to_lowercase();
        shown.bytes = buffer.bytes;
    }
    let (counters, error) = match recorded.counters {
        Ok(counters) => (Some(counters), None),
        Err(error) => (None, Some(error)),
    };
    Ok(Run {
        title: problem.labels().title,
        launch: launch.to_string(),
        grid: launch.grid,
        block: launch.block,
        dynamic_shared: launch.shared_bytes,
        arguments: launch.args.iter().map(|arg| argument(arg, &described)).collect(),
        function,
        ptx,
        counters,
        verdict: match checked {
            Ok(engine::problem::Verdict::Right) => Some(Ok(())),
            Ok(engine::problem::Verdict::Wrong(why)) => Some(Err(why)),
            Err(_) => None,
        },
        error,
        trace: recorded.trace,
        buffers,
        printed: recorded.printed,
    })
}

/// Returns a similar argument for the editor, in which the user chooses the contents of a buffer.
fn argument(arg: &Arg, buffers: &[Buffer]) -> Argument {
    let number = |kind: &str, value: String| Argument { kind: kind.to_owned(), buffer: None, value };
    match *arg {
        Arg::Buffer(index) => {
            let buffer = buffers.get(index);
            let fill = match buffer.map(|buffer| buffer.role) {
                Some(role) if role.is_input() => "index",
                Some(role) if role.is_poisoned() => "unset",
                _ => "zeros",
            };
            let elements = buffer.map_or(0, |buffer| buffer.bytes.div_ceil(4));
            Argument { kind: "u32".to_owned(), buffer: Some(elements), value: fill.to_owned() }
        }
        Arg::U32(value) => number("u32", value.to_string()),
        Arg::I32(value) => number("s32", value.to_string()),
        Arg::U64(value) => number("u64", value.to_string()),
        Arg::F32(value) => number("f32", value.to_string()),
        _ => number("u64", "0".to_owned()),
    }
}

/// Runs a rung with all sanitizers.
pub(crate) fn check(request: &RungRun) -> Result<Checked, Problem> {
    let SelectedRung { rung, problem, launch } = select(request)?;
    let mut device = SimDevice::new(&KERNELS, Purpose::Check)?;
    let result = Session::new(&mut device, &*problem, false)?.check(rung, &launch);
    match device.last.and_then(|last| last.checked) {
        Some(checked) => Ok(checked),
        None => Err(result.err().map_or_else(|| Problem::new("the kernel was not launched"), Problem::from)),
    }
}
