"""No secret reaches the wrong player, through any view, transcript or `info`."""

from __future__ import annotations

from typing import Any

from palestra.kernel.episode import Episode
from palestra.kernel.rng import Rng
from palestra.testing.subject import (
    Skipped,
    Subject,
    play_on,
    random_actions,
    require,
    same,
    sight,
)

REVEALS = "reveal"


def secrets_stay_hidden(subject: Subject) -> None:
    """Redraw what is hidden from a player: nothing they can look at changes."""
    game = subject.game
    if game.perfect_information:
        raise Skipped("perfect information: nothing is hidden")
    changed = False
    for seed in range(12):
        episode = subject.episode(seed)
        for number, _ in play_on(episode, Rng(seed), 12):
            if episode.over:
                break
            for seat in range(game.num_players):
                changed |= _redrawn_looks_the_same(subject, episode, seat, (seed, number))
    require(changed, "determinize() never changed anything in 12 games; is nothing hidden?")


def _redrawn_looks_the_same(
    subject: Subject, episode: Episode, seat: int, where: tuple[int, int]
) -> bool:
    """Compare one seat's sight of a state and of the same state with the secrets redrawn."""
    game, changed = subject.game, False
    base, key = episode.fork(), game.state_key(episode.state)
    base.load(episode.state)
    one = sight(base, seat, array=subject.has_array_view)
    for draw in range(3):
        state = game.determinize(episode.state, seat, Rng(draw + 17))
        other = episode.fork()
        other.load(state)
        two = sight(other, seat, array=subject.has_array_view)
        leaks = [name for name in one if not same(one[name], two[name])]
        require(not leaks, f"{where}: {leaks} of player {seat} betray a secret")
        changed |= game.state_key(state) != key
    return changed


def transcripts_keep_secrets(subject: Subject) -> None:
    """From two starts a player cannot tell apart, the same moves give the same transcript.

    A step whose events include one of kind "reveal" that the player may see ends the comparison.
    """
    game = subject.game
    if game.perfect_information:
        raise Skipped("perfect information: nothing is hidden")
    for seed in range(6):
        for seat in range(min(game.num_players, 4)):
            one = subject.episode(seed)
            other = subject.episode(seed)
            other.load(game.determinize(one.state, seat, Rng(seed + 5)))
            rng = Rng(seed)
            private = _private_events(one, seat), _private_events(other, seat)
            require(private[0] == private[1], f"the opening betrays a secret to player {seat}")
            _follow(one, other, seat, rng, subject.has_array_view)


def _private_events(episode: Episode, seat: int) -> list[tuple[str, str, Any]]:
    return [(e.kind, e.text, dict(e.data)) for e in episode.transcript(seat)]


def _follow(one: Episode, other: Episode, seat: int, rng: Rng, array: bool) -> None:
    for _ in range(30):
        if one.over or one.to_act != other.to_act:
            return
        actions = random_actions(one, rng)
        try:
            other.act(actions)
        except ValueError:
            return  # the other's move was not legal in the other world
        one.act(actions)
        shown = [e for step in (one.log[-1], other.log[-1]) for e in step]
        if any(e.kind == REVEALS and e.visible_to(seat) for e in shown) or one.over or other.over:
            return
        seen, imagined = sight(one, seat, array=array), sight(other, seat, array=array)
        leaks = [name for name in seen if not same(seen[name], imagined[name])]
        require(not leaks, f"turn {one.turn}: {leaks} of player {seat} betray a secret")


def private_events_stay_private(subject: Subject) -> None:
    """What is shown to some seats only is not in any other seat's transcript, prompt or view."""
    private = 0
    for seed in range(6):
        episode = subject.episode(seed)
        for number, _ in play_on(episode, Rng(seed), 60):
            shown = [event for step in episode.log for event in step if event.audience is not None]
            private += len(shown)
            for seat in range(subject.game.num_players):
                seen = episode.transcript(seat)
                read = episode.prompt(seat) + episode.describe(seat)
                known = "\n".join(event.text for event in seen)  # the same may be shown to both
                for event in shown:
                    if event.visible_to(seat):
                        require(event in seen, f"turn {number}: player {seat} misses {event}")
                        continue
                    leaked = event in seen or (event.text in read and event.text not in known)
                    require(not leaked, f"turn {number}: player {seat} reads {event.text!r}")
    if not private:
        raise Skipped("no event was private in 6 games")


def sealed_moves_stay_sealed(subject: Subject) -> None:
    """In the AEC view, a simultaneous move is invisible until all have been given."""
    if subject.game.order == "sequential":
        raise Skipped("moves are sequential")
    from palestra.views.aec import AecView

    env = AecView(subject.game, obs="array" if subject.has_array_view else "text", compiled=False)
    for seed in range(4):
        env.reset(seed)
        for _ in range(30):
            if env.episode.over:
                break
            while env.terminations[env.agent_selection]:
                env.step(None)  # a seat that has left takes its last, empty step first
            seats = env.episode.to_act
            actions = random_actions(env.episode, Rng(seed))
            if len(seats) > 1:
                before = [_infos(env, s) for s in seats]
                env.step(_written(env, seats[0], actions[seats[0]]))
                after = [_infos(env, s) for s in seats]
                require(same(before[1:], after[1:]), "a sealed move can be seen by the next seat")
                seats = seats[1:]
            for seat in seats:
                env.step(_written(env, seat, actions[seat]))


def _infos(env: Any, seat: int) -> dict[str, Any]:
    name = env.possible_agents[seat]
    return {
        "sees": env.observe(name),
        "info": env.infos[name],
        "paid": env._cumulative_rewards[name],
    }


def _written(env: Any, seat: int, action: Any) -> Any:
    if env.obs == "text":
        return env.game.action_text(env.episode.state, seat, action)
    index = env.game.index_of(action)
    return index if index is not None else int(env.episode.action_mask(seat).argmax())
