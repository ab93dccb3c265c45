//! How many times as fast as `ptoxide`: both take turns, so that what else the host does is shared.

use std::time::Instant;

use crate::kernel::Kernel;
use crate::machines::{self, Ptoxide, Simt};

/// Turns that each has.
const ROUNDS: usize = 9;

/// Prints the ratio of the medians for each kernel, on one host thread, without and with counters.
pub(super) fn print(kernels: &[Kernel]) {
    println!("One host thread, medians of {ROUNDS} launches taken in turns:\n");
    println!(
        "{:<16}{:>22}{:>14}{:>14}{:>10}{:>16}{:>10}",
        "kernel", "thread instructions", "ptoxide", "simt", "ratio", "simt counting", "ratio"
    );
    for kernel in kernels {
        let instructions = machines::check(kernel);
        let mut simt = Simt::new(kernel, 1);
        let mut ptoxide = Ptoxide::new(kernel);
        let mut seconds = [const { Vec::new() }; 3];
        // The first round warms up, and is not counted.
        for round in 0..=ROUNDS {
            let taken = [
                time(|| ptoxide.launch()),
                time(|| simt.launch()),
                time(|| drop(simt.launch_counted())),
            ];
            if round > 0 {
                for (all, one) in seconds.iter_mut().zip(taken) {
                    all.push(one);
                }
            }
        }
        let [ptoxide, plain, counting] = seconds.map(median);
        println!(
            "{:<16}{instructions:>22}{:>11.1} ms{:>11.2} ms{:>10.1}{:>13.2} ms{:>10.1}",
            format!("{} {}", kernel.name, kernel.n),
            ptoxide * 1e3,
            plain * 1e3,
            ptoxide / plain,
            counting * 1e3,
            ptoxide / counting
        );
    }
}

fn time(launch: impl FnOnce()) -> f64 {
    let start = Instant::now();
    launch();
    start.elapsed().as_secs_f64()
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
