//! Notes in a directory of the test's own.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

fn note(port: u16) -> Note {
    Note::new(port, &[("NAGARE_API_URL", format!("http://127.0.0.1:{port}"))])
}

fn ports(directory: &Path) -> Vec<u16> {
    stacks_in(directory).unwrap().iter().map(|stack| stack.note.port).collect()
}

#[test]
fn a_stack_is_found_as_long_as_it_runs() {
    let home = tempfile::tempdir().unwrap();
    let stacks = home.path().join("state/nagare/stacks");
    assert!(ports(&stacks).is_empty(), "no stack ever ran");
    let first = Noted::write_in(&stacks, &note(3100)).unwrap();
    let second = Noted::write_in(&stacks, &note(3000)).unwrap();
    assert_eq!(ports(&stacks), [3000, 3100]);
    assert_eq!(stacks_in(&stacks).unwrap()[0].note, note(3000));
    drop(second);
    assert_eq!(ports(&stacks), [3100]);
    first.withdraw();
    assert!(ports(&stacks).is_empty());
}

/// What a process leaves that was killed: the file, and no lock.
#[test]
fn a_note_that_nobody_holds_leads_nowhere_and_goes() {
    let home = tempfile::tempdir().unwrap();
    let (name, file) = note(3000).write(&OwnDir::open(home.path()).unwrap()).unwrap();
    let path = home.path().join(name);
    drop(file);
    assert!(path.exists());
    assert!(ports(home.path()).is_empty());
    let _next = Noted::write_in(home.path(), &note(3100)).unwrap();
    assert!(!path.exists());
    assert_eq!(ports(home.path()), [3100]);
}

#[test]
fn those_who_look_do_not_take_each_other_for_a_stack() {
    let home = tempfile::tempdir().unwrap();
    let (name, file) = note(3000).write(&OwnDir::open(home.path()).unwrap()).unwrap();
    drop(file);
    let looking = File::open(home.path().join(name)).unwrap();
    looking.try_lock_shared().unwrap();
    assert!(ports(home.path()).is_empty());
}

#[test]
fn a_note_from_elsewhere_or_of_another_form_is_ignored() {
    let home = tempfile::tempdir().unwrap();
    let (mut elsewhere, mut later) = (note(3000), serde_json::to_value(note(3100)).unwrap());
    elsewhere.place = "another container".to_owned();
    let _elsewhere = elsewhere.write(&OwnDir::open(home.path()).unwrap()).unwrap();
    later["version"] = 2.into();
    let path = home.path().join("later.json");
    std::fs::write(&path, later.to_string()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = File::open(&path).unwrap();
    file.try_lock().unwrap();
    assert!(ports(home.path()).is_empty());
}

#[test]
fn notes_are_their_owners_alone() {
    let home = tempfile::tempdir().unwrap();
    let stacks = home.path().join("stacks");
    std::fs::create_dir(&stacks).unwrap();
    std::fs::set_permissions(&stacks, std::fs::Permissions::from_mode(0o777)).unwrap();
    let noted = Noted::write_in(&stacks, &note(3000)).unwrap();
    assert_eq!(stacks.metadata().unwrap().mode() & 0o777, 0o700);
    let path = stacks.join(&noted.name);
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(ports(&stacks).is_empty(), "others may have written it");
}

#[test]
fn links_are_not_followed() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let noted = Noted::write_in(other.path(), &note(3000)).unwrap();
    symlink(other.path().join(&noted.name), home.path().join("link.json")).unwrap();
    assert!(ports(home.path()).is_empty());
}
