//! The effect of panics.
//!
//! The local stack runs all functions in one process, where a panic ends one invocation. In Lambda a process runs one function, and a panic
//! is a defect that may have left its memory in any state: the process ends, Lambda starts another, and the messages in flight are
//! redelivered.

/// From now on a panic ends the process, once it has been reported on standard error.
pub fn end_the_process() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    const IN_A_PROCESS_OF_ITS_OWN: &str = "NAGARE_TEST_PANIC";
    const SIGABRT: i32 = 6;

    #[test]
    fn a_panic_in_a_thread_ends_the_process() {
        if std::env::var_os(IN_A_PROCESS_OF_ITS_OWN).is_some() {
            super::end_the_process();
            let panicked = std::thread::spawn(|| panic!("on purpose")).join().is_err();
            assert!(panicked);
            return;
        }
        let name = "platform::runtime::panics::tests::a_panic_in_a_thread_ends_the_process";
        let ended = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(IN_A_PROCESS_OF_ITS_OWN, "1")
            .output()
            .unwrap();
        assert_eq!(ended.status.signal(), Some(SIGABRT), "{ended:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("on purpose"));
    }
}
