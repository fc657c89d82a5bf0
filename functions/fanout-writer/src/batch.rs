//! A batch of messages in, the ids of the unfinished ones out.

use std::collections::HashMap;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::{BoxFuture, join_all};
use shared::command::Command;
use shared::platform::queue::{BatchError, Message, message_ids};
use shared::platform::receipts::RECEIPT;
use shared::platform::runtime::deadline::Deadline;

use crate::delivery::Delivery;
use crate::disposition::Disposition;
use crate::merging::{shared, stand_ins, target};
use crate::message::Handled;
use crate::shares::{Admission, Load};
use crate::writer::Writer;
use crate::{metrics, receipts};

impl Writer {
    /// Applies a batch of messages, each on its own. The response names those that have to be
    /// delivered again; all others are done, or kept as dead letters. It is returned a
    /// [hold](shared::platform::runtime::hold) after the last write that timelines show, so that pages are of
    /// one moment.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    ///
    /// # Errors [`BatchError`]: nothing was applied.
    pub fn handle(
        &self,
        event: SqsEvent,
        deadline: Deadline,
    ) -> BoxFuture<'_, Result<SqsBatchResponse, BatchError>> {
        Box::pin(async move {
            let ids =
                message_ids(event.records.iter().map(|message| message.message_id.as_deref()))?;
            let mut handled = self.messages(&ids, &event.records, deadline).await;
            if handled.iter().any(|handled| handled.shows) {
                self.hold.wait().await;
            }
            receipts::note(self, &event.records, &mut handled, deadline).await;
            let refused = self.bus.take_refused();
            metrics::count(&self.metrics, &handled, refused, self.clock.now());
            let mut response = SqsBatchResponse::default();
            for (id, _) in ids.into_iter().zip(&handled).filter(|(_, h)| h.disposition.is_retry()) {
                let mut failure = BatchItemFailure::default();
                failure.item_identifier = id;
                response.batch_item_failures.push(failure);
            }
            Ok(response)
        })
    }

    /// Handles messages side by side, except those that others of the batch stand for, and those of
    /// people beyond their share, which go back to the queue.
    async fn messages(
        &self,
        ids: &[String],
        messages: &[SqsMessage],
        deadline: Deadline,
    ) -> Vec<Handled> {
        let now = self.clock.now();
        let (mut first, mut read) = (HashMap::new(), Vec::with_capacity(messages.len()));
        for body in messages.iter().map(|message| message.body.as_deref().unwrap_or("")) {
            read.push(match first.get(body) {
                Some(first) => Result::clone(&read[*first]),
                None => self.commands.parse(body, now),
            });
            first.entry(body).or_insert(read.len() - 1);
        }
        let commands: Vec<_> = read.iter().map(|read| read.as_ref().ok()).collect();
        let stand_ins = stand_ins(messages, &commands);
        let admitted =
            messages.iter().zip(&commands).map(|(m, command)| self.admitted(m, *command));
        let admitted: Vec<_> = admitted.collect();
        let can_be_refused = |index: usize| commands[index].and_then(target).is_none();
        let is_back = |index: usize| {
            let stand_ins = &stand_ins[index];
            admitted[index].is_back()
                && (stand_ins.is_empty() || can_be_refused(index))
                && stand_ins.iter().all(|index| admitted[*index].is_back())
        };
        let back: Vec<_> = (0..messages.len()).filter(|index| is_back(*index)).collect();
        let back = self.sent_back(messages, &admitted, &back, deadline).await;
        let each = ids.iter().zip(messages).zip(&read).enumerate();
        let first = each.map(async |(index, ((id, m), read))| match stand_ins[index].is_empty() {
            _ if back.contains(&index) => Some(self.unapplied(id, read, Disposition::Undecided)),
            true => Some(self.message(id, m, read.clone(), deadline).await),
            false => None,
        });
        let first = join_all(first).await;
        let of = |index: &usize| first[*index].as_ref().map(|handled| &handled.disposition);
        let outcomes = stand_ins.iter().enumerate().map(|(index, stand_ins)| {
            shared(can_be_refused(index), stand_ins.iter().filter_map(of))
        });
        let outcomes: Vec<_> = outcomes.collect();
        drop(admitted);
        let all = ids.iter().zip(messages).zip(read).zip(first.into_iter().zip(outcomes));
        join_all(all.map(async |(((id, m), read), handled)| match handled {
            (Some(handled), _) => handled,
            (None, Some(disposition)) => self.unapplied(id, &read, disposition),
            (None, None) => self.message(id, m, read, deadline).await,
        }))
        .await
    }

    /// Whether a message is within its person's share. A delivery that may not be the first of its
    /// message has to be applied, and one that its producer waits for is.
    fn admitted(&self, message: &SqsMessage, command: Option<&Command>) -> Admission {
        let group = message.attributes.get("MessageGroupId").map(String::as_str);
        let is_awaited = message.message_attributes.contains_key(RECEIPT);
        if is_awaited || Delivery::is_again(message) {
            return Admission::NOW;
        }
        let load = match command {
            Some(command) => Load::of(command),
            None => message.body.as_deref().map(Load::of_malformed),
        };
        load.map_or(Admission::NOW, |load| self.shares.admit(load, group))
    }

    /// Sends messages back to the queue. Returns those that went; the others have to be applied.
    async fn sent_back(
        &self,
        messages: &[SqsMessage],
        admitted: &[Admission],
        back: &[usize],
        deadline: Deadline,
    ) -> Vec<usize> {
        let message = |index: &usize| {
            let Admission::Back { group, delay_seconds } = &admitted[*index] else { return None };
            let message = &messages[*index];
            let Delivery { origin, .. } =
                Delivery::new(message, self.commands.first(message), deadline);
            let back = self.commands.as_it_came(message, &origin)?;
            let (group, delay_seconds) = (Some(group.clone()), *delay_seconds);
            Some((*index, Message { group, delay_seconds, ..back }))
        };
        let (back, messages): (Vec<_>, Vec<_>) = back.iter().filter_map(message).unzip();
        match self.commands.send_back(&messages, deadline).await {
            Ok(()) => back,
            Err(error) => {
                shared::tracing::warn!("commands of people beyond their share stay: {error}");
                Vec::new()
            }
        }
    }
}
