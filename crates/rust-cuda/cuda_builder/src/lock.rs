//! Determines from a workspace's `Cargo.lock` which `cuda_std` a crate was built with.

use std::path::Path;

/// Returns a description of the versions of `cuda_std` if there are several, or if the only one comes from the
/// registry. With these versions, a device build fails with errors that do not name the cause.
pub(crate) fn unusable_cuda_std(krate: &Path) -> Option<String> {
    let krate = krate.canonicalize().ok()?;
    let lock = krate.ancestors().find_map(|folder| std::fs::read_to_string(folder.join("Cargo.lock")).ok())?;
    unusable(&lock)
}

fn unusable(lock: &str) -> Option<String> {
    let field = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        line.map(|value| value.trim_end_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").filter(|package| field(package, "name").as_deref() == Some("cuda_std"));
    let found: Vec<(String, bool)> = packages
        .map(|package| {
            let from_registry = field(package, "source").is_some_and(|source| source.starts_with("registry+"));
            (field(package, "version").unwrap_or_default(), from_registry)
        })
        .collect();
    let is_usable = found.len() < 2 && found.iter().all(|(_, from_registry)| !from_registry);
    let words = found.iter().map(|(version, from_registry)| match from_registry {
        true => format!("cuda_std {version} from the registry"),
        false => format!("cuda_std {version}"),
    });
    (!is_usable).then(|| words.collect::<Vec<_>>().join(" and "))
}

#[cfg(test)]
mod tests;
