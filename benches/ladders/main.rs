//! Criterion's benchmarks: times all ladders by the GPU's clock, and compares them with CUDA C++, CUB and cuBLAS.
//! Without a GPU, or when the filter contains `cpu` or `simt`, the benchmarks time the references on the CPU and the
//! simulator.

mod groups;

fn main() {
    groups::main();
}
