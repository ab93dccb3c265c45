//! Runs rungs on several devices: each rank computes its share, then the results are combined and checked.

use engine::Error as EngineError;
use engine::problem::Facts;
use engine::registry::{DeviceProperties, Rung};

use crate::divide::Share;
use crate::error::Error;
use crate::member::Member;
use crate::peers;
use crate::problem::{Divide, RankProblem, SharedProblem};
use crate::report::{GroupReport, GroupRequest, Measurement};
use crate::work::{self, LaunchedPiece, Planned};

/// Runs a request as one of several ranks. The reports of all ranks are equal, except that each contains its rank's
/// launches.
///
/// # Errors
/// Returns [`EngineError::NotOffered`] when the problem cannot be divided this way, [`Error::Rank`] when a rank fails,
/// and the errors of [`Ladder::launches`](engine::Ladder::launches). In each case, no rank returns results.
pub fn measure(member: &mut Member, request: &GroupRequest<'_>) -> Result<GroupReport, Error> {
    let GroupRequest { ladder, whole, .. } = *request;
    let Facts { bytes, flops, .. } = whole.problem().facts();
    let mut report = GroupReport {
        ladder,
        device: member.device.info().clone(),
        rank: member.rank(),
        title: whole.problem().labels().title,
        bytes,
        flops,
        all_reduced: None,
        combined_by: member.combined_by(),
        measurements: Vec::new(),
        left_out: Vec::new(),
    };
    let whole = match whole {
        SharedProblem::Peers(whole) => {
            peers::measure(member, request, &**whole, &mut report)?;
            return Ok(report);
        }
        SharedProblem::Divided(whole) => &**whole,
    };
    let device = member.device.info().properties();
    let (divided, mut planned, left_out) = divided(request, whole, member.rank(), device)?;
    report.left_out = left_out;
    planned.retain(|planned_rung| match member.device.check_supported(&planned_rung.pieces[0].launch) {
        Some(error) => {
            report.left_out.push(error.to_string());
            false
        }
        None => true,
    });
    if planned.is_empty() {
        let why = report.left_out.join("; ");
        return Err(EngineError::NotOffered(format!("none of the rungs can be divided among devices: {why}")).into());
    }
    for planned_rung in planned {
        if simt::run::is_interrupted() {
            return Err(EngineError::Interrupted.into());
        }
        let (verdict, samples) = work::measure(member, &divided, &planned_rung, request.runs)?;
        let launch = planned_rung.pieces.into_iter().next().map(|piece| piece.launch);
        report.measurements.push(Measurement { name: planned_rung.rung.name.to_owned(), launch, verdict, samples });
    }
    Ok(report)
}

/// Checks whether this number of ranks can run a request, as far as this can be determined without devices.
///
/// # Errors
/// Returns [`EngineError::NotOffered`] when the problem cannot be divided this way or no rung remains, and the errors
/// of [`Ladder::launches`](engine::Ladder::launches).
pub fn check(request: &GroupRequest<'_>, ranks: usize) -> Result<(), EngineError> {
    let device = DeviceProperties::default();
    match request.whole {
        SharedProblem::Peers(_) => peers::launches(request, ranks, device).map(drop),
        SharedProblem::Divided(whole) => divided(request, &**whole, Share { index: 0, count: ranks }, device).map(drop),
    }
}

/// Returns a rank's share, its launches, and the reasons why rungs were left out.
fn divided(
    request: &GroupRequest<'_>,
    whole: &dyn Divide,
    share: Share,
    device: DeviceProperties,
) -> Result<(RankProblem, Vec<Planned>, Vec<String>), EngineError> {
    let ladder = request.ladder;
    let refused = |why| EngineError::NotOffered(format!("{} ({}): {why}", ladder.name, whole.labels().size));
    let divided = whole.share(share, request.side).map_err(refused)?;
    let problem = &*divided.problem;
    // List rungs that are rejected for the same reason in one line.
    let mut refused: Vec<(String, Vec<&str>)> = Vec::new();
    let (mut planned, mut left_out) = (Vec::new(), Vec::new());
    for rung in ladder.select(request.rungs, problem)? {
        match planned_of(request, problem, rung, device) {
            Ok(planned_rung) => planned.push(planned_rung),
            Err(error) if !request.rungs.is_empty() => return Err(error),
            Err(EngineError::Refused { rung, reason }) => {
                match refused.iter_mut().find(|(other, _)| *other == reason) {
                    Some((_, rungs)) => rungs.push(rung),
                    None => refused.push((reason, vec![rung])),
                }
            }
            Err(error @ EngineError::NotCompiled(_)) => left_out.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    left_out.extend(
        refused.into_iter().map(|(reason, rungs)| format!("{} cannot compute this: {reason}", rungs.join(", "))),
    );
    if planned.is_empty() {
        return Err(EngineError::NotOffered(format!("no rung of {} can run: {}", ladder.name, left_out.join("; "))));
    }
    Ok((divided, planned, left_out))
}

/// Returns the launches of a rank for a rung: the rank's whole share, or the pieces of the share.
fn planned_of(
    request: &GroupRequest<'_>,
    problem: &dyn Divide,
    rung: &'static Rung,
    device: DeviceProperties,
) -> Result<Planned, EngineError> {
    let count = problem.least_pieces().max(request.pieces);
    if count == 1 {
        let launch = request.ladder.launch(rung, problem, request.block, device)?;
        return Ok(Planned { rung, pieces: vec![LaunchedPiece { launch, offsets: Vec::new() }] });
    }
    let piece = |index| {
        let refused = |reason| EngineError::Refused { rung: rung.name, reason };
        let piece = problem.piece(rung, Share { index, count }).map_err(refused)?;
        let mut launch = request.ladder.launch(rung, &*piece.problem, request.block, device)?;
        launch.args.iter_mut().for_each(|arg| *arg = arg.at_offsets(&piece.offsets));
        Ok(LaunchedPiece { launch, offsets: piece.offsets })
    };
    Ok(Planned { rung, pieces: (0..count).map(piece).collect::<Result<_, EngineError>>()? })
}
