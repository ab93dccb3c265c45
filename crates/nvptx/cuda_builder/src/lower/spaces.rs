//! Moving marked statics to the address space that they ask for.
//!
//! `cuda_std`'s `#[address_space(shared)]` puts a static into the section `.shared`: rustc knows no
//! address spaces, but it carries sections into the IR. Here
//!
//! ```text
//! @TILE = internal global [512 x i8] undef, section ".shared", align 4
//! ```
//!
//! becomes a global of address space 3, and `ptr @TILE` wherever it stands becomes
//! `ptr addrspacecast (ptr addrspace(3) @TILE to ptr)`. Address spaces: LLVM's "User Guide for NVPTX
//! Back-end", "Address Spaces".

use std::collections::HashMap;

use super::LowerError;
use super::ir::{Mention, demangled, global_name, mentions, split_item};

/// The symbol through which `cuda_std` declares a block's dynamic shared memory.
pub const DYNAMIC_SHARED: &str = "_Zcuda_std_dyn_shared";

/// Where a static lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// One copy a block, on the chip.
    Shared,
    /// One copy a module, read-only for the kernel and cached.
    Constant,
}

impl Space {
    const ALL: [Space; 2] = [Space::Shared, Space::Constant];

    /// LLVM's number for it.
    pub fn number(self) -> u32 {
        match self {
            Space::Shared => 3,
            Space::Constant => 4,
        }
    }

    /// Its PTX name.
    pub fn name(self) -> &'static str {
        match self {
            Space::Shared => "shared",
            Space::Constant => "constant",
        }
    }

    fn section(self) -> &'static str {
        match self {
            Space::Shared => "section \".shared\"",
            Space::Constant => "section \".constant\"",
        }
    }
}

/// Rewrites the declarations of marked statics and every use of them.
///
/// # Errors
/// [`LowerError`] when a marked static has an initial value, when its address is stored in another
/// static, or when the pass cannot read its declaration. The error names the static.
pub fn lower(ir: &str) -> Result<String, LowerError> {
    let mut spaces = HashMap::new();
    for line in ir.lines().filter(|line| line.starts_with('@')) {
        if let (Some((name, _)), Some(space)) = (global_name(line), marked(line)) {
            spaces.insert(name, space);
        }
    }
    if spaces.is_empty() {
        return Ok(ir.to_owned());
    }
    let mut out = String::with_capacity(ir.len());
    for line in ir.lines() {
        out.push_str(&lower_line(line, &spaces)?);
        out.push('\n');
    }
    Ok(out)
}

fn marked(line: &str) -> Option<Space> {
    let (name, _) = global_name(line)?;
    if name == DYNAMIC_SHARED {
        return Some(Space::Shared);
    }
    Space::ALL
        .into_iter()
        .find(|space| line.contains(space.section()))
}

fn lower_line(line: &str, spaces: &HashMap<&str, Space>) -> Result<String, LowerError> {
    if !line.contains('@') {
        return Ok(line.to_owned());
    }
    if let Some((holder, rest)) = global_name(line) {
        if let Some(&space) = spaces.get(holder) {
            return lower_declaration(line, holder, space);
        }
        // The list of statics that `#[used]` keeps alive for the linker. There is no linker here.
        if holder == "llvm.used" || holder == "llvm.compiler.used" {
            return Ok(without_marked(rest, holder, spaces));
        }
        let marked = |(_, mention)| match mention {
            Mention::Symbol(name) => spaces.contains_key(name).then_some(name),
            _ => None,
        };
        if let Some(name) = mentions(rest).find_map(marked) {
            return Err(LowerError::AddressInStatic {
                name: demangled(name),
                holder: demangled(holder),
            });
        }
        return Ok(line.to_owned());
    }
    Ok(with_casts(line, spaces))
}

/// `@X = internal global T undef, section ".shared", align 4` →
/// `@X = internal addrspace(3) global T undef, align 4`
fn lower_declaration(line: &str, name: &str, space: Space) -> Result<String, LowerError> {
    if name == DYNAMIC_SHARED {
        return Ok(format!(
            "@{DYNAMIC_SHARED} = external addrspace(3) global [0 x i8], align 16"
        ));
    }
    let unknown = || LowerError::UnknownForm {
        name: demangled(name),
        line: line.to_owned(),
    };
    let (kind_at, kind) = [" global ", " constant "]
        .into_iter()
        .filter_map(|kind| line.find(kind).map(|at| (at, kind)))
        .min()
        .ok_or_else(unknown)?;
    let (head, body) = (&line[..kind_at], &line[kind_at + kind.len()..]);
    let (ty, rest) = split_item(body).ok_or_else(unknown)?;
    let (value, rest) = split_item(rest).ok_or_else(unknown)?;
    if space == Space::Shared && !is_undefined(value) {
        return Err(LowerError::Initialized {
            name: demangled(name),
            value: value.chars().take(40).collect(),
        });
    }
    let rest = rest.replace(&format!(", {}", space.section()), "");
    let (value, kind) = match space {
        Space::Shared => ("undef", "global"),
        Space::Constant => (value, kind.trim()),
    };
    Ok(format!(
        "{head} addrspace({}) {kind} {ty} {value}{rest}",
        space.number()
    ))
}

/// Whether an initializer leaves everything undefined: `undef`, or an aggregate of nothing else.
fn is_undefined(value: &str) -> bool {
    if matches!(value, "undef" | "poison") {
        return true;
    }
    let inner = value
        .trim_start_matches(['<', '{', '['])
        .trim_end_matches(['>', '}', ']']);
    if inner.len() == value.len() || inner.trim().is_empty() {
        return inner.len() != value.len();
    }
    let mut rest = inner.trim();
    loop {
        let Some((_, after)) = split_item(rest) else {
            return false;
        };
        let Some((element, after)) = split_item(after) else {
            return false;
        };
        if !is_undefined(element) {
            return false;
        }
        match after.trim_start().strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None => return after.trim().is_empty(),
        }
    }
}

/// ` = appending global [2 x ptr] [ptr @TILE, ptr @x], section "llvm.metadata"` without `@TILE`.
fn without_marked(rest: &str, holder: &str, spaces: &HashMap<&str, Space>) -> String {
    let kept: Vec<&str> = rest
        .rsplit_once('[')
        .and_then(|(_, list)| list.split_once(']'))
        .map(|(list, _)| list.split(", ").collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter()
        .filter(|item| {
            let name = item.find('@').and_then(|at| global_name(&item[at..]));
            name.is_none_or(|(name, _)| !spaces.contains_key(name))
        })
        .collect();
    if kept.is_empty() {
        return String::new();
    }
    format!(
        "@{holder} = appending global [{} x ptr] [{}], section \"llvm.metadata\"",
        kept.len(),
        kept.join(", ")
    )
}

fn with_casts(line: &str, spaces: &HashMap<&str, Space>) -> String {
    let mut out = String::with_capacity(line.len() + 64);
    let mut rest = line;
    while let Some(at) = rest.find('@') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let Some((name, after)) = global_name(from) else {
            out.push('@');
            rest = &from[1..];
            continue;
        };
        let symbol = &from[..from.len() - after.len()];
        match spaces.get(name) {
            Some(space) => out.push_str(&format!(
                "addrspacecast (ptr addrspace({}) {symbol} to ptr)",
                space.number()
            )),
            None => out.push_str(symbol),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowered(ir: &str) -> String {
        lower(ir).expect("it can be lowered")
    }

    const TILE: &str = "@TILE = internal global [512 x i8] undef, section \".shared\", align 4\n";
    const CAST: &str = "addrspacecast (ptr addrspace(3) @TILE to ptr)";

    #[test]
    fn an_array_moves_and_its_uses_are_cast() {
        let out = lowered(&format!(
            "{TILE}define void @k(i64 %i) {{\n  %p = getelementptr inbounds float, ptr @TILE, i64 %i\n  \
             store float 1.0, ptr @TILE, align 4\n}}\n"
        ));
        assert_eq!(
            out,
            format!(
                "@TILE = internal addrspace(3) global [512 x i8] undef, align 4\n\
                 define void @k(i64 %i) {{\n  %p = getelementptr inbounds float, ptr {CAST}, i64 %i\n  \
                 store float 1.0, ptr {CAST}, align 4\n}}\n"
            )
        );
    }

    #[test]
    fn several_statics_and_names_that_contain_each_other() {
        let out = lowered(
            "@A = internal global i32 undef, section \".shared\", align 4\n\
             @AB = internal unnamed_addr global i64 undef, section \".shared\", align 8, !dbg !3\n\
             @ABC = internal global i32 7, align 4\n\
             define void @k() {\n  %x = load i32, ptr @A\n  %y = load i64, ptr @AB\n  %z = load i32, ptr @ABC\n}\n",
        );
        assert!(
            out.contains("@A = internal addrspace(3) global i32 undef, align 4\n"),
            "{out}"
        );
        assert!(
            out.contains(
                "@AB = internal unnamed_addr addrspace(3) global i64 undef, align 8, !dbg !3\n"
            ),
            "{out}"
        );
        assert!(
            out.contains("@ABC = internal global i32 7, align 4\n"),
            "{out}"
        );
        assert!(
            out.contains("load i32, ptr addrspacecast (ptr addrspace(3) @A to ptr)\n"),
            "{out}"
        );
        assert!(
            out.contains("load i64, ptr addrspacecast (ptr addrspace(3) @AB to ptr)\n"),
            "{out}"
        );
        assert!(out.contains("load i32, ptr @ABC\n"), "{out}");
    }

    #[test]
    fn uses_inside_constant_expressions() {
        let out = lowered(&format!(
            "{TILE}define void @k() {{\n  store float 1.0, ptr getelementptr inbounds nuw (float, ptr @TILE, i64 3), align 4\n}}\n"
        ));
        assert!(
            out.contains(&format!(
                "ptr getelementptr inbounds nuw (float, ptr {CAST}, i64 3), align 4"
            )),
            "{out}"
        );
    }

    #[test]
    fn one_static_used_by_two_kernels() {
        let out = lowered(&format!(
            "{TILE}define ptx_kernel void @a() {{\n  store i8 1, ptr @TILE\n}}\n\
             define ptx_kernel void @b() {{\n  store i8 2, ptr @TILE\n}}\n"
        ));
        assert_eq!(out.matches(CAST).count(), 2, "{out}");
        assert_eq!(out.matches("@TILE = ").count(), 1, "{out}");
    }

    #[test]
    fn quoted_names() {
        let out = lowered(
            "@\"a<b>\" = internal global [4 x i8] undef, section \".shared\", align 1\n\
             define void @k() {\n  store i8 1, ptr @\"a<b>\"\n}\n",
        );
        assert!(
            out.contains("addrspacecast (ptr addrspace(3) @\"a<b>\" to ptr)"),
            "{out}"
        );
    }

    #[test]
    fn structs_of_nothing_are_uninitialized_too() {
        let out = lowered(
            "@S = internal global <{ [4 x i8], [8 x i8] }> <{ [4 x i8] undef, [8 x i8] undef }>, section \".shared\", align 8\n",
        );
        assert_eq!(
            out,
            "@S = internal addrspace(3) global <{ [4 x i8], [8 x i8] }> undef, align 8\n"
        );
    }

    #[test]
    fn an_initial_value_is_refused() {
        for value in [
            "[4 x i8] zeroinitializer",
            "i32 7",
            "<{ [4 x i8], i32 }> <{ [4 x i8] undef, i32 1 }>",
            "[2 x i8] c\"ab\"",
        ] {
            let ir = format!("@COUNT = internal global {value}, section \".shared\", align 4\n");
            let error = lower(&ir).expect_err(value);
            assert!(
                matches!(&error, LowerError::Initialized { name, .. } if name == "COUNT"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_address_in_another_static_is_refused() {
        let error = lower(&format!(
            "{TILE}@P = internal constant ptr @TILE, align 8\n"
        ))
        .expect_err("an address before the block runs");
        assert_eq!(
            error,
            LowerError::AddressInStatic {
                name: "TILE".into(),
                holder: "P".into()
            }
        );
    }

    #[test]
    fn used_lists_forget_marked_statics() {
        let out = lowered(&format!(
            "{TILE}@llvm.compiler.used = appending global [2 x ptr] [ptr @TILE, ptr @x], section \"llvm.metadata\"\n\
             @llvm.used = appending global [1 x ptr] [ptr @TILE], section \"llvm.metadata\"\n"
        ));
        assert!(
            out.contains("@llvm.compiler.used = appending global [1 x ptr] [ptr @x], section \"llvm.metadata\"\n"),
            "{out}"
        );
        assert!(!out.contains("@llvm.used"), "{out}");
    }

    #[test]
    fn dynamic_shared_memory_is_one_external_array() {
        let out = lowered(
            "@_Zcuda_std_dyn_shared = external local_unnamed_addr global i128\n\
             define void @k() {\n  %x = load float, ptr @_Zcuda_std_dyn_shared, align 4\n}\n",
        );
        assert!(
            out.starts_with(
                "@_Zcuda_std_dyn_shared = external addrspace(3) global [0 x i8], align 16\n"
            ),
            "{out}"
        );
        assert!(
            out.contains("ptr addrspacecast (ptr addrspace(3) @_Zcuda_std_dyn_shared to ptr)"),
            "{out}"
        );
    }

    #[test]
    fn constants_keep_their_value() {
        let out = lowered(
            "@K = internal constant [2 x i32] [i32 1, i32 2], section \".constant\", align 4\n\
             define i32 @k() {\n  %x = load i32, ptr @K\n  ret i32 %x\n}\n",
        );
        assert!(
            out.contains("@K = internal addrspace(4) constant [2 x i32] [i32 1, i32 2], align 4\n"),
            "{out}"
        );
        assert!(
            out.contains("ptr addrspacecast (ptr addrspace(4) @K to ptr)"),
            "{out}"
        );
    }

    #[test]
    fn a_form_that_is_not_known_is_refused_by_name() {
        let error = lower("@T = internal weird [4 x i8] undef, section \".shared\"\n")
            .expect_err("no such form");
        assert!(
            matches!(&error, LowerError::UnknownForm { name, .. } if name == "T"),
            "{error}"
        );
    }

    #[test]
    fn a_module_without_marks_is_unchanged() {
        let ir = "@x = internal global i32 0\ndefine void @f() {\n  store i32 1, ptr @x\n}\n";
        assert_eq!(lowered(ir), ir);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}", name in "[a-z.]{1,8}") {
            let _ = lower(&format!("@{name} = {text} section \".shared\"\n{text} @{name} {text}\n"));
        }
    }
}
