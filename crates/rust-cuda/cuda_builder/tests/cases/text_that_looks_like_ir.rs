use super::*;

static TILE: [u8; 44] = *b"@TILE = asm \"bar.sync\" ; define void @f() {}";
#[cuda_std::address_space(constant)]
static MARKED: [u8; 16] = *b"@TILE @MARKED !0";
pub fn value(i: u32) -> u64 {
    let text = "store ptr @MARKED, %0 = frem float %a, %b asm mma.sync";
    let at = i as usize;
    u64::from(TILE[at % 44])
        + u64::from(MARKED[at % 16]) * 300
        + u64::from(core::hint::black_box(text).as_bytes()[at % 54]) * 70_000
}
