//! Which benchmarks the command line asks for. Criterion knows, but does not tell before a benchmark runs,
//! and what a benchmark needs takes seconds to make.

use regex::Regex;

/// Options of criterion's command line that are followed by a value.
const WITH_VALUE: &str = "
    -b -c -s --baseline --baseline-lenient --color --colour --confidence-level --format --load-baseline
    --measurement-time --noise-threshold --nresamples --output-format --plotting-backend --profile-time --sample-size
    --save-baseline --significance-level --warm-up-time
";

/// What criterion's command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    chosen: FilterRule,
    is_listing: bool,
}

#[derive(Clone, Debug)]
enum FilterRule {
    All,
    None,
    Matching(Regex),
    Exactly(String),
}

impl Filter {
    /// Reads the arguments, without the program's name, as criterion does.
    pub(crate) fn new(args: impl IntoIterator<Item = String>) -> Self {
        let (mut wanted, mut is_exact, mut is_listing, mut is_ignored) = (None, false, false, false);
        let has_value = |option: &str| WITH_VALUE.split_whitespace().any(|name| name == option);
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--exact" => is_exact = true,
                "--list" => is_listing = true,
                "--ignored" => is_ignored = true,
                option if has_value(option) => drop(args.next()),
                option if option.starts_with('-') => {}
                _ => wanted = Some(arg),
            }
        }
        let chosen = match wanted {
            _ if is_ignored => FilterRule::None,
            None => FilterRule::All,
            Some(wanted) if is_exact => FilterRule::Exactly(wanted),
            // Criterion refuses what is no expression, before anything runs.
            Some(wanted) => Regex::new(&wanted).map_or(FilterRule::None, FilterRule::Matching),
        };
        Self { chosen, is_listing }
    }

    /// Whether a benchmark of a group is to run.
    pub(crate) fn takes(&self, group: &str, function: &str) -> bool {
        let id = format!("{group}/{function}");
        match &self.chosen {
            FilterRule::All => true,
            FilterRule::None => false,
            FilterRule::Matching(expression) => expression.is_match(&id),
            FilterRule::Exactly(wanted) => *wanted == id,
        }
    }

    /// Whether the filter has the name of the CPU's groups, `cpu` or `simt`. On a machine with a GPU, those groups run only
    /// then.
    pub(crate) fn names_cpu(&self) -> bool {
        let text = match &self.chosen {
            FilterRule::All | FilterRule::None => return false,
            FilterRule::Matching(expression) => expression.as_str(),
            FilterRule::Exactly(wanted) => wanted,
        };
        ["cpu", "simt"].iter().any(|name| text.contains(name))
    }

    /// Whether names are all that is asked for.
    pub(crate) fn is_listing(&self) -> bool {
        self.is_listing
    }
}
