//! Checks the licenses, sources, versions and known bugs of the dependencies: cargo-deny compares them with
//! `deny.toml`.

use std::process::Command;

use crate::console::{Failure, Result, status};
use crate::install;
use crate::process::{output, root, run_showing_output};

/// Runs cargo-deny. The database of known bugs needs the network; without it, cargo-deny checks the rest.
pub(super) fn check() -> Result<()> {
    let program = install::deny::program()?;
    let deny = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(root());
        command
    };
    let mut checks = vec!["check", "--hide-inclusion-graph", "bans", "licenses", "sources"];
    match output(&mut deny(&["fetch", "db"])) {
        Ok(_) => checks.push("advisories"),
        Err(_) => status("Skipping", "advisories: their database (github.com/RustSec/advisory-db) cannot be reached"),
    }
    run_showing_output(&mut deny(&checks)).map_err(|failure| {
        Failure::new(failure.message).help("cargo-deny reports the reason above; deny.toml lists what is allowed")
    })
}
