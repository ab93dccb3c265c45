//! `cargo xtask new rung`: writes a file with a kernel that does nothing yet and its description, and adds its name to
//! its ladder's list.

use super::{Changes, check_name, device, read};
use crate::console::{Failure, Result, nearest, status};
use crate::process::{from_root, root};

const BY_BLOCK: &str = include_str!("../../templates/rung_by_block.rs.tmpl");
const ANY_BLOCK: &str = include_str!("../../templates/rung.rs.tmpl");

/// Writes a rung that comes after another one of the same ladder, with the other's parameters, geometry and blocks.
/// Fails when the name is taken or is not a valid name, when the rung that it should come after does not exist, and
/// when a file cannot be read or written. Nothing is overwritten.
pub(crate) fn new(name: &str, after: &str) -> Result<()> {
    check_name(name)?;
    let sources = root().join("kernels-gpu").join("src");
    let rungs = device::rungs(&sources)?;
    if let Some(taken) = rungs.iter().find(|rung| rung.name == name) {
        let place = from_root(&taken.path);
        return Err(Failure::request(format!("there is a rung `{name}` already, in {place}")));
    }
    let names = || rungs.iter().map(|rung| rung.name.as_str());
    let before = rungs.iter().find(|rung| rung.name == after);
    let before = before.ok_or_else(|| {
        let hint = match nearest(after, names()) {
            Some(near) => format!("did you mean `--after {near}`?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        Failure::request(format!("there is no rung `{after}` to stand behind")).hint(hint)
    })?;
    let ladder = &before.ladder;
    let file = name.strip_prefix(&format!("{ladder}_")).ok_or_else(|| {
        Failure::request(format!("`{name}` does not begin with the name of its ladder"))
            .hint(format!("the rungs behind `{after}` are named {ladder}_…"))
    })?;
    check_name(file)?;
    let text = read(&before.path)?;
    let after_file = before.path.file_stem().unwrap_or_default();
    let after_file = after_file.to_string_lossy();
    let unreadable = |what: &str| {
        let place = from_root(&before.path);
        Failure::new(format!("{what} of `{after}` is not to be found in {place}"))
            .hint("choose another rung to stand behind, and move the new file in the list")
    };
    let signature = device::signature(&text, after).ok_or_else(|| unreadable("the kernel's declaration"))?;
    let list = sources.join(format!("{ladder}.rs"));
    let listed = device::with_file(&read(&list)?, file, &after_file)
        .ok_or_else(|| unreadable("the place in the ladder's list"))?;

    let upper = [name, after].map(str::to_uppercase);
    // What is not there on an older GPU cannot be named there.
    let condition = text.lines().find(|line| line.starts_with("#![cfg("));
    let condition = condition.map_or(String::new(), |line| format!("{line}\n"));
    let parameters = signature.parameters.split(',');
    let names = parameters.filter_map(|parameter| Some(parameter.split_once(':')?.0.trim()));
    let arguments: Vec<&str> = names.collect();
    let (constants, sizes) = signature.blocks.clone().unwrap_or_default();
    let constant_names: Vec<&str> = constants.split(" x ").collect();
    let parameter = |constant: &&str| format!("const {constant}: usize");
    let constant_parameters: Vec<String> = constant_names.iter().map(parameter).collect();
    let values = [
        ("name", name),
        ("NAME", &upper[0]),
        ("after", after),
        ("AFTER", &upper[1]),
        ("after_file", &after_file),
        ("ladder", ladder),
        ("cfg", &condition),
        ("parameters", &signature.parameters),
        ("arguments", &arguments.join(", ")),
        ("constants", &constants),
        ("sizes", &sizes),
        ("constant_names", &constant_names.join(", ")),
        ("constant_parameters", &constant_parameters.join(", ")),
        ("body", file),
    ];
    let template = match signature.blocks {
        Some(_) => BY_BLOCK,
        None => ANY_BLOCK,
    };
    let path = sources.join(ladder).join(format!("{file}.rs"));
    let mut changes = Changes::default();
    changes.create(path.clone(), template, &values)?;
    changes.edit(list, listed);
    changes.write()?;
    let path = from_root(&path);
    let next = format!("fill in {path}, then `cargo xtask check {name}`");
    status("Next", next);
    Ok(())
}
