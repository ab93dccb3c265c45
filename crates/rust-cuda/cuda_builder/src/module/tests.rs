use super::{Module, Program, join};

/// Two kernels in one Rust module, one kernel in another, a function that two kernels use, a noinline function, and a
/// variable.
const IR: &str = r#"; ModuleID = 'k'
source_filename = "k"
target triple = "nvptx64-nvidia-cuda"

%"core::Pair" = type { i32, %Inner }
%Inner = type { i32 }

@TILE = internal addrspace(3) global [4 x i8] undef, align 4
@TABLE = private unnamed_addr constant [2 x i8] c"@a", align 1
@UNUSED = private constant i8 1

; core::help
; Function Attrs: nounwind
define internal i32 @help(ptr %p) #3 !dbg !20 {
  %x = load %"core::Pair", ptr %p, !dbg !21
  ret i32 0
}

define internal void @stop(ptr %p) #7 {
  ret void
}

define internal void @unused() {
  ret void
}

define ptx_kernel void @a(ptr %p) #3 !dbg !10 {
  call i32 @help(ptr @TABLE), !dbg !11 ; preds = %"@b"
  ret void
}

define ptx_kernel void @b(ptr %p) #3 !dbg !12 {
  store i8 1, ptr addrspace(3) @TILE
  ret void
}

define ptx_kernel void @c(ptr %p) #3 !dbg !14 {
  call void asm sideeffect "// @b !12 #9", ""() #5, !srcloc !40
  call void @stop(ptr %p)
  call i32 @help(ptr @TABLE)
  call void @llvm.trap()
  ret void
}

declare void @llvm.trap() #5

attributes #3 = { nounwind }
attributes #5 = { convergent }
attributes #7 = { noinline nounwind }

!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!4}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DICompileUnit(file: !5)
!5 = !DIFile(filename: "k.rs")
!6 = !DINamespace(name: "first")
!7 = !DINamespace(name: "second")
!10 = distinct !DISubprogram(name: "a", scope: !6, unit: !4)
!11 = !DILocation(line: 1, scope: !10)
!12 = distinct !DISubprogram(name: "b", scope: !6, unit: !4)
!14 = distinct !DISubprogram(name: "c", scope: !7, unit: !4)
!20 = distinct !DISubprogram(name: "help", scope: !7, unit: !4)
!21 = !DILocation(line: 2, scope: !20)
!40 = !{i64 7}
"#;

fn parts(ir: &str) -> Vec<(String, String)> {
    let modules = [ir.to_owned()];
    let program = Program::read(&modules, 1).expect("the module can be read");
    program.pieces().iter().map(|piece| (piece.roots.clone(), piece.ir())).collect()
}

fn has(ir: &str, names: &str, expected: bool) {
    for name in names.split(' ') {
        assert_eq!(ir.contains(name), expected, "{name}: {ir}");
    }
}

#[test]
fn kernels_of_one_module_share_a_part() {
    let [(first, ir), (second, other)] = &parts(IR)[..] else {
        panic!("expected one part per Rust module");
    };
    assert_eq!((first.as_str(), second.as_str()), ("a,b", "c"));
    has(ir, "@a( @b( @TILE @TABLE %Inner second\"", true);
    has(ir, "@c( @stop @UNUSED @unused llvm.trap", false);
    has(other, "@c( @TABLE @llvm.trap()", true);
    assert!(other.contains("// @b !12 #9\""), "{other}");
    has(other, "@TILE \"first\" srcloc", false);
    assert!(other.contains("define internal void @stop"), "{other}");
    for ir in [ir, other] {
        has(ir, "!llvm.dbg.cu !llvm.module.flags", true);
        // Other parts call the function too, so the optimizer must not treat it as local.
        assert!(ir.contains("\ndefine i32 @help"), "{ir}");
    }
}

#[test]
fn a_part_stays_the_same_when_other_parts_change() {
    let called = "call void @llvm.x() #9, !dbg !30";
    let changed = IR
        .replace("store i8 1, ptr addrspace(3) @TILE", called)
        .replace("attributes #3", "attributes #9 = { cold }\nattributes #3")
        .replace("!10 = ", "!30 = !DILocation(line: 9, scope: !12)\n!10 = ")
        .replace("i64 7", "i64 8");
    let (old, new) = (parts(IR), parts(&changed));
    assert_ne!(old[0], new[0]);
    assert_eq!(old[1], new[1]);
    let renumbered = IR.replace("!14", "!140").replace("#5", "#50");
    assert_eq!(old[1], parts(&renumbered)[1]);
}

#[test]
fn kernels_that_share_a_variable_are_one_part() {
    let store = "store i8 2, ptr addrspace(3) @TILE";
    let shared = IR.replace("call void @llvm.trap()", store);
    let [(roots, ir)] = &parts(&shared)[..] else {
        panic!("expected one part, because the kernels share a variable");
    };
    assert_eq!(roots, "a,b,c");
    has(ir, "@a( @b( @c( @TILE", true);
    has(ir, "@UNUSED @unused", false);
    let constant = shared.replace("addrspace(3) global", "addrspace(4) constant");
    assert_eq!(parts(&constant).len(), 2);
}

#[test]
fn joining_parts_restores_the_module() {
    let texts = parts(IR).into_iter().map(|(_, ir)| ir).collect();
    let whole = join(texts).expect("parts are modules");
    has(&whole, "@a( @b( @c( @help( @stop( @TABLE", true);
    // Nothing is defined twice.
    let defines = whole.lines().filter(|line| line.starts_with("define "));
    let names = defines.map(|line| line.split(['@', '(']).nth(1));
    let definitions = whole.lines().filter_map(|line| line.split_once(" = "));
    let definitions = definitions.filter(|(left, _)| !left.starts_with(' '));
    let all: Vec<_> = names.chain(definitions.map(|(left, _)| Some(left))).collect();
    let different: std::collections::HashSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "{whole}");
}

#[test]
fn unknown_constructs_are_not_split() {
    for line in [
        "$x = comdat any",
        "module asm \"x\"",
        "@0 = private constant i8 1",
        "@llvm.used = appending global [1 x ptr] [ptr @a]",
        "@x = weak global i32 1",
        "@x = alias i32, ptr @TILE",
        "define linkonce_odr void @w() {\n}",
        "!nvvm.annotations = !{!0}",
        "!99 = !{ptr @a}",
    ] {
        assert!(Module::read(&format!("{IR}{line}\n")).is_none(), "{line}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "[!#@%\"; a-z0-9é{}=\n]{0,200}", start in 0usize..2000) {
        let cut = IR.get(..start.min(IR.len())).unwrap_or_default();
        for texts in [vec![text.clone()], vec![format!("{cut}{text}"), IR.to_owned()]] {
            let program = Program::read(&texts, 1);
            let _ = program.map(|program| program.pieces().iter().map(|piece| piece.ir()).collect::<Vec<_>>());
        }
    }
}
