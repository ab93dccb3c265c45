//! `cargo xtask setup`.

use cuda_builder::toolchain;

use crate::cli::Setup;
use crate::failure::Result;
use crate::style::status;
use crate::tools::nvidia;

pub(super) fn setup(options: &Setup) -> Result<()> {
    let complete = toolchain::discover().is_ok()
        && (!options.nvidia || nvidia::INSTALLED.iter().all(|t| toolkit::find(*t).is_ok()));
    let found = crate::setup::device()?;
    if options.nvidia {
        nvidia::need(nvidia::INSTALLED)?;
    }
    let (rustc, llvm) = (&found.rustc, &found.llvm);
    let nvidia = if options.nvidia {
        ", and NVIDIA's tools"
    } else {
        ""
    };
    let what = format!(
        "rustc {} ({}), LLVM {} ({}){nvidia}",
        rustc.version, rustc.origin, llvm.version, llvm.origin
    );
    if complete {
        status("Ready", format_args!("nothing is missing: {what}"));
    } else {
        status("Ready", what);
    }
    Ok(())
}
