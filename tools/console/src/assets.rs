//! Style, script and icon, embedded.
//!
//! The script is htmx 2.0.11 as its makers publish it (`htmx.min.js`), under the Zero-Clause BSD licence, whose text is
//! beside it. A test knows its digest.

use axum::response::IntoResponse;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

pub(super) const STYLE: &str = include_str!("assets/console.css");
pub(super) const SCRIPT: &str = include_str!("assets/htmx.min.js");
pub(super) const ICON: &str = include_str!("assets/icon.svg");

/// For a minute: the next version of the program is at the same address.
pub(super) fn asset(
    kind: &'static str,
    text: &'static str,
) -> impl IntoResponse + Clone + Send + Sync + 'static {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "private, max-age=60")], text)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use ring::digest::{SHA256, digest};

    use super::*;

    /// Who takes another version writes its digest here, as its makers publish it.
    const HTMX_2_0_11: &str = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717";

    #[test]
    fn the_script_is_what_its_makers_publish() {
        let hex = digest(&SHA256, SCRIPT.as_bytes()).as_ref().iter().fold(
            String::new(),
            |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            },
        );
        assert_eq!(hex, HTMX_2_0_11);
    }
}
