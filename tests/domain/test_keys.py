import pytest

from app.domain.keys import KEY_CHARACTERS_MAX, check_key, digest_of
from app.errors import BadInput


@pytest.mark.parametrize("key", ["a", "0", "~", "!", "K" * KEY_CHARACTERS_MAX, "8f14e45f-ceea-467f-a8f3-000000000000"])
def test_a_key_is_printable_ascii(key):
    assert check_key(key) == key


@pytest.mark.parametrize("key", ["", "k" * (KEY_CHARACTERS_MAX + 1), "a b", "a\n", "\x00", "\x7f", "é", "💥", "\t"])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(BadInput) as caught:
        check_key(key)
    assert caught.value.field == "key"


def test_a_digest_tells_variant_and_quantity_apart():
    digests = {digest_of(variant, quantity) for variant in range(1, 40) for quantity in range(1, 40)}
    assert len(digests) == 39 * 39
    assert all(len(digest) == 16 for digest in digests)
    assert digest_of(1, 11) != digest_of(11, 1)
    assert digest_of(1, 2) == digest_of(1, 2)
