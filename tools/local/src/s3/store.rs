//! Objects, by key: in memory, or one file each.
//!
//! A file holds the bytes of one object and nothing else, so any tool can read it. It is written
//! under a temporary name in the same directory, synced, and renamed. So after `kill -9` the object
//! is either the old one or the new one. The modification time of the file is by the stack's clock,
//! not by the system's. No link below the directory is followed ([`OwnDir`]).
//!
//! # File names
//!
//! A key is split at its slashes. Each part but the last is a directory, whose name ends in `=`;
//! the last part is the file. Names are in small letters: of a part with capitals, the places of
//! these follow it as bits, after `^` (`Acme` is `acme^01`). What means something else in a file
//! name (`=`, `^`, `%`, control characters, a dot at the beginning) is escaped. So two keys never
//! have the same path, even if the file system takes `A` and `a` for the same; no key leads out of
//! the directory; and no key is in the way of another: `a` and `a/b` can both exist.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::body::Bytes;
use md5::{Digest as _, Md5};
use nagare_client::own_dir::{OwnDir, OwnError};
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use shared::platform::crypto::hash::hex;
use shared::platform::values::Timestamp;

/// The characters that are escaped in file names, besides a dot at the beginning.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b'=').add(b'^').add(b'/');
/// The suffix of the names of directories.
const DIRECTORY: char = '=';
/// What parts a name from the places of its capitals.
const CAPITALS: char = '^';
/// The longest file name that file systems accept, in bytes.
const LONGEST_NAME: usize = 255;

/// An object cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the objects of the archive: {0}")]
pub struct StoreError(#[from] OwnError);

/// The metadata of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct About {
    /// In bytes.
    pub(super) length: usize,
    /// MD5 in hex.
    pub(super) etag: String,
    /// When it was put, by the stack's clock.
    pub(super) modified: Timestamp,
}

/// The objects of a bucket. Cheap to clone: clones share them.
#[derive(Debug, Clone)]
pub(super) struct ObjectStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    directory: Option<OwnDir>,
    /// The metadata of each object. With its bytes, if there is no directory.
    objects: Mutex<BTreeMap<String, (About, Option<Bytes>)>>,
}

impl ObjectStore {
    /// An empty store in memory.
    pub(super) fn in_memory() -> Self {
        Self(Arc::new(Inner { directory: None, objects: Mutex::default() }))
    }

    /// Opens the objects in a directory. Reads each of them once, for its digest.
    pub(super) fn open(directory: OwnDir) -> Result<Self, StoreError> {
        let mut objects = BTreeMap::new();
        find(&directory, "", &mut objects)?;
        Ok(Self(Arc::new(Inner { directory: Some(directory), objects: Mutex::new(objects) })))
    }

    /// The metadata of an object.
    pub(super) fn about(&self, key: &str) -> Option<About> {
        self.0.objects.lock().get(key).map(|(about, _)| about.clone())
    }

    /// The metadata and the bytes of an object.
    pub(super) fn get(&self, key: &str) -> Result<Option<(About, Bytes)>, StoreError> {
        let objects = self.0.objects.lock();
        let Some((about, bytes)) = objects.get(key) else { return Ok(None) };
        let bytes = match (bytes, &self.0.directory) {
            (Some(bytes), _) => Some(bytes.clone()),
            (None, Some(directory)) => match Names::of(key).find(directory)? {
                Some((directory, name)) => directory.read(&name)?.map(Bytes::from),
                None => None,
            },
            (None, None) => None,
        };
        Ok(bytes.map(|bytes| (about.clone(), bytes)))
    }

    /// Puts an object, replacing the one with the same key. Returns its ETag, or `None` if a file name would be too long.
    ///
    /// # Errors
    /// [`StoreError`]; the old object is unchanged.
    pub(super) fn put(
        &self,
        key: &str,
        bytes: Bytes,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let etag = hex(&Md5::digest(&bytes));
        let about = About { length: bytes.len(), etag: etag.clone(), modified: now };
        let mut objects = self.0.objects.lock();
        let kept = match &self.0.directory {
            Some(_) if !Names::of(key).are_short() => return Ok(None),
            Some(directory) => {
                Names::of(key).write(directory, &bytes, now)?;
                None
            }
            None => Some(bytes),
        };
        objects.insert(key.to_owned(), (about, kept));
        Ok(Some(etag))
    }

    /// Deletes an object, if it exists.
    pub(super) fn delete(&self, key: &str) -> Result<(), StoreError> {
        let mut objects = self.0.objects.lock();
        if objects.contains_key(key)
            && let Some(directory) = &self.0.directory
            && let Some((directory, name)) = Names::of(key).find(directory)?
        {
            directory.remove(&name)?;
        }
        objects.remove(key);
        Ok(())
    }

    /// The keys after this one, in order, with the metadata of their objects.
    pub(super) fn behind(&self, key: &str, at_most: usize) -> Vec<(String, About)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let objects = self.0.objects.lock();
        let behind = objects.range::<str, _>((Excluded(key), Unbounded)).take(at_most);
        behind.map(|(key, (about, _))| (key.clone(), about.clone())).collect()
    }
}

/// The names that a key stands for: directories, each in the one before, and a file.
struct Names {
    directories: Vec<String>,
    file: String,
}

impl Names {
    fn of(key: &str) -> Self {
        let (directories, file) = key.rsplit_once('/').map_or((None, key), |(d, f)| (Some(d), f));
        let directories = directories.into_iter().flat_map(|it| it.split('/'));
        let directories = directories.map(|part| format!("{}{DIRECTORY}", name_of(part))).collect();
        Self { directories, file: name_of(file) }
    }

    /// True if each of them is short enough for file systems.
    fn are_short(&self) -> bool {
        self.directories.iter().chain([&self.file]).all(|name| name.len() <= LONGEST_NAME)
    }

    /// The directory of the file, if it exists, and the name of the file.
    fn find(self, within: &OwnDir) -> Result<Option<(OwnDir, String)>, OwnError> {
        let mut directory = within.clone();
        for name in &self.directories {
            let Some(found) = directory.directory(name)? else { return Ok(None) };
            directory = found;
        }
        Ok(Some((directory, self.file)))
    }

    fn write(&self, within: &OwnDir, bytes: &[u8], now: Timestamp) -> Result<(), OwnError> {
        let mut directory = within.clone();
        for name in &self.directories {
            directory = directory.create_directory(name)?;
        }
        let mut new = directory.new_file()?;
        let since = Duration::from_millis(u64::try_from(now.unix_millis()).unwrap_or(0));
        let written = new.file.write_all(bytes);
        let written = written.and_then(|()| new.file.set_modified(UNIX_EPOCH + since));
        let written = written.and_then(|()| new.file.sync_all());
        written.map_err(OwnError::failed(directory.path()))?;
        new.keep(&self.file)
    }
}

/// The name of a part of a key, in small letters.
fn name_of(part: &str) -> String {
    let mut name = utf8_percent_encode(&part.to_ascii_lowercase(), ESCAPED).to_string();
    name.make_ascii_lowercase();
    if name.is_empty() {
        // An empty part, as in `a//b`.
        name.push('%');
    } else if name.starts_with('.') {
        name.replace_range(..1, "%2e");
    }
    let capitals = capitals(part);
    if capitals.is_empty() { name } else { format!("{name}{CAPITALS}{}", hex(&capitals)) }
}

/// The places of capitals as bits, up to the last one.
fn capitals(part: &str) -> Vec<u8> {
    let mut bits = vec![0; part.len().div_ceil(8)];
    for (place, byte) in part.bytes().enumerate() {
        bits[place / 8] |= u8::from(byte.is_ascii_uppercase()) << (place % 8);
    }
    bits.truncate(bits.iter().rposition(|bits| *bits != 0).map_or(0, |last| last + 1));
    bits
}

/// The part of a key that has this name, if one does.
fn part_of(name: &str) -> Option<String> {
    let (small, capitals) = name.rsplit_once(CAPITALS).unwrap_or((name, ""));
    let small = if small == "%" { "" } else { small };
    let mut part = percent_decode_str(small).decode_utf8().ok()?.into_owned().into_bytes();
    for (index, digits) in capitals.as_bytes().chunks(2).enumerate() {
        let bits = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        for place in (0..8).filter(|place| bits >> place & 1 == 1) {
            part.get_mut(index * 8 + place)?.make_ascii_uppercase();
        }
    }
    let part = String::from_utf8(part).ok()?;
    (name_of(&part) == name).then_some(part)
}

/// Adds the objects below a directory. Deletes the temporary files that a crash has left there.
fn find(
    directory: &OwnDir,
    prefix: &str,
    objects: &mut BTreeMap<String, (About, Option<Bytes>)>,
) -> Result<(), OwnError> {
    for (name, is_directory) in directory.names_alone()? {
        if is_directory {
            let Some(part) = name.strip_suffix(DIRECTORY).and_then(part_of) else { continue };
            if let Some(directory) = directory.directory(&name)? {
                find(&directory, &format!("{prefix}{part}/"), objects)?;
            }
        } else if let Some(part) = part_of(&name)
            && let Some(about) = look_at(directory, &name)?
        {
            objects.insert(format!("{prefix}{part}"), (about, None));
        }
    }
    Ok(())
}

fn look_at(directory: &OwnDir, name: &str) -> Result<Option<About>, OwnError> {
    let Some(mut file) = directory.existing(name)? else { return Ok(None) };
    let failed = |error| OwnError::failed(&directory.path().join(name))(error);
    let modified = file.metadata().and_then(|metadata| metadata.modified()).map_err(failed)?;
    let millis = modified.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_millis();
    let (mut digest, mut length, mut some) = (Md5::new(), 0, vec![0; 65_536]);
    loop {
        let read = file.read(&mut some).map_err(failed)?;
        if read == 0 {
            break;
        }
        digest.update(&some[..read]);
        length += read;
    }
    let modified = Timestamp::from_unix_millis(i64::try_from(millis).unwrap_or(i64::MAX));
    Ok(Some(About { length, etag: hex(&digest.finalize()), modified }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn open(path: &Path) -> Result<ObjectStore, StoreError> {
        ObjectStore::open(OwnDir::open(path).unwrap())
    }

    #[test]
    fn what_was_put_is_there_after_a_restart_under_any_key() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().join("objects");
        let long = "aA|+".repeat(32);
        let keys = [
            "a",
            "a/b",
            "a+",
            "a+/b",
            "..",
            "../x",
            "./x",
            "a//b",
            "a/",
            "ü/%2F",
            "/",
            "t:@-_.gz",
            "a/b/c",
            ".new-a",
            "A",
            "a=",
            "a=/b",
            "a^01",
            "Ä/ä",
            "ACME/Acme/aCME/acme",
            &long,
        ];
        let now = at("2013-05-06T07:08:09.123Z");
        let store = open(&directory).unwrap();
        for key in keys {
            store.put(key, Bytes::from(format!("of {key}")), now).unwrap().unwrap();
        }
        let before = store.behind("", 100);
        assert_eq!(before.len(), keys.len());
        let store = open(&directory).unwrap();
        assert_eq!(store.behind("", 100), before);
        for key in keys {
            let (about, bytes) = store.get(key).unwrap().unwrap();
            assert_eq!((bytes, about.modified), (Bytes::from(format!("of {key}")), now));
            store.delete(key).unwrap();
        }
        assert_eq!(open(&directory).unwrap().behind("", 100), []);
        let outside = fs::read_dir(temporary.path()).unwrap().count();
        assert_eq!(outside, 1, "no key leads out of the directory");
    }

    proptest! {
        // As on a file system that takes capitals and small letters for the same.
        #[test]
        fn names_differ_by_more_than_capitals(keys in prop::collection::btree_set("[aAbB/=^%.|+é]{1,4}", 2..40)) {
            let path = |key: &String| {
                let Names { directories, file } = Names::of(key);
                [directories, vec![file]].concat().join("/").to_lowercase()
            };
            let paths: BTreeSet<_> = keys.iter().map(path).collect();
            prop_assert_eq!(paths.len(), keys.len());
            for key in keys {
                for part in key.split('/') {
                    prop_assert_eq!(part_of(&name_of(part)), Some(part.to_owned()));
                }
            }
        }
    }

    #[test]
    fn what_was_not_written_to_its_end_is_taken_away() {
        let temporary = tempfile::tempdir().unwrap();
        let left = temporary.path().join(".new-abc");
        fs::write(&left, "half").unwrap();
        let store = open(temporary.path()).unwrap();
        assert_eq!(store.behind("", 100), []);
        assert!(!left.exists());
    }

    /// A link that another user has put there leads nowhere, whenever it is put there.
    #[test]
    fn links_are_not_followed() {
        let temporary = tempfile::tempdir().unwrap();
        let (elsewhere, objects) =
            (temporary.path().join("elsewhere"), temporary.path().join("objects"));
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("precious"), "p").unwrap();
        let store = open(&objects).unwrap();
        let now = at("2013-05-06T07:08:09Z");
        store.put("d/precious", Bytes::from("mine"), now).unwrap().unwrap();
        fs::remove_dir_all(objects.join("d=")).unwrap();
        symlink(&elsewhere, objects.join("d=")).unwrap();
        symlink(elsewhere.join("precious"), objects.join("f")).unwrap();
        assert!(store.get("d/precious").is_err());
        assert!(store.put("d/precious", Bytes::from("x"), now).is_err());
        assert!(store.put("d/new", Bytes::from("x"), now).is_err());
        assert!(store.delete("d/precious").is_err());
        assert_eq!(open(&objects).unwrap().behind("", 100), [], "none is found");
        store.put("f", Bytes::from("x"), now).unwrap().unwrap();
        assert_eq!(fs::read(elsewhere.join("precious")).unwrap(), b"p");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
    }

    #[test]
    fn files_are_their_owners_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let store = open(temporary.path()).unwrap();
        store.put("a/b", Bytes::from("x"), at("2013-05-06T07:08:09Z")).unwrap().unwrap();
        for (name, mode) in [("", 0o700), ("a=", 0o700), ("a=/b", 0o600)] {
            let metadata = temporary.path().join(name).metadata().unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, mode, "{name}");
        }
    }

    #[test]
    fn a_name_that_no_file_can_have_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let store = open(temporary.path()).unwrap();
        let now = at("2013-05-06T07:08:09Z");
        let key = "x".repeat(256);
        assert_eq!(store.put(&key, Bytes::new(), now).unwrap(), None);
        assert_eq!(store.about(&key), None);
    }
}
