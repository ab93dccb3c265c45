//! `thread`: registers, indices, barriers, fences.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn thread_registers(out: *mut u32) {
    let (t, b) = (thread::thread_idx(), thread::block_idx());
    let (bd, gd) = (thread::block_dim(), thread::grid_dim());
    let all = [t, b, bd, gd].map(|dimensions| dimensions.to_array());
    unsafe {
        out.cast::<[[u32; 3]; 4]>().write(all);
        *out.add(12) = thread::warp_size();
    }
}

#[kernel(grid_dim = 3d, block_dim = 3d)]
pub unsafe fn thread_indices(out: *mut u32) {
    let i = thread::index_3d();
    unsafe {
        *out.add(thread::index() as usize) = i.x ^ i.y ^ i.z ^ thread::index_2d().y;
        if thread::first() {
            *out = thread::index_1d();
        }
    }
}

#[kernel]
pub unsafe fn thread_barriers(data: *mut u32) {
    let p = unsafe { data.add(thread::thread_idx_x() as usize) };
    unsafe {
        *p = thread::sync_threads_count(*p);
        *p += thread::sync_threads_and(*p);
        *p += thread::sync_threads_or(*p);
        thread::sync_threads();
        *p += *data;
    }
}

#[kernel]
pub unsafe fn thread_fences(data: *mut u32) {
    unsafe {
        data.write_volatile(1);
        thread::device_fence();
        data.write_volatile(2);
        thread::grid_fence();
        data.write_volatile(3);
        thread::system_fence();
        data.write_volatile(4);
    }
    thread::nanosleep(100);
}
