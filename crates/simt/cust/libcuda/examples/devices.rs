//! Lists this machine's GPUs through cust, or prints why there are none.
//!
//! ```text
//! cargo run -p ladder-libcuda --example devices
//! ```

use std::process::ExitCode;

use cust::CudaFlags;
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaResult;

fn main() -> ExitCode {
    println!("{}", libcuda::status());
    match list() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:?}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() -> CudaResult<()> {
    cust::init(CudaFlags::empty())?;
    for device in Device::devices()? {
        let device = device?;
        let mib = device.total_memory()? >> 20;
        println!("{}, {mib} MiB", device.name()?);
        let processors = device.get_attribute(DeviceAttribute::MultiprocessorCount)?;
        println!("  {processors} multiprocessors");
    }
    Ok(())
}
