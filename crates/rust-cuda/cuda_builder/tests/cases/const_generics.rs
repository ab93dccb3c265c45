use super::*;

struct Matrix<const R: usize, const C: usize>([[i32; C]; R]);
impl<const R: usize, const C: usize> Matrix<R, C> {
    fn times<const K: usize>(&self, other: &Matrix<C, K>) -> Matrix<R, K> {
        Matrix(core::array::from_fn(|r| core::array::from_fn(|k| (0..C).map(|c| self.0[r][c] * other.0[c][k]).sum())))
    }
}
pub fn value(i: u32) -> u64 {
    let a = Matrix::<2, 3>([[1, i as i32, -2], [3, 4, 5]]);
    let b = Matrix::<3, 4>([[i as i32, 1, 2, 3], [4, 5, 6, 7], [8, 9, -10, 11]]);
    a.times(&b).0.as_flattened().iter().fold(0, |sum, term| mix(sum, *term as u64))
}
