"""Parcels: what a paid order becomes. The sandbox warehouse, a program of its own, lives here too."""
