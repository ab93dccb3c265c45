//! Device code of many kinds. Code that compiles must give the same bits on simt as on the host. Code that does not
//! compile must be rejected with a message that names the line in the Rust file.

use std::panic::catch_unwind;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use cuda_builder::{CudaBuilder, LintLevel};
use simt::{Arg, Config, Function, Launch, Module, Simulator};

use crate::common::{cuda_std, krate, manifest, read_checked};

/// A case: its name, and the function that computes the expected value of an index on the host.
type Case = (&'static str, fn(u32) -> u64);

macro_rules! cases {
    ($($name:ident)*) => {
        $(mod $name;)*
        pub const CASES: &[super::Case] = &[$((stringify!($name), $name::value)),*];
    };
}

macro_rules! traps {
    ($($name:ident($i:ident) $body:block)*) => {
        pub const TRAPS: &[super::super::Case] = &[$((concat!("trap_", stringify!($name)), |$i: u32| -> u64 { $body })),*];
    };
}

#[path = "cases/mod.rs"]
#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused_imports, unused_unsafe, unconditional_panic)]
mod cases;

/// The same two macros on the device, which define a kernel for each case.
const DEVICE: &str = r#"
#![no_std]
#![feature(asm_experimental_arch, f16)]
#![allow(warnings)]
macro_rules! cases {
    ($($name:ident)*) => {
        $(mod $name;)*
        mod kernels {
            $(#[cuda_std::kernel]
            pub unsafe fn $name(out: &mut [u64]) {
                let i = cuda_std::thread::index_1d();
                out[i as usize] = super::$name::value(i);
            })*
        }
    };
}
macro_rules! traps {
    ($($name:ident($i:ident) $body:block)*) => { pastey::paste! {
        $(#[cuda_std::kernel]
        pub unsafe fn [<trap_ $name>](out: &mut [u64], $i: u32) {
            out[0] = $body;
        })*
    } };
}
#[path = "CASES"]
mod cases;
"#;

const THREADS: u32 = 256;

/// The PTX of all cases, without and with optimization.
static PTX: LazyLock<[String; 2]> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device_cases");
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/mod.rs");
    manifest(&folder, "device_cases", &format!("{}pastey = \"0.2\"\n", cuda_std()));
    std::fs::write(folder.join("src/lib.rs"), DEVICE.replace("CASES", cases.to_str().unwrap())).unwrap();
    // The host rounds each operation separately.
    let build = |release| CudaBuilder::new(&folder).fma_contraction(false).release(release).build().unwrap();
    [false, true].map(|release| read_checked(&build(release)))
});

/// Launches a kernel in blocks of up to 64 threads and returns one output word per thread.
fn launch(kernel: &Function, threads: u32, args: &[Arg]) -> Result<Vec<u64>, String> {
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let out = simulator.zeroed::<u64>(threads as usize).unwrap();
    let args = [&[out.into(), u64::from(threads).into()], args].concat();
    let block = threads.min(64);
    let launched = simulator.launch(&Launch::new(kernel, [threads / block, 1, 1], [block, 1, 1], &args));
    launched.map_err(|error| error.to_string())?;
    Ok(simulator.read(out).unwrap())
}

#[test]
fn the_device_computes_what_the_host_computes() {
    let modules = PTX.each_ref().map(|ptx| Module::from_ptx(ptx.as_str()).unwrap());
    let mut wrong = Vec::new();
    for (name, value) in cases::CASES {
        let Ok(expected) = catch_unwind(|| (0..THREADS).map(value).collect::<Vec<_>>()) else {
            wrong.push(format!("{name} panics on the host"));
            continue;
        };
        for (profile, module) in ["debug", "release"].into_iter().zip(&modules) {
            let found = module.function(name).map_err(|error| error.to_string());
            match found.and_then(|kernel| launch(&kernel, THREADS, &[])) {
                Ok(found) if found == expected => {}
                Ok(found) => {
                    let at = (0..expected.len()).find(|at| found[*at] != expected[*at]).unwrap();
                    wrong.push(format!("{profile}: {name}({at}) is {:#x}, expected {:#x}", found[at], expected[at]));
                }
                Err(error) => wrong.push(format!("{profile}: {name}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn host_panics_are_device_traps() {
    let module = Module::from_ptx(PTX[1].as_str()).unwrap();
    for (name, value) in cases::traps::TRAPS {
        let kernel = module.function(name).unwrap();
        assert_eq!(launch(&kernel, 1, &[0_u32.into()]), Ok(vec![value(0)]), "{name}");
        assert!(catch_unwind(|| value(9)).is_err(), "{name}");
        let error = launch(&kernel, 1, &[9_u32.into()]).unwrap_err();
        assert!(error.contains("trap"), "{name}: {error}");
    }
}

/// The first line of each file contains the expected words. Two crates are built at a time.
#[test]
fn unsupported_code_is_rejected_at_its_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("refused");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = Mutex::new(files.collect::<Vec<_>>());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(file) = files.lock().unwrap().pop() else {
                return;
            };
            let name = file.file_stem().unwrap().to_str().unwrap();
            let source = std::fs::read_to_string(&file).unwrap();
            let expected = source.lines().next().unwrap().trim_start_matches("//! ");
            let builder = CudaBuilder::new(krate(name, source.split_once('\n').unwrap().1));
            let built = builder.generic_accesses(LintLevel::Deny).build();
            let error = built.map_or_else(|error| error.to_string(), |_| "the build succeeded".to_owned());
            let has_line = error.contains(&format!("{name}/src/lib.rs:")) || error.contains("--> src/lib.rs:");
            if !error.contains(expected) || !has_line || error.matches(expected).count() > 1 {
                wrong.lock().unwrap().push(format!("{name}: {error}"));
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
