//! The ladder's sum on the CPU. The ladder's source text compares the first GPU kernel with one of these functions.

/// Returns the wrapping sum of `data`, from the first element to the last.
pub fn plain_sum(data: &[i32]) -> i32 {
    let mut sum: i32 = 0;
    for value in data {
        sum = sum.wrapping_add(*value);
    }
    sum
}

/// Returns the wrapping sum of `data`. The loop is unrolled four times: each iteration adds four elements to four sums.
pub fn unrolled_sum(data: &[i32]) -> i32 {
    let mut sums: [i32; 4] = [0; 4];
    let mut groups = data.chunks_exact(4);
    for group in &mut groups {
        sums[0] = sums[0].wrapping_add(group[0]);
        sums[1] = sums[1].wrapping_add(group[1]);
        sums[2] = sums[2].wrapping_add(group[2]);
        sums[3] = sums[3].wrapping_add(group[3]);
    }
    // The remainder consists of the elements after the last whole group.
    plain_sum(&sums).wrapping_add(plain_sum(groups.remainder()))
}

/// Returns the wrapping sum of `data`, computed by interleaved pairs. The function adds the upper half to the lower
/// half in place, then sums the lower half in the same way. The sum of no elements is 0. Afterwards, `data` holds
/// partial sums.
///
/// The source text's version halves the size by integer division and loses the last element whenever a size is odd.
/// That version is therefore only right for powers of two. Here the lower half is the larger half: an odd element in
/// the middle has no partner and is kept for the next round.
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
