//! A CPU model of the four modes of a warp shuffle, based on PTX ISA §9.7.9.6 (`shfl.sync`).

/// How a lane finds the lane that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the source lane's number within the segment.
    Idx,
    /// By a distance to a lower lane.
    Up,
    /// By a distance to a higher lane.
    Down,
    /// By the bits in which the numbers of the two lanes differ.
    Xor,
}

/// Returns the lane whose value `lane` receives from a shuffle with this argument, 0 to 31, in segments of `width`
/// lanes. If the source is outside the segment, returns `lane`.
pub fn source(mode: Mode, lane: u32, argument: u32, width: u32) -> u32 {
    let (place, first) = (lane % width, lane - lane % width);
    match mode {
        Mode::Idx => first + argument % width,
        Mode::Up if argument <= place => lane - argument,
        Mode::Down if place + argument < width => lane + argument,
        // The hardware only compares with the end of the segment, so a lane can read from a lower segment.
        Mode::Xor if lane ^ argument < first + width => lane ^ argument,
        Mode::Up | Mode::Down | Mode::Xor => lane,
    }
}

#[cfg(test)]
mod tests;
