//! Names that are none, and what they were meant to be.

/// The name among `known` that `given` was most likely meant to be, if any is near.
pub fn nearest(given: &str, known: &[&'static str]) -> Option<&'static str> {
    known
        .iter()
        .map(|&name| (strsim::damerau_levenshtein(given, name), name))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, name)| distance <= 2 + name.len() / 4)
        .map(|(_, name)| name)
}

/// The hint for a name that is none, from [`near_names`].
pub fn near(nearest: &[String], otherwise: &str) -> String {
    match nearest {
        [] => otherwise.to_owned(),
        [one] => format!("did you mean `{one}`?"),
        several => format!("did you mean one of {}?", several.join(", ")),
    }
}

/// How many names are suggested.
const SUGGESTED: usize = 3;

/// The names that `given` was most likely meant to be: those it is part of, or else those the fewest letters away.
pub fn near_names<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<(bool, usize, &str)> = known
        .map(|name| {
            let is_part = given.len() >= 3 && name.contains(given);
            (!is_part, strsim::damerau_levenshtein(given, name), name)
        })
        .filter(|&(no_part, distance, name)| !no_part || distance <= 2 + name.len() / 4)
        .collect();
    all.sort_unstable();
    all.dedup();
    // Of those that it is no part of, the nearest.
    if let Some(&(no_part, least, _)) = all.first() {
        all.retain(|&(other, distance, _)| !other || (no_part && distance == least));
    }
    let names = all.into_iter().map(|(_, _, name)| name.to_owned());
    names.take(SUGGESTED).collect()
}

/// The hint for a name that is none, from [`nearest`].
pub fn did_you_mean(nearest: &Option<&'static str>, kind: &str, known: &[&'static str]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("the {kind} are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_suggested_by_part_and_by_letters() {
        let known = ["dram__bytes_read.sum", "dram__bytes_write.sum", "reduce"];
        let near = |given| near_names(given, known.into_iter());
        assert_eq!(near("bytes_read"), ["dram__bytes_read.sum"]);
        assert_eq!(
            near("dram__bytes"),
            ["dram__bytes_read.sum", "dram__bytes_write.sum"]
        );
        assert_eq!(near("redcue"), ["reduce"]);
        assert!(near("quicksort").is_empty());
        assert!(near("").is_empty());
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["reduce", "transpose"];
        assert_eq!(nearest("redcue", &known), Some("reduce"));
        assert_eq!(nearest("transpos", &known), Some("transpose"));
        assert_eq!(nearest("quicksort", &known), None);
    }
}
