//! Memory instructions in small kernels, launched on a machine.
#![allow(clippy::unwrap_used)]

mod load_store;

use crate::{Arg, Buffer, Config, Fault, LaunchError, Machine, Module};

/// A kernel with these parameters and this body, and these variables before it.
pub(super) fn text(module: &str, params: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_100\n.address_size 64\n{module}\n\
         .visible .entry k({params})\n{{\n\
         .reg .b32 %r<32>;\n.reg .b16 %h<16>;\n.reg .b8 %c<4>;\n.reg .f32 %f<16>;\n\
         .reg .b64 %rd<32>;\n.reg .f64 %fd<16>;\n.reg .pred %p<8>;\n{body}\nret;\n}}\n"
    )
}

pub(super) fn machine(threads: usize) -> Machine {
    let config = Config {
        threads,
        ..Config::default()
    };
    Machine::new(config).unwrap()
}

/// Launches the kernel of a text.
pub(super) fn launch(
    machine: &mut Machine,
    text: &str,
    blocks: u32,
    threads: u32,
    args: &[Arg],
) -> Result<(), LaunchError> {
    let module = Module::from_ptx(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let function = module
        .function("k")
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    machine.launch(&function, [blocks, 1, 1], [threads, 1, 1], 0, args)
}

/// Why a kernel with this body is refused.
pub(super) fn refusal(body: &str) -> String {
    let text = text("", ".param .u64 in, .param .u64 out", body);
    let module = Module::from_ptx(text).unwrap();
    module.function("k").unwrap_err().to_string()
}

/// What every kernel of [`outcome`] starts with: `%rd1` is the input's address, `%rd2` the output's,
/// `%r1` the thread's number, `%rd3` the same in 64 bits.
const HEAD: &str = "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n\
                    mov.b64 %rd3, {%r1, 0};\n";

/// Runs one warp on `input`, and returns the output's `len` bytes or the fault.
pub(super) fn outcome_of(
    module: &str,
    body: &str,
    input: &[u8],
    len: usize,
) -> Result<Vec<u8>, Box<Fault>> {
    let text = text(
        module,
        ".param .u64 in, .param .u64 out",
        &format!("{HEAD}{body}"),
    );
    let mut machine = machine(1);
    let input = machine.upload(input);
    let output: Buffer<u8> = machine.zeroed(len);
    match launch(&mut machine, &text, 1, 32, &[input.into(), output.into()]) {
        Ok(()) => Ok(machine.read(output)),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

/// The same without module-scope variables, of a kernel that ends well.
pub(super) fn outcome(body: &str, input: &[u8], len: usize) -> Vec<u8> {
    outcome_of("", body, input, len).unwrap_or_else(|fault| panic!("{fault}"))
}

/// The fault that a kernel ends with.
pub(super) fn fault(body: &str, input: &[u8], len: usize) -> Fault {
    *outcome_of("", body, input, len).expect_err("a fault")
}

/// Bytes as integers.
pub(super) fn words<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    bytes
        .chunks_exact(size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
        .collect()
}
