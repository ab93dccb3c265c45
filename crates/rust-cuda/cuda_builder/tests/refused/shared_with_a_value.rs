//! shared static `shared_with_a_value::TABLE` has an initial value
#[address_space(shared)]
static TABLE: [u8; 4] = *b"text";
#[kernel]
pub unsafe fn reads(i: usize, out: *mut u8) {
    unsafe { *out = TABLE[i] }
}
