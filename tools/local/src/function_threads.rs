//! The threads of the functions behind queues and streams.
//!
//! Their calls of the embedded tables never wait, so a thread is busy as long as there is work. On threads
//! of their own they keep no request from its answer, as little as they do on AWS, where they are other processes.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

#[derive(Debug)]
pub(super) struct FunctionThreads {
    handle: Handle,
    /// Until it is dropped.
    runtime: Option<Runtime>,
}

impl FunctionThreads {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().thread_name("functions").enable_all().build()?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Runs the work of a function.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.handle.spawn(work)
    }
}

impl Drop for FunctionThreads {
    /// Without waiting for work that has not ended: who drops a stack may be a task.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
