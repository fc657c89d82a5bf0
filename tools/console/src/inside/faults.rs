//! What goes wrong on purpose: a form with each setting, and how often each has struck.

use nagare_telemetry::LocalTelemetry;
use nagare_telemetry::faults::{Faults, FaultsError, SETTINGS};

use super::elsewhere;
use crate::prelude::*;

const TITLE: &str = "Faults";
/// What is set with one button, and what it is like.
const PRESETS: [(&str, &str); 5] = [
    ("all=1%", "one call in a hundred, in each way"),
    ("all=5%,slow=20ms", "a bad day"),
    ("writes=50", "tables that take 50 writes a second"),
    ("queue-errors=20%,queue-resets=20%", "a queue that stumbles"),
    ("duplicates=30%,late=30%,lost-deletes=10%", "deliveries twice, late, again"),
];
const PRESET: &str = "preset";
const OFF: &str = "off";
/// What precedes the name of a setting in a form.
const SETTING: &str = "f.";

pub(crate) async fn view(State(console): Here) -> Page {
    let content = match (&console.telemetry, &console.account) {
        (Some(inside), _) => {
            let faults = inside.faults.get();
            let value = |name: &str| faults.settings().find(|(of, _)| of.name == name)?.1;
            page(&console, inside, &value)
        }
        (None, None) => layout::problem(&elsewhere(&console)),
        (None, Some(_)) => html! {
            p role="status" { "A stack on AWS has no such switch. What it survives, and how that is tested, is in " code { "docs/FAULTS.md" } "." }
        },
    };
    layout::page(&console, Place::Faults, TITLE, content)
}

pub(crate) async fn set(State(console): Here, Posted { fields, .. }: Posted) -> Response {
    let Some(inside) = &console.telemetry else { return StatusCode::NOT_FOUND.into_response() };
    let wrong = match wanted(&fields) {
        Ok(faults) => {
            inside.faults.set(faults);
            return Redirect::to("/console/faults").into_response();
        }
        Err(wrong) => wrong,
    };
    let value = |name: &str| fields.get(&format!("{SETTING}{name}")).map(str::to_owned);
    let content = html! {
        (layout::problem(&wrong))
        p { "Nothing was changed." }
        (page(&console, inside, &value))
    };
    let page = layout::page(&console, Place::Faults, TITLE, content);
    (StatusCode::BAD_REQUEST, page).into_response()
}

/// What a form asks for: a preset, or what its fields say.
fn wanted(fields: &Fields) -> Result<Faults, FaultsError> {
    match fields.get(PRESET) {
        Some(OFF) => return Ok(Faults::default()),
        Some(settings) => return settings.parse(),
        None => {}
    }
    let mut faults = Faults::default();
    for setting in SETTINGS {
        if let Some(value) = fields.get(&format!("{SETTING}{}", setting.name)) {
            faults.set(setting.name, value)?;
        }
    }
    Ok(faults)
}

fn page(
    console: &Console,
    inside: &LocalTelemetry,
    value: &dyn Fn(&str) -> Option<String>,
) -> Markup {
    let (faults, injected) = (inside.faults.get(), inside.faults.injected());
    let count =
        |name: &str| injected.iter().find(|(other, _)| *other == name).map_or(0, |(_, n)| *n);
    html! {
        p class="lead" {
            "Calls and deliveries fail as you say here, at once and without a restart. Whatever fails, every accepted \
             command ends in effect or as a dead letter, and every timeline is right."
        }
        @if faults.is_off() { p role="status" class="good" { "No faults are injected." } }
        @else {
            p role="status" { "Active: " strong class="code" { (faults) } }
            p class="quiet" { "The same from the start: " code { "nagare up --faults=" (faults) } }
        }
        div class="row" {
            (preset(console, OFF, "No faults", if faults.is_off() { "second" } else { "danger" }))
            @for (settings, label) in PRESETS { (preset(console, settings, label, "second")) }
        }
        form method="post" action={ (PATH) "faults" } class="card" aria-label="Settings" {
            (layout::token(console))
            div {
                table class="stack" {
                    caption { "Faults, and how often each was injected since the start" }
                    thead { tr { th scope="col" { "Setting" } th scope="col" { "Value" } th scope="col" { "Injected" } } }
                    tbody {
                        @for setting in SETTINGS {
                            @let id = format!("{SETTING}{}", setting.name);
                            @let hint = format!("hint.{}", setting.name);
                            tr {
                                th scope="row" {
                                    label for=(id) { (setting.name) }
                                    p #(hint) class="hint" { (setting.meaning) }
                                }
                                td { input id=(id) name=(id) value=[value(setting.name)] placeholder=(setting.example()) aria-describedby=(hint) title=(setting.expected()) autocomplete="off"; }
                                td data-label="Injected" { (count(setting.name)) }
                            }
                        }
                    }
                }
            }
            button type="submit" { "Apply" }
        }
    }
}

fn preset(console: &Console, settings: &str, label: &str, class: &str) -> Markup {
    html! {
        form method="post" action={ (PATH) "faults" } {
            (layout::token(console))
            input type="hidden" name=(PRESET) value=(settings);
            button type="submit" class=(class) title=(settings) { (label) }
        }
    }
}
