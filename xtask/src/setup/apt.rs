//! Packages of Debian and its relatives.

use std::process::Command;

use super::Missing;
use crate::failure::{Failure, Result};
use crate::style::status;
use crate::tools::{output, visibly};

/// Debian's current Rust, kept for building browsers, and its library's sources.
const RUSTC: [&str; 2] = ["rustc-web", "rust-web-src"];
/// How many LLVM versions newer than the compiler's are tried.
const NEWER_LLVMS: u32 = 3;

/// Installs what a device compiler lacks.
pub(super) fn install_device(missing: Missing) -> Result<()> {
    if which::which("apt-get").is_err() {
        return Err(Failure::request("this machine has neither a device compiler nor apt-get to install one with")
            .hint("with rustup: `rustup target add nvptx64-nvidia-cuda` and `rustup component add llvm-tools`"));
    }
    // A fresh container has no lists of packages at all, and then nothing below finds anything.
    if is_root() {
        update()?;
    }
    let packages = match missing {
        Missing::Rustc => {
            if let Some(version) = candidate(RUSTC[0])
                && older(&version, env!("CARGO_PKG_RUST_VERSION"))
            {
                let needed = env!("CARGO_PKG_RUST_VERSION");
                return Err(Failure::new(format!(
                    "apt's newest rustc-web is {version}; the kernels need {needed}"
                ))
                .hint("is the distribution's security archive among apt's sources?"));
            }
            // The LLVM that it links with, where apt can tell now.
            let llvm = linked_llvm(RUSTC[0]).and_then(llvm_package);
            RUSTC
                .iter()
                .map(|&name| name.to_owned())
                .chain(llvm)
                .collect()
        }
        Missing::Llvm(major) => {
            vec![llvm_package(major).unwrap_or_else(|| format!("llvm-{major}"))]
        }
    };
    install(&packages, "the device compiler")
}

/// Installs packages, saying what for.
///
/// # Errors
/// Exit code 2 with the command to run if we are not root; otherwise that apt failed, and how.
pub(crate) fn install(packages: &[String], purpose: &str) -> Result<()> {
    let names = packages.join(" ");
    if !is_root() {
        return Err(Failure::request(format!(
            "{purpose} is missing, and installing it takes root"
        ))
        .hint(format!(
            "run this, then the same command again:\n  \
             sudo apt-get update && sudo apt-get install -y --no-install-recommends {names}"
        )));
    }
    status(
        "Installing",
        format_args!("{purpose} with apt-get: {names}"),
    );
    // Removing a package for the sake of ours is for the user to decide.
    let options = [
        "install",
        "--yes",
        "--quiet=2",
        "--no-install-recommends",
        "--no-remove",
    ];
    visibly(apt_get().args(options).args(packages)).map_err(|failure| {
        failure.hint(format!(
            "apt says why above; to see it again: apt-get install --no-install-recommends {names}"
        ))
    })
}

fn update() -> Result<()> {
    status("Running", "apt-get update");
    visibly(apt_get().args(["update", "--quiet=2"]))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["-o", "Dpkg::Use-Pty=0"]);
    command
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// The version of a package that apt would install.
fn candidate(package: &str) -> Option<String> {
    parse_candidate(&apt_cache("policy", package)?)
}

/// What apt-cache says of a package, in English.
fn apt_cache(question: &str, package: &str) -> Option<String> {
    output(
        Command::new("apt-cache")
            .args([question, package])
            .env("LC_ALL", "C"),
    )
    .ok()
}

fn parse_candidate(policy: &str) -> Option<String> {
    let version = policy
        .lines()
        .find_map(|line| line.trim().strip_prefix("Candidate:"))?
        .trim();
    (version != "(none)").then(|| version.to_owned())
}

/// The package of LLVM's tools of this major version, or of the next ones.
fn llvm_package(major: u32) -> Option<String> {
    (major..=major + NEWER_LLVMS)
        .map(|major| format!("llvm-{major}"))
        .find(|package| candidate(package).is_some())
}

/// The major version of the LLVM that a rustc package links with, found through Rust's libraries.
fn linked_llvm(package: &str) -> Option<u32> {
    let depends = parse_depends(&apt_cache("depends", package)?);
    let direct = depends
        .iter()
        .find_map(|name| name.strip_prefix("libllvm")?.parse().ok());
    direct.or_else(|| {
        depends
            .iter()
            .filter(|name| name.starts_with("libstd-rust"))
            .find_map(|name| linked_llvm(name))
    })
}

fn parse_depends(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .map(str::to_owned)
        .collect()
}

/// Whether a Debian version such as `1.85.0+dfsg3-1` is older than a Rust version such as `1.95`.
fn older(version: &str, needed: &str) -> bool {
    let parts = |text: &str| {
        let mut numbers = text
            .split(|c: char| !c.is_ascii_digit())
            .map(|part| part.parse::<u32>().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    };
    parts(version) < parts(needed)
}

#[cfg(test)]
mod tests {
    use super::{older, parse_candidate, parse_depends};

    #[test]
    fn candidates() {
        let policy = "rustc-web:\n  Installed: (none)\n  Candidate: 1.96.0+dfsg1-1~deb12u2\n  Version table:\n";
        assert_eq!(
            parse_candidate(policy).as_deref(),
            Some("1.96.0+dfsg1-1~deb12u2")
        );
        assert_eq!(
            parse_candidate("x:\n  Installed: (none)\n  Candidate: (none)\n"),
            None
        );
        assert_eq!(parse_candidate(""), None);
    }

    #[test]
    fn old_and_new_enough() {
        assert!(older("1.85.0+dfsg3-1~deb12u3", "1.95"));
        assert!(!older("1.96.0+dfsg1-1~deb12u2", "1.95"));
        assert!(!older("1.95.0", "1.95"));
        assert!(!older("2.0", "1.95"));
    }

    #[test]
    fn dependencies() {
        let text =
            "libstd-rust-web-1.96\n  Depends: libc6\n  Depends: libllvm22\n  Conflicts: <rustup>\n";
        assert_eq!(parse_depends(text), ["libc6", "libllvm22"]);
    }
}
