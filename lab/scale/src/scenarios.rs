//! What is tried.

use crate::report::Report;
use crate::setup::{Prepared, Settings, Setup};
use crate::stage::Stage;

#[derive(Debug, Clone, Copy)]
enum Happening {
    Publish(f64),
    /// The same, with the edges in M partitions from earlier heat.
    PublishSplit(f64, usize),
    /// The same, and a tenth of those who get an entry look within a minute.
    PublishWatched(f64),
    /// One actor deletes an activity that N followers have.
    Delete(f64),
    /// N viewers read within M seconds.
    Read(f64, f64),
    /// N viewers follow one actor within M seconds, who has published L activities.
    Follow(f64, f64, f64),
    /// N actors publish within M seconds.
    Crowd(usize, f64),
    /// N entries of one viewer change, at M write units each.
    OneTimeline(f64, f64),
}

#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    about: &'static str,
    prepared: Prepared,
    happening: Happening,
}

#[must_use]
pub fn all() -> Vec<Scenario> {
    use Happening::{
        Crowd, Delete, Follow, OneTimeline, Publish, PublishSplit, PublishWatched, Read,
    };
    use Prepared::{Cold, Raised, Warm};
    let hour = 3_600.0;
    let scenarios = [
        ("fan-out-220k-cold", "220,000 followers", Cold, Publish(220e3)),
        ("fan-out-220k-warm", "220,000 followers", Warm, Publish(220e3)),
        ("fan-out-100k-cold", "100,000 followers", Cold, Publish(100e3)),
        ("fan-out-100k-warm", "100,000 followers", Warm, Publish(100e3)),
        ("fan-out-1m-cold", "a million followers", Cold, Publish(1e6)),
        ("fan-out-1m-warm", "a million followers", Warm, Publish(1e6)),
        ("fan-out-5m-cold", "5 million followers", Cold, Publish(5e6)),
        ("fan-out-5m-warm", "5 million followers", Warm, Publish(5e6)),
        ("fan-out-5m-raised", "5 million followers", Raised, Publish(5e6)),
        ("fan-out-50m-cold", "50 million followers", Cold, Publish(50e6)),
        ("fan-out-50m-warm", "50 million followers", Warm, Publish(50e6)),
        ("fan-out-50m-raised", "50 million followers", Raised, Publish(50e6)),
        (
            "fan-out-50m-split",
            "50 million followers, whose edges were hot before",
            Raised,
            PublishSplit(50e6, 16),
        ),
        (
            "fan-out-50m-watched",
            "50 million followers, a tenth of whom look within a minute",
            Warm,
            PublishWatched(50e6),
        ),
        ("delete-5m-warm", "a delete, 5 million followers", Warm, Delete(5e6)),
        ("readers-100m-cold", "100 million pages in an hour", Cold, Read(100e6, hour)),
        ("readers-100m-warm", "100 million pages in an hour", Warm, Read(100e6, hour)),
        ("readers-100m-raised", "100 million pages in an hour", Raised, Read(100e6, hour)),
        (
            "follows-1m-cold",
            "a million follows of one actor in 10 minutes, 100 activities each",
            Cold,
            Follow(1e6, 600.0, 100.0),
        ),
        (
            "follows-1m-warm",
            "a million follows of one actor in 10 minutes, 100 activities each",
            Warm,
            Follow(1e6, 600.0, 100.0),
        ),
        (
            "follows-10m-raised",
            "10 million follows of one actor in an hour, 100 activities each",
            Raised,
            Follow(10e6, hour, 100.0),
        ),
        ("actors-1000-cold", "a thousand actors go live in a minute", Cold, Crowd(1_000, 60.0)),
        ("actors-1000-warm", "a thousand actors go live in a minute", Warm, Crowd(1_000, 60.0)),
        (
            "new-viewer-cold",
            "one viewer follows 50 actors of 3,000 activities",
            Cold,
            OneTimeline(150e3, 1.0),
        ),
        (
            "unfollow-30k-cold",
            "one viewer unfollows an actor of 30,000 activities",
            Cold,
            OneTimeline(30e3, 2.0),
        ),
    ];
    let scenario =
        |(name, about, prepared, happening)| Scenario { name, about, prepared, happening };
    scenarios.into_iter().map(scenario).collect()
}

impl Scenario {
    #[must_use]
    pub fn run(&self, settings: &Settings) -> Report {
        let setup = Setup::new(self.prepared, settings);
        let stage = Stage { setup, seed: settings.seed, copies: settings.copies };
        let report = self.report(&setup);
        match self.happening {
            Happening::Publish(followers) => stage.publish(report, followers, 1),
            Happening::PublishSplit(followers, pieces) => stage.publish(report, followers, pieces),
            Happening::PublishWatched(followers) => stage.watched(report, followers),
            Happening::Delete(followers) => stage.delete(report, followers),
            Happening::Read(pages, seconds) => stage.read(report, pages, seconds),
            Happening::Follow(follows, seconds, activities) => {
                stage.follow(report, follows, seconds, activities)
            }
            Happening::Crowd(actors, seconds) => stage.crowd(report, actors, seconds),
            Happening::OneTimeline(entries, each) => stage.one_timeline(report, entries, each),
        }
    }

    fn report(&self, setup: &Setup) -> Report {
        Report {
            scenario: self.name,
            about: self.about,
            prepared: self.prepared,
            writers: setup.writers,
            segments: setup.product.limits.segments,
            seconds: 0.0,
            deliveries: Vec::new(),
            turned_away: None,
            collections: Vec::new(),
            reads: 0.0,
            writes: 0.0,
            dollars: 0.0,
            partitions: [0; 3],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Rules;

    fn settings(seed: u64) -> Settings {
        Settings { seed, rules: Rules::default(), segments: None, writers: None, copies: 4 }
    }

    fn run(name: &str) -> Report {
        let scenario = all().into_iter().find(|scenario| scenario.name == name);
        scenario.expect("a scenario").run(&settings(1))
    }

    fn play(happening: Happening, seed: u64) -> Report {
        let scenario = Scenario { name: "", about: "", prepared: Prepared::Warm, happening };
        scenario.run(&settings(seed))
    }

    /// docs/OPERATIONS.md: 55 s at 4,000 writes a second, 5.5 s at 40,000.
    #[test]
    fn a_known_fan_out_takes_as_long_as_documented() {
        let last = |name| run(name).deliveries[0].last;
        let (cold, warm) = (last("fan-out-220k-cold"), last("fan-out-220k-warm"));
        assert!((55.0..55.6).contains(&cold), "{cold}");
        assert!((5.5..6.1).contains(&warm), "{warm}");
    }

    #[test]
    fn every_follower_gets_one_entry_and_every_edge_is_read_twice() {
        let report = run("fan-out-1m-warm");
        assert_eq!(report.deliveries[0].count, 1_000_000);
        let line = |units| {
            let name = if units == "write" { "timelines" } else { "followers#ACTOR" };
            let mut lines = report.collections.iter();
            lines
                .find(|line| line.collection == name && line.units == units)
                .expect("a line")
                .served
        };
        // 125 bytes an edge: 77 units a page of 2,500.
        assert_eq!((line("write"), line("read")), (1e6, 1e6 * 2.0 * 77.0 / 2_500.0));
    }

    #[test]
    fn every_follow_comes_into_effect_and_is_paid_for_once() {
        let report = run("follows-1m-warm");
        assert_eq!(report.deliveries[0].count, 1_000_000);
        assert_eq!(
            report.writes, 105e6,
            "hidden, an edge, its line in the index, its row, a hundred entries, shown"
        );
    }

    #[test]
    fn every_page_is_served_or_turned_away() {
        let report = play(Happening::Read(3e6, 60.0), 1);
        let [refused, failed] = report.turned_away.expect("pages");
        let served = report.deliveries[0].count;
        assert!(served > 0 && refused > 0, "{served} {refused} {failed}");
        assert!((served + refused + failed).abs_diff(3_000_000) < 5, "{served} {refused} {failed}");
    }

    #[test]
    fn one_seed_is_one_story() {
        let report = |seed| play(Happening::Crowd(50, 5.0), seed).to_string();
        assert_eq!(report(7), report(7));
        assert_ne!(report(7), report(8));
    }
}
