//! The files that the command line reads.

use std::fmt::{Debug, Write};
use std::io::Cursor;

use nagare::{Failure, follows_in, posts_in};

/// A file of follows: no row is lost or changed by writing what was read, and reading it again.
pub fn follows_csv(data: &[u8]) {
    let read = |data: &[u8]| good(follows_in(Cursor::new(data.to_vec())));
    let edges = read(data);
    let print = edges.iter().map(|(follower, followee)| format!("{follower},{followee}"));
    assert_eq!(read(&file("follower,followee", print)), edges);
}

/// The same of a file of posts.
pub fn posts_csv(data: &[u8]) {
    let read = |data: &[u8]| good(posts_in(Cursor::new(data.to_vec())));
    let posts = read(data);
    let print = posts.iter().map(|(seconds, author, kind)| format!("{seconds},{author},{kind}"));
    assert_eq!(read(&file("t,author,kind", print)), posts);
}

/// The rows that can be used. A bad line does not lose another one; a broken file ends the rows.
fn good<T: Debug>(rows: Result<impl Iterator<Item = Result<T, Failure>>, Failure>) -> Vec<T> {
    match rows {
        Ok(rows) => rows.filter_map(|row| row.map_err(|failure| check(&failure)).ok()).collect(),
        Err(failure) => {
            check(&failure);
            Vec::new()
        }
    }
}

/// Bad input is reported in a sentence that names a line or the whole.
fn check(failure: &Failure) {
    assert_eq!(failure.exit_code(), 2, "{failure}");
    assert!((1..=2_000).contains(&failure.to_string().len()), "{failure}");
}

fn file(header: &str, rows: impl Iterator<Item = String>) -> Vec<u8> {
    let mut text = format!("{header}\n");
    rows.for_each(|row| writeln!(text, "{row}").unwrap());
    text.into_bytes()
}
