"""Owners' tokens, usage limits and disk quota."""
