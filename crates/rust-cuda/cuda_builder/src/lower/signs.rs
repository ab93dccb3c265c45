//! Rewrites numbers that are computed from a condition into a form that LLVM 22 compiles correctly.
//!
//! A kernel can step back by `-i64::from(condition)` elements in one place, and by `-i64::from(!condition)` in another.
//! LLVM's straight-line strength reduction then computes one value from the other and a constant. For `sext i1 (not x)`
//! it computes `-1 + sext i1 x`, which has the wrong sign. (LLVM's analysis negates a one-bit number with a
//! multiplication by -1, which equals 1 in one bit, and keeps the no-overflow flags.) `slice::sort_unstable` contains
//! many such steps. Strength reduction runs in `llc` and does not look into a `select`.

/// Rewrites each sign extension of a single bit into a `select`. Returns `None` if there is no such sign extension.
pub fn lower(optimized: &str) -> Option<String> {
    let has_one = |line: &str| line.starts_with(' ') && line.contains(" = sext i1 ");
    if !optimized.lines().any(has_one) {
        return None;
    }
    let selected = |line: &str| {
        let (result, extension) = line.split_once(" = sext i1 ").filter(|_| has_one(line))?;
        let (bit, to) = extension.split_once(" to ")?;
        let (ty, rest) = to.split_at(to.find(',').unwrap_or(to.len()));
        Some(format!("{result} = select i1 {bit}, {ty} -1, {ty} 0{rest}"))
    };
    Some(optimized.lines().map(|line| selected(line).unwrap_or_else(|| line.to_owned()) + "\n").collect())
}

#[cfg(test)]
mod tests {
    use super::lower;

    #[test]
    fn a_sign_extension_of_one_bit_becomes_a_select() {
        let ir =
            "define i64 @f(i1 %a) {\n  %0 = sext i1 %a to i64, !dbg !7\n  %1 = sext i8 %b to i64\n  ret i64 %0\n}\n";
        let expected = ir.replace("sext i1 %a to i64", "select i1 %a, i64 -1, i64 0");
        assert_eq!(lower(ir), Some(expected.clone()));
        assert_eq!(lower(&expected), None);
    }
}
