//! `nagare notifications`: reads what a viewer is notified of through the HTTP API, as a client would, and marks it as read.
//!
//! Standard output has the notifications alone, one a line. Standard error says how many likes are unread, and whether there is more.

use clap::Args;
use nagare_client::api::{Api, Query};
use nagare_client::remote::Remote;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared::command::Command;
use shared::platform::values::ViewerId;
use shared::social::notifications::{MarkRead, Marked, ReadThrough};

use crate::Failure;
use crate::print::{counted, one_line, printable, printable_json, say, tell};

#[derive(Debug, Args)]
pub(crate) struct Notifications {
    /// Whose notifications.
    viewer: ViewerId,
    /// Leave out those that are read.
    #[arg(long)]
    unread: bool,
    /// Mark what was shown as read. What comes meanwhile stays unread.
    #[arg(long)]
    read: bool,
    /// Notifications on a page, 1 to 100.
    #[arg(long)]
    limit: Option<u32>,
    /// Go on from page to page until the end.
    #[arg(long)]
    all: bool,
    /// Go on where an earlier answer ended (its next_cursor).
    #[arg(long)]
    cursor: Option<String>,
    /// Print JSON: one notification a line, and the rest of the answer as a last line on standard error.
    #[arg(long)]
    json: bool,
}

/// A page, as far as it is looked at.
#[derive(Deserialize)]
struct NotificationsPage {
    unread_count: u64,
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

/// What there is to know beside the notifications, for programs.
#[derive(Serialize)]
struct Rest<'a> {
    unread_count: u64,
    next_cursor: Option<&'a str>,
}

#[derive(Deserialize)]
struct Notification {
    notification_id: String,
    activity_id: String,
    state: String,
    count: u64,
    through: u64,
    viewers: Vec<String>,
    last_at: String,
}

impl Notifications {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        // What is needed to mark is looked for before anything is shown.
        let sender = match self.read {
            true => Some(Remote::from_environment().await?.sender()?),
            false => None,
        };
        let viewer = self.viewer.to_string();
        let mut api = Api::on_behalf_of(&viewer).await?;
        let (mut cursor, mut shown) = (self.cursor.clone(), Vec::new());
        let page = loop {
            let query = self.query(cursor.as_deref());
            let answer: Box<RawValue> = api.get(&["v1", "notifications", &viewer], &query).await?;
            let page: NotificationsPage = serde_json::from_str(answer.get()).map_err(unexpected)?;
            for item in &page.items {
                shown.push(self.print(item)?);
            }
            match &page.next_cursor {
                Some(next) if self.all => cursor = Some(next.clone()),
                _ => break page,
            }
        };
        self.tell_end(&page, shown.len())?;
        let unread = shown.into_iter().filter(|item| item.state == "unread");
        let read: Vec<_> = unread
            .map(|Notification { notification_id, through, .. }| ReadThrough {
                notification_id,
                through,
            })
            .collect();
        if let Some(sender) = sender.filter(|_| !read.is_empty()) {
            let marked = counted(read.len() as u64, "notification", "notifications");
            let mark = MarkRead { viewer_id: self.viewer, what: Marked::These(read) };
            sender.send_one(&Command::MarkRead(mark)).await?;
            tell!("{marked} marked as read: in effect once the command is processed");
        }
        Ok(())
    }

    fn query(&self, cursor: Option<&str>) -> Query {
        let given = [
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("state", self.unread.then(|| "unread".to_owned())),
            ("cursor", cursor.map(ToOwned::to_owned)),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn print(&self, item: &RawValue) -> Result<Notification, Failure> {
        let notification: Notification = serde_json::from_str(item.get()).map_err(unexpected)?;
        if self.json {
            say!("{}", one_line(item))?;
        } else {
            let Notification { activity_id, state, last_at, .. } = &notification;
            say!("{last_at}  {state:<6}  {} {activity_id}", who(&notification))?;
        }
        Ok(notification)
    }

    /// Says on standard error what is left to read.
    fn tell_end(&self, page: &NotificationsPage, shown: usize) -> Result<(), Failure> {
        let NotificationsPage { unread_count, next_cursor, .. } = page;
        let next_cursor = next_cursor.as_deref();
        if self.json {
            let rest = Rest { unread_count: *unread_count, next_cursor };
            tell!("{}", printable_json(&serde_json::to_string(&rest)?));
            return Ok(());
        }
        if shown == 0 {
            tell!("no notifications for {}", self.viewer);
        } else {
            tell!("{} unread", counted(*unread_count, "like is", "likes are"));
        }
        if let Some(next) = next_cursor {
            tell!(
                "there is more: add --all for all of it, or read the next page with --cursor {}",
                printable(next)
            );
        }
        Ok(())
    }
}

/// Who likes it: up to three by name, and how many others.
fn who(Notification { viewers, count, .. }: &Notification) -> String {
    let others = count.saturating_sub(viewers.len() as u64);
    let names = viewers.join(", ");
    match (viewers.len(), others) {
        (0, _) => format!("{} liked", counted(*count, "viewer", "viewers")),
        (_, 0) => format!("{names} liked"),
        (_, _) => format!("{names} and {} liked", counted(others, "other", "others")),
    }
}

fn unexpected(error: serde_json::Error) -> Failure {
    Failure::Unreachable(format!("the API's answer is not a page of notifications: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(viewers: &[&str], count: u64) -> String {
        let viewers = viewers.iter().map(ToString::to_string).collect();
        let [notification_id, activity_id, state, last_at] = Default::default();
        let through = count;
        who(&Notification { notification_id, activity_id, state, count, through, viewers, last_at })
    }

    #[test]
    fn who_likes_it_is_said_in_words() {
        assert_eq!(said(&["eve"], 1), "eve liked");
        assert_eq!(said(&["eve", "dan"], 2), "eve, dan liked");
        assert_eq!(said(&["eve", "dan", "bob"], 4), "eve, dan, bob and 1 other liked");
        assert_eq!(said(&["eve", "dan", "bob"], 1_003), "eve, dan, bob and 1000 others liked");
        assert_eq!(said(&[], 1), "1 viewer liked");
    }
}
