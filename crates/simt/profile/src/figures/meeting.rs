//! Lanes that meet at an instruction at which they give each other values.

/// What lanes bring to the instruction. Those that take different paths come to it one after the other, and wait there.
#[derive(Clone, Debug, Default)]
pub(super) struct Meeting {
    /// The lanes that have come.
    pub(super) given: u32,
    /// Those of them that go on.
    gone: u32,
    /// What each lane gives.
    pub(super) values: [u32; 32],
    /// The lane that each lane reads.
    pub(super) sources: [u32; 32],
    /// The lanes for which that is the one that they ask for.
    pub(super) in_range: u32,
}

impl Meeting {
    /// Lanes come.
    pub(super) fn arrive(&mut self, lanes: u32, values: &[u32; 32], sources: &[u32; 32], in_range: u32) {
        self.given = self.given & !self.gone | lanes;
        self.gone = 0;
        for lane in simt::regs::lanes(lanes) {
            (self.values[lane], self.sources[lane]) = (values[lane], sources[lane]);
        }
        self.in_range = self.in_range & !lanes | in_range & lanes;
    }

    /// Lanes have what they read, and go on.
    pub(super) fn leave(&mut self, lanes: u32) {
        self.gone |= lanes;
    }
}
