//! Tables of keys: what a feature's items are stored under, written once as format strings.
//!
//! ```ignore
//! keys! {
//!     /// Parses the key of an item about rooms.
//!     pub fn of_key -> RoomItem;
//!     partitions {
//!         /// The messages of a room, by sort key.
//!         pub messages(room: RoomId) = "room#{room}";
//!     }
//!     items {
//!         /// A message.
//!         pub message(room: RoomId, at: SortKey) = messages(room), "{at}" => RoomItem::Message(room, at);
//!     }
//! }
//! ```
//!
//! makes the functions `messages(&RoomId) -> String` and `message(&RoomId, &SortKey) -> Key`, and `of_key(pk, sk)`, which tries the
//! items that say what they are (`=>`) from the first on. An item with a table (`in`) has its
//! [declaration](crate::platform::stored) there. A parameter is a type that is written by `Display` and read by `FromStr`. Its
//! value ends before the text that follows it in the format string, so a value that may have `#` in it is the last one.

/// The most parameters of one key.
const MOST: usize = 8;

/// The values in a key, by the names of the parameters in its format strings.
pub(crate) struct Values<'t> {
    values: [(&'static str, &'t str); MOST],
    found: usize,
}

impl<'t> Values<'t> {
    /// Reads a key; `None` if it is not of this form. `names` are what the parameters of the partition are called here, in their order.
    pub(crate) fn of(
        formats: [&'static str; 2],
        [pk, sk]: [&'t str; 2],
        names: &[&'static str],
    ) -> Option<Self> {
        let mut values = Self { values: [("", ""); MOST], found: 0 };
        values.read(formats[0], pk)?;
        values.values.iter_mut().zip(names).for_each(|((of, _), name)| *of = name);
        values.read(formats[1], sk)?;
        Some(values)
    }

    fn read(&mut self, format: &'static str, text: &'t str) -> Option<()> {
        let (start, mut format) = format.split_once('{').unwrap_or((format, ""));
        let mut text = text.strip_prefix(start)?;
        while !format.is_empty() {
            let (parameter, rest) = format.split_once('}')?;
            let (literal, next) = rest.split_once('{').unwrap_or((rest, ""));
            let value = match (literal, next) {
                ("", _) => std::mem::take(&mut text),
                (literal, "") => std::mem::take(&mut text).strip_suffix(literal)?,
                (literal, _) => {
                    let (value, after) = text.split_once(literal)?;
                    text = after;
                    value
                }
            };
            let name = parameter.split_once(':').map_or(parameter, |(name, _)| name);
            *self.values.get_mut(self.found)? = (name, value);
            self.found += 1;
            format = next;
        }
        text.is_empty().then_some(())
    }

    /// The value of a parameter.
    pub(crate) fn get<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let mut values = self.values[..self.found].iter();
        values.find(|(of, _)| *of == name)?.1.parse().ok()
    }
}

/// A [table of keys](self).
macro_rules! keys {
    (
        $(#[$about:meta])*
        $of_vis:vis fn $of:ident -> $Item:ty;
        partitions {
            $(
                $(#[$p_doc:meta])*
                $p_vis:vis $partition:ident($($p:ident: $P:ty),*) = $pk:literal;
            )*
        }
        items {
            $(
                $(#[$k_doc:meta])*
                $k_vis:vis $key:ident($($k:ident: $K:ty),*) = $in:ident($($i:ident),*), $sk:literal
                    $(in $table:ident as $name:literal $declared:tt)? $(=> $item:expr)?;
            )*
        }
    ) => {
        /// The declarations of the items with these keys.
        pub(crate) const STORED: &[Option<$crate::platform::stored::Stored>] = &[
            $($crate::platform::dynamo::keys::keys!(
                @stored formats::$in, [$($i),*], $sk, [$($k: $K),*] $(in $table as $name $declared)?
            )),*
        ];
        /// The format strings of partition keys, by the names of their functions. Those of partitions whose items are not read are unused.
        #[allow(dead_code, non_upper_case_globals)]
        mod formats {
            $(pub(super) const $partition: &str = $pk;)*
        }
        $(
            $(#[$p_doc])*
            #[doc = concat!("\n`", $pk, "`")]
            #[must_use]
            // A macro does not know which types are small: all parameters are references.
            #[allow(clippy::trivially_copy_pass_by_ref)]
            $p_vis fn $partition($($p: &$P),*) -> String {
                format!($pk)
            }
        )*
        $(
            $(#[$k_doc])*
            #[doc = concat!("\nSort key: `", $sk, "`")]
            #[must_use]
            // Some items are only read, so nothing calls their functions. Parameters are as above, texts among them.
            #[allow(dead_code, clippy::trivially_copy_pass_by_ref, clippy::ptr_arg)]
            $k_vis fn $key($($k: &$K),*) -> $crate::platform::dynamo::item::Key {
                $crate::platform::dynamo::item::Key { pk: $in($($i),*), sk: format!($sk) }
            }
        )*
        $(#[$about])*
        #[must_use]
        $of_vis fn $of(pk: &str, sk: &str) -> Option<$Item> {
            $($crate::platform::dynamo::keys::keys!(@item pk, sk, $in, [$($i),*], $sk, [$($k: $K),*] $(=> $item)?);)*
            None
        }
    };
    // Keys that no function reads back. The reader is unused, and so are the ids that it would return.
    (partitions $partitions:tt items $items:tt) => {
        $crate::platform::dynamo::keys::keys! {
            #[allow(dead_code, unused_variables)]
            fn of_key -> ();
            partitions $partitions
            items $items
        }
    };
    // Declarations of items whose keys are made elsewhere.
    (stored $(
        ($($k:ident: $K:ty),*) = $pk:literal, $sk:literal in $table:ident as $name:literal $declared:tt;
    )*) => {
        /// The declarations of the items of this module.
        pub(crate) const STORED: &[Option<$crate::platform::stored::Stored>] = &[
            $($crate::platform::dynamo::keys::keys!(
                @stored $pk, [], $sk, [$($k: $K),*] in $table as $name $declared
            )),*
        ];
    };
    (@stored $pk:expr, [$($i:ident),*], $sk:literal, [$($k:ident: $K:ty),*]) => { None };
    (
        @stored $pk:expr, [$($i:ident),*], $sk:literal, [$($k:ident: $K:ty),*] in $table:ident as $name:literal {
            says: $says:literal, most: $most:expr, grows: $grows:literal, at_bound: $at_bound:literal,
            test: $test:literal, later: $later:ident, erased: $erased:ident $(,)?
        }
    ) => {
        Some($crate::platform::stored::Stored {
            table: $crate::platform::stored::StoredIn::$table,
            name: $name,
            key: [$pk, $sk],
            most_bytes: $most,
            grows: $grows,
            at_bound: $at_bound,
            test: $test,
            later: $crate::platform::stored::Later::$later,
            erased: $crate::platform::stored::Erased::$erased,
            says: |pk, sk| {
                $crate::platform::dynamo::keys::keys!(
                    @read [$pk, $sk], [pk, sk], [$($i),*], [$($k: $K),*] => format!($says)
                )
            },
        })
    };
    (@item $pk_text:ident, $sk_text:ident, $in:ident, [$($i:ident),*], $sk:literal, [$($k:ident: $K:ty),*]) => {};
    (@item $pk_text:ident, $sk_text:ident, $in:ident, [$($i:ident),*], $sk:literal, [$($k:ident: $K:ty),*] => $item:expr) => {
        let read = || {
            $crate::platform::dynamo::keys::keys!(
                @read [formats::$in, $sk], [$pk_text, $sk_text], [$($i),*], [$($k: $K),*] => $item
            )
        };
        if let Some(item) = read() {
            return Some(item);
        }
    };
    // Reads the values of a key, and makes something of them.
    (@read $formats:expr, $key:expr, [$($i:ident),*], [$($k:ident: $K:ty),*] => $made:expr) => {{
        let values =
            $crate::platform::dynamo::keys::Values::of($formats, $key, &[$(stringify!($i)),*])?;
        let ($($k,)*): ($($K,)*) = ($(values.get(stringify!($k))?,)*);
        $(let _ = &$k;)*
        Some($made)
    }};
}
pub(crate) use keys;

#[cfg(test)]
mod tests {
    use super::Values;

    #[test]
    fn a_key_has_the_form_of_its_format_strings() {
        let read = |formats, key| {
            let values = Values::of(formats, key, &["first"])?;
            Some(["first", "b", "c"].map(|name| values.get::<String>(name)))
        };
        let some = |text: &str| Some(text.to_owned());
        let three = ["x#{a}#y", "{b:04}-{c}"];
        let found = read(three, ["x#p#q#y", "0007-d-e"]);
        assert_eq!(found, Some([some("p#q"), some("0007"), some("d-e")]));
        assert_eq!(read(["x", "y"], ["x", "y"]), Some([None, None, None]));
        for key in [["x#p", "1-2"], ["y#p#y", "1-2"], ["x#p#y", "12"], ["", ""]] {
            assert!(read(three, key).is_none(), "{key:?}");
        }
        for key in [["x", "yz"], ["xx", "y"], ["", "y"]] {
            assert!(read(["x", "y"], key).is_none(), "{key:?}");
        }
    }
}
