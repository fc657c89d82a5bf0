//! Query parameters.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;

use crate::problem::Problem;

/// The query parameters that mean something to a request, decoded. All others are ignored.
pub struct Parameters<'a> {
    once: HashMap<&'static str, Cow<'a, str>>,
    /// Those that may be given several times, in their order.
    several: Vec<(&'static str, Cow<'a, str>)>,
}

impl<'a> Parameters<'a> {
    /// Those of an event that have one of these names. None of them may be given twice.
    pub fn parse(
        event: &'a ApiGatewayV2httpRequest,
        known: &'static [&'static str],
    ) -> Result<Self, Problem> {
        Self::with_several(event, known, &[])
    }

    /// The same, and those that have one of the names in `several`, which may be given as often as one likes.
    pub fn with_several(
        event: &'a ApiGatewayV2httpRequest,
        known: &'static [&'static str],
        several: &'static [&'static str],
    ) -> Result<Self, Problem> {
        let mut found = Self { once: HashMap::new(), several: Vec::new() };
        let query = event.raw_query_string.as_deref().unwrap_or_default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let named =
                |names: &'static [&'static str]| names.iter().copied().find(|it| *it == name);
            if let Some(name) = named(several) {
                found.several.push((name, value));
            } else if let Some(name) = named(known)
                && found.once.insert(name, value).is_some()
            {
                return Err(Problem::invalid(name, "given twice".to_owned()));
            }
        }
        Ok(found)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.once.get(name).map(AsRef::as_ref)
    }

    /// All values of a parameter that may be given several times.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.several
            .iter()
            .filter(move |(given, _)| *given == name)
            .map(|(_, value)| value.as_ref())
    }

    /// Refuses parameters that `given` carries already.
    pub fn without(&self, given: &str, others: &[&'static str]) -> Result<(), Problem> {
        let is_given = |other: &str| self.get(other).is_some() || self.all(other).next().is_some();
        match others.iter().find(|other| is_given(other)) {
            None => Ok(()),
            Some(other) => {
                let problem = format!("cannot be sent beside `{given}`, which carries it");
                Err(Problem::invalid(other, problem))
            }
        }
    }
}
