//! In a line: the idea of `{{name}}_naive`.

use cuda_std::kernel;
use rung::Rung;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[{{NAME}}_NAIVE];

rung! { {{name}}_naive: Rung::USUAL {
    lesson: "in a line: where the ladder starts",
} }

/// What each thread does. Nothing yet, and `ladder check {{name}}` says that its result is wrong.
///
/// # Safety
/// As [`{{name}}`](super) says.
#[kernel]
pub unsafe fn {{name}}_naive(input: *const u32, output: *mut u32, n: u32) {
    let _ = (input, output, n);
}
