//! Paths with parameters in them.

use std::borrow::Cow;
use std::fmt::Display;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use percent_encoding::percent_decode_str;

use crate::problem::Problem;

/// The path for sending events, with `POST`.
pub const EVENTS_ROUTE: &str = "/v1/tenants/{tenant_id}/events";
/// All paths about tenants, whatever the method: those that no function takes are answered by the reader of history.
pub const TENANTS_ROUTE: &str = "/v1/tenants/{proxy+}";

/// The path of a route, with the names of its parameters in braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route(pub &'static str);

/// The path of a request, and the segments in the places of the route's parameters.
#[derive(Debug)]
pub struct Path<'a> {
    event: &'a ApiGatewayV2httpRequest,
    /// By the name of the parameter, still encoded.
    segments: Vec<(&'static str, &'a str)>,
}

impl<'a> Path<'a> {
    /// The path of an event, if it is one of this route.
    pub fn matched(event: &'a ApiGatewayV2httpRequest, route: Route) -> Option<Self> {
        let path = event.raw_path.as_deref().unwrap_or_default();
        // A stage other than the default one is part of the raw path.
        let stage = event.request_context.stage.as_deref().filter(|stage| *stage != "$default");
        let within = stage.and_then(|stage| path.strip_prefix('/')?.strip_prefix(stage));
        let path = within.filter(|rest| rest.starts_with('/')).unwrap_or(path);
        let (mut names, mut found) = (route.0.split('/'), path.split('/'));
        let mut segments = Vec::new();
        loop {
            let (name, segment) = match (names.next(), found.next()) {
                (None, None) => return Some(Self { event, segments }),
                (Some(name), Some(segment)) => (name, segment),
                _ => return None,
            };
            match name.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) if !segment.is_empty() => segments.push((name, segment)),
                None if name == segment => {}
                _ => return None,
            }
        }
    }

    /// Reads a parameter: that of the event where API Gateway has matched the route, else the segment
    /// itself. (API Gateway decodes the former; whether it decodes the raw path it does not say, and
    /// decoding an id twice changes nothing, for no id contains a `%`.)
    ///
    /// # Errors
    /// [`Problem::Invalid`] names the parameter.
    pub fn parameter<T, E: Display>(
        &self,
        name: &'static str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, Problem> {
        let invalid = |problem: String| Problem::invalid(name, problem);
        let segment = self.segments.iter().find(|(parameter, _)| *parameter == name);
        let text = match (self.event.path_parameters.get(name), segment) {
            (Some(text), _) => Cow::from(text),
            (None, Some((_, segment))) => {
                let decoded = percent_decode_str(segment).decode_utf8();
                decoded.map_err(|_| invalid("expected UTF-8".to_owned()))?
            }
            (None, None) => return Err(invalid("missing".to_owned())),
        };
        parse(text.into_owned()).map_err(|e| invalid(e.to_string()))
    }
}
