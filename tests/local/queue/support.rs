//! A stack of two queues, a clock that is set by hand, and short names for frequent calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use nagare_local::sqs::{
    Clock, NewMessage, Queue, QueueConfig, QueueError, Queues, ReceivedMessage, Redrive,
};

pub(crate) const START: i64 = 1_795_000_000_000;
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Time that passes when the test says so.
#[derive(Clone)]
pub(crate) struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(START)))
    }

    pub(crate) fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as i64, Ordering::SeqCst);
    }

    pub(crate) fn as_clock(&self) -> Clock {
        let clock = self.clone();
        Arc::new(move || clock.now())
    }
}

/// `work` gives up after two receives and passes on to `dead`.
pub(crate) fn configs() -> Vec<QueueConfig> {
    let redrive = Redrive { max_receives: 2, dead_letter_queue: "dead".into() };
    let work = QueueConfig {
        visibility_timeout: 30 * SECOND,
        retention: 3_600 * SECOND,
        redrive: Some(redrive),
        ..QueueConfig::new("work")
    };
    vec![work, QueueConfig { retention: 7_200 * SECOND, ..QueueConfig::new("dead") }]
}

pub(crate) struct Stack {
    pub(crate) clock: ManualClock,
    pub(crate) queues: Queues,
    pub(crate) work: Queue,
    pub(crate) dead: Queue,
}

impl Stack {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new();
        Self::over(Queues::in_memory(configs(), clock.as_clock()).unwrap(), clock)
    }

    pub(crate) fn over(queues: Queues, clock: ManualClock) -> Self {
        let (work, dead) = (queues.queue("work").unwrap(), queues.queue("dead").unwrap());
        Self { clock, queues, work, dead }
    }
}

pub(crate) fn message(body: &str) -> NewMessage {
    NewMessage::new(body).unwrap()
}

pub(crate) fn send(queue: &Queue, body: &str) {
    queue.send(message(body)).unwrap();
}

pub(crate) fn receive(queue: &Queue) -> Vec<ReceivedMessage> {
    receive_for(queue, None)
}

pub(crate) fn receive_for(queue: &Queue, visibility: Option<Duration>) -> Vec<ReceivedMessage> {
    try_receive(queue, 10, visibility).unwrap()
}

/// Without waiting the future is ready at once.
pub(crate) fn try_receive(
    queue: &Queue,
    max: usize,
    visibility: Option<Duration>,
) -> Result<Vec<ReceivedMessage>, QueueError> {
    block_on(queue.receive(max, visibility, Duration::ZERO))
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(future)
}

pub(crate) fn receive_one(queue: &Queue) -> ReceivedMessage {
    let mut messages = receive(queue);
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

pub(crate) fn bodies(messages: &[ReceivedMessage]) -> Vec<&str> {
    messages.iter().map(|message| message.body.as_str()).collect()
}

pub(crate) fn delete(queue: &Queue, message: &ReceivedMessage) {
    queue.delete_batch(&[message.receipt_handle]).unwrap();
}

/// Visible, in flight, delayed.
pub(crate) fn counts(queue: &Queue) -> (u64, u64, u64) {
    let counts = queue.counts().unwrap();
    (counts.visible, counts.in_flight, counts.delayed)
}
