//! Packages of Debian and its relatives.

use std::process::Command;

use crate::console::{Failure, Result, status};
use crate::process::{output, visibly};

/// Installs packages. The messages name their purpose.
///
/// # Errors
/// If there is no apt-get or the user is not root (exit code 2), and if apt-get fails.
pub(super) fn install(packages: &[&str], purpose: &str) -> Result<()> {
    let names = packages.join(" ");
    if locate::on_path("apt-get").is_empty() {
        return Err(Failure::request(format!("{purpose} is missing"))
            .hint(format!("install it with this system's package manager; Debian's package is {names}")));
    }
    if output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() != "0") {
        // Without -E, sudo drops the variables of a proxy.
        let help = format!("`sudo -E sh -c 'apt-get update && apt-get install -y --no-install-recommends {names}'`");
        return Err(Failure::request(format!("{purpose} is missing, and only root can install it")).hint(help));
    }
    status("Installing", format_args!("{purpose} with apt-get: {names}"));
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet=2");
        command
    };
    // A fresh container has no lists of packages at all.
    visibly(apt_get().arg("update"))
        // Removing a package for the sake of ours is for the user to decide.
        .and_then(|()| {
            let options = ["install", "--yes", "--no-install-recommends", "--no-remove"];
            visibly(apt_get().args(options).args(packages))
        })
        .map_err(|failure| {
            Failure::new(format!("{purpose} could not be installed: {}", failure.message))
                .hint(format!("apt-get gives the reason above; then `apt-get install {names}`, or this command again"))
        })
}
