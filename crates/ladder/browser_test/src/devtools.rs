//! Runs Chromium as a process and exchanges messages with it. The messages follow the Chrome DevTools Protocol: JSON
//! that ends with a zero byte, over the pipe of `--remote-debugging-pipe`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The maximum time that Chromium can take to answer on a busy computer.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// With these arguments, Chromium makes no network requests, because its services are disabled and only local host
/// names resolve.
const ARGUMENTS: [&str; 19] = [
    "--remote-debugging-pipe",
    "--headless",
    // Containers lack the kernel features that Chromium's sandbox needs, and often a large /dev/shm. The pages belong
    // to the tests, so no sandbox is needed.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--mute-audio",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

/// A running Chromium, and the connection to it.
pub(crate) struct DevTools {
    child: Child,
    /// `None` after the request to exit.
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    next: u64,
    /// The folder that holds Chromium's profile, and Chromium's error output in the file `log`.
    folder: TempDir,
}

impl DevTools {
    /// Starts Chromium.
    ///
    /// # Panics
    /// Panics when Chromium cannot be started.
    pub(crate) fn start(program: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let log = File::create(folder.path().join("log")).expect("the log file can be created");
        let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
        let mut child = Command::new("sh")
            // Chromium reads messages from file descriptor 3 and writes messages to file descriptor 4.
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#])
            .arg(program)
            .args(ARGUMENTS)
            .arg(profile)
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("sh can be started");
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let (sender, receiver) = channel();
        let messages = BufReader::new(from.expect("the output of sh is a pipe")).split(0).map_while(Result::ok);
        thread::spawn(move || {
            let mut messages = messages.filter_map(|bytes| serde_json::from_slice(&bytes).ok());
            messages.try_for_each(|message| sender.send(message))
        });
        Self { child, to, from: receiver, next: 0, folder }
    }

    /// Sends a command without waiting for the answer, and returns the ID that the answer will have. An empty session
    /// stands for the browser itself.
    pub(crate) fn send(&mut self, session: &str, method: &str, parameters: &Value) -> u64 {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        let sent = self.to.as_mut().map(|to| to.write_all(format!("{message}\0").as_bytes()));
        if !matches!(sent, Some(Ok(()))) {
            self.fail(method, "it has exited");
        }
        self.next
    }

    /// Returns the next message, which is an event or an answer, or `None` if no message arrives before `end`.
    pub(crate) fn receive(&self, end: Instant, action: &str) -> Option<Value> {
        match self.from.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => self.fail(action, "it has exited"),
        }
    }

    /// Sends a command and waits for the answer. Events that arrive in the meantime are passed to `event`.
    ///
    /// # Panics
    /// Panics when Chromium rejects the command, has exited, or does not answer.
    pub(crate) fn call(
        &mut self,
        session: &str,
        method: &str,
        parameters: &Value,
        mut event: impl FnMut(&mut Self, Value),
    ) -> Value {
        let (id, end) = (self.send(session, method, parameters), time_limit());
        while let Some(mut message) = self.receive(end, method) {
            if message["id"] != id {
                event(self, message);
            } else if message["error"].is_null() {
                return message["result"].take();
            } else {
                self.fail(method, &message["error"].to_string());
            }
        }
        self.fail(method, "it does not answer")
    }

    /// Panics with the reason and the last lines of Chromium's error output.
    pub(crate) fn fail(&self, action: &str, why: &str) -> ! {
        let log = std::fs::read(self.folder.path().join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(10)..];
        panic!("Chromium, {action}: {why}\n{}", last.join("\n"))
    }
}

/// Returns the time limit for an operation that starts now.
pub(crate) fn time_limit() -> Instant {
    Instant::now() + TIME_LIMIT
}

impl Drop for DevTools {
    /// Closes the pipe, which makes Chromium exit.
    fn drop(&mut self) {
        self.to = None;
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        // Chromium may have exited in the meantime.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
