//! Packages of Debian and its relatives.

use std::process::Command;

use crate::console::{Failure, Result, status};
use crate::process::{output, visibly};

/// Installs packages. The message names their purpose.
/// Fails when there is no apt-get or we are not root (exit code 2, with the command to run), and when apt fails.
pub(super) fn install(packages: &[&str], purpose: &str) -> Result<()> {
    let names = packages.join(" ");
    let command = format!("sudo apt-get update && sudo apt-get install -y --no-install-recommends {names}");
    let is_root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !is_root || locate::on_path("apt-get").is_empty() {
        return Err(Failure::request(format!("{purpose} is missing, and cannot be installed from here"))
            .help(format!("on Debian or Ubuntu run this, then the same command again:\n  {command}")));
    }
    status("Installing", format_args!("{purpose} with apt-get: {names}"));
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet=2");
        command
    };
    // A fresh container has no lists of packages at all.
    visibly(apt_get().arg("update"))?;
    // Removing a package for the sake of ours is for the user to decide.
    let options = ["install", "--yes", "--no-install-recommends", "--no-remove"];
    visibly(apt_get().args(options).args(packages))
        .map_err(|failure| failure.help(format!("apt says why above; to see it again: {command}")))
}
