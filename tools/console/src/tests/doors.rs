//! Who is let in, and what strangers write.

use aws_sdk_dynamodb::types::AttributeValue;
use shared::platform::dynamo::item::Item;

use super::*;

/// Whatever the path and the method: what is not there, what is refused, and what is a part of the pages.
#[tokio::test]
async fn nobody_is_let_in_without_the_secret_of_this_run() {
    let console = Fixture::new(Mode::ReadOnly, None).await;
    let other_door = Access::of_run(3000).address("");
    let other_cookie = format!("{}0", console.cookie);
    let paths = [
        "",
        "timeline?viewer=bob",
        "console.css",
        "htmx.js",
        "icon.svg",
        "depths",
        "send",
        "repair",
        "nowhere",
        "log/1",
    ];
    let paths = paths.map(|path| format!("/console/{path}"));
    let doors = ["/console", &other_door, "/console/?token="];
    for path in paths.iter().map(String::as_str).chain(doors) {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            for cookie in ["", &other_cookie, "nagare-console-3000=", "nagare-console-3000"] {
                let request = Request::builder().method(method).uri(path).header(COOKIE, cookie);
                let request = request.header(HOST, "127.0.0.1:3000");
                let request = request.header(ORIGIN, "http://evil.example");
                let page = console.ask(request.body(Body::empty()).unwrap()).await;
                assert_eq!(page.status, StatusCode::UNAUTHORIZED, "{method} {path} {cookie}");
                assert!(page.cookie.is_empty() && page.location.is_empty(), "{method} {path}");
                assert!(!page.text.contains(&console.token), "{method} {path}");
            }
        }
    }
    console.stack.shut_down().await;
}

#[tokio::test]
async fn the_printed_address_becomes_a_cookie_and_does_not_stay() {
    let console = Fixture::new(Mode::ReadOnly, None).await;
    let entered = console.get(&console.door).await;
    assert_eq!((entered.status, entered.location.as_str()), (StatusCode::SEE_OTHER, PATH));
    let (pair, attributes) = entered.cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/console; HttpOnly; SameSite=Strict");
    let (name, value) = pair.split_once('=').unwrap();
    assert_eq!(name, "nagare-console-3000");
    assert!(value.len() >= 32 && !console.door.contains(value), "it is another secret");
    assert_eq!(console.get(PATH).await.status, StatusCode::OK);
    // The token opens the door and nothing else.
    let token = console.door.split_once('?').unwrap().1;
    let request = Request::get(format!("/console/queues?{token}"));
    let page = console.ask(request.body(Body::empty()).unwrap()).await;
    assert_eq!(page.status, StatusCode::UNAUTHORIZED);
    console.stack.shut_down().await;
}

#[tokio::test]
async fn what_comes_from_another_site_is_asked_to_be_opened_again() {
    let console = Fixture::writing().await;
    let from = async |site: &str, cookie: &str, path: &str| {
        let request = Request::get(path).header(COOKIE, cookie).header("sec-fetch-site", site);
        console.ask(request.body(Body::empty()).unwrap()).await
    };
    for site in ["same-origin", "none"] {
        assert_eq!(from(site, &console.cookie, "/console/queues").await.status, StatusCode::OK);
    }
    let again = "href=\"/console/timeline?viewer=bob&amp;limit=3\"";
    for site in ["cross-site", "same-site", "else"] {
        let path = "/console/timeline?viewer=bob&limit=3";
        let page = from(site, &console.cookie, path).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{site}");
        assert!(page.text.contains(again), "{}", page.text);
        // A browser keeps the cookie back.
        let page = from(site, "", path).await;
        assert_eq!(page.status, StatusCode::UNAUTHORIZED, "{site}");
        assert!(page.text.contains(again), "{}", page.text);
    }
    let page = from("cross-site", "", &format!("{}0", console.door)).await;
    assert!(page.text.contains("href=\"/console/\""), "a token is not repeated: {}", page.text);
    console.stack.shut_down().await;
}

/// Whatever a view calls by mistake: its pages call nothing that writes, and its clients would not.
#[tokio::test]
async fn a_console_that_only_looks_has_no_client_that_writes() {
    let stack = Stack::start(StackConfig::default()).await.unwrap();
    let note = Note::new(stack.port(), stack.environment());
    let remote = Remote::connect(Target::Local(note)).await.unwrap();
    for (mode, may_write) in [(Mode::Write, true), (Mode::ReadOnly, false)] {
        let Console { remote, .. } = Console::new(remote.clone(), mode, Access::Open).unwrap();
        let named = |name| remote.target().required(name).unwrap();
        let key = || AttributeValue::S("x".to_owned());
        let put = remote.dynamodb().put_item().table_name(named(env::FACTS_TABLE));
        let put = put.item("pk", key()).item("sk", key()).send().await;
        let item = Item::from([("pk".to_owned(), key()), ("sk".to_owned(), key())]);
        let stored = remote.facts().unwrap().table().put(item).await;
        let sent = remote.sqs().send_message().queue_url(named(env::QUEUE_URL)).message_body("x");
        let sent = sent.send().await;
        let done = [put.is_ok(), stored.is_ok(), sent.is_ok()];
        assert_eq!(done, [may_write; 3], "{mode:?}");
        let read = remote.dynamodb().get_item().table_name(named(env::FACTS_TABLE));
        assert!(read.key("pk", key()).key("sk", key()).send().await.is_ok());
    }
    stack.shut_down().await;
}

/// Characters that steer terminals and mirror texts, in a payload, in a letter and in addresses.
#[tokio::test]
async fn what_strangers_write_steers_nothing() {
    const TRICKS: &str = "\u{9b}31m\u{7f}\u{202e}\u{2028}";
    let console = Fixture::writing().await;
    console.apply(&FOLLOW).await;
    let payload = format!("{{\"title\":\"{TRICKS}\",\"{TRICKS}\":1}}");
    let mut fields = publish("live-1");
    fields.push(("f.payload", &payload));
    console.apply(&fields).await;
    let body = format!("{{\"type\":\"{TRICKS}\"}}");
    let sent = console.submit("/console/send", &[("body", &body), ("anyway", "true")]).await;
    console.until(&sent.location, "dead letter (").await;
    let id = sent.location.split_once("id=").unwrap().1;
    let typed: String = form_urlencoded::byte_serialize(TRICKS.as_bytes()).collect();
    for path in [
        "timeline?viewer=bob".to_owned(),
        format!("timeline?viewer={typed}"),
        format!("newer?viewer=bob&cursor={typed}"),
        "queues".to_owned(),
        format!("queues?reason={typed}"),
        format!("letter?id={id}"),
        format!("command?id={id}"),
        format!("state?id={id}"),
        "commands".to_owned(),
        "tables?table=ledger".to_owned(),
        "tables?table=dead-letters".to_owned(),
        format!("tables?table=ledger&pk={typed}"),
        format!("poll?id={typed}"),
        format!("battle?id={typed}"),
        format!("log?text={typed}"),
        format!("log/{}", typed.replace('+', "%20")),
    ] {
        let page = console.get(&format!("/console/{path}")).await;
        // What a form sends back stays as it is.
        let (first, rest) = page.text.split_once("value=\"").unwrap_or((&page.text, ""));
        let rest =
            rest.split("value=\"").map(|rest| rest.split_once('"').map_or(rest, |(_, rest)| rest));
        let shown: String = std::iter::once(first).chain(rest).collect();
        assert!(!shown.contains(nagare_client::visible::is_hidden), "{path}: {shown}");
    }
    let read = console.get("/console/timeline?viewer=bob").await.text;
    assert!(read.contains("\\u{9b}31m\\u{7f}\\u{202e}\\u{2028}"), "{read}");
    let export = console.submit("/console/export", &[("table", "ledger")]).await.text;
    assert!(!export.contains(nagare_client::visible::is_hidden), "{export}");
    console.stack.shut_down().await;
}

/// Who may send to the dead-letter queue has no command come in force by a button for all.
#[tokio::test]
async fn a_letter_that_nothing_vouches_for_is_sent_again_only_by_itself() {
    let console = Fixture::writing().await;
    let sqs = nagare_client::local_stack::sqs_over_http(
        console.stack.variable(env::SQS_ENDPOINT).unwrap(),
    );
    let url = console.stack.variable(env::DEAD_LETTER_QUEUE_URL).unwrap();
    let body = r#"{"type":"follow.created","follower_id":"eve","followee_id":"anna","at":"2026-11-20T12:00:00Z"}"#;
    let sent = sqs.send_message().queue_url(url).message_body(body).send().await.unwrap();
    let id = sent.message_id.unwrap();
    let letter = format!("/console/letter?id={id}");
    let page = console.until(&letter, "follower_id").await;
    assert!(
        page.text.contains("Unverified") && page.text.contains("(unverified)"),
        "{}",
        page.text
    );
    let queues = console.get("/console/queues").await.text;
    assert!(
        queues.contains("1 letter is unverified") && queues.contains("Resend these 0"),
        "{queues}"
    );
    for fields in [
        &[("all", "true"), ("confirmed", "yes")][..],
        &[("reason", "other"), ("all", "true"), ("confirmed", "yes")],
    ] {
        assert_eq!(console.submit("/console/redrive", fields).await.status, StatusCode::SEE_OTHER);
        assert_eq!(console.get(&letter).await.status, StatusCode::OK, "it stays");
    }
    console.submit("/console/redrive", &[("id", &id)]).await;
    assert_eq!(console.get(&letter).await.status, StatusCode::NOT_FOUND);
    console.stack.shut_down().await;
}
