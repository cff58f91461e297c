"""Parcels: what a delivery costs and where it is."""
