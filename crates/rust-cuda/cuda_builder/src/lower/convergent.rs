//! Marks operations that threads may have to execute together as convergent: functions, calls to unknown functions, and
//! `asm!` blocks that synchronize threads.
//!
//! rustc does not emit the attribute `convergent`. Without it, LLVM could copy a call into both sides of a branch or
//! move the call past a branch. Threads would then wait for other threads that never arrive. LLVM's warp and barrier
//! intrinsics are declared with the attribute. As in Clang for CUDA, every function initially has the attribute, and
//! LLVM removes it from functions that call nothing convergent. LLVM Language Reference, "Convergence And Uniformity".

use super::ir::{closing, define, with_function_attributes};

/// Prefixes of the PTX instructions that all threads of a group execute together.
const COLLECTIVE: [&str; 6] = [".sync", "bar.", "barrier", "activemask", ".aligned", "mbarrier"];

/// Adds `convergent` to all functions, to calls through pointers, and to collective `asm!` blocks.
pub fn lower(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len() + ir.len() / 64);
    for line in ir.lines() {
        match define(line).map(|_| with_function_attributes(line, "convergent")).or_else(|| marked(line)) {
            Some(marked) => out.push_str(&marked),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Returns the line with `convergent` after the arguments of its call, if the call needs the attribute.
fn marked(line: &str) -> Option<String> {
    // Outside a function's body, these words can be part of a string.
    let call = line.find("call ").filter(|_| line.starts_with(' '))?;
    let arguments = call + collective_block(&line[call..]).or_else(|| call_through_pointer(&line[call..]))?;
    let end = arguments + closing(&line[arguments..])? + 1;
    Some(format!("{} convergent{}", &line[..end], &line[end..]))
}

/// Returns the start of the arguments of `call T asm "…", "…"(…)`, if threads execute the block together.
fn collective_block(call: &str) -> Option<usize> {
    let asm = call.find(" asm ")?;
    let template = asm + call[asm..].find('"')?;
    let template_end = template + 1 + call[template + 1..].find('"')?;
    let text = &call[template..template_end];
    if !COLLECTIVE.iter().any(|form| text.contains(form)) {
        return None;
    }
    let constraints = template_end + 1 + call[template_end + 1..].find('"')?;
    Some(constraints + 1 + call[constraints + 1..].find('"')? + 1)
}

/// Returns the start of the arguments of `call T %pointer(…)`.
fn call_through_pointer(call: &str) -> Option<usize> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._$-".contains(&byte);
    // If the value is an argument or part of a type, the next character is not a parenthesis.
    call.match_indices('%').find_map(|(at, _)| {
        let name = call[at + 1..].bytes().take_while(|byte| is_name(*byte)).count();
        let end = at + 1 + name;
        (name > 0 && call[end..].starts_with('(') && !call[..at].contains(['"', '(', '@'])).then_some(end)
    })
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
    fn calls_through_pointers_are_marked() {
        let out = lower("  %r = call noundef i64 %2(i32 noundef %i, ptr %p) #7, !dbg !3\n  call void %_3.i(ptr %p)\n");
        assert_eq!(
            out,
            "  %r = call noundef i64 %2(i32 noundef %i, ptr %p) convergent #7, !dbg !3\n  call void %_3.i(ptr %p) convergent\n"
        );
    }

    #[test]
    fn other_lines_stay_unchanged() {
        for line in [
            "@t = constant [9 x i8] c\" asm \", section \"bar.sync (x) \", align 1\n",
            "  call void asm sideeffect \"red.global.add.s32 [$0], $1;\", \"l,r\"(ptr %p, i32 %v) #6\n",
            "  %r = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %a, i64 %(b)), !dbg !1\n",
            "  %r = call { i64, i1 } @\"call %x(y)\"(i64 %a), !dbg !1\n",
        ] {
            assert_eq!(lower(line), line);
        }
    }
}
