//! All ladders by the GPU's own clock, against CUDA C++, CUB and cuBLAS; without a GPU, the CPU's part alone.

fn main() {
    benches::groups::main();
}
