//! Finds `ncu`.

use std::path::{Path, PathBuf};

use toolkit::Tool;

use crate::profile::error::ProfileError;

/// The path of `ncu`: the file that was named, or else the one that [`toolkit::find`] finds.
///
/// # Errors
/// [`ProfileError::Start`] when the named file does not exist, [`ProfileError::NoNcu`] when none is found.
pub fn find(named: Option<&Path>) -> Result<PathBuf, ProfileError> {
    match named {
        Some(named) if named.is_file() => Ok(named.to_owned()),
        Some(named) => Err(ProfileError::Start {
            program: named.display().to_string(),
            why: "there is no such file".to_owned(),
        }),
        None => Ok(toolkit::find(Tool::Ncu)?.path),
    }
}
