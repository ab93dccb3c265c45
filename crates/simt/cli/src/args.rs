//! The command line of `simt`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::spec::Spec;
use simt::run::Schedule;
use simt::{Module, demangled};
use simt_check::Checks;

/// Runs GPU kernels on the CPU: executes PTX warp by warp, and counts what a GPU would count.
#[derive(Debug, Parser)]
#[command(name = "simt", version)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run one or more kernels; exit code 1 if a kernel faults, 2 if the PTX or the arguments are invalid
    Run(Box<Run>),
    /// List a file's kernels with their parameters, shared memory and unsupported instructions (exit code 2 if there
    /// are any), and the variables that other modules can access
    Check(Check),
}

#[derive(Args, Debug)]
#[command(after_help = SPECS)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) launch: LaunchArguments,
    /// Print argument I after the run, completely or its first COUNT elements; arguments are numbered from 0
    #[arg(long, value_name = "I[:COUNT]", num_args = 1.., value_parser = print)]
    pub(super) print: Vec<Print>,
    /// Write argument I to a file after the run, as raw little-endian bytes
    #[arg(long, value_name = "I=FILE", num_args = 1.., value_parser = save)]
    pub(super) save: Vec<Save>,
    /// Count instructions, memory traffic, bank conflicts and branches, and print the counters
    #[arg(long)]
    pub(super) count: bool,
    /// Look for faults that may not affect the results: memory, init, race and sync, separated by commas, or all;
    /// barriers adds code that CUDA allows, ptx-volatile treats volatile accesses as atomic, and weaker adds hints
    /// about fences, scopes and barriers that could be weaker. Exit code 1 if there are findings. The run is slower and
    /// uses one thread
    #[arg(long, value_name = "CHECKS", default_value_t, hide_default_value = true)]
    pub(super) sanitize: Checks,
    /// Print one JSON object with entry, seconds, counters and, in buffers, the arguments of --print. With --launch,
    /// the first three are in an array, launches
    #[arg(long)]
    pub(super) json: bool,
}

/// The launches of a file's kernels, as a command line describes them.
#[derive(Args, Debug)]
pub struct LaunchArguments {
    /// A file of PTX text
    pub(super) file: PathBuf,
    /// The kernel: an .entry of the file, by its mangled or demangled name or a unique part of it [default: the file's
    /// only kernel]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Blocks in x, or also y and z, as 4 or 4,2 or 4x2
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sides, required_unless_present = "launch")]
    grid: Option<[u32; 3]>,
    /// Threads per block in x, or also y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sides, required_unless_present = "launch")]
    block: Option<[u32; 3]>,
    /// Dynamic shared memory per block
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// Blocks per cluster in x, or also y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sides)]
    cluster: Option<[u32; 3]>,
    /// Run several kernels one after another, instead of the one that the five options above describe. They share
    /// buffers and variables; each is "NAME grid=X[,Y[,Z]] block=X[,Y[,Z]] [cluster=X[,Y[,Z]]] [shared=BYTES]
    /// [args=I,J,…]". Without args=, the kernel gets all of --arg
    #[arg(long, value_name = "LAUNCH", num_args = 1.., value_parser = launch,
          conflicts_with_all = ["entry", "grid", "block", "cluster", "shared"])]
    launch: Vec<KernelLaunch>,
    /// Launch cooperatively: the blocks of a grid may wait for each other with `grid.sync()`
    #[arg(long)]
    pub(super) cooperative: bool,
    /// The kernel's arguments, in the order of its parameters
    #[arg(long, value_name = "SPEC", num_args = 1..)]
    pub(super) arg: Vec<Spec>,
    /// Set a constant or global variable to this value before the run; the sizes must match
    #[arg(long, value_name = "NAME=SPEC", num_args = 1.., value_parser = symbol)]
    pub(super) symbol: Vec<Symbol>,
    /// Host threads to run on [default: one per core]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) threads: Option<u32>,
    /// End the run with a fault after N warp instructions
    #[arg(long, value_name = "N", default_value_t = simt::Config::default().max_instructions)]
    pub(super) max_instructions: u64,
    /// End the run with a fault after SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(super) time_limit: Option<Duration>,
    /// The order in which blocks, warps and diverged lanes run: fixed, round-robin or random:SEED. If the order affects
    /// the results, the kernel has a race. With a seed, uninitialized shared memory holds random bytes
    #[arg(long, value_name = "ORDER", default_value_t)]
    pub(super) schedule: Schedule,
}

#[derive(Args, Debug)]
pub(super) struct Check {
    /// A file of PTX text
    pub(super) file: PathBuf,
}

/// Describes the values that [`LaunchArguments`] accept, for the end of a help text.
pub const SPECS: &str = "\
SPEC is a scalar or a buffer; its TYPE is i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64:
  i32:-5  u64:7  f32:1.5  f64:-inf  f16:nan
  bytes:0a00ff          a struct, byte by byte as in memory
  bytes:file:PATH       the same, from a file
  i32[1024]             1024 zeros
  i32[1024]=iota        0, 1, 2, …
  i32[1024]=rand:SEED   pseudo-random: integers 0 to 255 (i8: -128 to 127), floats from 0 up to 1
  i32[1024]=file:PATH   the file's raw little-endian bytes; the sizes must match
  i32[1024]=uninit      every byte 0xa5; random bytes with --schedule random:SEED

rand: element I comes from the 64 bits of output I, from 0, of SplitMix64 with this seed.
Integers are the top 8 bits; f16, f32 and f64 are the top 11, 24 and 53 bits, over 2 to that power.

With --json, elements that are not numbers are the strings \"nan\", \"inf\" and \"-inf\", and a counter
whose divisor is 0 is null.

Examples:
  simt run saxpy.ptx --entry saxpy --grid 4 --block 256 \\
    --arg f32:2 f32[1024]=iota f32[1024]=rand:1 u32:1024 --print 2:8 --count
  simt run filter.ptx --symbol taps=f32[3]=file:taps.bin --print 2 \\
    --arg f32[1024]=rand:1 f32[1024] f32[1] \\
    --launch \"filter grid=4 block=256 args=0,1\" \"sum grid=1 block=1024 args=1,2\"";

/// A kernel, its grid and its arguments.
#[derive(Debug, Clone)]
pub(super) struct KernelLaunch {
    pub(super) entry: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) cluster: Option<[u32; 3]>,
    pub(super) shared: u32,
    /// The indices of the kernel's arguments among those on the command line; `None` for all of them.
    pub(super) args: Option<Vec<usize>>,
}

impl LaunchArguments {
    /// Returns the path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the launches of a module's kernels: those of --launch, or the launch that --grid and related options
    /// describe.
    pub(super) fn launches(&self, module: &Module) -> Result<Vec<KernelLaunch>, String> {
        let (Some(grid), Some(block)) = (self.grid, self.block) else {
            return Ok(self.launch.clone());
        };
        let known: Vec<&str> = module.kernels().collect();
        let entry = match (&self.entry, &known[..]) {
            (Some(entry), _) => entry.clone(),
            (None, [only]) => (*only).to_owned(),
            (None, []) => return Err("the file has no kernel".to_owned()),
            (None, several) => {
                let (count, list) =
                    (several.len(), several.iter().map(|name| demangled(name)).collect::<Vec<_>>().join(", "));
                return Err(format!("the file has {count} kernels; there are {list}; choose one with --entry NAME"));
            }
        };
        Ok(vec![KernelLaunch { entry, grid, block, cluster: self.cluster, shared: self.shared, args: None }])
    }

    /// Returns whether --entry and related options describe the launch.
    pub(super) fn is_single(&self) -> bool {
        self.launch.is_empty()
    }
}

fn launch(text: &str) -> Result<KernelLaunch, String> {
    const HINT: &str = "write it as \"NAME grid=4 block=256 shared=0 args=0,1\"";
    let number = |word: &str| format!("`{word}` is not a number; {HINT}");
    let (mut grid, mut block, mut cluster) = (None, None, None);
    let (mut shared, mut args) = (None, None);
    let mut words: Vec<&str> = text.split_whitespace().collect();
    // Parses from the end, because a demangled name may contain blanks.
    while let Some((key, value)) = words.last().and_then(|word| word.split_once('=')) {
        let before = match key {
            "grid" => grid.replace(sides(value)?).is_some(),
            "block" => block.replace(sides(value)?).is_some(),
            "cluster" => cluster.replace(sides(value)?).is_some(),
            "shared" => shared.replace(value.parse().map_err(|_| number(value))?).is_some(),
            "args" => {
                let all = value.split(',').filter(|word| !word.is_empty());
                let all = all.map(|word| word.parse().map_err(|_| number(word)));
                args.replace(all.collect::<Result<_, _>>()?).is_some()
            }
            _ => return Err(format!("`{key}` is not an option of a launch; {HINT}")),
        };
        if before {
            return Err(format!("`{key}` occurs twice; {HINT}"));
        }
        words.pop();
    }
    if words.is_empty() {
        return Err(format!("the kernel's name is missing; {HINT}"));
    }
    Ok(KernelLaunch {
        entry: words.join(" "),
        grid: grid.ok_or_else(|| format!("grid= is missing; {HINT}"))?,
        block: block.ok_or_else(|| format!("block= is missing; {HINT}"))?,
        cluster,
        shared: shared.unwrap_or(0),
        args,
    })
}

/// `NAME=SPEC`
#[derive(Debug, Clone)]
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) value: Spec,
}

fn symbol(text: &str) -> Result<Symbol, String> {
    let (name, value) =
        text.split_once('=').ok_or("write a variable's name and its value, as factor=f32:2 or table=i32[16]=iota")?;
    Ok(Symbol { name: name.to_owned(), value: value.parse()? })
}

fn sides(text: &str) -> Result<[u32; 3], String> {
    let mut sides = [1; 3];
    let words: Vec<&str> = text.split([',', 'x']).collect();
    if words.len() > 3 {
        return Err("at most three dimensions are possible: X,Y,Z".to_owned());
    }
    for (side, word) in sides.iter_mut().zip(words) {
        *side = word.trim().parse().map_err(|_| {
            format!("`{word}` in `{text}` is not a number from 0 to 4294967295; write it as 4 or 4,2 or 4x2x1")
        })?;
    }
    Ok(sides)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| *seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.ok_or_else(|| format!("`{text}` is not a positive number of seconds, such as 10 or 0.5"))
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
        word.parse().map_err(|_| {
            format!("`{word}` is not a number; write an argument's index, as 0, or 0:16 for its first 16 elements")
        })
    };
    Ok(Print { index: number(index)?, count: count.map(number).transpose()? })
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
    let index = index.parse().map_err(|_| format!("`{index}` is not a number; {hint}"))?;
    if path.is_empty() {
        return Err(format!("the file has no name; {hint}"));
    }
    Ok(Save { index, path: path.into() })
}
