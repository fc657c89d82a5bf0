//! The connector that chooses what goes wrong with each call.

use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_client::consumed::consumed;
use nagare_telemetry::faults::{Chance, Faults, FaultsHandle, Rates};
use tokio::time::Instant;

use super::bucket::Buckets;
use super::creations::{self, Creations};
use super::demand::Demand;
use super::injection::{Fault, inject};
use super::service::Service;

/// A connector under the SDK whose calls fail as often as the settings say.
#[derive(Debug, Clone)]
pub struct Faulty {
    inside: SharedHttpConnector,
    handle: FaultsHandle,
    choice: Arc<Mutex<Choice>>,
}

#[derive(Debug)]
struct Choice {
    chance: Chance,
    buckets: Buckets,
    creations: Creations,
}

impl Faulty {
    /// Puts faults in front of a connector.
    pub fn new(faults: Faults, inside: SharedHttpConnector) -> Self {
        Self::by(&faults.into(), inside)
    }

    /// Puts in front of a connector the faults that are in force at each call.
    pub fn by(handle: &FaultsHandle, inside: SharedHttpConnector) -> Self {
        let (buckets, creations) = (Buckets::default(), Creations::default());
        let choice = Choice { chance: Chance::new(handle, 0), buckets, creations };
        Self { inside, handle: handle.clone(), choice: Arc::new(Mutex::new(choice)) }
    }

    /// Changes the rates of the tables from now on.
    pub fn set_rates(&self, rates: Rates) {
        self.handle.change(|faults| faults.rates = rates);
    }

    /// The fault of a call, and its demand if the answer reports consumed capacity.
    fn choose(&self, request: &HttpRequest) -> (Option<Fault>, Option<Demand>) {
        let mut choice = self.choice.lock().unwrap_or_else(PoisonError::into_inner);
        choice.chance.refresh();
        let chosen = choice.choose(request);
        let is_measured = choice.chance.faults.is_measured;
        drop(choice);
        if let Some((name, _)) = chosen {
            self.handle.count(name);
        }
        let demand = is_measured.then(|| Demand::of(request)).flatten();
        (chosen.map(|(_, fault)| fault), demand)
    }
}

impl HttpConnector for Faulty {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if !self.handle.is_on() {
            return self.inside.call(request);
        }
        let ((fault, demand), inside) = (self.choose(&request), self.inside.clone());
        let choice = Arc::clone(&self.choice);
        HttpConnectorFuture::new(async move {
            let answer = inject(fault, request, &inside).await?;
            if let (Some(demand), Some(body)) = (demand, answer.body().bytes()) {
                let mut choice = choice.lock().unwrap_or_else(PoisonError::into_inner);
                choice.buckets.charge(&demand, &consumed(body));
            }
            Ok(answer)
        })
    }
}

impl Choice {
    /// The fault of a call, with the setting that has chosen it.
    fn choose(&mut self, request: &HttpRequest) -> Option<(&'static str, Fault)> {
        self.by_chance(Service::of(request), creations::is_of_table(request))
            .or_else(|| self.by_creation(request))
            .or_else(|| self.by_capacity(request))
            .or_else(|| self.slowness())
    }

    fn by_creation(&mut self, request: &HttpRequest) -> Option<(&'static str, Fault)> {
        let longest = self.chance.faults.table_creation;
        let fault = self.creations.fault(request, longest, Instant::now())?;
        Some(("table-creation", fault))
    }

    fn by_chance(&mut self, service: Service, is_of_table: bool) -> Option<(&'static str, Fault)> {
        let Chance { faults, random, .. } = &mut self.chance;
        let of_queue = |share| if service == Service::Queues { share } else { 0.0 };
        let queue_resets = of_queue(faults.queue_resets / 2.0);
        let of_table = |share| if is_of_table { share } else { 0.0 };
        let table_resets = of_table(faults.table_resets / 2.0);
        let shares = [
            (faults.throttles, "throttles", Fault::Throttled),
            (faults.leftovers, "leftovers", Fault::Leftovers(random.usize(1..25))),
            (faults.errors, "errors", Fault::ServerError),
            (faults.resets, "resets", Fault::LostRequest),
            (faults.lost_answers, "lost-answers", Fault::LostAnswer),
            (faults.cuts, "cuts", Fault::CutAnswer),
            (faults.hangs, "hangs", Fault::Hang),
            (faults.missing, "missing", Fault::TableMissing),
            (faults.denied - of_queue(faults.denied), "denied", Fault::Denied),
            (of_queue(faults.queue_denied), "queue-denied", Fault::Denied),
            (of_queue(faults.queue_errors), "queue-errors", Fault::ServerError),
            // Before the call as often as after it.
            (queue_resets, "queue-resets", Fault::LostRequest),
            (queue_resets, "queue-resets", Fault::LostAnswer),
            (of_table(faults.table_limits), "table-limits", Fault::LimitExceeded),
            (table_resets, "table-resets", Fault::LostRequest),
            (table_resets, "table-resets", Fault::LostAnswer),
            (faults.panics, "panics", Fault::Panic),
        ];
        let mut drawn = random.f64();
        let chosen = shares.into_iter().find(|(share, ..)| {
            drawn -= share;
            drawn < 0.0
        });
        chosen.map(|(_, name, fault)| (name, fault))
    }

    fn by_capacity(&mut self, request: &HttpRequest) -> Option<(&'static str, Fault)> {
        let faults = &self.chance.faults;
        if faults.rates == Rates::default() {
            return None;
        }
        let demand = Demand::of(request)?;
        let wastes = !faults.is_measured;
        let grant = self.buckets.take(&faults.rates, &demand, wastes, Instant::now());
        Some((grant.lacking?, Fault::Leftovers(grant.items)))
    }

    fn slowness(&mut self) -> Option<(&'static str, Fault)> {
        let Chance { faults, random, .. } = &mut self.chance;
        let longest = faults.slow;
        (!longest.is_zero()).then(|| ("slow", Fault::Slow(longest.mul_f64(random.f64()))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
    use aws_smithy_runtime_api::http::StatusCode;
    use aws_smithy_types::body::SdkBody;
    use futures::FutureExt;

    use super::*;

    /// Answers every call, and counts them.
    #[derive(Debug, Clone, Default)]
    struct Answering(Arc<AtomicUsize>);

    impl HttpConnector for Answering {
        fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
            self.0.fetch_add(1, Ordering::Relaxed);
            let ok = StatusCode::from(http::StatusCode::OK);
            HttpConnectorFuture::ready(Ok(HttpResponse::new(ok, SdkBody::from("{}"))))
        }
    }

    fn call(target: &'static str) -> HttpRequest {
        let mut request = HttpRequest::new(SdkBody::from(r#"{"TableName":"t","Key":{}}"#));
        request.headers_mut().insert("x-amz-target", target);
        request
    }

    #[tokio::test(start_paused = true)]
    async fn settings_may_change_between_two_calls() {
        let (handle, inside) = (FaultsHandle::default(), Answering::default());
        let faulty = Faulty::by(&handle, SharedHttpConnector::new(inside.clone()));
        let get = || faulty.call(call("DynamoDB_20120810.GetItem"));
        assert_eq!(get().await.unwrap().status().as_u16(), 200);
        handle.set("errors=100%".parse().unwrap());
        assert_eq!(get().await.unwrap().status().as_u16(), 500);
        handle.set("reads=1".parse().unwrap());
        let statuses = [get().await.unwrap(), get().await.unwrap()];
        assert_eq!(statuses.map(|answer| answer.status().as_u16()), [200, 400]);
        handle.set(Faults::default());
        assert_eq!(get().await.unwrap().status().as_u16(), 200);
        assert_eq!(inside.0.load(Ordering::Relaxed), 3);
        assert_eq!(handle.injected(), [("errors", 1), ("reads", 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn each_fault_is_counted_by_the_name_of_its_setting() {
        for name in [
            "throttles",
            "leftovers",
            "errors",
            "resets",
            "lost-answers",
            "cuts",
            "hangs",
            "missing",
            "queue-denied",
            "queue-errors",
            "queue-resets",
            "slow",
        ] {
            let mut faults = Faults::default();
            faults.set(name, if name == "slow" { "5ms" } else { "100%" }).unwrap();
            let handle = FaultsHandle::from(faults);
            let faulty = Faulty::by(&handle, SharedHttpConnector::new(Answering::default()));
            let _ = faulty.call(call("AmazonSQS.SendMessage")).now_or_never();
            assert_eq!(handle.injected(), [(name, 1)]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_rate_is_counted_by_itself() {
        for (name, operation) in [
            ("writes", "DynamoDB_20120810.PutItem"),
            ("reads", "DynamoDB_20120810.GetItem"),
            ("partition-writes", "DynamoDB_20120810.DeleteItem"),
            ("partition-reads", "DynamoDB_20120810.Query"),
        ] {
            let handle = FaultsHandle::from(format!("{name}=2").parse::<Faults>().unwrap());
            let faulty = Faulty::by(&handle, SharedHttpConnector::new(Answering::default()));
            for _ in 0..5 {
                let _ = faulty.call(call(operation)).await;
            }
            assert_eq!(handle.injected(), [(name, 3)]);
        }
    }
}
