//! The Lambda function: [`fanout_writer`], built from its environment.

use fanout_writer::Writer;
use function_lambda::{Error, serve, start};

/// A fan-out allocates in every step of every call, which is cheaper with this allocator (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = start().await;
    let writer = Writer::from_env(&environment)?;
    serve(&environment.clock, async |event, deadline| writer.handle(event, deadline).await).await
}
