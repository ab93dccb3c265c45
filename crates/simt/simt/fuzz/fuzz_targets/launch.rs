//! Fuzzes launches of programs made of supported instructions with arbitrary operands, with a small instruction budget.
//! Input that starts with `.` is used as PTX text.
#![no_main]

#[path = "../program.rs"]
mod program;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use program::program;
use simt::{Arg, Config, Launch, Module, Simulator};

thread_local! {
    static SIMULATOR: RefCell<Simulator> = RefCell::new(
        Simulator::new(Config {
            threads: 1,
            max_instructions: 20_000,
            max_local_bytes: 4096,
            max_memory_bytes: 1 << 20,
            ..Config::default()
        })
        .expect("one host thread"),
    );
}

fuzz_target!(|data: &[u8]| {
    let text = match data.first() {
        Some(b'.') | None => String::from_utf8_lossy(data).into_owned(),
        Some(_) => program(data),
    };
    let Ok(module) = Module::from_ptx(text) else { return };
    SIMULATOR.with_borrow_mut(|simulator| {
        let buffers = [64, 1024].map(|len| simulator.zeroed::<u32>(len).expect("all other buffers are freed"));
        if let Ok(instance) = simulator.load(&module) {
            for name in module.kernels() {
                let Ok(kernel) = instance.function(name) else { continue };
                let program = kernel.program();
                let args: Vec<Arg> = program
                    .params
                    .iter()
                    .enumerate()
                    .map(|(index, param)| match param.bytes {
                        8 => buffers[index % 2].into(),
                        bytes => Arg::Bytes(vec![7; bytes as usize]),
                    })
                    .collect();
                let block = program.required_block.unwrap_or([40, 1, 1]);
                let launch = Launch::new(&kernel, [2, 1, 1], block, &args).with_shared_bytes(64);
                if let Err(error) = simulator.launch(&launch) {
                    assert!(!error.to_string().is_empty());
                }
            }
            simulator.unload(instance).expect("loaded above");
        }
        buffers.into_iter().for_each(|buffer| simulator.free(buffer).expect("allocated above"));
    });
});
