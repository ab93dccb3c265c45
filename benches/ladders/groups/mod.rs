//! Criterion's groups: each ladder on the GPU, timed by the GPU's clock. The CPU's groups run without a GPU, or if the
//! filter names them.

mod clock;
mod cpu;
mod filter;
mod gpu;

use std::time::Duration;

use criterion::Criterion;
use criterion::measurement::{Measurement, WallTime};
use host::KERNELS;
use host::device::{self, Choice};

use benches::cuda_code::CudaCode;

pub(crate) use clock::DeviceTime;
pub(crate) use filter::Filter;
pub(crate) use gpu::{cases, ladders};

/// Runs the benchmarks that the command line selects.
pub(crate) fn main() {
    let filter = Filter::new(std::env::args().skip(1));
    // Messages go to stderr, because criterion writes its output and its lists to stdout.
    let has_gpu = match device::open(Choice::Gpu, &KERNELS) {
        Ok(mut gpu) => {
            eprintln!("on {}", gpu.info());
            let clock = DeviceTime::default();
            let mut criterion = settings(clock.clone()).configure_from_args();
            let mut cuda = CudaCode::find();
            ladders(&mut criterion, &clock, &mut *gpu, &mut cuda, &filter, &cases());
            criterion.final_summary();
            true
        }
        Err(error) => {
            eprintln!("measuring only the CPU: {}", benches::Error::from(error));
            false
        }
    };
    if has_gpu && !filter.names_cpu() {
        return;
    }
    let mut criterion = settings(WallTime).configure_from_args();
    cpu::references(&mut criterion, &filter);
    cpu::simulator(&mut criterion, &filter);
    criterion.final_summary();
}

/// Returns settings for short runs: there are about 200 benchmarks, which together must take at most ten minutes.
fn settings<M: Measurement + 'static>(measurement: M) -> Criterion<M> {
    Criterion::default()
        .with_measurement(measurement)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .sample_size(15)
        .nresamples(20_000)
}
