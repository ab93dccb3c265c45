use super::*;

#[repr(C, align(64))]
struct Line {
    a: u8,
    b: u32,
}
#[repr(align(16))]
#[derive(Clone, Copy)]
struct Vector([f32; 4]);
pub fn value(i: u32) -> u64 {
    let lines = [Line { a: i as u8, b: i * 2 }, Line { a: 1, b: 2 }];
    let lines = core::hint::black_box(&lines);
    let vector = core::hint::black_box(Vector([i as f32; 4]));
    let place = (&raw const lines[1]).addr() % 64 + (&raw const vector).addr() % 16;
    place as u64
        + u64::from(lines[i as usize % 2].b)
        + u64::from(lines[0].a)
        + vector.0[i as usize % 4] as u64
        + size_of_val(lines) as u64
}
