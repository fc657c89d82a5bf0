//! The `MessageGroupId` that `nagare` sends with is the one that docs/PRODUCERS.md tells producers to set.

use serde_json::Value;
use shared::command::Command;
use shared::platform::values::Timestamp;

/// The members, the first of which that a command has is its group, as the page lists them.
fn documented() -> Vec<&'static str> {
    let page = include_str!("../../../docs/PRODUCERS.md");
    let (_, rule) = page.split_once("first of these members that the command has: ").unwrap();
    let (rule, _) = rule.split_once('.').unwrap();
    rule.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_command_has_the_group_that_producers_set() {
    let schema = include_str!("../../../docs/schemas/command.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let commands = schema["oneOf"].as_array().unwrap();
    let names = documented();
    assert!(commands.len() > 20 && names.len() > 5, "{names:?}");
    let now = Timestamp::parse("2026-12-01T00:00:00Z").unwrap();
    for command in commands {
        let name = command["$ref"].as_str().unwrap().trim_start_matches("#/$defs/");
        let example = &schema["$defs"][name]["examples"][0];
        let about = example.get("events").map_or(example, |events| &events[0]);
        let expected = names.iter().find_map(|name| about[name].as_str());
        let parsed = Command::parse(&example.to_string(), now).unwrap();
        assert_eq!(Some(parsed.group()), expected, "{name}");
    }
}
