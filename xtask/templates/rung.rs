//! In a line: the idea of `{{name}}`.
{{cfg}}
use cuda_std::kernel;
use rung::Rung;

use super::{{after_file}}::{{AFTER}};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[{{NAME}}];

rung! { {{name}}: {{AFTER}} {
    lesson: "what it changes against {{after}}, in a line",
    is_bound: false,
    published: None,
    published_count: "",
} }

/// What each block and each thread does. Nothing yet, and `ladder check {{name}}` says that its
/// result is wrong.
///
/// Against `{{after}}`: what changes, and which counters that should change by how much.
///
/// # Safety
/// As [`{{ladder}}`](super) says.
#[kernel]
pub unsafe fn {{name}}({{parameters}}) {
    let _ = ({{arguments}});
}
