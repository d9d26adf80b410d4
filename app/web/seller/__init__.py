"""The seller's dashboard: one module a room, each with its ROUTES (rooms.py mounts them); access.py decides who may enter which.

It stands beside the shop, on parts of its own (`doors.office`: its own pools and connections, R13), so that no crowd ever slows it.
"""
