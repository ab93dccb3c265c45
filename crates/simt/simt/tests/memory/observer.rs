//! Tests that an observer sees one access for each instruction and space.

use super::{HEAD, PARAMS, simulator, text};
use ptx::ast::Space;
use simt::memory::SHARED_WINDOW;
use simt::observe::{Access, AccessKind, Observer, Site, WarpId};
use simt::{Buffer, Launch, Module};

/// Space, kind, bytes per lane, mask, and addresses; the address of an inactive lane is 0.
type Event = (Space, AccessKind, u32, u32, [u64; 32]);

#[derive(Debug, Default)]
struct Accesses(Vec<Event>);

impl Observer for Accesses {
    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn access(&mut self, _site: Site, warp_id: WarpId, access: &Access<'_>) {
        assert_eq!(warp_id, WarpId { block: 0, warp: 0 });
        let mut addresses = *access.addresses;
        for (lane, at) in addresses.iter_mut().enumerate() {
            if access.mask >> lane & 1 == 0 {
                *at = 0;
            }
        }
        let event = (access.space, access.kind, access.bytes, access.mask, addresses);
        self.0.push(event);
    }
}

/// Returns the accesses of a body without those of the head, and the addresses of the input and the output.
fn seen(module: &str, body: &str) -> (Vec<Event>, u64, u64) {
    let text = text(module, PARAMS, &format!("{HEAD}{body}"));
    let module = Module::from_ptx(text).unwrap();
    let function = module.function("k").unwrap();
    let mut simulator = simulator(2);
    let input: Buffer<u32> = simulator.zeroed(128).unwrap();
    let output: Buffer<u32> = simulator.zeroed(128).unwrap();
    let args = [input.into(), output.into()];
    let (grid, block) = ([1, 1, 1], [20, 1, 1]);
    let seen = simulator.launch_observed(&Launch::new(&function, grid, block, &args), Accesses::default()).unwrap();
    let (head, body) = seen.0.split_at(2);
    assert!(head.iter().all(|event| event.0 == Space::Param && event.2 == 8));
    (body.to_vec(), input.address(), output.address())
}

const MASK: u32 = (1 << 20) - 1;

fn lanes(mask: u32, at: impl Fn(u64) -> u64) -> [u64; 32] {
    std::array::from_fn(|lane| if mask >> lane & 1 == 1 { at(lane as u64) } else { 0 })
}

#[test]
fn each_instruction_is_seen_once() {
    use AccessKind::{AsyncCopy, Atomic, Load, Reduction, Store};
    let module = ".shared .align 16 .b8 s[512];\n.const .b32 c = 1;";
    let (events, input, output) = seen(
        module,
        ".local .align 4 .b8 l[8];\nmul.wide.u32 %rd7, %r1, 16;\nadd.s64 %rd8, %rd1, %rd7;\nmul.lo.u32 %r2, %r1, 16;\n\
         ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd8];\nst.global.u8 [%rd2+3], %r1;\n\
         ld.shared.v2.u64 {%rd9, %rd10}, [%r2];\natom.shared.add.u32 %r4, [s+4], 1;\n\
         red.global.add.u32 [%rd6], 1;\natom.cas.b32 %r4, [%rd6], 0, 1;\nld.const.u32 %r4, [c];\n\
         st.local.u32 [l+4], 1;\ncp.async.ca.shared.global [%r2], [%rd8], 8;\ncp.async.wait_all;\nmembar.gl;",
    );
    let expected = [
        (Space::Global, Load, 16, MASK, lanes(MASK, |lane| input + lane * 16)),
        (Space::Global, Store, 1, MASK, lanes(MASK, |_| output + 3)),
        (Space::Shared, Load, 16, MASK, lanes(MASK, |lane| lane * 16)),
        (Space::Shared, Atomic, 4, MASK, lanes(MASK, |_| 4)),
        (Space::Global, Reduction, 4, MASK, lanes(MASK, |lane| output + lane * 4)),
        (Space::Global, Atomic, 4, MASK, lanes(MASK, |lane| output + lane * 4)),
        (Space::Const, Load, 4, MASK, lanes(MASK, |_| 0)),
        (Space::Local, Store, 4, MASK, lanes(MASK, |_| 4)),
        (Space::Global, AsyncCopy, 8, MASK, lanes(MASK, |lane| input + lane * 16)),
        (Space::Shared, AsyncCopy, 8, MASK, lanes(MASK, |lane| lane * 16)),
    ];
    assert_eq!(events, expected);
}

#[test]
fn inactive_lanes_are_not_seen() {
    let (events, input, _) = seen(
        "",
        "setp.lt.u32 %p1, %r1, 3;\n@%p1 ld.global.u32 %r2, [%rd5];\nsetp.gt.u32 %p1, %r1, 99;\n\
         @%p1 ld.global.u32 %r2, [%rd5];",
    );
    let addresses = lanes(0b111, |lane| input + lane * 4);
    assert_eq!(events, [(Space::Global, AccessKind::Load, 4, 0b111, addresses)]);
}

#[test]
fn generic_addresses_are_seen_by_space() {
    let (events, input, _) = seen(
        ".shared .align 4 .b8 s[4];",
        &format!(
            "setp.lt.u32 %p1, %r1, 3;\nmov.b64 %rd9, s;\nadd.s64 %rd9, %rd9, {SHARED_WINDOW};\nld.u32 %r2, [%rd9];\n\
             selp.b64 %rd9, %rd9, %rd5, %p1;\nld.u32 %r2, [%rd9];"
        ),
    );
    let rest = MASK & !0b111;
    let expected = [
        (Space::Shared, AccessKind::Load, 4, MASK, [0; 32]),
        (Space::Global, AccessKind::Load, 4, rest, lanes(rest, |lane| input + lane * 4)),
        (Space::Shared, AccessKind::Load, 4, 0b111, [0; 32]),
    ];
    assert_eq!(events, expected);
}

#[test]
fn call_parameters_are_seen_as_parameters() {
    let module = ".func (.param .b32 r) same(.param .b32 n)\n{\n.reg .b32 %r<2>;\nld.param.b32 %r1, [n];\n\
                  st.param.b32 [r], %r1;\nret;\n}";
    let (events, ..) = seen(
        module,
        "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\ncall (b), same, (a);\nld.param.b32 %r2, [b];\n}",
    );
    let spaces: Vec<_> = events.iter().map(|event| (event.0, event.1)).collect();
    let (load, store) = ((Space::Param, AccessKind::Load), (Space::Param, AccessKind::Store));
    assert_eq!(spaces, [store, load, store, load]);
}
