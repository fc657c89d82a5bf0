//! The tables and the bucket, as an operator's command reaches them.

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_client::tables::Tables;
use nagare_local::connector::{self, InProcess};
use nagare_local::schema;
use nagare_local::sqs::Wire;
use shared::platform::dynamo::Dynamo;
use shared::platform::objects::Objects;
use shared::platform::signed::Services;

use crate::observed::Modelled;
use crate::{World, bucket};

impl World {
    /// Tables and bucket, with something between them and the command.
    pub fn operator(
        &self,
        behind: impl FnOnce(SharedHttpConnector) -> SharedHttpConnector,
    ) -> (Tables, Objects) {
        let wire = Wire::new(self.queues.clone(), "http://queue");
        let inside = SharedHttpConnector::new(InProcess::new(self.engine.clone(), wire));
        let bucket = self.bucket.clone();
        let connector =
            behind(SharedHttpConnector::new(bucket::BucketConnector { bucket, inside }));
        let connector = SharedHttpConnector::new(Modelled(connector));
        let services = Services::behind(connector.clone(), "key", "us-east-1");
        let objects = Objects::new(&services.at(Some(bucket::ENDPOINT.to_owned())), bucket::NAME);
        let of = self.writer.ledger.table().dynamo();
        let dynamo = Dynamo::new(connector::dynamodb(connector));
        let dynamo = dynamo.with_limits(*of.limits()).with_leases(of.leases().clone());
        (Tables::with_dynamo(dynamo, &schema::names()), objects)
    }
}
