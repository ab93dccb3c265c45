//! Tests how findings, faults and refused PTX are displayed.

use simt::{Config, Launch, LaunchError, Module, Simulator};
use simt_check::diagnostic::{Diagnostic, Style, print_error, texts};
use simt_check::{Check, Checks, Finding};

const FILE: &str = "fixtures/diagnostic/stencil.ptx";

fn module() -> Module {
    Module::from_ptx(std::fs::read_to_string(FILE).unwrap()).unwrap()
}

/// Returns the result of a launch of two blocks. Threads after `last` write out of bounds; if `last` is 256, all
/// threads read misaligned.
fn launch(checks: Checks, last: u32) -> (Vec<Finding>, Option<LaunchError>) {
    let function = module().function("stencil").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let (input, output) = (simulator.zeroed::<u32>(256).unwrap(), simulator.zeroed::<u32>(256).unwrap());
    let args = [input.into(), output.into(), last.into()];
    let launch = Launch::new(&function, [2, 1, 1], [128, 1, 1], &args);
    let sanitized = checks.launch(&mut simulator, &launch);
    (sanitized.findings, sanitized.result.err())
}

/// Returns the fault of a launch without checks.
fn fault(last: u32) -> Diagnostic {
    let (_, Some(LaunchError::Fault(fault))) = launch(Checks::NONE, last) else { panic!("there is no fault") };
    Diagnostic::of_fault(&fault)
}

/// Returns all diagnostics of the module.
fn all_diagnostics() -> Vec<Diagnostic> {
    let (findings, error) = launch(Checks::NONE.with(Check::Race).with(Check::Init), 1000);
    assert!(error.is_none(), "{error:?}");
    let mut all = Diagnostic::of_findings(&findings);
    all.extend([fault(200), fault(256)]);
    let refused = module().function("refused").unwrap_err();
    all.push(Diagnostic::of_load_error(&refused, FILE));
    let text = std::fs::read_to_string(FILE).unwrap().replace("add.u32 %r7, %r6, %r7;", "add.u32 %r7, %r6;");
    all.push(Diagnostic::of_load_error(&Module::from_ptx(text).unwrap().function("stencil").unwrap_err(), FILE));
    all
}

#[test]
fn diagnostics_fit_into_their_columns() {
    let all = all_diagnostics();
    for width in [80, 100, 140] {
        let text = texts(&all, Style { width, color: false });
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
        assert!(wide.is_empty(), "{wide:#?}");
        assert!(text.is_ascii(), "{text}");
        insta::assert_snapshot!(format!("in_{width}_columns"), text);
    }
}

#[test]
fn narrow_terminals_and_colors() {
    for diagnostic in all_diagnostics() {
        for width in 0..80 {
            assert!(!diagnostic.text(Style { width, color: false }).is_empty());
        }
        let [plain, colored] = [false, true].map(|color| diagnostic.text(Style { color, ..Style::default() }));
        assert!(!plain.contains('\x1b') && colored.contains("\x1b["), "{colored}");
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
    }
}

#[test]
fn findings_of_the_same_lines_are_one_diagnostic() {
    let (findings, _) = launch(Checks::NONE.with(Check::Race), 1000);
    assert_eq!(findings.len(), 2, "the compiler has made two loads from the line");
    let diagnostics = Diagnostic::of_findings(&findings);
    assert_eq!(diagnostics.len(), 1);
    let text = diagnostics[0].text(Style::default());
    assert!(text.contains("times, by 2 pairs of instructions"), "{text}");
}

/// Asserts that a finding at this column underlines the marked part of the source line.
#[track_caller]
fn underlines(line: &str, column: u32, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.rs");
    std::fs::write(&file, format!("//\n{line}\n")).unwrap();
    let (mut findings, _) = launch(Checks::NONE.with(Check::Init), 1000);
    let mut finding = findings.pop().unwrap_or_else(|| launch(Checks::NONE.with(Check::Race), 1000).0.remove(0));
    finding.other = None;
    finding.source = Some((file.display().to_string(), 2));
    finding.column = column;
    let text = Diagnostic::of_findings([&finding])[0].text(Style { width: 140, color: false });
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("2 |")).unwrap_or_else(|| panic!("{text}"));
    let [from, to] = [lines[at + 1].find('^'), lines[at + 1].rfind('^')].map(Option::unwrap);
    let underlined: String = lines[at].chars().skip(from).take(to + 1 - from).collect();
    assert_eq!(underlined, expected, "{text}");
}

#[test]
fn the_expression_is_underlined() {
    underlines("    let x = tile[i + 1] + tile[i];", 13, "tile[i + 1]");
    underlines("    tile[i] = input[i]; // fault", 5, "tile[i] = input[i]");
    underlines("    *output.add(i) += 1;", 5, "*output.add(i) += 1");
    underlines("    if tile[i] == 3 {", 8, "tile[i]");
    underlines("    if tile[i] <= 3 {", 8, "tile[i]");
    underlines("    if tile[i] > 3 {", 5, "if tile[i] > 3");
    underlines("    let x = read::<f32>(a, (b, c)).max(0.0) - 1.0;", 13, "read::<f32>(a, (b, c)).max(0.0)");
    underlines("    f(p->next, q);", 7, "p->next");
    underlines("    f(a ? b[1] : c, d);", 11, "b[1]");
    underlines("    ptx!(\"bar.sync 1, 96;\"); // fault", 5, "ptx!(\"bar.sync 1, 96;\")");
    underlines("    if x != y {", 8, "x");
    underlines("    f(x[0]);", 0, "f(x[0]);");
    underlines("    f(x[0]); // fault", 0, "f(x[0]);");
    underlines("    f(x[0]);", 100, "f(x[0]);");
    underlines("    let é = ü[0];", 10, "let é = ü[0];");
}

#[test]
fn reasons_become_notes_and_hints_become_help() {
    let lines = |message: &str| {
        let mut out = anstream::StripStream::new(Vec::new());
        print_error(&mut out, message);
        String::from_utf8(out.into_inner()).unwrap()
    };
    assert_eq!(lines("no rung"), "error: no rung\n");
    assert_eq!(
        lines("`a: it b; c` is not a size (2; 3): it is: it; write 4; note: or 5; there is 6"),
        "error: `a: it b; c` is not a size (2; 3)\nnote: it is: it\nhelp: write 4\nnote: or 5\nnote: there is 6\n"
    );
    assert_eq!(lines("cannot read é: no such file; ok"), "error: cannot read é: no such file\nhelp: ok\n");
}
