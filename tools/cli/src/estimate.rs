//! `nagare estimate`: the monthly bill on AWS, from a graph and its posts or from daily numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use nagare_operator::cost::DAYS;
use nagare_operator::cost::bill::{Bill, FixedDollars, LOG_BYTES, Line};
use nagare_operator::cost::counts::{Counts, Graph};
use nagare_operator::cost::month::Assumed;
use nagare_operator::cost::prices::Prices;
use nagare_operator::progress;
use serde::Serialize;
use shared::history::events::PeriodLength;

use super::input::Input;
use super::print::{print_json, say};
use super::{Failure, follows, replay};
use crate::social::replay::Post;

#[derive(Debug, Args)]
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
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    follows_per_day: f64,
    /// Activities that a new follow brings in.
    #[arg(long, value_name = "N", value_parser = number, default_value = "30")]
    activities_per_follow: f64,
    /// Pages of 20 activities that viewers request in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    reads_per_day: f64,
    /// The share of these pages that show likes, from 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    likes_share: f64,
    /// Polls in a day that find nothing new.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    polls_per_day: f64,
    /// New likes in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    likes_per_day: f64,
    /// Tags of people in activities in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    tags_per_day: f64,
    /// Votes in polls in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    votes_per_day: f64,
    /// Hits in battles in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    hits_per_day: f64,
    /// Messages in rooms in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    messages_per_day: f64,
    /// Events of tenants in a day, a hundred in a message.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    events_per_day: f64,
    /// Bytes of an event.
    #[arg(long, value_name = "N", value_parser = number, default_value = "600")]
    event_bytes: f64,
    /// The length of a table of events: day, week or month.
    #[arg(long, value_name = "LENGTH", default_value = "month")]
    event_period: PeriodLength,
    /// Bytes of the payload of an activity or message, at most 4096.
    #[arg(long, value_name = "N", value_parser = payload, default_value = "200")]
    payload_bytes: f64,
    /// Days that an activity stays in timelines.
    #[arg(long, value_name = "N", value_parser = above_zero, default_value = "30")]
    retention_days: f64,
    /// Months of commands that are stored: all are kept.
    #[arg(long, value_name = "N", value_parser = number, default_value = "12")]
    months: f64,
    /// A JSON object of other prices, named as `--json` prints them. The others remain.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The bill, and everything that it was computed from.
#[derive(Serialize)]
struct PrintedBill<'a> {
    #[serde(flatten)]
    counts: &'a Counts,
    /// Bytes of a line of each log.
    log_bytes: BTreeMap<&'static str, f64>,
    #[serde(flatten)]
    bill: &'a Bill,
    prices: &'a Prices,
}

impl Estimate {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.check_inputs()?;
        let prices = self.prices.as_deref().map_or(Ok(Prices::default()), read_prices)?;
        let counts = self.counts()?;
        let assumed = Assumed {
            payload_bytes: self.payload_bytes,
            retention_days: self.retention_days,
            months: self.months,
            event_bytes: self.event_bytes,
            event_period: self.event_period,
        };
        let bill = Bill::of(&counts, &assumed, &prices);
        if self.json {
            let log_bytes = BTreeMap::from(LOG_BYTES);
            let (counts, bill, prices) = (&counts, &bill, &prices);
            return print_json(&PrintedBill { counts, log_bytes, bill, prices });
        }
        self.print(&counts, &bill)
    }

    /// Says which option is missing, and its meaning.
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

    fn counts(&self) -> Result<Counts, Failure> {
        let entries = self.deliveries_per_day.unwrap_or_default() * DAYS;
        let published = match (&self.followers_csv, &self.posts_csv) {
            (Some(follows), Some(posts)) => read_graph(follows, posts)?,
            _ => Counts {
                publishes: entries / self.followers_per_publish,
                entries,
                ..Counts::default()
            },
        };
        let pages = self.reads_per_day * DAYS;
        let follows = self.follows_per_day * DAYS;
        Ok(Counts {
            follows,
            backfilled: follows * self.activities_per_follow,
            pages,
            pages_with_likes: pages * self.likes_share,
            polls: self.polls_per_day * DAYS,
            likes: self.likes_per_day * DAYS,
            tags: self.tags_per_day * DAYS,
            votes: self.votes_per_day * DAYS,
            hits: self.hits_per_day * DAYS,
            messages: self.messages_per_day * DAYS,
            events: self.events_per_day * DAYS,
            ..published
        })
    }

    fn print(&self, counts: &Counts, bill: &Bill) -> Result<(), Failure> {
        let more = [
            (counts.polls, "polls"),
            (counts.likes, "likes"),
            (counts.tags, "tags"),
            (counts.votes, "votes"),
            (counts.hits, "hits"),
            (counts.messages, "messages"),
            (counts.events, "events"),
        ];
        let more = more.into_iter().filter(|(number, _)| *number > 0.0);
        let more: String =
            more.map(|(number, what)| format!(", {} {what}", count(number))).collect();
        say!(
            "A month: {} publishes, {} entries, {} new follows, {} pages{more}.",
            count(counts.publishes),
            count(counts.entries + counts.backfilled),
            count(counts.follows),
            count(counts.pages),
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
        if let Some([each, provisioned]) = bill.million_events_dollars {
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
    let price = format!("${price} a {unit}");
    say!("{service:<16}{what:<24}{amount:>22}{price:>28}{dollars:>11.2}")
}

/// A number with its digits in groups of three.
fn count(amount: f64) -> String {
    let digits = format!("{amount:.0}");
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

/// A month of the publishes of these posts to these followers.
fn read_graph(follows: &Path, posts: &Path) -> Result<Counts, Failure> {
    let mut graph = Graph::default();
    let (follows, posts) = (Input::of(follows)?, Input::of(posts)?);
    let bar = progress::counter("rows read");
    for row in follows.table(follows::COLUMNS)? {
        let edge = row.and_then(|row| follows::edge(&row));
        let (_, followee) = edge.map_err(|error| error.of(&follows))?;
        graph.follow(followee.as_str());
        bar.inc(1);
    }
    for row in posts.table(replay::COLUMNS)? {
        let post = row.and_then(|row| Post::read(&row)).map_err(|error| error.of(&posts))?;
        graph.publish(post.author.as_str(), post.seconds);
        bar.inc(1);
    }
    bar.finish_and_clear();
    graph.month().ok_or_else(|| {
        Failure::Usage(format!(
            "{posts}: expected rows at two instants or more, to tell how busy a month is"
        ))
    })
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

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

fn payload(text: &str) -> Result<f64, String> {
    let bytes = number(text).ok().filter(|bytes| *bytes <= 4_096.0);
    bytes.ok_or_else(|| "expected a number from 0 to 4096".to_owned())
}

fn above_zero(text: &str) -> Result<f64, String> {
    number(text)
        .ok()
        .filter(|number| *number > 0.0)
        .ok_or_else(|| "expected a number above 0".to_owned())
}
