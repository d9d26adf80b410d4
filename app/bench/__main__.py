"""`python -m app.bench`: the same as `doorman bench`."""

import sys

from app.bench import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
