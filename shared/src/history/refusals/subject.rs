//! The person or tenant that a refused command is about.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::platform::crypto::hash::hex;
use crate::platform::message::LogIds;
use crate::platform::values::TenantId;

/// Hexadecimal digits of a subject's digest. Two subjects with the same ones would share their letters.
const DIGITS: usize = 32;

/// The members with the subject of a command, the first one that is present, and the kind of each.
const MEMBERS: [(&str, &str); 6] = [
    ("tenant_id", "tenant"),
    ("viewer_id", "viewer"),
    ("follower_id", "viewer"),
    ("author_id", "viewer"),
    ("tagged_id", "viewer"),
    ("actor_id", "actor"),
];

/// The viewer, actor or tenant of a refused command. All bodies that name none have one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSubject {
    digest: String,
    is_named: bool,
}

impl RefusedSubject {
    pub fn of_command(ids: &LogIds) -> Self {
        let of = |member: &str| ids.get(member).map(ToOwned::to_owned);
        Self::of_members(of).unwrap_or_else(Self::nobody)
    }

    pub fn of_tenant(tenant: &TenantId) -> Self {
        Self { digest: digest("tenant", tenant.as_str()), is_named: true }
    }

    /// The subject of a body that is not a command, as far as it can be read. A malformed id is a subject too.
    pub fn of_body(body: &str) -> Self {
        let members = members_of(body);
        // Several events are about the tenant of the first.
        let of_event = || {
            let events: Vec<&RawValue> = serde_json::from_str(members.get("events")?.get()).ok()?;
            Self::of_object(&members_of(events.first()?.get()))
        };
        Self::of_object(&members).or_else(of_event).unwrap_or_else(Self::nobody)
    }

    /// True if the command names a viewer, an actor or a tenant.
    pub fn is_named(&self) -> bool {
        self.is_named
    }

    /// Names it without saying who it is.
    pub fn digest(&self) -> &String {
        &self.digest
    }

    fn of_object(members: &BTreeMap<String, &RawValue>) -> Option<Self> {
        Self::of_members(|member| {
            let value = members.get(member)?.get();
            Some(serde_json::from_str(value).unwrap_or_else(|_| value.to_owned()))
        })
    }

    fn of_members(of: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let (kind, id) = MEMBERS.iter().find_map(|(member, kind)| Some((kind, of(member)?)))?;
        Some(Self { digest: digest(kind, &id), is_named: true })
    }

    fn nobody() -> Self {
        Self { digest: digest("nobody", ""), is_named: false }
    }
}

/// The members of an object; none if it is something else.
fn members_of(text: &str) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(text).unwrap_or_else(|_| BTreeMap::new())
}

fn digest(kind: &str, text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("{kind}#{text}").as_bytes());
    let mut digits = hex(digest.as_ref());
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_the_same_however_it_is_written() {
        let bob = |body| RefusedSubject::of_body(body);
        let ids = LogIds { viewer_id: Some("bob".to_owned()), ..LogIds::default() };
        let expected = RefusedSubject::of_command(&ids);
        for body in [
            r#"{"viewer_id":"bob"}"#,
            r#"{"type":"like.created","viewer_id":"\u0062ob","actor_id":"anna","x":[1]}"#,
            r#"{"follower_id":"bob","followee_id":"anna"}"#,
        ] {
            assert_eq!(bob(body), expected, "{body}");
        }
        for body in [r#"{"actor_id":"bob"}"#, r#"{"tenant_id":"bob","viewer_id":"bob"}"#, "bob"] {
            assert_ne!(bob(body), expected, "{body}");
        }
        assert!(bob(r#"{"viewer_id":7}"#).is_named(), "a malformed id");
        let events = r#"{"type":"events.recorded","events":[{"tenant_id":"bob","name":7},{"tenant_id":"eve"}]}"#;
        assert_eq!(
            RefusedSubject::of_body(events),
            RefusedSubject::of_body(r#"{"tenant_id":"bob"}"#)
        );
        for body in ["", "not json", "[]", r#"{"poll_id":"mvp"}"#] {
            assert!(!bob(body).is_named(), "{body}");
            assert_eq!(bob(body), bob("other"), "{body}");
        }
    }
}
