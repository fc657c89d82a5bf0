//! The Lambda function: [`history_projector`], built from its environment.

use function_lambda::{Error, serve, start};
use history_projector::Projector;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = start().await;
    let projector = Projector::from_env(&environment)?;
    serve(&environment.clock, async |event, deadline| projector.handle(event, deadline).await).await
}
