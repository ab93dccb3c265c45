//! Process isolation: a child process, which runs this program again, does work that can break its process.
//!
//! A kernel that faults destroys all state of its process on the GPU, and a kernel that never ends stops only when its
//! process ends. Commands that launch kernels on a GPU therefore start this program again, with the same arguments and
//! with a request in the environment variable `LADDER_REQUEST`. A child writes each result to its output as a line that
//! consists of a mark and JSON. An error that ends the child is reported the same way. All other lines are output of
//! the child's kernels, which the parent prints. When the child exits without a result, or writes no result before a
//! time limit, the parent blames the launch that the child was working on. The parent then ends the child and starts
//! the next one with a request for the remaining work.
//!
//! | command | request | results |
//! |---|---|---|
//! | `ladder run`, `ladder check` | the position of the first launch ([`launcher`](crate::launcher)) | one for each launch |
//! | `lab versus` | the contestants that broke earlier children | the measurement, or the contestant that breaks this child |
//! | `lab pitfalls` | a kernel | one for the kernel |
//!
//! compute-sanitizer is started the same way, but its output is text. The ranks of `lab launch` are not children in
//! this sense: each rank runs a complete command and shows that command's results.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use simt::run::is_interrupted;

use crate::command::Env;
use crate::error::Error;

/// The environment variable that makes this program a child, with the request in JSON.
pub(crate) const VARIABLE: &str = "LADDER_REQUEST";

/// The mark at the start of a message. Output of kernels can precede the mark on the same line.
const MARK: &str = "#message-of-ladder ";

/// How often the parent checks for an interruption.
const PERIOD: Duration = Duration::from_millis(50);

/// The time that a child may take to exit after its last message.
const EXIT: Duration = Duration::from_secs(10);

/// A result, or the text of an error and the exit code for it.
type Message<M> = Result<M, (String, u8)>;

/// The reason why a child has no result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The child wrote no result for this long.
    #[error("its process did not return a result within {} s", .0.as_secs())]
    TimeOut(Duration),
    /// The child exited, or wrote a message that is not a result.
    #[error("{0}")]
    Exit(String),
}

/// Returns the request to this process, if it is a child.
///
/// # Errors
/// Returns [`Error::Request`] when the request is of another kind.
pub fn request<R: DeserializeOwned>(env: &Env<'_>) -> Result<Option<R>, Error> {
    let request = env.request.map(serde_json::from_str).transpose();
    request.map_err(|why| Error::Request(format!("cannot read {VARIABLE}: {why}")))
}

/// Sends a result of this process, or the error that ends it, to the parent.
///
/// # Errors
/// Returns an error when the message cannot be written.
pub fn send<M: Serialize>(result: Result<M, &Error>, out: &mut dyn Write) -> io::Result<()> {
    let message: Message<M> = result.map_err(|error| (error.to_string(), error.exit_code()));
    writeln!(out, "{MARK}{}", serde_json::to_string(&message)?)?;
    out.flush()
}

/// Returns a command that starts `program` with the arguments of this process and a request.
///
/// # Errors
/// Returns [`Error::Request`] when the path of this program is unknown.
pub fn command(env: &Env<'_>, request: &impl Serialize) -> Result<Command, Error> {
    let words = env.command.and_then(<[_]>::split_first);
    let (program, args) = words.ok_or_else(|| Error::Request("this program cannot start itself".into()))?;
    let mut command = Command::new(program);
    command.args(args).env(VARIABLE, serde_json::to_string(request).map_err(io::Error::from)?);
    Ok(command)
}

/// A running process and the lines of its output. Dropping it ends the process and its kernels.
pub struct Isolated {
    child: Child,
    lines: Receiver<String>,
}

impl Isolated {
    /// Starts a process without input, usually of [`command`].
    ///
    /// # Errors
    /// Returns an error when the process cannot be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let (sender, lines) = channel();
        if let Some(out) = child.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(out).split(b'\n').map_while(Result::ok);
                lines.map(|line| String::from_utf8_lossy(&line).into_owned()).try_for_each(|line| sender.send(line))
            });
        }
        Ok(Self { child, lines })
    }

    /// Waits up to `limit` for the next result and prints the output of kernels. The inner error says why the result
    /// is missing.
    ///
    /// # Errors
    /// Returns [`Error::Failed`] with the child's error, and [`engine::Error::Interrupted`] when the user interrupts
    /// the program.
    pub fn result<M: DeserializeOwned>(&mut self, limit: Duration) -> Result<Result<M, Failure>, Error> {
        let start = Instant::now();
        loop {
            let line = match self.line(start, limit)? {
                Ok(line) => line,
                Err(why) => return Ok(Err(why)),
            };
            let Some((printed, message)) = line.split_once(MARK) else {
                print(&(line + "\n"));
                continue;
            };
            print(printed);
            return match serde_json::from_str::<Message<M>>(message) {
                Ok(Ok(result)) => Ok(Ok(result)),
                Ok(Err((text, code))) => Err(Error::Failed { text, code }),
                Err(why) => Ok(Err(Failure::Exit(format!("its process wrote `{message}`: {why}")))),
            };
        }
    }

    /// Waits for the next line of output, until `limit` after `start`.
    ///
    /// # Errors
    /// Returns [`engine::Error::Interrupted`] when the user interrupts the program.
    pub fn line(&mut self, start: Instant, limit: Duration) -> Result<Result<String, Failure>, Error> {
        loop {
            let line = self.lines.recv_timeout(PERIOD);
            return match line {
                _ if is_interrupted() => Err(engine::Error::Interrupted.into()),
                Ok(line) => Ok(Ok(line)),
                Err(RecvTimeoutError::Timeout) if start.elapsed() < limit => continue,
                Err(RecvTimeoutError::Timeout) => Ok(Err(Failure::TimeOut(limit))),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.status().map_or(String::new(), |status| format!(" ({status})"));
                    Ok(Err(Failure::Exit(format!("its process exited without a result{status}"))))
                }
            };
        }
    }

    /// Waits up to a time limit until a child without further results has exited, and prints the output of kernels.
    pub fn finish(mut self) {
        let start = Instant::now();
        while let Ok(Ok(line)) = self.line(start, EXIT) {
            print(&(line + "\n"));
        }
    }

    /// Waits up to a time limit until the process has exited.
    fn status(&mut self) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(None) if start.elapsed() < EXIT => thread::sleep(PERIOD),
                status => return status.ok().flatten(),
            }
        }
    }
}

/// Prints the output of kernels.
fn print(text: &str) {
    // If the reader has closed the pipe, there is no way to report the error.
    let _ = io::stdout().write_all(text.as_bytes());
}

impl Drop for Isolated {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// The tests start a shell, which only exists on Unix.
#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_process_has_results_or_a_failure() {
        let shell = |script: &str, seconds: f64| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            Isolated::start(command).unwrap().result::<u32>(Duration::from_secs_f64(seconds))
        };
        assert_eq!(shell(r#"echo '#message-of-ladder {"Ok":7}'; exit 1"#, 30.0).unwrap().unwrap(), 7);
        let error = shell(r#"printf 'of a kernel#message-of-ladder {"Err":["no", 2]}'"#, 30.0).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.exit_code()), ("no", 2));
        let reason = |script, seconds| shell(script, seconds).unwrap().unwrap_err().to_string();
        assert_eq!(reason("exec sleep 30", 0.1), "its process did not return a result within 0 s");
        assert_eq!(reason("exit 3", 30.0), "its process exited without a result (exit status: 3)");
        assert!(reason("echo '#message-of-ladder broken'", 30.0).starts_with("its process wrote `broken`: "));
        assert!(Isolated::start(Command::new("no/such/program")).is_err());
    }
}
