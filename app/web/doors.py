"""What the routed handlers share: the parts of this web process and the few ways to answer.

Handlers are thin: they read the call, ask one part, and answer through `page`, `fragment`, `document` or `redirect`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
from litestar import Response
from litestar.datastructures import Cookie
from litestar.di import NamedDependency

from app.domain.links import order_link
from app.errors import DoormanError
from app.gate import Gate, Limiter
from app.jobs import Jobs
from app.ledger import Ledger, Seller
from app.live import Feed, Hub
from app.mail.letters import Letters
from app.purchase.paying import Till
from app.purchase.waiting import Lists
from app.settings import Settings
from app.web.api.keys import ApiKeys
from app.web.call import Call
from app.web.catalogue import Catalogue
from app.web.metrics import Metrics
from app.web.picture_intake import Intake
from app.web.picture_memory import Pictures
from app.web.render import Renderer
from app.web.scenes import Scenes
from app.web.seller.sessions import SellerSessions
from app.web.seller.shell import places_for
from app.web.seller.watch_room import Watch
from app.web.session import Session, Sessions
from app.web.share_picture import SharePictures
from app.web.signing import Signer
from app.wiring import Office

PRIVATE = {"cache-control": "private, no-cache", "vary": "Accept, Accept-Language, HX-Request-Type, Cookie"}
NEXT_CHARACTERS_MAX = 512
HTML = "text/html"  # Litestar adds the charset
JSON = "application/json"


class SignInNeeded(DoormanError):
    """This address is for signed-in shoppers: 401 for programs, the sign-in page for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    settings: Settings
    ledger: Ledger
    gate: Gate
    feed: Feed
    jobs: Jobs
    till: Till
    hub: Hub
    catalogue: Catalogue
    scenes: Scenes
    renderer: Renderer
    sessions: Sessions
    metrics: Metrics
    pictures: Pictures
    intake: Intake  # takes in what sellers upload
    share_pictures: SharePictures
    letters: Letters
    lists: Lists
    office: Office  # the seller's side: pools and connections of its own (R13)
    sellers: SellerSessions
    watch: Watch
    api_keys: ApiKeys
    api_limiter: Limiter  # requests of a key
    order_tokens: Signer  # [order id, shopper id, drop id, ms of the reservation]: carried by the redirect after a buy
    asked_tokens: Signer  # [code id, email as written, next]: held by the browser that asked for a sign-in code
    seller_asked_tokens: Signer  # the same, of the dashboard
    code_key: bytes
    second_factor_key: bytes  # sellers' second factors are made of it
    link_key: bytes
    hook_key: bytes  # secrets of webhooks are made with it

    def link_of(self, order_id: UUID) -> str:
        """-> the address of an order's secret link."""
        return self.settings.public_url + order_link(self.link_key, order_id)

    def page(
        self, call: Call, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
    ) -> Response:
        body = self.renderer.page(template, signed_in=call.session is not None, path=call.path, **context)
        return Response(body.encode(), status_code=status, media_type=HTML, headers={**PRIVATE, **(headers or {})})

    def seller_page(
        self,
        call: Call,
        seller: Seller | None,
        template: str,
        *,
        title: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **context: Any,
    ) -> Response:
        """A page of the dashboard. `seller` None: nobody is signed in."""
        places = [] if seller is None else places_for(seller, call.path)
        body = self.renderer.page(
            template, signed_in=seller is not None, path=call.path, title=title, seller=seller, places=places, **context
        )
        headers = {**PRIVATE, "cache-control": "no-store", **(headers or {})}
        return Response(body.encode(), status_code=status, media_type=HTML, headers=headers)

    def fragment(self, template: str, *, status: int = 200, **context: Any) -> Response:
        body = self.renderer.fragment(template, **context)
        return Response(body.encode(), status_code=status, media_type=HTML, headers={**PRIVATE, "cache-control": "no-store"})


ThisCall = NamedDependency[Call]
TheseDoors = NamedDependency[Doors]


def document(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(value),
        status_code=status,
        media_type=JSON,
        headers={**PRIVATE, "cache-control": "no-store", **(headers or {})},
    )


def redirect(call: Call, url: str, *, cookies: Sequence[Cookie] = ()) -> Response:
    """303 for a plain form or link; for htmx the header that makes the browser go there."""
    target = {"hx-redirect": url} if call.partial else {"location": url}
    return Response(
        b"", status_code=200 if call.partial else 303, media_type=HTML, headers={**PRIVATE, **target}, cookies=list(cookies)
    )


def shopper_of(call: Call) -> Session:
    """-> who asks; SignInNeeded without a session."""
    if call.session is None:
        raise SignInNeeded("sign in first")
    return call.session


def own_path(target: str) -> str:
    """-> `target` when it is a path of ours, "/" for anything that could lead elsewhere."""
    lawful = (
        len(target) <= NEXT_CHARACTERS_MAX
        and target.startswith("/")
        and not target.startswith("//")
        and "\\" not in target
        and target.isprintable()
        and not any(character.isspace() for character in target)
    )
    return target if lawful else "/"
