//! Words: of which sort an activity is, and what happened to a customer.

use super::text_value::text_value;

/// The longest kind, in characters.
pub const MAX_KIND_LENGTH: usize = 32;
/// The longest name of an event, in characters.
pub const MAX_EVENT_NAME_LENGTH: usize = 64;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident($most:expr), $(#[$error_doc:meta])* $error:ident;)*) => {$(
        text_value! {
            $(#[$doc])*
            $name, $error
        }

        $(#[$error_doc])*
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[error("expected 1 to {} characters of A-Z a-z 0-9 . _ + -", $most)]
        pub struct $error;

        impl $name {
            /// Takes a text of these characters.
            ///
            /// # Errors
            /// If it has others, or too many.
            pub fn new(text: impl Into<String>) -> Result<Self, $error> {
                let text = text.into();
                let known =
                    |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
                let is_word = (1..=$most).contains(&text.len()) && text.chars().all(known);
                if is_word { Ok(Self(text)) } else { Err($error) }
            }
        }
    )*};
}

words! {
    /// What sort of activity it is: 1 to 32 characters of `A-Z a-z 0-9 . _ + -`.
    Kind(MAX_KIND_LENGTH),
    /// The text is not a kind.
    KindError;
    /// What happened to a customer: 1 to 64 characters of `A-Z a-z 0-9 . _ + -`.
    EventName(MAX_EVENT_NAME_LENGTH),
    /// The text is not the name of an event.
    EventNameError;
}

impl Default for Kind {
    fn default() -> Self {
        Self("post".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for text in ["live", "a.b_c+d-9", &"k".repeat(32)] {
            assert!(Kind::new(text).is_ok(), "{text}");
        }
        for text in ["", "a b", "a:b", "\u{e9}", &"k".repeat(33)] {
            assert_eq!(Kind::new(text), Err(KindError), "{text}");
        }
    }

    #[test]
    fn names_are_longer_and_say_so() {
        assert!(EventName::new("n".repeat(64)).is_ok());
        let error = EventName::new("n".repeat(65)).map_err(|e| e.to_string());
        assert_eq!(error, Err("expected 1 to 64 characters of A-Z a-z 0-9 . _ + -".to_owned()));
    }
}
