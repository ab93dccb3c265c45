use super::*;

trait Layer {
    type Next: Layer;
    const DEPTH: u64;
}
struct End;
struct Deep<T>(core::marker::PhantomData<T>);
impl Layer for End {
    type Next = End;
    const DEPTH: u64 = 0;
}
impl<T: Layer> Layer for Deep<T> {
    type Next = T;
    const DEPTH: u64 = T::DEPTH + 1;
}
pub fn value(i: u32) -> u64 {
    type Three = Deep<Deep<Deep<End>>>;
    u64::from(i) + Three::DEPTH * 10 + <Three as Layer>::Next::DEPTH
}
