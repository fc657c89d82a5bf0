//! Progress of long work: on a terminal a bar with rate and time left, otherwise nothing. A bar goes when it is dropped.

use std::fmt::Write;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

tokio::task_local! {
    static UNSEEN: ();
}

/// Does something without bars, for whoever is not at the terminal of this process.
pub async fn unseen<T>(work: impl Future<Output = T>) -> T {
    UNSEEN.scope((), work).await
}

/// A bar for `total` of something.
pub fn bar(total: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(total).with_message(what);
    styled(bar, "{msg} {wide_bar} {human_pos} of {human_len} ({rate}, {eta} left)")
}

/// A count of something whose end is not known.
pub fn counter(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what);
    styled(bar, "{msg} {spinner} {human_pos} ({rate})")
}

/// The items, under a bar that shows how many of them have been taken.
pub(crate) fn each<T>(
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    what: &'static str,
) -> impl Iterator<Item = T> {
    let items = items.into_iter();
    bar(items.len() as u64, what).wrap_iter(items)
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if UNSEEN.try_with(|()| ()).is_ok() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let Ok(style) = ProgressStyle::with_template(template) else { return bar };
    bar.with_style(style.with_key("rate", |state: &ProgressState, to: &mut dyn Write| {
        // What is written to is in memory.
        let _ = to.write_str(&rate(state.per_sec()));
    }))
}

/// A rate in whole numbers: `7,173/s`.
fn rate(per_second: f64) -> String {
    format!("{}/s", HumanCount(per_second.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_whole_numbers() {
        for (per_second, shown) in
            [(7_172.852_9, "7,173/s"), (0.0, "0/s"), (0.4, "0/s"), (1_234_567.8, "1,234,568/s")]
        {
            assert_eq!(rate(per_second), shown);
        }
        assert_eq!(rate(f64::NAN), "0/s");
    }
}
