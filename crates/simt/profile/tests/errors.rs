//! Launches that cannot be recorded. The crate `analysis` tests the verdicts of ordinary kernels with a known problem.

use devices::Description;
use profile::{Error, LaunchProfile, Watch, record};
use simt::{Config, Launch, Module, Simulator};

/// Each thread stores its number to one word of `data`.
const STORE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 .ptr .global .align 4 data)\n{\n\
    .reg .b32 %r<5>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [data];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\n\
    mov.u32 %r4, %ntid.x;\nmad.lo.u32 %r1, %r3, %r4, %r2;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
    st.global.u32 [%rd3], %r1;\nret;\n}\n";

/// Launches the kernel with one block on a buffer of `words` words.
fn launched(threads: u32, words: usize) -> Result<LaunchProfile, Error> {
    let function = Module::from_ptx(STORE).expect("valid PTX").function("kernel").expect("the kernel exists");
    let mut simulator = Simulator::new(Config::default()).expect("threads start");
    let data = simulator.zeroed::<u32>(words).expect("enough memory");
    let args = [data.into()];
    let launch = Launch::new(&function, [1; 3], [threads, 1, 1], &args);
    record(&mut simulator, &launch, Watch::new(Description::open("h100").expect("a known device")))
}

#[test]
fn invalid_launches_are_errors() {
    let beyond = launched(64, 32).expect_err("half of the threads are out of bounds").to_string();
    assert!(beyond.starts_with("out of bounds write of 4 bytes"), "{beyond}");
    let too_large = launched(2048, 32).expect_err("too many threads per block");
    assert!(matches!(too_large, Error::Launch(_)), "{too_large}");
}
