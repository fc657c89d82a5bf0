//! The Lambda function: [`period_keeper`], built from its environment.

use function_lambda::{Error, serve, start};
use period_keeper::Keeper;
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = start().await;
    let keeper = Keeper::from_env(&environment)?;
    serve(&environment.clock, async |_: Value, deadline| keeper.tick(deadline).await.map(drop))
        .await
}
