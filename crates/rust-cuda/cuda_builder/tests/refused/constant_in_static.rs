//! static `constant_in_static::TABLES` holds the address of constant static `constant_in_static::A`
#[address_space(constant)]
static A: [u32; 3] = [3, 1, 4];
#[address_space(constant)]
static B: [u32; 2] = [2, 7];
static TABLES: [&[u32]; 2] = [&A, &B];
#[kernel]
pub unsafe fn reads(i: usize, out: *mut u32) {
    unsafe { *out = TABLES[i % 2][0] }
}
