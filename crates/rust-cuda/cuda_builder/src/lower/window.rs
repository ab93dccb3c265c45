//! Turns `cvta.to.shared` in `asm!` into a cast that LLVM understands.
//!
//! Some instructions, such as `cp.async` and `mbarrier`, take the address of a shared variable as a number within the
//! shared window. Rust has only one kind of pointer, so device code converts a pointer with an `asm!` block. The block
//! consists of the instruction `cvta.to.shared.u64 {number}, {pointer};` (PTX ISA, "Data Movement and Conversion
//! Instructions: cvta"). Such a block is opaque to LLVM: the pointer would first have to be made generic, and
//! arithmetic on the number would not fold. As a cast to the address space, the same conversion folds into the address.

use super::ir::closing;

/// The instruction, up to its operands.
const INSTRUCTION: &str = "cvta.to.shared.u64 ";

/// Rewrites each `asm!` block that consists of this instruction with a pointer operand.
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

/// Returns a cast, and the conversion of its result to a number, for `%r = call i64 asm "cvta.to.shared.u64 $0, $1;",
/// "=l,l"(ptr %p)`.
fn cast(line: &str) -> Option<String> {
    let (result, call) = line.split_once(" = ")?;
    if !call.contains("call i64 asm ") {
        return None;
    }
    let (_, after) = call.split_once(&format!("\"{INSTRUCTION}"))?;
    let (operands, after) = after.split_once('"')?;
    // The block must not contain a second instruction.
    if operands.matches(';').count() > 1 {
        return None;
    }
    let (_, after) = after.split_once('"')?;
    let (_, arguments) = after.split_once('"')?;
    let inner = arguments.get(1..closing(arguments)?)?;
    let pointer = inner.strip_prefix("ptr ")?;
    let indent = &result[..result.len() - result.trim_start().len()];
    let name = result.trim();
    // LLVM's numbered values (`%9`) must be consecutive; named values need not be.
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
    fn other_blocks_stay_unchanged() {
        for line in [
            "  %9 = call i64 asm \"cvta.to.shared.u64 $0, $1; add.u64 $0, $0, 1;\", \"=l,l\"(ptr %p)\n",
            "  %9 = call i64 asm \"cvta.to.global.u64 $0, $1;\", \"=l,l\"(ptr %p)\n",
            "  %9 = call i64 asm \"cvta.to.shared.u64 $0, $1;\", \"=l,l\"(i64 %p)\n",
        ] {
            assert_eq!(lower(line), line);
        }
    }
}
