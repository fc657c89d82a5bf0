//! The properties of [`tests::properties`] over the corpus that fuzzing has left (`tests/fuzz/corpus`)
//! and over mutations of it, always the same ones.
//!
//! `NAGARE_PROPERTY_CASES=100000 cargo test -p tests --test functions properties::` tries more of them than the
//! few hundred that are tried by default; `cargo fuzz` looks for new ones (`docs/TESTING.md`).

use std::fmt;
use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tests::properties::ALL;

const CASES: u32 = 400;

/// What is put into inputs: what means something to one parser or another.
const PIECES: [&[u8]; 24] = [
    b"\"",
    b"{",
    b"}",
    b"[",
    b",",
    b":",
    b"\\u0000",
    b"\\ud800",
    b"null",
    b"1e400",
    b"-0",
    b"#",
    b"%",
    b"%00",
    b"+",
    b"&",
    b"\n",
    b"\r\n",
    b"\x1f\x8b",
    b"\xff",
    "\u{feff}".as_bytes(),
    "\u{ff42}".as_bytes(),
    b"9999-12-31T23:59:60Z",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

#[derive(Clone)]
struct Input(Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

#[derive(Debug, Clone)]
enum Change {
    Put(Index, &'static [u8]),
    Set(Index, u8),
    Take(Index, usize),
    Double(Index, usize),
    EndAt(Index),
}

impl Change {
    fn apply(self, bytes: &mut Vec<u8>) {
        let index = |at: Index| at.index(bytes.len() + 1);
        match self {
            Self::Put(at, piece) => {
                let at = index(at);
                bytes.splice(at..at, piece.iter().copied());
            }
            Self::Set(at, byte) => {
                let at = index(at);
                bytes.splice(at..(at + 1).min(bytes.len()), [byte]);
            }
            Self::Take(at, length) => {
                let at = index(at);
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Self::Double(at, length) => {
                let at = index(at);
                let piece = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            Self::EndAt(at) => bytes.truncate(index(at)),
        }
    }
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<Index>(), select(PIECES.to_vec())).prop_map(|(at, piece)| Change::Put(at, piece)),
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        3 => (any::<Index>(), 1_usize..20).prop_map(|(at, length)| Change::Take(at, length)),
        2 => (any::<Index>(), 1_usize..300).prop_map(|(at, length)| Change::Double(at, length)),
        1 => any::<Index>().prop_map(Change::EndAt),
    ]
}

fn inputs(corpus: Vec<Vec<u8>>) -> impl Strategy<Value = Input> {
    (select(corpus), vec(changes(), 1..5)).prop_map(|(mut bytes, changes)| {
        changes.into_iter().for_each(|change| change.apply(&mut bytes));
        Input(bytes)
    })
}

/// The corpus of one property, in an order that does not depend on the disk.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

fn cases() -> u32 {
    #[allow(clippy::disallowed_methods, reason = "how to choose cases from the command line")]
    let cases = std::env::var("NAGARE_PROPERTY_CASES").ok();
    cases.map_or(CASES, |number| number.parse().unwrap())
}

fn check(name: &str) {
    let (_, property) = ALL.into_iter().find(|(other, _)| *other == name).unwrap();
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "the corpus of {name} is empty");
    corpus.iter().for_each(|input| property(input));
    let config = Config { cases: cases(), failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let inputs = inputs(corpus);
    let tried = TestRunner::new_with_rng(config, random).run(&inputs, |Input(bytes)| {
        property(&bytes);
        Ok(())
    });
    if let Err(failure) = tried {
        panic!("{name}: {failure}");
    }
}

macro_rules! properties {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        #[test]
        fn none_is_left_out() {
            assert_eq!(ALL.map(|(name, _)| name), [$(stringify!($name)),*]);
        }
    };
}

properties! { api_event command cursor follows_csv messages posts_csv sort_key }
