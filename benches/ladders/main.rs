//! Criterion's benchmarks: all ladders by the GPU's own clock, against CUDA C++, CUB and cuBLAS, and what there is to
//! measure on a CPU; without a GPU, the CPU's part alone.

mod groups;

fn main() {
    groups::main();
}
