//! The check `race`: accesses to the same byte, one of them a write, that nothing orders.

use std::sync::Arc;

use super::finding::Findings;
use super::observer::{Checker, LaunchFacts};
use crate::run::Machine;

/// The check of one launch.
pub(super) struct Race {
    findings: Findings,
}

impl Race {
    pub(super) fn new(machine: &mut Machine, facts: Arc<LaunchFacts>) -> Self {
        let _ = (machine, facts);
        Self { findings: Findings::default() }
    }
}

impl Checker for Race {
    fn findings(&self) -> &Findings {
        &self.findings
    }
}
