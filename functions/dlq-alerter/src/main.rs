//! The Lambda function: [`dlq_alerter`], built from its environment.

use dlq_alerter::Alerter;
use function_lambda::{Error, serve, start};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = start().await;
    let alerter = Alerter::from_env(&environment)?;
    serve(&environment.clock, async |event, deadline| alerter.handle(event, deadline).await).await
}
