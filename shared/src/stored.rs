//! All kinds of [stored items](crate::platform::stored), as their features declare them.

use crate::history::{events, refusals, summaries, tenants};
use crate::platform::stored::{Stored, StoredIn};
use crate::platform::{dead_letters, paging, projection, receipts};
use crate::social::{
    activities, battles, fanout, follows, likes, notifications, polls, profiles, rooms, tags,
    timelines,
};

const FEATURES: &[&[Option<Stored>]] = &[
    activities::keys::STORED,
    activities::owner::STORED,
    follows::keys::STORED,
    timelines::entry::STORED,
    fanout::keys::STORED,
    likes::keys::STORED,
    notifications::keys::STORED,
    polls::keys::STORED,
    battles::keys::STORED,
    tags::keys::STORED,
    rooms::keys::STORED,
    profiles::store::STORED,
    events::keys::STORED,
    summaries::keys::STORED,
    tenants::keys::STORED,
    refusals::keys::STORED,
    paging::seen_sets::STORED,
    projection::barrier::STORED,
    projection::caller_part::STORED,
    projection::checkpoints::STORED,
    projection::redriven::STORED,
    receipts::STORED,
    dead_letters::store::STORED,
];

/// All kinds, in the order of their features.
pub fn all() -> impl Iterator<Item = &'static Stored> {
    FEATURES.iter().copied().flatten().flatten()
}

/// The kind of the item with this key; `None` if no feature writes such an item.
#[must_use]
pub fn of_key(table: StoredIn, pk: &str, sk: &str) -> Option<&'static Stored> {
    all().find(|kind| kind.table == table && (kind.says)(pk, sk).is_some())
}

/// Explains the item with this key to people.
#[must_use]
pub fn says(table: StoredIn, pk: &str, sk: &str) -> Option<String> {
    all().filter(|kind| kind.table == table).find_map(|kind| (kind.says)(pk, sk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::platform::stored::BLOCK;

    #[test]
    fn names_are_distinct_and_bounds_are_bounded() {
        let kinds: BTreeMap<_, _> = all().map(|kind| (kind.to_string(), kind)).collect();
        assert_eq!(kinds.len(), all().count());
        let above: Vec<_> = all().filter(|kind| kind.most_bytes > BLOCK).collect();
        assert!(above.is_empty(), "{above:?}");
    }

    #[test]
    fn keys_say_what_they_are_of() {
        for (table, pk, sk, name) in [
            (StoredIn::Ledger, "person#bob#hidden", "actors", "ledger: hidden"),
            (
                StoredIn::Ledger,
                "person#bob#kind#live",
                "2026-11-20T12:00:00.000Z#a",
                "ledger: row by kind",
            ),
            (StoredIn::Ledger, "person##t#c#seen", "0a", "ledger: seen set"),
            (StoredIn::Facts, "read#bob", "all#m1", "facts: all read"),
            (StoredIn::Facts, "changed#likes#bob", "live#1", "facts: changed"),
            (StoredIn::Views, "poll#p", "waiting#3", "views: poll's waiting changes"),
            (StoredIn::Views, "battle#b", "battle", "views: battle"),
            (StoredIn::Views, "barrier#0a", "barrier", "views: barrier"),
            (StoredIn::Views, "customer#t#c", "summary", "views: customer"),
            (StoredIn::Views, "customer#t#c", "days#020000#0000000001", "views: customer's days"),
            (StoredIn::Views, "names#t#3", "login", "views: name of events"),
            (StoredIn::Views, "witness#2026-11#3", "t", "views: witness"),
            (StoredIn::Views, "shard#0123456789abcdef", "shard", "views: checkpoint"),
            (StoredIn::DeadLetters, "x", "body#m#0001", "dead letters: body part"),
            (StoredIn::Events, "t#c#7", "2026-11-20T12:00:00.000Z#e", "events: event"),
        ] {
            let kind = of_key(table, pk, sk).map(ToString::to_string);
            assert_eq!(kind.as_deref(), Some(name), "{pk}");
        }
        for (pk, sk) in [
            ("person#bob#unheard-of", "x"),
            ("", ""),
            ("activity#live:1", "x"),
            ("settle#bob", "x"),
        ] {
            assert!(of_key(StoredIn::Ledger, pk, sk).is_none(), "{pk}");
        }
        assert!(of_key(StoredIn::Facts, "unheard-of#bob", "x").is_none());
        let said = says(StoredIn::Facts, "likes#bob", "live:1");
        assert_eq!(said.as_deref(), Some("whether bob likes live:1"));
    }

    /// The line of a kind in `docs/LIMITS.md`.
    fn line(kind: &Stored) -> String {
        let bytes = kind.most_bytes.to_string();
        let thousands = bytes.len().saturating_sub(3);
        let bytes = match &bytes[..thousands] {
            "" => bytes,
            thousand => format!("{thousand},{}", &bytes[thousands..]),
        };
        let Stored { key: [pk, sk], grows, at_bound, test, .. } = kind;
        format!("| {kind} | `{pk}` / `{sk}` | {grows} | {bytes} | {at_bound} | {test} |")
    }

    /// With `UPDATE_DOCS=1` the page is written.
    #[test]
    fn the_page_says_what_is_declared() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/LIMITS.md");
        let page = std::fs::read_to_string(path).expect("the page");
        let mut kinds: BTreeMap<_, _> = all().map(|kind| (kind.to_string(), line(kind))).collect();
        let is_table = |name: &str| {
            all().any(|kind| kind.to_string().split(": ").next() == name.split(": ").next())
        };
        let lines = page.lines().map(|line| {
            let name =
                line.strip_prefix("| ").and_then(|line| line.split(" | ").next()).unwrap_or("");
            match kinds.remove(name) {
                Some(declared) => declared,
                None => {
                    assert!(
                        !name.contains(": ") || !is_table(name),
                        "{name}: no feature declares it"
                    );
                    line.to_owned()
                }
            }
        });
        let declared = lines.collect::<Vec<_>>().join("\n") + "\n";
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &declared).expect("written");
        } else {
            assert!(
                declared == page,
                "docs/LIMITS.md differs: UPDATE_DOCS=1 cargo test -p shared the_page"
            );
        }
        assert!(
            kinds.is_empty(),
            "docs/LIMITS.md lacks these lines; put them into a table there: {kinds:#?}"
        );
    }
}
