//! constant static `writes_constant_array::filled::TABLE`
#[inline(never)]
fn number(i: usize) -> f32 {
    i as f32 * 0.5
}
#[kernel]
pub unsafe fn filled(n: usize) {
    #[address_space(constant)]
    static mut TABLE: [f32; 64] = [0.0; 64];
    for i in 0..n {
        unsafe { TABLE[i] = number(i) }
    }
}
