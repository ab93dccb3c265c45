#![no_std]
extern crate alloc;

use core::hint::black_box;
use cuda_std::prelude::*;
use cuda_std::{FloatExt, GpuFloat, bf16, glam, intrinsics, warp};

fn thread() -> usize {
    thread::index_1d() as usize
}

pub mod printing {
    use super::*;

    #[kernel]
    pub unsafe fn prints(data: *const u32) {
        let (i, value) = (thread(), unsafe { *data.add(thread()) });
        println!("thread {i} of {:?}: {value:#06x}, 100%s", thread::block_dim());
        if i == 0 {
            print!("{}", "long ".repeat(300));
            println!();
            println!("{:?} {:.3} {:e}", Some(value as f32 / 4.0), 2.0_f64 / 3.0, 1e-7_f32);
        }
    }
}

pub mod asserting {
    use super::*;

    #[kernel]
    pub unsafe fn asserts(a: u32, b: u32) {
        assert_ne!(a + 1, b);
        assert_eq!(a, b);
    }

    #[kernel]
    pub unsafe fn panics(n: u32) {
        let i = thread();
        if i == 5 {
            panic!("thread {i} has {n} of {:?}", "µ%");
        }
    }

    #[kernel]
    pub unsafe fn expects(n: u32) {
        black_box(n.checked_sub(7)).expect("the number is at least 7");
    }
}

pub mod checking {
    use super::*;

    #[kernel]
    pub unsafe fn indexes(data: *mut u32, len: usize) {
        let data = unsafe { core::slice::from_raw_parts_mut(data, len) };
        data[thread() + 2] += 1;
    }

    #[kernel]
    pub unsafe fn ranges(data: *mut u32, start: usize, end: usize) {
        let data = unsafe { core::slice::from_raw_parts_mut(data, 4) };
        data[start..end].iter_mut().for_each(|it| *it += 1);
    }

    #[kernel]
    pub unsafe fn divides(data: *mut u32, by: u32) {
        unsafe { *data /= by };
    }
}

pub mod allocating {
    use super::*;

    #[repr(align(64))]
    struct Wide([u32; 16]);

    #[kernel]
    pub unsafe fn allocates(out: *mut u64) {
        let i = thread();
        let mut numbers: Vec<u64> = (0..10 + i as u64).collect();
        numbers.sort_by(|a, b| b.cmp(a));
        numbers.extend_from_slice(&[1, 2, 3]);
        let boxes: Vec<Box<Wide>> = (0..3).map(|n| Box::new(Wide([n; 16]))).collect();
        let aligned = boxes.iter().all(|it| core::ptr::from_ref(&**it).addr() % 64 == 0);
        let text = format!("{}-{}", i, numbers.len()).to_owned() + &String::from("!");
        let shared = Rc::new(text.to_string());
        let sum = numbers.iter().sum::<u64>() + boxes[2].0.iter().map(|n| u64::from(*n)).sum::<u64>();
        unsafe { *out.add(i) = sum * 1000 + Rc::clone(&shared).len() as u64 * 10 + u64::from(aligned) };
    }

    #[kernel]
    pub unsafe fn has_no_room(out: *mut u8, bytes: usize) {
        let memory: Vec<u8> = Vec::with_capacity(bytes);
        unsafe { *out = memory.as_ptr().addr() as u8 };
    }
}

pub mod counting {
    use super::*;

    #[kernel]
    pub unsafe fn halves(out: *mut f32) {
        let i = thread();
        let (a, b) = (f16::from_f32(i as f32 * 0.1), bf16::from_f32(i as f32 * 0.1));
        let (c, _) = unsafe { warp::warp_shuffle_xor(u32::MAX, a * a, 1, 32) };
        let (d, _) = unsafe { warp::warp_shuffle_xor(u32::MAX, b + b, 1, 32) };
        let v = glam::Vec3::new(c.to_f32(), d.to_f32(), 1.0);
        let at = glam::USizeVec2::new(i, 0);
        unsafe { *out.add(at.x + at.y) = v.dot(glam::Vec3::new(1.0, 100.0, 0.0)) };
    }

    #[kernel]
    pub unsafe fn functions(out: *mut f64, x: f64) {
        let y = x as f32;
        let values = [
            x.error_function(),
            x.complementary_error_function(),
            x.inv_complementary_error_function(),
            x.scaled_complementary_error_function(),
            x.cospi(),
            x.sinpi(),
            x.gamma(),
            x.log_gamma(),
            x.j0(),
            x.jn(2),
            x.y1(),
            x.norm_cdf(),
            x.inv_norm_cdf(),
            x.rcbrt(),
            x.frexp().0,
            f64::from(x.unbiased_exp()),
            x.log1p(),
            f64::from(y.error_function()),
            f64::from(y.sincospi().0),
            f64::from(y.saturate()),
            f64::from(y.ldexp(3)),
            x.sqrt(),
            f64::from(y.exp()),
        ];
        for (at, value) in values.into_iter().enumerate() {
            unsafe { *out.add(at) = value };
        }
    }

    #[kernel]
    pub unsafe fn instructions(out: *mut f32, a: f32, b: f32) {
        let values = unsafe {
            [
                intrinsics::fadd_rn(a, b),
                intrinsics::fadd_rz(a, b),
                intrinsics::fadd_rd(a, b),
                intrinsics::fadd_ru(a, b),
                intrinsics::fdiv_ru(a, b),
                intrinsics::fsqrt_rd(b),
                intrinsics::fmaf_rz(a, b, a),
                intrinsics::float2int_ru(b) as f32,
                intrinsics::int2float_rd(0x7fff_ffff),
                intrinsics::rintf(2.5),
                intrinsics::half2float(intrinsics::float2half_rn(b)),
                intrinsics::double2float_ru(f64::from(a) / 3.0),
                intrinsics::byte_perm(0x0302_0100, 0x0706_0504, 0x7531) as f32,
                intrinsics::mulhi(i32::MIN, 3) as f32,
            ]
        };
        for (at, value) in values.into_iter().enumerate() {
            unsafe { *out.add(at) = value };
        }
    }

    #[kernel]
    pub unsafe fn wide(out: *mut i128, a: i128, b: i128) {
        let values = [a + b, a - b, a.wrapping_mul(b), a / b, a % b, (a as u128 / b as u128) as i128, a >> 67, a << 3];
        for (at, value) in values.into_iter().enumerate() {
            unsafe { *out.add(at) = value };
        }
    }
}
