//! What `simt` can be asked for.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::spec::Spec;
use crate::run::Schedule;

/// Runs GPU kernels on the CPU: PTX text, warp by warp, with counters of what a GPU would do.
#[derive(Debug, Parser)]
#[command(name = "simt", version)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a kernel; exit code 1 if it faults, 2 if the PTX or the arguments are bad
    Run(Run),
    /// List a file's kernels: parameters, shared memory, and what of them cannot be run (exit code 2 then)
    Check(Check),
}

#[derive(Args, Debug)]
#[command(after_help = SPECS)]
pub(super) struct Run {
    /// A file of PTX text
    pub(super) file: PathBuf,
    /// The kernel: an .entry of the file
    #[arg(long, value_name = "NAME")]
    pub(super) entry: String,
    /// Blocks, in x or also y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sides)]
    pub(super) grid: [u32; 3],
    /// Threads of a block, in x or also y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sides)]
    pub(super) block: [u32; 3],
    /// Dynamic shared memory of a block
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(super) shared: u32,
    /// The kernel's arguments, in the order of its parameters
    #[arg(long, value_name = "SPEC", num_args = 1..)]
    pub(super) arg: Vec<Spec>,
    /// Print argument I after the run, all of it or its first COUNT elements; the first argument is 0
    #[arg(long, value_name = "I[:COUNT]", num_args = 1.., value_parser = print)]
    pub(super) print: Vec<Print>,
    /// Write argument I to a file after the run, raw and little-endian
    #[arg(long, value_name = "I=FILE", num_args = 1.., value_parser = save)]
    pub(super) save: Vec<Save>,
    /// Count instructions, memory traffic, bank conflicts and branches, and print the counters
    #[arg(long)]
    pub(super) count: bool,
    /// Threads of this machine to run on [default: one a core]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) threads: Option<u32>,
    /// End the run with a fault after so many instructions of warps
    #[arg(long, value_name = "N", default_value_t = crate::Config::default().max_instructions)]
    pub(super) max_instructions: u64,
    /// End the run with a fault after so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(super) time_limit: Option<Duration>,
    /// In which order blocks, warps and diverged lanes run: fixed, round-robin or random:SEED. Where the order matters,
    /// the kernel has a race
    #[arg(long, value_name = "ORDER", default_value_t)]
    pub(super) schedule: Schedule,
    /// Print one JSON object: entry, seconds, counters, and in buffers what --print names
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Check {
    /// A file of PTX text
    pub(super) file: PathBuf,
}

const SPECS: &str = "\
SPEC is a scalar or a buffer; its TYPE is i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64:
  i32:-5  u64:7  f32:1.5  f64:-inf  f16:nan
  i32[1024]             1024 zeros
  i32[1024]=iota        0, 1, 2, …
  i32[1024]=rand:SEED   pseudo-random: integers 0 to 255 (i8: -128 to 127), floats from 0 up to 1
  i32[1024]=file:PATH   the file's bytes, raw and little-endian, as many as the buffer has
  i32[1024]=uninit      every byte 0xa5

rand: element I is made of the 64 bits that SplitMix64 with this seed gives as its output I, from 0.
Integers are their top 8 bits; f16, f32 and f64 their top 11, 24 and 53 bits, over 2 to that power.

With --json, elements that are no numbers are the strings \"nan\", \"inf\" and \"-inf\", and a counter that
has nothing to divide by is null.

Example:
  simt run saxpy.ptx --entry saxpy --grid 4 --block 256 \\
    --arg f32:2 f32[1024]=iota f32[1024]=rand:1 u32:1024 --print 2:8 --count";

fn sides(text: &str) -> Result<[u32; 3], String> {
    let mut sides = [1; 3];
    let words: Vec<&str> = text.split(',').collect();
    if words.len() > 3 {
        return Err("there are three dimensions at most: X,Y,Z".to_owned());
    }
    for (side, word) in sides.iter_mut().zip(words) {
        *side = word
            .trim()
            .parse()
            .map_err(|_| format!("`{word}` is not a number from 0 to 4294967295"))?;
    }
    Ok(sides)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| *seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.ok_or_else(|| format!("`{text}` is not a number of seconds above 0, as 10 or 0.5"))
}

/// `I` or `I:COUNT`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Print {
    pub(super) index: usize,
    pub(super) count: Option<usize>,
}

fn print(text: &str) -> Result<Print, String> {
    let (index, count) = match text.split_once(':') {
        Some((index, count)) => (index, Some(count)),
        None => (text, None),
    };
    let number = |word: &str| {
        word.parse()
            .map_err(|_| format!("`{word}` is not a number; write an argument's index, as 0, or 0:16 for its first 16 elements"))
    };
    Ok(Print {
        index: number(index)?,
        count: count.map(number).transpose()?,
    })
}

/// `I=FILE`
#[derive(Debug, Clone)]
pub(super) struct Save {
    pub(super) index: usize,
    pub(super) path: PathBuf,
}

fn save(text: &str) -> Result<Save, String> {
    let hint = "write an argument's index and a file, as 0=out.bin";
    let (index, path) = text.split_once('=').ok_or(hint)?;
    let index = index
        .parse()
        .map_err(|_| format!("`{index}` is not a number; {hint}"))?;
    if path.is_empty() {
        return Err(format!("the file has no name; {hint}"));
    }
    Ok(Save {
        index,
        path: path.into(),
    })
}
