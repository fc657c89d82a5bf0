//! A run: one replay of a file, and which activities are its own.

use std::fmt;
use std::str::FromStr;

use shared::platform::values::{ActivityId, IdError, Payload, SortKey, Timestamp};
use shared::social::activities::Publish;

use super::posts::Post;

/// The name of a run: 1 to 32 characters of `A-Z a-z 0-9 . _`, the first a letter.
///
/// So the ids of two runs never meet: one without a name ends with digits, and one with a name ends with a
/// dash, a letter and no further dash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunName(String);

/// How activities are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Naming(pub(super) Option<RunName>);

/// One replay of a file: how its activities are called, and by how much its times are moved.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) naming: Naming,
    /// Milliseconds that are added to the file's times.
    pub(super) offset: i64,
}

impl FromStr for RunName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let admitted = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        let first = text.starts_with(|c: char| c.is_ascii_alphabetic());
        match first && text.len() <= 32 && text.chars().all(admitted) {
            true => Ok(Self(text.to_owned())),
            false => Err("expected 1 to 32 characters of A-Z a-z 0-9 . _, the first a letter"),
        }
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Naming {
    /// The id of a row's activity.
    pub(super) fn activity_id(&self, post: &Post) -> Result<ActivityId, IdError> {
        ActivityId::new(match &self.0 {
            None => post.activity_name(),
            Some(name) => format!("{}-{name}", post.activity_name()),
        })
    }

    /// The file's own time in an id, if it is called like this.
    fn seconds_of(&self, id: &ActivityId) -> Option<i64> {
        let name = match &self.0 {
            None => id.as_str(),
            Some(name) => id.as_str().strip_suffix(&name.0)?.strip_suffix('-')?,
        };
        let (_, digits) = name.rsplit_once('-')?;
        // Another way to write the same number would be another id.
        digits.parse().ok().filter(|seconds: &i64| seconds.to_string() == digits)
    }
}

impl Run {
    /// When a row is published.
    pub(super) fn published_at(&self, seconds: i64) -> Timestamp {
        Timestamp::from_unix_millis(seconds.saturating_mul(1000).saturating_add(self.offset))
    }

    /// A row as it is published.
    pub(super) fn publish(&self, post: Post) -> Result<Publish, IdError> {
        Ok(Publish {
            activity_id: self.naming.activity_id(&post)?,
            published_at: self.published_at(post.seconds),
            actor_id: post.author,
            kind: post.kind,
            payload: Payload::default(),
        })
    }

    /// True for an activity of this run: its id has a time of the file, and it was published at that time,
    /// moved as this run moves times, to the millisecond.
    pub(super) fn owns(&self, SortKey { published_at, activity_id }: &SortKey) -> bool {
        let seconds = self.naming.seconds_of(activity_id);
        seconds.is_some_and(|seconds| self.published_at(seconds) == *published_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: Option<&str>) -> Run {
        Run { naming: Naming(name.map(|name| name.parse().unwrap())), offset: 5_123 }
    }

    fn key(id: &str, millis: i64) -> SortKey {
        let published_at = Timestamp::from_unix_millis(millis);
        SortKey { published_at, activity_id: ActivityId::new(id).unwrap() }
    }

    #[test]
    fn a_run_owns_what_it_publishes_and_nothing_else() {
        for name in [None, Some("second"), Some("x.2_y")] {
            for author in ["anna", "anna-7", "anna-7-second", "-"] {
                let run = run(name);
                let (author, kind) = (author.parse().unwrap(), "post".parse().unwrap());
                let post = Post { line: 2, seconds: 1_000, author, kind };
                let sort_key = run.publish(post).unwrap().sort_key();
                assert!(run.owns(&sort_key), "{sort_key}");
                for other in [None, Some("second"), Some("x.2_y")].map(super::tests::run) {
                    let same = other.naming == run.naming;
                    assert_eq!(other.owns(&sort_key), same, "{sort_key} {other:?}");
                    assert!(!Run { offset: 5_124, ..other }.owns(&sort_key), "{sort_key}");
                }
            }
        }
        for id in ["anna", "anna-", "anna-x", "anna-01000", "anna-1000-other"] {
            assert!(!run(None).owns(&key(id, 1_005_123)), "{id}");
        }
    }

    #[test]
    fn names_of_runs() {
        for good in ["a", "Second.run_2", &"x".repeat(32)] {
            assert_eq!(good.parse::<RunName>().unwrap().to_string(), good);
        }
        for bad in ["", "2", "_a", "a-b", "a b", "a#", &"x".repeat(33)] {
            assert!(bad.parse::<RunName>().is_err(), "{bad}");
        }
    }
}
