use super::*;
use core::mem::MaybeUninit;
pub fn value(i: u32) -> u64 {
    let mut data = [const { MaybeUninit::<u32>::uninit() }; 40];
    let n = i as usize % 40;
    for (at, it) in data[..n].iter_mut().enumerate() {
        it.write(hash(at as u32));
    }
    let data = unsafe { data[..n].assume_init_ref() };
    data.iter().fold(n as u64, |sum, term| mix(sum, u64::from(*term)))
}
