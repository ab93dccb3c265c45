//! In a line: the idea of `{{name}}`.
{{cfg}}
use rung::Rung;

use super::{{after_file}}::{{AFTER}};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[{{NAME}}];

entries! {
    /// What each block and each thread does.
    ///
    /// Against `{{after}}`: what changes, and which counters that should change by how much.
    ///
    /// # Safety
    /// As [`{{ladder}}`](super) says.
    {{name}}({{parameters}})
    for {{constants}} in [{{sizes}}];
    rung {{AFTER}} {
        lesson: "what it changes against {{after}}, in a line",
        is_bound: false,
        published: None,
        published_count: "",
    };
    // SAFETY: the body's contract is the kernel's.
    => unsafe { {{body}}::<{{constant_names}}>({{arguments}}) }
}

/// Does nothing yet, and `ladder check {{name}}` says that its result is wrong.
///
/// # Safety
/// As [`{{ladder}}`](super) says, with blocks of this size.
#[inline(always)]
unsafe fn {{body}}<{{constant_parameters}}>({{parameters}}) {
    let _ = ({{arguments}});
}
