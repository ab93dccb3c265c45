//! The dependencies: their licences, sources, versions and known faults, which cargo-deny holds against `deny.toml`.

use std::process::Command;

use crate::console::{Failure, Result, status};
use crate::install;
use crate::process::{output, root, visibly};

/// Runs cargo-deny. What is known to be wrong with versions of crates is a database that only the network has: without a
/// network, the rest is checked.
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
        Err(_) => status("Skipping", "advisories: their database (github.com/RustSec/advisory-db) is out of reach"),
    }
    visibly(&mut deny(&checks)).map_err(|failure| {
        Failure::new(failure.message).help("cargo-deny says above what it found; deny.toml says what is allowed")
    })
}
