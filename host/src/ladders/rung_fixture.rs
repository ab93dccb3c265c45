//! A rung on a problem, for tests that pass outputs to the problem's check.

#![allow(clippy::unwrap_used)]

use bytemuck::Pod;
use engine::launch::Launch;
use engine::problem::{Problem, Verdict};
use engine::registry::Rung;
use engine::{DeviceProperties, Ladder, Options};

pub(super) struct RungFixture {
    pub(super) problem: Box<dyn Problem>,
    pub(super) rung: &'static Rung,
    pub(super) launch: Launch,
}

/// Returns a rung with its default block, on its ladder's problem with these options.
pub(super) fn rung_fixture(rung: &str, options: &Options) -> RungFixture {
    let has_rung = |ladder: &&Ladder| ladder.rungs.iter().any(|candidate| candidate.name == rung);
    let ladder = crate::ladders().iter().find(has_rung).unwrap();
    let (problem, rung) = (ladder.problem(options).unwrap(), ladder.rung(rung).unwrap());
    let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
    RungFixture { problem, rung, launch }
}

impl RungFixture {
    pub(super) fn input<T: Pod>(&self) -> &[T] {
        bytemuck::cast_slice(self.problem.input(0))
    }

    /// Returns the reason why an output is wrong, or `None` if it is right.
    pub(super) fn why<T: Pod>(&self, output: &[T]) -> Option<String> {
        match self.problem.check(self.rung, &self.launch, &output_of(output)) {
            Verdict::Right => None,
            Verdict::Wrong(why) => Some(why),
        }
    }

    /// Returns whether the check reports a missing output as wrong.
    pub(super) fn needs_an_output(&self) -> bool {
        !self.problem.check(self.rung, &self.launch, &[]).is_right()
    }
}

/// Returns the bytes of the only output.
pub(super) fn output_of<T: Pod>(elements: &[T]) -> Vec<Vec<u8>> {
    vec![bytemuck::cast_slice(elements).to_vec()]
}
