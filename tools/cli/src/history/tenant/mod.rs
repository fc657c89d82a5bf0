//! `nagare tenant`: what tenants send and read, and what is defined for them.
//!
//! Reading goes through the API, and so does [`send`], as a tenant's own programs would do it. Everything else is a command on the
//! queue. If the stack demands tokens (`nagare up --auth`), each request carries one for the tenant.

mod define;
mod lists;
mod send;

use clap::Subcommand;

use crate::Failure;

/// What tenants send and read, and what is defined for them.
#[derive(Debug, Subcommand)]
pub(crate) enum Tenant {
    Send(send::Send),
    Customers(lists::Customers),
    Customer(lists::Customer),
    Names(lists::Names),
    Name(lists::Name),
    Alerts(lists::Alerts),
    /// Define a rule, or delete it.
    #[command(subcommand)]
    Rule(define::Rule),
    /// Define a score, or delete it.
    #[command(subcommand)]
    Score(define::Score),
    UpdateCustomer(define::UpdateCustomer),
    ReadAlerts(define::ReadAlerts),
}

impl Tenant {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Send(send) => send.run().await,
            Self::Customers(customers) => customers.run().await,
            Self::Customer(customer) => customer.run().await,
            Self::Names(names) => names.run().await,
            Self::Name(name) => name.run().await,
            Self::Alerts(alerts) => alerts.run().await,
            Self::Rule(rule) => rule.run().await,
            Self::Score(score) => score.run().await,
            Self::UpdateCustomer(update) => update.run().await,
            Self::ReadAlerts(read) => read.run().await,
        }
    }
}
