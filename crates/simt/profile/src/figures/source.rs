//! The source lines of a kernel with their costs, and the PTX that was compiled from each line.

use std::collections::BTreeMap;

use simt::counters::{METRICS, Value};
use simt::observe::Site;

use super::figure::{Drawing, Figure, Line, Listing, PtxLine};
use super::record::Recording;

pub(super) const SOURCE: Drawing =
    Drawing { name: "source", about: "the source lines with their instructions, sectors, wavefronts and splits", draw };

/// The columns of the listing, each with the metrics that are added up.
pub(super) const COLUMNS: [(&str, &[&str]); 4] = [
    ("instructions", &["ptx_inst_executed.sum"]),
    (
        "sectors",
        &[
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
            "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
            "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
        ],
    ),
    (
        "wavefronts",
        &[
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
        ],
    ),
    ("splits", &["smsp__sass_branch_targets_threads_divergent.sum"]),
];

/// Returns the counts of some instructions of the launch, by column.
fn counts(recording: &Recording, sites: &[Site]) -> Vec<u64> {
    let metrics = recording.counters.metrics_of(sites);
    let value = |name: &str| {
        let index = METRICS.iter().position(|metric| metric.name == name);
        match index.map(|index| metrics[index].value) {
            Some(Value::Count(count)) => count,
            _ => 0,
        }
    };
    COLUMNS.iter().map(|(_, names)| names.iter().map(|name| value(name)).sum()).collect()
}

/// A source line as a sort key. The flag is set if there is no line, so that instructions without a line come last.
type LineKey = (bool, Option<(String, u32)>);

fn draw(recording: &Recording) -> Vec<Figure> {
    let mut lines: BTreeMap<LineKey, Vec<Site>> = BTreeMap::new();
    for site in recording.counters.executed() {
        let source = recording.position(site).source;
        lines.entry((source.is_none(), source)).or_default().push(site);
    }
    let text = recording.ptx();
    let line = |((_, source), sites): (LineKey, Vec<Site>)| {
        let mut instructions: BTreeMap<u32, Vec<Site>> = BTreeMap::new();
        for site in &sites {
            instructions.entry(recording.position(*site).ptx_line).or_default().push(*site);
        }
        let ptx = instructions.into_iter().map(|(line, sites)| PtxLine {
            line,
            text: text.line_text(line).trim().to_owned(),
            counts: counts(recording, &sites),
        });
        Line { source, text: String::new(), counts: counts(recording, &sites), ptx: ptx.collect() }
    };
    let lines: Vec<Line> = lines.into_iter().map(line).collect();
    let total = |column: usize| lines.iter().map(|line| line.counts[column]).sum();
    let counts = COLUMNS.iter().enumerate().map(|(column, (name, _))| (*name, total(column))).collect();
    vec![Figure {
        what: SOURCE.name,
        title: "the cost of each line, in all blocks".to_owned(),
        counts,
        listing: Some(Listing { columns: COLUMNS.map(|(name, _)| name).to_vec(), lines }),
        notes: vec![
            "instructions of warps, sectors of global and local memory, wavefronts of shared memory, branches that split a \
             warp"
                .to_owned(),
        ],
        ..Figure::default()
    }]
}
