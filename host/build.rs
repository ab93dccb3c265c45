//! Compiles the kernels to PTX, which the program embeds, and records the version of the compiler of the host code.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

use cuda_builder::{CudaBuilder, CudaBuilderError, DebugInfo, NvvmArch};

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Only the message is of interest, not the line in this file at which it was passed on.
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The architectures that the kernels are compiled for, oldest first: one that every supported device can run, and one
/// with newer instructions.
const ARCHITECTURES: [NvvmArch; 2] = [NvvmArch::Compute75, NvvmArch::Compute90];

/// PTX with short remarks. LLVM repeats behind each `.loc` its line, and adds the calls through which the line was
/// inlined: `// src/a.rs:9:14 @[ src/a.rs:47:42 @[ src/b.rs:51:13 ] ]`, three quarters of the text. Of that the calls
/// stay, with numbers of `.file` for paths: `// @[ 1:47:42 @[ 2:51:13`.
fn with_short_remarks(ptx: &str) -> String {
    // `.file 1 "/home/me/src/a.rs"`
    let files = ptx.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix(".file")?;
        let (number, path) = rest.trim_start().split_once(' ')?;
        Some((number, Path::new(path.trim_matches('"'))))
    });
    let files: Vec<_> = files.collect();
    let mut numbers: HashMap<&str, &str> = HashMap::new();
    let mut text = String::with_capacity(ptx.len() / 2);
    for line in ptx.lines() {
        let is_loc = line.trim_start().starts_with(".loc");
        let Some((directive, remark)) = line.split_once("//").filter(|_| is_loc) else {
            text += line;
            text.push('\n');
            continue;
        };
        text += directive.trim_end();
        for (depth, call) in remark.split("@[ ").skip(1).enumerate() {
            let call = call.trim_end_matches([']', ' ']);
            let path_end = call.rmatch_indices(':').nth(1).map_or(0, |(at, _)| at);
            let (path, place) = call.split_at(path_end);
            let number = numbers.entry(path).or_insert_with(|| {
                let file = files.iter().find(|(_, file)| file.ends_with(path));
                file.map_or(path, |(number, _)| number)
            });
            text += if depth == 0 { " // @[ " } else { " @[ " };
            text += number;
            text += place;
        }
        text.push('\n');
    }
    text
}

fn build() -> Result<(), Box<dyn Error>> {
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let file = |arch: NvvmArch| out_dir.join(format!("kernels.{arch}.ptx"));
    let built = thread::scope(|scope| {
        let builds = ARCHITECTURES.map(|arch| {
            let builder = CudaBuilder::new("../kernels-gpu")
                .arch(arch)
                .debug(DebugInfo::LineTables)
                .copy_to(file(arch))
                .final_module_path(file(arch).with_extension("ll"));
            scope.spawn(|| builder.build())
        });
        // Waits for all compilers, so that none is left running.
        let results = builds.map(|build| build.join().expect("cuda_builder does not panic"));
        results.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let mut list = String::new();
    let embedded = match built {
        Ok(_) => &ARCHITECTURES[..],
        // Most errors of a kernel are found too when cargo compiles its crate for the host, and cargo shows them then,
        // before it gets to the code that this file is included in. So only the others are left to show there.
        Err(CudaBuilderError::BuildFailed { messages, .. }) => {
            let message = format!("the kernels do not compile for the device\n\n{messages}\n");
            writeln!(list, "compile_error!({message:?});")?;
            &[]
        }
        Err(other) => return Err(other.into()),
    };
    let count = embedded.len();
    writeln!(list, "static EMBEDDED: [Ptx; {count}] = [")?;
    for arch in embedded {
        let capability = (arch.capability() / 10, arch.capability() % 10);
        let embedded = out_dir.join(format!("embedded.{arch}.ptx"));
        let text = std::fs::read_to_string(file(*arch))?;
        std::fs::write(&embedded, with_short_remarks(&text))?;
        writeln!(
            list,
            "Ptx::new({capability:?}, include_str!({embedded:?})),"
        )?;
    }
    list += "];\n";
    std::fs::write(out_dir.join("kernels.rs"), list)?;

    let rustc = env::var_os("RUSTC").ok_or("cargo sets RUSTC")?;
    let version = Command::new(rustc).arg("--version").output()?.stdout;
    // `rustc 1.95.0 (hash date)`: the hash and the date add nothing to the version.
    let version = String::from_utf8_lossy(&version);
    let version: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo::rustc-env=LADDER_HOST_RUSTC={}", version.join(" "));
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
