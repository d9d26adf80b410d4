"""A seller's words as a page shows them: Markdown, and nothing of theirs as markup (hostile input included)."""

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.drops import DESCRIPTION_CHARACTERS_MAX
from app.web.markdown import ABOUT_CHARACTERS_MAX, SCHEMES, about, markdown

TAGS = {"p", "br", "strong", "em", "s", "a", "ul", "ol", "li", "blockquote", "code", "pre", "hr", "h2", "h3", "h4", "h5", "h6"}
ATTRIBUTES = {"a": {"href", "rel", "title"}, "ol": {"start"}, "code": {"class"}}
DRAWING_SECONDS_MAX = 2.0

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<!-- --><script>alert(1)</script>",
    "</div></main><form action=//evil.example>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](//evil.example)",
    "[x](/seller/sign-out)",
    "[x](file:///etc/passwd)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://e.org "\\" onmouseover=alert(1) \\"")',
    '[x](https://e.org/"onmouseover="alert(1))',
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    "```html\n<script>alert(1)</script>\n```",
    '```x" onmouseover="alert(1)\n```',
    "`<script>`",
    "# <script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "a\u0000<script>",
    "{{ 7*7 }} {% include 'x' %}",
]


class Reader(HTMLParser):
    """What a browser finds in the drawn HTML."""

    def __init__(self, html: str):
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.comments = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_comment(self, data):
        self.comments += 1


def harmless(html: str) -> bool:
    reader = Reader(html)
    return not reader.comments and all(
        tag in TAGS
        and set(attributes) <= ATTRIBUTES.get(tag, set())
        and ("href" not in attributes or attributes["href"].lower().startswith(SCHEMES))
        for tag, attributes in reader.found
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_becomes_markup(text):
    assert harmless(markdown(text)), markdown(text)


@given(
    st.text(st.characters(codec="utf-8"), max_size=200),
    st.sampled_from(HOSTILE),
    st.sampled_from(["\n\n", "\n> ", "- ", "**", "[", "`"]),
)
def test_nor_does_anything_around_it(text, hostile, joint):
    assert harmless(markdown(text + joint + hostile + joint + text))


def test_what_markdown_means_is_shown():
    html = markdown("# Lamp\n**one** *warm* ~~pane~~\nof [glass](https://e.org)\n\n- a\n- b\n\n1. c\n\n> d\n\n`e`")
    for piece in ("<h2>Lamp</h2>", "<strong>one</strong>", "<em>warm</em>", "<s>pane</s><br />", "<li>b</li>", "<ol>", "<code>e<"):
        assert piece in html
    assert '<a href="https://e.org" rel="nofollow noopener noreferrer ugc">glass</a>' in html


@pytest.mark.parametrize("url", ["http://e.org", "https://e.org/a?b=c&d", "mailto:mira@example.org", "HTTPS://E.ORG"])
def test_lawful_links_lead_somewhere(url):
    [(_, attributes)] = [(tag, found) for tag, found in Reader(markdown(f"[x]({url})")).found if tag == "a"]
    assert attributes["href"].lower() == url.lower() and "nofollow" in attributes["rel"] and "noopener" in attributes["rel"]


@pytest.mark.parametrize(
    ("levels", "tags"),
    [
        ((1, 2, 3, 4, 5, 6), ["h2", "h3", "h4", "h5", "h6", "h6"]),
        ((3, 3, 1, 6), ["h2", "h3", "h2", "h3"]),  # nothing is left out on the way down
    ],
)
def test_headings_stand_below_those_of_the_page(levels, tags):
    assert [tag for tag, _ in Reader(markdown("\n\n".join(f"{'#' * level} x" for level in levels))).found] == tags


@pytest.mark.parametrize("piece", ["[", ">", "*a", "`", "- ", "<", "[a](", "_*", "![[", "\\", "1. ", "a\n", "***", "~~", "&", "#"])
def test_no_text_takes_long(piece):
    text = (piece * DESCRIPTION_CHARACTERS_MAX)[:DESCRIPTION_CHARACTERS_MAX]
    began = time.process_time()
    assert harmless(markdown(text)) and about(text) is not None
    assert time.process_time() - began < DRAWING_SECONDS_MAX


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Spun by hand.\nNumbered *under* the foot.", "Spun by hand. Numbered under the foot."),
        ("# Lamp\n\n- [glass](https://e.org)\n- brass", "Lamp glass brass"),
        ("```\ncode\n```", "code"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),  # plain text: whoever shows it escapes it
        ("", ""),
        ("![a](https://e.org/x.png)", "!a"),
    ],
)
def test_the_beginning_in_plain_words(text, plain):
    assert about(text) == plain


def test_a_long_description_ends_at_a_word():
    told = about("brass and glass " * 50)
    assert len(told) <= ABOUT_CHARACTERS_MAX and told.endswith(("brass…", "and…", "glass…"))
