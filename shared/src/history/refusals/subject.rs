//! The person or tenant that a refused command is about.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::platform::crypto::hash::hex;
use crate::platform::message::Subject;
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

/// The viewer, actor or tenant of a refused command. A body that names none is its own subject, so equal bodies have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSubject {
    digest: String,
    is_named: bool,
}

impl RefusedSubject {
    /// The subject of a command.
    #[must_use]
    pub fn of_command(ids: &Subject, body: &str) -> Self {
        let of = |member: &str| match member {
            "tenant_id" => ids.tenant_id.clone(),
            "viewer_id" => ids.viewer_id.clone(),
            "follower_id" => ids.follower_id.clone(),
            "author_id" => ids.author_id.clone(),
            "tagged_id" => ids.tagged_id.clone(),
            "actor_id" => ids.actor_id.clone(),
            _ => None,
        };
        Self::of_members(of).unwrap_or_else(|| Self::of_text(body))
    }

    /// A tenant.
    #[must_use]
    pub fn of_tenant(tenant: &TenantId) -> Self {
        Self { digest: digest("tenant", tenant.as_str()), is_named: true }
    }

    /// The subject of a body that is not a command, as far as it can be read. A malformed id is a subject too.
    #[must_use]
    pub fn of_body(body: &str) -> Self {
        let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(body);
        let members = members.unwrap_or_else(|_| BTreeMap::new());
        let of = |member: &str| {
            let value = members.get(member)?.get();
            Some(serde_json::from_str(value).unwrap_or_else(|_| value.to_owned()))
        };
        let of_event = || tenant_of_first(members.get("events")?);
        Self::of_members(of).or_else(of_event).unwrap_or_else(|| Self::of_text(body))
    }

    /// True if the command names a viewer, an actor or a tenant.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.is_named
    }

    pub(super) fn digest(&self) -> &String {
        &self.digest
    }

    fn of_members(of: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let (kind, id) = MEMBERS.iter().find_map(|(member, kind)| Some((kind, of(member)?)))?;
        Some(Self { digest: digest(kind, &id), is_named: true })
    }

    fn of_text(body: &str) -> Self {
        Self { digest: digest("body", body), is_named: false }
    }
}

/// The tenant that the first of several events names.
fn tenant_of_first(events: &RawValue) -> Option<RefusedSubject> {
    #[derive(Deserialize)]
    struct Event {
        tenant_id: TenantId,
    }
    let events: Vec<&RawValue> = serde_json::from_str(events.get()).ok()?;
    let Event { tenant_id } = serde_json::from_str(events.first()?.get()).ok()?;
    Some(RefusedSubject::of_tenant(&tenant_id))
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
        let ids = Subject { viewer_id: Some("bob".to_owned()), ..Subject::default() };
        let expected = RefusedSubject::of_command(&ids, "a body");
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
            assert_eq!(bob(body), bob(body));
            assert_ne!(bob(body), bob("other"));
        }
    }
}
