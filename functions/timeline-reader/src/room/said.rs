//! What was said, as somebody may read it.
//!
//! # Who reads
//!
//! A room that nobody has joined is everybody's. Of any other only present members read. Those who may speak for anybody
//! read every room, or as the viewer that they name.
//!
//! # One page, one moment
//!
//! A page is made of several calls: who may read and how many shards there are, a query of each shard, more where one
//! is not enough. As of [timelines](crate::page), a page whose calls fall within one
//! [hold](shared::runtime::hold) is of one moment. One that took longer is read again, until one falls within a hold or
//! finds the same as the one before. That one is of a moment between both: no message comes back once it is gone, and one
//! that came and went in between has left a tombstone, which is counted.

use futures::future::{OptionFuture, try_join};
use shared::dynamo::DynamoError;
use shared::paging::Stretch;
use shared::rooms::{Asked, Entrance, Message, Rooms};
use shared::runtime::deadline::Deadline;
use shared::runtime::hold::Hold;
use shared::values::{RoomId, SortKey, Span, ViewerId};
use tokio::time::Instant;

use crate::Context;
use crate::page::{Page, Paging, Source, fill};

/// As whom somebody reads.
pub(super) enum Reader {
    /// As somebody who may read everything.
    Trusted,
    /// As a viewer, or as somebody who can be none.
    Viewer(Option<ViewerId>),
}

impl Reader {
    fn viewer(&self) -> Option<&ViewerId> {
        match self {
            Self::Trusted => None,
            Self::Viewer(viewer) => viewer.as_ref(),
        }
    }

    fn may_enter(&self, entrance: Entrance) -> bool {
        matches!(self, Self::Trusted) || entrance.is_open()
    }
}

/// What was said in a room, while a page of it is read.
pub(super) struct Said<'a> {
    rooms: &'a Rooms,
    room: &'a RoomId,
    author: Option<&'a ViewerId>,
    reader: &'a Reader,
    hold: Hold,
    deadline: Deadline,
    /// What decides who reads, once it was read for this page.
    entrance: Option<Entrance>,
    /// How many rows were read for this page, tombstones included.
    read: usize,
}

impl<'a> Said<'a> {
    pub(super) fn new(
        cx: &Context<'_>,
        rooms: &'a Rooms,
        room: &'a RoomId,
        author: Option<&'a ViewerId>,
        reader: &'a Reader,
    ) -> Self {
        let (hold, deadline) = (cx.reader.hold, cx.deadline);
        Self { rooms, room, author, reader, hold, deadline, entrance: None, read: 0 }
    }

    /// Reads a page, unless it is not for this reader.
    pub(super) async fn page(
        mut self,
        paging: &Paging<'_>,
    ) -> Result<Option<Page<Message>>, DynamoError> {
        let mut before = None;
        loop {
            (self.entrance, self.read) = (None, 0);
            let begun = Instant::now();
            let filled = fill(paging, &mut self).await?;
            let found = (filled.rows, self.entrance, self.read);
            if self.hold.covers(begun) || before.as_ref() == Some(&found) {
                let is_theirs = self.entrance.is_some_and(|it| self.reader.may_enter(it));
                return Ok(is_theirs.then_some(filled.page));
            }
            before = Some(found);
        }
    }

    /// Reads the rows of one author, or of the first shard, and beside the first of them who may read.
    async fn first(&mut self, asked: Asked<'_>) -> Result<Stretch<Message>, DynamoError> {
        let Self { rooms, room, author, deadline, .. } = *self;
        let rows = async {
            match author {
                Some(author) => rooms.said_by(room, author, asked, deadline).await,
                None => rooms.in_first_shard(room, asked, deadline).await,
            }
        };
        let entrance = OptionFuture::from(
            self.entrance.is_none().then(|| rooms.entrance(room, self.reader.viewer(), deadline)),
        );
        let (rows, entrance) = try_join(rows, async { entrance.await.transpose() }).await?;
        self.entrance = self.entrance.or(entrance);
        Ok(rows)
    }
}

impl Source for Said<'_> {
    type Row = Message;
    type Shown = Message;

    fn key(row: &Message) -> &SortKey {
        &row.sort_key
    }

    async fn read(
        &mut self,
        span: Span,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Stretch<Message>, DynamoError> {
        let asked = Asked { span, after, wanted: limit };
        let first = self.first(asked).await?;
        let entrance = self.entrance.filter(|entrance| self.reader.may_enter(*entrance));
        let stretch = match entrance {
            // Nothing of it is looked at any further.
            None => Stretch { rows: Vec::new(), read: 0, next: None },
            Some(_) if self.author.is_some() => first,
            Some(entrance) => {
                let shards = entrance.room.shards;
                self.rooms.in_all_shards(self.room, shards, first, asked, self.deadline).await?
            }
        };
        self.read += stretch.read;
        Ok(stretch)
    }

    fn is_hidden(&self, _: &Message) -> bool {
        false
    }

    async fn look_up(&mut self, _: &[Message], _: bool) -> Result<(), DynamoError> {
        Ok(())
    }

    fn shown(&self, row: &Message) -> Option<Message> {
        Some(row.clone())
    }
}
