//! What a queue promises, one promise a test.

use std::time::Duration;

use nagare_local::sqs::{AttributeValue, Attributes, MessageAttribute, QueueError};

use super::support::*;

#[test]
fn a_received_message_is_hidden_and_comes_back() {
    let stack = Stack::new();
    send(&stack.work, "a");
    let first = receive_one(&stack.work);
    assert!(receive(&stack.work).is_empty());
    stack.clock.pass(30 * SECOND);
    let second = receive_one(&stack.work);
    assert_eq!(first.message_id, second.message_id);
    assert_ne!(first.receipt_handle, second.receipt_handle);
    assert_eq!((first.receive_count, second.receive_count), (1, 2));
    assert_eq!((second.sent_at, second.first_received_at), (START, START));
}

#[test]
fn only_the_latest_receipt_deletes() {
    let stack = Stack::new();
    send(&stack.work, "a");
    let first = receive_one(&stack.work);
    stack.clock.pass(30 * SECOND);
    let second = receive_one(&stack.work);
    delete(&stack.work, &first);
    assert_eq!(counts(&stack.work), (0, 1, 0));
    delete(&stack.work, &second);
    delete(&stack.work, &second);
    assert!(stack.work.counts().unwrap().is_empty());
}

#[test]
fn a_receipt_still_deletes_after_its_timeout() {
    let stack = Stack::new();
    send(&stack.work, "a");
    let received = receive_one(&stack.work);
    stack.clock.pass(60 * SECOND);
    delete(&stack.work, &received);
    assert!(stack.work.counts().unwrap().is_empty());
}

#[test]
fn receipts_of_another_queue_delete_nothing() {
    let stack = Stack::new();
    send(&stack.work, "a");
    let received = receive_one(&stack.work);
    delete(&stack.dead, &received);
    assert_eq!(counts(&stack.work), (0, 1, 0));
}

#[test]
fn a_receipt_does_not_delete_the_row_that_follows() {
    let stack = Stack::new();
    send(&stack.work, "a");
    let old = receive_one(&stack.work);
    delete(&stack.work, &old);
    send(&stack.work, "b");
    receive_one(&stack.work);
    delete(&stack.work, &old);
    assert_eq!(counts(&stack.work), (0, 1, 0));
}

#[test]
fn a_delay_hides_a_message_at_first() {
    let stack = Stack::new();
    stack.work.send(message("a").delayed(5 * SECOND).unwrap()).unwrap();
    assert_eq!(counts(&stack.work), (0, 0, 1));
    assert!(receive(&stack.work).is_empty());
    stack.clock.pass(5 * SECOND);
    assert_eq!(counts(&stack.work), (1, 0, 0));
    assert_eq!(bodies(&receive(&stack.work)), ["a"]);
}

#[test]
fn a_receive_may_set_its_own_visibility() {
    let stack = Stack::new();
    send(&stack.dead, "a");
    receive_for(&stack.dead, Some(2 * SECOND));
    stack.clock.pass(2 * SECOND);
    assert_eq!(receive_for(&stack.dead, Some(Duration::ZERO)).len(), 1);
    assert_eq!(receive_one(&stack.dead).receive_count, 3);
}

#[test]
fn changing_visibility_hides_longer_or_shows_at_once() {
    let stack = Stack::new();
    send(&stack.work, "a");
    let received = receive_one(&stack.work);
    stack.work.change_visibility(&received.receipt_handle, 43_200 * SECOND).unwrap();
    stack.clock.pass(60 * SECOND);
    assert_eq!(counts(&stack.work), (0, 1, 0));
    stack.work.change_visibility(&received.receipt_handle, Duration::ZERO).unwrap();
    assert_eq!(counts(&stack.work), (1, 0, 0));
    stack.work.change_visibility(&received.receipt_handle, SECOND).unwrap();
    assert_eq!(counts(&stack.work), (1, 0, 0), "it is no longer in flight");
    receive_one(&stack.work);
    stack.work.change_visibility(&received.receipt_handle, Duration::ZERO).unwrap();
    assert_eq!(counts(&stack.work), (0, 1, 0), "it was received again");
}

/// Of what two tenants have sent much of, and others a message or two.
#[test]
fn what_quiet_groups_have_sent_comes_before_what_waits_of_noisy_ones() {
    let stack = Stack::new();
    let send_in = |group: &str, body: &str| {
        stack.work.send(message(body).in_group(group).unwrap()).unwrap();
        stack.clock.pass(Duration::from_millis(1));
    };
    let receive = || receive(&stack.work).into_iter().map(|it| it.body).collect::<Vec<_>>();
    for n in 0..60 {
        send_in(["loud", "louder", "louder"][n % 3], &format!("{n:02}"));
    }
    // As long as nobody is known to be noisy they come in their order.
    assert_eq!(receive(), (0..10).map(|n| format!("{n:02}")).collect::<Vec<_>>());
    // One of the two has four of them, which is not much.
    let of_one: Vec<_> = (0..10).map(|n| format!("{}", 12 + 3 * n)).collect();
    assert_eq!(receive(), of_one);
    send_in("quiet", "q");
    send(&stack.work, "alone");
    // Behind these what is of the noisy one with less in flight.
    assert_eq!(receive(), ["q", "alone", "10", "11", "13", "14", "16", "17", "19", "20"]);
    // Nothing is lost or comes twice.
    let rest: Vec<_> = (0..5).flat_map(|_| receive()).collect();
    assert_eq!(rest.len(), 32);
    assert_eq!(counts(&stack.work), (0, 62, 0));
}

/// A receive does not look again at what waits of a noisy group. It still finds what becomes visible behind it, and all of it once the
/// group is quiet.
#[test]
fn a_quiet_message_is_found_behind_a_noisy_backlog() {
    let stack = Stack::new();
    let send_in = |group: &str, body: &str| {
        stack.work.send(message(body).in_group(group).unwrap()).unwrap();
        stack.clock.pass(Duration::from_millis(1));
    };
    for n in 0..60 {
        send_in("loud", &format!("{n:02}"));
    }
    let loud: Vec<_> = (0..2).flat_map(|_| receive(&stack.work)).collect();
    for _ in 0..2 {
        send_in("quiet", "q");
        let received = receive(&stack.work);
        assert_eq!(
            (received[0].body.as_str(), received[1].group_id.as_deref()),
            ("q", Some("loud"))
        );
        // It becomes visible again.
        stack.work.change_visibility(&received[0].receipt_handle, Duration::ZERO).unwrap();
        let again = receive(&stack.work).remove(0);
        assert_eq!((again.body.as_str(), again.receive_count), ("q", 2));
        delete(&stack.work, &again);
    }
    for message in &loud[..10] {
        stack.work.change_visibility(&message.receipt_handle, Duration::ZERO).unwrap();
    }
    stack.work.release_in_flight().unwrap();
    let rest: Vec<_> = (0..6).flat_map(|_| receive(&stack.work)).collect();
    assert_eq!((rest.len(), counts(&stack.work)), (60, (0, 60, 0)));
}

#[test]
fn one_receive_too_many_makes_a_dead_letter() {
    let stack = Stack::new();
    let attributes = attributes("kind", "String", AttributeValue::Text("live".into()));
    let sent = message("a").in_group("anna").unwrap().with_attributes(attributes.clone());
    let id = stack.work.send(sent).unwrap();
    for receives in 1..=2 {
        assert_eq!(receive_one(&stack.work).receive_count, receives);
        stack.clock.pass(30 * SECOND);
    }
    assert!(receive(&stack.work).is_empty());
    assert!(stack.work.counts().unwrap().is_empty());
    assert_eq!(counts(&stack.dead), (1, 0, 0));
    let dead = receive_one(&stack.dead);
    assert_eq!((dead.message_id, dead.body.as_str(), dead.sent_at), (id, "a", START));
    assert_eq!((dead.receive_count, dead.first_received_at), (1, stack.clock.now()));
    assert_eq!((&dead.attributes, dead.group_id.as_deref()), (&attributes, Some("anna")));
    assert!(dead.system_attributes().any(|attribute| attribute
        == ("DeadLetterQueueSourceArn", "arn:aws:sqs:us-local-1:000000000000:work".into())));
}

#[test]
fn a_move_makes_the_old_receipt_worthless() {
    let stack = Stack::new();
    send(&stack.work, "a");
    receive_for(&stack.work, Some(Duration::ZERO));
    let last = receive_for(&stack.work, Some(Duration::ZERO)).remove(0);
    assert!(receive(&stack.work).is_empty());
    delete(&stack.work, &last);
    assert_eq!(counts(&stack.dead), (1, 0, 0));
}

#[test]
fn moves_do_not_shorten_a_receive() {
    let stack = Stack::new();
    send(&stack.work, "poison");
    for _ in 0..2 {
        receive_for(&stack.work, Some(Duration::ZERO));
    }
    stack.clock.pass(SECOND);
    send(&stack.work, "fresh");
    assert_eq!(bodies(&try_receive(&stack.work, 1, None).unwrap()), ["fresh"]);
    assert_eq!(counts(&stack.dead), (1, 0, 0));
}

#[test]
fn expiry_counts_from_the_first_enqueue() {
    let stack = Stack::new();
    send(&stack.work, "moved");
    for _ in 0..2 {
        receive_for(&stack.work, Some(Duration::ZERO));
    }
    stack.clock.pass(3_599 * SECOND);
    assert!(receive(&stack.work).is_empty());
    send(&stack.work, "young");
    stack.clock.pass(3_600 * SECOND);
    assert!(stack.work.counts().unwrap().is_empty());
    assert_eq!(counts(&stack.dead), (1, 0, 0));
    stack.clock.pass(SECOND);
    assert!(receive(&stack.dead).is_empty());
    assert!(stack.dead.counts().unwrap().is_empty());
}

#[test]
fn the_longest_visible_comes_first() {
    let stack = Stack::new();
    stack.work.send(message("late").delayed(3 * SECOND).unwrap()).unwrap();
    for body in ["a", "b", "c"] {
        send(&stack.work, body);
        stack.clock.pass(SECOND);
    }
    assert_eq!(bodies(&receive(&stack.work)), ["a", "b", "c", "late"]);
}

#[test]
fn purging_takes_everything() {
    let stack = Stack::new();
    let batch = vec![message("a"), message("b"), message("c").delayed(SECOND).unwrap()];
    stack.work.send_batch(&batch).unwrap();
    try_receive(&stack.work, 1, None).unwrap();
    assert_eq!(counts(&stack.work), (1, 1, 1));
    stack.work.purge().unwrap();
    assert!(stack.work.counts().unwrap().is_empty());
}

#[test]
fn a_batch_is_sent_whole_or_not_at_all() {
    let stack = Stack::new();
    let half = "x".repeat(600_000);
    let refused = stack.work.send_batch(&[message(&half), message(&half)]);
    assert!(matches!(refused, Err(QueueError::BatchRequestTooLong(1_200_000))));
    assert!(matches!(stack.work.send_batch(&[]), Err(QueueError::EmptyBatchRequest)));
    let eleven = vec![message("a"); 11];
    let refused = stack.work.send_batch(&eleven);
    assert!(matches!(refused, Err(QueueError::TooManyEntriesInBatchRequest(11))));
    assert!(stack.work.counts().unwrap().is_empty());
    let largest = "x".repeat(1_048_576);
    stack.work.send(message(&largest)).unwrap();
    assert_eq!(receive_one(&stack.work).body.len(), 1_048_576);
    let too_large = stack.work.send(message(&format!("{largest}x")));
    assert!(matches!(too_large, Err(QueueError::InvalidParameterValue(_))));
}

#[test]
fn messages_no_queue_takes_cannot_be_built() {
    use QueueError as E;
    use nagare_local::sqs::NewMessage;
    assert!(matches!(NewMessage::new(""), Err(E::MissingParameter("MessageBody"))));
    for bad in ["\u{0}", "a\u{8}", "\u{b}", "\u{c}", "\u{e}", "\u{1f}", "\u{fffe}", "\u{ffff}"] {
        assert!(matches!(NewMessage::new(bad), Err(E::InvalidMessageContents)), "{bad:?}");
    }
    for good in ["\t\n\r ", "\u{7f}", "\u{fffd}", "\u{d7ff}\u{e000}", "😀", "{}"] {
        assert!(NewMessage::new(good).is_ok(), "{good:?}");
    }
    assert!(message("a").delayed(900 * SECOND).is_ok());
    assert!(matches!(message("a").delayed(901 * SECOND), Err(E::InvalidParameterValue(_))));
    assert!(matches!(message("a").in_group("a b"), Err(E::InvalidParameterValue(_))));
}

#[test]
fn attributes_fit_their_types() {
    use AttributeValue::{Binary, Text};
    let fits = |kind: &str, value| MessageAttribute::new(kind, value).is_ok();
    assert!(fits("String", Text("a".into())) && fits("String.json", Text("{}".into())));
    assert!(fits("Number", Text("-1.5e3".into())) && fits("Binary.png", Binary(vec![0])));
    assert!(!fits("Number", Text("one".into())) && !fits("Number", Text("NaN".into())));
    assert!(!fits("String", Binary(vec![0])) && !fits("Binary", Text("a".into())));
    assert!(!fits("String", Text(String::new())) && !fits("Text", Text("a".into())));
    for name in ["", "AWS.x", "amazon.x", ".x", "x.", "x..y", "x y"] {
        let one = MessageAttribute::new("String", Text("a".into())).unwrap();
        assert!(Attributes::default().with(name, one).is_err(), "{name:?}");
    }
}

#[test]
fn other_queues_do_not_exist() {
    let stack = Stack::new();
    assert!(matches!(stack.queues.queue("none"), Err(QueueError::QueueDoesNotExist)));
}

fn attributes(name: &str, kind: &str, value: AttributeValue) -> Attributes {
    let attribute = MessageAttribute::new(kind, value).unwrap();
    Attributes::default().with(name, attribute).unwrap()
}
