"""What a shop says about itself, as law and buyers want to know it: who it is, and its texts. Pure."""

from dataclasses import dataclass

from app.domain import emails
from app.domain.names import refuse_name
from app.errors import BadInput
from app.languages import N_, _, count

NAME_CHARACTERS_MAX = 200
ADDRESS_CHARACTERS_MAX = 500
ADDRESS_LINES_MAX = 8
TAX_ID_CHARACTERS_MAX = 60
TEXT_CHARACTERS_MAX = 15_000  # of one page; four of them fit into one form, whatever their script (app/web/guard.py)
PAGES = {  # page -> what it is called, in the order of the footer
    "imprint": N_("Imprint"),
    "terms": N_("Terms"),
    "privacy": N_("Privacy"),
    "refunds": N_("Refunds"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """`imprint` to `refunds`: Markdown; "": there is no such page."""

    business_name: str = ""
    business_address: str = ""  # lines
    tax_id: str = ""
    contact: str = ""  # a mail address; "": the owner's
    imprint: str = ""
    terms: str = ""
    privacy: str = ""
    refunds: str = ""

    @property
    def pages(self) -> tuple[str, ...]:
        """-> which of PAGES there are. Whoever says who they are has an imprint."""
        return tuple(page for page in PAGES if getattr(self, page) or page == "imprint" and self.business_name)


def papers_from(typed: dict[str, str]) -> tuple[Papers, dict[str, str]]:
    """-> the papers as typed, without spaces at their ends, and field -> sentence for what is wrong with them."""
    clean = {name: typed.get(name, "").replace("\r\n", "\n").strip() for name in Papers.__slots__}
    problems = {}
    for name, most in (("business_name", NAME_CHARACTERS_MAX), ("tax_id", TAX_ID_CHARACTERS_MAX)):
        if len(clean[name]) > most or "\n" in clean[name]:
            problems[name] = _("One line of at most %(most)s characters.", most=most)
        elif clean[name] and refuse_name(clean[name]):
            problems[name] = _(refuse_name(clean[name]))
    lines = [line.strip() for line in clean["business_address"].split("\n")]
    clean["business_address"] = "\n".join(line for line in lines if line)
    if len(lines) > ADDRESS_LINES_MAX or len(clean["business_address"]) > ADDRESS_CHARACTERS_MAX:
        problems["business_address"] = _("At most %(lines)s lines.", lines=ADDRESS_LINES_MAX)
    if clean["contact"]:
        try:
            clean["contact"] = emails.written(clean["contact"])
        except BadInput as error:
            problems["contact"] = _(str(error))
    for name in PAGES:
        if len(clean[name]) > TEXT_CHARACTERS_MAX:
            problems[name] = _("At most %(most)s characters.", most=count(TEXT_CHARACTERS_MAX))
    return Papers(**clean), problems


def missing_pages(law: tuple[str, ...]) -> list[str]:
    """-> the pages that a shop does not have, by their names in the catalog."""
    return [name for page, name in PAGES.items() if page not in law]
