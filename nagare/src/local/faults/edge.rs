//! The connector that chooses what goes wrong with each call.

use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use fastrand::Rng;
use tokio::time::Instant;

use super::bucket::Buckets;
use super::demand::Demand;
use super::injection::{Fault, inject};
use super::service::Service;
use super::settings::{Faults, Rates};
use crate::local::consumed::consumed;

/// A connector under the SDK whose calls fail as often as the settings say.
#[derive(Debug, Clone)]
pub struct Faulty {
    inside: SharedHttpConnector,
    chance: Arc<Mutex<Chance>>,
}

#[derive(Debug)]
struct Chance {
    faults: Faults,
    random: Rng,
    buckets: Buckets,
}

impl Faulty {
    /// Puts faults in front of a connector.
    #[must_use]
    pub fn new(faults: Faults, inside: SharedHttpConnector) -> Self {
        let random = Rng::with_seed(faults.seed);
        let chance = Chance { faults, random, buckets: Buckets::default() };
        Self { inside, chance: Arc::new(Mutex::new(chance)) }
    }

    /// Changes the rates of the tables from now on.
    pub fn set_rates(&self, rates: Rates) {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner).faults.rates = rates;
    }

    /// What a call demands, if its answer says what it took.
    fn measured(&self, request: &HttpRequest) -> Option<Demand> {
        let chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        chance.faults.is_measured.then(|| Demand::of(request)).flatten()
    }

    fn choose(&self, request: &HttpRequest) -> Option<Fault> {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner).choose(request)
    }
}

impl HttpConnector for Faulty {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (fault, inside) = (self.choose(&request), self.inside.clone());
        let demand = self.measured(&request);
        let chance = Arc::clone(&self.chance);
        HttpConnectorFuture::new(async move {
            let answer = inject(fault, request, &inside).await?;
            if let (Some(demand), Some(body)) = (demand, answer.body().bytes()) {
                let mut chance = chance.lock().unwrap_or_else(PoisonError::into_inner);
                chance.buckets.charge(&demand, &consumed(body));
            }
            Ok(answer)
        })
    }
}

impl Chance {
    fn choose(&mut self, request: &HttpRequest) -> Option<Fault> {
        self.by_chance(Service::of(request))
            .or_else(|| self.by_capacity(request))
            .or_else(|| self.slowness())
    }

    fn by_chance(&mut self, service: Service) -> Option<Fault> {
        let faults = &self.faults;
        let of_queue = |share| if service == Service::Queues { share } else { 0.0 };
        let shares = [
            (faults.throttles, Fault::Throttled),
            (faults.leftovers, Fault::Leftovers(self.random.usize(1..25))),
            (faults.errors, Fault::ServerError),
            (faults.resets, Fault::LostRequest),
            (faults.lost_answers, Fault::LostAnswer),
            (faults.cuts, Fault::CutAnswer),
            (faults.hangs, Fault::Hang),
            (faults.missing, Fault::TableMissing),
            (faults.denied, Fault::Denied),
            (of_queue(faults.queue_errors), Fault::ServerError),
            // Before the call as often as after it.
            (of_queue(faults.queue_resets / 2.0), Fault::LostRequest),
            (of_queue(faults.queue_resets / 2.0), Fault::LostAnswer),
            (faults.panics, Fault::Panic),
        ];
        let mut drawn = self.random.f64();
        let chosen = shares.into_iter().find(|(share, _)| {
            drawn -= share;
            drawn < 0.0
        });
        chosen.map(|(_, fault)| fault)
    }

    fn by_capacity(&mut self, request: &HttpRequest) -> Option<Fault> {
        if self.faults.rates == Rates::default() {
            return None;
        }
        let demand = Demand::of(request)?;
        let wastes = !self.faults.is_measured;
        let granted = self.buckets.take(&self.faults.rates, &demand, wastes, Instant::now());
        (granted < demand.items.len()).then_some(Fault::Leftovers(granted))
    }

    fn slowness(&mut self) -> Option<Fault> {
        let longest = self.faults.slow;
        (!longest.is_zero()).then(|| Fault::Slow(longest.mul_f64(self.random.f64())))
    }
}
