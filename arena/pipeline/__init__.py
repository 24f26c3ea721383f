"""Tries submitted versions and suspends faulty ones."""
