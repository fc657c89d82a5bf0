//! How Nagare is deployed, and what a scenario may change.

use fanout_writer::FanOutLimits;
use serde::Serialize;

use crate::product::Product;
use crate::reading::Api;
use crate::table::{Rules, Warmth};

/// `WriterMaximumConcurrency`: the template's default, and what `samconfig.toml` gives `prod`.
pub const WRITERS: [usize; 2] = [10, 20];
/// The same for an account whose quotas were raised.
const MANY_WRITERS: usize = 50;
/// `ApiRateLimit`: the template's default.
pub const API_RATE: f64 = 1_000.0;
/// Invocations at once of a new AWS account.
const CONCURRENCY: f64 = 1_000.0;

/// What was prepared before the scenario begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Prepared {
    /// Nothing: new tables, the template's defaults.
    Cold,
    /// What the account's default quotas allow: 40,000 units a second a table, `prod`'s writers.
    Warm,
    /// Quotas were raised: 400,000 entries a second, and as much of everything else as that needs.
    Raised,
}

/// What is tried instead of what is deployed.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Where partition keys lie, and who has how many followers.
    pub seed: u64,
    pub rules: Rules,
    /// The most segments of a fan-out.
    pub segments: Option<usize>,
    /// Writers at once.
    pub writers: Option<usize>,
    /// Copies of the change log, of which each page reads one.
    pub copies: usize,
}

/// A deployment.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub prepared: Prepared,
    pub timelines: Warmth,
    pub ledger: Warmth,
    /// Writers at once.
    pub writers: usize,
    pub api: Api,
    pub rules: Rules,
    pub product: Product,
}

impl Setup {
    /// A deployment that was prepared for something, under settings.
    #[must_use]
    pub fn new(prepared: Prepared, settings: &Settings) -> Self {
        let [default, prod] = WRITERS;
        let api = Api { rate: API_RATE, concurrency: CONCURRENCY };
        let (timelines, ledger, writers, api) = match prepared {
            Prepared::Cold => (Warmth::COLD, Warmth::COLD, default, api),
            Prepared::Warm => {
                let full = Warmth::prepared(40_000.0, 40_000.0);
                (full, full, prod, Api { rate: 10_000.0, ..api })
            }
            Prepared::Raised => {
                let timelines = Warmth::prepared(100_000.0, 400_000.0);
                let ledger = Warmth::prepared(1_500_000.0, 40_000.0);
                (timelines, ledger, MANY_WRITERS, Api { rate: 40_000.0, concurrency: 10_000.0 })
            }
        };
        let deployed = FanOutLimits::default();
        let limits =
            FanOutLimits { segments: settings.segments.unwrap_or(deployed.segments), ..deployed };
        let writers = settings.writers.unwrap_or(writers);
        let (rules, product) = (settings.rules, Product::new(limits));
        Self { prepared, timelines, ledger, writers, api, rules, product }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = include_str!("../../../template.yaml");
    const CONFIGURATION: &str = include_str!("../../../samconfig.toml");

    fn default_of(parameter: &str) -> &str {
        let (_, rest) = TEMPLATE.split_once(&format!("\n  {parameter}:\n")).unwrap();
        let (_, value) = rest.split_once("Default: ").unwrap();
        value.lines().next().unwrap()
    }

    #[test]
    fn deployments_are_those_of_the_template() {
        let [default, prod] = WRITERS.map(|writers| writers.to_string());
        assert_eq!(default_of("WriterMaximumConcurrency"), default);
        assert_eq!(default_of("ApiRateLimit"), format!("{API_RATE}"));
        let of_prod = CONFIGURATION.split_once("[prod.deploy").unwrap().1;
        assert!(of_prod.contains(&format!("WriterMaximumConcurrency={prod}")));
    }
}
