//! Directories that belong to this user alone: data directories, and the notes and logs of stacks.
//! All their files are opened here.
//!
//! A directory is held open, and names in it are opened relative to it. No link is followed, so
//! nothing leads out of the directory. The path of the directory itself may contain links: the
//! directory that it leads to is checked. A directory or file of another user is refused. Those of
//! this user are closed to others (0700, 0600), whatever the umask is and whatever their modes
//! were.
//!
//! SQLite opens its databases by path. Their names are checked before ([`OwnDir::file`]). After
//! that only this user could put a link there, because nobody else may write in the directory.

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::unistd::geteuid;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, Stat, fchmod, fstat, mkdirat, openat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;
use uuid::Uuid;

/// The permissions of others than the owner, and the bit of directories in which everybody may put
/// files.
const OTHERS: RawMode = 0o077;
const SHARED: RawMode = 0o1000;
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// A pipe is opened without waiting for its other end, and is refused then.
const OWN: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
/// The prefix of the names of files that are being written.
const BEING_WRITTEN: &str = ".new-";

/// A directory of this user, held open. Clones are the same directory.
#[derive(Debug, Clone)]
pub struct OwnDir {
    fd: Arc<OwnedFd>,
    /// For messages, and for SQLite.
    path: PathBuf,
}

/// A directory or file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    #[error("{0} belongs to another user; name a directory of your own")]
    Foreign(PathBuf),
    #[error("{0} is a directory that everybody on this machine shares; name one of your own")]
    Shared(PathBuf),
    /// A link, a pipe, or a directory in place of a file.
    #[error("{0} is not an ordinary file; take it away, or name another directory")]
    NotAFile(PathBuf),
    /// A link, or a file.
    #[error("{0} is not a directory; take it away, or name another")]
    NotADirectory(PathBuf),
    #[error("{path}: {source}")]
    Failed { path: PathBuf, source: io::Error },
}

impl OwnError {
    /// An error of the system about a path.
    pub fn failed(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Failed { path, source }
    }
}

/// A file that is being written, and has no name that anything looks for.
#[derive(Debug)]
pub struct NewFile {
    directory: OwnDir,
    name: String,
    pub file: File,
}

impl OwnDir {
    /// Opens a directory. Creates it if it is missing.
    pub fn open(path: &Path) -> Result<Self, OwnError> {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
        created.map_err(OwnError::failed(path))?;
        let missing = || OwnError::failed(path)(io::ErrorKind::NotFound.into());
        Self::open_existing(path)?.ok_or_else(missing)
    }

    /// Opens a directory, if there is one.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, OwnError> {
        match openat(CWD, path, DIRECTORY, Mode::empty()) {
            Ok(fd) => Self::checked(fd, path.to_owned()).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(OwnError::failed(path)(error.into())),
        }
    }

    /// A directory in it, if there is one.
    pub fn directory(&self, name: &str) -> Result<Option<Self>, OwnError> {
        let path = self.path.join(name);
        match openat(&*self.fd, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(fd) => Self::checked(fd, path).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(OwnError::NotADirectory(path)),
            Err(error) => Err(OwnError::Failed { path, source: error.into() }),
        }
    }

    /// A directory in it. Creates it if it is missing.
    pub fn create_directory(&self, name: &str) -> Result<Self, OwnError> {
        let path = self.path.join(name);
        match mkdirat(&*self.fd, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(OwnError::Failed { path, source: error.into() }),
        }
        self.directory(name)?.ok_or(OwnError::NotADirectory(path))
    }

    fn checked(fd: OwnedFd, path: PathBuf) -> Result<Self, OwnError> {
        let failed = |error: Errno| OwnError::Failed { path: path.clone(), source: error.into() };
        let stat = fstat(&fd).map_err(failed)?;
        if !is_own(&stat) {
            return Err(OwnError::Foreign(path));
        }
        if stat.st_mode & SHARED != 0 {
            return Err(OwnError::Shared(path));
        }
        if stat.st_mode & OTHERS != 0 {
            fchmod(&fd, Mode::RWXU).map_err(failed)?;
        }
        Ok(Self { fd: Arc::new(fd), path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it, to be read and appended to. Creates it if it is missing.
    pub fn file(&self, name: &str) -> Result<File, OwnError> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OWN;
        match openat(&*self.fd, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => self.checked_file(fd, name),
            Err(error) => Err(self.not_opened(name, error)),
        }
    }

    /// A file in it, to be read, if there is one.
    pub fn existing(&self, name: &str) -> Result<Option<File>, OwnError> {
        match openat(&*self.fd, name, OFlags::RDONLY | OWN, Mode::empty()) {
            Ok(fd) => self.checked_file(fd, name).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.not_opened(name, error)),
        }
    }

    /// The same for a file that nobody else may have written: it is ignored if others may read or
    /// write it.
    pub fn closed(&self, name: &str) -> Option<File> {
        let fd = openat(&*self.fd, name, OFlags::RDONLY | OWN, Mode::empty()).ok()?;
        let is_closed = fstat(&fd).ok()?.st_mode & OTHERS == 0;
        is_closed.then(|| self.checked_file(fd, name).ok()).flatten()
    }

    /// The content of a file in it, if there is one.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, OwnError> {
        let Some(mut file) = self.existing(name)? else { return Ok(None) };
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(OwnError::failed(&self.path.join(name)))?;
        Ok(Some(content))
    }

    /// A new file in it. It is removed unless it [gets a name](NewFile::keep).
    pub fn new_file(&self) -> Result<NewFile, OwnError> {
        let name = format!("{BEING_WRITTEN}{}", Uuid::new_v4().simple());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OWN;
        match openat(&*self.fd, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => Ok(NewFile { directory: self.clone(), name, file: File::from(fd) }),
            Err(error) => Err(self.not_opened(&name, error)),
        }
    }

    /// Removes a file in it. It may have been absent.
    pub fn remove(&self, name: &str) -> Result<(), OwnError> {
        match unlinkat(&*self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    /// The names in it of directories (true) and of files (false). Links and the like are left out,
    /// and files that have no name yet.
    pub fn names(&self) -> Result<Vec<(String, bool)>, OwnError> {
        self.walk(|_| Ok(()))
    }

    /// The same. Removes the files that have no name yet: of a directory in which no other process
    /// writes, they were left by one that died.
    pub fn names_alone(&self) -> Result<Vec<(String, bool)>, OwnError> {
        self.walk(|name| self.remove(name))
    }

    fn walk(
        &self,
        unfinished: impl Fn(&str) -> Result<(), OwnError>,
    ) -> Result<Vec<(String, bool)>, OwnError> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&*self.fd).map_err(|error| self.failed("", error))? {
            let entry = entry.map_err(|error| self.failed("", error))?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") {
                continue;
            }
            let stat = statat(&*self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
            let kind = match stat {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                // It was removed meanwhile.
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(self.failed(name, error)),
            };
            match kind {
                FileType::RegularFile if name.starts_with(BEING_WRITTEN) => unfinished(name)?,
                FileType::RegularFile => names.push((name.to_owned(), false)),
                FileType::Directory => names.push((name.to_owned(), true)),
                _ => {}
            }
        }
        Ok(names)
    }

    fn checked_file(&self, fd: OwnedFd, name: &str) -> Result<File, OwnError> {
        let stat = fstat(&fd).map_err(|error| self.failed(name, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(OwnError::NotAFile(self.path.join(name)));
        }
        if !is_own(&stat) {
            return Err(OwnError::Foreign(self.path.join(name)));
        }
        if stat.st_mode & OTHERS != 0 {
            fchmod(&fd, Mode::RUSR | Mode::WUSR).map_err(|error| self.failed(name, error))?;
        }
        Ok(File::from(fd))
    }

    fn not_opened(&self, name: &str, error: Errno) -> OwnError {
        let stat = statat(&*self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        let is_file = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        match stat.is_ok_and(|stat| !is_file(stat)) {
            true => OwnError::NotAFile(self.path.join(name)),
            false => self.failed(name, error),
        }
    }

    fn failed(&self, name: &str, error: Errno) -> OwnError {
        OwnError::Failed { path: self.path.join(name), source: error.into() }
    }
}

fn is_own(stat: &Stat) -> bool {
    stat.st_uid == geteuid().as_raw()
}

impl NewFile {
    /// Gives it its name, in place of the file that has it.
    ///
    /// # Errors
    /// [`OwnError`]; the file that has the name is unchanged.
    pub fn keep(&self, name: &str) -> Result<(), OwnError> {
        let fd = &*self.directory.fd;
        renameat(fd, &self.name, fd, name).map_err(|error| self.directory.failed(name, error))
    }

    /// Its content so far.
    pub fn content(&self) -> Result<Vec<u8>, OwnError> {
        self.directory.read(&self.name).map(Option::unwrap_or_default)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // One that has a name is not found under the first.
        let _ = self.directory.remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn what_is_open_to_others_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/data");
        let dir = OwnDir::open(&path).unwrap();
        dir.file("f").unwrap().write_all(b"x").unwrap();
        dir.create_directory("d").unwrap();
        for (name, open, closed) in [("f", 0o644, 0o600), ("d", 0o755, 0o700), ("", 0o755, 0o700)] {
            let path = if name.is_empty() { path.clone() } else { path.join(name) };
            fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
            let dir = OwnDir::open(dir.path()).unwrap();
            dir.existing("f").unwrap().unwrap();
            dir.directory("d").unwrap().unwrap();
            assert_eq!(mode(&path), closed, "{name}");
        }
        assert_eq!(dir.read("f").unwrap().unwrap(), b"x");
        assert!(dir.existing("g").unwrap().is_none() && dir.directory("g").unwrap().is_none());
    }

    #[test]
    fn no_link_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let (elsewhere, path) = (home.path().join("elsewhere"), home.path().join("data"));
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("precious"), "p").unwrap();
        let dir = OwnDir::open(&path).unwrap();
        symlink(&elsewhere, path.join("d")).unwrap();
        symlink(elsewhere.join("precious"), path.join("f")).unwrap();
        symlink(elsewhere.join("nothing"), path.join("n")).unwrap();
        assert!(matches!(dir.directory("d"), Err(OwnError::NotADirectory(_))));
        assert!(matches!(dir.create_directory("d"), Err(OwnError::NotADirectory(_))));
        for name in ["f", "n"] {
            assert!(matches!(dir.file(name), Err(OwnError::NotAFile(_))), "{name}");
            assert!(matches!(dir.existing(name), Err(OwnError::NotAFile(_))), "{name}");
        }
        assert_eq!(dir.names().unwrap(), []);
        let new = dir.new_file().unwrap();
        new.keep("f").unwrap();
        drop(new);
        dir.remove("n").unwrap();
        assert_eq!(fs::read(elsewhere.join("precious")).unwrap(), b"p");
        assert_eq!(elsewhere.read_dir().unwrap().count(), 1);
        assert_eq!(dir.names().unwrap(), [("f".to_owned(), false)]);
    }

    #[test]
    fn a_new_file_without_a_name_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let dir = OwnDir::open(home.path()).unwrap();
        drop(dir.new_file().unwrap());
        assert_eq!(home.path().read_dir().unwrap().count(), 0);
        fs::write(home.path().join(".new-left"), "half").unwrap();
        assert_eq!(dir.names().unwrap(), []);
        assert_eq!(dir.names_alone().unwrap(), []);
        assert_eq!(home.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn what_everybody_shares_or_another_owns_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let shared = home.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(matches!(OwnDir::open(&shared), Err(OwnError::Shared(_))));
        if geteuid().is_root() {
            let foreign = home.path().join("foreign");
            let dir = OwnDir::open(&foreign).unwrap();
            dir.file("f").unwrap();
            std::os::unix::fs::chown(foreign.join("f"), Some(12_345), None).unwrap();
            assert!(matches!(dir.existing("f"), Err(OwnError::Foreign(_))));
            std::os::unix::fs::chown(&foreign, Some(12_345), None).unwrap();
            assert!(matches!(OwnDir::open(&foreign), Err(OwnError::Foreign(_))));
        } else {
            assert!(matches!(OwnDir::open(Path::new("/")), Err(OwnError::Foreign(_))));
        }
    }
}
