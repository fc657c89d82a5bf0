//! Addresses of this machine.

use std::net::IpAddr;

use reqwest::Url;

/// True if a URL's host is this machine: `localhost` or a loopback address. The address is parsed, since others begin
/// alike (`http://127.0.0.1.example`, `http://localhost@elsewhere.example`).
pub fn is_loopback(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(is_loopback_host))
}

/// The same of a host, as URLs write it.
pub fn is_loopback_host(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_parsed_and_not_compared_by_its_beginning() {
        for url in [
            "http://127.0.0.1",
            "http://127.0.0.1:3001/",
            "https://127.8.9.10",
            "http://localhost:8000",
            "http://LOCALHOST",
            "http://[::1]:3001",
            "http://2130706433",
            "http://user@127.0.0.1",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://127.0.0.1.example",
            "http://127.0.0.1.example:3001/",
            "http://127.0.0.1@elsewhere.example",
            "http://localhost.example",
            "http://localhost:pw@elsewhere.example",
            "http://notlocalhost",
            "http://dynamodb.localhost:3001",
            "http://[::2]",
            "http://10.0.0.1",
            "https://dynamodb.eu-west-1.amazonaws.com",
            "127.0.0.1:3001",
            "",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
