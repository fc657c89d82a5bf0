//! The proxy through which a remote stack is reached, if the environment names one.
//!
//! `HTTPS_PROXY` applies to all encrypted connections of every client alike: to the tables and queues, the API, CloudWatch, and the
//! services that give temporary credentials. `NO_PROXY` names the hosts that are reached directly. This machine always is: a proxy
//! would reach itself instead, and would be told what a local stack holds.

use aws_config::SdkConfig;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, NoProxy};
use shared::platform::dynamo;
use shared::platform::runtime::env;

use crate::call_timeout::call_timeout;
use crate::failure::Failure;

/// The variables that name the proxy. The first one that is set counts.
const NAMING: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
/// The variables that name the hosts that are reached directly.
const EXCEPT: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// The hosts that are always reached directly.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// A proxy, and the hosts that are reached directly.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Proxy {
    url: String,
    except: String,
}

/// The configuration of AWS clients, as the functions have it, through the proxy if there is one.
///
/// # Errors
/// [`Failure::Usage`] if the address of the proxy is not valid.
pub async fn sdk_config() -> Result<SdkConfig, Failure> {
    match Proxy::from_env(env::optional) {
        None => Ok(dynamo::sdk_config().await),
        Some(proxy) => Ok(dynamo::sdk_config_over(proxy.https()?).await),
    }
}

/// A client for other HTTP services, through the proxy if there is one. It follows no redirects: none of these services sends any, and
/// a signed request is for one host. Its calls end at their [deadline](super::call_timeout).
///
/// On a machine without root certificates, such as a slim container, it still reaches addresses that are not encrypted, as those of a
/// local stack, and trusts no other.
///
/// # Errors
/// [`Failure::Usage`] if the address of the proxy is not valid, [`Failure::Unreachable`] if no client can be made.
pub fn http_client() -> Result<reqwest::Client, Failure> {
    // The same cryptography as in the AWS clients. An error means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let direct = reqwest::Client::builder().no_proxy().redirect(Policy::none());
        let direct = direct.timeout(call_timeout());
        match Proxy::from_env(env::optional) {
            None => Ok(direct),
            Some(proxy) => proxy.around(direct),
        }
    };
    let client = match builder()?.build() {
        Err(_) => builder()?.tls_certs_only([]).build(),
        client => client,
    };
    client.map_err(|e| Failure::Unreachable(e.to_string()))
}

impl Proxy {
    fn from_env(variable: impl Fn(&'static str) -> Option<String>) -> Option<Self> {
        let first = |names: [&'static str; 2]| {
            names.into_iter().find_map(|name| variable(name).filter(|value| !value.is_empty()))
        };
        let url = first(NAMING)?;
        let url = if url.contains("://") { url } else { format!("http://{url}") };
        let except = first(EXCEPT).map_or_else(String::new, |except| format!(",{except}"));
        Some(Self { url, except: format!("{LOOPBACK}{except}") })
    }

    /// An HTTP client for AWS clients: that of [`dynamo::sdk_config`], with the proxy.
    fn https(self) -> Result<SharedHttpClient, Failure> {
        let proxy = self.checked()?.no_proxy(&self.except);
        Ok(Builder::new().build_with_connector_fn(move |settings, components| {
            let mut connector = Connector::builder().proxy_config(proxy.clone());
            connector.set_connector_settings(settings.cloned());
            connector.set_sleep_impl(components.and_then(|components| components.sleep_impl()));
            connector.tls_provider(Provider::Rustls(CryptoMode::Ring)).build()
        }))
    }

    fn around(self, client: ClientBuilder) -> Result<ClientBuilder, Failure> {
        // This one finds out at the first request that it does not know a scheme.
        self.checked()?;
        let proxy = reqwest::Proxy::https(&self.url).map_err(|e| self.wrong(&e))?;
        Ok(client.proxy(proxy.no_proxy(NoProxy::from_string(&self.except))))
    }

    fn checked(&self) -> Result<ProxyConfig, Failure> {
        ProxyConfig::https(self.url.as_str()).map_err(|e| self.wrong(&e))
    }

    fn wrong(&self, why: &dyn std::fmt::Display) -> Failure {
        // Its address may have a password in it.
        Failure::Usage(format!("HTTPS_PROXY names no proxy that can be used: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::response::Redirect;
    use axum::routing::get;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/asked", get(async || Redirect::temporary("/elsewhere")))
            .route("/elsewhere", get(async || "followed"));
        tokio::spawn(async { axum::serve(listener, router).await });
        let answer = http_client().unwrap().get(format!("{address}/asked")).send().await.unwrap();
        assert_eq!(answer.status(), http::StatusCode::TEMPORARY_REDIRECT);
    }

    #[test]
    fn this_machine_is_never_reached_by_a_proxy() {
        let of = |set: &'static [(&str, &str)]| {
            let found = |name: &str| set.iter().find(|(other, _)| *other == name);
            Proxy::from_env(move |name| found(name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(
            of(&[("NO_PROXY", "a"), ("HTTP_PROXY", "http://p:1"), ("HTTPS_PROXY", "")]),
            None
        );
        let proxy = of(&[("https_proxy", "p:3128"), ("no_proxy", "10.0.0.0/8,.internal")]).unwrap();
        assert_eq!(proxy.url, "http://p:3128");
        assert_eq!(proxy.except, "localhost,127.0.0.0/8,::1,10.0.0.0/8,.internal");
        for wrong in ["ftp://p", "http://"] {
            let proxy = Proxy { url: wrong.to_owned(), except: String::new() };
            assert!(matches!(proxy.clone().https(), Err(Failure::Usage(_))), "{wrong}");
            assert!(
                matches!(proxy.around(reqwest::Client::builder()), Err(Failure::Usage(_))),
                "{wrong}"
            );
        }
    }
}
