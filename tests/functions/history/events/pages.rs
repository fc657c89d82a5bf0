//! Pages of a customer's events.

use serde_json::{Value, json};
use shared::history::events::{EventSettings, PeriodLength, PeriodState};
use tests::World;

use super::{batch, ids, login, page, recorded, world};

/// All pages of a walk, and how many there were. A page that is short is gone on with.
async fn walk(world: &World, customer: &str, query: &str, limit: usize) -> (Vec<String>, usize) {
    let (mut shown, mut next, mut pages) = (Vec::new(), format!("{query}&limit={limit}"), 0);
    loop {
        let body = super::page_of(world, customer, &next).await;
        shown.extend(ids(&body).into_iter().map(ToOwned::to_owned));
        pages += 1;
        let Some(cursor) = body["next_cursor"].as_str() else { return (shown, pages) };
        assert!(pages < 200, "{body}");
        next = format!("limit={limit}&cursor={cursor}");
    }
}

/// Daily periods from the first of October to the 25th of November: a world that takes events of all of them.
async fn daily() -> World {
    let mut world = World::new();
    let settings =
        EventSettings { length: PeriodLength::Day, lateness_days: 60, ..EventSettings::default() };
    world.writer.events.as_mut().unwrap().settings = settings;
    world.history_reader.events.settings = settings;
    for day in 1..=31 {
        world.make_period(&format!("2026-10-{day:02}")).await;
    }
    for day in 1..=25 {
        world.make_period(&format!("2026-11-{day:02}")).await;
    }
    world
}

#[tokio::test]
async fn a_walk_goes_over_the_tables_of_all_periods() {
    let world = daily().await;
    let (mut events, mut all) = (Vec::new(), Vec::new());
    // Some days have many, some one, most none.
    for (day, count) in
        [("10-02", 1), ("10-03", 7), ("10-20", 3), ("11-01", 40), ("11-19", 1), ("11-20", 5)]
    {
        for n in 0..count {
            let (id, at) = (format!("e{n:02}-{day}"), format!("2026-{day}T{:02}:00:00Z", n % 12));
            events.push(login(&id, &at));
            all.push((at, id));
        }
    }
    for some in events.chunks(100) {
        world.done(&[batch(some)]).await;
    }
    all.sort();
    let mut expected: Vec<_> = all.into_iter().map(|(_, id)| id).collect();
    for limit in [1, 3, 20, 100] {
        assert_eq!(walk(&world, "c-9", "order=oldest", limit).await.0, expected, "{limit}");
    }
    expected.reverse();
    for limit in [1, 3, 20, 100] {
        assert_eq!(walk(&world, "c-9", "", limit).await.0, expected, "{limit}");
    }
    let within = |from: &str, to: &str| format!("from={from}&to={to}");
    let (shown, _) = walk(&world, "c-9", &within("2026-10-03", "2026-10-20T01:00:00Z"), 2).await;
    assert_eq!(shown, expected[expected.len() - 9..expected.len() - 1].to_vec());
    assert_eq!(walk(&world, "c-9", &within("2027-01-01", "2027-02-01"), 2).await.0, [""; 0]);
}

#[tokio::test]
async fn what_is_newer_is_brought_once_and_what_was_late_too() {
    let world = world().await;
    world.done(&[login("a", "2026-11-20T11:30:00Z"), login("b", "2026-11-20T11:40:00Z")]).await;
    let first = page(&world, "limit=10").await;
    let newer = async |page: &Value| {
        let cursor = page["newer_cursor"].as_str().unwrap();
        super::page(&world, &format!("cursor={cursor}")).await
    };
    let nothing = newer(&first).await;
    assert_eq!((ids(&nothing).len(), &nothing["next_cursor"]), (0, &json!(null)));
    let late = login("late", "2026-11-20T11:00:00Z");
    let too_late_for_a_poll = login("long-ago", "2026-11-20T10:00:00Z");
    world.done(&[login("c", "2026-11-20T11:50:00Z"), late, too_late_for_a_poll]).await;
    let some = newer(&nothing).await;
    assert_eq!(ids(&some), ["late", "c"]);
    assert_eq!(ids(&newer(&some).await), [""; 0]);
    // The cursor of the first page brings all of it.
    assert_eq!(ids(&newer(&first).await), ["late", "c"]);
    assert_eq!(page(&world, "").await["items"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn only_events_of_some_names_are_shown() {
    let world = world().await;
    let names = ["login", "logout", "order"];
    let events: Vec<_> = (0..60)
        .map(|n| {
            let at = format!("2026-11-20T10:{n:02}:00Z");
            recorded("c-9", &format!("e{n:02}"), &at, names[n % 3], json!(n))
        })
        .collect();
    world.done(&[batch(&events)]).await;
    let expected = |shown: &[usize]| -> Vec<_> {
        (0..60).rev().filter(|n| shown.contains(&(n % 3))).map(|n| format!("e{n:02}")).collect()
    };
    for limit in [1, 4, 100] {
        assert_eq!(walk(&world, "c-9", "name=order", limit).await.0, expected(&[2]));
        assert_eq!(walk(&world, "c-9", "name=login&name=order", limit).await.0, expected(&[0, 2]));
    }
    assert_eq!(walk(&world, "c-9", "name=none", 10).await.0, [""; 0]);
    let path = "/v1/tenants/acme/customers/c-9/events";
    let first = page(&world, "name=order&limit=2").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let many: String = (0..11).map(|n| format!("name=n{n}&")).collect();
    for (query, parameter) in [
        ("name=a%20b".to_owned(), "name"),
        (format!("name={}", "x".repeat(65)), "name"),
        (many, "name"),
        (format!("cursor={cursor}&name=order"), "name"),
        (format!("cursor={cursor}&order=oldest"), "order"),
        (format!("cursor={cursor}x"), "cursor"),
        ("limit=101".to_owned(), "limit"),
        ("from=never".to_owned(), "from"),
    ] {
        let (status, _, problem) = world.get(path, &query).await;
        assert_eq!((status, problem["parameter"].as_str()), (400, Some(parameter)), "{query}");
    }
    for (path, parameter) in [
        ("/v1/tenants/acme/customers/c-8/events", "cursor"),
        ("/v1/tenants/acm/customers/c-9/events", "cursor"),
        ("/v1/tenants/a%23b/customers/c-9/events", "tenant_id"),
        ("/v1/tenants/acme/customers/a%2Fb/events", "customer_id"),
    ] {
        let (status, _, problem) = world.get(path, &format!("cursor={cursor}")).await;
        assert_eq!((status, problem["parameter"].as_str()), (400, Some(parameter)), "{path}");
    }
}

#[tokio::test]
async fn what_was_dropped_is_in_the_archive() {
    let world = world().await;
    world.set_clock("2026-11-05T00:00:00Z");
    let events = [
        ("a", "2026-10-01T12:00:00Z"),
        ("b", "2026-10-31T12:00:00Z"),
        ("c", "2026-11-04T12:00:00Z"),
    ];
    world.done(&events.map(|(id, at)| login(id, at))).await;
    let first = page(&world, "limit=2").await;
    assert_eq!((ids(&first), &first["archived_before"]), (vec!["c", "b"], &json!(null)));
    let into_october = first["next_cursor"].as_str().unwrap();
    let (_, oldest) = (0, page(&world, "limit=1&order=oldest").await);
    // The rows that this reader has kept still say that the table is there.
    world.set_clock("2026-12-20T00:00:00Z");
    world.make_period("2027-01").await;
    page(&world, "").await;
    world.move_period("2026-10", PeriodState::Verified).await;
    world.drop_table_of("2026-10");
    let shown = page(&world, "").await;
    let archived = json!("2026-11-01T00:00:00.000Z");
    assert_eq!(
        (ids(&shown), &shown["archived_before"], &shown["next_cursor"]),
        (vec!["c"], &archived, &json!(null))
    );
    world.move_period("2026-10", PeriodState::Dropped).await;
    let shown = page(&world, &format!("cursor={into_october}")).await;
    assert_eq!(
        (ids(&shown).len(), &shown["next_cursor"], &shown["archived_before"]),
        (0, &json!(null), &archived)
    );
    let on = oldest["next_cursor"].as_str().unwrap();
    assert_eq!(ids(&page(&world, &format!("cursor={on}")).await), ["c"]);
}

#[tokio::test]
async fn a_table_that_should_be_there_and_is_not_is_a_problem() {
    let world = world().await;
    world.done(&[login("a", "2026-11-20T12:00:00Z")]).await;
    world.drop_table_of("2026-11");
    let (status, _, problem) = world.get("/v1/tenants/acme/customers/c-9/events", "").await;
    assert_eq!(status, 503, "{problem}");
}

#[tokio::test]
async fn a_period_that_is_made_late_is_seen_at_once() {
    let world = World::new();
    assert_eq!(ids(&page(&world, "").await), [""; 0]);
    world.make_period("2026-11").await;
    world.done(&[login("a", "2026-11-20T12:00:00Z")]).await;
    assert_eq!(ids(&page(&world, "").await), ["a"]);
}
