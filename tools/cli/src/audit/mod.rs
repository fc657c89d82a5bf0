//! `nagare audit`: compares stored timelines with what the ledger says they should be, and likes, notifications, polls
//! and battles with a recount of the facts.

mod tenant;
mod words;

use std::collections::BTreeSet;

use clap::Args;
use nagare_client::clock;
use nagare_client::remote::Remote;
use nagare_operator::audit::{
    Auditor, Found, LikedAuditor, LikedDifference, PageDifference, PagesAuditor, RoomDifference,
    RoomsAuditor, Sample, TagDifference, TagsAuditor, ViewsAuditor,
};
use nagare_operator::progress;
use serde::Serialize;
use shared::platform::dynamo::DynamoError;
use shared::platform::values::{
    ActivityId, BattleId, CustomerId, PollId, RoomId, TenantId, ViewerId,
};

use super::Failure;
use super::print::{counted, print_json, printable, say, tell};
pub(super) use words::InWords;

#[derive(Debug, Args)]
#[command(
    override_usage = "nagare audit <--viewer <VIEWER>...|--activity <ACTIVITY>...|--poll <POLL>...|--battle <BATTLE>...|--room <ROOM>...|--liked|--tenant <TENANT>|--sample <SAMPLE>> [OPTIONS]"
)]
pub(super) struct Audit {
    /// The viewers whose timelines, lists of whom they follow, of what they like and of what they are tagged in, and unread
    /// numbers are compared.
    #[arg(long, num_args = 1.., required_unless_present_any = ["sample", "activity", "poll", "battle", "room", "liked", "tenant"])]
    viewer: Vec<ViewerId>,
    /// The activities whose likes and notifications are recounted, and whose tags and places on pages are compared.
    /// Reads through all likes.
    #[arg(long, num_args = 1..)]
    activity: Vec<ActivityId>,
    /// The polls whose votes are recounted. Reads through all votes.
    #[arg(long, num_args = 1..)]
    poll: Vec<PollId>,
    /// The battles that are fought again, as their logs say. Reads through all hits.
    #[arg(long, num_args = 1..)]
    battle: Vec<BattleId>,
    /// The rooms whose messages are compared with the claims on their ids, and with what was deleted. Reads through the
    /// ledger.
    #[arg(long, num_args = 1..)]
    room: Vec<RoomId>,
    /// The lists of what they like, of all viewers. Reads through all facts.
    #[arg(long)]
    liked: bool,
    /// The tenant whose events are compared: what is in the tables of periods with what is in their archives, and both with what
    /// is known of them; and summaries and alerts with a recount of the events. Reads through all of these, twice, and repairs nothing
    /// of them.
    #[arg(long)]
    tenant: Option<TenantId>,
    /// The same of one customer of that tenant alone. Of tables it reads their events only.
    #[arg(long, requires = "tenant")]
    customer: Option<CustomerId>,
    /// This many viewers, picked at random from all who follow somebody, as many activities, from all that
    /// somebody likes, as many polls, as many battles and as many rooms. Reads through all edges and facts, and twice
    /// through the ledger.
    #[arg(long, conflicts_with_all = ["viewer", "activity", "poll", "battle", "room", "liked", "tenant"])]
    sample: Option<usize>,
    /// Repair what differs.
    #[arg(long)]
    repair: bool,
    /// Print one JSON object for each difference.
    #[arg(long)]
    json: bool,
}

/// How an audit ended.
#[derive(Default)]
struct Ended {
    found: usize,
    left: usize,
    busy: Vec<String>,
}

impl Ended {
    fn add<D, I: ToString>(&mut self, found: &Found<D, I>) {
        self.found += found.differences.len();
        self.left += found.differences.len() - found.mended;
        self.busy.extend(found.busy.iter().map(ToString::to_string));
    }
}

impl Audit {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let (ledger, timelines) = (remote.ledger()?, remote.timelines()?);
        let auditor = Auditor::new(&ledger, timelines, remote.retention()?, clock::clock());
        let facts = remote.facts()?;
        let views = ViewsAuditor::new(&facts, &remote.views()?, clock::clock());
        let (viewers, audited) = match self.sample {
            Some(size) => (auditor.sample(size).await?, Sample::draw(&facts, &ledger, size).await?),
            None => self.named(),
        };
        let (mut ended, timelines) = self.timelines(&auditor, &viewers).await?;
        let Sample { activities, polls, battles, rooms } = &audited;
        let printed = timelines.and(self.likes(&views, &viewers, activities, &mut ended).await?);
        let liked = LikedAuditor::new(&ledger, &facts);
        let printed = printed.and(self.lists(&liked, &viewers, &mut ended).await?);
        let tags = TagsAuditor::new(&ledger, clock::clock());
        let printed = printed.and(self.tags(&tags, &viewers, activities, &mut ended).await?);
        let pages = PagesAuditor::new(&ledger);
        let differences = async || pages.differences(activities).await;
        let repair = async |found: &[PageDifference]| pages.repair(found).await;
        let printed = printed.and(self.compare(differences, repair, &mut ended).await?);
        let auditor = RoomsAuditor::new(&ledger, clock::clock());
        let differences = async || auditor.differences(rooms).await;
        let repair = async |found: &[RoomDifference]| auditor.repair(found).await;
        let printed = printed.and(self.compare(differences, repair, &mut ended).await?);
        let found = views.polls(polls, self.repair).await?;
        let printed = printed.and(self.add(&found, &mut ended));
        let found = views.battles(battles, self.repair).await?;
        let printed = printed.and(self.add(&found, &mut ended));
        let printed = printed.and(self.tenants(&remote, &mut ended).await?);
        self.conclude(viewers.len(), &audited, ended).and(printed)
    }

    fn named(&self) -> (Vec<ViewerId>, Sample) {
        let sample = Sample {
            activities: each_once(self.activity.iter().cloned()),
            polls: each_once(self.poll.iter().cloned()),
            battles: each_once(self.battle.iter().cloned()),
            rooms: each_once(self.room.iter().cloned()),
        };
        (each_once(self.viewer.iter().cloned()), sample)
    }

    /// Prints what was found, and counts it.
    fn add<D: Serialize + InWords, I: ToString>(
        &self,
        found: &Found<D, I>,
        ended: &mut Ended,
    ) -> Result<(), Failure> {
        ended.add(found);
        found.differences.iter().try_for_each(|difference| self.print(difference))
    }

    /// Compares timelines. The inner result says whether what was found could be printed.
    async fn timelines(
        &self,
        auditor: &Auditor,
        viewers: &[ViewerId],
    ) -> Result<(Ended, Result<(), Failure>), Failure> {
        let bar = progress::bar(viewers.len() as u64, "timelines audited");
        let (mut ended, mut printed) = (Ended::default(), Ok(()));
        for viewer in viewers {
            let differences = auditor.differences(viewer).await?;
            let following = auditor.following_differences(viewer).await?;
            // The audit goes on if nobody reads its output any more: the exit code is the answer.
            printed = printed.and_then(|()| {
                bar.suspend(|| {
                    differences.iter().try_for_each(|difference| self.print(difference))?;
                    following.iter().try_for_each(|difference| self.print(difference))
                })
            });
            ended.found += differences.len() + following.len();
            ended.left += differences.len() + following.len();
            if self.repair && !differences.is_empty() {
                auditor.repair(viewer, &differences).await?;
                ended.left -= differences.len();
                ended.left += auditor.differences(viewer).await?.len();
            }
            if self.repair && !following.is_empty() {
                auditor.repair_following(&following).await?;
                ended.left -= following.len();
                ended.left += auditor.following_differences(viewer).await?.len();
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok((ended, printed))
    }

    /// Compares lists of what viewers like with what they like.
    async fn lists(
        &self,
        auditor: &LikedAuditor,
        viewers: &[ViewerId],
        ended: &mut Ended,
    ) -> Result<Result<(), Failure>, Failure> {
        let all = if self.liked { auditor.likers().await? } else { viewers.to_vec() };
        let bar = progress::bar(all.len() as u64, "lists of likes audited");
        let mut printed = Ok(());
        for viewer in &all {
            let differences = async || auditor.differences(viewer).await;
            let repair = async |found: &[LikedDifference]| auditor.repair(found).await;
            printed = printed.and(self.compare(differences, repair, ended).await?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(printed)
    }

    /// Compares what people are tagged in with the tags.
    async fn tags(
        &self,
        auditor: &TagsAuditor,
        viewers: &[ViewerId],
        activities: &[ActivityId],
        ended: &mut Ended,
    ) -> Result<Result<(), Failure>, Failure> {
        let differences = async || {
            let mut all = Vec::new();
            for activity in activities {
                all.extend(auditor.of_activity(activity).await?);
            }
            for viewer in viewers {
                all.extend(auditor.of_viewer(viewer).await?);
            }
            all.sort_unstable();
            all.dedup();
            Ok(all)
        };
        let repair = async |found: &[TagDifference]| auditor.repair(found).await;
        self.compare(differences, repair, ended).await
    }

    /// Finds differences, repairs them if that is asked for, and finds out what is left.
    async fn compare<D: Serialize + InWords>(
        &self,
        differences: impl AsyncFn() -> Result<Vec<D>, DynamoError>,
        repair: impl AsyncFn(&[D]) -> Result<(), DynamoError>,
        ended: &mut Ended,
    ) -> Result<Result<(), Failure>, Failure> {
        let found = differences().await?;
        ended.found += found.len();
        ended.left += found.len();
        if self.repair && !found.is_empty() {
            repair(&found).await?;
            ended.left -= found.len();
            ended.left += differences().await?.len();
        }
        Ok(found.iter().try_for_each(|difference| self.print(difference)))
    }

    /// Recounts likes, then what is unread: that depends on the former.
    async fn likes(
        &self,
        auditor: &ViewsAuditor,
        viewers: &[ViewerId],
        activities: &[ActivityId],
        ended: &mut Ended,
    ) -> Result<Result<(), Failure>, Failure> {
        let found = auditor.activities(activities, self.repair).await?;
        let printed = self.add(&found, ended);
        // What was not counted was not told of, either.
        let actors = found.differences.iter().filter_map(|found| found.actor_id.as_ref());
        let actors = actors.filter_map(|actor| ViewerId::new(actor.as_str()).ok());
        let viewers = each_once(viewers.iter().cloned().chain(actors));
        let found = auditor.inboxes(&viewers, self.repair).await?;
        Ok(printed.and(self.add(&found, ended)))
    }

    fn print(&self, difference: &(impl Serialize + InWords)) -> Result<(), Failure> {
        if self.json {
            return print_json(difference);
        }
        say!("{}", printable(&difference.in_words()))?;
        Ok(())
    }

    fn conclude(&self, viewers: usize, audited: &Sample, ended: Ended) -> Result<(), Failure> {
        let Ended { found, left, busy } = ended;
        let mended = if self.repair { format!(", {} mended", found - left) } else { String::new() };
        let Sample { activities, polls, battles, rooms } = audited;
        let kinds = [
            (viewers, "timeline", "timelines"),
            (activities.len(), "activity", "activities"),
            (polls.len(), "poll", "polls"),
            (battles.len(), "battle", "battles"),
            (rooms.len(), "room", "rooms"),
            (usize::from(self.tenant.is_some()), "tenant", "tenants"),
        ];
        let audited = kinds.into_iter().filter(|(number, ..)| *number > 0);
        let audited = audited.map(|(number, one, many)| counted(number as u64, one, many));
        let audited: Vec<_> = audited.collect();
        let audited = match audited.as_slice() {
            [] => "0 timelines".to_owned(),
            audited => audited.join(", "),
        };
        let found = counted(found as u64, "difference", "differences");
        tell!("{audited} audited: {found}{mended}");
        if !busy.is_empty() {
            let busy = busy.join(", ");
            return Err(Failure::No(format!(
                "not compared, as they changed all the time: {busy}; try again when they are quieter"
            )));
        }
        if left == 0 {
            return Ok(());
        }
        let left = counted(left as u64, "difference is", "differences are");
        Err(Failure::No(format!("{left} left")))
    }
}

/// These in order, each of them once: the tables do not take a key twice in one call.
fn each_once<T: Ord>(ids: impl IntoIterator<Item = T>) -> Vec<T> {
    ids.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        audit: Audit,
    }

    #[test]
    fn what_is_named_twice_is_audited_once() {
        let line = "audit --viewer bob anna bob --activity a a --poll p p --battle b --battle b --room r r";
        let (viewers, named) = Line::parse_from(line.split(' ')).audit.named();
        assert_eq!(viewers.iter().map(ViewerId::as_str).collect::<Vec<_>>(), ["anna", "bob"]);
        let Sample { activities, polls, battles, rooms } = named;
        assert_eq!((activities.len(), polls.len(), battles.len(), rooms.len()), (1, 1, 1, 1));
    }
}
