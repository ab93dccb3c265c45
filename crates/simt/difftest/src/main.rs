//! The program: `difftest record FILE` runs on a machine with a GPU, and `difftest check FILE` on any machine.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use difftest::compare::differences;
use difftest::plan::{Plan, Set};
use difftest::record::Record;
use difftest::{gpu, sim};

/// Compares random PTX instructions on a GPU and on simt
#[derive(Parser)]
enum Command {
    /// Run instances on the GPU and record its answers
    Record {
        /// The file to write
        file: PathBuf,
        /// The set of instructions
        #[arg(long, value_enum, default_value_t = Set::Values)]
        set: Set,
        /// The seed of the instances
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The number of instances of each form, or fewer for instructions with many forms; each has 32 lanes of
        /// operands
        #[arg(long, default_value_t = 6)]
        rounds: usize,
        /// A note about the time and place of the recording
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Run the same instances on simt and compare
    Check {
        /// The file with a GPU's answers
        file: PathBuf,
        /// The maximum number of differences to print, one per instance
        #[arg(long, default_value_t = 60)]
        most: usize,
    },
    /// Print the operands and the answers of a tile that `check` reported
    Tile {
        /// The instruction, as printed by `check`
        name: String,
        /// The number of the tile
        tile: usize,
        /// The seed of the instances
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Print the PTX of a seed's instances
    Ptx {
        /// The set of instructions
        #[arg(long, value_enum, default_value_t = Set::Values)]
        set: Set,
        /// The seed of the instances
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The number of instances of each form, or fewer for instructions with many forms
        #[arg(long, default_value_t = 1)]
        rounds: usize,
    },
}

fn main() -> ExitCode {
    match run(&Command::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command) -> Result<ExitCode, Box<dyn std::error::Error>> {
    match command {
        Command::Ptx { set, seed, rounds } => {
            print!("{}", Plan::new(*set, *seed, *rounds).ptx);
            Ok(ExitCode::SUCCESS)
        }
        Command::Tile { name, tile, seed } => {
            let plan = Plan::of_tile(name, *seed, *tile).ok_or("unknown form name")?;
            let simt = sim::run(&plan)?;
            let gpu = gpu::Gpu::open().and_then(|gpu| gpu.run(&plan));
            if let Err(error) = &gpu {
                eprintln!("note: cannot get answers from a GPU: {error}");
            }
            let launch = &plan.kernels[0];
            let operands = launch.input();
            for (thread, operands) in operands.chunks(operands.len() / launch.threads as usize).enumerate() {
                let answers = thread * launch.outputs..(thread + 1) * launch.outputs;
                println!("thread {thread} of {operands:x?}: simt {:x?}", &simt[answers.clone()]);
                if let Ok(gpu) = &gpu {
                    println!("    GPU {:x?}", &gpu[answers]);
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Record { file, set, seed, rounds, note } => {
            let plan = Plan::new(*set, *seed, *rounds);
            let gpu = gpu::Gpu::open()?;
            let results = gpu.run(&plan)?;
            let origin = format!("{} {note}", gpu.name).trim().to_owned();
            let record = Record { set: *set, seed: *seed, rounds: *rounds, origin, results };
            std::fs::write(file, record.to_bytes())?;
            println!("{} answers of {}", plan.results(), record.origin);
            Ok(ExitCode::SUCCESS)
        }
        Command::Check { file, most } => {
            let (record, plan) = Record::from_bytes(&std::fs::read(file)?)?;
            let results = sim::run(&plan)?;
            let found = differences(&plan, &record.results, &results);
            let opcode = |line: &String| line.split(' ').next().map(str::to_owned);
            let mut shown = found.clone();
            shown.dedup_by_key(|line| opcode(line));
            for difference in shown.iter().take(*most) {
                println!("{difference}");
            }
            println!("{} answers, {} differ from {}", plan.results(), found.len(), record.origin);
            Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
    }
}
