"""A browser's own long name in two words, for lists of sessions: 'Firefox, Linux'. A guess for people, never a decision."""

BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)
OTHER_CHARACTERS_MAX = 40


def named(user_agent: str) -> str:
    """-> '' for a browser that says nothing, the beginning of its own words for one that is not known."""
    browser = next((name for mark, name in BROWSERS if mark in user_agent), "Safari" if "Safari" in user_agent else "")
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    return ", ".join(filter(None, (browser, system))) or user_agent[:OTHER_CHARACTERS_MAX]
