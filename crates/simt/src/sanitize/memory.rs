//! The check `memory`: accesses outside of the object that the address was made for.

use std::sync::Arc;

use super::finding::Findings;
use super::observer::{Checker, LaunchFacts};
use crate::run::Machine;

/// The check of one launch.
pub(super) struct Memory {
    findings: Findings,
}

impl Memory {
    pub(super) fn new(machine: &mut Machine, facts: Arc<LaunchFacts>) -> Self {
        let _ = (machine, facts);
        Self { findings: Findings::default() }
    }
}

impl Checker for Memory {
    fn findings(&self) -> &Findings {
        &self.findings
    }
}
