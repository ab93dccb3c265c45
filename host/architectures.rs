// What the kernels are compiled for, oldest first: what every supported device runs, and what has the newer
// instructions. `host/build.rs` embeds them; `cargo xtask ptx` and its tests look at the same.
[
    NvvmArch::Compute75,
    NvvmArch::Compute90,
]
