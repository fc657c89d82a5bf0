//! Dead letters that are redriven much later.

use tests::{World, event, follow, message, publish, soon, unfinished};

/// Redrives every letter that is kept. Returns how many there were.
async fn redrive_all(world: &World) -> usize {
    let letters = &world.tables.dead_letters;
    let listed = world.kept_letters().await;
    for letter in &listed {
        let letter = letters.get(&letter.id).await.unwrap().unwrap();
        nagare_operator::letters::redrive(letters, &world.sender, &letter).await.unwrap();
    }
    listed.len()
}

#[tokio::test]
async fn what_is_older_than_retention_by_then_is_acknowledged_and_reaches_nobody() {
    let world = World::new();
    world.done(&[follow("bob", "anna", "2026-11-20T10:00:00Z")]).await;
    let commands = [
        publish("anna", "old", "2026-11-20T11:00:00Z"),
        publish("anna", "new", "2026-11-20T12:00:00Z"),
    ];
    let letters = commands.iter().enumerate();
    let letters = letters.map(|(n, command)| message(&n.to_string(), &command.to_string(), 5));
    let kept = world.alerter.handle(event(letters), soon()).await.unwrap();
    assert_eq!(unfinished(&kept), [0_usize; 0]);

    // Thirty days later one of them is past retention.
    world.set_clock("2026-12-20T11:30:00.000Z");
    assert_eq!(redrive_all(&world).await, 2);
    let sent = world.take_commands().await;
    assert_eq!(sent.len(), 2);
    let answer = world.writer.handle(event(sent), soon()).await.unwrap();
    assert!(answer.batch_item_failures.is_empty(), "acknowledged");
    assert_eq!(world.ids("bob", "").await, ["new"]);
    assert_eq!(world.entry_count().await, 1);
    assert!(world.take_dead_letters().await.is_empty());
    assert!(world.kept_letters().await.is_empty());

    let counted: i64 =
        world.metrics.lines().iter().filter_map(|line| line["CommandsExpired"].as_i64()).sum();
    assert_eq!(counted, 1);
}
