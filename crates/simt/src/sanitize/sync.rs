//! The check `sync`: barriers, masks and waits that threads do not come to as they have to.

use std::sync::Arc;

use super::finding::Findings;
use super::observer::{Checker, LaunchFacts};
use crate::run::Machine;

/// The check of one launch.
pub(super) struct Sync {
    findings: Findings,
}

impl Sync {
    pub(super) fn new(machine: &mut Machine, facts: Arc<LaunchFacts>) -> Self {
        let _ = (machine, facts);
        Self { findings: Findings::default() }
    }
}

impl Checker for Sync {
    fn findings(&self) -> &Findings {
        &self.findings
    }
}
