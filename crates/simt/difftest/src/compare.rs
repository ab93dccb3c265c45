//! Compares the answers of a GPU and of `simt` bit for bit.

use crate::generate::Instance;
use crate::plan::{Answers, Plan};

/// Returns all answers of a plan in which the GPU and `simt` differ, one per line. A line contains the name and both
/// answers; for instances, it also contains the lane's operands.
pub fn differences(plan: &Plan, gpu: &[u64], sim: &[u64]) -> Vec<String> {
    let mut found = Vec::new();
    let mut answers = gpu.iter().zip(sim);
    for (number, Answers { name, count, .. }) in plan.answers.iter().enumerate() {
        for (at, (gpu, sim)) in answers.by_ref().take(*count).enumerate() {
            let what = match plan.instances.get(number) {
                Some(Instance { form, operands, written }) => {
                    let operands = &operands[at][..form.from.len()];
                    if gpu == sim || form.is_undefined(operands, written) {
                        continue;
                    }
                    let operands: Vec<_> = operands.iter().map(|operand| format!("{operand:#x}")).collect();
                    format!("{name:50} of {}", operands.join(", "))
                }
                None if gpu == sim => continue,
                None => format!("{name}: answer {at}"),
            };
            found.push(format!("{what}: GPU {gpu:#x}, simt {sim:#x}"));
        }
    }
    found
}
