//! Replaces `core`'s panic functions with functions of cuda_std that need no formatting.
//!
//! For an out-of-bounds index, `core` formats the index and the length with calls through pointers. The kernel then
//! needs the number of registers of the most demanding function that such a call could reach. cuda_std's functions
//! write the same message without such calls. All panics go through `panic_fmt`, which is inlined into its callers
//! because a caller knows whether its message has arguments. If a crate does not contain these functions of cuda_std,
//! for example because cuda_std's feature `panic-message` is disabled, the crate stays unchanged.

use crate::lower::ir::has;

/// The last parts of the symbols of `core`'s functions, and of the cuda_std functions with the same arguments.
const REPLACED: [(&str, &str); 3] = [
    ("_4core6option13expect_failed", "_8cuda_std5panic7literal"),
    ("_4core9panicking18panic_bounds_check", "_8cuda_std5panic10index_fail"),
    ("_4core5slice5index16slice_index_fail", "_8cuda_std5panic10range_fail"),
];
const ALL_PANICS: &str = "_4core9panicking9panic_fmt";

/// Returns whether a function can replace one of `core`'s functions. The IR then needs this function, although nothing
/// calls it yet.
pub(crate) fn is_replacement(name: &str) -> bool {
    REPLACED.iter().any(|(_, replacement)| name.ends_with(replacement))
}

/// Replaces `core`'s functions in all modules of a program.
pub(crate) fn replace(modules: &mut [String]) {
    let mut replaced = Vec::new();
    for (core, replacement) in REPLACED {
        let Some((_, line)) = definition(modules, replacement) else { return };
        replaced.push((core, name(line).to_owned()));
    }
    for (core, name) in replaced {
        let Some((module, line)) = definition(modules, core) else { continue };
        let (head, _) = line.split_once(" !dbg").unwrap_or((line.trim_end_matches('{'), ""));
        // The first word of a parameter is its type, and the last word is its name.
        let words = line[line.find('(').unwrap_or(0) + 1..line.rfind(')').unwrap_or(0)].split(' ');
        let (mut arguments, mut ty) = (Vec::new(), "");
        for word in words {
            match word.trim_end_matches(',') {
                argument if argument.starts_with('%') => {
                    arguments.push(format!("{} {argument}", std::mem::take(&mut ty)));
                }
                first if ty.is_empty() => ty = first,
                _ => {}
            }
        }
        let text = format!("{head}{{\n  call void {name}({})\n  unreachable", arguments.join(", "));
        let ir = &modules[module];
        let start = line.as_ptr().addr() - ir.as_ptr().addr();
        let end = start + ir[start..].find("\n}").unwrap_or(0);
        modules[module].replace_range(start..end, &text);
    }
    let Some((module, line)) = definition(modules, ALL_PANICS) else { return };
    // A number stands for a group of attributes, which other functions can share.
    let group = attributes(line);
    let of_group = modules[module].split_once(&format!("\nattributes {group} = {{"));
    let of_group = of_group.and_then(|(_, rest)| rest.split_once('}'));
    let of_group = of_group.map_or("alwaysinline", |(text, _)| text.trim()).replace("noinline", "alwaysinline");
    let (line, inlined, call) = (line.to_owned(), line.replace(group, &of_group), format!("call void {}(", name(line)));
    for (number, ir) in modules.iter_mut().enumerate() {
        if number != module && !has(ir, &call) {
            continue;
        }
        let lines = ir.split_inclusive('\n').map(|text| match text {
            text if text.trim_end() == line => text.replace(&line, &inlined),
            // The calls are marked `noinline` too.
            text if text.contains(&call) => text.replace(attributes(text), ""),
            text => text.to_owned(),
        });
        *ir = lines.collect();
    }
}

/// Returns the number of the attributes that follow the arguments of a definition or a call: `#7`.
fn attributes(line: &str) -> &str {
    let rest = line.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split([' ', ',', '\n']).find(|word| word.starts_with('#')).unwrap_or("!none")
}

/// Returns the first line of the definition of the function whose name ends with `end`, and the index of its module.
/// Libraries come last.
fn definition<'a>(modules: &'a [String], end: &str) -> Option<(usize, &'a str)> {
    let end = format!("{end}(");
    let in_module = |ir: &'a String| {
        let at = ir.match_indices(&end).map(|(at, _)| at);
        let mut lines = at.map(|at| {
            let start = ir[..at].rfind('\n').map_or(0, |at| at + 1);
            &ir[start..at + ir[at..].find('\n').unwrap_or(0)]
        });
        lines.find(|line| line.starts_with("define ") && name(line).ends_with(end.trim_end_matches('(')))
    };
    modules.iter().enumerate().rev().find_map(|(module, ir)| Some((module, in_module(ir)?)))
}

/// Returns the name in the first line of a definition: `@name`.
fn name(line: &str) -> &str {
    let start = line.find('@').unwrap_or(0);
    &line[start..start + line[start..].find('(').unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::replace;

    const IR: &str = "\
define internal void @_Rx_4core9panicking18panic_bounds_check(i64 noundef %0, i64 noundef %1, ptr align 8 captures(address, read_provenance) %2) unnamed_addr #1 {
  %4 = alloca [32 x i8], align 8
  call void @_Rx_4core9panicking9panic_fmt(ptr @a, ptr %4, ptr %2) #2
  unreachable
}

define internal void @_Rx_4core9panicking9panic_fmt(ptr %0, ptr %1, ptr %2) unnamed_addr #1 {
  unreachable
}

define void @_Rx_8cuda_std5panic10index_fail(i64 %a, i64 %b, ptr %c) #3 {
  unreachable
}

define void @user(ptr %0) #3 {
  call void @_Rx_4core9panicking9panic_fmt(ptr @b, ptr %0, ptr @c) #2, !dbg !7
  unreachable
}

attributes #1 = { cold noinline noreturn \"target-cpu\"=\"sm_90\" }
";

    fn replaced(ir: String) -> String {
        let mut modules = [ir];
        replace(&mut modules);
        modules.concat()
    }

    #[test]
    fn an_index_out_of_bounds_is_not_formatted() {
        let others = ["10range_fail", "7literal"].map(|name| IR.replace("10index_fail", name));
        let replaced = replaced(IR.to_owned() + &others.concat());
        let bounds = "read_provenance) %2) unnamed_addr #1 {\n  call void @_Rx_8cuda_std5panic10index_fail(i64 %0, i64 %1, ptr %2)\n  unreachable\n}";
        assert!(replaced.contains(bounds), "{replaced}");
        let all = "%2) unnamed_addr cold alwaysinline noreturn \"target-cpu\"=\"sm_90\" {\n";
        assert!(replaced.contains(all), "{replaced}");
        assert!(replaced.contains("panic_fmt(ptr @b, ptr %0, ptr @c) , !dbg !7\n"), "{replaced}");
    }

    #[test]
    fn a_crate_without_the_functions_stays_unchanged() {
        let ir = IR.replace("cuda_std", "other_std");
        assert_eq!(replaced(ir.clone()), ir);
    }
}
