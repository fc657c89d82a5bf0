//! `nagare-bench kept`: how many records of a page a reader has to read, and how many it has kept.
//!
//! Pages of viewers chosen at random are read at a rate, over a graph and its posts, by as many readers as that
//! rate keeps busy. What is on top of each timeline at each instant follows from the graph. What a reader has
//! kept, and for how long, is decided by the code that ships ([`RecordCache`]).

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use fastrand::Rng;
use nagare::Failure;
use nagare::print::print_json;
use nagare::{follows_in, posts_in};
use nagare_operator::progress;
use serde::Serialize;
use shared::platform::values::{ActivityId, ActorId, Payload, Timestamp};
use shared::social::activities::changes::Changes;
use shared::social::activities::{ActivityKey, Published, RecordCache};

/// Activities of a page, with the one beyond it.
const PAGE: usize = 21;
/// Read units of a page beside its records: entries, who is hidden, what has changed.
const BESIDE: f64 = 3.0;
/// Pages that a reader answers in a second, with two round trips of 5 ms for each.
const PAGES_A_SECOND: f64 = 80.0;

#[derive(Debug, Args)]
pub(crate) struct Kept {
    /// Who follows whom: CSV or CSV.gz with the header `follower,followee`.
    #[arg(long, value_name = "FILE")]
    followers_csv: PathBuf,
    /// What they publish: CSV or CSV.gz with the header `t,author,kind` (t in unix seconds).
    #[arg(long, value_name = "FILE")]
    posts_csv: PathBuf,
    /// Pages a second, of all viewers together; several with commas between.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,10,100")]
    rates: Vec<f64>,
    /// Pages to read at each rate. The first half fills what is kept, and does not count.
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pages: usize,
    /// Bytes of a payload.
    #[arg(long, value_name = "N", default_value_t = 200)]
    payload_bytes: usize,
    /// What chance is drawn from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// What pages cost at one rate.
#[derive(Debug, Serialize)]
struct RateReport {
    pages_per_second: f64,
    readers: usize,
    all: PageMeans,
    /// Those with twenty activities and one beyond.
    full: PageMeans,
}

/// Means of some pages.
#[derive(Debug, Serialize)]
struct PageMeans {
    pages: usize,
    records: f64,
    /// Of these, how many the reader had not kept.
    records_read: f64,
    read_units: f64,
    /// Units if the reader has just begun, and has kept nothing.
    read_units_cold: f64,
    /// The share that took one round trip.
    one_round_trip: f64,
}

/// Sums of some pages.
#[derive(Debug, Default)]
struct Sums {
    pages: usize,
    records: usize,
    read: usize,
    at_once: usize,
}

impl Sums {
    fn add(&mut self, records: usize, read: usize) {
        self.pages += 1;
        self.records += records;
        self.read += read;
        self.at_once += usize::from(read == 0);
    }

    fn means(&self) -> PageMeans {
        let each = |sum: usize| sum as f64 / self.pages.max(1) as f64;
        PageMeans {
            pages: self.pages,
            records: each(self.records),
            records_read: each(self.read),
            read_units: BESIDE + each(self.read),
            read_units_cold: BESIDE + each(self.records),
            one_round_trip: each(self.at_once),
        }
    }
}

/// The graph and its posts.
struct Graph {
    followees: Vec<Vec<u32>>,
    /// By author: the seconds of their posts, in order.
    posts: Vec<Vec<i64>>,
    authors: Vec<ActorId>,
    first: i64,
    last: i64,
}

impl Kept {
    pub(super) fn run(self) -> Result<(), Failure> {
        let graph = self.graph()?;
        for rate in &self.rates {
            print_json(&self.measure(&graph, *rate)?)?;
        }
        Ok(())
    }

    fn graph(&self) -> Result<Graph, Failure> {
        let (follows, posts) = (File::open(&self.followers_csv)?, File::open(&self.posts_csv)?);
        let (mut ids, mut authors) = (HashMap::new(), Vec::new());
        let mut number = |author: ActorId| {
            let next = u32::try_from(authors.len()).unwrap_or(u32::MAX);
            *ids.entry(author.clone()).or_insert_with(|| {
                authors.push(author);
                next
            })
        };
        let bar = progress::counter("rows read");
        let mut viewers: HashMap<String, Vec<u32>> = HashMap::new();
        for row in follows_in(follows)? {
            let (viewer, actor) = row?;
            viewers.entry(viewer.as_str().to_owned()).or_default().push(number(actor));
            bar.inc(1);
        }
        let mut published: HashMap<u32, Vec<i64>> = HashMap::new();
        for row in posts_in(posts)? {
            let (seconds, author, _) = row?;
            published.entry(number(author)).or_default().push(seconds);
            bar.inc(1);
        }
        bar.finish_and_clear();
        let mut posts = vec![Vec::new(); authors.len()];
        for (author, mut seconds) in published {
            seconds.sort_unstable();
            posts[author as usize] = seconds;
        }
        let all = || posts.iter().flatten().copied();
        let (Some(first), Some(last)) = (all().min(), all().max()) else {
            return Err(Failure::Usage(format!("{}: no posts", self.posts_csv.display())));
        };
        let mut followees: Vec<_> = viewers.into_iter().collect();
        followees.sort_unstable();
        let followees = followees.into_iter().map(|(_, followees)| followees).collect();
        Ok(Graph { followees, posts, authors, first, last })
    }

    fn measure(&self, graph: &Graph, rate: f64) -> Result<RateReport, Failure> {
        let mut random = Rng::with_seed(self.seed);
        let count = (rate / PAGES_A_SECOND).ceil().max(1.0) as usize;
        let readers: Vec<_> = (0..count).map(|_| RecordCache::default()).collect();
        let nothing = Changes::default();
        readers.iter().for_each(|reader| reader.observe(&reader.begin(), &nothing));
        // The pages end when the posts do; before that there may be too few of them to fill timelines.
        let seconds = self.pages as f64 / rate;
        let begun = (graph.last as f64 - seconds).max(graph.first as f64);
        let payload = format!("\"{}\"", "x".repeat(self.payload_bytes.saturating_sub(2)));
        let payload = Payload::parse(&payload).map_err(|e| Failure::Usage(e.to_string()))?;
        let (mut all, mut full) = (Sums::default(), Sums::default());
        let bar = progress::bar(self.pages as u64, "pages read");
        for page in 0..self.pages {
            let now = (begun + page as f64 / rate).min(graph.last as f64) as i64;
            let reader = &readers[random.usize(..count)];
            let shown = graph.newest(&mut random, now);
            let mut missing = 0;
            for (author, second) in &shown {
                let author = &graph.authors[*author as usize];
                let name = format!("{author}-{second}");
                let activity_id =
                    ActivityId::new(name).map_err(|e| Failure::Usage(e.to_string()))?;
                let key = ActivityKey { activity_id, actor_id: author.clone() };
                if reader.get(&key).is_none() {
                    let at = Timestamp::from_unix_millis(second * 1_000);
                    let content =
                        Published { at, kind: Default::default(), payload: payload.clone() };
                    reader.keep(&key, &content, &nothing);
                    missing += 1;
                }
            }
            if page >= self.pages / 2 {
                all.add(shown.len(), missing);
                if shown.len() == PAGE {
                    full.add(shown.len(), missing);
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(RateReport {
            pages_per_second: rate,
            readers: count,
            all: all.means(),
            full: full.means(),
        })
    }
}

impl Graph {
    /// What is on top of the timeline of some viewer at a second.
    fn newest(&self, random: &mut Rng, now: i64) -> Vec<(u32, i64)> {
        let followees = &self.followees[random.usize(..self.followees.len())];
        let mut newest: Vec<_> = followees
            .iter()
            .flat_map(|author| {
                let posts = &self.posts[*author as usize];
                let until = posts.partition_point(|second| *second <= now);
                posts[..until].iter().rev().take(PAGE).map(|second| (*author, *second))
            })
            .collect();
        newest.sort_unstable_by_key(|(author, second)| std::cmp::Reverse((*second, *author)));
        newest.truncate(PAGE);
        newest
    }
}
