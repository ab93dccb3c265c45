//! Which instructions of the table of [`simt_isa`] are run, for tools that go through all of them.

mod sample;

use crate::Module;
pub use crate::decode::kind_of;
pub use sample::sample;

/// Which of these instructions are run for `sm_90a`, in a kernel with these declarations and beside a function `f`.
pub fn are_run(declarations: &str, instructions: &[String]) -> Vec<bool> {
    are_run_for("sm_90a", declarations, instructions)
}

/// The same for another target. Of several, separated by commas, each instruction may need another one.
pub fn are_run_for(target: &str, declarations: &str, instructions: &[String]) -> Vec<bool> {
    let (major, minor) = ptx::version::NEWEST;
    let mut text = format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n.func f() {{ ret; }}\n");
    for (at, instruction) in instructions.iter().enumerate() {
        text += &format!(".entry k{at}() {{ {declarations}\n{instruction}\nret; }}\n");
    }
    let Ok(module) = Module::from_ptx(text) else {
        // One that is no PTX at all must not decide for the others.
        return match instructions {
            [_] => vec![false],
            several => {
                let (one, other) = several.split_at(several.len() / 2);
                [one, other].map(|part| are_run_for(target, declarations, part)).concat()
            }
        };
    };
    let is_run = |at| module.function(&format!("k{at}")).is_ok();
    (0..instructions.len()).map(is_run).collect()
}
