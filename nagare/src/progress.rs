//! Progress of long work: on a terminal a bar with rate and time left, otherwise nothing.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar for `total` of something.
pub(crate) fn bar(total: u64, what: &'static str) -> ProgressBar {
    let template = "{msg} {wide_bar} {human_pos} of {human_len} ({per_sec}, {eta} left)";
    let bar = ProgressBar::new(total).with_message(what);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A count of something whose end is not known.
pub(crate) fn counter(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what);
    match ProgressStyle::with_template("{msg} {spinner} {human_pos} ({per_sec})") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
