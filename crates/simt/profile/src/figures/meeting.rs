//! Lanes that exchange values at an instruction.

/// The values that lanes bring to the instruction. Lanes on different paths arrive one after another, and wait there.
#[derive(Clone, Debug, Default)]
pub(super) struct Meeting {
    /// The lanes that have arrived.
    pub(super) arrived: u32,
    /// The arrived lanes that have continued.
    gone: u32,
    /// The value that each lane provides.
    pub(super) values: [u32; 32],
    /// The lane that each lane reads.
    pub(super) sources: [u32; 32],
    /// The lanes whose requested source lane is in range.
    pub(super) in_range: u32,
}

impl Meeting {
    /// Records that lanes arrive.
    pub(super) fn arrive(&mut self, lanes: u32, values: &[u32; 32], sources: &[u32; 32], in_range: u32) {
        self.arrived = self.arrived & !self.gone | lanes;
        self.gone = 0;
        for lane in simt::regs::lanes(lanes) {
            (self.values[lane], self.sources[lane]) = (values[lane], sources[lane]);
        }
        self.in_range = self.in_range & !lanes | in_range & lanes;
    }

    /// Records that lanes have read their values and continue.
    pub(super) fn leave(&mut self, lanes: u32) {
        self.gone |= lanes;
    }
}
