//! Messages for synchronization faults: which threads wait, which threads are missing, and how to fix the kernel.

use simt::run::{Fault, FaultKind};

/// Returns the message for a fault of this check, or `None` if the fault's default message is clear enough.
pub(crate) fn fault_message(fault: &Fault) -> Option<String> {
    let opcode = opcode(&fault.ptx);
    match &fault.kind {
        FaultKind::DivergentBarrier { here, elsewhere } => Some(format!(
            "barrier in divergent code: {} of a warp wait at `{opcode}`, and {} do not reach it",
            format_lanes(*here),
            format_lanes(*elsewhere)
        )),
        FaultKind::UnnamedLanes { lanes } => Some(unnamed_lanes_message(opcode, *lanes)),
        FaultKind::AbsentLanes { lanes } if takes_whole_warps(opcode) => {
            Some(format!("`{opcode}` is executed without {}", format_lanes(*lanes)))
        }
        FaultKind::AbsentLanes { lanes } => Some(absent_lanes_message(opcode, *lanes)),
        _ => None,
    }
}

/// Returns the fix for a fault of this check.
pub(crate) fn help(fault: &Fault) -> &'static str {
    match &fault.kind {
        FaultKind::UnnamedLanes { .. } => NAME_ALL_LANES,
        FaultKind::AbsentLanes { .. } if takes_whole_warps(opcode(&fault.ptx)) => {
            "move it out of the branch, so that all 32 threads of the warp execute it together"
        }
        FaultKind::AbsentLanes { .. } => NAME_PRESENT_LANES,
        _ => "move the barrier out of the branch, so that either all threads of the block reach it or none do",
    }
}

/// The fix for a mask that names lanes that do not reach the instruction.
pub(super) const NAME_PRESENT_LANES: &str = "name in the mask only the lanes that reach this instruction ({ballot} before the \
                                    branch returns them), or move the operation out of the branch";

/// The fix for a mask that does not name all lanes that reach the instruction.
pub(super) const NAME_ALL_LANES: &str = "name in the mask every lane that reaches this instruction, and no other lane";

/// Describes lanes that execute an instruction with a mask that does not name them.
pub(super) fn unnamed_lanes_message(opcode: &str, lanes: u32) -> String {
    let words = if lanes.is_power_of_two() { ("executes", "it") } else { ("execute", "them") };
    format!("{} {} `{opcode}` with a mask that does not name {}", format_lanes(lanes), words.0, words.1)
}

/// Describes a warp operation whose mask names lanes that do not reach it.
pub(super) fn absent_lanes_message(opcode: &str, lanes: u32) -> String {
    format!("`{opcode}` waits for {}, named in its mask but not executing it", format_lanes(lanes))
}

/// Returns whether all threads of a warp must execute an instruction that has no mask.
fn takes_whole_warps(opcode: &str) -> bool {
    const WHOLE: [&str; 6] = ["mma.", "wmma.", "wgmma.", "ldmatrix.", "stmatrix.", "movmatrix."];
    WHOLE.iter().any(|begin| opcode.starts_with(begin))
}

/// Returns the opcode of the first instruction of a text.
pub(super) fn opcode(line: &str) -> &str {
    let mut words = line.split_whitespace().map(|word| word.trim_end_matches(';'));
    words.find(|word| !word.starts_with(['@', '{']) && !word.ends_with(':')).unwrap_or(line)
}

/// Formats the lanes of a mask: `lane 3`, `lanes 0 to 15 and 17`.
pub(super) fn format_lanes(mask: u32) -> String {
    let mut parts = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        let begin = lane;
        while lane < 32 && mask >> lane & 1 != 0 {
            lane += 1;
        }
        match lane - begin {
            0 => {}
            1 => parts.push(begin.to_string()),
            _ => parts.push(format!("{begin} to {}", lane - 1)),
        }
        lane += 1;
    }
    let several = if mask.count_ones() == 1 { "lane" } else { "lanes" };
    match parts.split_last() {
        None => "no lanes".to_owned(),
        Some((last, [])) => format!("{several} {last}"),
        // A mask of many separate ranges is easier to read as a number.
        Some(_) if parts.len() > 4 => format!("lanes {mask:#010x}"),
        Some((last, rest)) => format!("{several} {} and {last}", rest.join(", ")),
    }
}
