//! Which events are asked for: `name`, which may be given several times, and which a cursor carries.

use std::collections::BTreeSet;

use shared::paging::MAX_FILTER_BYTES;
use shared::values::EventName;

use crate::http::problem::Problem;
use crate::http::query::Parameters;

/// Names that may be asked for at once.
const MOST_NAMES: usize = 10;

/// Names; all of them, if there are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Names(BTreeSet<EventName>);

impl Names {
    /// The name of the parameter.
    pub(super) const PARAMETER: &'static str = "name";

    /// Those that are asked for.
    pub(super) fn parse(parameters: &Parameters<'_>) -> Result<Self, Problem> {
        let names = parameters.all(Self::PARAMETER).map(EventName::new).collect::<Result<_, _>>();
        names.map(Self).map_err(|e| Problem::invalid(Self::PARAMETER, e.to_string()))
    }

    /// As a cursor carries them. No name contains a comma.
    pub(super) fn write(&self) -> Result<Vec<u8>, Problem> {
        let text = self.0.iter().map(EventName::as_str).collect::<Vec<_>>().join(",");
        if self.0.len() > MOST_NAMES || text.len() > MAX_FILTER_BYTES {
            let most = format!(
                "expected at most {MOST_NAMES} names, of {MAX_FILTER_BYTES} characters together with a comma between them"
            );
            return Err(Problem::invalid(Self::PARAMETER, most));
        }
        Ok(text.into_bytes())
    }

    /// Those that a cursor carries.
    pub(super) fn read(filter: &[u8]) -> Self {
        let texts = filter.split(|byte| *byte == b',').map(String::from_utf8_lossy);
        Self(texts.filter_map(|text| EventName::new(text).ok()).collect())
    }

    /// Whether events of a name are shown.
    pub(super) fn show(&self, name: &EventName) -> bool {
        self.0.is_empty() || self.0.contains(name)
    }
}
