//! The rules and the scores of a tenant that are in force, and what changes them.

use shared::history::tenants::{
    CountRule, Definitions, RuleDefinition, ScoreDefinition, When, Within,
};

use super::*;

/// What the forms begin with.
const BY_COUNT: &str = r#"{"event":"login","count":10,"within":"month"}"#;
const BY_SILENCE: &str = r#"{"silent_days":14}"#;
const MEASURES: &str = r#"[{"event":"login","days":28,"points":3,"most":60}]"#;

pub(super) async fn list(console: &Console, tenant: &str) -> Result<Markup, Failure> {
    let id = TenantId::new(tenant)?;
    let in_force = Definitions::new(&console.remote.ledger()?).in_force(&id).await?;
    let rule = |when| form_of("rule.defined", &[("tenant_id", tenant), ("when", when)]);
    let score = [("tenant_id", tenant), ("base", "40"), ("measures", MEASURES)];
    Ok(html! {
        section class="card" aria-label="Rules" {
            h2 { "Rules" }
            p class="quiet" { "A rule tells of a customer once for each period in which it is reached, or once they have been silent." }
            @if in_force.rules.is_empty() { p { "None." } }
            ul class="talk" { @for rule in &in_force.rules { (of_rule(console, tenant, rule)) } }
            p { "Define one: " a href=(rule(BY_COUNT)) { "so many events" } ", " a href=(rule(BY_SILENCE)) { "so many days of silence" } }
        }
        section class="card" aria-label="Scores" {
            h2 { "Scores" }
            p class="quiet" { "A score is from 0 to 100: its base, and points for what a customer did lately." }
            @if in_force.scores.is_empty() { p { "None." } }
            ul class="talk" { @for score in &in_force.scores { (of_score(console, tenant, score)?) } }
            p { "Define one: " a href=(form_of("score.defined", &score)) { "a base and measures" } }
        }
    })
}

fn of_rule(console: &Console, tenant: &str, rule: &RuleDefinition) -> Markup {
    let (id, when) = (rule.rule_id.as_str(), rule.when.to_string());
    let change = [("tenant_id", tenant), ("rule_id", id), ("when", when.as_str())];
    html! {
        li class="alert" {
            span {
                strong { (id) } ": "
                @match &rule.when {
                    When::Counted(CountRule { event, count, within }) => {
                        (count) " × " a href=(name_address(tenant, event.as_str())) { (event) } " " (in_words(*within))
                    },
                    When::Silent(days) => (layout::counted(u64::from(*days), "day of silence", "days of silence")),
                }
                " " span class="quiet" { "since " (named::instant(rule.at)) }
            }
            a href=(form_of("rule.defined", &change)) { "Change" }
            (delete(console, "rule.deleted", tenant, "f.rule_id", id))
        }
    }
}

fn in_words(within: Within) -> &'static str {
    match within {
        Within::Day => "within a day",
        Within::Week => "within a week",
        Within::Month => "within a month",
        Within::Ever => "at any time",
    }
}

fn of_score(console: &Console, tenant: &str, score: &ScoreDefinition) -> Result<Markup, Failure> {
    let id = score.score_id.as_str();
    // Its canonical text is JSON.
    let of: Value = serde_json::from_str(&score.score.to_string())?;
    let [base, measures, below] =
        ["base", "measures", "alert_below"].map(|name| layout::json(&of[name]));
    let mut change = vec![("tenant_id", tenant), ("score_id", id), ("base", base.as_str())];
    change.push(("measures", &measures));
    if !below.is_empty() {
        change.push(("alert_below", &below));
    }
    Ok(html! {
        li class="alert" {
            span {
                strong { (id) } ": " (base)
                @for measure in of["measures"].as_array().into_iter().flatten() { (points(tenant, measure)) }
                @if !below.is_empty() { "; tells below " (below) }
                " " span class="quiet" { "since " (named::instant(score.at)) }
            }
            a href=(form_of("score.defined", &change)) { "Change" }
            (delete(console, "score.deleted", tenant, "f.score_id", id))
        }
    })
}

/// What is added for one name.
fn points(tenant: &str, measure: &Value) -> Markup {
    let number = |name: &str| measure[name].as_i64().unwrap_or(0);
    let event = text(measure, "event");
    html! {
        (if number("points") < 0 { " − " } else { " + " }) (number("points").unsigned_abs()) " × "
        a href=(name_address(tenant, event)) { (event) }
        " in " (number("days")) " days (at most " (number("most")) ")"
    }
}

fn delete(console: &Console, command: &str, tenant: &str, member: &str, id: &str) -> Markup {
    let back = named::section("tenant", tenant, "rules");
    let given = [("f.tenant_id", tenant), (member, id), ("back", back.as_str())];
    let button = html! { button type="submit" class="second" name="type" value=(command) aria-label={ "Delete " (id) } { "Delete" } };
    layout::command(console, (None, None), &given, button)
}
