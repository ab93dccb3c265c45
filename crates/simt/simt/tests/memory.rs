//! Tests of memory instructions in small kernels, launched on a simulator.

mod allocation;
mod async_copy;
mod asynchronous;
mod atomic;
mod fault;
mod halves;
mod load_store;
mod observer;
mod random;
mod space;
mod words;

use simt::{Arg, Buffer, Config, Fault, Launch, LaunchError, Module, Simulator};

/// Returns a kernel with these parameters and this body; `module` holds the variables and functions before it.
fn text(module: &str, params: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_100\n.address_size 64\n{module}\n\
         .visible .entry k({params})\n{{\n\
         .reg .b32 %r<32>;\n.reg .b16 %h<16>;\n.reg .f32 %f<16>;\n\
         .reg .b64 %rd<32>;\n.reg .f64 %fd<16>;\n.reg .pred %p<8>;\n{body}\nret;\n}}\n"
    )
}

fn simulator(threads: usize) -> Simulator {
    let config = Config { threads, ..Config::default() };
    Simulator::new(config).unwrap()
}

/// Launches the kernel of a PTX text.
fn launch(simulator: &mut Simulator, text: &str, blocks: u32, threads: u32, args: &[Arg]) -> Result<(), LaunchError> {
    let module = Module::from_ptx(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let function = module.function("k").unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulator.launch(&Launch::new(&function, [blocks, 1, 1], [threads, 1, 1], args).with_shared_bytes(64))
}

const PARAMS: &str = ".param .u64 in, .param .u64 out";

/// Returns the reason why a kernel with this body is refused.
fn refusal(body: &str) -> String {
    let module = Module::from_ptx(text("", PARAMS, body)).unwrap();
    module.function("k").expect_err(body).to_string()
}

/// The first lines of the kernels of [`outcome`]. `%rd1` is the input's address, `%rd2` the output's, `%r1` the
/// thread's index and `%rd4` four times this index. `%rd5` and `%rd6` are the addresses of the thread's words in the
/// two buffers.
const HEAD: &str = "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n\
                    mul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd6, %rd2, %rd4;\n";

/// Runs one warp on `input`, and returns the output's `len` bytes or the fault.
fn outcome_of(module: &str, body: &str, input: &[u8], len: usize) -> Result<Vec<u8>, Box<Fault>> {
    let text = text(module, PARAMS, &format!("{HEAD}{body}"));
    let mut simulator = simulator(1);
    let input = simulator.upload(input).unwrap();
    let output: Buffer<u8> = simulator.zeroed(len).unwrap();
    match launch(&mut simulator, &text, 1, 32, &[input.into(), output.into()]) {
        Ok(()) => Ok(simulator.read(output).unwrap()),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

/// Runs a kernel without module-scope variables, and returns the output's `len` bytes.
fn outcome(body: &str, input: &[u8], len: usize) -> Vec<u8> {
    outcome_of("", body, input, len).unwrap_or_else(|fault| panic!("{fault}\n{body}"))
}

/// Returns the 32-bit words that the warp's threads write at `%rd6`.
fn words_of(module: &str, body: &str, input: &[u8]) -> Vec<u32> {
    let out = outcome_of(module, body, input, 128);
    words(&out.unwrap_or_else(|fault| panic!("{fault}\n{body}")))
}

/// Returns the fault of a kernel.
fn fault(body: &str, input: &[u8], len: usize) -> Fault {
    *outcome_of("", body, input, len).expect_err(body)
}

/// Returns bytes as integers.
fn words<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// Returns bytes in which neighbors always differ.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 167 + i / 256 * 59 + 13) as u8).collect()
}
