"""How many decimals Stripe counts in a charge (docs.stripe.com/currencies), which for a few currencies is not what people see."""

NO_DECIMALS = frozenset("BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split())
THREE_DECIMALS = frozenset("BHD JOD KWD OMR TND".split())


def stripe_decimals(currency: str) -> int:
    """'JPY' -> 0, 'KWD' -> 3, all others 2 (UGX and ISK too: Stripe names them as special cases)."""
    return 0 if currency in NO_DECIMALS else 3 if currency in THREE_DECIMALS else 2
