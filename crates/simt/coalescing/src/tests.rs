use super::*;
use simt::{Config, Module};

/// A copy of 4-byte elements: thread `i` reads element `stride * i` and writes element `i`.
const STRIDED: &str = "
.version 8.0
.target sm_80
.address_size 64
.file 1 \"strided.cu\"
.entry strided(.param .u64 from, .param .u64 to, .param .u32 stride)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<7>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.u32 %r1, [stride];
    mov.u32 %r2, %tid.x;
    mul.lo.u32 %r3, %r1, %r2;
    mul.wide.u32 %rd3, %r3, 4;
    add.s64 %rd4, %rd1, %rd3;
    mul.wide.u32 %rd5, %r2, 4;
    add.s64 %rd6, %rd2, %rd5;
    .loc 1 3 10
    ld.global.u32 %r4, [%rd4];
    .loc 1 4 5
    st.global.u32 [%rd6], %r4;
    ret;
}";

/// Returns the findings of a launch of four warps, and their text.
fn found(stride: u32) -> (Vec<Uncoalesced>, String) {
    let function =
        Module::from_ptx(STRIDED).and_then(|module| module.function("strided")).expect("the kernel is valid PTX");
    let mut simulator = Simulator::new(Config::default()).expect("the host has threads");
    let from = simulator.zeroed::<u32>(128 * 8).expect("a few kilobytes");
    let to = simulator.zeroed::<u32>(128).expect("a few bytes");
    let args = [from.into(), to.into(), stride.into()];
    let launch = Launch::new(&function, [1, 1, 1], [128, 1, 1], &args);
    let found = check(&mut simulator, &launch, 1.0).expect("the kernel runs");
    let text = found.iter().map(|finding| finding.diagnostic(&function).text(Default::default())).collect();
    (found, text)
}

#[test]
fn neighboring_elements_are_coalesced() {
    assert_eq!(found(1).0, []);
    // All lanes read one element: one sector.
    assert_eq!(found(0).0, []);
}

#[test]
fn the_line_of_strided_accesses_is_found_with_its_factor() {
    for (stride, factor) in [(2, 2.0), (8, 8.0)] {
        let (found, text) = found(stride);
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!((only.source.as_ref(), only.factor, only.warps), (Some(&("strided.cu".to_owned(), 3)), factor, 4));
        assert!(text.starts_with(&format!("warning: this access touches {factor:.1} times")), "{text}");
        assert!(text.contains("strided.cu:3") || text.contains("ld.global.u32 %r4, [%rd4];"), "{text}");
    }
}
