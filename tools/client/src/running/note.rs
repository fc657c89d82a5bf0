//! What a stack notes of itself.

use std::fs::File;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::place;
use crate::own_dir::{OwnDir, OwnError};

/// The version of the format. Notes of other versions are ignored.
const VERSION: u32 = 1;
/// The extension of the files of notes.
const SUFFIX: &str = "json";

/// What a stack notes of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    version: u32,
    /// The place (`place`) where port and process id are valid.
    pub(super) place: String,
    /// The process.
    pub(super) pid: u32,
    /// The port of the HTTP API.
    pub port: u16,
    /// What the `export` lines say, in their order.
    pub environment: Vec<(String, String)>,
}

impl Note {
    /// The note of a stack in this process.
    pub fn new(port: u16, environment: &[(&str, String)]) -> Self {
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let (version, pid) = (VERSION, std::process::id());
        Self { version, place: place::here(), pid, port, environment }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// One of the variables.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// True if the stack's API, tables or queues are at this port.
    pub fn listens_on(&self, port: u16) -> bool {
        let url = format!("http://127.0.0.1:{port}");
        let after = |value: &str| value.strip_prefix(&url).map(|rest| rest.bytes().next());
        self.environment.iter().any(|(_, value)| matches!(after(value), Some(None | Some(b'/'))))
    }

    /// Writes it under a new name. It is complete and locked before it gets the name.
    pub(super) fn write(&self, directory: &OwnDir) -> Result<(String, File), OwnError> {
        let failed = OwnError::failed(directory.path());
        let mut new = directory.new_file()?;
        let written = serde_json::to_vec(self).map_err(io::Error::from);
        let written = written.and_then(|note| new.file.write_all(&note));
        let held = written.and_then(|()| Ok(new.file.try_lock()?));
        let file = held.and_then(|()| new.file.try_clone()).map_err(failed)?;
        let name = format!("{}.{SUFFIX}", Uuid::new_v4());
        new.keep(&name)?;
        Ok((name, file))
    }

    /// Reads one, if it is of a form that is known.
    pub(super) fn read(file: &mut File) -> Option<Self> {
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        let note: Self = serde_json::from_str(&text).ok()?;
        // Zero and negative numbers stand for groups of processes.
        (note.version == VERSION && note.pid.cast_signed() > 0).then_some(note)
    }
}

/// True for a name that notes have.
pub(super) fn is_named_like_one(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, suffix)| suffix == SUFFIX)
}
