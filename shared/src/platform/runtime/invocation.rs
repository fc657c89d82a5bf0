//! The invocation that something is logged in, by the ids that Lambda and X-Ray have for it.
//!
//! They stand in every line that a function logs while it works on an event, under the names that Powertools for AWS
//! Lambda gives them. A task knows its invocation; nothing that logs has to be told.

use std::fmt;

use tokio::task_local;

/// The name of Lambda's id of an invocation.
pub const FUNCTION_REQUEST_ID: &str = "function_request_id";
/// The name of X-Ray's id of the trace that it is part of.
pub const XRAY_TRACE_ID: &str = "xray_trace_id";
/// The most characters of an id of Lambda's: a UUID.
const LONGEST_ID: usize = 64;

task_local! {
    static CURRENT: Invocation;
}

/// One invocation of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    request_id: Option<String>,
    trace_id: Option<String>,
}

impl Invocation {
    /// The invocation with this id, and with the header that Lambda hands over for X-Ray, if it does. What has not the form
    /// of an id is left out: lines carry nothing that a sender is free to write.
    pub fn new(request_id: &str, trace_header: Option<&str>) -> Self {
        let request_id = Some(request_id).filter(|id| is_id(id)).map(ToOwned::to_owned);
        let trace_id = trace_header.and_then(root).map(ToOwned::to_owned);
        Self { request_id, trace_id }
    }

    pub async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// The names and values of the ids of the invocation that this task works within; none outside of any.
    pub fn each_id(mut tell: impl FnMut(&'static str, &str)) {
        let _ = CURRENT.try_with(|Self { request_id, trace_id }| {
            let ids = [(FUNCTION_REQUEST_ID, request_id), (XRAY_TRACE_ID, trace_id)];
            ids.into_iter().for_each(|(name, id)| {
                if let Some(id) = id {
                    tell(name, id);
                }
            });
        });
    }

    /// Writes the ids after the members of an object in JSON that is still open.
    pub(super) fn write_members(to: &mut impl fmt::Write) -> fmt::Result {
        // Ids have no character that JSON escapes.
        Self::write(to, |to, name, id| write!(to, ",\"{name}\":\"{id}\""))
    }

    /// Writes the ids after a line for people.
    pub(super) fn write_words(to: &mut impl fmt::Write) -> fmt::Result {
        Self::write(to, |to, name, id| write!(to, " {name}={id}"))
    }

    fn write<W: fmt::Write>(
        to: &mut W,
        one: impl Fn(&mut W, &'static str, &str) -> fmt::Result,
    ) -> fmt::Result {
        let mut result = Ok(());
        Self::each_id(|name, id| result = result.and_then(|()| one(to, name, id)));
        result
    }
}

fn is_id(text: &str) -> bool {
    let character = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(character)
}

/// The id of the trace in `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=…;Sampled=0`.
fn root(header: &str) -> Option<&str> {
    let root = part(header, "Root=")?;
    let (seconds, random) = root.strip_prefix("1-")?.split_once('-')?;
    (is_hex(seconds, 8) && is_hex(random, 24)).then_some(root)
}

fn part<'h>(header: &'h str, name: &str) -> Option<&'h str> {
    header.split(';').find_map(|part| part.trim().strip_prefix(name))
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "1-5759e988-bd862e3fe1be46a994272793";

    fn ids() -> Vec<(&'static str, String)> {
        let mut ids = Vec::new();
        Invocation::each_id(|name, id| ids.push((name, id.to_owned())));
        ids
    }

    #[tokio::test]
    async fn work_knows_the_invocation_that_it_is_part_of() {
        let header = format!("Root={TRACE};Parent=557abcec3ee5a047;Sampled=0");
        let one = Invocation::new("id-1", Some(&header));
        let other = Invocation::new("id-2", None);
        let work = async {
            tokio::task::yield_now().await;
            ids()
        };
        let (one, other) = tokio::join!(one.scope(work), other.scope(async { ids() }));
        let id = |id: &str| (FUNCTION_REQUEST_ID, id.to_owned());
        assert_eq!(one, [id("id-1"), (XRAY_TRACE_ID, TRACE.to_owned())]);
        assert_eq!(other, [id("id-2")]);
        assert_eq!(ids(), []);
    }

    #[test]
    fn what_is_no_id_is_left_out() {
        for (request_id, header) in [
            ("", ""),
            ("a\"b", "Root=canary"),
            (&"x".repeat(65), "Parent=557abcec3ee5a047"),
            ("é", "Root=1-5759e988-bd862e3fe1be46a99427279"),
            ("a b", "Root=1-5759e988-bd862e3fe1be46a99427279x"),
        ] {
            let none = Invocation { request_id: None, trace_id: None };
            assert_eq!(Invocation::new(request_id, Some(header)), none, "{request_id} {header}");
        }
    }
}
