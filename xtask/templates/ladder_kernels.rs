//! In a line: what the ladder `{{name}}` computes, from which idea to which.
//!
//! Every kernel takes `input`, `n` elements, and writes `output`, as many: what each of them is.
//!
//! # Safety
//! All kernels: `input` and `output` each point to `n` elements in device memory that nothing else uses during the
//! launch; the block is one-dimensional; the grid has just enough blocks for `n` elements.

rungs! { naive }
