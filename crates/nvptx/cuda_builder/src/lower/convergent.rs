//! Marking `asm!` blocks that synchronize threads as convergent.
//!
//! rustc emits `asm!` without the attribute, so LLVM may copy such a block into both sides of a
//! branch, or move it behind one: then threads wait for others that never come. LLVM's own warp and
//! barrier intrinsics have it by declaration. LLVM Language Reference, "Convergence And Uniformity".

use super::ir::{closing, define, with_function_attributes};

/// Prefixes of the PTX instructions that all threads of a group execute together.
const COLLECTIVE: [&str; 6] = [".sync", "bar.", "barrier", "activemask", ".aligned", "mbarrier"];

/// Adds `convergent` to calls of collective `asm!` blocks and to the functions that hold them.
pub fn lower(ir: &str) -> String {
    if !ir.contains(" asm ") {
        return ir.to_owned();
    }
    let mut out: Vec<String> = Vec::new();
    let mut function = None;
    for line in ir.lines() {
        if define(line).is_some() {
            function = Some(out.len());
        }
        match marked(line) {
            Some(marked) => {
                if let Some(start) = function.take() {
                    out[start] = with_function_attributes(&out[start], "convergent");
                }
                out.push(marked);
            }
            None => out.push(line.to_owned()),
        }
    }
    out.push(String::new());
    out.join("\n")
}

/// `call T asm "…", "…"(args) #1` → `call T asm "…", "…"(args) convergent #1`
fn marked(line: &str) -> Option<String> {
    // What does not stand in a function's body can have the word in a string.
    let asm = line.find(" asm ").filter(|_| line.starts_with(' '))?;
    let template = asm + line[asm..].find('"')?;
    let template_end = template + 1 + line[template + 1..].find('"')?;
    let text = &line[template..template_end];
    if !COLLECTIVE.iter().any(|form| text.contains(form)) {
        return None;
    }
    let constraints = template_end + 1 + line[template_end + 1..].find('"')?;
    let arguments = constraints + 1 + line[constraints + 1..].find('"')? + 1;
    let end = arguments + closing(&line[arguments..])? + 1;
    Some(format!("{} convergent{}", &line[..end], &line[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collective_blocks_and_their_functions_are_marked() {
        let ir = "define i32 @f(i32 %v) #0 {\n  \
            %r = call i32 asm sideeffect \"shfl.sync.bfly.b32 ${0}, ${1}, 1, 31, -1;\", \"=&r,r\"(i32 (%v)) #6, !dbg !1\n  \
            ret i32 %r\n}\n";
        let out = lower(ir);
        assert!(out.starts_with("define i32 @f(i32 %v) #0 convergent {\n"), "{out}");
        assert!(out.contains("\"=&r,r\"(i32 (%v)) convergent #6, !dbg !1\n"), "{out}");
    }

    #[test]
    fn other_blocks_stay_as_they_are() {
        let text = "@t = constant [9 x i8] c\" asm \", section \"bar.sync (x) \", align 1\n";
        assert_eq!(lower(text), text);
        let ir = "define void @f() {\n  call void asm sideeffect \"red.global.add.s32 [$0], $1;\", \"l,r\"(ptr %p, i32 %v) #6\n}\n";
        assert_eq!(lower(ir), ir);
    }
}
