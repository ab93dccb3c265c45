//! Launches on a GPU, by processes that are this program again.
//!
//! A fault of a kernel ends everything that its process has on a GPU, and a kernel that never ends is ended only with its
//! process. So a process of its own runs the launches of a ladder, one after the other, and writes what comes of each. When
//! a launch fails, or the process dies, the next process goes on with the launch after it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use engine::problem::{Picture, Verdict};
use engine::stats::Samples;
use engine::{Device, Ladder};
use serde::{Deserialize, Serialize};
use simt::run::is_interrupted;

use crate::command::Env;
use crate::error::Error;

/// What a message begins with: kernels print to the same output.
const MARK: &str = "#message-of-ladder ";

/// How long a process may be silent, in time limits of launches: before and behind a launch it works on the host.
const SILENCE: u32 = 15;

/// How often somebody who waits looks whether the run was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// How long a process may take to end after its last launch.
const END: Duration = Duration::from_secs(10);

/// How long commands wait for a launch.
#[derive(Args, Clone, Copy, Debug)]
pub struct LaunchLimit {
    /// How long a launch on a GPU may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,
}

impl LaunchLimit {
    /// How long a launch may take.
    pub fn time_limit(self) -> Duration {
        Duration::from_secs(self.time_limit)
    }
}

/// The arguments of commands that launch on a GPU.
#[derive(Args, Debug)]
pub(crate) struct ProcessArguments {
    #[command(flatten)]
    limit: LaunchLimit,
    /// Launch on a GPU in this process, for tools that look at one process only. Nothing runs after a launch that fails
    #[arg(long)]
    one_process: bool,
    /// Run the launches of a ladder from this one on, and write a message about each
    #[arg(long, hide = true)]
    worker: Option<Part>,
}

/// The launches of a ladder from that of the number `first` on.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    ladder: String,
    /// The number of the first launch.
    pub first: usize,
}

impl Part {
    /// Whether it is of this ladder.
    pub(crate) fn is_of(&self, ladder: &Ladder) -> bool {
        self.ladder == ladder.name
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = text.split_once(':').and_then(|(ladder, first)| Some((ladder.to_owned(), first.parse().ok()?)));
        part.map(|(ladder, first)| Self { ladder, first }).ok_or_else(|| "it has the form LADDER:NUMBER".to_owned())
    }
}

impl ProcessArguments {
    /// How long a launch may take.
    pub(crate) fn time_limit(&self) -> Duration {
        self.limit.time_limit()
    }

    /// What this process is to do for another one, if it was started for that.
    pub(crate) fn part(&self) -> Option<&Part> {
        self.worker.as_ref()
    }

    /// Closes a GPU whose launches other processes are to run; this process launches itself where that is not so.
    pub(crate) fn close(&self, env: &Env<'_>, device: Box<dyn Device>) -> Option<Box<dyn Device>> {
        let is_left = device.info().kind == "gpu" && env.command.is_some() && !self.one_process;
        Some(device).filter(|_| !is_left)
    }

    /// The processes for the launches of a ladder.
    pub(crate) fn workers<'a>(&self, env: &Env<'a>, ladder: &'static Ladder) -> Workers<'a> {
        let (command, silence) = (env.command.unwrap_or_default(), self.time_limit() * SILENCE);
        Workers { command, ladder, next: 0, silence, running: None }
    }
}

/// What a process says of a launch.
#[derive(Serialize, Deserialize)]
pub(crate) enum Message {
    /// What came of it.
    Result(LaunchResult),
    /// Why the device does not support it.
    NotSupported(String),
    /// Why neither it nor another one can be run, and the exit code for that.
    Error(String, u8),
}

/// What came of a launch on a GPU.
#[derive(Serialize, Deserialize)]
pub(crate) struct LaunchResult {
    pub verdict: Verdict,
    /// Whether the launch failed; the verdict has the reason.
    pub has_failed: bool,
    pub picture: Option<Picture>,
    pub samples: Option<Samples>,
    /// The number of sets of buffers that launches rotate through.
    pub sets: usize,
    /// Whether the process can launch anything more.
    pub is_usable: bool,
}

impl LaunchResult {
    fn failed(why: &str) -> Self {
        let verdict = Verdict::Wrong(format!("failed: {why}"));
        Self { verdict, has_failed: true, picture: None, samples: None, sets: 1, is_usable: false }
    }
}

/// Writes a message of this process.
pub(crate) fn send(message: &Message, out: &mut dyn Write) -> std::io::Result<()> {
    let text = serde_json::to_string(message).expect("messages have names and numbers");
    writeln!(out, "{MARK}{text}")?;
    out.flush()
}

/// Writes the error that ends this process, if there is one, and returns the exit code.
pub(crate) fn end(result: Result<(), Error>, out: &mut dyn Write) -> Result<u8, Error> {
    if let Err(error) = result {
        send(&Message::Error(error.to_string(), error.exit_code()), out)?;
    }
    Ok(0)
}

/// The processes that run the launches of a ladder, one process at a time.
pub(crate) struct Workers<'a> {
    /// This program and its arguments.
    command: &'a [OsString],
    ladder: &'static Ladder,
    /// The number of the next launch.
    next: usize,
    /// How long a process may be silent.
    silence: Duration,
    running: Option<Running>,
}

/// A process, and the lines that it writes.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Workers<'_> {
    /// Waits for the result of the next launch; `None` when the device does not support it, with the reason.
    ///
    /// # Errors
    /// [`Error::Failed`] with the process's own error when nothing can be run, [`Error::Output`] when no process can be started, and
    /// [`engine::Error::Interrupted`] when somebody has ended the run.
    pub(crate) fn result(&mut self) -> Result<Result<LaunchResult, String>, Error> {
        let running = match self.running.take() {
            Some(running) => running,
            None => Running::start(self.command, self.ladder, self.next)?,
        };
        self.next += 1;
        let result = match self.running.insert(running).message(self.silence)? {
            Ok(Message::Error(text, code)) => return Err(Error::Failed { text, code }),
            Ok(Message::NotSupported(why)) => return Ok(Err(why)),
            Ok(Message::Result(result)) => result,
            Err(why) => LaunchResult::failed(&why),
        };
        if !result.is_usable {
            self.running = None;
        }
        Ok(Ok(result))
    }

    /// Waits until the process has ended in order, after the last launch.
    pub(crate) fn end(&mut self) {
        self.running.take().and_then(|mut running| running.status());
    }
}

impl Running {
    fn start(command: &[OsString], ladder: &Ladder, first: usize) -> std::io::Result<Self> {
        let Some((program, args)) = command.split_first() else {
            return Err(std::io::Error::other("this program does not know how to start itself"));
        };
        let part = format!("{}:{first}", ladder.name);
        let mut command = Command::new(program);
        command.args(args).args(["--worker", &part]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (sender, lines) = channel();
        if let Some(out) = child.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(out).split(b'\n').map_while(Result::ok);
                lines.map(|line| String::from_utf8_lossy(&line).into_owned()).try_for_each(|line| sender.send(line))
            });
        }
        Ok(Self { child, lines })
    }

    /// Waits for the next message. What kernels print is printed. If the process says no more, the error has the reason.
    fn message(&mut self, silence: Duration) -> Result<Result<Message, String>, Error> {
        let begin = Instant::now();
        loop {
            match self.lines.recv_timeout(LOOK) {
                _ if is_interrupted() => return Err(engine::Error::Interrupted.into()),
                Ok(line) => match line.split_once(MARK) {
                    Some((before, message)) => {
                        print!("{before}");
                        return Ok(
                            serde_json::from_str(message).map_err(|why| format!("its process says `{message}`: {why}"))
                        );
                    }
                    None => println!("{line}"),
                },
                Err(RecvTimeoutError::Timeout) if begin.elapsed() < silence => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Ok(Err(format!("its process has said nothing for {} s, and was ended", silence.as_secs())));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.status().map_or(String::new(), |status| format!(" ({status})"));
                    return Ok(Err(format!("its process has ended without a word{status}")));
                }
            }
        }
    }

    /// Waits for the end of the process, but not for ever.
    fn status(&mut self) -> Option<ExitStatus> {
        let begin = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(None) if begin.elapsed() < END => thread::sleep(LOOK),
                status => return status.ok().flatten(),
            }
        }
    }
}

impl Drop for Running {
    /// Ends the process. Its kernels end with it.
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
