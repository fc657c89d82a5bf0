//! The Lambda function: [`event_intake`], built from its environment.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use event_intake::{Intake, PATIENCE};
use function_lambda::{Error, answer, start};

/// The allocator of the writer too (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let intake = Intake::from_env(&start().await)?;
    answer(PATIENCE, async |request: ApiGatewayV2httpRequest, deadline| {
        intake.handle(&request, deadline).await
    })
    .await
}
