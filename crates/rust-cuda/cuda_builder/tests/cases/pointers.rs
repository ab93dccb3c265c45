use super::*;

pub fn value(i: u32) -> u64 {
    let mut data: [u32; 10] = core::array::from_fn(|at| at as u32 * i);
    let (first, last) = (data.as_mut_ptr(), unsafe { data.as_mut_ptr().add(9) });
    unsafe {
        first.add(3).swap(last.sub(i as usize % 5));
        first.cast::<u8>().add(5).write_unaligned(7);
        let old = last.replace(i);
        u64::from(old)
            + last.offset_from(first) as u64
            + u64::from(first.cast::<u8>().add(3).cast::<u32>().read_unaligned())
    }
}
