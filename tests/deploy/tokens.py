"""The stack after an update to Authorization=jwt, and who issues the tokens for it."""

import base64
import functools
import http.server
import json
import os
import ssl
import threading
import time
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from deployed import Deployed, deploy, poll

KEY = "key-1"


class Issuer:
    """Somebody who issues tokens: an OpenID provider, as far as the API asks one."""

    def __init__(self):
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate = Path(os.environ["AWS_CA_BUNDLE"])
        trust.load_cert_chain(certificate, certificate.with_name("key.pem"))
        self._server.socket = trust.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def token(self, viewer, **claims):
        header = {"alg": "RS256", "kid": KEY, "typ": "JWT"}
        claims = {"iss": self.url, "aud": "timelines", "sub": viewer, "exp": int(time.time()) + 300} | claims
        signed = ".".join(text64(json.dumps(part).encode()) for part in (header, claims))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{text64(signature)}"

    def _handler(self):
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY, "n": int64(numbers.n), "e": int64(numbers.e)}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):
                documents = {
                    "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": self.url + "/keys"},
                    "/keys": {"keys": [key]},
                }
                document = documents.get(handler.path)
                handler.send_response(200 if document else 404)
                handler.end_headers()
                handler.wfile.write(json.dumps(document).encode())

            def log_message(handler, *_):
                pass

        return Handler


def text64(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def int64(number):
    return text64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


@functools.cache
def jwt_stack():
    """The stack, and the issuer that it was told of. Deployed once, for all modules."""
    issuer = Issuer()
    deploy("Stage=dev", "Authorization=jwt", f"JwtIssuer={issuer.url}", "JwtAudience=timelines")
    stack = Deployed()
    poll(stack, concurrency=2)
    return stack, issuer


def bearer(token):
    return {"Authorization": f"Bearer {token}"}
