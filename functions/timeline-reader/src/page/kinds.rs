//! Which kinds of activities are asked for: `kind`, which may be given several times, and which a cursor carries.

use std::collections::BTreeSet;

use shared::activities::Published;
use shared::paging::MAX_FILTER_BYTES;
use shared::values::Kind;

use crate::http::problem::Problem;
use crate::http::query::Parameters;

/// Kinds that may be asked for at once: each may be a list of its own.
const MOST_KINDS: usize = 10;

/// Kinds; all of them, if there are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Kinds(BTreeSet<Kind>);

impl Kinds {
    /// The name of the parameter.
    pub(crate) const NAME: &'static str = "kind";

    /// Those that are asked for.
    pub(crate) fn parse(parameters: &Parameters<'_>) -> Result<Self, Problem> {
        let kinds = parameters.all(Self::NAME).map(Kind::new).collect::<Result<_, _>>();
        kinds.map(Self).map_err(|e| Problem::invalid(Self::NAME, e.to_string()))
    }

    /// As a cursor carries them. No kind contains a comma.
    pub(crate) fn write(&self) -> Result<Vec<u8>, Problem> {
        let text = self.0.iter().map(Kind::as_str).collect::<Vec<_>>().join(",");
        if self.0.len() > MOST_KINDS || text.len() > MAX_FILTER_BYTES {
            let most = format!(
                "expected at most {MOST_KINDS} kinds, of {MAX_FILTER_BYTES} characters together with a comma between them"
            );
            return Err(Problem::invalid(Self::NAME, most));
        }
        Ok(text.into_bytes())
    }

    /// Those that a cursor carries.
    pub(crate) fn read(filter: &[u8]) -> Self {
        let texts = filter.split(|byte| *byte == b',').map(String::from_utf8_lossy);
        Self(texts.filter_map(|text| Kind::new(text).ok()).collect())
    }

    /// True if activities of every kind are shown.
    pub(crate) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Kind> {
        self.0.iter()
    }

    /// Whether an activity that says this is shown.
    pub(crate) fn shows(&self, published: &Published) -> bool {
        self.is_all() || self.0.contains(&published.kind)
    }
}
