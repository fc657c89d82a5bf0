//! Whether a stack has the event history.

use std::str::FromStr;

/// The event history is a product of its own: a stack may do without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HistorySwitch {
    #[default]
    On,
    Off,
}

/// The text is neither `on` nor `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected on or off")]
pub struct HistorySwitchError;

impl HistorySwitch {
    pub fn is_on(self) -> bool {
        self == Self::On
    }

    /// The word, as the template's `History` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl FromStr for HistorySwitch {
    type Err = HistorySwitchError;

    fn from_str(text: &str) -> Result<Self, HistorySwitchError> {
        [Self::On, Self::Off].into_iter().find(|it| it.as_str() == text).ok_or(HistorySwitchError)
    }
}
