//! What an opcode and its modifiers say: its class, and which operands an instruction writes and reads.

use super::{module, rows};
use ptx::opcode::{Opcode, all, class};

const CLASSES: &str = "
add.s32 => Some(Integer)
add.rn.ftz.f32 => Some(Float)
min.bf16x2 => Some(Float)
bar.warp.sync => Some(Warp)
bar.sync => Some(Barrier)
cvta.to.global.u64 => Some(Convert)
membar.gl => Some(Fence)
fence.acq_rel.gpu => Some(Fence)
ld.global.nc.v4.u32 => Some(Memory(Some(Global)))
ld.volatile.shared::cta.f32 => Some(Memory(Some(Shared)))
st.local.b64 => Some(Memory(Some(Local)))
ld.param::entry.u64 => Some(Memory(Some(Param)))
ld.const.f32 => Some(Memory(Some(Const)))
ld.u32 => Some(Memory(None))
atom.global.add.u32 => Some(Memory(Some(Global)))
red.shared.max.s32 => Some(Memory(Some(Shared)))
cp.async.ca.shared.global => Some(Memory(Some(Global)))
warp.sync => None
";

/// Instructions, and the names that they write and read.
const DEFINITIONS_AND_USES: &str = "
add.s32 %r1, %r2, 3; => (%r1) from (%r2)
@!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd4+8]; => (%r1 %r2) from (%rd4 %p1)
st.shared.u32 [%r5], %r6; => () from (%r5 %r6)
shfl.sync.bfly.b32 %r3|%p2, %r2.b0, 16, 31, -1; => (%r3 %p2) from (%r2)
mov.b64 {%r1, %r2}, %rd9; => (%r1 %r2) from (%rd9)
mov.u32 %r1, %tid.x; => (%r1) from (%tid)
@%p3 bra done; => () from (done %p3)
cp.async.cg.shared.global [%r1], [%rd2], 16; => () from (%r1 %rd2)
bar.sync %r1; => () from (%r1)
bar.red.popc.u32 %r1, 0, %p1; => (%r1) from (%p1)
call (result), f, (argument); => (result) from (f argument)
call f, (argument); => () from (f argument)
";

#[test]
fn rows_are_in_order_so_that_they_are_found() {
    assert!(all().is_sorted_by(|one, next| one.name < next.name));
    assert_eq!(Opcode::of("shfl.sync.bfly.b32").unwrap().since, (3, 0));
    assert_eq!(Opcode::of("warp"), None);
}

#[test]
fn modifiers_tell_the_class() {
    for (opcode, expected) in rows(CLASSES) {
        assert_eq!(format!("{:?}", class(&opcode)), expected, "{opcode}");
    }
}

#[test]
fn definitions_and_uses_are_told_apart() {
    for (text, expected) in rows(DEFINITIONS_AND_USES) {
        module(&format!(".entry k() {{ {{ {text} }} done: }}"), |module| {
            let instruction = module.functions[0].instructions().next().unwrap();
            let [definitions, uses] = [instruction.definitions(), instruction.uses()];
            let found = format!("({}) from ({})", definitions.join(" "), uses.join(" "));
            assert_eq!(found, expected, "{text}");
        });
    }
}
