"""What a browser is asked to sign with a passkey, and whether what it signed is good (WebAuthn, by the library `webauthn`).

Guarantees: the site that a passkey is for, and the origin that may use it, come from the installation's own address, never from a
request. Whatever a browser sends that is not exactly right ends in NotGood, whatever the library makes of it. The library is loaded
by the first question about a passkey, in the thread that answers it: a process in which nobody asks never pays for it.
"""

import hmac
import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from app.errors import BadInput
from app.ledger import Passkey
from app.ledger.passkeys import CHALLENGE_SECONDS, CREDENTIAL_BYTES_MAX
from app.settings import Settings

CREDENTIAL_CHARACTERS_MAX = 4 * CREDENTIAL_BYTES_MAX // 3 + 4  # written in base64
HANDLE_BYTES = 32
DEFAULT_PORTS = {"https": 443, "http": 80}
TRANSPORTS = frozenset({"usb", "nfc", "ble", "smart-card", "internal", "hybrid"})


class NotGood(BadInput):
    """The answer of the browser was not signed for what it was asked, by whom it was asked, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Site:
    """For whom passkeys are made."""

    name: str  # the host name, WebAuthn's RP id
    origin: str  # as browsers write it


@dataclass(frozen=True, slots=True)
class NewCredential:
    credential_id: bytes
    public_key: bytes  # COSE
    sign_count: int
    transports: list[str]


def site_of(settings: Settings) -> Site | None:
    """-> None where browsers give no passkeys: at an IP address, and without https but on one's own machine."""
    parts = urlsplit(settings.public_url)
    name = parts.hostname or ""
    if is_address(name) or not (parts.scheme == "https" or name == "localhost" or name.endswith(".localhost")):
        return None
    written_port = "" if parts.port in (None, DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return Site(name, f"{parts.scheme}://{name}{written_port}")


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def handle_of(key: bytes, email: str) -> bytes:
    """-> who somebody is to their authenticator: always the same, and nothing that can be read."""
    return hmac.digest(key, f"passkey/{email}".encode(), "sha256")[:HANDLE_BYTES]


def options_to_add(site: Site, handle: bytes, email: str, challenge: bytes, known: Sequence[Passkey]) -> dict[str, Any]:
    """-> what navigator.credentials.create() takes, its bytes in base64url. `known`: none of these authenticators again."""
    from webauthn import generate_registration_options
    from webauthn.helpers import structs

    options = generate_registration_options(
        rp_id=site.name,
        rp_name=f"Doorman {site.name}",
        user_id=handle,
        user_name=email,
        challenge=challenge,
        timeout=CHALLENGE_SECONDS * 1000,
        attestation=structs.AttestationConveyancePreference.NONE,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.PREFERRED,
            user_verification=structs.UserVerificationRequirement.PREFERRED,
        ),
        exclude_credentials=described(known),
    )
    return plain(options)


def options_to_show(site: Site, challenge: bytes, known: Sequence[Passkey]) -> dict[str, Any]:
    """-> what navigator.credentials.get() takes, its bytes in base64url. `known`: one of these."""
    from webauthn import generate_authentication_options
    from webauthn.helpers import structs

    options = generate_authentication_options(
        rp_id=site.name,
        challenge=challenge,
        timeout=CHALLENGE_SECONDS * 1000,
        allow_credentials=described(known),
        user_verification=structs.UserVerificationRequirement.PREFERRED,
    )
    return plain(options)


def new_credential(site: Site, challenge: bytes, answer: Mapping[str, Any]) -> NewCredential:
    """What create() answered -> the credential; NotGood."""
    from webauthn import verify_registration_response

    try:
        found = verify_registration_response(
            credential=dict(answer), expected_challenge=challenge, expected_rp_id=site.name, expected_origin=site.origin
        )
        transports = sorted(TRANSPORTS.intersection(answer["response"].get("transports") or ()))
    except Exception as error:  # it reads what strangers send, in several formats: whatever it stumbles over is not good
        raise NotGood(str(error)) from error
    if not 0 < len(found.credential_id) <= CREDENTIAL_BYTES_MAX:
        raise NotGood("a credential's id is too long")
    return NewCredential(found.credential_id, found.credential_public_key, found.sign_count, transports)


def counter_of(site: Site, challenge: bytes, answer: Mapping[str, Any], passkey: Passkey) -> int:
    """What get() answered -> the authenticator's counter; NotGood, a counter that does not move on included."""
    from webauthn import verify_authentication_response

    try:
        found = verify_authentication_response(
            credential=dict(answer),
            expected_challenge=challenge,
            expected_rp_id=site.name,
            expected_origin=site.origin,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=passkey.sign_count,
        )
    except Exception as error:  # as above
        raise NotGood(str(error)) from error
    return found.new_sign_count


def credential_id_of(answer: Mapping[str, Any]) -> bytes:
    """-> which credential the browser says it used; NotGood."""
    from webauthn import base64url_to_bytes

    written = answer.get("rawId")
    if not isinstance(written, str) or not 0 < len(written) <= CREDENTIAL_CHARACTERS_MAX:
        raise NotGood("no credential is named")
    try:
        return base64url_to_bytes(written)
    except ValueError as error:
        raise NotGood("the credential's id is not base64url") from error


def described(known: Sequence[Passkey]) -> list:
    from webauthn.helpers.structs import AuthenticatorTransport, PublicKeyCredentialDescriptor

    return [
        PublicKeyCredentialDescriptor(id=one.credential_id, transports=[AuthenticatorTransport(way) for way in one.transports])
        for one in known
    ]


def plain(options) -> dict[str, Any]:
    from webauthn import options_to_json

    return json.loads(options_to_json(options))
