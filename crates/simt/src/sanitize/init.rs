//! The check `init`: values that depend on memory or registers which nobody has written.

use std::sync::Arc;

use super::finding::Findings;
use super::observer::{Checker, LaunchFacts};
use crate::run::Machine;

/// The check of one launch.
pub(super) struct Init {
    findings: Findings,
}

impl Init {
    pub(super) fn new(machine: &mut Machine, facts: Arc<LaunchFacts>) -> Self {
        let _ = (machine, facts);
        Self { findings: Findings::default() }
    }
}

impl Checker for Init {
    fn findings(&self) -> &Findings {
        &self.findings
    }
}
