//! Tests of GPU kernels that live next to the kernels and run with `cargo test` on any machine.
//!
//! ```no_run
//! // In the crate of kernels, with `simt_test` among its dev-dependencies:
//! //
//! // #[kernel]
//! // pub unsafe fn add(a: &[f32], b: &[f32], sum: *mut f32) { … }
//! use simt_test::{Grid, Test, args, kernels};
//!
//! # fn main() {}
//! #[test]
//! fn sums() -> simt_test::Result {
//!     Test::new(kernels!()?).sizes([0, 1, 31, 1000]).tolerance(1e-6).run(|device| {
//!         let a: Vec<f32> = (0..device.size()).map(|i| i as f32).collect();
//!         let input = device.upload(&a)?;
//!         let sum = device.zeroed::<f32>(a.len())?;
//!         device.launch("add", Grid::covering(a.len(), 256), args![input.slice(), input.slice(), sum])?;
//!         let expected: Vec<f32> = a.iter().map(|a| 2.0 * a).collect();
//!         device.expect(sum, &expected)
//!     })
//! }
//! ```
//!
//! [`kernels!`] compiles the calling crate to PTX, once per test program. [`Test::run`] runs the body for each size on
//! the simulator `simt`, which does not need a GPU. The simulator [checks](Test::checks) for accesses out of bounds,
//! uninitialized values, data races and threads that wait forever. The body then runs on the first GPU, if there is
//! one. The environment variable [`DEVICE`] can restrict a test to the simulator or to the GPU. An [`Error`] begins
//! with the line of the test that caused it.
//!
//! Inputs: kernels as PTX or as a crate, and values. Outputs: a test that passes, or a readable error. This crate must
//! not know how kernels are compiled (by `cuda_builder`) or run (by `simt` and the driver).

mod argument;
mod backend;
mod buffer;
mod device;
mod error;
mod grid;
mod kernels;
mod launched;
mod number;
mod report;

pub use argument::{Argument, Plain, Values};
pub use buffer::{Buffer, Slice};
pub use cuda_builder::CudaBuilder;
pub use device::Device;
pub use error::{Error, Result};
pub use grid::Grid;
pub use kernels::Kernels;
pub use launched::Launched;
pub use number::Number;
pub use profile::Counter;
pub use simt::Schedule;
pub use simt_check::{Check, Checks};

use backend::Backend;
use error::located;

/// The environment variable that chooses where tests run: `sim`, `gpu` or `all`. The default, `all`, is the simulator
/// and, if there is one, the GPU.
///
/// On some systems, a GPU can access host memory by host addresses. A kernel that uses a number as an address would
/// then write into the test program. On these systems, the simulator always runs first and checks that kernels access
/// only their buffers.
pub const DEVICE: &str = "SIMT_TEST_DEVICE";

pub use report::REPORT;

/// Compiles the kernels of the calling crate at the first use in each program.
///
/// The value is a `Result<&'static Kernels, Error>`.
#[macro_export]
macro_rules! kernels {
    () => {
        $crate::Kernels::of_crate(::core::env!("CARGO_MANIFEST_DIR"))
    };
}

/// The arguments of a launch, one for each parameter of the kernel: numbers, buffers, [slices](Buffer::slice) of buffers
/// for parameters `&[T]`, and [`Plain`] structs.
#[macro_export]
macro_rules! args {
    ($($argument:expr),* $(,)?) => {{
        #[allow(unused_mut, reason = "`values` is not changed if there are no arguments")]
        let mut values = $crate::Values::default();
        $($crate::Argument::add_to($argument, &mut values);)*
        values
    }};
}

/// The settings of a test.
#[derive(Debug, Clone)]
#[must_use = "nothing is tested before `run`"]
pub struct Test {
    kernels: &'static Kernels,
    sizes: Vec<usize>,
    tolerance: f64,
    schedules: Vec<Schedule>,
    checks: Checks,
}

impl Test {
    /// Creates a test of these kernels: size 0, no tolerance, and the simulator's fixed schedule.
    pub fn new(kernels: &'static Kernels) -> Self {
        Self { kernels, sizes: vec![0], tolerance: 0.0, schedules: vec![Schedule::Fixed], checks: Checks::ALL }
    }

    /// Runs the body once for each size. [`Device::size`] returns the size.
    pub fn sizes(self, sizes: impl IntoIterator<Item = usize>) -> Self {
        Self { sizes: sizes.into_iter().collect(), ..self }
    }

    /// Sets the allowed difference between floats and their [expected](Device::expect) values: relative, and absolute
    /// for values below 1.
    pub fn tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// Runs the body under `count` additional random orders of the threads on the simulator. If results depend on the
    /// order, the kernel has a race.
    pub fn schedules(self, count: u64) -> Self {
        let random = (1..=count).map(Schedule::Random);
        Self { schedules: std::iter::once(Schedule::Fixed).chain(random).collect(), ..self }
    }

    /// Restricts the sanitizers on the simulator, which find faults even if results are correct. By default, all
    /// sanitizers run. They find accesses outside an object, uninitialized values, data races, and barriers that
    /// threads do not reach as required.
    pub fn checks(self, checks: Checks) -> Self {
        Self { checks, ..self }
    }

    /// Runs the test.
    ///
    /// # Errors
    /// Returns the first error of the body, with its device and size. Also returns an error when [`DEVICE`] requests a
    /// GPU but there is none, or when it has an invalid value.
    #[track_caller]
    pub fn run<R>(self, mut body: impl FnMut(&mut Device) -> Result<R>) -> Result {
        let chosen = std::env::var(DEVICE).unwrap_or_else(|_| "all".to_owned());
        let (mut on_sim, on_gpu) = match &*chosen {
            "all" => (true, Backend::has_gpu()),
            "sim" => (true, false),
            "gpu" => (false, true),
            other => return Err(Error::new(format!("{DEVICE} is `{other}`; use all, sim or gpu"))),
        };
        let mut checks = self.checks;
        if on_gpu && Backend::gpu_reaches_host_memory() {
            (on_sim, checks) = (true, checks.with(Check::Memory));
        }
        let on_sim = self.schedules.iter().map(|schedule| Some(*schedule)).filter(|_| on_sim);
        let orders: Vec<Option<Schedule>> = on_sim.chain(on_gpu.then_some(None)).collect();
        for &size in &self.sizes {
            for &schedule in &orders {
                let mut device =
                    Device::new(located(Backend::open(self.kernels, schedule, checks))?, size, self.tolerance);
                // `cargo test` shows this line only if the test fails. A panic in the body does not name the device.
                println!("{device}");
                body(&mut device).map_err(|error| error.on(&device))?;
            }
        }
        Ok(())
    }
}
