//! One kernel's LLVM IR.

use crate::error::ptx::{PtxError, Result};

/// The `define` of a function in a module's text, to its closing brace, without the `!dbg` that follows
/// instructions.
pub(super) fn function(ir: &str, name: &str) -> Result<String> {
    let plain = format!("@{name}(");
    let quoted = format!("@\"{name}\"(");
    let mut out = String::new();
    let mut inside = false;
    for line in ir.lines() {
        inside |= line.starts_with("define ") && (line.contains(&plain) || line.contains(&quoted));
        if inside {
            if !line.trim_start().starts_with("#dbg_") {
                out.push_str(&without_debug(line));
                out.push('\n');
            }
            if line == "}" {
                return Ok(out);
            }
        }
    }
    Err(PtxError::NoFunction {
        what: "the module's LLVM IR",
        name: name.to_owned(),
    })
}

/// The line without its `, !dbg !12`; a `define` has it without the comma.
fn without_debug(line: &str) -> String {
    match line.split_once(" !dbg !") {
        Some((before, after)) => {
            let before = before.strip_suffix(',').unwrap_or(before);
            before.to_owned() + after.trim_start_matches(|digit: char| digit.is_ascii_digit())
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::function;

    const IR: &str = "\
define ptx_kernel void @sum_64(ptr %0) {
  ret void
}

define ptx_kernel void @sum(ptr %0) !dbg !7 {
start:
    #dbg_value(i32 0, !8, !DIExpression(), !9)
  %1 = load i32, ptr %0, align 4, !dbg !12, !noundef !4
  ret void, !dbg !13
}
";

    #[test]
    fn one_define_without_debug_information() {
        let text = function(IR, "sum").expect("it is there");
        insta::assert_snapshot!(text, @r"
        define ptx_kernel void @sum(ptr %0) {
        start:
          %1 = load i32, ptr %0, align 4, !noundef !4
          ret void
        }
        ");
    }

    #[test]
    fn a_function_that_is_not_there() {
        let failure = function(IR, "su").expect_err("only `sum` and `sum_64` are there");
        assert_eq!(
            failure.to_string(),
            "the module's LLVM IR has no function `su`"
        );
    }
}
