"""Finding a drop: words and a state, from a plain form at the top of the list.

Words are looked for in title, shop, description and variants, whatever their case, all of them. A state is what the drop's scene
says now. At most CANDIDATES_MAX drops are asked about. The catalogue's order stands, except that of what opens soon the next comes
first.
"""

from app.domain.drops import Drop, Phase
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
    fitting = [drop for drop in doors.catalogue.drops() if all(word in text_of(drop) for word in words)][:CANDIDATES_MAX]
    cards = await doors.scenes.cards(fitting if wanted.state else fitting[:cards_max], doors.hub.watching)
    if wanted.state:
        cards = [card for card in cards if card.scene.phase in PHASES[wanted.state]]
    if wanted.state == SOON:
        cards.sort(key=lambda card: card.scene.opens_at)
    return cards[:cards_max]


def text_of(drop: Drop) -> str:
    return " ".join((drop.title, drop.shop_name, drop.description, *(variant.name for variant in drop.variants))).casefold()
