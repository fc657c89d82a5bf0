//! The ids that a command is about.

/// Declares the ids that log lines are searched by, each under the name of the member that holds it, and
/// how they are logged.
macro_rules! subject {
    (of: { $($thing:ident),* $(,)? }, people: { $($person:ident),* $(,)? }) => {
        /// The ids that a command is about.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct LogIds {
            $(pub $thing: Option<String>,)*
            $(pub $person: Option<String>,)*
        }

        impl LogIds {
            /// The names of those that are ids of people.
            pub const PEOPLE: &[&str] = &[$(stringify!($person)),*];

            /// Sets the id of a member; those that log lines are not searched by are left out.
            pub(super) fn set(&mut self, member: &str, id: String) {
                match member {
                    $(stringify!($thing) => self.$thing = Some(id),)*
                    $(stringify!($person) => self.$person = Some(id),)*
                    _ => {}
                }
            }

            /// The id of a member, if log lines are searched by it.
            pub fn get(&self, member: &str) -> Option<&str> {
                match member {
                    $(stringify!($thing) => self.$thing.as_deref(),)*
                    $(stringify!($person) => self.$person.as_deref(),)*
                    _ => None,
                }
            }

            pub fn people(&self) -> impl Iterator<Item = &str> {
                [$(self.$person.as_deref(),)*].into_iter().flatten()
            }
        }

        subject!(@logged ($) $($thing)* $($person)*);
    };
    // The fields of an event have to be constants, and the level too.
    (@logged ($dollar:tt) $($id:ident)*) => {
        /// Logs an event with the ids of a [`LogIds`](crate::platform::message::LogIds) and other fields, as the
        /// macros of `tracing` do.
        #[macro_export]
        macro_rules! log_subject {
            ($dollar level:ident, $dollar subject:expr, $dollar($dollar rest:tt)*) => {
                $dollar crate::tracing::$dollar level!(
                    $($id = $dollar subject.$id.as_deref(),)*
                    $dollar($dollar rest)*
                )
            };
        }
    };
}

subject! {
    of: { activity_id, poll_id, battle_id, hit_id, room_id, tenant_id, customer_id, event_id },
    people: { actor_id, follower_id, followee_id, viewer_id, tagged_id, author_id }
}
