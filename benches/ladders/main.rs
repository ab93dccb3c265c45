//! Criterion's benchmarks: all ladders by the GPU's clock, against CUDA C++, CUB and cuBLAS. Without a GPU, or when the filter
//! contains `cpu` or `simt`, they time the references on the CPU and the simulator.

mod groups;

fn main() {
    groups::main();
}
