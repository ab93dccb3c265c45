//! Lists which instructions in the table of [`simt_isa`] the simulator supports, for tools that enumerate all of them.

mod sample;

use crate::Module;
pub use crate::decode::kind_of;
pub use sample::sample;

/// Returns, for each of these instructions, whether the simulator supports it for `sm_90a`. Each instruction is placed
/// in a kernel with these declarations, in a module that also contains a function `f`.
pub fn are_run(declarations: &str, instructions: &[String]) -> Vec<bool> {
    are_run_for("sm_90a", declarations, instructions)
}

/// Returns, for each of these instructions, whether the simulator supports it for `target`. `target` may list several
/// targets, separated by commas, if the instructions need different targets.
pub fn are_run_for(target: &str, declarations: &str, instructions: &[String]) -> Vec<bool> {
    let (major, minor) = ptx::version::NEWEST;
    let mut text = format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n.func f() {{ ret; }}\n");
    for (at, instruction) in instructions.iter().enumerate() {
        text += &format!(".entry k{at}() {{ {declarations}\n{instruction}\nret; }}\n");
    }
    let Ok(module) = Module::from_ptx(text) else {
        // An instruction that is not valid PTX must not affect the results of the other instructions.
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
