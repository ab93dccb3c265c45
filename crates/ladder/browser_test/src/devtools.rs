//! Chromium as a process, and the messages to and from it: the Chrome DevTools Protocol, as JSON that ends with a zero byte,
//! over the pipe that `--remote-debugging-pipe` asks for.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long Chromium may take for an answer, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// Chromium asks nobody on the network for anything: it has no services of its own, and finds no other simulator.
const ARGUMENTS: [&str; 19] = [
    "--remote-debugging-pipe",
    "--headless",
    // Containers lack what its sandbox needs, and often a large /dev/shm. The pages are the tests' own.
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

/// A Chromium that runs, and what it says.
pub(crate) struct DevTools {
    child: Child,
    /// `None` when it is to end.
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    next: u64,
    /// Its profile, and what it complains of in the file `log`.
    folder: TempDir,
}

impl DevTools {
    /// Starts the program.
    ///
    /// # Panics
    /// When it cannot be started.
    pub(crate) fn start(program: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let log = File::create(folder.path().join("log")).expect("a file can be made in it");
        let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
        let mut child = Command::new("sh")
            // Chromium takes messages from file 3, and writes to 4.
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
        let messages = BufReader::new(from.expect("its output is a pipe")).split(0).map_while(Result::ok);
        thread::spawn(move || {
            let mut messages = messages.filter_map(|bytes| serde_json::from_slice(&bytes).ok());
            messages.try_for_each(|message| sender.send(message))
        });
        Self { child, to, from: receiver, next: 0, folder }
    }

    /// Sends a command without waiting for its answer, and returns the number that the answer will have. An empty session
    /// is the browser itself.
    pub(crate) fn send(&mut self, session: &str, method: &str, parameters: &Value) -> u64 {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        let sent = self.to.as_mut().map(|to| to.write_all(format!("{message}\0").as_bytes()));
        if !matches!(sent, Some(Ok(()))) {
            self.fail(method, "it has ended");
        }
        self.next
    }

    /// The next message, an event or an answer; `None` when there is none until `end`.
    pub(crate) fn receive(&self, end: Instant, doing: &str) -> Option<Value> {
        match self.from.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => self.fail(doing, "it has ended"),
        }
    }

    /// Sends a command and waits for its answer. `event` gets what is said meanwhile.
    ///
    /// # Panics
    /// When Chromium refuses the command, has ended, or does not answer.
    pub(crate) fn call(
        &mut self,
        session: &str,
        method: &str,
        parameters: &Value,
        mut event: impl FnMut(&mut Self, Value),
    ) -> Value {
        let (id, end) = (self.send(session, method, parameters), end());
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

    /// Panics with the reason, and what Chromium wrote last.
    pub(crate) fn fail(&self, doing: &str, why: &str) -> ! {
        let log = std::fs::read(self.folder.path().join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(10)..];
        panic!("Chromium, {doing}: {why}\n{}", last.join("\n"))
    }
}

/// When patience ends that begins now.
pub(crate) fn end() -> Instant {
    Instant::now() + PATIENCE
}

impl Drop for DevTools {
    /// Ends Chromium: without its pipe it has nothing to do.
    fn drop(&mut self) {
        self.to = None;
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        // It may end at this very moment.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
