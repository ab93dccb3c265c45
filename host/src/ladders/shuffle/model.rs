//! The four modes of a warp shuffle on the CPU, after PTX ISA §9.7.9.6 (`shfl.sync`).

/// How a lane finds the lane that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By number, within its segment.
    Idx,
    /// By a distance to a lower lane.
    Up,
    /// By a distance to a higher lane.
    Down,
    /// By the bits in which the numbers of the two lanes differ.
    Xor,
}

/// The lane whose value `lane` receives from a shuffle with this argument, 0 to 31, in segments of `width` lanes: the
/// lane itself if the source is outside of the segment.
pub fn source(mode: Mode, lane: u32, argument: u32, width: u32) -> u32 {
    let (place, first) = (lane % width, lane - lane % width);
    match mode {
        Mode::Idx => first + argument % width,
        Mode::Up if argument <= place => lane - argument,
        Mode::Down if place + argument < width => lane + argument,
        // The hardware only compares with the end of the segment, so a lane of a lower segment can be read.
        Mode::Xor if lane ^ argument < first + width => lane ^ argument,
        Mode::Up | Mode::Down | Mode::Xor => lane,
    }
}

#[cfg(test)]
mod tests;
