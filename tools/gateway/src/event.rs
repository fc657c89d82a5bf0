//! A request as API Gateway passes it to a Lambda: payload format 2.0.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use axum::extract::ConnectInfo;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use function_http::TENANTS_ROUTE;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, COOKIE, HOST, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

const DEFAULT_ROUTE: &str = "$default";
/// The routes that are read with `GET`, by reader.
const GETS: [&[&str]; 2] = [timeline_reader::ROUTES, history_reader::ROUTES];
/// Types of text besides those that begin with `text/`.
const TEXTS: [&str; 3] = ["application/json", "application/javascript", "application/xml"];

/// The function behind a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answerer {
    TimelineReader,
    HistoryReader,
    EventIntake,
}

impl Answerer {
    /// The function behind the route of an event.
    pub fn of(event: &ApiGatewayV2httpRequest) -> Self {
        let prefix = TENANTS_ROUTE.split('{').next().unwrap_or_default();
        match event.route_key.as_deref().and_then(|key| key.split_once(' ')) {
            Some(("POST", _)) => Self::EventIntake,
            Some((_, path)) if path.starts_with(prefix) => Self::HistoryReader,
            _ => Self::TimelineReader,
        }
    }
}

/// The route that a request is for, and its path parameters.
pub(super) struct Route<'a> {
    method: &'static str,
    /// `None`: `$default`.
    matched: Option<(&'static str, BTreeMap<&'static str, Cow<'a, str>>)>,
}

impl<'a> Route<'a> {
    /// The route of a request. Some routes are read with `GET`, others are sent to with `POST`, and one takes all other requests
    /// about tenants.
    pub(super) fn of(head: &'a Parts, posts: &'static [&'static str]) -> Self {
        let path = head.uri.path();
        let exact = |routes: &[&'static str]| {
            routes.iter().find_map(|it| Some((*it, parameters(it, path)?)))
        };
        let (method, matched) = match head.method {
            Method::GET => ("GET", GETS.into_iter().find_map(exact)),
            Method::POST => ("POST", exact(posts)),
            _ => ("", None),
        };
        match matched {
            Some(_) => Self { method, matched },
            None => Self { method: "ANY", matched: exact(&[TENANTS_ROUTE]) },
        }
    }

    /// True if the handler gets the body.
    pub(super) fn has_body(&self) -> bool {
        self.matched.is_some() && self.method == "POST"
    }

    fn key(&self) -> String {
        let key = self.matched.as_ref().map(|(template, _)| format!("{} {template}", self.method));
        key.unwrap_or_else(|| DEFAULT_ROUTE.to_owned())
    }
}

/// A request that was let in, and what is known about it.
pub(super) struct Arrival<'a> {
    pub(super) id: Uuid,
    pub(super) now: OffsetDateTime,
    /// What the authorizer verified; `None` where there is no authorizer.
    pub(super) claims: Option<HashMap<String, String>>,
    pub(super) head: &'a Parts,
    /// The body, if it is handed on.
    pub(super) body: Option<&'a [u8]>,
}

impl Arrival<'_> {
    /// The event, by way of its JSON: see the module's documentation. The body is put into it as it is.
    pub(super) fn into_event(
        self,
        route: &Route<'_>,
    ) -> Result<ApiGatewayV2httpRequest, serde_json::Error> {
        let Parts { headers, uri, .. } = self.head;
        let key = route.key();

        let mut event: ApiGatewayV2httpRequest = serde_json::from_value(json!({
            "version": "2.0",
            "routeKey": key,
            "rawPath": uri.path(),
            "rawQueryString": uri.query().unwrap_or_default(),
            "cookies": cookies(headers),
            "headers": joined_headers(headers),
            "queryStringParameters": query_parameters(uri.query().unwrap_or_default()),
            "pathParameters": route.matched.as_ref().map(|(_, parameters)| parameters),
            "requestContext": self.context(&key),
            "isBase64Encoded": false,
        }))?;
        if let Some(bytes) = self.body {
            let text = std::str::from_utf8(bytes).ok().filter(|_| is_text(headers));
            event.is_base64_encoded = text.is_none();
            event.body = Some(text.map_or_else(|| STANDARD.encode(bytes), str::to_owned));
        }
        Ok(event)
    }

    fn context(&self, route: &str) -> Value {
        let Parts { method, uri, version, headers, .. } = self.head;
        let domain = domain(headers);
        json!({
            "accountId": "000000000000",
            "apiId": "local",
            "authorizer": self.claims.as_ref().map(|claims| json!({ "jwt": { "claims": claims } })),
            "domainName": domain,
            "domainPrefix": domain.split('.').next(),
            "http": {
                "method": method.as_str(),
                "path": uri.path(),
                "protocol": format!("{version:?}"),
                "sourceIp": source_ip(self.head).to_string(),
                "userAgent": joined(headers, &USER_AGENT),
            },
            "requestId": self.id.to_string(),
            "routeKey": route,
            "stage": "$default",
            "time": access_log_time(self.now),
            "timeEpoch": self.now.unix_timestamp() * 1000 + i64::from(self.now.millisecond()),
        })
    }
}

/// True if a body is handed on as text: its type says so, and it is not compressed.
fn is_text(headers: &HeaderMap) -> bool {
    let kind = joined(headers, &CONTENT_TYPE);
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = kind.starts_with("text/") || TEXTS.contains(&kind.as_str());
    is_text && !headers.contains_key(CONTENT_ENCODING)
}

/// The segments of a path at the parameters of a template: one for each parameter, and none of them empty. A parameter with a plus
/// takes the rest of the path.
fn parameters<'h>(
    template: &'static str,
    path: &'h str,
) -> Option<BTreeMap<&'static str, Cow<'h, str>>> {
    let (mut names, mut segments) = (template.split('/'), path.split('/'));
    let mut parameters = BTreeMap::new();
    loop {
        let (name, segment) = match (names.next(), segments.next()) {
            (None, None) => return Some(parameters),
            (Some(name), Some(segment)) => (name, segment),
            _ => return None,
        };
        match name.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) if name.ends_with('+') => {
                let rest = [segment].into_iter().chain(segments).collect::<Vec<_>>().join("/");
                let rest = percent_decode_str(&rest).decode_utf8_lossy().into_owned();
                parameters.insert(name.trim_end_matches('+'), Cow::Owned(rest));
                return (!parameters.values().any(|it| it.is_empty())).then_some(parameters);
            }
            Some(name) if !segment.is_empty() => {
                parameters.insert(name, percent_decode_str(segment).decode_utf8_lossy());
            }
            None if name == segment => {}
            _ => return None,
        }
    }
}

/// Decoded like a form (`+` is a space), repeated names joined by commas; `None` if there are none.
fn query_parameters(query: &str) -> Option<BTreeMap<String, String>> {
    let mut parameters = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        parameters
            .entry(name.into_owned())
            .and_modify(|values: &mut String| {
                values.push(',');
                values.push_str(&value);
            })
            .or_insert_with(|| value.to_string());
    }
    (!parameters.is_empty()).then_some(parameters)
}

/// All headers but the cookies, which have a member of their own.
fn joined_headers(headers: &HeaderMap) -> BTreeMap<&str, String> {
    let names = headers.keys().filter(|name| **name != COOKIE);
    names.map(|name| (name.as_str(), joined(headers, name))).collect()
}

fn joined(headers: &HeaderMap, name: &HeaderName) -> String {
    let values = headers.get_all(name).iter();
    let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    values.join(",")
}

fn cookies(headers: &HeaderMap) -> Option<Vec<String>> {
    let values = headers.get_all(COOKIE).iter();
    let lines: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let cookies = lines.iter().flat_map(|line| line.split(';')).map(str::trim);
    let cookies: Vec<_> = cookies.filter(|cookie| !cookie.is_empty()).map(str::to_owned).collect();
    (!cookies.is_empty()).then_some(cookies)
}

fn domain(headers: &HeaderMap) -> String {
    let host = joined(headers, &HOST);
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => &host,
    };
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

fn source_ip(head: &Parts) -> IpAddr {
    let peer = head.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |ConnectInfo(address)| address.ip())
}

/// For example `12/Mar/2020:19:03:58 +0000`.
fn access_log_time(now: OffsetDateTime) -> String {
    let now = now.to_offset(time::UtcOffset::UTC);
    let (hour, minute, second) = now.to_hms();
    let (day, month, year) = (now.day(), now.month().to_string(), now.year());
    let month: String = month.chars().take(3).collect();
    format!("{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000")
}
