//! Programs for tests that are shell scripts.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable file.
///
/// Another process writes it. A file that this process writes may be open in a child that another test's thread starts
/// in that moment, and the system refuses to execute files that someone has open for writing ("Text file busy").
pub(crate) fn write(path: &Path, script: &str) {
    let mut shell = Command::new("sh")
        .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
}
