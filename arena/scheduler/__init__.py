"""Keeps matches coming: ladders and competitions."""
