//! How many times as fast as `ptoxide`: both take turns, so that what else the host does is shared.

use std::time::Instant;

use crate::kernel::Kernel;
use crate::machines::{self, Ptoxide, Simt};

/// Turns that each has.
const ROUNDS: usize = 9;

/// Prints the ratio of the medians for each kernel, on one host thread, without and with counters.
pub(super) fn print(kernels: &[Kernel]) {
    println!("One host thread, medians of {ROUNDS} turns each:\n");
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
            let alone = time(0.0, || ptoxide.launch());
            let taken = [alone, time(alone / 2.0, || simt.launch()), time(alone / 2.0, || drop(simt.launch_counted()))];
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

/// Prints the rates of products of matrices on one host thread.
pub(super) fn print_rates(kernels: &[Kernel]) {
    println!("\nOne host thread, medians of {ROUNDS} turns, millions a second:\n");
    println!("{:<16}{:>22}{:>30}", "kernel", "thread instructions", "products and sums of elements");
    for kernel in kernels {
        let instructions = machines::check(kernel) as f64;
        let mut simt = Simt::new(kernel, 1);
        let seconds = median((0..ROUNDS).map(|_| time(0.2, || simt.launch())).collect());
        let operations = 2.0 * f64::from(kernel.n).powi(3);
        println!(
            "{:<16}{:>22.1}{:>30.1}",
            format!("{} {}", kernel.name, kernel.n),
            instructions / seconds / 1e6,
            operations / seconds / 1e6
        );
    }
}

/// Seconds that a launch takes, on average over those that fill a turn of at least `turn` seconds. On a busy
/// host, turns of like length get a like share of a core; a single short launch may get all of it or none.
fn time(turn: f64, mut launch: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut launches = 0;
    loop {
        launch();
        launches += 1;
        let seconds = start.elapsed().as_secs_f64();
        if seconds >= turn {
            return seconds / f64::from(launches);
        }
    }
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
