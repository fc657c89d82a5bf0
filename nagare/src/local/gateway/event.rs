//! A request as API Gateway passes it to a Lambda: payload format 2.0.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use axum::extract::ConnectInfo;
use http::header::{COOKIE, HOST, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

const DEFAULT_ROUTE: &str = "$default";

/// A request that was let in, and what is known about it.
pub(super) struct Arrival<'a> {
    pub(super) id: Uuid,
    pub(super) now: OffsetDateTime,
    /// What the authorizer verified; `None` where there is no authorizer.
    pub(super) claims: Option<HashMap<String, String>>,
    pub(super) head: &'a Parts,
}

impl Arrival<'_> {
    /// The event, by way of its JSON: see the module's documentation.
    pub(super) fn into_event(
        self,
        routes: &'static [&'static str],
    ) -> Result<ApiGatewayV2httpRequest, serde_json::Error> {
        let Parts { headers, uri, .. } = self.head;
        let matched = matched(self.head, routes);
        let (route, parameters) = matched
            .map_or((DEFAULT_ROUTE.to_owned(), None), |(template, p)| {
                (format!("GET {template}"), Some(p))
            });
        let route = route.as_str();

        serde_json::from_value(json!({
            "version": "2.0",
            "routeKey": route,
            "rawPath": uri.path(),
            "rawQueryString": uri.query().unwrap_or_default(),
            "cookies": cookies(headers),
            "headers": joined_headers(headers),
            "queryStringParameters": query_parameters(uri.query().unwrap_or_default()),
            "pathParameters": parameters,
            "requestContext": self.context(route),
            "isBase64Encoded": false,
        }))
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

/// The route that a request is for, and its path parameters: one segment each, and not an empty one.
fn matched<'h>(
    head: &'h Parts,
    routes: &'static [&'static str],
) -> Option<(&'static str, BTreeMap<&'static str, Cow<'h, str>>)> {
    if head.method != Method::GET {
        return None;
    }
    routes.iter().find_map(|template| Some((*template, parameters(template, head.uri.path())?)))
}

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
