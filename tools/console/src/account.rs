//! The account of AWS that a stack is in.

use nagare_client::failure::Failure;
use shared::platform::runtime::env;

/// A real account, as the address of its queue names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Twelve digits.
    pub id: String,
    /// Such as `eu-west-1`.
    pub region: String,
    /// Where the region's services are, such as `eu-west-1.amazonaws.com`.
    pub domain: String,
}

impl Account {
    /// `https://sqs.REGION.amazonaws.com/ACCOUNT/NAME`; at any other host, the region is the one that calls are signed for.
    pub fn of_queue(url: &str, region: Option<&str>) -> Option<Self> {
        let mut parts = url.strip_prefix("https://")?.split('/');
        let (host, id) = (parts.next()?, parts.next()?);
        let (region, domain) = match host.strip_prefix("sqs.") {
            Some(domain) => (domain.split('.').next()?, domain.to_owned()),
            None => region.map(|region| (region, format!("{region}.amazonaws.com")))?,
        };
        let is_id = id.len() == 12 && id.bytes().all(|b| b.is_ascii_digit());
        is_id.then(|| Self { id: id.to_owned(), region: region.to_owned(), domain })
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "account {} in {}", self.id, self.region)
    }
}

pub(crate) fn unknown_account(queue: &str) -> Failure {
    Failure::Usage(format!(
        "the account of {queue} is not known: {} has to be https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, as the \
         stack's output has it (of another host, AWS_REGION has to be set, too), or a queue of a local stack",
        env::QUEUE_URL
    ))
}
