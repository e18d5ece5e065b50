"""What an episode is worth to a pool, a hint and an evaluation, in games of every kind."""

import palestra
import pytest
from msgspec.structs import replace
from palestra import InvalidOption
from palestra_training.command import describe
from palestra_training.evaluation import scores
from palestra_training.hints import score_of
from palestra_training.plan import Evaluation, TinyModel, TrainPlan
from palestra_training.pool import points_of, rank_points
from palestra_training.solving import decisions
from palestra_training.trainer import Trainer

PLAN = TrainPlan(
    env="text/Commons-v0",
    options={"num_players": 3, "rounds": 2, "talk": False},
    rounds=1,
    groups=12,
    group_size=2,
    mode="choice",
    history="bare",
    tiny=TinyModel(kind="gpt2", layers=1, width=32, heads=2, context=1024),
    evaluation=Evaluation(every=1, episodes=6),
)


def played(env, agents, episodes=6, **options):
    game = palestra.game(env, **options)
    line_up = [agents[seat % len(agents)] for seat in range(game.num_players)]
    return game, palestra.play(env, agents=line_up, episodes=episodes, seed=3, **options)


def test_rank_points_are_the_share_of_the_others_who_were_paid_less():
    assert [rank_points((3, 1, 3, 0), seat) for seat in range(4)] == pytest.approx(
        [2.5 / 3, 1 / 3, 2.5 / 3, 0]
    )
    assert [rank_points((1.0, 1.0), seat) for seat in range(2)] == [0.5, 0.5]


RULE = "strategy:name="
GENERAL = ["text/Negotiation-v0", "text/Commons-v0", "games/PrisonersDilemma-v0"]
ALONE_OR_ALIKE = ["games/FrozenLake-v0", "games/MiniHanabi-v0"]


@pytest.mark.parametrize("env", [*GENERAL, *ALONE_OR_ALIKE, "games/Werewolf-v0"])
def test_points_follow_what_was_paid(env):
    game, records = played(env, ["random", "first"])
    for record in records:
        points = [points_of(game, record, seat) for seat in range(game.num_players)]
        by_return = sorted(range(game.num_players), key=lambda seat: record.returns[seat])
        assert [points[seat] for seat in by_return] == sorted(points)
        assert all(0 <= value <= 1 for value in points)
        if env not in ALONE_OR_ALIKE:
            assert sum(points) == pytest.approx(game.num_players / 2)


@pytest.mark.parametrize("env", GENERAL)
def test_an_evaluation_of_a_general_sum_game_has_returns_and_ranks_and_no_share(env):
    game, records = played(env, ["random", "first"])
    found = scores(game, records)
    own = [record.returns[i % game.num_players] for i, record in enumerate(records)]
    assert found["mean"] == pytest.approx(sum(own) / len(own))
    assert 0 <= found["rank"] <= 1
    assert not {"unlost", "won", "worst"} & found.keys()


def test_an_evaluation_of_one_seat_has_a_share_only_where_a_game_can_be_lost():
    assert "unlost" in scores(*played("games/FrozenLake-v0", ["random"]))
    game, records = played("games/MiniHanabi-v0", ["random", "first"])
    assert scores(game, records).keys() == {"mean", "mean_low", "mean_high"}


def test_a_duel_is_scored_by_its_result():
    game, records = played("games/TicTacToe-v0", ["minimax", "random"])
    worth = {"win": 1.0, "draw": 0.5, "loss": 0.0}
    for record in records:
        for seat, result in enumerate(record.outcome.results):
            assert points_of(game, record, seat) == worth[result]


def test_a_duel_that_is_cut_off_is_worth_half_to_both(tmp_path):
    """Nobody can win tic-tac-toe in three moves, so that all rivals are alike."""
    plan = replace(
        PLAN,
        env="games/TicTacToe-v0",
        options={},
        max_episode_steps=3,
        matching="nash",
        opponents=("random", "first"),
        self_play=0.0,
        groups=4,
    )
    trainer = Trainer(plan, tmp_path / "run")
    assert trainer.play.score("first", "random", 0) == 0.5
    assert trainer.play.score("random", "first", 0) == 0.5
    assert trainer.pool.weights() == pytest.approx([0.5, 0.5])
    trainer.play.tell_pool(trainer.rollouts())
    assert {trainer.pool.score(name) for name in trainer.pool.names} == {0.5}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "options", "strong", "weak"),
    [
        ("games/PrisonersDilemma-v0", {}, f"{RULE}always-defect", f"{RULE}always-cooperate"),
        ("text/Commons-v0", {"num_players": 3, "rounds": 2, "talk": False}, "random", "first"),
    ],
)
@pytest.mark.parametrize("matching", ["nash", "pfsp"])
@pytest.mark.parametrize("order", [1, -1])
def test_the_rival_that_is_paid_more_is_drawn_more(
    tmp_path, env, options, strong, weak, matching, order
):
    plan = replace(
        PLAN,
        env=env,
        options=options,
        matching=matching,
        opponents=(strong, weak)[::order],
        self_play=0.0,
        groups=8,
        group_size=1,
        past=2,
    )
    trainer = Trainer(plan, tmp_path / "run")
    if matching == "nash":
        assert not trainer.pool.unmet(weak)  # agents have met before the first round
        trainer.play.remember(0)
        assert not trainer.pool.unmet("past:0")
    trainer.play.tell_pool(trainer.rollouts())
    weights = dict(zip(trainer.pool.names, trainer.pool.weights(), strict=True))
    assert weights[strong] > weights[weak]


@pytest.mark.parametrize("order", [1, -1])
def test_agents_meet_before_the_first_round_under_nash(tmp_path, order):
    """Who defects is paid more in every game, so that the equilibrium plays nobody else."""
    strong, weak = f"{RULE}always-defect", f"{RULE}always-cooperate"
    plan = replace(
        PLAN,
        env="games/PrisonersDilemma-v0",
        options={},
        matching="nash",
        opponents=(strong, weak)[::order],
        self_play=0.0,
    )
    trainer = Trainer(plan, tmp_path / "run")
    drawn = {name for record in trainer.rollouts() for name in record.agents}
    assert drawn == {"learner", strong}
    again = Trainer(plan, tmp_path / "run", resume=True)
    assert again.pool.state() == trainer.pool.state()


@pytest.mark.parametrize("opponents", [(), ("random", "first")])
def test_nash_is_refused_where_all_seats_are_paid_alike(tmp_path, opponents):
    """A return of the team is no win of one rival over another: the table would be of noise."""
    plan = replace(PLAN, env="games/Hanabi-v0", options={}, opponents=opponents, past=2)
    with pytest.raises(InvalidOption, match=r"nash.*paid alike"):
        Trainer(replace(plan, matching="nash"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_rival_is_as_strong_as_itself(tmp_path):
    plan = replace(PLAN, matching="nash", opponents=("first",), past=1)
    trainer = Trainer(plan, tmp_path / "run")
    assert trainer.play.score("first", "first", 0) == pytest.approx(0.5)


def test_a_hint_is_as_long_as_the_learner_falls_short_of_the_expert():
    _, records = played("text/Commons-v0", ["random", "first"])
    guide = records[0]
    own = records[1:]
    short = [r.returns[0] < guide.returns[0] for r in own] + [
        r.returns[s] < guide.returns[s] for r in own for s in (2, 4)
    ]
    assert score_of(own, ["random"], guide) == pytest.approx(1 - sum(short) / len(short))
    assert score_of([guide], ["random"], guide) == 1


def test_a_run_says_what_fits_its_game(tmp_path):
    trainer = Trainer(replace(PLAN, evaluation=Evaluation(every=1, episodes=6)), tmp_path / "run")
    (line,) = trainer.run()
    assert line.unlost is None
    assert "mean return against random" in describe(line)
    assert "of the other seats" in describe(line)
    kuhn = replace(PLAN, env="games/KuhnPoker-v0", options={})
    trainer = Trainer(kuhn, tmp_path / "kuhn")
    before = trainer.evaluate()[0]["exploitability"]
    assert before == pytest.approx(11 / 24, abs=0.02)
    (line,) = trainer.run()
    assert line.exploitability == trainer.evaluate()[0]["exploitability"]
    assert f"exploitability {line.exploitability:.4f}" in describe(line)
    assert "unlost against random" in describe(line)


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "free"},
        {"history": "conversation"},
        {"env": "games/TicTacToe-v0"},
        {"env": "games/PrisonersDilemma-v0"},
        {"env": "text/Negotiation-v0"},
    ],
)
def test_no_exploitability_where_it_cannot_be_found(changes):
    plan = replace(PLAN, env="games/KuhnPoker-v0", options={})
    assert len(decisions(palestra.game(plan.env), plan)) == 12
    other = replace(plan, **changes)
    assert decisions(palestra.game(other.env), other) == []
