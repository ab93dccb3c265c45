use super::{Program, undefined};

/// Two units. Each unit contains a function and a constant whose names both units use. Both units use a static and a
/// function of the first unit.
const UNITS: [&str; 2] = [
    r#"source_filename = "one"
@vtable.0 = private constant [1 x ptr] [ptr @_RNv1a], align 8
@alloc_1 = private constant [2 x i8] c"hi", align 1
@_RNv5TABLE = hidden constant [1 x i32] [i32 7], align 4
@_RNv5COUNT = hidden global i32 0, align 4

define internal i32 @_RNv4copy(i32 %x) unnamed_addr #0 !dbg !5 {
  ret i32 %x, !dbg !6
}

define hidden void @_RNv1a(ptr %p) unnamed_addr #0 {
  ret void
}

define ptx_kernel void @first(ptr %p) #0 !dbg !7 {
  %x = call i32 @_RNv4copy(i32 1), !dbg !8
  %y = load ptr, ptr @vtable.0
  %z = load i8, ptr @alloc_1
  %w = load i32, ptr @_RNv5TABLE
  ret void
}

attributes #0 = { nounwind }

!llvm.dbg.cu = !{!1}

!1 = distinct !DICompileUnit(file: !2)
!2 = !DIFile(filename: "one.rs")
!3 = !DINamespace(name: "one")
!5 = distinct !DISubprogram(name: "copy", scope: !3, unit: !1)
!6 = !DILocation(line: 1, scope: !5)
!7 = distinct !DISubprogram(name: "first", scope: !3, unit: !1)
!8 = !DILocation(line: 2, scope: !7)
"#,
    r#"source_filename = "two"
@vtable.0 = private constant [1 x ptr] [ptr @_RNv1b], align 8
@alloc_1 = private constant [2 x i8] c"hi", align 1
@_RNv5TABLE = external constant [1 x i32], align 4
@_RNv5COUNT = external global i32, align 4

define internal i32 @_RNv4copy(i32 %x) unnamed_addr #1 !dbg !15 {
  ret i32 %x, !dbg !16
}

define internal void @_RNv1b(ptr %p) unnamed_addr #1 {
  ret void
}

define ptx_kernel void @second(ptr %p) #1 !dbg !17 {
  %x = call i32 @_RNv4copy(i32 2), !dbg !18
  %y = load ptr, ptr @vtable.0
  %z = load i8, ptr @alloc_1
  call void @_RNv1a(ptr %y)
  %w = load i32, ptr @_RNv5TABLE
  %m = call float @fmodf(float 1.0, float 2.0)
  ret void
}

declare hidden void @_RNv1a(ptr) #1
declare void @llvm.trap()

attributes #1 = { nounwind }

!llvm.dbg.cu = !{!11}

!11 = distinct !DICompileUnit(file: !12)
!12 = !DIFile(filename: "two.rs")
!13 = !DINamespace(name: "two")
!15 = distinct !DISubprogram(name: "copy", scope: !13, unit: !11)
!16 = !DILocation(line: 1, scope: !15)
!17 = distinct !DISubprogram(name: "second", scope: !13, unit: !11)
!18 = !DILocation(line: 2, scope: !17)
"#,
];

/// A library: a weak function, as `builtins` rewrites it, and a local function whose name the units also use.
const LIBRARY: &str = r#"
define hidden float @fmodf(float %a, float %b) {
  %x = call i32 @_RNv4copy(float %a)
  ret float %a
}

define internal i32 @_RNv4copy(float %x) {
  ret i32 0
}

define float @_RNv6unused(float %a) {
  ret float %a
}

define void @exported(ptr %p) {
  ret void
}
"#;

fn texts(edit: impl Fn(String) -> String) -> Vec<String> {
    UNITS.into_iter().chain([LIBRARY]).map(|text| edit(text.to_owned())).collect()
}

fn pieces(texts: &[String]) -> Vec<(String, String)> {
    let program = Program::read(texts, 2).expect("the modules fit together");
    program.pieces().iter().map(|piece| (piece.roots.clone(), piece.ir())).collect()
}

#[track_caller]
fn has(ir: &str, parts: &[&str], expected: bool) {
    for part in parts {
        assert_eq!(ir.contains(part), expected, "{part}: {ir}");
    }
}

#[test]
fn a_piece_contains_everything_its_kernels_reach() {
    let pieces = pieces(&texts(|text| text));
    let [(first, one), (second, two), (third, library)] = &pieces[..] else {
        panic!("expected one piece per Rust module");
    };
    assert_eq!([first, second, third], ["first", "second", "exported"]);
    // Functions that other pieces contain too are visible. All other symbols are local, as in a linked program.
    let both = ["define i32 @_RNv4copy(i32 %x)", "@_RNv5TABLE = internal constant [1 x i32] [i32 7]"];
    for ir in [one, two] {
        has(ir, &both, true);
        has(ir, &["@_RNv5COUNT", "hidden", "external", "_RNv6unused", "llvm.trap", "@exported"], false);
    }
    has(two, &["define void @_RNv1a(ptr %p)", "define internal void @_RNv1b", "define internal float @fmodf("], true);
    has(two, &["!llvm.dbg.cu = !{!", "one.rs", "two.rs", "source_filename = \"one\""], true);
    assert_eq!(two.matches("source_filename").count(), 1, "{two}");
    has(one, &["@_RNv1b", "@fmodf", "two.rs"], false);
    has(library, &["define void @exported(ptr %p)"], true);
}

#[test]
fn different_definitions_of_one_name_are_renamed() {
    let pieces = pieces(&texts(|text| text));
    let (one, two) = (&pieces[0].1, &pieces[1].1);
    has(one, &["@vtable.0 = private constant [1 x ptr] [ptr @_RNv1a]", "load ptr, ptr @vtable.0\n"], true);
    has(
        two,
        &[
            "@\"vtable.0.another.1\" = private constant [1 x ptr] [ptr @_RNv1b]",
            "load ptr, ptr @\"vtable.0.another.1\"\n",
        ],
        true,
    );
    // A library's function of the same name can have other parameters.
    has(
        two,
        &["define internal i32 @\"_RNv4copy.another.2\"(float %x)", "call i32 @\"_RNv4copy.another.2\"(float %a)"],
        true,
    );
    has(two, &["call i32 @_RNv4copy(i32 2)", "load i8, ptr @alloc_1\n"], true);
    assert_eq!(two.matches("\n@alloc_1 =").count(), 1, "{two}");
}

#[test]
fn variables_that_mention_a_renamed_variable_are_renamed() {
    let holder = |text: String| match text.contains("source_filename") {
        true => text
            .replace("@vtable.0 =", "@HOLDER = private constant ptr @vtable.0\n@vtable.0 =")
            .replace("ptr @vtable.0\n  %z", "ptr @HOLDER\n  %z"),
        false => text,
    };
    let pieces = pieces(&texts(holder));
    has(&pieces[0].1, &["\n@HOLDER = private constant ptr @vtable.0\n"], true);
    has(
        &pieces[1].1,
        &[
            "\n@\"HOLDER.another.1\" = private constant ptr @\"vtable.0.another.1\"\n",
            "load ptr, ptr @\"HOLDER.another.1\"\n",
        ],
        true,
    );
}

#[test]
fn kernels_of_two_units_that_share_a_variable_are_one_piece() {
    let written = texts(|text| text.replace("  %w = load i32, ptr @_RNv5TABLE", "  store i32 1, ptr @_RNv5COUNT"));
    let pieces = pieces(&written);
    assert_eq!(pieces.iter().map(|(roots, _)| &roots[..]).collect::<Vec<_>>(), ["first,second", "exported"]);
    has(&pieces[0].1, &["@_RNv5COUNT = internal global i32 0", "define internal i32 @_RNv4copy(i32 %x)"], true);
    assert_eq!(pieces[0].1.matches("@_RNv4copy(i32 %x)").count(), 1, "{}", pieces[0].1);
}

#[test]
fn a_key_changes_with_the_inputs_of_its_piece() {
    let keys = |texts: &[String]| -> Vec<String> {
        let program = Program::read(texts, 2).expect("the modules fit together");
        let key = |module: usize| texts[module].len() as u128;
        program.pieces().iter().map(|piece| piece.key(key)).collect()
    };
    let before = keys(&texts(|text| text));
    // The edit changes only the first unit.
    let after = keys(&texts(|text| text.replace("line: 2, scope: !7", "line: 29, scope: !7")));
    assert_ne!(before[0], after[0]);
    // The second piece contains a table of the first unit.
    assert_ne!(before[1], after[1]);
    assert_eq!(before[2], after[2]);
    let after = keys(&texts(|text| text.replace("line: 2, scope: !17", "line: 29, scope: !17")));
    assert_eq!((&before[0], &before[2]), (&after[0], &after[2]));
    assert_ne!(before[1], after[1]);
}

#[test]
fn different_types_of_one_name_do_not_link() {
    let with_type = |text: String| match text.contains("second") {
        true => format!("%T = type {{ i32 }}\n{text}"),
        false => format!("%T = type {{ i64 }}\n{text}"),
    };
    assert!(Program::read(&texts(with_type), 2).is_none());
    assert!(Program::read(&texts(|text| format!("%T = type {{ i64 }}\n{text}")), 2).is_some());
}

#[test]
fn declarations_are_undefined_symbols() {
    assert_eq!(undefined(UNITS[1]).collect::<Vec<_>>(), ["_RNv5TABLE", "_RNv5COUNT", "_RNv1a"]);
}
