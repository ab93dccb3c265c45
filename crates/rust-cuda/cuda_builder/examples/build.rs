//! Builds a GPU crate outside a build script: `cargo run --example build -- CRATE [ARCH] [OUT.ptx]`.

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let krate = args.next().ok_or("which crate? usage: build CRATE [ARCH] [OUT.ptx]")?;
    let arch: NvvmArch = args.next().map_or(Ok(NvvmArch::default()), |arch| arch.parse())?;
    let mut builder = CudaBuilder::new(krate).arch(arch);
    if let Some(out) = args.next() {
        builder = builder.copy_to(out);
    }
    println!("{}", builder.build()?.display());
    Ok(())
}
