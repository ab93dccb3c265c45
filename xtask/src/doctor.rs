//! `cargo xtask doctor`: reports which tools this machine has and lacks, by trying each of them.

use std::fmt::Write;
use std::process::Command;

use locate::device;
use locate::nvidia::{self, Tool};

use crate::console::{BAD, GOOD, colored_output, paint};
use crate::gpu;
use crate::process::{output, root};

/// A tool or device that this machine may have: its name, and its version and location. If it is missing, the error
/// gives the reason and how to install it.
type Part = (&'static str, Result<String, String>);

/// Returns the tools and devices of this machine, one per line, and whether they work.
pub(crate) fn report() -> String {
    let rustc = device::find_rustc();
    // The required version of LLVM depends on the compiler.
    let llvm = match &rustc {
        Ok(rustc) => device::find_llvm(rustc.llvm_major)
            .map(|llvm| format!("{} ({})", llvm.version, llvm.origin))
            .map_err(|_| {
                let major = rustc.llvm_major;
                format!("version {major} or newer is missing; `cargo xtask setup` installs it")
            }),
        Err(_) => Err("needs the rustc for the device".to_owned()),
    };
    let rustc = rustc
        .map(|rustc| format!("{} ({})", rustc.version, rustc.origin))
        .map_err(|_| "no rustc has library sources; `cargo xtask setup` installs them".to_owned());
    let mut parts =
        vec![("rustc for the host", host_rustc()), ("rustc for the device", rustc), ("LLVM's opt and llc", llvm)];
    parts.extend(Tool::ALL.map(|tool| {
        let found = nvidia::find(tool)
            .map(|found| format!("{} ({})", found.version, found.origin))
            .map_err(|unavailable| unavailable.to_string());
        (tool.name(), found)
    }));
    let (driver, gpus, links) = match gpu::driver() {
        Ok(driver) => {
            let described = format!("for CUDA {} ({})", driver.version, driver.library);
            (Ok(described), driver.gpus, driver.links)
        }
        Err(why) => (Err(why), Err("needs a driver".to_owned()), None),
    };
    // SAFETY: this program has only one thread.
    let nccl = unsafe { nccl::find() }.map(|nccl| format!("{} ({})", nccl.version, nccl.path));
    let chromium = locate::chromium::find().map(|path| path.display().to_string());
    let chromium = chromium.ok_or_else(|| format!("none; {}", locate::chromium::REMEDY));
    parts.extend([("NVIDIA driver", driver), ("GPU", gpus)]);
    parts.extend(links.map(|links| ("links of GPUs", links)));
    parts.extend([("NCCL", nccl), ("Chromium", chromium)]);
    text(&parts, colored_output())
}

fn host_rustc() -> Result<String, String> {
    let ask = |arguments: &[&str]| {
        output(Command::new("rustc").args(arguments).current_dir(root()))
            .map_err(|failure| format!("{}; install it from rustup.rs", failure.message))
    };
    let version = ask(&["--version"])?;
    let version = version.split_whitespace().nth(1).unwrap_or_default();
    let sysroot = ask(&["--print", "sysroot"])?;
    Ok(format!("{version} ({})", sysroot.trim()))
}

fn text(parts: &[Part], colored: bool) -> String {
    let answer = |is_yes| match is_yes {
        true => paint(colored, GOOD, "yes"),
        false => paint(colored, BAD, "no"),
    };
    let width = parts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, found) in parts {
        let shown = answer(found.is_ok());
        let gap = if found.is_ok() { "  " } else { "   " };
        let (Ok(detail) | Err(detail)) = found;
        let _ = writeln!(text, "{name:width$}  {shown}{gap}{detail}");
    }
    text.push('\n');
    let works: [(&str, &[&str]); 5] = [
        ("Building kernels", &["rustc for the device", "LLVM's opt and llc"]),
        ("Registers and SASS", &["ptxas", "nvdisasm"]),
        ("Running on a GPU", &["NVIDIA driver", "GPU"]),
        ("Running on several GPUs", &["NVIDIA driver", "GPU", "NCCL"]),
        ("Testing pages", &["Chromium"]),
    ];
    for (capability, needed) in works {
        let is_missing = |part: &&Part| needed.contains(&part.0) && part.1.is_err();
        let missing = parts.iter().find(is_missing);
        let shown = answer(missing.is_none());
        let _ = match missing {
            None => writeln!(text, "{capability}: {shown}"),
            Some((name, _)) => writeln!(text, "{capability}: {shown} ({name} is missing)"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn capabilities_depend_on_found_parts() {
        let found = |text: &str| Ok(text.to_owned());
        let missing = |text: &str| Err(text.to_owned());
        let parts = [
            ("rustc for the device", found("1.96.0 (/usr/bin/rustc)")),
            ("LLVM's opt and llc", found("22.1.8")),
            ("ptxas", found("13.5")),
            ("nvdisasm", missing("no nvdisasm was found")),
            ("NVIDIA driver", found("for CUDA 13.0 (libcuda.so.1)")),
            ("GPU", missing("the driver finds no GPU")),
            ("Chromium", missing("none")),
        ];
        assert_eq!(
            text(&parts, false),
            "\
rustc for the device  yes  1.96.0 (/usr/bin/rustc)
LLVM's opt and llc    yes  22.1.8
ptxas                 yes  13.5
nvdisasm              no   no nvdisasm was found
NVIDIA driver         yes  for CUDA 13.0 (libcuda.so.1)
GPU                   no   the driver finds no GPU
Chromium              no   none

Building kernels: yes
Registers and SASS: no (nvdisasm is missing)
Running on a GPU: no (GPU is missing)
Running on several GPUs: no (GPU is missing)
Testing pages: no (Chromium is missing)
"
        );
    }
}
