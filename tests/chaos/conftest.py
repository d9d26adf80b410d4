"""One running Doorman a module: real processes, killed for real."""

import pytest

from tests.house import House


@pytest.fixture(scope="module")
def house():
    house = House.made(web=2, DOORMAN_BUY_LIMIT="1000/1")
    try:
        house.start()
        yield house
    finally:
        house.tear_down()
