//! Running on the SIMT machine.

use std::fmt;

use simt::{Arg, Config, Instance, Launch, Machine, Schedule};

use crate::argument::Value;
use crate::device::{Backend, Grid};
use crate::error::Result;
use crate::kernels::Kernels;

/// A SIMT machine with the kernels' module.
pub(crate) struct Sim {
    machine: Machine,
    instance: Instance,
    buffers: Vec<simt::Buffer<u8>>,
    schedule: Schedule,
}

impl Sim {
    pub(crate) fn open(kernels: &Kernels, schedule: Schedule) -> Result<Self, String> {
        // Test programs run their tests on all cores already.
        let config = Config { threads: 1, schedule, ..Config::default() };
        let mut machine = Machine::new(config).map_err(words)?;
        let instance = machine.load(&kernels.module).map_err(words)?;
        Ok(Self { machine, instance, buffers: Vec::new(), schedule })
    }
}

impl Backend for Sim {
    fn upload(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.buffers.push(self.machine.upload(bytes).map_err(words)?);
        Ok(())
    }

    fn read(&mut self, buffer: usize) -> Result<Vec<u8>, String> {
        let buffer = *self.buffers.get(buffer).ok_or("the buffer belongs to another device")?;
        self.machine.read(buffer).map_err(words)
    }

    fn launch(&mut self, kernel: &str, grid: Grid, values: &[Value]) -> Result<(), String> {
        let function = self.instance.function(kernel).map_err(words)?;
        let args = values.iter().map(|value| match value {
            Value::Bytes(bytes) => Ok(Arg::Bytes(bytes.clone())),
            Value::Buffer(number) => {
                self.buffers.get(*number).map(|buffer| Arg::from(*buffer)).ok_or("a buffer belongs to another device")
            }
        });
        let args = args.collect::<Result<Vec<_>, _>>()?;
        let launch = Launch::new(&function, grid.blocks, grid.threads, &args).with_shared_bytes(grid.shared_bytes);
        let done = self.machine.launch(&launch).map_err(words);
        // By `print!`, so that it is shown with the test that it belongs to.
        print!("{}", String::from_utf8_lossy(&self.machine.take_printed()));
        done
    }
}

impl fmt::Display for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.schedule {
            Schedule::Fixed => f.write_str("sim"),
            other => write!(f, "sim, schedule {other}"),
        }
    }
}

fn words(error: impl fmt::Display) -> String {
    error.to_string()
}
