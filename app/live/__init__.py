"""Live pages: fan-out of rendered fragments to sockets (Hub), the few who watch closely (Room), and the feed between processes over
Redis pub/sub (Feed)."""

from app.live.feed import Feed
from app.live.hub import HTML, JSON, JSON_SUBPROTOCOL, Hub
from app.live.room import Room, RoomFull

__all__ = ["HTML", "JSON", "JSON_SUBPROTOCOL", "Feed", "Hub", "Room", "RoomFull"]
