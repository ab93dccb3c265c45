//! Cargo, started from a program that cargo started.

use std::process::{Command, ExitCode};

use super::root;
use crate::failure::{Failure, Result};
use crate::style::status;

/// `cargo` in the repository's root, without what the outer cargo told this program about its own package.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(of_the_outer_package) {
            command.env_remove(&name);
        }
    }
    command
}

/// Builds a program of a package for release and runs it with these arguments: its exit code.
///
/// # Errors
/// Cargo cannot be started. What the program has to complain of, it says itself.
pub fn run_program<'a>(
    package: &str,
    program: &str,
    args: impl IntoIterator<Item = &'a str>,
) -> Result<ExitCode> {
    let args: Vec<&str> = args.into_iter().collect();
    status("Running", format_args!("{program} {}", args.join(" ")));
    let mut command = cargo();
    command.args([
        "run",
        "--release",
        "--package",
        package,
        "--bin",
        program,
        "--",
    ]);
    let status = command
        .args(&args)
        .status()
        .map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Variables that describe the package being run, and not how the user set cargo up.
fn of_the_outer_package(variable: &str) -> bool {
    let exact = [
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "CARGO_CRATE_NAME",
        "CARGO_BIN_NAME",
        "OUT_DIR",
    ];
    let prefixes = [
        "CARGO_PKG_",
        "CARGO_BIN_EXE_",
        "CARGO_CFG_",
        "CARGO_FEATURE_",
    ];
    exact.contains(&variable) || prefixes.iter().any(|prefix| variable.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::of_the_outer_package;

    #[test]
    fn settings_stay() {
        for kept in [
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "CARGO_NET_OFFLINE",
            "CARGO_TERM_COLOR",
            "RUSTUP_TOOLCHAIN",
        ] {
            assert!(!of_the_outer_package(kept), "{kept}");
        }
        for removed in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "OUT_DIR"] {
            assert!(of_the_outer_package(removed), "{removed}");
        }
    }
}
