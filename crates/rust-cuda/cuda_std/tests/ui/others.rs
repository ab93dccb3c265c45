//! `#[gpu_only]` and `#[externally_visible]`.
use cuda_std::{externally_visible, gpu_only};

#[gpu_only(always)]
fn with_argument() {}

#[gpu_only]
struct Thing;

#[externally_visible]
pub extern "C" fn mangled() {}

fn main() {}
