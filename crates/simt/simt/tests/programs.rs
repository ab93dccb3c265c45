//! Runs CUDA C++ programs that test thread behavior, compiled by nvcc. Every schedule must give a GPU's results.
//!
//! `programs/compile.sh` makes the PTX, and `programs/record.sh` records the results on a GPU.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use simt::{Arg, Config, Function, Im2col, Launch, Module, Schedule, Simulator, Swizzle, TensorElement, TensorMap};
use simt_check::{Check, Checks, Extra, Finding};

/// The number of words of the second argument.
const SCRATCH_WORDS: usize = 1 << 20;
/// Results with more words than this are recorded as a hash.
const WHOLE: usize = 64;

/// A kernel and its launch, as described by the comment above the kernel in the source.
pub(crate) struct Program {
    pub(crate) name: String,
    /// The kernel, or the reason why it cannot run.
    pub(crate) function: Result<Function, String>,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    cooperative: bool,
    out: usize,
    /// The comment's description of the tensor map, which is the third argument.
    map: Option<BTreeMap<String, String>>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// Returns the kernels of all sources.
pub(crate) fn programs() -> Vec<Program> {
    let mut sources: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "cu"))
        .collect();
    sources.sort();
    let mut programs = Vec::new();
    for path in sources {
        let source = std::fs::read_to_string(&path).unwrap();
        let ptx = std::fs::read_to_string(path.with_extension("ptx")).unwrap();
        let module = Module::from_ptx(ptx).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            if let Some(launch) = line.strip_prefix("// launch: ") {
                programs.push(program(&module, launch, lines.next().unwrap()));
            }
        }
    }
    programs
}

/// Returns the kernel whose definition starts on `line`, with its launch: `grid 4, block 8x4, shared 512, out 192`.
fn program(module: &Module, launch: &str, line: &str) -> Program {
    let signature = line.strip_prefix("extern \"C\" __global__ void ").unwrap();
    let name = signature.split_once('(').unwrap().0.to_owned();
    let facts: BTreeMap<&str, &str> = launch.split(", ").map(|fact| fact.split_once(' ').unwrap()).collect();
    let sides = |fact: &str| {
        let mut sides = [1; 3];
        for (side, number) in sides.iter_mut().zip(facts[fact].split('x')) {
            *side = number.parse().unwrap();
        }
        sides
    };
    Program {
        function: module.function(&name).map_err(|error| error.to_string()),
        name,
        grid: sides("grid"),
        block: sides("block"),
        shared: facts.get("shared").map_or(0, |bytes| bytes.parse().unwrap()),
        cooperative: facts.contains_key("cooperative"),
        out: facts["out"].parse().unwrap(),
        map: facts
            .contains_key("map")
            .then(|| facts.into_iter().map(|(fact, value)| (fact.to_owned(), value.to_owned())).collect()),
    }
}

/// Returns the map of a tensor, encoded as record.cpp does.
fn tensor_map(facts: &BTreeMap<String, String>, address: u64) -> Result<[u8; 128], String> {
    let numbers = |fact: &str| -> Vec<i64> {
        let text = facts.get(fact).map_or("", |text| text.rsplit(' ').next().unwrap());
        text.split('x').filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
    };
    let one = |fact| numbers(fact).first().copied().unwrap_or(0);
    let element = match facts["map"].split_once(' ').unwrap().0 {
        "u8" => TensorElement::U8,
        "u32" => TensorElement::U32,
        "f16" => TensorElement::F16,
        "f32" => TensorElement::F32,
        other => panic!("unknown tensor element type: {other}"),
    };
    let sizes: Vec<u64> = numbers("map").into_iter().map(i64::cast_unsigned).collect();
    let rank = sizes.len();
    let strides = (1..rank).map(|side| sizes[..side].iter().product::<u64>() * u64::from(element.bytes()));
    let steps = numbers("steps").into_iter().map(|step| step as u32);
    let map = TensorMap {
        element,
        address,
        strides: strides.collect(),
        tile: numbers("tile").into_iter().map(|side| side as u32).collect(),
        steps: steps.chain([1; 5]).take(rank).collect(),
        swizzle: [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::None, Swizzle::B128]
            [one("swizzle") as usize / 32],
        nan: one("nan") != 0,
        sizes,
    };
    if !facts.contains_key("pixels") {
        return map.encode();
    }
    let [lower, upper] = ["lower", "upper"].map(|fact| numbers(fact).into_iter().map(|corner| corner as i32).collect());
    map.encode_im2col(&Im2col { lower, upper, channels: one("channels") as u32, pixels: one("pixels") as u32 })
}

impl Program {
    /// Returns the results and the findings of `checks`.
    pub(crate) fn run(&self, simulator: &mut Simulator, checks: Checks) -> Result<(Vec<u32>, Vec<Finding>), String> {
        let function = self.function.as_ref().map_err(String::clone)?;
        let out = simulator.zeroed::<u32>(self.out).unwrap();
        let scratch = simulator.zeroed::<u32>(SCRATCH_WORDS).unwrap();
        let mut args = vec![out.into(), scratch.into()];
        if let Some(facts) = &self.map {
            args.push(Arg::Bytes(tensor_map(facts, scratch.address())?.to_vec()));
        }
        let launch = Launch::new(function, self.grid, self.block, &args);
        let launch = launch.with_cooperative(self.cooperative);
        let launch = launch.with_shared_bytes(self.shared);
        let (ran, findings) = match checks.is_empty() {
            true => (simulator.launch(&launch), Vec::new()),
            false => {
                let sanitized = checks.launch(simulator, &launch);
                (sanitized.result.map(drop), sanitized.findings)
            }
        };
        let result = simulator.read(out).unwrap();
        simulator.free(out).unwrap();
        simulator.free(scratch).unwrap();
        ran.map(|()| (result, findings)).map_err(|error| error.to_string())
    }
}

pub(crate) fn simulator(schedule: Schedule, threads: usize) -> Simulator {
    let config = Config { threads, schedule, time_limit: Some(Duration::from_secs(20)), ..Config::default() };
    Simulator::new(config).unwrap()
}

/// Returns results in the format of `results.txt`: all words of a short result, or a hash and the first words of a long
/// one.
fn summary(result: &[u32]) -> String {
    let mut text = format!("{}:", result.len());
    if result.len() > WHOLE {
        let bytes = result.iter().flat_map(|word| word.to_le_bytes());
        let hash =
            bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        write!(text, " {hash:016x} of").unwrap();
    }
    let shown = if result.len() > WHOLE { 8 } else { result.len() };
    for word in &result[..shown] {
        write!(text, " {word:x}").unwrap();
    }
    text
}

/// Returns the results of a GPU, by kernel.
fn expected() -> BTreeMap<String, String> {
    let recorded = include_str!("programs/results.txt").lines();
    let lines = recorded.filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once(' ').unwrap());
    pairs.map(|(name, result)| (name.to_owned(), result.to_owned())).collect()
}

/// Runs all programs, and fails with the names of those whose results differ from a GPU's. A program without a recorded
/// result must give the same result every time.
#[track_caller]
fn check(simulators: impl IntoIterator<Item = (Schedule, usize)>) {
    let programs = programs();
    let mut expected = expected();
    let mut wrong = Vec::new();
    for (schedule, threads) in simulators {
        let mut simulator = simulator(schedule, threads);
        for program in &programs {
            let name = &program.name;
            let ran = program.run(&mut simulator, Checks::NONE);
            match ran.map(|(result, _)| result) {
                Ok(result) if !expected.contains_key(name) => {
                    println!("{name}: not yet recorded: {}", summary(&result));
                    expected.insert(name.clone(), summary(&result));
                }
                Ok(result) if expected.get(name) == Some(&summary(&result)) => {}
                Ok(result) => {
                    wrong.push(format!("{name}, {schedule:?}: {}, not {:?}", summary(&result), expected.get(name)));
                }
                Err(fault) => wrong.push(format!("{name}, {schedule:?}: {fault}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Programs that race by the memory model (PTX ISA, "Data-Races"), although a GPU always gives the same results.
///
/// In a tile of two warps (cooperative groups of CUDA 13), all lanes store the same word. The lanes then read what
/// other lanes stored before `shfl.sync` and `vote.sync`, which wait for lanes but "do not guarantee any memory
/// ordering" (CUDA C++ Programming Guide, "Warp Shuffle Functions"). In the other programs, all blocks write the same
/// numbers to the same tensor, and copy these numbers while other blocks may be writing them.
const RACY: [&str; 4] = ["tensor_multicast", "tensor_ring", "tiles_of_two_warps", "wgmma_cluster"];

/// Programs that exchange words through volatile accesses instead of atomics, and that do more than spin on these
/// words.
const VOLATILE: [&str; 3] = ["lane_that_serves_the_others", "peterson_lock", "queue_lock"];

/// The programs are correct, so a sanitizer may report only their known races.
#[test]
fn sanitizers_report_only_known_races() {
    let mut simulator = simulator(Schedule::Fixed, 1);
    let mut wrong = Vec::new();
    for program in programs() {
        let name = &program.name;
        let findings = match program.run(&mut simulator, Checks::ALL) {
            Ok((_, findings)) => findings,
            Err(fault) => {
                wrong.push(format!("{name}: {fault}"));
                continue;
            }
        };
        let races = |finding: &Finding| match finding.check {
            Check::Race if VOLATILE.contains(&&**name) => finding.what.contains("volatile"),
            check => check == Check::Race && RACY.contains(&&**name),
        };
        let (races, others): (Vec<Finding>, Vec<Finding>) = findings.into_iter().partition(races);
        if VOLATILE.contains(&&**name) {
            let by_ptx = Checks::NONE.with_extra(Extra::PtxVolatile);
            let findings = program.run(&mut simulator, by_ptx).map_or_else(|_| Vec::new(), |(_, findings)| findings);
            wrong.extend(findings.iter().map(|finding| format!("{name}: {finding}")));
        }
        if races.is_empty() && [&RACY[..], &VOLATILE].concat().contains(&&**name) {
            wrong.push(format!("{name}: its race is not found"));
        }
        wrong.extend(others.iter().map(|finding| format!("{name}: {finding}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn with_one_host_thread() {
    check([(Schedule::Fixed, 1)]);
}

#[test]
fn with_two_host_threads() {
    check([(Schedule::Fixed, 2)]);
}

#[test]
fn one_instruction_at_a_time() {
    check([(Schedule::RoundRobin, 1)]);
}

#[test]
fn in_random_order() {
    check([1, 2, 3].map(|seed| (Schedule::Random(seed), 1)));
}

/// Programs whose blocks wait only for blocks that have begun need just one resident block, or two on two host threads.
#[test]
fn with_few_resident_blocks() {
    let names = [
        "block_tickets",
        "chain_of_tickets",
        "look_back_scan",
        "last_block_reduces",
        "blocks_wait_for_lower_blocks",
        "lock_across_blocks",
        "ticket_lock",
    ];
    let all = programs();
    let expected = expected();
    for (threads, resident_blocks) in [(1, 1), (2, 2), (2, 3)] {
        let config = Config { threads, resident_blocks, ..Config::default() };
        let mut simulator = Simulator::new(config).unwrap();
        for program in all.iter().filter(|program| names.contains(&&*program.name)) {
            let (result, _) = program.run(&mut simulator, Checks::NONE).unwrap();
            assert_eq!(summary(&result), expected[&program.name], "{}", program.name);
        }
        // Six blocks that all wait for each other.
        let all = all.iter().find(|program| program.name == "grid_barrier_counter");
        let fault = all.unwrap().run(&mut simulator, Checks::NONE).unwrap_err();
        assert!(fault.starts_with("deadlock: "), "{fault}");
    }
}
