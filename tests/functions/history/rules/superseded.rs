//! What a definition has given goes when another takes its place, and how far one has decided is not for another.

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use futures::future::join_all;
use nagare_local::faults::{Fault, Faults, Faulty};
use serde_json::Value;
use shared::history::tenants::{Decided, Definitions, RuleChange, RuleDefinition, When};
use tests::World;

use super::{decide, defined, listed, logins, said, summary, tenant};
use crate::platform::blows::{Blow, Steps};

/// The rows of alerts, listed or not, and their claims.
fn rows(world: &World) -> usize {
    let (_, answer) = world.engine.call("Scan", br#"{"TableName":"nagare-ledger"}"#);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let items = answer["Items"].as_array().unwrap().iter();
    let is_alert = |pk: &str| pk.starts_with("tenant#acme#alert");
    items.filter(|item| is_alert(item["pk"]["S"].as_str().unwrap())).count()
}

#[tokio::test]
async fn a_rule_that_is_defined_again_and_again_keeps_the_alerts_of_one_definition() {
    let world = World::new();
    let days = (1..=9).map(|day| format!("2026-11-0{day}T12:00:00Z")).collect::<Vec<_>>();
    let counted = summary(&days.iter().map(String::as_str).collect::<Vec<_>>());
    for minute in 10..40 {
        let within = ["day", "week", "month", "ever"][minute % 4];
        world.done(&[defined("a", &format!("11:{minute}"), &logins(1, within))]).await;
        decide(&world, "c-9", &counted).await;
        let listed = listed(&world, "").await;
        assert_eq!(said(&listed).len(), [9, 3, 1, 1][minute % 4]);
        assert_eq!(rows(&world), 2 * listed.len(), "at {minute}");
    }
}

/// A definition takes another's place in a decision that dies, or whose call goes wrong, at a call. Returns how many there were.
async fn superseded(blow: Option<(usize, Blow)>) -> usize {
    let steps = Steps::with(blow);
    let world = World::behind(|inside| steps.before(inside));
    let counted = summary(&["2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"]);
    let rules = super::rules(&world);
    let of = |minute: u8, count: u64| RuleDefinition {
        rule_id: "a".parse().unwrap(),
        at: format!("2026-11-20T11:0{minute}:00Z").parse().unwrap(),
        recorded_at: world.clock.now(),
        when: When::parse(&logins(count, "day").to_string()).unwrap(),
    };
    let (first, second, nothing) = (of(0, 1), of(1, 1), of(2, 5));
    let on = super::on(&super::customer("c-9"), &counted);
    for rule in [&first, &second, &nothing] {
        for _ in 0..3 {
            let decision = rules.decide_again(rule, &on, world.clock.now());
            tokio::select! {
                decided = decision => if decided.is_ok() { break },
                () = steps.died() => {}
            }
        }
        let alerts = if rule == &nothing { 0 } else { 2 };
        assert_eq!(rows(&world), 2 * alerts, "{blow:?}");
    }
    steps.taken()
}

#[tokio::test]
async fn nothing_of_a_superseded_definition_is_left_whatever_dies() {
    let calls = superseded(None).await;
    assert!(calls >= 18, "{calls}");
    for blow in [Blow::DiesBefore, Blow::DiesAfter, Blow::Fails(Fault::LostAnswer)] {
        for at in 0..calls {
            superseded(Some((at, blow))).await;
        }
    }
}

#[tokio::test]
async fn who_decides_late_by_an_earlier_definition_removes_nothing_of_a_later_one() {
    let world = World::new();
    let counted = summary(&["2026-11-02T00:00:00Z"]);
    world.done(&[defined("a", "11:00", &logins(1, "day"))]).await;
    let rules = super::rules(&world);
    let earlier = rules.undecided(&tenant(), &"a".parse().unwrap()).await.unwrap();
    let earlier = earlier.or(rules.counting(&tenant(), &super::login()).await.unwrap().pop());
    world.done(&[defined("a", "11:01", &logins(1, "day"))]).await;
    decide(&world, "c-9", &counted).await;
    let on = super::on(&super::customer("c-9"), &counted);
    let decided = rules.decide(&earlier.unwrap(), &on, world.clock.now()).await.unwrap();
    assert_eq!(decided, Decided::Done);
    assert_eq!(said(&listed(&world, "").await).len(), 1);
    assert_eq!(rows(&world), 2);
}

/// Definitions that follow each other at once decide beside each other, in any order: what is left is what the last one has given.
#[tokio::test(start_paused = true)]
async fn who_decides_beside_others_leaves_nothing_of_an_earlier_definition() {
    for seed in 0..30 {
        let mut random = fastrand::Rng::with_seed(seed);
        let faults: Faults = format!("slow=40ms,seed={seed}").parse().unwrap();
        let world = World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
        let counted = summary(&["2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"]);
        let rules = super::rules(&world);
        let mut decisions: Vec<_> = (0..24)
            .map(|n| {
                let (at, customer) = (n % 8, super::customer(&format!("c-{}", n / 8)));
                let rule = RuleDefinition {
                    rule_id: "a".parse().unwrap(),
                    at: format!("2026-11-20T11:0{at}:00Z").parse().unwrap(),
                    recorded_at: world.clock.now(),
                    when: When::parse(&logins(1, "day").to_string()).unwrap(),
                };
                (rule, customer)
            })
            .collect();
        random.shuffle(&mut decisions);
        let (rules, counted, now) = (&rules, &counted, world.clock.now());
        let decisions = decisions.iter().map(async |(rule, customer)| {
            let on = super::on(customer, counted);
            assert_eq!(rules.decide_again(rule, &on, now).await.unwrap(), Decided::Done);
        });
        join_all(decisions).await;
        assert_eq!(rows(&world), 2 * 3 * 2, "seed {seed}");
    }
}

/// A later definition is on record, and its own command has decided on nobody yet.
#[tokio::test]
async fn a_command_that_was_superseded_decides_nothing_for_the_later_definition() {
    let world = World::new();
    let (first, rule) = (defined("a", "11:00", &logins(1, "day")), "a".parse().unwrap());
    world.done(std::slice::from_ref(&first)).await;
    let later = RuleChange {
        tenant_id: tenant(),
        rule_id: rule,
        at: "2026-11-20T11:01:00Z".parse().unwrap(),
        when: When::parse(&logins(2, "day").to_string()),
    };
    let definitions = Definitions::new(&world.writer.ledger);
    definitions.record_rule(&later, world.clock.now()).await.unwrap().unwrap();
    world.done(&[first]).await;
    let rules = super::rules(&world);
    let undecided = rules.undecided(&tenant(), &later.rule_id).await.unwrap();
    assert!(undecided.is_some_and(|rule| later.defines(&rule)));
}

#[tokio::test]
async fn the_projector_removes_what_it_finds_of_an_earlier_definition() {
    let world = World::new();
    let counted = summary(&["2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"]);
    for minute in ["11:00", "11:01"] {
        world.done(&[defined("a", minute, &logins(1, "day"))]).await;
        let (rules, on) =
            (&world.history_projector.rules, super::on(&super::customer("c-9"), &counted));
        for rule in rules.counting(&tenant(), &super::login()).await.unwrap() {
            let decided = rules.decide(&rule, &on, world.clock.now()).await.unwrap();
            assert_eq!(decided, Decided::Done);
        }
        assert_eq!(said(&listed(&world, "").await).len(), 2);
        assert_eq!(rows(&world), 4, "of the definition of {minute}");
    }
}
