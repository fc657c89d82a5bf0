//! A stack without the event history refuses its commands, and applies all others.

use std::collections::BTreeSet;

use serde_json::Value;
use shared::platform::dynamo::Query;
use tests::World;

/// The examples of all commands.
fn examples() -> Vec<String> {
    let schema = include_str!("../../../docs/schemas/command.schema.json");
    let schema = serde_json::from_str::<Value>(schema).unwrap();
    let commands = schema["$defs"].as_object().unwrap().values();
    let examples = commands.filter_map(|it| it["examples"].as_array()).flatten();
    examples.filter(|it| it["type"].is_string()).map(Value::to_string).collect()
}

async fn written(world: &World, bodies: &[&String]) -> Vec<[String; 3]> {
    for body in bodies {
        assert_eq!(world.write(&[body], 1).await, [0_usize; 0], "{body}");
    }
    let letters = world.take_dead_letters().await.into_iter().map(|letter| {
        let said = |name| letter.message_attributes[name].string_value.clone().unwrap();
        [letter.body.clone().unwrap(), said("nagare.reason"), said("nagare.detail")]
    });
    letters.collect()
}

#[tokio::test]
async fn commands_of_the_history_are_letters_until_it_is_on() {
    let mut world = World::new();
    let events = world.writer.events.take();
    let examples = examples();
    let (of_history, others): (Vec<_>, Vec<_>) =
        examples.iter().partition(|body| body.contains("tenant_id"));
    assert!(of_history.len() >= 8 && others.len() > 8);
    assert!(written(&world, &others).await.iter().all(|[_, reason, _]| reason != "history-off"));

    let letters = written(&world, &of_history).await;
    let refused: BTreeSet<_> = letters.iter().map(|[body, ..]| body).collect();
    assert_eq!(refused, of_history.iter().copied().collect());
    for [body, reason, detail] in &letters {
        assert_eq!(reason, "history-off", "{body}");
        assert!(detail.contains("History=on"), "{detail}");
    }
    assert_eq!(world.tables.views.table().all(Query::default()).await.unwrap().len(), 0);

    world.writer.events = events;
    world.make_period("2026-11").await;
    assert_eq!(written(&world, &of_history).await, <[[String; 3]; 0]>::default());
}
