//! `lab launch`: starts this program once for each rank, with the environment variables that tell the process which
//! rank it is.

use std::ffi::OsString;
use std::net::TcpListener;
use std::process::{Child, Command as Process, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::{ArgMatches, Args, FromArgMatches};
use simt::run::is_interrupted;
use simt_check::diagnostic::print_error;

use cli::Env;
use cli::Error;
use cli::command::{Command, INTERRUPTED, Output};

pub(crate) const LAUNCH: Command = Command {
    name: "launch",
    about: "Start a command once per rank, with one process and one device each: lab launch --ranks 4 -- run reduce",
    arguments: |command, _| Arguments::augment_args(command),
    execute,
};

/// The interval between checks of the processes.
const LOOK: Duration = Duration::from_millis(20);

/// The time allowed for the other ranks to detect that a rank ended.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Args, Debug)]
struct Arguments {
    /// Number of ranks, all on this computer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    ranks: u64,
    /// Command of `ladder` that each rank runs
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The process of a rank. It is killed when this value is dropped.
struct Rank(Child);

impl Drop for Rank {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let Arguments { ranks, command } = Arguments::from_arg_matches(matches)?;
    let program = env.command.and_then(|command| command.first());
    let program = program.ok_or_else(|| Error::Request("this program cannot start itself".to_owned()))?;
    // The port is free now, and the first rank will soon listen on it.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    to.out.flush()?;
    let start = |rank: u64| {
        let rank_text = rank.to_string();
        let variables = [
            ("RANK", rank_text.as_str()),
            ("LOCAL_RANK", &rank_text),
            ("WORLD_SIZE", &ranks.to_string()),
            ("MASTER_ADDR", "127.0.0.1"),
            ("MASTER_PORT", &port.to_string()),
        ];
        let mut process = Process::new(program);
        process.args(&command).envs(variables).stdin(Stdio::null());
        process.spawn().map(Rank)
    };
    let mut running: Vec<Option<Rank>> = (0..ranks).map(|rank| start(rank).map(Some)).collect::<Result<_, _>>()?;
    let (mut code, mut failed) = (0, None);
    while running.iter().any(Option::is_some) {
        if is_interrupted() {
            return Ok(INTERRUPTED);
        }
        for (rank, place) in running.iter_mut().enumerate() {
            let Some(Rank(process)) = place else { continue };
            let Some(status) = process.try_wait()? else { continue };
            *place = None;
            if !status.success() {
                if status.code().is_none() {
                    print_error(to.err, &format!("rank {rank} was terminated: {status}"));
                }
                code = code.max(status.code().map_or(1, |code| code.clamp(1, 255) as u8));
                failed.get_or_insert_with(Instant::now);
            }
        }
        if failed.is_some_and(|since| since.elapsed() > PATIENCE) {
            let remaining =
                running.iter().enumerate().filter_map(|(rank, place)| place.as_ref().map(|_| rank.to_string()));
            let remaining: Vec<String> = remaining.collect();
            print_error(to.err, &format!("a rank failed, and these ranks are still running: {}", remaining.join(", ")));
            break;
        }
        thread::sleep(LOOK);
    }
    Ok(code)
}
