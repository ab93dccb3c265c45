use super::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Nothing;
struct Tagged<T> {
    tag: core::marker::PhantomData<T>,
    value: u32,
    nothing: [Nothing; 4],
}
pub fn value(i: u32) -> u64 {
    let tagged = Tagged::<f64> { tag: core::marker::PhantomData, value: i, nothing: [Nothing; 4] };
    let units = [(); 1000];
    let count = units[..i as usize].iter().count() + tagged.nothing.iter().filter(|it| **it == Nothing).count();
    count as u64 + u64::from(tagged.value) + size_of_val(&tagged.tag) as u64 + size_of_val(&tagged) as u64
}
