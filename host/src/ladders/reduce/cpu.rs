//! The same sum on the CPU: the references, among them the one that the ladder's source text compares the first GPU
//! kernel with.

/// The sum of `data`, wrapping, from the first element to the last.
pub fn plain_sum(data: &[i32]) -> i32 {
    data.iter().fold(0, |sum, &value| sum.wrapping_add(value))
}

/// The sum of `data`, wrapping, by interleaved pairs: the upper half is added to the lower half in place, and then the
/// lower half is summed in the same way. 0 for no elements. `data` holds partial sums afterwards.
///
/// The textbook's version halves the size by integer division and loses the last element whenever a size is odd, so it
/// is right for powers of two only. Here the lower half is the larger one: an odd element in the middle has no partner
/// and is kept for the next round.
pub fn recursive_reduce(data: &mut [i32]) -> i32 {
    if data.len() < 2 {
        return data.first().copied().unwrap_or(0);
    }
    let half = data.len().div_ceil(2);
    let (lower, upper) = data.split_at_mut(half);
    for (value, &other) in lower.iter_mut().zip(upper.iter()) {
        *value = value.wrapping_add(other);
    }
    recursive_reduce(lower)
}

#[cfg(test)]
mod tests;
