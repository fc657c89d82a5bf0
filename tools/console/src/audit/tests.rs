#![allow(clippy::unwrap_used)]

use std::net::TcpListener;

use nagare_client::running::Note;
use nagare_client::target::Target;
use nagare_local::{Stack, StackConfig};
use shared::platform::runtime::env;

use super::*;

#[tokio::test]
async fn an_audit_without_an_end_says_what_it_was_at() {
    let stack = Stack::start(StackConfig::default()).await.unwrap();
    // Whoever listens here never answers.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let stuck = stack.environment().iter().cloned().map(|(name, value)| match name {
        env::DYNAMODB_ENDPOINT => (name, silent.clone()),
        _ => (name, value),
    });
    let stuck: Vec<_> = stuck.collect();
    let remote = async |environment: &[(&str, String)]| {
        Remote::of(Target::Local(Note::new(stack.port(), environment))).await.unwrap()
    };
    let (remote, stuck) = (remote(stack.environment()).await, remote(&stuck).await);
    let comparing = Task::Compare(Folded::ByBarrier);
    for (query, at) in [
        ("viewer=bob", "ended with the timeline of bob"),
        ("battle=dragon", "ended with the hits of battles"),
        ("sample=1", "ended with the choice of what to compare"),
        ("tenant=acme", "ended with the events and archives of acme"),
    ] {
        let fields = Fields::parse(query.as_bytes());
        let failure = run(&stuck, &fields, comparing, Duration::ZERO).await.unwrap_err();
        assert!(failure.to_string().contains(at), "{failure}");
        assert!(run(&remote, &fields, comparing, PATIENCE).await.is_ok());
    }
    stack.shut_down().await;
}
