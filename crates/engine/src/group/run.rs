//! Runs rungs on the parts of a divided problem: each rank its part, then the parts' results are combined and checked.

use super::work::{self, LaunchedPiece, Planned};
use super::{Member, peers};
use crate::device::DeviceInfo;
use crate::divide::{Along, Part};
use crate::error::Error;
use crate::launch::{Arg, Launch};
use crate::problem::{Divide, NOT_DIVIDED, ProblemPart};
use crate::problem::{Facts, Problem, Verdict};
use crate::registry::{self, DeviceProperties, Ladder, Rung};
use crate::stats::Samples;

/// What is to be run.
pub struct Request<'a> {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The rungs' names, as [`Ladder::select`] takes them.
    pub rungs: &'a [String],
    /// The whole problem.
    pub whole: &'a dyn Problem,
    /// The block for all rungs, if not each one's own.
    pub block: Option<[u32; 3]>,
    /// The number of timed launches; `None` only checks.
    pub runs: Option<u32>,
    /// Along which side matrices are divided.
    pub along: Along,
    /// Into how many pieces each part is cut, of which one is combined beside the computation of the next one.
    pub pieces: usize,
}

/// The results of a rung, or of what it is compared with, on all ranks.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The name of the rung, or of what combines.
    pub name: String,
    /// The launch on this rank; none where no kernel of this program runs.
    pub launch: Option<Launch>,
    /// Whether the result of the whole was right, in the memory of every rank.
    pub verdict: Verdict,
    /// The times of the whole: each is that of the slowest rank. `None` without a clock.
    pub samples: Option<Samples>,
}

/// The results of a run on several devices.
#[derive(Clone, Debug)]
pub struct Report {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// This rank's device.
    pub device: DeviceInfo,
    /// This rank, and how many there are.
    pub part: Part,
    /// The whole problem in words.
    pub title: String,
    /// The bytes of the whole, for effective bandwidth.
    pub bytes: u64,
    /// The floating-point operations of the whole, if it is measured in them.
    pub flops: Option<u64>,
    /// Of an all-reduce, the bytes that each rank has.
    pub all_reduced: Option<u64>,
    /// What combines the ranks' data, in words.
    pub combined_by: String,
    /// What was run.
    pub outcomes: Vec<Outcome>,
    /// The reasons why rungs were left out.
    pub left_out: Vec<String>,
}

impl Report {
    /// Whether every result was right.
    pub fn all_right(&self) -> bool {
        self.outcomes.iter().all(|own| own.verdict.is_right())
    }
}

/// Runs a request as one rank of several. All ranks return the same but for their own launches.
///
/// # Errors
/// [`Error::NotOffered`] when the ladder cannot be divided, when [`Ladder::launches`] fails, and [`Error::Rank`] when a rank
/// fails: then no rank returns results.
pub fn measure(member: &mut Member, request: &Request<'_>) -> Result<Report, Error> {
    let Request { ladder, whole, .. } = *request;
    let Facts { bytes, flops, .. } = whole.facts();
    let mut report = Report {
        ladder,
        device: member.device.info().clone(),
        part: member.part(),
        title: whole.labels().title,
        bytes,
        flops,
        all_reduced: None,
        combined_by: member.combined_by(),
        outcomes: Vec::new(),
        left_out: Vec::new(),
    };
    if is_of_ranks(request, member.device.info().properties()) {
        peers::measure(member, request, &mut report)?;
        return Ok(report);
    }
    let (divided, mut planned, left_out) = divided(request, member.part(), member.device.info().properties())?;
    report.left_out = left_out;
    planned.retain(|own| match member.device.check_supported(&own.pieces[0].launch) {
        Some(error) => {
            report.left_out.push(error.to_string());
            false
        }
        None => true,
    });
    if planned.is_empty() {
        let why = report.left_out.join("; ");
        return Err(Error::NotOffered(format!("no rung is left that can be divided: {why}")));
    }
    for own in planned {
        if simt::run::is_interrupted() {
            return Err(Error::Interrupted);
        }
        let (verdict, samples) = work::outcome(member, &divided, &own, request.runs)?;
        let launch = own.pieces.into_iter().next().map(|piece| piece.launch);
        report.outcomes.push(Outcome { name: own.rung.name.to_owned(), launch, verdict, samples });
    }
    Ok(report)
}

/// Whether the ladder is about ranks, and its kernels read and write the memory of other devices.
fn is_of_ranks(request: &Request<'_>, device: DeviceProperties) -> bool {
    request
        .ladder
        .rungs
        .iter()
        .any(|rung| registry::arguments(rung, request.whole, device).is_ok_and(|args| args.contains(&Arg::FirstRank)))
}

/// Whether a request can be run by so many ranks, as far as it is known without devices.
///
/// # Errors
/// [`Error::NotOffered`] when the problem cannot be divided so or no rung is left, and when [`Ladder::launches`] fails.
pub fn check(request: &Request<'_>, ranks: usize) -> Result<(), Error> {
    let device = DeviceProperties::default();
    if is_of_ranks(request, device) {
        return peers::launches(request, ranks, device).map(drop);
    }
    divided(request, Part { rank: 0, ranks }, device).map(drop)
}

/// A rank's part, its launches, and the reasons why rungs were left out.
fn divided(
    request: &Request<'_>,
    part: Part,
    device: DeviceProperties,
) -> Result<(ProblemPart, Vec<Planned>, Vec<String>), Error> {
    let Request { ladder, whole, .. } = *request;
    let refused = |why| Error::NotOffered(format!("{} ({}): {why}", ladder.name, whole.labels().size));
    let divided = whole.divide().ok_or_else(|| NOT_DIVIDED.to_owned());
    let divided = divided.and_then(|whole| whole.part(part, request.along)).map_err(refused)?;
    let problem = &*divided.problem;
    // Of several that are refused for the same reason, it is said once.
    let mut refused: Vec<(String, Vec<&str>)> = Vec::new();
    let (mut planned, mut left_out) = (Vec::new(), Vec::new());
    for rung in ladder.select(request.rungs, problem)? {
        match planned_of(request, problem, rung, device) {
            Ok(own) => planned.push(own),
            Err(error) if !request.rungs.is_empty() => return Err(error),
            Err(Error::Refused { rung, reason }) => match refused.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, rungs)) => rungs.push(rung),
                None => refused.push((reason, vec![rung])),
            },
            Err(error @ Error::NotCompiled(_)) => left_out.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    left_out.extend(
        refused.into_iter().map(|(reason, rungs)| format!("{} cannot compute this: {reason}", rungs.join(", "))),
    );
    if planned.is_empty() {
        return Err(Error::NotOffered(format!("no rung of {} is left: {}", ladder.name, left_out.join("; "))));
    }
    Ok((divided, planned, left_out))
}

/// What a rank launches of a rung: its part, or the pieces that this is cut into.
fn planned_of(
    request: &Request<'_>,
    problem: &dyn Problem,
    rung: &'static Rung,
    device: DeviceProperties,
) -> Result<Planned, Error> {
    let divide = problem.divide();
    let pieces = divide.map_or(1, Divide::least_pieces).max(request.pieces);
    let Some(divide) = divide.filter(|_| pieces > 1) else {
        let launch = request.ladder.launch(rung, problem, request.block, device)?;
        return Ok(Planned { rung, pieces: vec![LaunchedPiece { launch, begins: Vec::new() }] });
    };
    let piece = |rank| {
        let refused = |reason| Error::Refused { rung: rung.name, reason };
        let piece = divide.piece(rung, Part { rank, ranks: pieces }).map_err(refused)?;
        let mut launch = request.ladder.launch(rung, &*piece.problem, request.block, device)?;
        launch.args.iter_mut().for_each(|arg| *arg = arg.of_piece(&piece.begins));
        Ok(LaunchedPiece { launch, begins: piece.begins })
    };
    Ok(Planned { rung, pieces: (0..pieces).map(piece).collect::<Result<_, Error>>()? })
}
