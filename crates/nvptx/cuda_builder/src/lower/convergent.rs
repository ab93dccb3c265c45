//! Marking what synchronizes threads as convergent: `asm!` blocks, and functions.
//!
//! rustc emits `asm!` without the attribute, so LLVM may copy such a block into both sides of a
//! branch, or move it behind one: then threads wait for others that never come. LLVM's own warp and
//! barrier intrinsics have it by declaration; the functions that call them do not, and until they are
//! inlined, LLVM may do the same with calls of them. LLVM Language Reference, "Convergence And Uniformity".

use std::collections::HashSet;

use super::ir::{Mention, closing, define, mentions, with_function_attributes};

/// Prefixes of the PTX instructions that all threads of a group execute together.
const COLLECTIVE: [&str; 6] = [".sync", "bar.", "barrier", "activemask", ".aligned", "mbarrier"];

/// Beginnings of the names of LLVM's intrinsics that do so.
const INTRINSICS: [&str; 7] = [
    "llvm.nvvm.bar",
    "llvm.nvvm.shfl.sync",
    "llvm.nvvm.vote",
    "llvm.nvvm.match",
    "llvm.nvvm.redux",
    "llvm.nvvm.activemask",
    "llvm.nvvm.mbarrier",
];

/// A function of the module.
struct Function<'a> {
    name: &'a str,
    /// The index of its first line.
    start: usize,
    /// What its calls mention.
    calls: Vec<&'a str>,
    /// Whether a block or an intrinsic in it synchronizes threads.
    is_collective: bool,
}

/// Adds `convergent` to calls of collective `asm!` blocks, and to the functions that hold them or intrinsics that
/// synchronize threads, or that call such functions.
pub fn lower(ir: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut functions: Vec<Function<'_>> = Vec::new();
    for line in ir.lines() {
        let marked = marked(line);
        if let Some(define) = define(line) {
            functions.push(Function { name: define.name, start: out.len(), calls: Vec::new(), is_collective: false });
        } else if let Some(function) = functions.last_mut() {
            function.is_collective |= marked.is_some();
            if line.starts_with(' ') && (line.contains("call ") || line.contains("invoke ")) {
                let symbols = mentions(line).filter_map(|(_, mention)| match mention {
                    Mention::Symbol(name) => Some(name),
                    Mention::Number(..) => None,
                });
                function.calls.extend(symbols);
            }
        }
        out.push(marked.unwrap_or_else(|| line.to_owned()));
    }
    for name in collective(&mut functions) {
        out[name] = with_function_attributes(&out[name], "convergent");
    }
    out.push(String::new());
    out.join("\n")
}

/// The first lines of the functions that synchronize threads, themselves or in what they call.
fn collective(functions: &mut [Function<'_>]) -> Vec<usize> {
    let is_intrinsic = |name: &&str| INTRINSICS.iter().any(|start| name.starts_with(start));
    let mut known: HashSet<&str> = HashSet::new();
    loop {
        let before = known.len();
        for function in &mut *functions {
            let mut calls = function.calls.iter();
            function.is_collective |= calls.any(|name| is_intrinsic(name) || known.contains(name));
            if function.is_collective {
                known.insert(function.name);
            }
        }
        if known.len() == before {
            break;
        }
    }
    functions.iter().filter(|function| function.is_collective).map(|function| function.start).collect()
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

    /// LLVM copied the call of such a function to both sides of a branch: `if i == 0 { … }` before and behind a barrier.
    #[test]
    fn functions_that_call_what_synchronizes_are_marked() {
        let ir = "define void @sync() #0 {\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n}\n\
            define void @\"outer f\"() !dbg !1 {\n  call void @sync(), !dbg !2\n}\n\
            define void @other() {\n  call void @llvm.nvvm.membar.gl()\n}\n";
        let out = lower(ir);
        assert!(out.starts_with("define void @sync() #0 convergent {\n"), "{out}");
        assert!(out.contains("define void @\"outer f\"() convergent !dbg !1 {\n"), "{out}");
        assert!(out.contains("define void @other() {\n"), "{out}");
    }

    #[test]
    fn other_blocks_stay_as_they_are() {
        let text = "@t = constant [9 x i8] c\" asm \", section \"bar.sync (x) \", align 1\n";
        assert_eq!(lower(text), text);
        let ir = "define void @f() {\n  call void asm sideeffect \"red.global.add.s32 [$0], $1;\", \"l,r\"(ptr %p, i32 %v) #6\n}\n";
        assert_eq!(lower(ir), ir);
    }
}
