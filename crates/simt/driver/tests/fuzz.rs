//! The driver must answer any sequence of calls with any handles, sizes and device addresses, without a crash, a panic
//! or a hang.
//!
//! By default the test runs a few seeds. It runs until `FUZZ_SECONDS` have passed if that variable is set, and starts
//! with the seed `FUZZ_SEED`.

use std::ffi::c_void;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::support::{NO_HANDLE, OK, cuInit, in_child_process};

const LAUNCH: &str = "cuLaunchKernel";

/// The name of each function and the kinds of its arguments.
const FUNCTIONS: &str = include_str!("fuzz.txt");

/// The number of calls per seed. An error in a kernel makes all contexts unusable, so later calls find nothing new.
const CALLS: usize = 4000;
/// The error code that the driver returns after it panics.
const UNKNOWN: u32 = 999;
/// The number of words of host memory for structures and results.
const WORDS: usize = 1 << 16;
/// Two limits per seed: the processor time, a multiple of the usual time, and the time without any progress.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(120), Duration::from_secs(300));
/// The maximum number of threads of a launch, except for launches that the driver refuses.
const THREADS: u64 = 1 << 16;

const PTX: &[&str] = &[
    // A kernel that writes only to variables of its module, and an empty kernel.
    ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 8 .b8 g[64];\n.const .u32 c = 7;\n\
     .visible .entry k(.param .u64 to, .param .u32 count)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n.reg .pred %p<2>;\n\
     .shared .align 4 .b8 s[64];\nmov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, 15;\nshl.b32 %r1, %r1, 2;\nst.shared.u32 [s], %r1;\n\
     bar.sync 0;\nmov.u64 %d1, g;\ncvt.u64.u32 %d2, %r1;\nadd.u64 %d1, %d1, %d2;\nred.global.add.u32 [%d1], 1;\nret;\n}\n\
     .visible .entry nothing()\n{\nret;\n}\n\0",
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nadd.s32 %r1, 1;\n}\n\0",
    ".version 8.0\n\0",
    "\0",
];
const NAMES: &[&str] = &["k\0", "g\0", "c\0", "nothing\0", "nowhere\0", "\0", "cuMemAlloc\0"];

type Any = u64;
type Call = unsafe extern "C" fn(Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any) -> u32;

extern "C" fn callback(_: *mut c_void) {}

#[test]
fn random_calls_never_crash() {
    const TEST: &str = "fuzz::random_calls_never_crash";
    let began = Instant::now();
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let first: u64 = std::env::var("FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut seed = first;
    while seed < first + 3 || seconds.is_some_and(|seconds| began.elapsed() < seconds) {
        let text = seed.to_string();
        if in_child_process(TEST, &[("FUZZ_SEED", &text), (driver::LOG, "/dev/null")]) {
            return calls(seed);
        }
        seed += 1;
    }
    println!("seeds {first} to {}", seed - 1);
}

/// Makes the calls of a seed.
fn calls(seed: u64) {
    thread::spawn(move || watch(seed));
    let functions: Vec<(&str, &str, Call)> =
        FUNCTIONS.lines().filter(|line| !line.starts_with('#')).map(function).collect();
    let launch = function("cuLaunchKernel -").2;
    assert_eq!(cuInit(0), OK);
    let mut state = State {
        random: Rng::with_seed(seed),
        handles: vec![0, NO_HANDLE as u64],
        addresses: vec![0],
        memory: vec![0; WORDS].into_boxed_slice(),
    };
    // The objects that most calls need.
    for name in
        ["cuCtxCreate_v2 O00", "cuStreamCreate O0", "cuModuleLoadData Ox", "cuMemAlloc_v2 An", "cuGraphCreate O0"]
    {
        state.call(function(name));
    }
    for number in 0..CALLS {
        let chosen = *state.random.choice(&functions).unwrap();
        if chosen.0.starts_with("cuCtx") && state.random.usize(..4) > 0 {
            // If these calls were frequent, most contexts would be empty.
            continue;
        }
        let code = match number % 16 {
            0 => state.launch(launch),
            _ => state.call(chosen),
        };
        assert_ne!(code, UNKNOWN, "seed {seed}: call {number}, {}, panicked", current_calls());
    }
}

/// The last launch and the current call, which may wait for that launch.
static CURRENT_CALLS: Mutex<[String; 2]> = Mutex::new([const { String::new() }; 2]);

fn current_calls() -> String {
    let [launch, call] = &*CURRENT_CALLS.lock().unwrap();
    format!("{call}, after {launch},")
}

/// Ends the process when a call uses too much processor time or waits forever. Time during which other programs delay
/// this process does not count.
fn watch(seed: u64) {
    let (most, idle) = PATIENCE;
    let step = Duration::from_secs(5);
    let (mut before, mut waited) = (Duration::ZERO, Duration::ZERO);
    loop {
        thread::sleep(step);
        let Some(used) = processor_time() else { return };
        waited = if used == before { waited + step } else { Duration::ZERO };
        before = used;
        if used > most || waited > idle {
            eprintln!("seed {seed} hangs: {} has used {used:?} of processor time", current_calls());
            std::process::abort();
        }
    }
}

/// Returns the processor time that this process has used, if the system reports it (`man 5 proc_pid_stat`).
fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program name, in parentheses, may contain blanks. The user and system times follow it, in hundredths of a
    // second.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut field = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (field()? + field()?)))
}

/// Returns the name, argument kinds and address of the function on a line of `fuzz.txt`.
fn function(line: &'static str) -> (&'static str, &'static str, Call) {
    let (name, kinds) = line.split_once(' ').unwrap();
    let found = driver::function(name).unwrap_or_else(|| panic!("the driver has no function {name}"));
    // SAFETY: the driver's functions take integers and pointers, each in a separate register or stack word, and ignore
    // further arguments.
    (name, kinds, unsafe { std::mem::transmute::<*const (), Call>(found.0) })
}

struct State {
    random: Rng,
    handles: Vec<u64>,
    addresses: Vec<u64>,
    memory: Box<[u64]>,
}

impl State {
    /// Calls a function with arguments of its kinds, and stores the results.
    fn call(&mut self, (name, kinds, call): (&str, &str, Call)) -> u32 {
        let mut args = [0; 16];
        // Each result is in the first word of its region, and the rest of the region is space for more results.
        let mut outputs = Vec::new();
        let region_words = WORDS / 16;
        for (index, kind) in kinds.chars().filter(|kind| *kind != '-').enumerate() {
            let region = index * region_words;
            let small = self.random.usize(..4097) as u64;
            args[index] = match kind {
                'O' | 'A' | 'o' => {
                    // A function may read this word as the size of the output buffer, so the value must not exceed the
                    // region.
                    self.memory[region] = small % 256;
                    outputs.push((kind, region));
                    self.address_of(region)
                }
                'h' => self.handle(),
                'd' => self.address(),
                'k' => small % 17,
                'n' => small / self.random.choice([1, 16, 512, 4097]).unwrap(),
                'N' => self.random.u64(..) >> self.random.choice([0, 16, 40, 52, 56, 60, 63]).unwrap(),
                'i' => self.random.choice([0, 0, 0, 0, 1, u64::MAX, 7]).unwrap(),
                'u' => self.random.u64(..) >> self.random.choice([32, 48, 56, 60, 61, 62, 63]).unwrap() & 0xffff_ffff,
                'F' => self.random.u64(..) >> self.random.choice([0, 32, 56, 60, 62, 63]).unwrap(),
                's' => self.random.choice(NAMES).unwrap().as_ptr().addr() as u64,
                'x' => self.random.choice(PTX).unwrap().as_ptr().addr() as u64,
                'c' => self.random.choice([0, callback as *const () as usize]).unwrap() as u64,
                'H' => {
                    for word in region..region + region_words {
                        self.memory[word] = self.handle();
                    }
                    self.address_of(region)
                }
                'p' | 'S' => {
                    for word in region..region + 64 {
                        let [low, high] =
                            [0; 2].map(|_: u64| self.random.u64(..) >> self.random.choice([32, 56, 61, 63]).unwrap());
                        let random = low & 0xffff_ffff | high << 32;
                        self.memory[word] = self.random.choice([random, random, 0, 1]).unwrap();
                        if kind == 'S' && self.random.usize(..4) == 0 {
                            self.memory[word] = self.address();
                        }
                    }
                    self.address_of(region)
                }
                _ => 0,
            };
        }
        let code = self.invoke(name, call, args);
        for (kind, region) in outputs {
            let value = self.memory[region];
            match kind {
                'O' if code == OK => self.handles.push(value),
                'A' if code == OK => self.addresses.push(value),
                _ => {}
            }
        }
        code
    }

    /// Launches a kernel with random arguments.
    fn launch(&mut self, call: Call) -> u32 {
        // These parameters are valid for the kernels in `PTX`. There are more of them than any of these kernels has.
        let (arguments, pointers) = (WORDS / 2, WORDS / 2 + 64);
        for index in 0..64 {
            self.memory[arguments + index] = self.address();
            self.memory[pointers + index] = self.address_of(arguments + index);
        }
        let mut args = [0; 16];
        args[0] = self.handle();
        for arg in &mut args[1..7] {
            *arg = self.random.choice([1, 1, 1, 2, 3, 0, 33, 1025, 0xffff_ffff]).unwrap();
        }
        let threads = args[1..7].iter().fold(1_u64, |threads, side| threads.saturating_mul(*side));
        if threads > THREADS && args[1..7].iter().all(|side| *side <= 1025) {
            // A launch of up to 10⁹ blocks is legal but slow.
            args[2..4].fill(1);
        }
        args[7] = self.random.choice([0, 0, 16, 1 << 20]).unwrap();
        args[8] = self.handle();
        args[9] = self.address_of(pointers);
        self.invoke(LAUNCH, call, args)
    }

    fn invoke(&mut self, name: &str, call: Call, args: [Any; 16]) -> u32 {
        {
            let mut current_calls = CURRENT_CALLS.lock().unwrap();
            current_calls[1] = format!("{name}{args:x?}");
            if name == LAUNCH {
                current_calls[0] = current_calls[1].clone();
            }
        }
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = args;
        // SAFETY: each pointer leads to a buffer that is large enough for every function whose line in `fuzz.txt` has
        // an argument of this kind.
        unsafe { call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) }
    }

    fn address_of(&mut self, word: usize) -> u64 {
        std::ptr::from_mut(&mut self.memory[word]).expose_provenance() as u64
    }

    fn handle(&mut self) -> u64 {
        // Recently created handles usually belong together.
        let newest = self.handles.len().saturating_sub(12);
        match self.random.usize(..4) {
            0 => *self.random.choice(&self.handles).unwrap(),
            _ => *self.random.choice(&self.handles[newest..]).unwrap(),
        }
    }

    fn address(&mut self) -> u64 {
        let address = *self.random.choice(&self.addresses).unwrap();
        address.wrapping_add(self.random.choice([0, 0, 0, 4, 64, 255]).unwrap())
    }
}
