//! What a launch costs as it grows: seconds against instructions, and memory against the grid.
//!
//! `cargo run --release -p simt-ptx --example scaling [-- FILE.svg]` runs two kernels in four sizes each, prints
//! the numbers and draws them. Each size is run by a process of its own, whose peak of memory is then its
//! own too. Only Linux tells a process its peak; elsewhere that half is left out.

mod draw;

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use plotters::style::RGBColor;
use simt::counters::Value;
use simt::{Arg, Config, Launch, Machine, Module};

/// The number of launches, of which the fastest counts: other work on the host only ever adds time.
const RUNS: usize = 7;
const COMMAND: &str = "cargo run --release -p simt-ptx --example scaling";

/// A kernel of square matrices: some inputs, the output, the side.
struct Kernel {
    name: &'static str,
    ptx: &'static str,
    sides: [u32; 4],
    inputs: u64,
    tile: u32,
    block: [u32; 3],
    color: RGBColor,
}

const KERNELS: [Kernel; 2] = [
    Kernel {
        name: "transpose",
        ptx: include_str!("../../benches/kernels/transpose.ptx"),
        sides: [512, 1024, 2048, 4096],
        inputs: 1,
        tile: 32,
        block: [32, 8, 1],
        color: RGBColor(0, 90, 170),
    },
    Kernel {
        name: "matmul",
        ptx: include_str!("../../benches/kernels/matmul.ptx"),
        sides: [64, 128, 256, 512],
        inputs: 2,
        tile: 16,
        block: [16, 16, 1],
        color: RGBColor(200, 80, 0),
    },
];

/// One size of one kernel.
struct Point {
    blocks: f64,
    warp_instructions: f64,
    seconds: f64,
    /// Peak of resident memory without the buffers, in MiB.
    memory: Option<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, side] = args.as_slice()
        && flag == "--one"
    {
        return one(name, side.parse()?);
    }
    let path = PathBuf::from(
        args.first()
            .map_or("target/simt-scaling.svg", String::as_str),
    );

    println!(
        "{:<12}{:>6}{:>10}{:>20}{:>12}{:>22}{:>26}",
        "kernel",
        "side",
        "blocks",
        "warp instructions",
        "seconds",
        "ns/warp instruction",
        "MiB beyond the buffers"
    );
    let mut measured = Vec::new();
    for kernel in &KERNELS {
        let mut points = Vec::new();
        for side in kernel.sides {
            let point = child(kernel, side)?;
            println!(
                "{:<12}{side:>6}{:>10}{:>20}{:>12.4}{:>22.2}{:>26}",
                kernel.name,
                point.blocks,
                point.warp_instructions,
                point.seconds,
                point.seconds / point.warp_instructions * 1e9,
                point
                    .memory
                    .map_or("not told here".to_owned(), |mib| format!("{mib:.1}"))
            );
            points.push(point);
        }
        measured.push((kernel, points));
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    draw::draw(&path, &measured, COMMAND)?;
    println!("drawn to {}", path.display());
    Ok(())
}

/// Has a size measured by a process of its own.
fn child(kernel: &Kernel, side: u32) -> Result<Point, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--one", kernel.name, &side.to_string()])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let [warp_instructions, seconds, ref peak @ ..] = numbers[..] else {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} of side {side} failed: {text}{why}", kernel.name).into());
    };
    let buffers = (kernel.inputs + 1) * u64::from(side).pow(2) * 4;
    Ok(Point {
        blocks: f64::from(side / kernel.tile).powi(2),
        warp_instructions,
        seconds,
        memory: peak
            .first()
            .map(|peak| (peak - buffers as f64) / f64::from(1 << 20)),
    })
}

/// Measures a size and prints its instructions, seconds and, where it is known, peak of memory in bytes.
fn one(name: &str, side: u32) -> Result<(), Box<dyn Error>> {
    let kernel = KERNELS
        .iter()
        .find(|kernel| kernel.name == name)
        .ok_or("no such kernel")?;
    let function = Module::from_ptx(kernel.ptx)?.function(kernel.name)?;
    let mut machine = Machine::new(Config::default())?;
    let mut args: Vec<Arg> = Vec::new();
    let len = (side * side) as usize;
    for _ in 0..kernel.inputs {
        // The host's copy is gone before the output, of the same size, is written: it adds nothing to the
        // peak.
        args.push(machine.upload(&vec![1.0f32; len])?.into());
    }
    args.extend([machine.zeroed::<f32>(len)?.into(), side.into()]);
    let grid = [side / kernel.tile, side / kernel.tile, 1];

    let counters = machine.launch_counted(&Launch::new(&function, grid, kernel.block, &args))?;
    let Some(Value::Count(warp_instructions)) = counters.get("ptx_inst_executed.sum") else {
        return Err("the instructions are not counted".into());
    };
    let mut seconds = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        machine.launch(&Launch::new(&function, grid, kernel.block, &args))?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    let peak = peak_bytes().map_or(String::new(), |bytes| bytes.to_string());
    println!("{warp_instructions} {seconds} {peak}");
    Ok(())
}

/// The most memory that this process has had resident: `VmHWM` of Linux.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
