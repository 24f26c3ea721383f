import hashlib
from collections import Counter

import pytest

from arena.scheduler.candidates import Candidate, information, value
from arena.scheduler.pairing import PLACEMENT_MATCHES, Decision, Pool


def seed(number: int) -> bytes:
    """A seed by its number."""
    return hashlib.sha256(str(number).encode()).digest()


def pool_of(*candidates: Candidate) -> Pool:
    """A pool of these candidates."""
    pool = Pool()
    pool.fill(candidates)
    return pool


def settled(name: str, *, elo: float = 1500, owner: str = "", matches: int = 40) -> Candidate:
    """A bot with some matches behind it, of an owner of its own unless told."""
    return Candidate(
        bot=name,
        version=f"{name}@1",
        owner=owner or f"owner-of-{name}",
        rating=round(elo * 1e6),
        matches=matches,
    )


def house(name: str, **facts: float) -> Candidate:
    """A bot of the house."""
    candidate = settled(name, owner="house", **facts)  # type: ignore[arg-type]
    candidate.house = True
    return candidate


def names(decision: Decision | None) -> list[str]:
    """The entrants' bots."""
    assert decision is not None
    return [each.bot for each in decision.entrants]


def play(pool: Pool, matches: int, *, entrants: int = 2) -> list[list[str]]:
    """Make matches one after another, a minute apart."""
    made = []
    for number in range(matches):
        made.append(names(pool.decide(entrants=entrants, seed=seed(number))))
        pool.note_match(made[-1], when=60.0 * number)
    return made


def test_information_is_the_logarithm_of_what_is_learnt() -> None:
    """Half the logarithm of 1 + p (1 - p) V; 30 Elo of deviation each, equal ratings."""
    # p = 1/2, V = 2 (30 / 173.7178)^2 = 0.0596463, ln(1 + V / 4) / 2 = 0.0074008.
    assert information(settled("ada", matches=999), settled("bob", matches=999)) == pytest.approx(
        0.0074008, abs=1e-7
    )


def test_near_and_uncertain_opponents_tell_most() -> None:
    """Information falls with the difference in rating and rises with the uncertainty."""
    ada = settled("ada")
    near, far = settled("near", elo=1510), settled("far", elo=1900)
    assert information(ada, near) > information(ada, far)
    assert information(ada, settled("new", matches=0)) > information(ada, near)


def test_the_same_seed_decides_the_same() -> None:
    """A decision follows from the pool and its seed alone."""
    bots = [settled(f"bot{n}", elo=1500 + 10 * n) for n in range(50)]
    decisions = {tuple(names(pool_of(*bots).decide(entrants=4, seed=seed(7)))) for _ in range(3)}
    assert len(decisions) == 1


def test_bots_of_one_owner_never_meet() -> None:
    """Not when chosen by information, at random, for placement, or seated as fourth."""
    bots = [settled(f"bot{n}", owner=f"owner{n % 4}", matches=n) for n in range(16)]
    pool = pool_of(*bots)
    owners = {each.bot: each.owner for each in bots}
    for table in play(pool, 300, entrants=4):
        assert len({owners[bot] for bot in table}) == 4


def test_house_bots_meet_each_other() -> None:
    """A ladder of the house's bots alone is played."""
    assert sorted(names(pool_of(house("ada"), house("bob")).decide(entrants=2, seed=seed(1)))) == [
        "ada",
        "bob",
    ]


def test_nobody_to_meet_is_no_decision() -> None:
    """Without an opponent that is allowed there is no match."""
    alone = pool_of(settled("ada", owner="ann"), settled("bob", owner="ann"))
    assert alone.decide(entrants=2, seed=seed(1)) is None
    assert pool_of(settled("ada")).decide(entrants=2, seed=seed(1)) is None
    assert Pool().decide(entrants=2, seed=seed(1)) is None


def test_a_bot_below_its_quota_goes_first() -> None:
    """Whoever lacks matches is seated before one that only waited long."""
    old, new = [settled(f"old{n}") for n in range(8)], settled("new", matches=29)
    new.last = 1e6
    assert "new" in names(pool_of(*old, new).decide(entrants=2, seed=seed(3)))


def test_everyone_gets_its_turn() -> None:
    """Equal bots play equally often, whatever the draws."""
    pool = pool_of(*(settled(f"bot{n}") for n in range(10)))
    counts = Counter(bot for table in play(pool, 200) for bot in table)
    assert max(counts.values()) - min(counts.values()) <= 8


def test_repeats_count_for_less_and_are_capped() -> None:
    """No pair of twelve equal bots meets much more often than its fair share."""
    pool = pool_of(*(settled(f"bot{n:02d}") for n in range(12)))
    pairs = Counter(tuple(sorted(table)) for table in play(pool, 660))
    assert len(pairs) == 66
    assert max(pairs.values()) <= 20


def test_value_falls_with_each_meeting() -> None:
    """Two that met once lately are worth half as much."""
    ada, bob = settled("ada"), settled("bob")
    before = value(ada, bob)
    ada.opponents.append("bob")
    assert value(ada, bob) == pytest.approx(before / 2)


def test_one_match_in_ten_is_drawn_at_random() -> None:
    """Bots far apart meet, too, about as often as the share of random matches says."""
    pool = pool_of(*(settled(f"bot{n:03d}", elo=500 + 10 * n) for n in range(200)))
    reasons: Counter[str] = Counter()
    for number in range(1000):
        decision = pool.decide(entrants=2, seed=seed(number))
        assert decision is not None
        reasons[decision.reason] += 1
        pool.note_match([each.bot for each in decision.entrants], when=60.0 * number)
    assert reasons.keys() == {"information", "random"}
    assert 70 <= reasons["random"] <= 130


def test_a_new_version_is_placed_against_quantiles() -> None:
    """Its ten placement matches are spread over the ladder, then it meets its like."""
    rivals = [settled(f"bot{n:03d}", elo=1000 + 10 * n, matches=500) for n in range(100)]
    new = settled("new", elo=1500, matches=0)
    pool = pool_of(*rivals, new)
    met = []
    for number in range(PLACEMENT_MATCHES):
        decision = pool.decide(entrants=2, seed=seed(number))
        assert decision is not None
        assert decision.reason == "placement"
        (rival,) = [each for each in decision.entrants if each.bot != "new"]
        met.append(rival.elo)
        pool.note_match([each.bot for each in decision.entrants], when=60.0 * number)
    assert min(met) < 1150
    assert max(met) > 1850
    assert len(set(met)) == PLACEMENT_MATCHES
    after = pool.decide(entrants=2, seed=seed(99))
    assert after is not None
    assert after.reason != "placement"


def test_seats_are_used_evenly() -> None:
    """Over many matches of four nobody keeps a seat."""
    pool = pool_of(*(settled(f"bot{n}") for n in range(8)))
    seats = Counter(
        (bot, seat) for table in play(pool, 400, entrants=4) for seat, bot in enumerate(table)
    )
    assert max(seats.values()) - min(seats.values()) <= 6


def test_a_decision_shows_its_candidates() -> None:
    """The log can say who else was considered, the best first."""
    decision = pool_of(*(settled(f"bot{n}") for n in range(20))).decide(entrants=2, seed=seed(5))
    assert decision is not None
    values = [worth for _, worth in decision.candidates]
    assert len(values) == 8
    assert values == sorted(values, reverse=True)


def test_a_pool_follows_its_bots() -> None:
    """Ratings change, bots leave, new versions come: the orders stay right."""
    pool = pool_of(*(settled(f"bot{n}", elo=1500 + n) for n in range(5)))
    pool.rate("bot0", 1_900_000_000)
    assert pool.names()[-1] == "bot0"
    pool.know("bot0", 80.0)
    pool.remove("bot0")
    pool.remove("bot0")
    assert "bot0" not in pool
    pool.put(settled("bot1", elo=1900))
    assert pool.names()[-1] == "bot1"
    assert len(pool) == 4
    assert play(pool, 20)
