"""An authenticator in software: what a browser and a security key would answer by WebAuthn (ES256, no attestation)."""

import base64
import hashlib
import json
import secrets
import struct
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, WITH_CREDENTIAL = 0x01, 0x04, 0x40
COSE_ES256 = {1: 2, 3: -7, -1: 1}  # an elliptic curve key, of ES256, on P-256


def written(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def read(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Authenticator:
    """One device with one credential. `counts`: whether it counts its uses, or says 0 for ever as synchronised passkeys do."""

    def __init__(self, origin: str, *, counts: bool = True):
        self.origin, self.counts = origin, counts
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.credential_id = secrets.token_bytes(32)
        self.count = 0

    def adds(self, options: dict[str, Any], **changed: Any) -> dict[str, Any]:
        """What create() answers. `changed`, here and below: what is other than it should be."""
        point = self.key.public_key().public_numbers()
        cose = cbor2.dumps({**COSE_ES256, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")})
        credential = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id + cose
        said = self._said("webauthn.create", options, changed)
        data = self._data(changed.get("site", options["rp"]["id"]), WITH_CREDENTIAL, changed) + credential
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        answer = self._answer(clientDataJSON=said, attestationObject=attestation)
        answer["response"]["transports"] = ["internal"]
        return answer

    def shows(self, options: dict[str, Any], **changed: Any) -> dict[str, Any]:
        """What get() answers."""
        said = self._said("webauthn.get", options, changed)
        data = self._data(changed.get("site", options["rpId"]), 0, changed)
        signed = self.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(clientDataJSON=said, authenticatorData=data, signature=changed.get("signature", signed))

    def _said(self, kind: str, options: dict[str, Any], changed: dict[str, Any]) -> bytes:
        challenge = changed.get("challenge", options["challenge"])
        origin = changed.get("origin", self.origin)
        return json.dumps({"type": changed.get("kind", kind), "challenge": challenge, "origin": origin}).encode()

    def _data(self, site: str, flags: int, changed: dict[str, Any]) -> bytes:
        self.count += self.counts
        count = changed.get("count", self.count)
        return hashlib.sha256(site.encode()).digest() + bytes([PRESENT | VERIFIED | flags]) + struct.pack(">I", count)

    def _answer(self, **response: bytes) -> dict[str, Any]:
        name = written(self.credential_id)
        return {"id": name, "rawId": name, "type": "public-key", "response": {part: written(raw) for part, raw in response.items()}}
