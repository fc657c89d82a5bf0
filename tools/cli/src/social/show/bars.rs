//! Bars of text, which show shares of a whole.

/// The least that a bar is wide.
const NARROWEST: usize = 10;

/// A bar of a width, of which a part out of a whole is filled. Something is never shown as nothing, and what is
/// not all never as all.
pub(super) fn bar(part: u64, whole: u64, width: usize) -> String {
    let width = width.max(NARROWEST);
    let share = if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let filled = (share * width as f64).round() as usize;
    let filled = match part {
        0 => 0,
        part if part >= whole => width,
        _ => filled.clamp(1, width - 1),
    };
    format!("{}{}", "█".repeat(filled), "░".repeat(width - filled))
}

/// A share in percent, with one digit behind the point.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let share = if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_part_is_large() {
        for (part, whole, filled) in [
            (0, 0, 0),
            (0, 7, 0),
            (1, 1_000_000, 1),
            (1, 4, 5),
            (1, 2, 10),
            (999_999, 1_000_000, 19),
            (7, 7, 20),
        ] {
            let bar = bar(part, whole, 20);
            assert_eq!(bar.chars().count(), 20, "{part} of {whole}");
            assert_eq!(bar.matches('█').count(), filled, "{part} of {whole}");
        }
        assert_eq!(bar(1, 2, 0).chars().count(), NARROWEST);
    }

    #[test]
    fn percents_have_one_digit_behind_the_point() {
        assert_eq!([percent(0, 0), percent(1, 3), percent(2, 2)], ["0.0 %", "33.3 %", "100.0 %"]);
    }
}
