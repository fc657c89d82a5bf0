//! The row of an object of an archive.

use super::archive::{ManifestObject, Packed, edition_key, object_key};
use super::{Period, Tally, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Key, Row, number, text};
use crate::platform::values::TenantId;

/// The digits of the digest in the name of an edition.
const EDITION: usize = 16;

/// The attributes of the rows of an object with an edition.
pub(super) const EDITIONS: [&str; 2] = ["edition", "replaced"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedObject {
    pub tenant_id: TenantId,
    pub period: Period,
    pub segment: u32,
    pub chunk: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
    pub tally: Tally,
    /// The name of its edition; the first one has none.
    pub edition: Option<String>,
    /// The edition before it, if there is one. Its object may still exist.
    pub replaced: Option<String>,
}

impl ArchivedObject {
    pub fn new(
        tenant: &TenantId,
        period: Period,
        (segment, chunk): (u32, u32),
        it: &Packed,
    ) -> Self {
        Self {
            tenant_id: tenant.clone(),
            period,
            segment,
            chunk,
            size: it.bytes.len() as u64,
            sha256: it.sha256.clone(),
            tally: it.tally,
            edition: None,
            replaced: None,
        }
    }

    /// The edition of it with this content.
    #[must_use]
    pub fn rewritten(&self, it: &Packed) -> Self {
        let edition = Some(it.sha256.chars().take(EDITION).collect());
        let replaced = Some(self.edition.clone().unwrap_or_default());
        let (size, sha256, tally) = (it.bytes.len() as u64, it.sha256.clone(), it.tally);
        Self { size, sha256, tally, edition, replaced, ..self.clone() }
    }

    pub fn key(&self) -> String {
        self.key_of(self.edition.as_deref().unwrap_or_default())
    }

    /// The key of the edition before it, if there is one.
    pub fn replaced_key(&self) -> Option<String> {
        self.replaced.as_deref().map(|edition| self.key_of(edition))
    }

    fn key_of(&self, edition: &str) -> String {
        let Self { tenant_id, period, segment, chunk, .. } = self;
        match edition {
            "" => object_key(*period, tenant_id, *segment, *chunk),
            edition => edition_key(*period, tenant_id, (*segment, *chunk), edition),
        }
    }

    /// Its entry in a manifest.
    pub fn listed(&self) -> ManifestObject {
        let (bytes, events) = (self.size, self.tally.events);
        ManifestObject { key: self.key(), bytes, sha256: self.sha256.clone(), events }
    }

    pub(super) fn keys(&self) -> [Key; 2] {
        let Self { tenant_id, period, segment, chunk, .. } = self;
        [
            keys::archived_in(period, segment, chunk, tenant_id),
            keys::archived(tenant_id, period, segment, chunk),
        ]
    }

    pub(super) fn attributes(&self) -> Item {
        let mut item = self.tally.attributes();
        for (name, edition) in EDITIONS.into_iter().zip([&self.edition, &self.replaced]) {
            item.extend(edition.as_ref().map(|it| (name.to_owned(), text(it.as_str()))));
        }
        item.insert("size".to_owned(), number(self.size));
        item.insert("sha256".to_owned(), text(self.sha256.as_str()));
        item
    }

    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let named = keys::of_archived(row.text("pk")?, row.text("sk")?);
        let (tenant_id, period, segment, chunk) =
            named.ok_or_else(|| row.corrupt("sk", "the key of an archive object"))?;
        Ok(Self {
            tenant_id,
            period,
            segment,
            chunk,
            size: row.count("size")?,
            sha256: row.text("sha256")?.to_owned(),
            tally: Tally::read(row)?.ok_or_else(|| row.corrupt("sum", "a tally"))?,
            edition: row.optional_text("edition")?.map(ToOwned::to_owned),
            replaced: row.optional_text("replaced")?.map(ToOwned::to_owned),
        })
    }
}
