"""Ratings and statistics: pure functions of results, without clocks, sockets or generators.

``elo`` is the online ladder in exact integers, ``bradley_terry`` the batch standings with error
bars, ``sprt`` the comparison of two bots.
"""
