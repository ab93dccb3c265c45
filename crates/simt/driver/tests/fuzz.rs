//! Any sequence of calls with any handles, sizes and addresses of the device is answered: no crash, no panic, no hang.
//!
//! A few seeds by default; as many as fit into `FUZZ_SECONDS`, and the one of `FUZZ_SEED` first.

use std::ffi::c_void;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::support::{NO_HANDLE, OK, alone, cuInit};

const LAUNCH: &str = "cuLaunchKernel";

/// A function's name, and what its arguments are.
const FUNCTIONS: &str = include_str!("fuzz.txt");

/// The calls of a seed. An error of a kernel is the end of all contexts, and of what there is to find.
const CALLS: usize = 4000;
/// What the driver answers after a panic of its own.
const UNKNOWN: u32 = 999;
/// Words of the host's memory that structures and results lie in.
const WORDS: usize = 1 << 16;
/// The processor time that the calls of a seed may take, many times what they do, and how long they may take none at all.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(120), Duration::from_secs(300));
/// The most threads of a launch, unless it has more than the driver accepts.
const THREADS: u64 = 1 << 16;

const PTX: &[&str] = &[
    // Threads that write nowhere but to what they are given, if it has room.
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
fn any_calls_are_answered() {
    const TEST: &str = "fuzz::any_calls_are_answered";
    let began = Instant::now();
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let first: u64 = std::env::var("FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut seed = first;
    while seed < first + 3 || seconds.is_some_and(|seconds| began.elapsed() < seconds) {
        let text = seed.to_string();
        if alone(TEST, &[("FUZZ_SEED", &text), (driver::LOG, "/dev/null")]) {
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
    // Something to work with.
    for name in
        ["cuCtxCreate_v2 O00", "cuStreamCreate O0", "cuModuleLoadData Ox", "cuMemAlloc_v2 An", "cuGraphCreate O0"]
    {
        state.call(function(name));
    }
    for number in 0..CALLS {
        let chosen = *state.random.choice(&functions).unwrap();
        if chosen.0.starts_with("cuCtx") && state.random.usize(..4) > 0 {
            // Too often, and no context has anything in it.
            continue;
        }
        let code = match number % 16 {
            0 => state.launch(launch),
            _ => state.call(chosen),
        };
        assert_ne!(code, UNKNOWN, "seed {seed}: call {number}, {}, panicked", now());
    }
}

/// The last launch and the call under way, which may wait for it.
static NOW: Mutex<[String; 2]> = Mutex::new([const { String::new() }; 2]);

fn now() -> String {
    let [launch, call] = &*NOW.lock().unwrap();
    format!("{call}, after {launch},")
}

/// Ends the process when a call takes too much of the processor's time, or waits for what does not come. How long other programs
/// hold it up does not count.
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
            eprintln!("seed {seed} does not end: {} takes {used:?} of processor time", now());
            std::process::abort();
        }
    }
}

/// The processor time that this process has used, where the system says it (`man 5 proc_pid_stat`).
fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may have blanks. Behind it, in hundredths of a second, are the times in the program and
    // in the kernel.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut field = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (field()? + field()?)))
}

/// A function with its name and arguments, of a line.
fn function(line: &'static str) -> (&'static str, &'static str, Call) {
    let (name, kinds) = line.split_once(' ').unwrap();
    let found = driver::function(name).unwrap_or_else(|| panic!("there is no {name}"));
    // SAFETY: the driver's functions take integers and pointers, each in a register or a word of the stack of its own, and
    // leave alone those that they do not have.
    (name, kinds, unsafe { std::mem::transmute::<*const (), Call>(found.0) })
}

struct State {
    random: Rng,
    handles: Vec<u64>,
    addresses: Vec<u64>,
    memory: Box<[u64]>,
}

impl State {
    /// Calls a function with arguments of its kinds, and keeps what it gives.
    fn call(&mut self, (name, kinds, call): (&str, &str, Call)) -> u32 {
        let mut args = [0; 16];
        // The places of results are the first words, each with room behind it for many.
        let mut places = Vec::new();
        let part = WORDS / 16;
        for (index, kind) in kinds.chars().filter(|kind| *kind != '-').enumerate() {
            let own = index * part;
            let small = self.random.usize(..4097) as u64;
            args[index] = match kind {
                'O' | 'A' | 'o' => {
                    // A number that is room enough, where the function reads one.
                    self.memory[own] = small % 256;
                    places.push((kind, own));
                    self.place(own)
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
                    for word in own..own + part {
                        self.memory[word] = self.handle();
                    }
                    self.place(own)
                }
                'p' | 'S' => {
                    for word in own..own + 64 {
                        let [low, high] =
                            [0; 2].map(|_: u64| self.random.u64(..) >> self.random.choice([32, 56, 61, 63]).unwrap());
                        let random = low & 0xffff_ffff | high << 32;
                        self.memory[word] = self.random.choice([random, random, 0, 1]).unwrap();
                        if kind == 'S' && self.random.usize(..4) == 0 {
                            self.memory[word] = self.address();
                        }
                    }
                    self.place(own)
                }
                _ => 0,
            };
        }
        let code = self.enter(name, call, args);
        for (kind, own) in places {
            let value = self.memory[own];
            match kind {
                'O' if code == OK => self.handles.push(value),
                'A' if code == OK => self.addresses.push(value),
                _ => {}
            }
        }
        code
    }

    /// Launches a kernel.
    fn launch(&mut self, call: Call) -> u32 {
        // Parameters that are right for the kernels of `PTX`, and more than any has.
        let (arguments, pointers) = (WORDS / 2, WORDS / 2 + 64);
        for index in 0..64 {
            self.memory[arguments + index] = self.address();
            self.memory[pointers + index] = self.place(arguments + index);
        }
        let mut args = [0; 16];
        args[0] = self.handle();
        for arg in &mut args[1..7] {
            *arg = self.random.choice([1, 1, 1, 2, 3, 0, 33, 1025, 0xffff_ffff]).unwrap();
        }
        let threads = args[1..7].iter().fold(1_u64, |threads, side| threads.saturating_mul(*side));
        if threads > THREADS && args[1..7].iter().all(|side| *side <= 1025) {
            // A launch of up to a thousand million blocks is legal, and takes its time.
            args[2..4].fill(1);
        }
        args[7] = self.random.choice([0, 0, 16, 1 << 20]).unwrap();
        args[8] = self.handle();
        args[9] = self.place(pointers);
        self.enter(LAUNCH, call, args)
    }

    fn enter(&mut self, name: &str, call: Call, args: [Any; 16]) -> u32 {
        {
            let mut now = NOW.lock().unwrap();
            now[1] = format!("{name}{args:x?}");
            if name == LAUNCH {
                now[0] = now[1].clone();
            }
        }
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = args;
        // SAFETY: pointers are to memory that is as large as any function takes for what `fuzz.txt` says that it is.
        unsafe { call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) }
    }

    fn place(&mut self, word: usize) -> u64 {
        std::ptr::from_mut(&mut self.memory[word]).expose_provenance() as u64
    }

    fn handle(&mut self) -> u64 {
        // The newest ones fit together.
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
