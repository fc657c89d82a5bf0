//! What a person stated: likes, votes, hits, and what they opened.
//!
//! A row that says *liked* is changed to one that does not, and a row of votes loses its votes, so the projector no longer counts
//! them. The rows stay, and are marked with the time at which they expire: an older change that is still in flight does not win over
//! them. A hit keeps its damage, without the name. What the person opened loses its content, and what others did there expires with
//! it. A row by which a change of such a row was redriven loses its content, and is marked too.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use shared::platform::dynamo::item::{Key, Row, number, text, truth};
use shared::platform::dynamo::{Query, Update};
use shared::platform::ledger::FORGET_AT;
use shared::platform::projection::redriven;
use shared::platform::values::{ActivityId, BattleId, PollId, Timestamp};
use shared::social::activities::owner;
use shared::social::battles::{BattleRow, VIEWER, keys as battles};
use shared::social::likes::{self, Like, LikeList};
use shared::social::notifications::keys;
use shared::social::polls::erasure::Votes;
use shared::social::polls::{BYTES, ERASED_AT, PollRow, RECORDED_AT, VOTES, keys as polls};

use super::letters::stands_in;
use super::marks::marking;
use super::{Erased, Erasure, for_each};
use crate::Result;
use crate::scan::scan;

/// More likes than an activity ever has.
const ALL_LIKES: u64 = 1 << 50;

/// What is about the person because they published or opened it.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) activities: BTreeSet<ActivityId>,
    pub(super) polls: BTreeSet<PollId>,
    pub(super) battles: BTreeSet<BattleId>,
    /// True if any fact was found that names the person in views, so that the projector has to be waited for.
    pub(super) waits_for_projector: bool,
}

/// A fact about the person.
struct Fact {
    key: Key,
    kind: FactKind,
}

enum FactKind {
    /// A like by them, or of an activity of theirs.
    Like { changed_at: String },
    /// What they published.
    Owner,
    /// How they voted, or anybody in a poll of theirs.
    Votes,
    /// A hit by them, or in a battle of theirs.
    Hit,
    /// A poll that they opened.
    Poll,
    /// A battle that they opened.
    Battle,
    /// A fact that consists of its key.
    Other,
    /// A row by which a change of such a row was redriven.
    BroughtBack,
}

impl Erasure {
    /// Erases facts until none is found. Who likes or hits what is listed nowhere, so all facts are scanned.
    pub(super) async fn facts(&self, erased: &mut Erased) -> Result<Scope> {
        let activities = self.marks.all_activities(&self.actor).await?.into_iter().collect();
        let mut scope = Scope { activities, ..Scope::default() };
        let activities: Vec<_> = scope.activities.iter().collect();
        for_each(&activities, "marks closed", |activity| self.close_mark(activity)).await?;
        loop {
            let opened = scope.polls.len() + scope.battles.len();
            let found = self.facts_found(&mut scope).await?;
            // What others did to what was opened may have come before it in the scan.
            if found.is_empty() && scope.polls.len() + scope.battles.len() == opened {
                return Ok(scope);
            }
            for_each(&found, "facts erased", |fact| self.erase_fact(fact)).await?;
            for Fact { kind, .. } in found {
                match kind {
                    FactKind::Like { .. } => erased.likes += 1,
                    FactKind::Votes => erased.votes += 1,
                    FactKind::Hit => erased.hits += 1,
                    FactKind::Poll => erased.polls += 1,
                    FactKind::Battle => erased.battles += 1,
                    FactKind::Owner | FactKind::Other | FactKind::BroughtBack => {}
                }
            }
        }
    }

    async fn facts_found(&self, scope: &mut Scope) -> Result<Vec<Fact>> {
        // Of what an earlier run has marked, those rows by which the scope is known.
        let query = Query {
            filter: Some(
                "attribute_not_exists(#forget) OR #actor = :person OR pk = :votes OR sk = :hit",
            ),
            projection: Some("pk, sk, changed_at, #forget, #actor, #viewer, #change"),
            names: vec![
                ("#forget", FORGET_AT),
                ("#actor", "actor"),
                ("#viewer", VIEWER),
                ("#change", redriven::CHANGE),
            ],
            values: vec![
                (":person", text(self.actor.as_str())),
                (":votes", text(polls::of_viewer(&self.viewer))),
                (":hit", text(battles::HIT)),
            ],
            ..Query::default()
        };
        let mut found = Vec::new();
        scan(self.facts.table(), "facts read", query, |row| {
            found.extend(self.fact(row, scope)?);
            Ok(())
        })
        .await?;
        Ok(found)
    }

    /// The fact about the person that a row states; `None` if there is none, or if the row is marked.
    fn fact(&self, row: &Row<'_>, scope: &mut Scope) -> Result<Option<Fact>> {
        let (key, is_marked) = (Key::of(row)?, row.item.contains_key(FORGET_AT));
        let kind = if let Some(of) = redriven::brought_back(&key) {
            let change = row.optional_text(redriven::CHANGE)?;
            let is_theirs = change.is_some_and(|change| stands_in(change, self.viewer.as_str()))
                || self.kind_of(&of, row, scope)?.is_some();
            is_theirs.then_some(FactKind::BroughtBack)
        } else {
            self.kind_of(&key, row, scope)?
        };
        // Counts, notifications, sums and shares name the person until it is folded.
        scope.waits_for_projector |= kind.is_some();
        Ok(kind.filter(|_| !is_marked).map(|kind| Fact { key, kind }))
    }

    fn kind_of(&self, key: &Key, row: &Row<'_>, scope: &mut Scope) -> Result<Option<FactKind>> {
        let is = |name, id: &str| {
            row.item.get(name).and_then(|it| it.as_s().ok()).is_some_and(|it| it == id)
        };
        let is_opened = is("actor", self.actor.as_str());
        let (is_theirs, kind) =
            if let Some((viewer, activity)) = likes::keys::of_like(&key.pk, &key.sk) {
                if viewer != self.viewer && !scope.activities.contains(&activity) {
                    return Ok(None);
                }
                // A row that brings one back has none.
                let changed_at = row.optional_text("changed_at")?.unwrap_or_default().to_owned();
                (true, FactKind::Like { changed_at })
            } else if let Some((viewer, _)) = keys::of_mark(&key.pk, &key.sk) {
                (viewer == self.viewer, FactKind::Other)
            } else if let Some(activity) = owner::of_key(&key.pk, &key.sk) {
                (scope.activities.contains(&activity), FactKind::Owner)
            } else if let Some(of) = PollRow::of(key) {
                match of {
                    PollRow::Opened(poll) => {
                        scope.polls.extend(is_opened.then_some(poll));
                        (is_opened, FactKind::Poll)
                    }
                    PollRow::Vote(viewer, poll) => {
                        (viewer == self.viewer || scope.polls.contains(&poll), FactKind::Votes)
                    }
                    PollRow::End(poll, actor) => {
                        (actor == self.actor || scope.polls.contains(&poll), FactKind::Other)
                    }
                }
            } else {
                match BattleRow::of(key).ok_or_else(|| row.corrupt("pk", "the key of a fact"))? {
                    BattleRow::Opened(battle) => {
                        scope.battles.extend(is_opened.then_some(battle));
                        (is_opened, FactKind::Battle)
                    }
                    BattleRow::Hit(battle, _) => {
                        // Erased before, and nobody knows any more whose it was.
                        scope.waits_for_projector |= !row.item.contains_key(VIEWER);
                        let is_theirs = is(VIEWER, self.viewer.as_str());
                        (is_theirs || scope.battles.contains(&battle), FactKind::Hit)
                    }
                }
            };
        Ok(is_theirs.then_some(kind))
    }

    /// Has all of an activity marked as read, so that a command in progress, which has read the
    /// view before, marks nothing.
    async fn close_mark(&self, activity: &ActivityId) -> Result<()> {
        let update = Update {
            expression: "SET through = :all, behind = if_not_exists(behind, :none), \
                         read_at = if_not_exists(read_at, :now), \
                         #forget = if_not_exists(#forget, :until)",
            condition: None,
            names: vec![("#forget", FORGET_AT)],
            values: vec![
                (":all", number(ALL_LIKES)),
                (":none", number(0)),
                (":now", text(self.clock.now().to_string())),
                (":until", number(self.until)),
            ],
        };
        let key = keys::mark(&self.viewer, activity).into_item();
        self.facts.table().update(key, update).await.map(|_| ())
    }

    /// Erases a fact as it was read. A row that has changed since is found again by the next scan.
    async fn erase_fact(&self, Fact { key, kind }: &Fact) -> Result<()> {
        let expression = match kind {
            FactKind::Like { changed_at } => return self.erase_like(key, changed_at).await,
            FactKind::Votes => return self.erase_votes(key).await,
            FactKind::Owner => "SET deleted = :yes, #forget = :until",
            // Who opened it is how it is found again.
            FactKind::Poll => "SET #forget = :until REMOVE payload, choices",
            FactKind::Battle => "SET #forget = :until REMOVE payload",
            FactKind::Hit => "SET #forget = :until REMOVE #viewer",
            FactKind::Other => "SET #forget = :until",
            // That it came back stays known until it expires.
            FactKind::BroughtBack => "SET #forget = :until REMOVE #change",
        };
        let mut update = marking(expression, "attribute_exists(pk)", self.until);
        match kind {
            FactKind::Owner => update.values.push((":yes", truth(true))),
            FactKind::Hit => update.names.push(("#viewer", VIEWER)),
            FactKind::BroughtBack => update.names.push(("#change", redriven::CHANGE)),
            _ => {}
        }
        self.facts.table().update(key.clone().into_item(), update).await.map(|_| ())
    }

    /// Deletes the entry of the list first, because a row that is marked is not found again.
    async fn erase_like(&self, key: &Key, changed_at: &str) -> Result<()> {
        let like = likes::keys::of_like(&key.pk, &key.sk).zip(Timestamp::parse(changed_at).ok());
        if let Some(((viewer, activity_id), liked_at)) = like {
            let list = LikeList::new(&self.marks.0);
            list.delete(&viewer, &Like { liked_at, activity_id }).await?;
        }
        let undone = "SET liked = :no, #forget = :until REMOVE first_liked_at, moved_from, \
                      liked_since, recorded_at";
        let mut undo = marking(undone, "changed_at = :seen", self.until);
        undo.values.extend([(":no", truth(false)), (":seen", text(changed_at))]);
        self.facts.table().update(key.clone().into_item(), undo).await.map(|_| ())
    }

    /// Takes the votes out of a row, and notes the instant up to which the row takes no votes any more. The mark comes last, so that a
    /// row whose erasure was interrupted is found again.
    async fn erase_votes(&self, key: &Key) -> Result<()> {
        let table = self.facts.table();
        let Some(row) = table.get(key.clone().into_item()).await? else { return Ok(()) };
        let votes = Votes::read(&row.item);
        let before = row.item.get(ERASED_AT).and_then(|at| at.as_s().ok());
        let before = before.and_then(|at| Timestamp::parse(at).ok());
        // Up to the latest vote, because votes may lie ahead of the clock.
        let latest = votes.last().into_iter().chain(before);
        let erased_at = latest.fold(self.clock.now(), Timestamp::max);
        let expression = match votes.0.is_empty() {
            true => "SET #erased = :at, #forget = :until REMOVE #bytes, #recorded",
            false => {
                "SET #erased = :at, #forget = :until REMOVE #bytes, #recorded DELETE #votes :votes"
            }
        };
        let mut update = marking(expression, "attribute_exists(pk)", self.until);
        // How long what stays is together is found out when somebody votes.
        update.names.extend([
            ("#erased", ERASED_AT),
            ("#bytes", BYTES),
            ("#recorded", RECORDED_AT),
        ]);
        update.values.push((":at", text(erased_at.to_string())));
        if !votes.0.is_empty() {
            update.names.push(("#votes", VOTES));
            update.values.push((":votes", AttributeValue::Ss(votes.0)));
        }
        table.update(key.clone().into_item(), update).await.map(|_| ())
    }
}
