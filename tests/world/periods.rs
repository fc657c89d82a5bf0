//! Periods of events, as the keeper makes them and drops them.

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_client::tables::Tables;
use nagare_local::connector::{self, InProcess};
use nagare_local::engine::mappings::StreamMapped;
use nagare_local::schema;
use nagare_local::sqs::Wire;
use serde_json::{Value, json};
use shared::history::events::{MadeTable, Period, PeriodRow, PeriodState};

use crate::World;

impl World {
    /// The row of a period, which is planned if there was none.
    pub async fn period(&self, name: &str) -> PeriodRow {
        let (period, events) = (name.parse::<Period>().unwrap(), self.direct().events);
        let periods = events.periods();
        periods.plan(period).await.unwrap();
        periods.row(period).await.unwrap().unwrap()
    }

    /// Makes the table of a period, and says so in its row.
    pub async fn make_period(&self, name: &str) {
        self.make_table_of(name);
        let mut row = self.period(name).await;
        let table = self.direct().events.tables().name(row.period);
        row.table = Some(MadeTable { arn: table, created_millis: 0 });
        row.state = PeriodState::Made;
        assert!(self.direct().events.periods().replace(&row).await.unwrap());
    }

    /// Makes the table of a period, and maps its stream; its row is left as it is.
    pub fn make_table_of(&self, name: &str) {
        let table = self.direct().events.tables().name(name.parse().unwrap());
        self.control("CreateTable", &schema::period_table(&table));
        let [uuid, stream, function, request] =
            [&table, &table, "history-projector", "{}"].map(str::to_owned);
        let mapping = StreamMapped { uuid, stream, function, table, request };
        // It is there already where a table was dropped and made again.
        let _ = self.engine.add_mapping(&mapping).unwrap();
    }

    /// Spreads a customer over `keys` keys in a period that is not made yet.
    pub async fn spread_in_period(&self, name: &str, customer: &str, keys: u32) {
        let mut row = self.period(name).await;
        row.spread.insert(customer.parse().unwrap(), keys);
        assert!(self.direct().events.periods().replace(&row).await.unwrap());
    }

    /// Says of a period that it has come so far.
    pub async fn move_period(&self, name: &str, state: PeriodState) {
        let row = PeriodRow { state, ..self.period(name).await };
        assert!(self.direct().events.periods().replace(&row).await.unwrap());
    }

    /// Drops the table of a period; its row is left as it is.
    pub fn drop_table_of(&self, name: &str) {
        let table = self.direct().events.tables().name(name.parse().unwrap());
        self.control("DeleteTable", &json!({"TableName": table}));
    }

    /// Has the table of a period refuse puts, as a sealed one does.
    pub fn seal_table_of(&self, name: &str) {
        let table = self.direct().events.tables().name(name.parse().unwrap());
        let deny = json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Deny", "Principal": "*", "Action": ["dynamodb:PutItem"], "Resource": "*"},
        ]});
        let arn = format!("arn:aws:dynamodb:us-local-1:000000000000:table/{table}");
        let policy = json!({"ResourceArn": arn, "Policy": deny.to_string()});
        self.control("PutResourcePolicy", &policy);
    }

    /// The events in the table of a period.
    pub async fn events_in(&self, name: &str) -> usize {
        let table = self.direct().events.tables().table(name.parse().unwrap());
        table.all(shared::platform::dynamo::Query::default()).await.unwrap().len()
    }

    /// The tables, whatever is between them and the functions.
    fn direct(&self) -> Tables {
        let wire = Wire::new(self.queues.clone(), "http://queue");
        let inside = SharedHttpConnector::new(InProcess::new(self.engine.clone(), wire));
        Tables::new(connector::dynamodb(inside), &schema::names())
    }

    /// What no function does but the keeper. DynamoDB Local is not asked.
    fn control(&self, operation: &str, request: &Value) {
        let (status, answer) = self.engine.call(operation, request.to_string().as_bytes());
        assert_eq!(status, 200, "{answer}");
    }
}
