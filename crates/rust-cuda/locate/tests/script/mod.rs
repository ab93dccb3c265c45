//! Creates shell scripts that tests run as programs.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable file.
///
/// Another process writes the file. If this process wrote it, a child that another test starts at the same time could
/// inherit the open file. The system does not execute a file that is open for writing ("Text file busy").
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
