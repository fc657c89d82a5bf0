//! A plot, and the table that says the same.

use maud::{Markup, html};

use super::{Line, Plot, short};

/// The height of a plot, in its own units. It is as wide as it has points.
const HEIGHT: f64 = 40.0;
/// The minutes of a row of a table.
const ROW: usize = 5;

pub(super) fn figure(plot: &Plot) -> Markup {
    let highest =
        plot.lines.iter().flat_map(|line| &line.points).flatten().copied().fold(0.0, f64::max);
    let present = |line: &Line| line.present.map_or("none".to_owned(), short);
    let said: Vec<_> =
        plot.lines.iter().map(|line| format!("{} {}", line.name, present(line))).collect();
    let label = format!(
        "{}, {}, over the last {}. In the last minute: {}. At most {}.",
        plot.title,
        plot.unit,
        span(plot),
        said.join(", "),
        short(highest)
    );
    let points = plot.lines.iter().map(|line| line.points.len()).max().unwrap_or_default();
    let size = format!("0 0 {} {HEIGHT}", points.saturating_sub(1));
    html! {
        figure class="card" {
            figcaption { (plot.title) span class="quiet" { ", " (plot.unit) } }
            p class="now" {
                @for line in &plot.lines {
                    strong { (present(line)) } " "
                    @if plot.lines.len() > 1 { span class="quiet" { (line.name) " " } }
                }
            }
            svg class="plot" role="img" viewBox=(size) preserveAspectRatio="none" aria-label=(label) {
                @for (index, line) in plot.lines.iter().enumerate() {
                    path class=(format!("line-{index}")) d=(path(&line.points, highest)) {}
                }
            }
            p class="quiet hint" { "the last " (span(plot)) ", at most " (short(highest)) }
        }
    }
}

/// The time that it shows.
fn span(plot: &Plot) -> String {
    if plot.minutes == 60 { "hour".to_owned() } else { format!("{} minutes", plot.minutes) }
}

/// A line through the values, with gaps where there is none.
fn path(values: &[Option<f64>], highest: f64) -> String {
    let (mut path, mut is_drawing) = (String::new(), false);
    for (x, value) in values.iter().enumerate() {
        let Some(value) = value else {
            is_drawing = false;
            continue;
        };
        let y = HEIGHT - 1.0 - value / highest.max(f64::MIN_POSITIVE) * (HEIGHT - 2.0);
        // A single value is a dash.
        let start = if is_drawing { format!("L{x} {y:.1}") } else { format!("M{x} {y:.1}h.5") };
        path.push_str(&start);
        is_drawing = true;
    }
    path
}

pub(super) fn table(plot: &Plot) -> Markup {
    let rows = plot.lines.iter().map(|line| line.rows.len()).max().unwrap_or_default();
    html! {
        details {
            summary { (plot.title) ", " (plot.unit) }
            div class="scroll" {
                table {
                    thead { tr { th scope="col" { "Minutes ago" } @for line in &plot.lines { th scope="col" { (line.name) } } } }
                    tbody {
                        @for row in (0..rows).rev() {
                            tr {
                                th scope="row" { (ROW * (rows - row)) " to " (ROW * (rows - row - 1)) }
                                @for line in &plot.lines {
                                    td { (line.rows.get(row).copied().flatten().map_or("–".to_owned(), short)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_gaps_where_there_is_nothing() {
        let values = [Some(0.0), Some(10.0), None, Some(5.0)];
        assert_eq!(path(&values, 10.0), "M0 39.0h.5L1 1.0M3 20.0h.5");
        assert_eq!(path(&[None, None], 0.0), "");
        assert_eq!(path(&[Some(0.0)], 0.0), "M0 39.0h.5");
    }
}
