"""The API: what a shop's own programs may do, as JSON under /api/v1. `router.py` has every operation."""
