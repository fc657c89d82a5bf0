//! Where a note is valid: from one start of this machine to the next, and on Linux in this container.

/// What tells a start of the system from all others, and the namespaces that ports and process ids are of.
/// Systems without these have none of the trouble either: there the text is empty.
pub(super) fn here() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let namespaces = ["net", "pid"].map(|kind| std::fs::read_link(format!("/proc/self/ns/{kind}")));
    let namespaces = namespaces.into_iter().flatten().map(|name| name.display().to_string());
    let parts: Vec<_> = boot.map(|id| id.trim().to_owned()).into_iter().chain(namespaces).collect();
    parts.join(" ")
}
