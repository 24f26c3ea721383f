"""Leases matches, plays them, commits their results."""
