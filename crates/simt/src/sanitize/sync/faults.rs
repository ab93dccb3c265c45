//! The machine's faults that come from threads which do not synchronize, as sentences: who waits, who does not come, and
//! what to do.

use crate::run::{Fault, FaultKind};

/// What a fault of this check says; `lane` is that of its thread. `None` for those whose own words say it.
pub(in crate::sanitize) fn sentence(fault: &Fault, lane: u32) -> Option<String> {
    let opcode = opcode(&fault.ptx);
    match &fault.kind {
        FaultKind::DivergentBarrier { here, elsewhere } => Some(format!(
            "barrier in divergent code: {} of a warp wait at `{opcode}`, and {} do not come; let all threads of the block \
             come to the barrier, or none",
            in_words(*here),
            in_words(*elsewhere)
        )),
        FaultKind::AbsentLanes { lanes } if lanes >> lane & 1 != 0 => Some(format!(
            "lane {lane} executes `{opcode}` with a mask that does not name it; name every lane that comes here, and no other"
        )),
        FaultKind::AbsentLanes { lanes } if takes_whole_warps(opcode) => Some(format!(
            "`{opcode}` is executed without {}; all 32 threads of a warp have to come to it together",
            in_words(*lanes)
        )),
        FaultKind::AbsentLanes { lanes } => Some(format!(
            "`{opcode}` waits for {}, which its mask names and which do not come; name the lanes that come here \
             (__ballot_sync before the branch), or move it out of the branch",
            in_words(*lanes)
        )),
        _ => None,
    }
}

/// Whether an instruction has no mask, but is executed by all threads of a warp.
fn takes_whole_warps(opcode: &str) -> bool {
    const WHOLE: [&str; 6] = ["mma.", "wmma.", "wgmma.", "ldmatrix.", "stmatrix.", "movmatrix."];
    WHOLE.iter().any(|begin| opcode.starts_with(begin))
}

/// The opcode of a line of PTX.
fn opcode(line: &str) -> &str {
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
