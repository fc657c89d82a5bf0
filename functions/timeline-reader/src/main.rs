//! The Lambda function: [`timeline_reader`], built from its environment.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use function_lambda::{Error, answer, start};
use timeline_reader::{PATIENCE, Reader};

/// The allocator of the writer too (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let reader = Reader::from_env(&start().await)?;
    answer(PATIENCE, async |request: ApiGatewayV2httpRequest, deadline| {
        reader.handle(&request, deadline).await
    })
    .await
}
