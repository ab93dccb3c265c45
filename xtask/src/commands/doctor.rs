//! `cargo xtask doctor`.

use std::process::Command;

use comfy_table::ContentArrangement;
use cuda_builder::toolchain;
use toolkit::{Error, Tool};

use crate::show::{rendered, table};
use crate::style::{BAD, GOOD, paint};
use crate::tools::{gpu, output, root};

/// One thing that this machine may have.
struct Row {
    name: &'static str,
    /// Version and origin, or why it is not there.
    found: Result<(String, String), String>,
    needed_by: &'static str,
    how: &'static str,
}

pub(super) fn doctor() {
    let rows = rows();
    let mut table = table(
        &["", "found", "version", "from", "needed by", "how to get it"],
        0..0,
    );
    table.set_content_arrangement(ContentArrangement::Dynamic);
    for row in &rows {
        let cells = match &row.found {
            Ok((version, origin)) => [row.name, "yes", version, origin, row.needed_by, ""],
            Err(reason) => [row.name, "no", "", reason, row.needed_by, row.how],
        };
        table.add_row(cells);
    }
    anstream::print!("{}\n{}", rendered(&table), summary(&rows));
}

fn rows() -> Vec<Row> {
    let setup = "cargo xtask setup";
    let rustc = toolchain::find_rustc();
    // Which LLVM will do depends on the compiler.
    let llvm = match &rustc {
        Ok(rustc) => toolchain::find_llvm(rustc.llvm_major)
            .map_err(|_| format!("none of LLVM {} or newer", rustc.llvm_major)),
        Err(_) => Err("goes with the device's rustc".to_owned()),
    };
    let mut rows = vec![
        Row {
            name: "rustc for the host",
            found: host_rustc(),
            needed_by: "everything",
            how: "rustup.rs",
        },
        Row {
            name: "rustc for the device",
            found: rustc
                .map(|rustc| (rustc.version, rustc.origin))
                .map_err(|_| "none has a core for the device".to_owned()),
            needed_by: "building kernels",
            how: setup,
        },
        Row {
            name: "LLVM's opt and llc",
            found: llvm.map(|llvm| (llvm.version, llvm.origin)),
            needed_by: "building kernels",
            how: setup,
        },
    ];
    rows.extend(Tool::ALL.map(|tool| {
        Row {
            name: tool.name(),
            found: toolkit::find(tool)
                .map(|found| (found.version, found.origin))
                .map_err(|error| match error {
                    Error::Unusable { refused, .. } => refused.join("; "),
                    // The next column says how to get it.
                    _ => String::new(),
                }),
            needed_by: match tool {
                Tool::Ptxas => "ptx (registers), ptx --sass, tests",
                Tool::Nvcc => "the CUDA C++ twins",
                Tool::Cuobjdump => "looking into cubins",
                Tool::Nvdisasm => "ptx --sass",
                Tool::Ncu => "hardware counters",
            },
            how: match tool {
                Tool::Ncu => "NVIDIA's package nsight-compute",
                _ => "cargo xtask setup --nvidia",
            },
        }
    }));
    let driver = gpu::driver();
    rows.push(Row {
        name: "NVIDIA driver",
        found: match &driver {
            Some(driver) => Ok((
                driver
                    .version
                    .clone()
                    .unwrap_or_else(|| "unknown".to_owned()),
                driver.origin.clone(),
            )),
            None => Err(String::new()),
        },
        needed_by: "running on a GPU",
        how: "NVIDIA's driver for your GPU",
    });
    let gpus = driver.map_or_else(Vec::new, |driver| driver.gpus);
    rows.push(Row {
        name: "GPU",
        found: if gpus.is_empty() {
            Err(String::new())
        } else {
            Ok((gpus.join(", "), String::new()))
        },
        needed_by: "running on a GPU",
        how: "any from Turing (sm_75) on",
    });
    rows
}

fn host_rustc() -> Result<(String, String), String> {
    let ask = |arguments: &[&str]| {
        output(Command::new("rustc").args(arguments).current_dir(root()))
            .map_err(|failure| failure.message)
    };
    let version = ask(&["--version"])?;
    let version = version
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    Ok((version, ask(&["--print", "sysroot"])?.trim().to_owned()))
}

/// What works, in a line each.
fn summary(rows: &[Row]) -> String {
    let has = |names: &[&str]| {
        names.iter().all(|name| {
            rows.iter()
                .any(|row| row.name == *name && row.found.is_ok())
        })
    };
    let line = |what: &str, works: bool, otherwise: &str| {
        if works {
            format!("{what}: {}\n", paint(GOOD, "yes"))
        } else {
            format!("{what}: {}, {otherwise}\n", paint(BAD, "no"))
        }
    };
    let device = has(&["rustc for the device", "LLVM's opt and llc"]);
    [
        line(
            "Building kernels",
            device,
            "`cargo xtask setup` will make it work",
        ),
        line(
            "Registers and SASS",
            has(&["ptxas", "nvdisasm"]),
            "NVIDIA's tools are installed when they are first asked for",
        ),
        line(
            "Running on a GPU",
            has(&["NVIDIA driver"]),
            "this machine has no NVIDIA driver",
        ),
    ]
    .concat()
}
