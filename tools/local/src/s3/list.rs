//! Pages of keys (`ListObjectsV2`).

use std::fmt::Write;

use http::StatusCode;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::BUCKET;
use super::answer::{Refusal, text, xml};
use super::store::{About, ObjectStore};

/// Keys and prefixes on a page, at most.
const MOST: usize = 1_000;
/// Keys that are looked at together.
const AT_ONCE: usize = 1_000;
/// What is escaped where a client asks for that. Slashes are not.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*').remove(b'/');

/// What is asked for.
#[derive(Debug, Default)]
pub(super) struct ListQuery {
    prefix: String,
    delimiter: String,
    /// Keys behind this one.
    after: String,
    most: usize,
    escapes: bool,
}

#[derive(Debug, Default)]
struct Page {
    objects: Vec<(String, About)>,
    prefixes: Vec<String>,
    /// The last key that was looked at, if there are more.
    next: Option<String>,
}

impl ListQuery {
    /// What a query asks for.
    pub(super) fn parse(query: &[(String, String)]) -> Result<Self, Refusal> {
        let mut asked = Self { most: MOST, ..Self::default() };
        let mut continued = None;
        for (name, value) in query {
            match name.as_str() {
                "prefix" => asked.prefix.clone_from(value),
                "delimiter" => asked.delimiter.clone_from(value),
                "start-after" => asked.after.clone_from(value),
                "continuation-token" => continued = Some(value.clone()),
                "max-keys" => {
                    let most = value.parse::<usize>();
                    let most = most.map_err(|_| Refusal::invalid("max-keys has to be a number"))?;
                    asked.most = most.min(MOST);
                }
                "encoding-type" => asked.escapes = value == "url",
                _ => {}
            }
        }
        // A token is the last key that was looked at.
        if let Some(after) = continued {
            asked.after = after;
        }
        Ok(asked)
    }

    /// The page.
    pub(super) fn answer(&self, store: &ObjectStore) -> http::Response<axum::body::Bytes> {
        let page = self.page(store);
        let shown = |name: &str| match self.escapes {
            true => utf8_percent_encode(name, ESCAPED).to_string(),
            false => text(name),
        };
        let mut body = format!(
            "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>{BUCKET}</Name><Prefix>{}</Prefix>\
             <KeyCount>{}</KeyCount><MaxKeys>{}</MaxKeys><IsTruncated>{}</IsTruncated>",
            shown(&self.prefix),
            page.objects.len() + page.prefixes.len(),
            self.most,
            page.next.is_some(),
        );
        // Writing to a string does not fail.
        if !self.delimiter.is_empty() {
            let _ = write!(body, "<Delimiter>{}</Delimiter>", shown(&self.delimiter));
        }
        if self.escapes {
            body.push_str("<EncodingType>url</EncodingType>");
        }
        if let Some(next) = &page.next {
            let _ = write!(body, "<NextContinuationToken>{}</NextContinuationToken>", text(next));
        }
        for (key, About { length, etag, modified }) in &page.objects {
            let _ = write!(
                body,
                "<Contents><Key>{}</Key><LastModified>{modified}</LastModified><ETag>&quot;{etag}&quot;</ETag>\
                 <Size>{length}</Size><StorageClass>STANDARD</StorageClass></Contents>",
                shown(key),
            );
        }
        for prefix in &page.prefixes {
            let prefix = shown(prefix);
            let _ = write!(body, "<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>");
        }
        body.push_str("</ListBucketResult>");
        xml(StatusCode::OK, &body)
    }

    fn page(&self, store: &ObjectStore) -> Page {
        let mut page = Page::default();
        let mut after = self.after.clone();
        // A key is behind everything that it begins with.
        if after < self.prefix {
            after.clone_from(&self.prefix);
            page.take(self, store, &self.prefix);
        }
        loop {
            let some = store.behind(&after, AT_ONCE);
            let Some((last, _)) = some.last() else { return page };
            let last = last.clone();
            for (key, about) in some {
                if !key.starts_with(&self.prefix) {
                    return page;
                }
                if !page.add(self, key, about) {
                    return page;
                }
            }
            after = last;
        }
    }
}

impl Page {
    /// The object whose key is the prefix itself.
    fn take(&mut self, asked: &ListQuery, store: &ObjectStore, key: &str) {
        if let Some(about) = store.about(key) {
            self.add(asked, key.to_owned(), about);
        }
    }

    /// Adds a key, or what it has in common with others. False if the page is full.
    fn add(&mut self, asked: &ListQuery, key: String, about: About) -> bool {
        let end = match asked.delimiter.is_empty() {
            true => None,
            false => key[asked.prefix.len()..].find(&asked.delimiter),
        };
        let common = end.map(|end| &key[..asked.prefix.len() + end + asked.delimiter.len()]);
        if let Some(common) = common {
            let is_shown = self.prefixes.last().is_some_and(|last| last == common);
            if is_shown || asked.after.starts_with(common) {
                return true;
            }
        }
        let is_full = self.objects.len() + self.prefixes.len() >= asked.most;
        if is_full {
            self.next = Some(self.last().unwrap_or_else(|| asked.after.clone()));
            return false;
        }
        match common {
            Some(common) => self.prefixes.push(common.to_owned()),
            None => self.objects.push((key, about)),
        }
        true
    }

    /// The greater of the last key and the last prefix: both come in their order.
    fn last(&self) -> Option<String> {
        let key = self.objects.last().map(|(key, _)| key);
        key.max(self.prefixes.last()).cloned()
    }
}
