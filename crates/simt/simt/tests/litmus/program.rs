//! Runs a litmus test: its threads are branches of a kernel, and a launch runs many instances.

use std::fmt::Write as _;

use simt::{Config, Launch, Module, Schedule, Simulator};

use super::Outcomes;
use super::tests::Litmus;

/// Where the threads and variables of a test are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Lanes of one warp, variables in shared memory.
    Lanes,
    /// Warps of one block, variables in shared memory.
    WarpsShared,
    /// Warps of one block, variables in global memory.
    WarpsGlobal,
    /// Blocks of one grid, variables in global memory.
    Blocks,
}

impl Place {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lanes => "lanes, shared memory",
            Self::WarpsShared => "warps, shared memory",
            Self::WarpsGlobal => "warps, global memory",
            Self::Blocks => "blocks, global memory",
        }
    }

    fn is_shared(self) -> bool {
        matches!(self, Self::Lanes | Self::WarpsShared)
    }
}

/// The number of instances of a test in a launch.
const INSTANCES: u32 = 48;
const SEEDS: u64 = 12;
/// The number of words of an instance's variables, and of its results.
const WORDS: u32 = 64;

/// Returns the kernel `k(memory, out)` that runs the threads' instructions. In these instructions, `SPACE` stands for
/// the state space, and `X` and `Y` for the addresses of the variables. `%r0` to `%r3` hold the results of all threads.
fn kernel(test: &Litmus, place: Place) -> String {
    let role = match place {
        Place::Lanes => "and.b32 %role, %tid, 31;\nmov.u32 %instance, %ctaid;",
        Place::WarpsShared | Place::WarpsGlobal => "shr.u32 %role, %tid, 5;\nmov.u32 %instance, %ctaid;",
        Place::Blocks => "rem.u32 %role, %ctaid, THREADS;\ndiv.u32 %instance, %ctaid, THREADS;",
    };
    let role = role.replace("THREADS", &test.threads.len().to_string());
    let space = if place.is_shared() { "shared" } else { "global" };
    let mut text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 memory, .param .u64 out)\n{{\n\
         .reg .b32 %r<8>, %tid, %ctaid, %role, %instance, %lane, %xs;\n.reg .b64 %x, %out, %off;\n.reg .pred %p<9>;\n\
         .shared .align 16 .b8 vars[256];\n\
         ld.param.u64 %x, [memory];\nld.param.u64 %out, [out];\nmov.u32 %tid, %tid.x;\nmov.u32 %ctaid, %ctaid.x;\n{role}\n\
         mul.wide.u32 %off, %instance, {};\nadd.u64 %x, %x, %off;\nadd.u64 %out, %out, %off;\nand.b32 %lane, %tid, 31;\n\
         mov.u32 %xs, vars;\n",
        WORDS * 4
    );
    if place.is_shared() {
        text += "st.shared.u32 [vars], 0;\nst.shared.u32 [vars+128], 0;\nst.shared.u32 [vars+64], 7;\nbar.sync 0;\n";
    }
    if place != Place::Lanes {
        text += "setp.ne.u32 %p8, %lane, 0;\n@%p8 bra DONE;\n";
    }
    let (x, y) = if place.is_shared() { ("%xs", "%xs+128") } else { ("%x", "%x+128") };
    for (index, body) in test.threads.iter().enumerate() {
        let body = body.replace("SPACE", space).replace('X', x).replace('Y', y);
        let _ = write!(text, "setp.ne.u32 %p0, %role, {index};\n@%p0 bra NEXT{index};\n{body}");
        for register in test.results[index] {
            let _ = writeln!(text, "st.global.u32 [%out+{}], %r{register};", register * 4);
        }
        let _ = writeln!(text, "bra DONE;\nNEXT{index}:");
    }
    text += "DONE:\n";
    if place.is_shared() {
        // Store the final values of the variables.
        text += "bar.sync 0;\nld.shared.u32 %r6, [vars];\nld.shared.u32 %r7, [vars+128];\nsetp.ne.u32 %p8, %tid, 0;\n\
                 @!%p8 st.global.u32 [%x], %r6;\n@!%p8 st.global.u32 [%x+128], %r7;\n";
    }
    text + "ret;\n}\n"
}

/// Returns the outcomes of many runs: the results in the order of their registers, then the final values if the test
/// has them.
pub(super) fn run(test: &Litmus, place: Place) -> Outcomes {
    let text = kernel(test, place);
    let module = Module::from_ptx(text.clone()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let function = module.function("k").unwrap();
    let threads = test.threads.len() as u32;
    let (blocks, block) = match place {
        Place::Lanes => (INSTANCES, 32),
        Place::WarpsShared | Place::WarpsGlobal => (INSTANCES, 32 * threads),
        Place::Blocks => (INSTANCES * threads, 32),
    };
    let mut outcomes = Outcomes::new();
    for seed in 0..SEEDS {
        let config = Config { threads: 1, schedule: Schedule::Random(seed), ..Config::default() };
        let mut simulator = Simulator::new(config).unwrap();
        let memory = simulator.zeroed::<u32>((INSTANCES * WORDS) as usize).unwrap();
        let out = simulator.zeroed::<u32>((INSTANCES * WORDS) as usize).unwrap();
        let args = [memory.into(), out.into()];
        let result = simulator.launch(&Launch::new(&function, [blocks, 1, 1], [block, 1, 1], &args));
        result.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let (memory, out) = (simulator.read(memory).unwrap(), simulator.read(out).unwrap());
        for instance in 0..INSTANCES as usize {
            let at = instance * WORDS as usize;
            let mut outcome: Vec<u32> =
                out[at..][..test.results.iter().map(|registers| registers.len()).sum()].to_vec();
            if test.final_values {
                outcome.extend([memory[at], memory[at + 32]]);
            }
            *outcomes.entry(outcome).or_default() += 1;
        }
    }
    outcomes
}
