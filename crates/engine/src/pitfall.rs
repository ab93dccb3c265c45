//! Launches of pitfalls: a faulty kernel or its cure on a few words, and what became of the result.
//!
//! Buffers have the size that is asked for and no guard behind them, and an output keeps what the device left there:
//! both are faults that a pitfall may be about.

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use rung::Pitfall;
pub use rung::pitfall::{Argument, Check, FAULT, OTHER};

use crate::device::{BufferId, Checks, Device, Finding};
use crate::error::Error;
use crate::launch::{Arg, Code, Launch};
use crate::problem::elements;

/// One of the two kernels of a pitfall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_family = "wasm"), derive(clap::ValueEnum))]
pub enum Kernel {
    /// The kernel with the fault.
    Faulty,
    /// The kernel without.
    Cure,
}

/// What became of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum Outcome {
    /// The result is right.
    Right,
    /// Some elements of the result are wrong.
    Wrong {
        /// How many.
        elements: u32,
        /// How many there are.
        of: u32,
    },
    /// The device refused or ended the launch.
    Error {
        /// The device's words.
        says: String,
    },
    /// The launch was not over in time.
    TimeOut,
}

/// What the checks say of a pitfall's two kernels.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What they found in the faulty kernel.
    pub findings: Vec<Finding>,
    /// Which of these is the fault: of the check that is to find it, at the marked line.
    pub fault: Option<usize>,
    /// What became of the cure.
    pub cure: Outcome,
    /// What they found in the cure.
    pub in_cure: Vec<Finding>,
}

impl Checked {
    /// Whether the fault was found.
    pub fn is_found(&self) -> bool {
        self.fault.is_some()
    }

    /// Whether the cure's result is right and nothing was found in it.
    pub fn is_clean(&self) -> bool {
        self.cure == Outcome::Right && self.in_cure.is_empty()
    }
}

/// Runs both kernels of a pitfall with all checks, on a device that has them.
///
/// # Errors
/// As [`run`].
pub fn check(device: &mut dyn Device, pitfall: &Pitfall) -> Result<Checked, Error> {
    let mut checked = |kernel| {
        device.set_checks(Checks::ALL);
        let outcome = run(device, pitfall, kernel);
        device.set_checks(Checks::NONE);
        Ok::<_, Error>((outcome?, device.take_findings()))
    };
    let ((_, findings), (cure, in_cure)) = (checked(Kernel::Faulty)?, checked(Kernel::Cure)?);
    let fault = findings.iter().position(|finding| is_fault(pitfall, finding));
    Ok(Checked { findings, fault, cure, in_cure })
}

/// Whether a finding is the pitfall's fault: its check, and its marked lines. Of the two parties of a race none is
/// the first, and where only one line is marked, both are there.
fn is_fault(pitfall: &Pitfall, finding: &Finding) -> bool {
    let line = |source: &Option<(String, u32)>| {
        let (file, line) = source.as_ref()?;
        Path::new(file).ends_with(pitfall.source).then_some(*line)
    };
    let own = line(&finding.source);
    let other = finding.other.as_ref().map(|other| line(&other.source));
    let (fault, marked) = (pitfall.marked(FAULT), pitfall.marked(OTHER));
    finding.check.name() == pitfall.check.name()
        && match (pitfall.check, other) {
            (Check::Race, other) => {
                let (other, marked) = (other.flatten(), marked.or(fault));
                (own, other) == (fault, marked) || (own, other) == (marked, fault)
            }
            (_, other) if marked.is_some() => own == fault && other == Some(marked),
            _ => own == fault,
        }
}

/// Element `index` of the data of every pitfall: numbers of both signs that differ in all bits.
pub fn element(index: u32) -> u32 {
    (index + 1).wrapping_mul(0x9e37_79b1).rotate_left(13)
}

/// Runs a kernel of a pitfall once.
///
/// # Errors
/// [`Error::Device`] when the device fails before the launch. What becomes of the launch is no error but the outcome.
pub fn run(device: &mut dyn Device, pitfall: &Pitfall, kernel: Kernel) -> Result<Outcome, Error> {
    let prepared = Prepared::new(device, pitfall, kernel)?;
    // SAFETY: the kernels that a GPU launches are meant to fail, and do it in a process of their own, which does nothing
    // else: what they spoil are the elements that are compared. The simulator checks each address.
    let error = unsafe { device.launch(&prepared.launch, &prepared.buffers) }.err();
    Ok(prepared.outcome(device, pitfall, error.map(reason)))
}

/// The reason of an error of a launch, without the launch.
fn reason(error: Error) -> String {
    match error {
        Error::Launch { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// A launch with its buffers on a device.
struct Prepared {
    launch: Launch,
    buffers: Vec<BufferId>,
    /// The buffer of the result, and its elements.
    result: Option<(BufferId, u32)>,
    /// The elements of the first argument that has some.
    input: Vec<u32>,
}

impl Prepared {
    fn new(device: &mut dyn Device, pitfall: &Pitfall, kernel: Kernel) -> Result<Self, Error> {
        let is_faulty = kernel == Kernel::Faulty;
        let (blocks, threads) = pitfall.launch;
        let shared = if is_faulty { pitfall.shared.0 } else { pitfall.shared.1 };
        let launch = Launch {
            code: Code::Kernels,
            entry: if is_faulty { pitfall.name } else { pitfall.cure }.to_owned(),
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: shared,
            args: Vec::new(),
        };
        let mut prepared = Self { launch, buffers: Vec::new(), result: None, input: Vec::new() };
        let mut freed = Vec::new();
        for argument in pitfall.arguments {
            if *argument == Argument::Null {
                prepared.launch.args.push(Arg::U64(0));
                continue;
            }
            let data: Vec<u32> = (0..argument.elements()).map(element).collect();
            let buffer = device.alloc(size_of_val(&data[..]))?;
            let (has_data, has_zeros) = match argument {
                Argument::Input(_) | Argument::InPlace(_) | Argument::Freed(_) => (true, false),
                Argument::Sums(_) | Argument::Zeros(_) => (false, true),
                Argument::Forgotten(_) => (false, !is_faulty),
                Argument::Output(_) | Argument::Unset(_) | Argument::Null => (false, false),
            };
            if has_data {
                device.upload(buffer, bytemuck::cast_slice(&data))?;
            } else if has_zeros {
                device.fill(buffer, 0)?;
            }
            if argument.is_result() {
                prepared.result = Some((buffer, argument.elements()));
            }
            if has_data && prepared.input.is_empty() {
                prepared.input = data;
            }
            if is_faulty && matches!(argument, Argument::Freed(_)) {
                freed.push(buffer);
                prepared.launch.args.push(Arg::U64(device.address(buffer)?));
            } else {
                prepared.launch.args.push(Arg::Buffer(prepared.buffers.len()));
                prepared.buffers.push(buffer);
            }
        }
        // After the others are allocated, so that none of them gets this memory.
        freed.into_iter().for_each(|buffer| device.free(buffer));
        Ok(prepared)
    }

    /// What became of the launch, which ended with this error if there is one. Frees the buffers.
    fn outcome(self, device: &mut dyn Device, pitfall: &Pitfall, error: Option<String>) -> Outcome {
        let outcome = match (error, self.result) {
            (Some(says), _) => Outcome::Error { says },
            (None, None) => Outcome::Right,
            (None, Some((buffer, of))) => {
                let mut bytes = vec![0; of as usize * size_of::<u32>()];
                match device.download(buffer, &mut bytes) {
                    Err(error) => Outcome::Error { says: error.to_string() },
                    Ok(()) => {
                        let found = elements::<u32>(&bytes);
                        let is_wrong = |at: &usize| found[*at] != (pitfall.right)(&self.input, *at);
                        match (0..found.len()).filter(is_wrong).count() as u32 {
                            0 => Outcome::Right,
                            elements => Outcome::Wrong { elements, of },
                        }
                    }
                }
            }
        };
        self.buffers.into_iter().for_each(|buffer| device.free(buffer));
        outcome
    }
}
