"""The sandbox provider: a payment provider that speaks the part of Stripe's API that Doorman uses, as its own process.

It keeps its own store and survives a crash of either side. Card payments only, captured at once and in full; amounts are passed as
they are, in minor units. It answers late and declines some cards on purpose, and a script door (`app.sandbox.script`) makes it lose
replies or fall silent. Start it with `python -m app.payments.sandbox --data FOLDER --token-file FILE`.
"""

SECRET_KEY = "sk_test_sandbox"  # any key that starts like a test key opens the sandbox; it guards play money only
WEBHOOK_SECRET_ENV = "SANDBOX_WEBHOOK_SECRET"
WEBHOOK_URL_ENV = "SANDBOX_WEBHOOK_URL"
