//! Follows: of the commands on one edge the latest wins, whatever order they arrive in.

use crate::values::Timestamp;

/// The state of an edge follower → followee. The edge of an unfollow stays, with its instant, so that an older follow that arrives
/// late cannot win.
///
/// The order of the type is the order of victory: by time, and on a tie the unfollow wins
/// (`true < false` turned round by [`Ord`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowState {
    /// True after `follow.created`, false after `follow.deleted`.
    pub following: bool,
    /// The `at` of the command that won.
    pub changed_at: Timestamp,
}

impl Ord for FollowState {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.changed_at, !self.following).cmp(&(other.changed_at, !other.following))
    }
}

impl PartialOrd for FollowState {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_wins_and_on_a_tie_the_unfollow() {
        let state = |following, millis| FollowState {
            following,
            changed_at: Timestamp::from_unix_millis(millis),
        };
        assert!(state(true, 2) > state(false, 1));
        assert!(state(false, 2) > state(true, 1));
        assert!(state(false, 1) > state(true, 1));
    }
}
