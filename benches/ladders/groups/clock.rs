//! Criterion's measurement by the device's clock.

use std::cell::Cell;
use std::rc::Rc;

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};

/// Time on the device, in nanoseconds between the events around launches.
///
/// The clock's value is the sum of the durations passed to [`DeviceTime::add`]. The clock therefore stands still while
/// inputs are restored, memory is read to empty a cache, or the driver works. Clones share one clock.
///
/// The elements of a throughput are floating-point operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceTime(Rc<Cell<f64>>);

impl DeviceTime {
    /// Adds the duration of a launch.
    pub(crate) fn add(&self, nanoseconds: f64) {
        self.0.set(self.0.get() + nanoseconds);
    }
}

impl Measurement for DeviceTime {
    type Intermediate = f64;
    type Value = f64;

    fn start(&self) -> f64 {
        self.0.get()
    }

    fn end(&self, start: f64) -> f64 {
        self.0.get() - start
    }

    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Formatter
    }
}

struct Formatter;

impl Formatter {
    /// Returns the divisor and the unit for a throughput of `per_second`.
    fn scale(throughput: &Throughput, per_second: f64) -> (f64, &'static str) {
        let units = match throughput {
            Throughput::Bits(_) => ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"],
            Throughput::Bytes(_) | Throughput::BytesDecimal(_) => ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"],
            Throughput::Elements(_) | Throughput::ElementsAndBytes { .. } => {
                ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"]
            }
        };
        // The bandwidth of current memory is easier to read in GB/s than in TB/s.
        let most = match throughput {
            Throughput::Elements(_) | Throughput::ElementsAndBytes { .. } => 4,
            _ => 3,
        };
        let power = (per_second.max(1.0).log10() as usize / 3).min(most);
        (1000f64.powi(power as i32), units[power])
    }
}

impl ValueFormatter for Formatter {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let (scale, unit) = match typical {
            short if short < 1e3 => (1.0, "ns"),
            middle if middle < 1e6 => (1e3, "µs"),
            long if long < 1e9 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        for value in values {
            *value /= scale;
        }
        unit
    }

    fn scale_throughputs(&self, typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let amount = match *throughput {
            Throughput::Bits(amount)
            | Throughput::Bytes(amount)
            | Throughput::BytesDecimal(amount)
            | Throughput::Elements(amount)
            | Throughput::ElementsAndBytes { elements: amount, .. } => amount as f64,
        };
        let per_second = |nanoseconds: f64| amount / (nanoseconds * 1e-9);
        let (scale, unit) = Self::scale(throughput, per_second(typical));
        for value in values {
            *value = per_second(*value) / scale;
        }
        unit
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ns"
    }
}
