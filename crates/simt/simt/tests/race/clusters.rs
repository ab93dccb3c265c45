//! Shared memory of the blocks of a cluster, and the cluster's barrier.

use simt_check::Finding;

use super::findings_in_clusters;

/// Each of two blocks writes its tile and reads the other block's tile.
fn exchange(sync: &str) -> Vec<Finding> {
    let body = format!(
        "st.shared.u32 [%slot], %tid;\n{sync}\nmov.u32 %r0, %cluster_ctarank;\nxor.b32 %r0, %r0, 1;\n\
         mapa.shared::cluster.u64 %a0, %slot, %r0;\nld.shared::cluster.u32 %r1, [%a0];\n\
         barrier.cluster.arrive;\nbarrier.cluster.wait;"
    );
    findings_in_clusters(&body, 4, 64, 2)
}

#[test]
fn cluster_barriers_order_accesses() {
    assert_eq!(exchange("barrier.cluster.arrive;\nbarrier.cluster.wait;"), []);
    assert_eq!(exchange("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;"), []);
    // A fence that releases the writes suffices.
    assert_eq!(exchange("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;"), []);
    for sync in ["", "bar.sync 0;", "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;"] {
        let findings = exchange(sync);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].what.contains("by another block of the cluster"), "{findings:?}");
        assert_ne!(findings[0].block, findings[0].other.as_ref().unwrap().block);
    }
}

#[test]
fn a_scope_reaches_the_cluster() {
    let add = |scope: &str, cluster| {
        let body = format!("atom.relaxed{scope}.global.add.u32 %r0, [%out], 1;");
        findings_in_clusters(&body, cluster, 32, cluster).len()
    };
    assert_eq!((add(".cluster", 2), add(".cta", 2)), (0, 1));
    let body = "atom.relaxed.cluster.global.add.u32 %r0, [%out], 1;";
    assert_eq!(findings_in_clusters(body, 4, 32, 2).len(), 1);
}
