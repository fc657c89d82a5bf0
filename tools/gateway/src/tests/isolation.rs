//! Who gets in under which name. Tokens are forged here by hand, without the authorizer's library.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac::{HMAC_SHA256, HMAC_SHA384, Key, sign};
use serde_json::{Value, json};

use super::{Authorization, Limits, NOW, echo, get, send};
use function_http::Claims;

use crate::JwtAuthorizer;

const KEY: &str = "a key of thirty-two characters..";

enum Outcome {
    /// Let in, with this as the `sub` claim.
    Sub(&'static str),
    /// Refused for lack of a token.
    NoToken,
    /// Refused for a token that was given.
    InvalidToken,
}
use Outcome::{InvalidToken, NoToken, Sub};

async fn check(what: &str, credentials: &[&str], expected: Outcome) {
    let api = echo(Authorization::Jwt(JwtAuthorizer::with_key(KEY)), Limits::default());
    let mut request = get("/v1/timelines/bob");
    for credential in credentials {
        request.headers_mut().append("authorization", credential.parse().unwrap());
    }
    let answer = send(&api, request).await;
    match expected {
        Sub(sub) => {
            assert_eq!(answer.status, 200, "{what}");
            assert_eq!(answer.json()["requestContext"]["authorizer"]["jwt"]["claims"]["sub"], sub);
        }
        NoToken => {
            answer.assert_problem(401, what);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{what}");
        }
        InvalidToken => {
            answer.assert_problem(401, what);
            let challenge = answer.header("www-authenticate");
            assert_eq!(challenge, Some(r#"Bearer error="invalid_token""#), "{what}");
        }
    }
}

async fn check_token(what: &str, token: &str, expected: Outcome) {
    check(what, &[&format!("Bearer {token}")], expected).await;
}

async fn check_claims(claims: Value, expected: Outcome) {
    let token = forge(json!({ "alg": "HS256", "typ": "JWT" }), &claims.to_string(), hs256);
    check_token(&claims.to_string(), &token, expected).await;
}

async fn check_header(header: Value, sign: fn(&str) -> Vec<u8>, expected: Outcome) {
    let what = header.to_string();
    check_token(&what, &forge(header, &claims("bob").to_string(), sign), expected).await;
}

fn claims(sub: &str) -> Value {
    json!({ "sub": sub, "exp": NOW + 60 })
}

fn forge(header: Value, claims: &str, signed: impl Fn(&str) -> Vec<u8>) -> String {
    let encode = |part: &str| URL_SAFE_NO_PAD.encode(part);
    let message = format!("{}.{}", encode(&header.to_string()), encode(claims));
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signed(&message)))
}

fn hs256(message: &str) -> Vec<u8> {
    sign(&Key::new(HMAC_SHA256, KEY.as_bytes()), message.as_bytes()).as_ref().to_vec()
}

fn hs384(message: &str) -> Vec<u8> {
    sign(&Key::new(HMAC_SHA384, KEY.as_bytes()), message.as_bytes()).as_ref().to_vec()
}

fn unsigned(_message: &str) -> Vec<u8> {
    Vec::new()
}

fn bobs_token() -> String {
    JwtAuthorizer::with_key(KEY).mint("bob", NOW + 60).unwrap()
}

#[tokio::test]
async fn ways_to_carry_a_token() {
    let token = bobs_token();
    check("bearer", &[&format!("Bearer {token}")], Sub("bob")).await;
    check("lower case", &[&format!("bearer {token}")], Sub("bob")).await;
    check("upper case", &[&format!("BEARER {token}")], Sub("bob")).await;
    check("two spaces", &[&format!("Bearer  {token}")], Sub("bob")).await;

    check("missing", &[], NoToken).await;
    check("empty", &[""], NoToken).await;
    check("scheme alone", &["Bearer"], NoToken).await;
    check("without a scheme", &[&token], NoToken).await;
    check("another scheme", &["Basic Ym9iOmJvYg=="], NoToken).await;
    check("another scheme", &[&format!("Token {token}")], NoToken).await;

    let (bob, forged) = (format!("Bearer {token}"), "Bearer x.y.z");
    check("two headers, good first", &[&bob, forged], InvalidToken).await;
    check("two headers, good last", &[forged, &bob], InvalidToken).await;
    check("the same header twice", &[&bob, &bob], InvalidToken).await;
    check("two in one header", &[&format!("{bob}, {forged}")], InvalidToken).await;
    check("not ASCII", &["Bearer ü"], InvalidToken).await;
}

#[tokio::test]
async fn malformed_tokens() {
    let token = bobs_token();
    let parts: Vec<&str> = token.split('.').collect();
    let [header, payload, signature] = parts[..] else { panic!("{token}") };
    for malformed in [
        "x".to_owned(),
        "..".to_owned(),
        "x.y.z".to_owned(),
        format!("{header}.{payload}"),
        format!("{header}.{payload}."),
        format!("{header}..{signature}"),
        format!(".{payload}.{signature}"),
        format!("{token}."),
        format!("{token}.{signature}"),
        format!("{token}="),
        format!("{header}.{payload}.{}", &signature[..signature.len() - 2]),
        format!("{header} .{payload}.{signature}"),
    ] {
        check_token(&malformed, &malformed, InvalidToken).await;
    }
}

#[tokio::test]
async fn no_changed_token_gets_in() {
    let token = bobs_token();
    for (index, original) in token.bytes().enumerate() {
        let mut changed = token.clone().into_bytes();
        // The last character of the signature carries two bits of padding: change a high one.
        changed[index] = if original == b'A' { b'Q' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        check_token(&format!("changed at {index}"), &changed, InvalidToken).await;
    }
}

#[tokio::test]
async fn algorithms() {
    check_header(json!({ "alg": "HS256" }), hs256, Sub("bob")).await;

    for none in ["none", "None", "NONE", "nOnE", ""] {
        check_header(json!({ "alg": none }), unsigned, InvalidToken).await;
        check_header(json!({ "alg": none }), hs256, InvalidToken).await;
    }
    check_header(json!({}), hs256, InvalidToken).await;
    check_header(json!({ "alg": null }), hs256, InvalidToken).await;
    check_header(json!({ "alg": "HS256" }), unsigned, InvalidToken).await;
    check_header(json!({ "alg": "hs256" }), hs256, InvalidToken).await;
    check_header(json!({ "alg": "HS384" }), hs384, InvalidToken).await;
    check_header(json!({ "alg": "HS256" }), hs384, InvalidToken).await;
    for confused in ["HS384", "HS512", "RS256", "PS256", "ES256", "EdDSA"] {
        check_header(json!({ "alg": confused }), hs256, InvalidToken).await;
    }
    check_header(json!({ "alg": "HS256", "crit": ["b64"], "b64": false }), hs256, InvalidToken)
        .await;

    // A key that the token brings along is nobody's key.
    let own_key = json!({ "alg": "HS256", "jwk": { "kty": "oct", "k": "AAAA" } });
    let sign =
        |message: &str| sign(&Key::new(HMAC_SHA256, &[0; 3]), message.as_bytes()).as_ref().to_vec();
    let token = forge(own_key, &claims("bob").to_string(), sign);
    check_token("own key", &token, InvalidToken).await;
}

#[tokio::test]
async fn keys() {
    let other =
        JwtAuthorizer::with_key("another key of thirty-two chars..").mint("bob", NOW + 60).unwrap();
    check_token("another key", &other, InvalidToken).await;

    let authorizer = JwtAuthorizer::with_key(KEY);
    assert_eq!(authorizer.key(), KEY);
    assert_eq!(format!("{authorizer:?}"), "JwtAuthorizer { .. }");
}

#[tokio::test]
async fn lifetimes() {
    let with = |name: &str, value: Value| {
        let mut claims = claims("bob");
        claims[name] = value;
        claims
    };
    check_claims(with("exp", json!(NOW + 1)), Sub("bob")).await;
    check_claims(with("exp", json!(NOW as f64 + 0.5)), Sub("bob")).await;
    check_claims(with("exp", json!(NOW)), InvalidToken).await;
    check_claims(with("exp", json!(NOW - 1)), InvalidToken).await;
    check_claims(with("exp", json!(0)), InvalidToken).await;
    check_claims(with("exp", json!(-1)), InvalidToken).await;
    check_claims(with("exp", json!((NOW + 60).to_string())), InvalidToken).await;
    check_claims(with("exp", json!(null)), InvalidToken).await;
    check_claims(with("exp", json!([NOW + 60])), InvalidToken).await;
    check_claims(json!({ "sub": "bob" }), InvalidToken).await;
    for name in ["nbf", "iat"] {
        check_claims(with(name, json!(NOW)), Sub("bob")).await;
        check_claims(with(name, json!(NOW + 1)), InvalidToken).await;
        check_claims(with(name, json!("soon")), InvalidToken).await;
        check_claims(with(name, json!(null)), InvalidToken).await;
    }
}

#[tokio::test]
async fn subjects() {
    check_claims(json!({ "exp": NOW + 60 }), InvalidToken).await;
    for sub in [json!(""), json!(null), json!(1), json!(["bob"]), json!({ "is": "bob" })] {
        check_claims(json!({ "exp": NOW + 60, "sub": sub }), InvalidToken).await;
    }
    for payload in ["[]", "\"bob\"", "null", "{", ""] {
        let token = forge(json!({ "alg": "HS256" }), payload, hs256);
        check_token(payload, &token, InvalidToken).await;
    }
    let twice = format!(r#"{{"sub":"anna","sub":"bob","exp":{}}}"#, NOW + 60);
    let token = forge(json!({ "alg": "HS256" }), &twice, hs256);
    check_token("two subjects", &token, InvalidToken).await;

    // The authorizer says who calls, not whether they may: none of these is made into `bob`.
    for sub in [
        "anna",
        "Bob",
        "BOB",
        " bob",
        "bob ",
        "bob\0",
        "bob/",
        "%62ob",
        "bob,anna",
        "b\u{43e}b",
        "bo\u{200b}b",
        "\u{ff42}\u{ff4f}\u{ff42}",
        "\u{e9}",
        "e\u{301}",
        "*",
    ] {
        check_claims(claims(sub), Sub(sub)).await;
    }
}

#[tokio::test]
async fn all_claims_are_handed_on_as_strings() {
    let api = echo(Authorization::Jwt(JwtAuthorizer::with_key(KEY)), Limits::default());
    let claims = json!({
        "sub": "bob", "exp": NOW + 60, "aud": ["a", "b"], "email_verified": true,
        "scope": "read write", "address": { "country": "JP" }, "nickname": null,
    });
    let token = forge(json!({ "alg": "HS256" }), &claims.to_string(), hs256);
    let mut request = get("/");
    let credentials = format!("Bearer {token}").parse().unwrap();
    request.headers_mut().insert("authorization", credentials);

    let event = send(&api, request).await.json();
    let expected = json!({
        "sub": "bob", "exp": (NOW + 60).to_string(), "aud": "[a b]", "email_verified": "true",
        "scope": "read write", "address": r#"{"country":"JP"}"#, "nickname": "null",
    });
    assert_eq!(event["requestContext"]["authorizer"]["jwt"], json!({ "claims": expected }));
}

async fn handed_on(authorizer: JwtAuthorizer, claims: Value) -> (http::StatusCode, Value) {
    let api = echo(Authorization::Jwt(authorizer), Limits::default());
    let token = forge(json!({ "alg": "HS256" }), &claims.to_string(), hs256);
    let mut request = get("/");
    let credentials = format!("Bearer {token}").parse().unwrap();
    request.headers_mut().insert("authorization", credentials);
    let answer = send(&api, request).await;
    (answer.status, answer.json()["requestContext"]["authorizer"]["jwt"]["claims"].clone())
}

#[tokio::test]
async fn a_tenant_is_a_string() {
    for tenant in [json!(null), json!(true), json!(5), json!({}), json!(["acme"])] {
        let claims = json!({ "sub": "bob", "exp": NOW + 60, "tenant_id": tenant });
        let (status, claims) = handed_on(JwtAuthorizer::with_key(KEY), claims).await;
        assert_eq!((status.as_u16(), claims.get("tenant_id")), (200, None), "{tenant}");
    }
    let claims = json!({ "sub": "bob", "exp": NOW + 60, "tenant_id": "5" });
    let (_, claims) = handed_on(JwtAuthorizer::with_key(KEY), claims).await;
    assert_eq!(claims["tenant_id"], "5");
}

#[tokio::test]
async fn another_claim_may_have_the_viewer() {
    let of_uid = || {
        let claims = Claims::with_viewer("uid".parse().unwrap()).unwrap();
        JwtAuthorizer::with_key(KEY).with_claims(claims)
    };
    for (uid, expected) in [(json!("bob"), 200), (json!(["bob"]), 401), (json!(5), 401)] {
        let claims = json!({ "uid": uid, "sub": "bob", "exp": NOW + 60 });
        assert_eq!(handed_on(of_uid(), claims).await.0, expected, "{uid}");
    }
    let (status, _) = handed_on(of_uid(), json!({ "sub": "bob", "exp": NOW + 60 })).await;
    assert_eq!(status, 401);
    assert_eq!(handed_on(of_uid(), json!({ "uid": "bob", "exp": NOW + 60 })).await.0, 200);
}

#[tokio::test]
async fn no_route_is_without_the_authorizer_and_no_reason_is_given() {
    let api = echo(Authorization::Jwt(JwtAuthorizer::with_key(KEY)), Limits::default());
    for target in ["/", "/elsewhere", "/v1/timelines/", "/v1/timelines/bob/"] {
        send(&api, get(target)).await.assert_problem(401, target);
    }

    let mut details = Vec::new();
    for token in [JwtAuthorizer::with_key(KEY).mint("bob", NOW).unwrap(), "x".to_owned()] {
        let mut request = get("/v1/timelines/bob");
        let credentials = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", credentials);
        details.push(send(&api, request).await.json());
    }
    assert_eq!(details[0], details[1]);
}

#[tokio::test]
async fn an_open_api_vouches_for_nobody() {
    let mut request = get("/v1/timelines/bob");
    let credentials = format!("Bearer {}", bobs_token()).parse().unwrap();
    request.headers_mut().insert("authorization", credentials);
    let event = send(&echo(Authorization::Open, Limits::default()), request).await.json();
    assert_eq!(event["requestContext"].get("authorizer"), None);
}
