//! Suggestions for unknown names.

/// Returns the hint for an unknown name; `nearest` comes from [`near_names`].
pub fn near(nearest: &[String], otherwise: &str) -> String {
    match nearest {
        [] => otherwise.to_owned(),
        [one] => format!("did you mean `{one}`?"),
        several => format!("did you mean one of {}?", several.join(", ")),
    }
}

/// The maximum number of suggested names.
const SUGGESTED: usize = 3;

/// Returns the names that the user probably meant by `given`, ignoring case. These are the names that contain `given`,
/// or otherwise the names with the smallest edit distance.
pub fn near_names<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let given = given.to_lowercase();
    let mut all: Vec<(bool, usize, &str)> = known
        .into_iter()
        .map(|name| {
            let lower = name.to_lowercase();
            let is_part = given.len() >= 3 && lower.contains(&given);
            (!is_part, strsim::damerau_levenshtein(&given, &lower), name)
        })
        .filter(|&(is_not_part, distance, name)| !is_not_part || distance <= 2 + name.len() / 4)
        .collect();
    all.sort_unstable();
    all.dedup();
    // If no name contains `given`, keep only the nearest names.
    if let Some(&(is_not_part, least, _)) = all.first() {
        all.retain(|&(other, distance, _)| !other || (is_not_part && distance == least));
    }
    let names = all.into_iter().map(|(_, _, name)| name.to_owned());
    names.take(SUGGESTED).collect()
}

/// Returns the hint for an unknown name: the nearest known names, or all of them.
pub fn did_you_mean(given: &str, kind: &str, known: &[&'static str]) -> String {
    let nearest = near_names(given, known.iter().copied());
    near(&nearest, &format!("the {kind} are {}", known.join(", ")))
}

#[cfg(test)]
mod tests;
