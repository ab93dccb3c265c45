//! `cvta.to.shared` in `asm!` becomes a cast that LLVM understands.
//!
//! Some instructions take a shared variable's address as a number, within the shared window: `cp.async`
//! writes there, `mbarrier` counts there. Rust has one kind of pointer, so device code converts its own
//! with an `asm!` block of the single instruction `cvta.to.shared.u64 {number}, {pointer};` (PTX ISA,
//! "Data Movement and Conversion Instructions: cvta"). To LLVM such a block is opaque: the pointer
//! would have to be made generic first, and no arithmetic on the number would fold. Written as a cast to
//! the address space the same conversion disappears into the address.

use super::ir::closing;

/// The instruction, up to its operands.
const INSTRUCTION: &str = "cvta.to.shared.u64 ";

/// Rewrites each such block that is a single instruction with a pointer for its operand.
pub fn lower(ir: &str) -> String {
    if !ir.contains(INSTRUCTION) {
        return ir.to_owned();
    }
    let mut out = String::with_capacity(ir.len());
    for line in ir.lines() {
        match cast(line) {
            Some(cast) => out.push_str(&cast),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// `%r = call i64 asm "cvta.to.shared.u64 $0, $1;", "=l,l"(ptr %p)` → a cast and its number.
fn cast(line: &str) -> Option<String> {
    let (result, call) = line.split_once(" = ")?;
    if !call.contains("call i64 asm ") {
        return None;
    }
    let (_, after) = call.split_once(&format!("\"{INSTRUCTION}"))?;
    let (operands, after) = after.split_once('"')?;
    // One instruction and no second.
    if operands.matches(';').count() > 1 {
        return None;
    }
    let (_, after) = after.split_once('"')?;
    let (_, arguments) = after.split_once('"')?;
    let inner = arguments.get(1..closing(arguments)?)?;
    let pointer = inner.strip_prefix("ptr ")?;
    let indent = &result[..result.len() - result.trim_start().len()];
    let name = result.trim();
    // A number of LLVM's own (`%9`) must follow the one before it; a name need not.
    let window = format!("%window.{}", name.trim_start_matches('%'));
    Some(format!(
        "{indent}{window} = addrspacecast ptr {pointer} to ptr addrspace(3)\n\
         {indent}{name} = ptrtoint ptr addrspace(3) {window} to i64"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_becomes_a_cast() {
        let ir = "define void @f() {\n  %9 = call i64 asm alignstack \"cvta.to.shared.u64 ${0}, ${1};\", \
                  \"=&l,l\"(ptr addrspacecast (ptr addrspace(3) @T to ptr)) #29, !srcloc !3\n}\n";
        assert_eq!(
            lower(ir),
            "define void @f() {\n  %window.9 = addrspacecast ptr addrspacecast (ptr addrspace(3) @T to \
             ptr) to ptr addrspace(3)\n  %9 = ptrtoint ptr addrspace(3) %window.9 to i64\n}\n"
        );
    }

    #[test]
    fn other_blocks_stay_as_they_are() {
        for line in [
            "  %9 = call i64 asm \"cvta.to.shared.u64 $0, $1; add.u64 $0, $0, 1;\", \"=l,l\"(ptr %p)\n",
            "  %9 = call i64 asm \"cvta.to.global.u64 $0, $1;\", \"=l,l\"(ptr %p)\n",
            "  %9 = call i64 asm \"cvta.to.shared.u64 $0, $1;\", \"=l,l\"(i64 %p)\n",
        ] {
            assert_eq!(lower(line), line);
        }
    }
}
