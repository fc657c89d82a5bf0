//! `nagare estimate`: the monthly bill on AWS, from a graph and its posts or from daily numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use nagare_operator::cost::Activity;
use nagare_operator::cost::answers::{self, Gzip};
use nagare_operator::cost::bill::{Bill, FixedDollars, LOG_BYTES, Line};
use nagare_operator::cost::events::EventRates;
use nagare_operator::cost::likes::LikeRates;
use nagare_operator::cost::month::{Assumed, Graph, Month, Rates};
use nagare_operator::cost::polls_battles::ArenaRates;
use nagare_operator::cost::prices::Prices;
use nagare_operator::cost::work::DAYS;
use nagare_operator::progress;
use serde::Serialize;
use shared::history::events::{EventSettings, PeriodLength};

use super::input::Input;
use super::print::{print_json, say};
use super::{Failure, follows, replay};
use crate::social::replay::Post;

/// Of this many rows one is sampled, to see what ids look like.
const SAMPLED_ROWS: usize = 100;

#[derive(Debug, Clone, Args)]
#[command(
    override_usage = "nagare estimate <--followers-csv <FILE> --posts-csv <FILE>|--deliveries-per-day <N>> [OPTIONS]"
)]
pub(super) struct Estimate {
    /// Who follows whom: CSV or CSV.gz with the header `follower,followee`.
    #[arg(long, value_name = "FILE")]
    followers_csv: Option<PathBuf>,
    /// What they publish: CSV or CSV.gz with the header `t,author,kind` (t in unix seconds). A month is
    /// as busy as this is from its first row to its last.
    #[arg(long, value_name = "FILE", conflicts_with = "deliveries_per_day")]
    posts_csv: Option<PathBuf>,
    /// Instead of files: entries that reach timelines in a day.
    #[arg(long, value_name = "N", value_parser = number, conflicts_with = "followers_csv")]
    deliveries_per_day: Option<f64>,
    /// Followers that a publish reaches.
    #[arg(long, value_name = "N", value_parser = above_zero, default_value = "100", conflicts_with = "followers_csv")]
    followers_per_publish: f64,
    /// New follows in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0", conflicts_with = "followers_csv")]
    follows_per_day: f64,
    /// Activities that a new follow brings in.
    #[arg(long, value_name = "N", value_parser = number, default_value = "30", conflicts_with = "followers_csv")]
    activities_per_follow: f64,
    /// New likes in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    likes_per_day: f64,
    /// Likes that are undone in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    undos_per_day: f64,
    /// Likes or undos of one activity that are counted at once: hundreds, where many come within a second.
    #[arg(long, value_name = "N", value_parser = one_or_more, default_value = "1")]
    likes_per_fold: f64,
    /// Tags of somebody in an activity in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    tags_per_day: f64,
    /// Votes in polls in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    votes_per_day: f64,
    /// Votes of one poll that are counted at once: hundreds, where many come within a second.
    #[arg(long, value_name = "N", value_parser = one_to_a_batch, default_value = "1")]
    votes_per_fold: f64,
    /// Hits in battles in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    hits_per_day: f64,
    /// Hits of one battle that land at once: hundreds, where many come within a second.
    #[arg(long, value_name = "N", value_parser = one_to_a_batch, default_value = "1")]
    hits_per_fold: f64,
    /// Viewers who take part in a battle at the same time.
    #[arg(long, value_name = "N", value_parser = one_or_more, default_value = "200")]
    players_per_battle: f64,
    /// Messages in rooms in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    messages_per_day: f64,
    /// Events of tenants in a day, a hundred in a message.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    events_per_day: f64,
    /// Bytes of an event.
    #[arg(long, value_name = "N", value_parser = number, default_value = "600")]
    event_bytes: f64,
    /// Events of a tenant that are folded into summaries at once.
    #[arg(long, value_name = "N", value_parser = one_to_a_batch, default_value = "100")]
    events_per_fold: f64,
    /// Of these, how many are of one customer.
    #[arg(long, value_name = "N", value_parser = one_to_a_batch, default_value = "1")]
    events_per_customer: f64,
    /// How time is cut into tables of events: day, week or month.
    #[arg(long, value_name = "LENGTH", default_value = "month")]
    event_period: PeriodLength,
    /// Pages that viewers ask for in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    reads_per_day: f64,
    /// Polls in a day that find nothing new.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    polls_per_day: f64,
    /// Reads of public answers in a day: open rooms, polls, battles and actors' pages.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    shared_reads_per_day: f64,
    /// The share of these that a cache in front answers, from 0 to 1 (`PublicCacheSeconds`).
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    cached_share: f64,
    /// The share of the pages that ask for likes, from 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    likes_share: f64,
    /// How many of the counts on such a page were not read within the last half second.
    #[arg(long, value_name = "N", value_parser = number, default_value = "20")]
    counts_per_read: f64,
    /// Activities on a page, on average; with none, all reads are polls that find nothing new.
    #[arg(long, value_name = "N", value_parser = number, default_value = "20")]
    activities_per_read: f64,
    /// The share of the callers who accept gzip, from 0 to 1. Browsers and the HTTP stacks of phones do by themselves.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1")]
    gzip_share: f64,
    /// Of these, and the one beyond the page, how many the reader has to look up: the others it has kept. `nagare-bench
    /// kept` counts them.
    #[arg(long, value_name = "N", value_parser = number, default_value = "2.5")]
    records_per_read: f64,
    /// With `IdleDays`: the share of entries, from 0 to 1, that are not written because their viewer is parked. The bill then includes the
    /// reads that tell who is.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    idle_share: Option<f64>,
    /// Bytes of a payload.
    #[arg(long, value_name = "N", value_parser = number, default_value = "200")]
    payload_bytes: f64,
    /// Days that an activity stays in timelines.
    #[arg(long, value_name = "N", value_parser = above_zero, default_value = "30")]
    retention_days: f64,
    /// Months of activities, tags, likes, votes, hits and messages that are stored: all of them are kept.
    #[arg(long, value_name = "N", value_parser = number, default_value = "12")]
    months: f64,
    /// A JSON object of other prices, named as `--json` prints them; what it leaves out stays.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The bill, and everything that it was computed from.
#[derive(Serialize)]
struct PrintedBill<'a> {
    publishes: f64,
    follows: f64,
    entries: f64,
    pages: f64,
    #[serde(skip_serializing_if = "is_zero")]
    likes: f64,
    #[serde(skip_serializing_if = "is_zero")]
    tags: f64,
    #[serde(skip_serializing_if = "is_zero")]
    votes: f64,
    #[serde(skip_serializing_if = "is_zero")]
    hits: f64,
    #[serde(skip_serializing_if = "is_zero")]
    messages: f64,
    #[serde(skip_serializing_if = "is_zero")]
    events: f64,
    write_units: f64,
    read_units: f64,
    /// What a million events cost, on demand and provisioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    million_events_dollars: Option<[f64; 2]>,
    /// The bytes that a line of a log is taken to have.
    log_bytes: BTreeMap<&'static str, f64>,
    #[serde(flatten)]
    bill: &'a Bill,
    prices: &'a Prices,
}

impl Estimate {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.check_inputs()?;
        let prices = self.prices.as_deref().map_or(Ok(Prices::default()), read_prices)?;
        let month = self.month()?;
        let bill = Bill::of(&month, &prices);
        if self.json {
            let million_events = self.million_events(&prices)?;
            return print_json(&PrintedBill::new(&month, &bill, &prices, million_events));
        }
        self.print(&month, &bill, &prices)
    }

    /// Says which option is missing, and what it would say.
    fn check_inputs(&self) -> Result<(), Failure> {
        let missing = match (&self.followers_csv, &self.posts_csv, self.deliveries_per_day) {
            (Some(_), None, _) => {
                "--posts-csv FILE is missing: --followers-csv says who follows whom, and a bill needs what they \
                 publish, too (CSV with the header t,author,kind)"
            }
            (None, Some(_), _) => {
                "--followers-csv FILE is missing: --posts-csv says what is published, and a bill needs who follows \
                 whom, too (CSV with the header follower,followee)"
            }
            (None, None, None) => {
                "--deliveries-per-day N is missing: how many entries reach timelines in a day (publishes times \
                 followers). Or give --followers-csv FILE and --posts-csv FILE, and they are counted"
            }
            _ => return Ok(()),
        };
        Err(Failure::Usage(missing.to_owned()))
    }

    fn month(&self) -> Result<Month, Failure> {
        let assumed = Assumed {
            pages_per_day: self.reads_per_day,
            polls_per_day: self.polls_per_day,
            shared_per_day: self.shared_reads_per_day * (1.0 - self.cached_share),
            share_with_likes: self.likes_share,
            counts_per_page: self.counts_per_read,
            activities_per_page: self.activities_per_read,
            records_per_page: self.records_per_read,
            gzip: Gzip { share: self.gzip_share, ids_left: answers::RANDOM_IDS_LEFT },
            parked: self.idle_share,
            payload: self.payload_bytes,
            retention_days: self.retention_days,
            ledger_months: self.months,
            tags_per_day: self.tags_per_day,
            likes: LikeRates {
                likes: self.likes_per_day,
                undos: self.undos_per_day,
                together: self.likes_per_fold,
            },
            arena: ArenaRates {
                votes: self.votes_per_day,
                votes_together: self.votes_per_fold,
                hits: self.hits_per_day,
                hits_together: self.hits_per_fold,
                players: self.players_per_battle,
            },
            messages: self.messages_per_day,
            events: self.events(),
        };
        if let (Some(follows), Some(posts)) = (&self.followers_csv, &self.posts_csv) {
            let (graph, ids_left) = read_graph(follows, posts, self)?;
            let timeless = || {
                let posts = posts.display();
                format!(
                    "{posts}: expected rows at two instants or more, to tell how busy a month is"
                )
            };
            let gzip = Gzip { ids_left, ..assumed.gzip };
            return graph
                .month(&Assumed { gzip, ..assumed })
                .ok_or_else(|| Failure::Usage(timeless()));
        }
        let rates = Rates {
            deliveries: self.deliveries_per_day.unwrap_or_default(),
            followers: self.followers_per_publish,
            follows: self.follows_per_day,
            backfill: self.activities_per_follow,
        };
        Ok(rates.month(&assumed))
    }

    fn events(&self) -> EventRates {
        let kept = EventSettings::default();
        EventRates {
            events: self.events_per_day,
            bytes: self.event_bytes,
            together: self.events_per_fold,
            of_customer: self.events_per_customer.min(self.events_per_fold),
            length: self.event_period,
            lateness_days: kept.lateness_days.into(),
            days: kept.days.into(),
            archive_days: kept.archive_days.into(),
        }
    }

    /// What a million of these events cost by themselves, on demand and provisioned, if there are any.
    fn million_events(&self, prices: &Prices) -> Result<Option<[f64; 2]>, Failure> {
        let of = |events_per_day| {
            let alone = Self {
                followers_csv: None,
                posts_csv: None,
                deliveries_per_day: Some(0.0),
                events_per_day,
                ..self.clone()
            };
            Ok::<_, Failure>(Bill::of(&alone.month()?, prices))
        };
        let (with, without) = (of(self.events_per_day)?, of(0.0)?.dollars);
        let millions = self.events_per_day * DAYS / 1e6;
        let each = |provisioned| [with.dollars, provisioned].map(|it| (it - without) / millions);
        Ok(with.provisioned_dollars.map(each))
    }

    fn print(&self, month: &Month, bill: &Bill, prices: &Prices) -> Result<(), Failure> {
        let more = [
            (month.polls, "polls without news among them"),
            (month.likes.changes, "likes and undos"),
            (month.tags, "tags"),
            (month.arena.votes, "votes"),
            (month.arena.hits, "hits"),
            (month.messages, "messages"),
            (month.events.events, "events"),
        ];
        let more = more.into_iter().filter(|(number, _)| *number > 0.0);
        let more: String =
            more.map(|(number, what)| format!(", {} {what}", count(number))).collect();
        say!(
            "A month: {} publishes, {} entries, {} new follows, {} pages read{more}.",
            count(month.publishes),
            count(month.writing.entries),
            count(month.follows),
            count(month.pages),
        )?;
        say!(
            "Storage is that after {} months; retention is {} days.\n",
            self.months,
            self.retention_days
        )?;
        say!("{:<16}{:<24}{:>22}{:>28}{:>11}", "service", "", "a month", "price", "dollars")?;
        bill.lines.iter().try_for_each(print_line)?;
        say!("{:<90}{:>11.2}", "total", bill.dollars)?;
        let FixedDollars { history_on, history_off } = bill.fixed_dollars;
        say!("{:<90}{history_on:>11.2}", "of it fixed, if nothing happens")?;
        say!("{:<90}{history_off:>11.2}", "fixed with History=off")?;
        if let Some(dollars) = bill.provisioned_dollars {
            say!("{:<90}{dollars:>11.2}", "the same with EventCapacity=provisioned")?;
        }
        if let Some([each, provisioned]) = self.million_events(prices)? {
            say!("{:<90}{each:>11.3}", "a million events")?;
            say!("{:<90}{provisioned:>11.3}", "the same with EventCapacity=provisioned")?;
        }
        if bill.import_dollars > 0.0 {
            say!("{:<90}{:>11.2}", "once, to import the follows", bill.import_dollars)?;
        }
        Ok(())
    }
}

fn print_line(line: &Line) -> Result<(), Failure> {
    let Line { service, what, amount, unit, price, dollars } = line;
    let amount = format!("{amount:.3} {unit}");
    let amount = amount.replacen(".000 ", " ", 1);
    let price = if *price == 0.0 { "free".to_owned() } else { format!("${price} a {unit}") };
    say!("{service:<16}{what:<24}{amount:>22}{price:>28}{dollars:>11.2}")
}

impl<'a> PrintedBill<'a> {
    fn new(
        month: &Month,
        bill: &'a Bill,
        prices: &'a Prices,
        million_events_dollars: Option<[f64; 2]>,
    ) -> Self {
        let Month {
            publishes,
            follows,
            pages,
            writing,
            reading,
            folding,
            likes,
            tags,
            arena,
            messages,
            events,
            ..
        } = *month;
        Self {
            publishes,
            follows,
            pages,
            entries: writing.entries,
            likes: likes.changes,
            tags,
            votes: arena.votes,
            hits: arena.hits,
            messages,
            events: events.events,
            write_units: writing.writes + folding.writes + events.writes,
            read_units: writing.reads + reading.reads + folding.reads + events.scans,
            million_events_dollars,
            log_bytes: BTreeMap::from(LOG_BYTES),
            bill,
            prices,
        }
    }
}

/// A number with its digits in groups of three.
fn count(amount: f64) -> String {
    let digits = format!("{amount:.0}");
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

/// The graph with its posts, and the share that compression leaves of their ids.
fn read_graph(
    follows: &Path,
    posts: &Path,
    Estimate { payload_bytes: payload, idle_share, .. }: &Estimate,
) -> Result<(Graph, f64), Failure> {
    let (mut graph, mut ids) = (Graph::parking(*idle_share), Vec::new());
    let (follows, posts) = (Input::of(follows)?, Input::of(posts)?);
    let bar = progress::counter("rows read");
    for row in follows.table(follows::COLUMNS)? {
        let edge = row.and_then(|row| follows::edge(&row));
        let (follower, followee) = edge.map_err(|error| error.of(&follows))?;
        graph.follow(follower.as_str(), followee.as_str());
        bar.inc(1);
    }
    for (n, row) in posts.table(replay::COLUMNS)?.enumerate() {
        let post = row.and_then(|row| Post::read(&row)).map_err(|error| error.of(&posts))?;
        let (length, name) = (|text: &str| text.len() as f64, post.activity_name());
        // The activities of a page are not those of one moment.
        if n % SAMPLED_ROWS == 0 && ids.len() < 2 * answers::ID_SAMPLE {
            ids.extend([name.clone(), post.author.as_str().to_owned()]);
        }
        let activity = Activity {
            id: length(&name),
            actor: length(post.author.as_str()),
            kind: length(post.kind.as_str()),
            payload: *payload,
        };
        graph.publish(post.author.as_str(), post.seconds, activity);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((graph, answers::ids_left(ids.iter().map(String::as_str))))
}

fn read_prices(file: &Path) -> Result<Prices, Failure> {
    let name = file.display();
    let text = fs::read_to_string(file)
        .map_err(|e| Failure::Usage(format!("{name} cannot be read: {e}")))?;
    serde_json::from_str(&text).map_err(|e| Failure::Usage(format!("{name}: {e}")))
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1e15).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 1e15".to_owned())
}

fn one_or_more(text: &str) -> Result<f64, String> {
    number(text)
        .ok()
        .filter(|number| *number >= 1.0)
        .ok_or_else(|| "expected a number from 1 to 1e15".to_owned())
}

/// No more than the projector is given at once.
fn one_to_a_batch(text: &str) -> Result<f64, String> {
    number(text)
        .ok()
        .filter(|number| (1.0..=1_000.0).contains(number))
        .ok_or_else(|| "expected a number from 1 to 1000".to_owned())
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

fn above_zero(text: &str) -> Result<f64, String> {
    number(text)
        .ok()
        .filter(|number| *number > 0.0)
        .ok_or_else(|| "expected a number above 0".to_owned())
}
