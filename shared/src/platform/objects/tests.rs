use std::sync::Mutex;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;

use super::*;

/// A status, a body, and what the header says of its length.
type Told = (u16, &'static str, Option<u64>);

/// Answers what it was told, one after another, and keeps what it was asked.
#[derive(Debug, Clone, Default)]
struct Answering {
    answers: Arc<Mutex<Vec<Told>>>,
    asked: Arc<Mutex<Vec<HttpRequest>>>,
}

impl HttpConnector for Answering {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.asked.lock().expect("asked").push(request);
        let mut answers = self.answers.lock().expect("answers");
        let answer = match answers.is_empty() {
            true => Err(ConnectorError::io("reset".into())),
            false => {
                let (status, body, length) = answers.remove(0);
                let status = StatusCode::try_from(status).expect("a status");
                let mut response = HttpResponse::new(status, SdkBody::from(body));
                if let Some(length) = length {
                    response.headers_mut().insert("content-length", length.to_string());
                }
                Ok(response)
            }
        };
        HttpConnectorFuture::ready(answer)
    }
}

/// The key pair of the examples in S3's documentation of signatures.
fn bucket(answers: &[Told]) -> (Objects, Answering) {
    let connector =
        Answering { answers: Arc::new(Mutex::new(answers.to_vec())), ..Default::default() };
    let keys = Credentials::new(
        "AKIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        None,
        None,
        "test",
    );
    let shared = SharedHttpConnector::new(connector.clone());
    let services = Services {
        connector: Some(shared),
        credentials: Some(SharedCredentialsProvider::new(keys)),
        region: "us-east-1".to_owned(),
        endpoint: Some("http://s3.local/".to_owned()),
    };
    (Objects::new(&services, "archive"), connector)
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(5))
}

/// "GET Object" and "PUT Object" of S3's documentation, as far as their headers are ours: signatures by query
/// are compared as they are, in the example of "Authenticating Requests: Using Query Parameters".
#[tokio::test]
async fn an_address_is_signed_as_s3_documents_it() {
    let (mut objects, _) = bucket(&[]);
    let inner = Arc::get_mut(&mut objects.0).expect("the only one");
    "https://examplebucket.s3.amazonaws.com".clone_into(&mut inner.base);
    let now = "2013-05-24T00:00:00Z".parse().expect("an instant");
    let signed = objects.presigned("test.txt", now, Duration::from_secs(86_400)).await;
    assert_eq!(
        signed.expect("an address"),
        "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
         &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
         &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
         &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    );
}

#[tokio::test]
async fn a_put_says_how_long_it_is_and_its_digest() {
    let (objects, connector) = bucket(&[(200, "", None)]);
    objects.put("events/a:b/x", Bytes::from_static(b"abc"), soon()).await.expect("put");
    let asked = connector.asked.lock().expect("asked");
    let [request] = asked.as_slice() else { unreachable!("{asked:?}") };
    assert_eq!(
        (request.method(), request.uri()),
        ("PUT", "http://s3.local/archive/events/a%3Ab/x")
    );
    let header = |name| request.headers().get(name).unwrap_or_default();
    assert_eq!(header("content-length"), "3");
    assert_eq!(
        header("x-amz-content-sha256"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert!(
        header("authorization")
            .contains("SignedHeaders=content-length;host;x-amz-content-sha256;x-amz-date,")
    );
}

#[tokio::test(start_paused = true)]
async fn half_an_object_is_asked_for_again() {
    let (objects, connector) =
        bucket(&[(200, "ab", Some(3)), (503, "", None), (200, "abc", Some(3))]);
    assert_eq!(objects.get("x", soon()).await.expect("got").expect("there"), "abc");
    assert_eq!(connector.asked.lock().expect("asked").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_told_from_what_cannot_be_reached() {
    let no_key = "<Error><Code>NoSuchKey</Code></Error>";
    let no_bucket = "<Error><Code>NoSuchBucket</Code></Error>";
    let denied = "<Error><Code>AccessDenied</Code></Error>";
    let (objects, _) = bucket(&[(404, no_key, None), (404, "", None), (204, "", None)]);
    assert!(objects.get("x", soon()).await.expect("an answer").is_none());
    assert!(objects.head("x", soon()).await.expect("an answer").is_none());
    objects.delete("x", soon()).await.expect("deleted");
    assert!(matches!(objects.get("x", soon()).await, Err(ObjectError::Unavailable(_))));
    let (objects, connector) = bucket(&[(404, no_bucket, None), (403, denied, None)]);
    assert!(matches!(objects.get("x", soon()).await, Err(ObjectError::BucketMissing)));
    assert!(matches!(objects.get("x", soon()).await, Err(ObjectError::Denied(_))));
    assert_eq!(connector.asked.lock().expect("asked").len(), 2, "repeated in vain");
}

#[test]
fn without_an_endpoint_the_bucket_is_in_the_host() {
    let connector = SharedHttpConnector::new(Answering::default());
    let objects = Objects::new(&Services::behind(connector, "key", "eu-west-1"), "archive");
    assert_eq!(objects.0.url("events/x"), "https://archive.s3.eu-west-1.amazonaws.com/events/x");
}
