//! `nagare token`: a token for a local stack that demands one (`nagare up --auth`).

use clap::Args;
use nagare_client::target::Target;
use nagare_client::token::{authorizer, mint};
use shared::platform::runtime::env;
use shared::platform::values::{TenantId, ViewerId};

use super::Failure;
use super::print::say;
use super::span::Span;

#[derive(Debug, Args)]
pub(super) struct Token {
    /// Who reads with it.
    viewer: ViewerId,
    /// The tenant that it speaks for, by the claim `tenant_id`. Without it, it reaches no tenant's routes.
    #[arg(long)]
    tenant: Option<TenantId>,
    /// How long it is valid, from 1s to 365d: 90s, 15m, 1h, 7d.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    expires_in: Span,
}

impl Token {
    pub(super) fn run(self) -> Result<(), Failure> {
        let authorizer = match authorizer(env::optional) {
            Some(found) => Some(found),
            None => {
                let target = Target::find()?;
                authorizer(|name| target.optional(name))
            }
        };
        let authorizer = authorizer.ok_or_else(|| Failure::Usage(without_key()))?;
        let seconds = self.expires_in.as_seconds();
        say!("{}", mint(&authorizer, &self.viewer, self.tenant.as_ref(), seconds)?)
    }
}

fn without_key() -> String {
    format!(
        "there is no {}: a stack that was started with `nagare up --auth` has one, and `nagare token` makes tokens \
         for such a stack alone. On AWS tokens come from the issuer that JwtIssuer names",
        env::JWT_KEY
    )
}
