//! A rung on a problem, for the tests of the ladders: what the problem's check says of outputs.

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

/// A rung, with its usual block, on the problem of its ladder with these options.
pub(super) fn rung_fixture(rung: &str, options: &Options) -> RungFixture {
    let has_it = |ladder: &&Ladder| ladder.rungs.iter().any(|own| own.name == rung);
    let ladder = crate::ladders().iter().find(has_it).unwrap();
    let (problem, rung) = (ladder.problem(options).unwrap(), ladder.rung(rung).unwrap());
    let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
    RungFixture { problem, rung, launch }
}

impl RungFixture {
    pub(super) fn input<T: Pod>(&self) -> &[T] {
        bytemuck::cast_slice(self.problem.input(0))
    }

    /// Why an output is wrong. `None` if it is right.
    pub(super) fn why<T: Pod>(&self, output: &[T]) -> Option<String> {
        match self.problem.check(self.rung, &self.launch, &output_of(output)) {
            Verdict::Right => None,
            Verdict::Wrong(why) => Some(why),
        }
    }

    /// Whether it is wrong that there is no output at all.
    pub(super) fn needs_an_output(&self) -> bool {
        !self.problem.check(self.rung, &self.launch, &[]).is_right()
    }
}

/// The bytes of the only output.
pub(super) fn output_of<T: Pod>(elements: &[T]) -> Vec<Vec<u8>> {
    vec![bytemuck::cast_slice(elements).to_vec()]
}
