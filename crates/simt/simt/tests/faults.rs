//! Tests faults of compiled kernels. They report the line in the user's code and the calls that lead to it.

use simt::{Arg, Config, Fault, FaultKind, Launch, LaunchError, Module, Simulator};
use simt_check::diagnostic::{Diagnostic, Style};

/// PTX by nvcc, from `fixtures/faults/inlined.cu`.
const INLINED: &str = include_str!("fixtures/faults/inlined.ptx");
/// PTX by rustc, from `fixtures/faults/panics.rs`.
const PANICS: &str = include_str!("fixtures/faults/panics.ptx");

const KERNELS: &str = "/home/me/project/src/lib.rs";
const CUDA: &str = "/home/me/project/src/inlined.cu";

fn launch(ptx: &str, kernel: &str, args: &[Arg]) -> Result<(), LaunchError> {
    let function = Module::from_ptx(ptx).unwrap().function(kernel).unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let buffer = simulator.zeroed::<u32>(36).unwrap();
    let args: Vec<_> = args
        .iter()
        .map(|arg| match arg {
            Arg::Pointer(0) => buffer.into(),
            other => other.clone(),
        })
        .collect();
    simulator.launch(&Launch::new(&function, [1, 1, 1], [32, 1, 1], &args))
}

/// Returns the fault of a launch in which null pointers stand for a buffer of 36 words.
fn fault(ptx: &str, kernel: &str, args: &[Arg]) -> Fault {
    match launch(ptx, kernel, args) {
        Err(LaunchError::Fault(fault)) => *fault,
        other => panic!("{other:?} is not a fault"),
    }
}

/// Returns the functions that a fault's diagnostic lists.
fn calls(fault: &Fault) -> Vec<String> {
    let text = Diagnostic::of_fault(fault).text(Style::default());
    let lines = text.lines().map(str::trim).skip_while(|line| !line.contains("call stack of the thread"));
    lines.skip(1).take_while(|line| !line.starts_with('=')).map(str::to_owned).collect()
}

const BUFFER: Arg = Arg::Pointer(0);

#[test]
fn nvcc_s_inlined_calls_are_listed_with_their_names() {
    let fault = fault(INLINED, "_Z7inlinedPi", &[BUFFER]);
    assert_eq!(fault.origin, Some((CUDA.to_owned(), 9)));
    assert_eq!(fault.thread, [31, 0, 0]);
    let text = fault.to_string();
    assert!(text.starts_with("out of bounds write of 4 bytes at 0x"), "{text}");
    assert!(
        text.contains(", 0 bytes past the end of argument 0's buffer of 144 bytes, in kernel `inlined(int*)`, block")
            && text.ends_with("[/home/me/project/src/inlined.cu:9]"),
        "{text}"
    );
    let expected = [
        "at CUDA:9 in `store<int>(View<int>, int, int)`",
        "inlined at CUDA:20 in `app::fill(int*, int)`",
        "inlined at CUDA:25 in `inlined(int*)`",
    ];
    assert_eq!(calls(&fault), expected.map(|line| line.replace("CUDA", CUDA)));
}

#[test]
fn calls_are_listed_after_inlined_functions() {
    let expected = [
        "at CUDA:9 in `store<int>(View<int>, int, int)`",
        "inlined at CUDA:14 in `deep(int*, int)`",
        "called at CUDA:29 in `called(int*, int)`",
    ];
    let outside = fault(INLINED, "_Z6calledPii", &[BUFFER, 36u32.into()]);
    assert!(outside.to_string().contains("(function `deep(int*, int)`)"), "{outside}");
    assert_eq!(calls(&outside), expected.map(|line| line.replace("CUDA", CUDA)));

    let trap = fault(INLINED, "_Z6calledPii", &[BUFFER, 3u32.into()]);
    assert_eq!(trap.kind, FaultKind::Trap);
    assert_eq!(trap.origin, Some((CUDA.to_owned(), 13)));
    let functions = trap.frames.iter().map(|frame| frame.function.as_deref());
    assert!(functions.eq([Some("deep(int*, int)"), Some("called(int*, int)")]));
}

#[test]
fn a_header_s_line_does_not_lead() {
    let fault = fault(INLINED, "_Z8shufflesPi", &[BUFFER]);
    assert_eq!(fault.origin, Some((CUDA.to_owned(), 33)));
    let [shuffle, kernel] = &fault.frames[..] else { panic!("{fault}") };
    assert!(shuffle.library && shuffle.inlined && !kernel.library && !kernel.inlined);
    assert!(shuffle.function.as_ref().unwrap().contains("__shfl_sync("), "{fault}");

    // The user's headers are in a folder next to the kernel's. If all frames belong to a library, the innermost one
    // leads.
    let user_headers = INLINED.replace("/usr/local/cuda/bin/../include/", "/home/me/project/include/");
    let user_headers = self::fault(&user_headers, "_Z8shufflesPi", &[BUFFER]);
    let header = "/home/me/project/include/sm_30_intrinsics.hpp";
    assert_eq!(user_headers.origin, Some((header.to_owned(), 372)));
    let all = INLINED.replace("/home/me/project/src/", "/usr/include/x/");
    let all = self::fault(&all, "_Z8shufflesPi", &[BUFFER]);
    let header = "/usr/local/cuda/bin/../include/sm_30_intrinsics.hpp";
    assert_eq!(all.origin, Some((header.to_owned(), 372)));
}

#[test]
fn rust_s_library_does_not_lead() {
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let function = Module::from_ptx(PANICS).unwrap().function("bounds").unwrap();
    let values = simulator.zeroed::<u32>(32).unwrap();
    let to = simulator.zeroed::<u32>(8).unwrap();
    let args = [values.into(), 32u64.into(), to.into()];
    let error = simulator.launch(&Launch::new(&function, [1, 1, 1], [32, 1, 1], &args)).unwrap_err();
    let LaunchError::Fault(fault) = &error else { panic!("{error}") };
    assert_eq!(fault.origin, Some((KERNELS.to_owned(), 10)));
    let places = fault.frames.iter().map(|frame| {
        let (file, line) = frame.place.as_ref().unwrap();
        (file.rsplit("/src/").next().unwrap(), *line, frame.library)
    });
    assert_eq!(
        places.collect::<Vec<_>>(),
        [("ptr/mod.rs", 1917, true), ("ptr/mut_ptr.rs", 1418, true), ("lib.rs", 10, false), ("lib.rs", 17, false)]
    );
    // `unwrap`, and `?` in `main` or a test, print `Debug`.
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(calls(fault), [format!("at {KERNELS}:10"), format!("inlined at {KERNELS}:17 in `bounds`")]);
}

#[test]
fn panics_report_message_and_place() {
    let len = |len: u64| [BUFFER, len.into(), BUFFER];
    let by = |by: u32| [by.into(), BUFFER];
    let divides = [BUFFER, 0u32.into(), BUFFER];
    for (kernel, args, message, line) in [
        ("bounds", &len(31)[..], Some("index out of bounds: the len is 31 but the index is 31"), 6),
        ("slices", &len(32), Some("range end index 33 out of range for slice of length 32"), 24),
        ("slices", &len(2), Some("range end index 4 out of range for slice of length 2"), 24),
        ("divides", &divides, Some("div by zero"), 32),
        ("says", &by(31), None, 39),
        ("says", &by(77), None, 42),
        ("says", &by(78), Some("unwrap failed"), 45),
        ("says", &by(79), Some("expect failed"), 47),
        ("says", &by(80), None, 48),
        ("says", &by(90), Some("assert failed"), 49),
    ] {
        let fault = fault(PANICS, kernel, args);
        let message = message.map(str::to_owned);
        assert_eq!(fault.kind, FaultKind::Panic { message }, "{fault}");
        assert_eq!(fault.origin, Some((KERNELS.to_owned(), line)), "{fault}");
    }
    let fault = fault(PANICS, "bounds", &len(31));
    let text = fault.to_string();
    assert!(
        text.starts_with(
            "panic: index out of bounds: the len is 31 but the index is 31 in kernel `bounds` (function `core::panicking::panic_fmt`), block (0, 0, 0), \
             thread (31, 0, 0), PTX line "
        ),
        "{text}"
    );
    assert!(text.ends_with(&format!("trap; exit; [{KERNELS}:6]")), "{text}");
    // The frames of Rust's library are not useful to the user.
    assert_eq!(calls(&fault), [format!("at {KERNELS}:6"), format!("inlined at {KERNELS}:17 in `bounds`")]);
}

#[test]
fn null_and_host_pointers_are_named() {
    let near = |address: u64| match fault(PANICS, "bounds", &[Arg::Pointer(address), 32u64.into(), BUFFER]).kind {
        FaultKind::Access { near, .. } => near,
        other => panic!("{other}"),
    };
    assert_eq!(near(4), "4 bytes from a null pointer");
    let (stack, heap) = (0u32, Box::new(0u32));
    let host_addresses = [&stack, &*heap].map(|host| std::ptr::from_ref(host).addr() as u64);
    // An emulator's addresses differ from Linux's.
    let host_addresses = if cfg!(target_arch = "x86_64") { &host_addresses[..] } else { &[] };
    for host in [host_addresses, &[0xaaaa_dead_bee0, 0xffff_dead_bee0]].concat() {
        assert_eq!(near(host), "probably a pointer to the host's memory");
    }
    assert!(near(1 << 40).contains("bytes past the end of argument 2's buffer"));
}
