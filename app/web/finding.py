"""Finding a drop: words and a state, from a plain form at the top of the list.

Words are looked for in title, shop, description and variants, whatever their case, all of them. A state is what the drop's scene
says now. At most CANDIDATES_MAX drops are asked about. In any list stands first what is open, then what opens, the next first, then
what is sold out, then what is over, the latest first.
"""

from collections.abc import Iterable
from datetime import datetime

from app.clock import now
from app.domain.drops import Door, Drop, Phase
from app.web.call import Call
from app.web.doors import Doors
from app.web.render import Card, Wanted

WORDS_CHARACTERS_MAX = 100
CANDIDATES_MAX = 200
SOON, OPEN, SOLD_OUT = "soon", "open", "sold_out"
PHASES = {
    SOON: frozenset({Phase.ANNOUNCED, Phase.LAST_SECONDS}),
    OPEN: frozenset({Phase.OPEN, Phase.ALL_HELD, Phase.PAUSED}),
    SOLD_OUT: frozenset({Phase.SOLD_OUT}),
}


def wanted_by(call: Call) -> Wanted:
    """-> what the query asks for; a state that is none asks for all."""
    state = call.query("state")
    return Wanted(" ".join(call.query("q")[:WORDS_CHARACTERS_MAX].split()), state if state in PHASES else "")


async def found(doors: Doors, wanted: Wanted, cards_max: int) -> list[Card]:
    """-> the cards of the drops that fit."""
    words = wanted.words.casefold().split()
    fitting = [drop for drop in likely_first(doors.catalogue.drops(), now()) if all(word in text_of(drop) for word in words)]
    cards = await doors.scenes.cards(fitting[: CANDIDATES_MAX if wanted.state else cards_max], doors.hub.watching)
    if wanted.state:
        cards = [card for card in cards if card.scene.phase in PHASES[wanted.state]]
    return in_order(cards)[:cards_max]


def likely_first(drops: Iterable[Drop], at: datetime) -> list[Drop]:
    """-> the drops in the order of the list as far as it is known without asking the gate, to know about which to ask."""

    def standing(drop: Drop) -> tuple[int, float]:
        if drop.retired or drop.door in (Door.CLOSED, Door.CANCELLED) or (drop.closes_at is not None and drop.closes_at <= at):
            return 2, -drop.opens_at.timestamp()
        return (1, drop.opens_at.timestamp()) if drop.opens_at > at else (0, -drop.opens_at.timestamp())

    return sorted(drops, key=standing)


def in_order(cards: Iterable[Card]) -> list[Card]:
    """-> the cards in the order of the list."""

    def standing(card: Card) -> tuple[int, float]:
        opens_at = card.scene.opens_at.timestamp()
        for rank, state in enumerate((OPEN, SOON, SOLD_OUT)):
            if card.scene.phase in PHASES[state]:
                return rank, opens_at if state == SOON else -opens_at
        return (0 if card.scene.phase is Phase.NOT_READY else len(PHASES)), -opens_at

    return sorted(cards, key=standing)


def text_of(drop: Drop) -> str:
    return " ".join((drop.title, drop.shop_name, drop.description, *(variant.name for variant in drop.variants))).casefold()
