//! `cargo xtask new project`: writes a project of kernels outside this repository, which uses this checkout's crates.
//!
//! The project's files refer to the crates by relative paths in the project's folder `ladder`. Locally, that folder is
//! a link to this checkout; the CI file clones Ladder there. As a result, no published file contains a local path.

use std::path::{Path, absolute};
use std::process::Command;

use super::{Changes, read};
use crate::console::{Failure, Result, status};
use crate::process::{output, root};

/// The files of a project, each with its template.
const FILES: [(&str, &str); 11] = [
    ("Cargo.toml", include_str!("../../templates/project/Cargo.toml")),
    ("rust-toolchain.toml", include_str!("../../templates/project/rust-toolchain.toml")),
    ("rust-cuda.toml", include_str!("../../templates/project/rust-cuda.toml")),
    ("README.md", include_str!("../../templates/project/README.md")),
    (".gitignore", include_str!("../../templates/project/gitignore")),
    (".github/workflows/test.yml", include_str!("../../templates/project/ci.yml")),
    ("kernels/Cargo.toml", include_str!("../../templates/project/kernels.toml")),
    ("kernels/src/lib.rs", include_str!("../../templates/project/kernels.rs.tmpl")),
    ("host/Cargo.toml", include_str!("../../templates/project/host.toml")),
    ("host/build.rs", include_str!("../../templates/project/build.rs.tmpl")),
    ("host/src/main.rs", include_str!("../../templates/project/main.rs.tmpl")),
];

/// Writes a project into a folder that is empty or does not exist. The project has the folder's name.
pub(crate) fn new(folder: &str) -> Result<()> {
    let folder = absolute(folder).map_err(|error| Failure::file("find", Path::new(folder), &error))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !is_name {
        return Err(Failure::request(format!("`{name}` is not a name for a project"))
            .help("the project has the folder's name: use letters, digits, `-` and `_`, with a letter first"));
    }
    match folder.read_dir().map(|mut entries| entries.next().is_some()) {
        Ok(true) => {
            return Err(Failure::request(format!("{} is not empty", folder.display()))
                .help("choose a folder that does not exist; nothing was written"));
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::file("read", &folder, &error));
        }
        _ => {}
    }
    let ours = |file: &str, key: &str| -> Result<String> {
        let text = read(&root().join(file))?;
        let value = text.split_once(&format!("{key} = \"")).and_then(|(_, rest)| rest.split('"').next());
        Ok(value.unwrap_or_default().to_owned())
    };
    let (channel, upstream) = (ours("rust-toolchain.toml", "channel")?, ours("rust-cuda.toml", "rev")?);
    let git = |arguments: &[&str]| {
        let text = output(Command::new("git").arg("-C").arg(root()).args(arguments)).unwrap_or_default();
        text.trim().to_owned()
    };
    let commit = git(&["rev-parse", "HEAD"]);
    let url = clone_url(&git(&["remote", "get-url", "origin"]));
    let shown_url = match &url {
        Some(url) => format!("{url:?}"),
        None => "\"\" # FILL IN: a URL from which Ladder can be cloned".to_owned(),
    };
    let values = [
        ("name", &*name),
        ("channel", &channel),
        ("upstream", &upstream),
        ("ladder_commit", &commit),
        ("ladder_url", &shown_url),
    ];
    let mut changes = Changes::default();
    for (file, template) in FILES {
        changes.create(folder.join(file), template, &values)?;
    }
    changes.write()?;
    let link = folder.join("ladder");
    link_folder(&root(), &link).map_err(|error| {
        Failure::file("create the link", &link, &error).help(format!("create a link to {} by hand", root().display()))
    })?;
    status("Linked", link.display());
    if url.is_none() {
        let file = ".github/workflows/test.yml";
        status(
            "Note",
            format_args!("this checkout has no remote `origin` with a public URL: fill in LADDER_URL in {file}"),
        );
    } else if git(&["branch", "--remotes", "--contains", &commit]).is_empty() {
        status("Note", format_args!("the CI file checks out Ladder's commit {commit}: push it first"));
    }
    status("Next", format_args!("cd {} && cargo test", folder.display()));
    Ok(())
}

/// Returns the URL from which anyone can clone a repository with this remote: `https` in place of `ssh`, and without a user
/// or a password. Returns `None` for a folder of this machine, and for a port that only `ssh` uses.
fn clone_url(remote: &str) -> Option<String> {
    let (scheme, rest) = match remote.split_once("://") {
        Some(("ssh", rest)) => {
            let (host, path) = rest.split_once('/')?;
            (!host.contains(':')).then_some(("https", format!("{host}/{path}")))?
        }
        Some((scheme @ ("https" | "http"), rest)) => (scheme, rest.to_owned()),
        Some(_) => return None,
        None => {
            // `user@host:path`. A Windows path has one letter before its colon.
            let (host, path) = remote.split_once(':').filter(|(host, _)| host.len() > 1 && !host.contains('/'))?;
            ("https", format!("{host}/{}", path.trim_start_matches('/')))
        }
    };
    let (host, path) = rest.split_once('/')?;
    let host = host.rsplit('@').next().unwrap_or(host);
    Some(format!("{scheme}://{host}/{path}"))
}

#[cfg(unix)]
fn link_folder(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Creates a junction, because a symbolic link needs a privilege on Windows.
#[cfg(windows)]
fn link_folder(target: &Path, link: &Path) -> std::io::Result<()> {
    let made = Command::new("cmd").args(["/C", "mklink", "/J"]).args([link, target]).output()?;
    match made.status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::clone_url;

    #[test]
    fn clone_urls_need_no_credentials() {
        for (remote, expected) in [
            ("https://example.org/a/ladder.git", Some("https://example.org/a/ladder.git")),
            ("https://me:token@example.org:8443/ladder", Some("https://example.org:8443/ladder")),
            ("git@example.org:a/ladder.git", Some("https://example.org/a/ladder.git")),
            ("ssh://git@example.org/a/ladder.git", Some("https://example.org/a/ladder.git")),
            ("ssh://git@example.org:2222/a/ladder.git", None),
            ("file:///home/me/ladder", None),
            ("/home/me/ladder", None),
            ("../ladder", None),
            ("C:\\ladder", None),
            ("", None),
        ] {
            assert_eq!(clone_url(remote).as_deref(), expected, "{remote}");
        }
    }
}
