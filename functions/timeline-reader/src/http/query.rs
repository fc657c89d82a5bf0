//! Query parameters.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;

use super::problem::Problem;

/// The query parameters that mean something to a request, decoded. All others are ignored.
pub(crate) struct Parameters<'a>(HashMap<&'static str, Cow<'a, str>>);

impl<'a> Parameters<'a> {
    /// Those of an event that have one of these names. None of them may be given twice.
    pub(crate) fn of(
        event: &'a ApiGatewayV2httpRequest,
        known: &'static [&'static str],
    ) -> Result<Self, Problem> {
        let mut values = HashMap::new();
        let query = event.raw_query_string.as_deref().unwrap_or_default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(name) = known.iter().copied().find(|known| *known == name) else {
                continue;
            };
            if values.insert(name, value).is_some() {
                return Err(Problem::invalid(name, "given twice".to_owned()));
            }
        }
        Ok(Self(values))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(AsRef::as_ref)
    }

    /// Refuses parameters that `given` carries already.
    pub(crate) fn without(&self, given: &str, others: &[&'static str]) -> Result<(), Problem> {
        match others.iter().find(|other| self.0.contains_key(*other)) {
            None => Ok(()),
            Some(other) => {
                let problem = format!("cannot be sent beside `{given}`, which carries it");
                Err(Problem::invalid(other, problem))
            }
        }
    }
}
