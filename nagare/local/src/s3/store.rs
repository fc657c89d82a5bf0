//! Objects, by key: in memory, or one file each.
//!
//! A file holds the bytes of one object and nothing else, so any tool can read it. It is written under a temporary name in the same
//! directory, synced, and renamed. So after `kill -9` the object is either the old one or the new one. The modification time of the
//! file is by the stack's clock, not by the system's.
//!
//! # File names
//!
//! A key is split at its slashes. Each part but the last is a directory, whose name ends in `+`; the last part is the file. What
//! means something else in a file name (`+` itself, `%`, control characters, a dot at the beginning) is escaped. So two keys never
//! have the same path, no key leads out of the directory, and no key is in the way of another: `a` and `a/b` can both exist.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::body::Bytes;
use md5::{Digest as _, Md5};
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use shared::crypto::hash::hex;
use shared::values::Timestamp;

/// The characters that are escaped in file names, besides a dot at the beginning.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b'+').add(b'/');
/// The longest file name that file systems accept, in bytes.
const LONGEST_NAME: usize = 255;
/// The prefix of temporary names. No file of a key begins with it, because a dot at the beginning is escaped.
const BEING_WRITTEN: &str = ".new-";

/// An object cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the object {path}: {source}")]
pub struct StoreError {
    path: PathBuf,
    source: io::Error,
}

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
pub(super) struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    directory: Option<PathBuf>,
    /// The metadata of each object. With its bytes, if there is no directory.
    objects: Mutex<BTreeMap<String, (About, Option<Bytes>)>>,
}

impl Store {
    /// An empty store in memory.
    pub(super) fn in_memory() -> Self {
        Self(Arc::new(Inner { directory: None, objects: Mutex::default() }))
    }

    /// Opens the objects in a directory. Reads each of them once, for its digest.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(super) fn open(directory: PathBuf) -> Result<Self, StoreError> {
        private_directory(&directory).and_then(|()| close(&directory)).map_err(at(&directory))?;
        let mut objects = BTreeMap::new();
        find(&directory, "", &mut objects)?;
        Ok(Self(Arc::new(Inner { directory: Some(directory), objects: Mutex::new(objects) })))
    }

    /// The metadata of an object.
    pub(super) fn about(&self, key: &str) -> Option<About> {
        self.0.objects.lock().get(key).map(|(about, _)| about.clone())
    }

    /// The metadata and the bytes of an object.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(super) fn get(&self, key: &str) -> Result<Option<(About, Bytes)>, StoreError> {
        let objects = self.0.objects.lock();
        let Some((about, bytes)) = objects.get(key) else { return Ok(None) };
        let bytes = match (bytes, self.path(key)) {
            (Some(bytes), _) => bytes.clone(),
            (None, Some(path)) => fs::read(&path).map_err(at(&path))?.into(),
            (None, None) => return Ok(None),
        };
        Ok(Some((about.clone(), bytes)))
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
        let kept = match self.path(key) {
            Some(path) if !is_a_path(&path) => return Ok(None),
            Some(path) => {
                write(&path, &bytes, now).map_err(at(&path))?;
                None
            }
            None => Some(bytes),
        };
        objects.insert(key.to_owned(), (about, kept));
        Ok(Some(etag))
    }

    /// Deletes an object, if it exists.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(super) fn delete(&self, key: &str) -> Result<(), StoreError> {
        let mut objects = self.0.objects.lock();
        if objects.contains_key(key)
            && let Some(path) = self.path(key)
        {
            fs::remove_file(&path).map_err(at(&path))?;
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

    fn path(&self, key: &str) -> Option<PathBuf> {
        let mut path = self.0.directory.clone()?;
        let mut parts = key.split('/').map(name_of).peekable();
        while let Some(part) = parts.next() {
            path.push(if parts.peek().is_some() { format!("{part}+") } else { part });
        }
        Some(path)
    }
}

fn name_of(part: &str) -> String {
    let escaped = utf8_percent_encode(part, ESCAPED).to_string();
    match escaped.strip_prefix('.') {
        Some(rest) => format!("%2E{rest}"),
        // An empty part, as in `a//b`.
        None if escaped.is_empty() => "%".to_owned(),
        None => escaped,
    }
}

fn part_of(name: &str) -> Option<String> {
    match name {
        "%" => Some(String::new()),
        name => Some(percent_decode_str(name).decode_utf8().ok()?.into_owned()),
    }
}

/// True if each name in the path is short enough for file systems.
fn is_a_path(path: &Path) -> bool {
    path.components().all(|part| part.as_os_str().len() <= LONGEST_NAME)
}

/// Adds the objects below a directory. Deletes the temporary files that a crash has left there.
fn find(
    directory: &Path,
    prefix: &str,
    objects: &mut BTreeMap<String, (About, Option<Bytes>)>,
) -> Result<(), StoreError> {
    for entry in fs::read_dir(directory).map_err(at(directory))? {
        let path = entry.map_err(at(directory))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.starts_with(BEING_WRITTEN) {
            fs::remove_file(&path).map_err(at(&path))?;
        } else if let Some(part) = name.strip_suffix('+').filter(|_| path.is_dir()) {
            let Some(part) = part_of(part) else { continue };
            find(&path, &format!("{prefix}{part}/"), objects)?;
        } else if let Some(part) = part_of(name).filter(|_| path.is_file()) {
            let about = look_at(&path).map_err(at(&path))?;
            objects.insert(format!("{prefix}{part}"), (about, None));
        }
    }
    Ok(())
}

fn look_at(path: &Path) -> io::Result<About> {
    let mut file = File::open(path)?;
    let modified = file.metadata()?.modified()?.duration_since(UNIX_EPOCH);
    let millis = modified.unwrap_or(Duration::ZERO).as_millis();
    let (mut digest, mut length, mut some) = (Md5::new(), 0, vec![0; 65_536]);
    loop {
        let read = file.read(&mut some)?;
        if read == 0 {
            break;
        }
        digest.update(&some[..read]);
        length += read;
    }
    let modified = Timestamp::from_unix_millis(i64::try_from(millis).unwrap_or(i64::MAX));
    Ok(About { length, etag: hex(&digest.finalize()), modified })
}

/// Creates a directory that only its owner may enter, whatever the umask is.
fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Lets only its owner enter a directory. Refuses a symbolic link, because its target may be somebody else's.
fn close(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_symlink() {
        return Err(io::Error::other("it is a symbolic link; name another --data-dir"));
    }
    fs::set_permissions(path, Permissions::from_mode(0o700))
}

fn write(path: &Path, bytes: &[u8], now: Timestamp) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    private_directory(directory)?;
    // The crate creates the file for its owner alone, and deletes it unless it is renamed.
    let mut file = tempfile::Builder::new().prefix(BEING_WRITTEN).tempfile_in(directory)?;
    file.write_all(bytes)?;
    let since = Duration::from_millis(u64::try_from(now.unix_millis()).unwrap_or(0));
    file.as_file().set_modified(UNIX_EPOCH + since)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    |source| StoreError { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn what_was_put_is_there_after_a_restart_under_any_key() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().join("objects");
        let keys = [
            "a", "a/b", "a+", "a+/b", "..", "../x", "./x", "a//b", "a/", "ü/%2F", "/", "t:@-_.gz",
            "a/b/c", ".new-a",
        ];
        let now = at("2013-05-06T07:08:09.123Z");
        let store = Store::open(directory.clone()).unwrap();
        for key in keys {
            store.put(key, Bytes::from(format!("of {key}")), now).unwrap().unwrap();
        }
        let before = store.behind("", 100);
        assert_eq!(before.len(), keys.len());
        let store = Store::open(directory.clone()).unwrap();
        assert_eq!(store.behind("", 100), before);
        for key in keys {
            let (about, bytes) = store.get(key).unwrap().unwrap();
            assert_eq!((bytes, about.modified), (Bytes::from(format!("of {key}")), now));
            store.delete(key).unwrap();
        }
        assert_eq!(Store::open(directory).unwrap().behind("", 100), []);
        let outside = fs::read_dir(temporary.path()).unwrap().count();
        assert_eq!(outside, 1, "no key leads out of the directory");
    }

    #[test]
    fn what_was_not_written_to_its_end_is_taken_away() {
        let temporary = tempfile::tempdir().unwrap();
        let left = temporary.path().join(".new-abc");
        fs::write(&left, "half").unwrap();
        let store = Store::open(temporary.path().to_owned()).unwrap();
        assert_eq!(store.behind("", 100), []);
        assert!(!left.exists());
    }

    #[test]
    fn a_directory_is_its_owners_alone_and_not_elsewhere() {
        let temporary = tempfile::tempdir().unwrap();
        let (directory, link) = (temporary.path().join("objects"), temporary.path().join("link"));
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
        Store::open(directory.clone()).unwrap();
        assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        assert!(Store::open(link).is_err());
    }

    #[test]
    fn a_name_that_no_file_can_have_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let store = Store::open(temporary.path().to_owned()).unwrap();
        let now = at("2013-05-06T07:08:09Z");
        let key = "x".repeat(256);
        assert_eq!(store.put(&key, Bytes::new(), now).unwrap(), None);
        assert_eq!(store.about(&key), None);
    }
}
