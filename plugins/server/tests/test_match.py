"""A match without any socket: its answers in order are the match."""

import pytest
from msgspec.structs import replace
from palestra import InvalidOption, Rng
from palestra.kernel.episode import Episode
from palestra.records.record import record_episode, replay
from palestra_server.match import Match
from palestra_server.messages import OPEN, Answer, MatchPlan

IDS = ["games/ConnectFour-v0", "games/Werewolf-v0", "grid/Kitchen-v0", "text/Negotiation-v0"]


def plan(env, *seats, **settings):
    return MatchPlan(env=env, seats=seats, seed=7, **settings)


def test_a_match_starts_when_its_last_seat_is_taken():
    match = Match("m", plan("games/TicTacToe-v0", OPEN, OPEN))
    match.take(1, "remote:ada")
    assert match.status == "waiting"
    assert not match.view(1).your_turn
    match.take(0)
    assert match.status == "playing"
    assert match.view(0).your_turn
    with pytest.raises(InvalidOption, match="seat 0 of match m is not free"):
        match.take(0)


def test_an_answer_that_comes_twice_changes_nothing():
    match = Match("m", plan("games/TicTacToe-v0", OPEN, "first"))
    match.take(0)
    assert match.answer(Answer(0, 0, action=4))
    turn = match.episode.steps_played
    assert not match.answer(Answer(0, 0, action=5))
    assert match.episode.steps_played == turn
    with pytest.raises(InvalidOption, match="answer 3 came, but answer 1 of seat 0"):
        match.answer(Answer(0, 3, action=5))


def test_a_refused_answer_is_asked_again_and_then_forfeits():
    match = Match("m", plan("games/TicTacToe-v0", OPEN, "first", invalid="retry:1"))
    match.take(0)
    match.answer(Answer(0, 0, text="nonsense"))
    seen = match.view(0)
    assert seen.your_turn
    assert seen.number == 1
    assert "nonsense" in seen.error
    match.answer(Answer(0, 1, text="again"))
    assert match.over
    assert match.view(0).result == "forfeit"
    record = match.record()
    assert [a.raw for a in record.steps[-1].turns[0].refused] == ["nonsense", "again"]


@pytest.mark.parametrize("env", IDS)
def test_the_journal_brings_a_match_back_at_every_point(env):
    from palestra import make

    kept: list[Answer] = []
    players = make(env, view="episode").game.num_players
    seats = [OPEN if seat % 2 == 0 else "random" for seat in range(players)]
    match = Match(
        "m", plan(env, *seats, max_episode_steps=40), lambda _, place, answer: kept.append(answer)
    )
    for seat in sorted(match.free):
        match.take(seat)
    rng, turns = Rng.seeded(3), []
    match.ask_at_once()
    while not match.over:
        seat = match.due()[0]
        action = match.episode.sample(seat, rng)
        text = match.episode.action_text(seat, action)
        match.answer(Answer(seat, match.answers[seat], text=text))
        match.ask_at_once()
        turns.append(
            (len(kept), match.episode.steps_played, [match.view(s) for s in range(players)])
        )
    assert len(turns) >= 3
    for taken, turn, views in turns[:: max(1, len(turns) // 6)]:
        again = Match("m", match.plan)
        for seat in sorted(again.free):
            again.take(seat)
        for answer in kept[:taken]:
            again.answer(answer)
        again.ask_at_once()
        assert again.episode.steps_played == turn
        assert [again.view(seat) for seat in range(players)] == views
    record = match.record()
    assert replay(record).returns == match.episode.returns
    assert record_episode(match.episode).steps[0].events == record.steps[0].events


def test_a_step_draws_what_programs_are_run_for(monkeypatch):
    """A picture of such a game may run one: in the step's thread, and not where views are made."""
    drawn, scene = [], Episode.scene

    def noted(self, viewer=None):
        drawn.append((self.steps_played, viewer))
        return scene(self, viewer)

    monkeypatch.setattr(Episode, "scene", noted)
    for env, wanted in (("tasks/FastCode-v0", [(1, None)]), ("games/Hangman-v0", [])):
        match = Match("m", plan(env, "random"))
        match.accept(match.ask(match.agents_due()[0]))
        match.play()
        assert drawn == wanted
        drawn.clear()


@pytest.mark.parametrize("seed", [-1, 2**64, 10**30])
def test_a_seed_out_of_range_is_named_as_it_came(seed):
    wanted = replace(plan("games/TicTacToe-v0", OPEN, "random"), seed=seed)
    with pytest.raises(InvalidOption, match=f"not {seed}$"):
        Match("m", wanted)


def test_the_greatest_seed_is_played_by_every_seat():
    wanted = replace(plan("games/TicTacToe-v0", "random", "random"), seed=2**64 - 1)
    assert Match("m", wanted).plan.seed == 2**64 - 1
