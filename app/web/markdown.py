"""A seller's description, written in Markdown, as a page may show it.

Guarantees: no byte of the text reaches a page as markup of its author's (raw HTML is text like any other); links go to http, https
and mailto alone, say that they are followed at one's own risk (`rel`), and open nothing else; no picture is loaded from anywhere;
headings stand below the page's own, none left out. Text of any shape is drawn in bounded time: nesting has a bound, and so has the
text itself (DESCRIPTION_CHARACTERS_MAX).
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup

SCHEMES = ("http://", "https://", "mailto:")
NESTED_MAX = 12
HEADING_LEVEL_MAX = 6
RENDERED_CACHED = 512
ABOUT_CHARACTERS_MAX = 200
REL = "nofollow noopener noreferrer ugc"


def lawful_link(url: str) -> bool:
    return url.strip().lower().startswith(SCHEMES)


def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True, "linkify": False, "maxNesting": NESTED_MAX})
    markdown.disable(["image", "html_inline", "html_block", "lheading"])
    markdown.enable(["strikethrough"])
    markdown.validateLink = lawful_link
    markdown.add_render_rule("link_open", _link_open)
    markdown.core.ruler.push("headings", _order_headings)
    return markdown


def _link_open(self: RendererHTML, tokens: Sequence[Token], index: int, options: Mapping[str, Any], env: Any) -> str:
    tokens[index].attrSet("rel", REL)
    return self.renderToken(tokens, index, options, env)


def _order_headings(state: StateCore) -> None:
    """The page has its <h1>: `#` becomes <h2>, and no level is left out on the way down, whatever the author did."""
    before = 1
    for token in state.tokens:
        if token.type == "heading_open":
            before = min(HEADING_LEVEL_MAX, int(token.tag[1]) + 1, before + 1)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{before}"


_parser = _markdown()


@functools.lru_cache(RENDERED_CACHED)
def markdown(text: str) -> Markup:
    """-> the description as HTML that is safe to show."""
    return Markup(_parser.render(text))  # noqa: S704 -- escaped by the parser, whose HTML is switched off


@functools.lru_cache(RENDERED_CACHED)
def about(text: str) -> str:
    """-> the beginning of the description in plain words, for search engines, shared links and lists."""
    words: list[str] = []
    for token in _parser.parse(text):
        if token.type == "inline":
            words += [" " if child.type in ("softbreak", "hardbreak") else child.content for child in token.children or ()]
            words.append(" ")
        elif token.type in ("fence", "code_block"):
            words.append(f"{token.content} ")
    plain = re.sub(r"\s+", " ", "".join(words)).strip()
    if len(plain) <= ABOUT_CHARACTERS_MAX:
        return plain
    return plain[: ABOUT_CHARACTERS_MAX - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
