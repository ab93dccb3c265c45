//! Installs packages of Debian and its derivatives.

use std::process::Command;

use crate::console::{Failure, Result, status};
use crate::process::output;

/// Installs packages. Messages state the `purpose` of the packages.
///
/// # Errors
/// Returns a failure when there is no apt-get or the user is not root (exit code 2), and when apt-get fails.
pub(super) fn install(packages: &[&str], purpose: &str) -> Result<()> {
    let names = packages.join(" ");
    if locate::on_path("apt-get").is_empty() {
        return Err(Failure::request(format!("{purpose} is missing"))
            .help(format!("install it with this system's package manager (on Debian: {names})")));
    }
    if output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() != "0") {
        // Without -E, sudo drops the variables of a proxy.
        let help = format!("`sudo -E sh -c 'apt-get update && apt-get install -y --no-install-recommends {names}'`");
        return Err(Failure::request(format!("{purpose} is missing, and only root can install it")).help(help));
    }
    status("Installing", format_args!("{purpose} with apt-get: {names}"));
    let apt_get = |arguments: &[&str]| {
        output(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(arguments)).map_err(|failure| {
            let reason = failure.message.lines().find(|line| line.starts_with("E: "));
            Failure::new(reason.unwrap_or(&failure.message))
                .help(format!("fix the error, then repeat this command or run `apt-get install {names}`"))
        })
    };
    // A fresh container has no package lists.
    apt_get(&["update"])?;
    // Only the user may decide to remove an installed package.
    apt_get(&[&["install", "--yes", "--no-install-recommends", "--no-remove"], packages].concat())?;
    Ok(())
}
