//! The context that a command is applied in.

use shared::command::Command;
use shared::history::events::Events;
use shared::platform::dynamo::Dynamo;
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::outbound::{Bus, Happened, OutboundEvent};
use shared::platform::projection::Views;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{Retention, Timestamp};
use shared::social::WriteQueues;
use shared::social::activities::Activities;
use shared::social::fanout::FanOuts;
use shared::social::follows::{Follows, IdleViewers};
use shared::social::tags::Tags;
use shared::social::timelines::{Reconciler, Timelines};

use crate::command_queue::CommandQueue;
use crate::dead_letters::DeadLetterQueue;
use crate::delivery::Delivery;
use crate::disposition::Disposition;
use crate::failure::Failure;
use crate::fanout::Turns;
use crate::fanout::limits::FanOutLimits;
use crate::writer::Writer;

/// The context of a command of the event history, which only exists if that is on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a> {
    pub(crate) cx: &'a Context,
    pub(crate) events: &'a Events,
}

/// One delivery of one command, and the handles that it may use. The usage of its calls is counted separately.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) delivery: Delivery,
    pub(crate) ledger: Ledger,
    pub(crate) facts: Facts,
    pub(crate) views: Views,
    pub(crate) activities: Activities,
    pub(crate) follows: Follows,
    pub(crate) timelines: Timelines,
    pub(crate) fan_outs: FanOuts,
    pub(crate) tags: Tags,
    pub(crate) queues: WriteQueues,
    pub(crate) turns: Turns,
    /// For [`Self::history`].
    pub(crate) events: Option<Events>,
    pub(crate) commands: CommandQueue,
    pub(crate) dead_letters: DeadLetterQueue,
    pub(crate) limits: FanOutLimits,
    pub(crate) retention: Retention,
    pub(crate) idle_viewers: IdleViewers,
    pub(crate) clock: Clock,
    pub(crate) hold: Hold,
    pub(crate) bus: Bus,
}

impl Context {
    /// A delivery to a writer, whose calls of tables go over `dynamo`, to the deadline of the delivery.
    pub(crate) fn new(
        writer: &Writer,
        dynamo: &Dynamo,
        commands: CommandQueue,
        dead_letters: DeadLetterQueue,
        delivery: Delivery,
    ) -> Self {
        let ledger = writer.ledger.over(dynamo);
        Self {
            delivery,
            activities: Activities::new(&ledger)
                .with_change_log(&writer.change_log)
                .with_hold(writer.hold),
            follows: Follows::new(&ledger),
            timelines: writer.timelines.over(dynamo),
            fan_outs: FanOuts::new(&ledger),
            tags: Tags::new(&ledger),
            queues: writer.queues.clone(),
            turns: writer.turns.clone(),
            ledger,
            facts: writer.facts.over(dynamo),
            views: writer.views.over(dynamo),
            events: writer.events.as_ref().map(|events| events.over(dynamo)),
            commands,
            dead_letters,
            limits: writer.limits,
            retention: writer.retention,
            idle_viewers: writer.idle_viewers.clone(),
            clock: writer.clock.clone(),
            hold: writer.hold,
            bus: writer.bus.clone(),
        }
    }

    /// The context of a command of the event history.
    ///
    /// # Errors
    /// [`Failure::HistoryOff`]
    pub(crate) fn history(&self) -> Result<History<'_>, Failure> {
        let events = self.events.as_ref().ok_or(Failure::HistoryOff)?;
        Ok(History { cx: self, events })
    }

    /// The writes after which a command notes that it is complete. A repeated command notes it after any write, because it may be repeated
    /// again.
    pub(crate) fn noted_beyond(&self, is_repeated: bool) -> usize {
        if is_repeated { 0 } else { self.limits.repeated }
    }

    /// Tells the bus what has happened, once the command is on record.
    pub(crate) async fn tell(&self, happened: Happened, at: Timestamp) -> Result<(), Failure> {
        let recorded_at = self.delivery.sent_at().unwrap_or_else(|| self.clock.now());
        let event = OutboundEvent::new(&happened, at, recorded_at)?;
        Ok(self.bus.send(vec![event], self.delivery.deadline).await?)
    }

    /// True if timelines still show an activity of this instant.
    pub(crate) fn retains(&self, published_at: Timestamp) -> bool {
        self.retention.holds(published_at, self.clock.now())
    }

    pub(crate) fn reconciler(&self) -> Reconciler {
        let (timelines, clock) = (self.timelines.clone(), self.clock.clone());
        Reconciler::new(&self.ledger, timelines, self.retention, clock, self.hold)
    }

    /// Sends the rest of a command back to its queue.
    pub(crate) async fn hand_on(&self, rest: Command) -> Result<Disposition, Failure> {
        let rest = self.delivery.rest(rest);
        self.commands.send(&[rest], self.delivery.hard_deadline).await?;
        Ok(Disposition::Continued)
    }
}
