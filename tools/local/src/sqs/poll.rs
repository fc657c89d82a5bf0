//! Receiving, with long polling.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::error::QueueError;
use super::handle::Queue;
use super::message::ReceivedMessage;

impl Queue {
    /// Receives one to `max` messages, or none if none became visible for `wait`.
    ///
    /// Each is hidden for `visibility`, or for the queue's own timeout. Dropping the future loses
    /// nothing: what has been received is handed out without another await.
    pub async fn receive(
        &self,
        max: usize,
        visibility: Option<Duration>,
        wait: Duration,
    ) -> Result<Vec<ReceivedMessage>, QueueError> {
        let deadline = Instant::now() + wait;
        loop {
            // Listening starts before the check, or a message sent in between would be missed.
            let mut changed = pin!(self.state().changed.notified());
            changed.as_mut().enable();
            let messages = self.receive_now(max, visibility)?;
            if !messages.is_empty() || Instant::now() >= deadline {
                return Ok(messages);
            }
            let first = self.time_to_first_visible()?;
            let wake = first.map_or(deadline, |in_time| deadline.min(Instant::now() + in_time));
            tokio::select! {
                () = changed => {}
                () = sleep_until(wake) => {}
            }
        }
    }
}
