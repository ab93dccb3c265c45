//! The machine's faults that come from threads which do not synchronize, in words: who waits, who does not come, and what
//! to do.

use simt::run::{Fault, FaultKind};

/// What a fault of this check says. `None` for those whose own words say it.
pub(crate) fn sentence(fault: &Fault) -> Option<String> {
    let opcode = opcode(&fault.ptx);
    match &fault.kind {
        FaultKind::DivergentBarrier { here, elsewhere } => Some(format!(
            "barrier in divergent code: {} of a warp wait at `{opcode}`, and {} do not come",
            in_words(*here),
            in_words(*elsewhere)
        )),
        FaultKind::UnnamedLanes { lanes } => Some(unnamed(opcode, *lanes)),
        FaultKind::AbsentLanes { lanes } if takes_whole_warps(opcode) => {
            Some(format!("`{opcode}` is executed without {}", in_words(*lanes)))
        }
        FaultKind::AbsentLanes { lanes } => Some(without(opcode, *lanes)),
        _ => None,
    }
}

/// What to do about such a fault.
pub(crate) fn help(fault: &Fault) -> &'static str {
    match &fault.kind {
        FaultKind::UnnamedLanes { .. } => NAME_ALL,
        FaultKind::AbsentLanes { .. } if takes_whole_warps(opcode(&fault.ptx)) => {
            "let all 32 threads of the warp execute it together: move it out of the branch"
        }
        FaultKind::AbsentLanes { .. } => NAME_THEM,
        _ => "move the barrier out of the branch: all threads of the block reach it, or none",
    }
}

/// What to do about a mask that names lanes that do not come.
pub(super) const NAME_THEM: &str = "name the lanes that come here in the mask ({ballot} before the branch gives them), or \
                                    move the operation out of the branch";

/// What to do about a mask that does not name all lanes that come.
pub(super) const NAME_ALL: &str = "name every lane that comes here in the mask, and no other";

/// What lanes do that their mask does not name.
pub(super) fn unnamed(opcode: &str, lanes: u32) -> String {
    let them = if lanes.is_power_of_two() { ("executes", "it") } else { ("execute", "them") };
    format!("{} {} `{opcode}` with a mask that does not name {}", in_words(lanes), them.0, them.1)
}

/// What a warp operation does whose mask names lanes that do not come.
pub(super) fn without(opcode: &str, lanes: u32) -> String {
    format!("`{opcode}` waits for {}, which its mask names and which do not come", in_words(lanes))
}

/// Whether an instruction has no mask, but is executed by all threads of a warp.
fn takes_whole_warps(opcode: &str) -> bool {
    const WHOLE: [&str; 6] = ["mma.", "wmma.", "wgmma.", "ldmatrix.", "stmatrix.", "movmatrix."];
    WHOLE.iter().any(|begin| opcode.starts_with(begin))
}

/// The opcode of the first instruction of a text.
pub(super) fn opcode(line: &str) -> &str {
    let mut words = line.split_whitespace().map(|word| word.trim_end_matches(';'));
    words.find(|word| !word.starts_with(['@', '{']) && !word.ends_with(':')).unwrap_or(line)
}

/// Lanes of a mask: `lane 3`, `lanes 0 to 15 and 17`.
pub(super) fn in_words(mask: u32) -> String {
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
        // A mask without order reads better as a number.
        Some(_) if parts.len() > 4 => format!("lanes {mask:#010x}"),
        Some((last, rest)) => format!("{several} {} and {last}", rest.join(", ")),
    }
}
