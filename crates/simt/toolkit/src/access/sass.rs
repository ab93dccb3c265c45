//! Memory instructions in the output of `nvdisasm -c` (CUDA Binary Utilities, "Instruction Set Reference").

use super::{Access, Counts, Kind};

/// Counts the memory instructions of an entry in a disassembly, without instructions that never run. Returns `None` if
/// the entry does not exist.
#[must_use]
pub fn of_sass(code: &str, entry: &str) -> Option<Counts> {
    let label = format!(".text.{entry}:");
    let mut lines = code.lines().map(str::trim);
    lines.find(|line| *line == label)?;
    // The code of the next function begins with a label.
    let code = lines.take_while(|line| !line.starts_with(".text."));
    let mut elects = false;
    let access = |line: &str| {
        let access = access(line);
        // `FLO.U32` finds the warp's first lane in a ballot. A label begins another part of the code.
        elects = (elects || line.contains("FLO.U32 ")) && line.starts_with("/*");
        access.map(|access| match access.kind {
            Kind::Red if access.predicated && elects => Access { kind: Kind::RedOfOne, ..access },
            _ => access,
        })
    };
    Some(code.filter_map(access).collect())
}

/// Parses a line such as `/*0090*/  @!P0 LDG.E.64 R6, desc[UR6][R6.64] ;`.
fn access(line: &str) -> Option<Access> {
    let (_, instruction) = line.strip_prefix("/*")?.split_once("*/")?;
    let mut words = instruction.split_whitespace().peekable();
    let predicate = words.next_if(|word| word.starts_with('@'));
    // `PT` is always true, so an instruction with `@!PT` never runs. It is padding: ptxas puts `@!PT LDS RZ, [RZ]` in
    // front of LDGSTS.
    let predicated = match predicate {
        Some("@!PT" | "@!UPT") => return None,
        Some("@PT" | "@UPT") | None => false,
        Some(_) => true,
    };
    let mut parts = words.next()?.split('.').peekable();
    let kind = match parts.next()? {
        "ATOMG" => Kind::Atom,
        "REDG" => Kind::Red,
        "ATOMS" if parts.peek() == Some(&"POPC") => Kind::AtomsPopc,
        name => *Kind::ALL.iter().find(|kind| kind.name() == name)?,
    };
    let bits = parts.find_map(|part| match part {
        "U8" | "S8" => Some(8),
        "U16" | "S16" => Some(16),
        "64" | "F64" => Some(64),
        "128" => Some(128),
        "256" => Some(256),
        _ => None,
    });
    Some(Access { kind, bits: bits.unwrap_or(32), predicated })
}
