//! A fake device for tests. It computes the results of the reduction ladder on the CPU and writes them to real buffers,
//! or it fails as a test requests. Its clock shows made-up times.

pub mod program;
pub mod replay;
pub mod toy;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use host::device::{BufferId, Device, DeviceInfo, Enqueue, LaunchResult, Sim};
use host::launch::{Arg, Code, Launch};
use host::problem::Verdict;
use host::run::{self, Plan, Report, RungResult};
use host::{DeviceProperties, Error, KERNELS, Ladder, Needs, Options, Rung, Session, ladder};

/// Plans every rung of a ladder, timed in one launch if the device has a clock.
pub fn once(name: &str, options: &Options) -> Plan {
    Plan::new(ladder(name).unwrap(), &[], options, None, Some(1), DeviceProperties::default()).unwrap()
}

/// Checks that every rung that can compute the problem is right with each block for which `selects` is true. Returns
/// the launched entries.
pub fn all_right(
    sim: &mut Sim,
    ladder: &'static Ladder,
    options: &Options,
    selects: impl Fn(&Rung, [u32; 3]) -> bool,
) -> BTreeSet<String> {
    let (problem, device) = (ladder.problem(options).unwrap(), sim.info().properties());
    let mut session = Session::new(sim, &*problem, true).unwrap();
    let mut entries = BTreeSet::new();
    for rung in ladder.select(&[], &*problem).unwrap() {
        let mut blocks = ladder.blocks_of(rung, &*problem);
        blocks.retain(|block| selects(rung, *block));
        for block in blocks {
            let launch = match ladder.launch(rung, &*problem, Some(block), device) {
                Err(Error::Refused { .. }) => continue,
                launch => launch.unwrap(),
            };
            let verdict = session.check(rung, &launch).unwrap();
            assert_eq!(verdict, Verdict::Right, "{launch} at {}", problem.labels().size);
            entries.insert(launch.entry);
        }
    }
    assert!(!entries.is_empty(), "nothing was launched");
    entries
}

/// Returns a counter of the rung with this name.
pub fn counter_of(outcomes: &[RungResult], rung: &str, counter: &str) -> f64 {
    let mut named = outcomes.iter().filter(|outcome| outcome.rung.name == rung);
    named.next().unwrap().counter(counter).unwrap()
}

/// Counts rungs on the simulator and checks that all are right.
pub fn counted(plan: Plan) -> Report {
    counted_on(&mut Sim::open(&KERNELS, 0).unwrap(), plan)
}

/// Counts like [`counted`], on any device.
pub fn counted_on(device: &mut dyn Device, plan: Plan) -> Report {
    let report = run::run(device, plan, |_| {}).unwrap();
    assert!(report.all_right());
    report
}

/// A fault of the device, with the name of the rung that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The last block's sum is one too large.
    WrongSum(&'static str),
    /// The launch writes nothing.
    NothingWritten(&'static str),
    /// The launch writes one word too many.
    OneTooMany(&'static str),
    /// The launch leaves a word of the workspace that is not zero.
    DirtyWorkspace(&'static str),
    /// The launch fails.
    Fails(&'static str),
    /// The device is too old for the rung.
    TooOld(&'static str),
}

/// A fake device.
pub struct Fake {
    info: DeviceInfo,
    buffers: BTreeMap<BufferId, Vec<u8>>,
    next: u32,
    free: u64,
    fault: Option<Fault>,
    clock: bool,
    log: Rc<RefCell<Vec<String>>>,
}

impl Fake {
    pub fn new(fault: Option<Fault>) -> Self {
        Self {
            info: DeviceInfo {
                kind: "gpu",
                name: "Test GPU".into(),
                driver: Some("1.2.3 (CUDA 12.0)".into()),
                compute_capability: Some((7, 5)),
                multiprocessors: Some(40),
                clock_mhz: Some(1590.0),
                l2_bytes: Some(16 << 10),
                memory_bytes: Some(16 << 30),
                peak_bytes_per_s: Some(320e9),
            },
            buffers: BTreeMap::new(),
            next: 0,
            free: 1 << 30,
            fault,
            clock: true,
            log: Rc::default(),
        }
    }

    /// Returns the device for a text such as `wrong:reduce_gmem`, which names a fault and a rung. `right` has no fault,
    /// and `hopper` has no fault and is newer.
    pub fn named(text: &str) -> Self {
        let (what, rung) = text.split_once(':').unwrap_or((text, ""));
        let rung = String::from(rung).leak();
        let fault = match what {
            "hopper" => return Self::new(None).with_capability((9, 0)),
            "right" => None,
            "wrong" => Some(Fault::WrongSum(rung)),
            "silent" => Some(Fault::NothingWritten(rung)),
            "overrun" => Some(Fault::OneTooMany(rung)),
            "failing" => Some(Fault::Fails(rung)),
            "too_old" => Some(Fault::TooOld(rung)),
            _ => panic!("no test device is named {text}"),
        };
        Self::new(fault)
    }

    pub fn with_free(self, free: u64) -> Self {
        Self { free, ..self }
    }

    pub fn with_capability(mut self, capability: (u32, u32)) -> Self {
        self.info.compute_capability = Some(capability);
        self
    }

    pub fn without_clock(self) -> Self {
        Self { clock: false, ..self }
    }

    /// Returns the log of calls to the device. It remains available after the device is boxed.
    pub fn log(&self) -> Rc<RefCell<Vec<String>>> {
        Rc::clone(&self.log)
    }

    /// Returns the number of allocated bytes.
    pub fn allocated(&self) -> usize {
        self.buffers.values().map(Vec::len).sum()
    }

    fn note(&self, what: impl Into<String>) {
        self.log.borrow_mut().push(what.into());
    }
}

fn rung_of(entry: &str) -> (usize, &'static Rung) {
    let ladders = [ladder("reduce").unwrap().rungs, toy::TOY.rungs];
    let mut rungs = ladders.into_iter().flat_map(|rungs| rungs.iter().enumerate());
    rungs.find(|(_, rung)| rung.entry_names().iter().any(|name| name == entry)).unwrap()
}

fn words(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|word| i32::from_ne_bytes(word.try_into().unwrap())).collect()
}

fn put(bytes: &mut [u8], word: usize, value: i32) {
    bytes[word * 4..word * 4 + 4].copy_from_slice(&value.to_ne_bytes());
}

const KERNELS_ONLY: &str = "a gpu runs the kernels of this program only";

impl Device for Fake {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(self.free)
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error> {
        let id = BufferId(self.next);
        self.next += 1;
        self.buffers.insert(id, vec![0xee; bytes]);
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) {
        self.note("free");
        self.buffers.remove(&buffer).expect("a buffer is freed once");
    }

    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error> {
        self.note("upload");
        self.buffers.get_mut(&buffer).unwrap().copy_from_slice(bytes);
        Ok(())
    }

    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&self.buffers[&buffer][..bytes.len()]);
        Ok(())
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        self.note("copy");
        let bytes = self.buffers[&from].clone();
        self.buffers.insert(to, bytes);
        Ok(())
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        self.buffers.get_mut(&buffer).unwrap().fill(byte);
        Ok(())
    }

    fn hold(&mut self, nanoseconds: u64) -> Result<(), Error> {
        self.note(format!("hold {nanoseconds}"));
        Ok(())
    }

    fn read(&mut self, _: BufferId) -> Result<LaunchResult, Error> {
        self.note("read");
        Ok(LaunchResult::timed(1e3))
    }

    fn load(&mut self, _: String) -> Result<Code, Error> {
        Err(Error::Device { doing: "loading code", reason: KERNELS_ONLY.to_owned() })
    }

    fn call(&mut self, what: &str, _: &[BufferId], _: Enqueue<'_>) -> Result<LaunchResult, Error> {
        Err(Error::Call { what: what.to_owned(), reason: KERNELS_ONLY.to_owned() })
    }

    fn check_supported(&self, launch: &Launch) -> Option<Error> {
        let Some(Fault::TooOld(name)) = self.fault else {
            return None;
        };
        let (_, rung) = rung_of(&launch.entry);
        let needs = Needs { entry: launch.entry.clone(), capability: (9, 0), only: false, has: (7, 5) };
        (rung.name == name).then_some(Error::NeedsNewer { needs, instead: None })
    }

    unsafe fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        self.note(launch.to_string());
        let (index, rung) = rung_of(&launch.entry);
        let [Arg::Buffer(input), Arg::Buffer(output), .., Arg::U32(n)] = launch.args[..] else {
            panic!("{:?} are not the arguments of a reduction", launch.args)
        };
        if self.fault == Some(Fault::Fails(rung.name)) {
            let reason = "IllegalAddress".to_owned();
            return Err(Error::Launch { launch: Box::new(launch.clone()), reason });
        }
        let data = words(&self.buffers[&bound[input]]);
        assert_eq!(data.len(), n as usize);
        let out = self.buffers.get_mut(&bound[output]).unwrap();
        let (blocks, elements) = if rung.single_pass {
            (1, data.len().max(1))
        } else {
            let elements = launch.threads() * u64::from(rung.items_per_thread);
            (launch.blocks() as usize, elements as usize)
        };
        if self.fault != Some(Fault::NothingWritten(rung.name)) {
            (0..blocks).for_each(|block| put(out, block, 0));
            for (block, share) in data.chunks(elements).enumerate() {
                put(out, block, share.iter().fold(0, |sum, &value| sum.wrapping_add(value)));
            }
        }
        if self.fault == Some(Fault::WrongSum(rung.name)) {
            let last = words(out)[blocks - 1];
            put(out, blocks - 1, last.wrapping_add(1));
        }
        if self.fault == Some(Fault::OneTooMany(rung.name)) {
            put(out, blocks, 0);
        }
        if self.fault == Some(Fault::DirtyWorkspace(rung.name))
            && let Arg::Buffer(workspace) = launch.args[2]
        {
            put(self.buffers.get_mut(&bound[workspace]).unwrap(), 48, 1);
        }
        if rung.in_place {
            self.buffers.get_mut(&bound[input]).unwrap().fill(0x11);
        }
        // Each rung is slightly faster than the preceding rung.
        let time = 1_000_000.0 / (1.0 + index as f64 / 4.0);
        Ok(if self.clock { LaunchResult::timed(time) } else { LaunchResult::default() })
    }
}
