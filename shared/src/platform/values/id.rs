//! Identifiers. Each kind of id is a type of its own, so that an actor cannot be passed for an
//! activity, and none can exist that docs/PRODUCERS.md would reject.

use super::text_value::text_value;

/// The longest id, in characters (all of them ASCII, so also in bytes).
pub const MAX_ID_LENGTH: usize = 128;

/// The longest choice of a poll, in characters.
pub const MAX_CHOICE_LENGTH: usize = 64;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Nothing, or more characters than there may be.
    #[error("expected 1 to {most} characters, got {found}")]
    Length {
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    #[error("expected only A-Z a-z 0-9 . _ : @ - | +, got {found:?} as character {position}")]
    Character {
        /// The first character that is not allowed.
        found: char,
        /// Its place, counted from 1.
        position: usize,
    },
    /// `.` or `..`, which no path can carry.
    #[error("expected another id than `.` and `..`: paths cannot carry these")]
    Dots,
}

/// True for the characters of ids. They include those of identity providers (`auth0|5f7c`,
/// `anna+live@example.org`). `#` is not among them, because keys are joined with it, and neither is
/// `~`, which sorts after all of them.
pub const fn is_id_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '@' | '-' | '|' | '+')
}

/// By the byte, whether ids may contain it.
const IS_ID_BYTE: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0_u8);
    while byte < 128 {
        table[byte as usize] = is_id_character(byte as char);
        byte += 1;
    }
    table
};

fn check(text: &str, most: usize) -> Result<(), IdError> {
    // By a table, because ids are made by the thousand; only in one that is refused a character has to be found.
    if !text.bytes().fold(true, |all, byte| all & IS_ID_BYTE[usize::from(byte)])
        && let Some((index, found)) = text.chars().enumerate().find(|(_, c)| !is_id_character(*c))
    {
        return Err(IdError::Character { found, position: index + 1 });
    }
    if matches!(text, "." | "..") {
        return Err(IdError::Dots);
    }
    match text.len() {
        found if (1..=most).contains(&found) => Ok(()),
        found => Err(IdError::Length { found, most }),
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($most:expr);)*) => {$(
        text_value! {
            $(#[$doc])*
            $name, IdError
        }

        impl $name {
            /// Takes a text that obeys the rules of ids.
            ///
            /// # Errors
            /// [`IdError`] says what was expected and what was found.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                check(&text, $most)?;
                Ok(Self(text))
            }
        }
    )*};
}

ids! {
    /// Somebody who reads a timeline. The follower of an edge is a viewer.
    ViewerId(MAX_ID_LENGTH);
    /// Somebody who publishes. The followee of an edge is an actor.
    ActorId(MAX_ID_LENGTH);
    /// What was published. Unique across actors.
    ActivityId(MAX_ID_LENGTH);
    PollId(MAX_ID_LENGTH);
    /// One of the answers to a poll. Like an id, but shorter.
    Choice(MAX_CHOICE_LENGTH);
    /// A fight of many viewers against one boss.
    BattleId(MAX_ID_LENGTH);
    /// A blow in a battle. Unique within it.
    HitId(MAX_ID_LENGTH);
    RoomId(MAX_ID_LENGTH);
    /// What somebody said in a room. Unique within it.
    MessageId(MAX_ID_LENGTH);
    /// A team that reports what its customers do.
    TenantId(MAX_ID_LENGTH);
    CustomerId(MAX_ID_LENGTH);
    /// What a customer did. Unique for an instant of theirs.
    EventId(MAX_ID_LENGTH);
    RuleId(MAX_ID_LENGTH);
    ScoreId(MAX_ID_LENGTH);
    AlertId(MAX_ID_LENGTH);
}

impl AlertId {
    pub fn of_digest(digest: u128) -> Self {
        Self(format!("{digest:032x}"))
    }
}

/// Messages are in the order of [sort keys](super::SortKey), as activities are.
impl From<MessageId> for ActivityId {
    fn from(id: MessageId) -> Self {
        Self(id.0)
    }
}

impl From<ActivityId> for MessageId {
    fn from(id: ActivityId) -> Self {
        Self(id.0)
    }
}

/// Events are in the order of sort keys, too.
impl From<EventId> for ActivityId {
    fn from(id: EventId) -> Self {
        Self(id.0)
    }
}

impl From<ActivityId> for EventId {
    fn from(id: ActivityId) -> Self {
        Self(id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_alphabet_and_both_lengths() {
        for text in ["a", "...", "A-Z.a_z:0@9", "auth0|5f7c", "a+b@c", "|", "+", &"x".repeat(128)] {
            assert_eq!(ViewerId::new(text).map(String::from), Ok(text.to_owned()));
        }
    }

    #[test]
    fn refuses_the_rest_and_says_where() {
        let long = "x".repeat(129);
        let cases = [
            ("", IdError::Length { found: 0, most: 128 }),
            (long.as_str(), IdError::Length { found: 129, most: 128 }),
            ("a#b", IdError::Character { found: '#', position: 2 }),
            ("a~b", IdError::Character { found: '~', position: 2 }),
            ("a\n", IdError::Character { found: '\n', position: 2 }),
            ("\u{1f389}", IdError::Character { found: '\u{1f389}', position: 1 }),
            ("e\u{301}", IdError::Character { found: '\u{301}', position: 2 }),
            ("\u{e9}", IdError::Character { found: '\u{e9}', position: 1 }),
            ("a b", IdError::Character { found: ' ', position: 2 }),
            (".", IdError::Dots),
            ("..", IdError::Dots),
        ];
        for (text, expected) in cases {
            assert_eq!(ActivityId::new(text), Err(expected), "{text:?}");
        }
        assert!(Choice::new("x".repeat(64)).is_ok());
        let long = Err(IdError::Length { found: 65, most: 64 });
        assert_eq!(Choice::new("x".repeat(65)), long);
    }
}
