//! Declarations of commands, and of members that belong together. Parser, body, log ids and schema
//! follow from one list.

use super::MemberNames;

/// Declares a command as a struct. Its doc comments are also the descriptions of the schema.
///
/// ```text
/// command! {
///     /// What happened, and which of two such commands wins.
///     BookmarkCreated by viewer_id {
///         /// The reader.
///         viewer_id: ViewerId,
///         …
///     }
///     "bookmark.created": r#"{"viewer_id":"bob",…}"#
/// }
/// ```
///
/// * `by` names the field that fair queues group its messages by, and `of` the field with its
///   sender, if that is another one. `creates` names the member with the id of what the command
///   creates. `SHOWN` means that it changes [pages of one moment](super::CommandPayload::SHOWN).
/// * A field is a member of that name, or several [members](super::Member). `= read` replaces the
///   reader of the type, and `[schema]` its schema.
/// * A command of two types ends with a field that the first type sets and the second undoes: a
///   [`State`](super::State). Each of both types has its own description and example.
macro_rules! command {
    (
        $(#[doc = $about:literal])+
        $command:ident by $($group:ident).+ $(of $($person:ident).+)? $(creates $new:ident)? $(, $shown:ident)? {
            $($(#[doc = $doc:literal])* $field:ident: $type:ty $(= $read:ident $([$schema:expr])?)?),+ $(,)?
        }
        $($(#[doc = $state_doc:literal])+ $state:ident: $state_type:ty {
            $($(#[doc = $of_type:literal])+ $name:literal: $example:literal)+
        })?
        $($only_name:literal $(: $only_example:literal)?)?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $command {
            $($(#[doc = $doc])* pub $field: $type,)+
            $($(#[doc = $state_doc])+ pub $state: $state_type,)?
        }

        const _: () = {
            use $crate::platform::message::*;

            impl CommandPayload for $command {
                const TYPES: &'static [&'static str] = &[$($($name),+)? $($only_name)?];
                const MEMBERS: &'static [&'static str] = members!(@names
                    $($field: <$type as Member>::MEMBERS,)+ $($state: <$state_type as State>::MEMBERS,)?
                );
                $(const $shown: bool = true;)?

                fn type_name(&self) -> &'static str {
                    Self::TYPES[0 $(+ usize::from(!self.$state.is_set()))?]
                }

                fn read(type_name: &str, members: &Members<'_>) -> Result<Self, CommandError> {
                    let _is_set = type_name == Self::TYPES[0];
                    Ok(Self {
                        $($field: members!(@read members $field $(= $read)?)?,)+
                        $($state: State::read(_is_set, stringify!($state), members)?,)?
                    })
                }

                fn write(&self, body: Body) -> Body {
                    $(let body = Member::write(&self.$field, stringify!($field), body);)+
                    $(let body = State::write(&self.$state, stringify!($state), body);)?
                    body
                }

                fn subject(&self) -> LogIds {
                    let mut ids = LogIds::default();
                    $(Member::note(&self.$field, stringify!($field), &mut ids);)+
                    ids
                }

                fn group(&self) -> &str {
                    self.$($group).+.as_str()
                }

                $(fn person(&self) -> &str {
                    self.$($person).+.as_str()
                })?

                #[cfg(test)]
                fn types() -> Vec<TypeSchema> {
                    let members = |_is_set: bool| {
                        let all = [
                            $(members!(@schema $type, $field, [$($doc),*] $($(, $schema)?)?),)+
                            $(<$state_type as State>::members(
                                _is_set, stringify!($state), concat!($($state_doc),+),
                            ),)?
                        ];
                        all.into_iter().flatten().collect()
                    };
                    let types = [
                        $($((concat!($($of_type),+), $name, $example),)+)?
                        $(("", $only_name, concat!($($only_example)?)),)?
                    ];
                    let types = types.into_iter().map(|(doc, name, example)| {
                        let doc = if doc.is_empty() { concat!($($about),+) } else { doc };
                        let members = members(name == Self::TYPES[0]);
                        TypeSchema { name, doc, members, example, creates: concat!($(stringify!($new))?) }
                    });
                    types.collect()
                }
            }
        };
    };
}

/// Declares members that belong together, as a struct with the fields of a [`command!`]. It may
/// derive more traits than commands do.
macro_rules! members {
    (
        $(#[doc = $about:literal])+
        $group:ident $(: $($derive:ident),+)? {
            $($(#[doc = $doc:literal])* $field:ident: $type:ty $(= $read:ident $([$schema:expr])?)?),+ $(,)?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq $(, $($derive),+)?)]
        pub struct $group {
            $($(#[doc = $doc])* pub $field: $type,)+
        }

        const _: () = {
            use $crate::platform::message::*;

            impl Member for $group {
                const MEMBERS: &'static [&'static str] =
                    members!(@names $($field: <$type as Member>::MEMBERS,)+);

                fn read(members: &Members<'_>, _: &'static str) -> Result<Self, CommandError> {
                    Ok(Self { $($field: members!(@read members $field $(= $read)?)?,)+ })
                }

                fn write(&self, _: &'static str, body: Body) -> Body {
                    $(let body = Member::write(&self.$field, stringify!($field), body);)+
                    body
                }

                fn note(&self, _: &'static str, ids: &mut LogIds) {
                    $(Member::note(&self.$field, stringify!($field), ids);)+
                }

                #[cfg(test)]
                fn schema() -> ValueSchema {
                    ValueSchema::object(Self::members("", ""))
                }

                #[cfg(test)]
                fn members(_: &'static str, _: &'static str) -> Vec<MemberSchema> {
                    let all = [$(members!(@schema $type, $field, [$($doc),*] $($(, $schema)?)?)),+];
                    all.into_iter().flatten().collect()
                }
            }
        };
    };
    (@names $($field:ident: $members:expr,)+) => {{
        const LISTS: MemberNames = &[$(match $members {
            [] => &[stringify!($field)],
            several => several,
        }),+];
        &join::<{ count(LISTS) }>(LISTS)
    }};
    (@read $members:ident $field:ident = $read:ident) => {
        $read($members)
    };
    (@read $members:ident $field:ident) => {
        Member::read($members, stringify!($field))
    };
    (@schema $type:ty, $field:ident, [$($doc:literal),*], $schema:expr) => {
        vec![MemberSchema::new(stringify!($field), concat!($($doc),*), $schema)]
    };
    (@schema $type:ty, $field:ident, [$($doc:literal),*]) => {
        <$type as Member>::members(stringify!($field), concat!($($doc),*))
    };
}

/// The number of names in some lists.
pub(crate) const fn count(lists: MemberNames) -> usize {
    let (mut count, mut list) = (0, 0);
    while list < lists.len() {
        count += lists[list].len();
        list += 1;
    }
    count
}

/// The names in some lists as one list.
pub(crate) const fn join<const COUNT: usize>(lists: MemberNames) -> [&'static str; COUNT] {
    let (mut names, mut next, mut list) = ([""; COUNT], 0, 0);
    while list < lists.len() {
        let mut name = 0;
        while name < lists[list].len() {
            names[next] = lists[list][name];
            (next, name) = (next + 1, name + 1);
        }
        list += 1;
    }
    names
}

pub(crate) use {command, members};
