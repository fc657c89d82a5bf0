//! A post and a delete of the same message at once, one overtaking the other between any two calls.

use serde_json::Value;

use super::{delete, ids, post};
use crate::platform::overtaking;

/// What is shown after one command has overtaken another, and whether it has.
async fn overtaken(first: &Value, second: &Value, nth: usize) -> (Vec<String>, bool) {
    let before = [post("r", "before", "bob", 0)];
    let (world, was_there) = overtaking::overtaken(&before, first, second, nth).await;
    let shown = ids(&world, "r", "").await;
    assert_eq!(shown, ids(&world, "r", "author=bob").await);
    (shown, was_there)
}

#[tokio::test]
async fn a_message_that_is_deleted_is_gone_whoever_overtakes_whom() {
    let (posted, deleted) = (post("r", "m", "bob", 1), delete("r", "m", "bob"));
    // A delete that finds no claim calls no more.
    for (first, second, least) in [(&posted, &deleted, 4), (&deleted, &posted, 2)] {
        let mut calls = 0;
        for nth in 1.. {
            let (shown, was_there) = overtaken(first, second, nth).await;
            if !was_there {
                break;
            }
            assert_eq!(shown, ["before"], "{second} before call {nth} of {first}");
            calls = nth;
        }
        assert!(calls >= least, "{calls} calls of {first}");
    }
}

/// The same post with another payload: one of both is shown, under its author and in its room.
#[tokio::test]
async fn one_of_two_payloads_is_shown_everywhere() {
    let first = post("r", "m", "bob", 1);
    let mut second = first.clone();
    second["payload"] = serde_json::json!("another");
    for nth in 1.. {
        let (shown, was_there) = overtaken(&first, &second, nth).await;
        assert_eq!(shown, ["m", "before"]);
        if !was_there {
            break;
        }
    }
}
