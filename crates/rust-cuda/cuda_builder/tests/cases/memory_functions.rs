use super::*;

unsafe extern "C" {
    fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8;
    fn memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8;
    fn memset(to: *mut u8, value: i32, n: usize) -> *mut u8;
    fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32;
    fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32;
}
pub fn value(i: u32) -> u64 {
    let mut a: [u8; 48] = core::array::from_fn(|at| at as u8 ^ i as u8);
    let mut b = [0_u8; 48];
    let (from, n) = (i as usize % 16, i as usize / 16);
    let found = unsafe {
        memmove(a.as_mut_ptr().add(from / 2), a.as_ptr().add(from), n);
        memmove(a.as_mut_ptr().add(from), a.as_ptr().add(from / 2), n);
        memset(b.as_mut_ptr().add(from), i as i32 * 77, n);
        memcpy(b.as_mut_ptr(), a.as_ptr().add(from), n);
        let order = memcmp(a.as_ptr().add(from), b.as_ptr(), n + 3).signum() as u64;
        order + 3 * u64::from(bcmp(a.as_ptr(), b.as_ptr().add(from), n) == 0)
    };
    a.iter().chain(&b).fold(found, |sum, term| mix(sum, u64::from(*term)))
}
