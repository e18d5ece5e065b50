"""Checks that no secret reaches the wrong player through any view, transcript or `info`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from palestra.kernel.episode import Episode
from palestra.kernel.errors import MissingExtra, UnknownName
from palestra.kernel.events import Event
from palestra.kernel.lives import newcomers
from palestra.kernel.registry import renderer
from palestra.kernel.rng import Rng
from palestra.testing.faults import written_at
from palestra.testing.subject import (
    Failed,
    Skipped,
    Subject,
    play_long,
    random_actions,
    require,
    same,
    sight,
)

REVEALS = "reveal"  # the kind of an event that shows somebody something they could not know
SEEDS = 10  # episodes looked at, fewer if they are long
PLACES = 160  # pairs of a position and a seat that are compared, over all episodes
EPISODE_PLACES = 80  # of one episode, spread from its first step to its last
DRAWS = 2  # of the secrets, at every place
ANEW = 8  # times that a world is drawn, to see whether there are several
WINDOWS = 24  # stretches followed in two worlds
EPISODE_WINDOWS = 10  # of one episode
WINDOW = 30  # steps of one
FOLLOWED = 150  # steps that all of them have together, where games are that long
STEPS = 400  # watched for private events, and on to the end of the episode
EVERYBODY = 30  # steps of an episode after which one seat a step reads, in turn
SLACK = 1e-9  # rounding of sums
RECENT = 20  # private texts that are searched for at every step; all of them at every tenth


def secrets_stay_hidden(subject: Subject) -> None:
    """Sampling again what is hidden from a player, at any step, changes nothing they see."""
    needs_secrets(subject)
    game, compared = subject.game, 0
    hidden: list[tuple[Any, int]] = []  # states and seats from which something is hidden
    for seed in range(SEEDS):
        states = states_of(subject, seed)
        seats = range(game.num_players)
        places = [(step, seat) for step in range(len(states)) for seat in seats]
        chosen = spread(places, EPISODE_PLACES, seed)
        for step, seat in chosen:
            if _redrawn_looks_the_same(subject, states[step], seat, (seed, step)):
                hidden.append((states[step], seat))
        compared += len(chosen)
        if compared >= PLACES and hidden:
            break
    unsure = sorted({seat for _, seat in hidden})
    one_world = [seat for seat in unsure if not _imagines_several(game, hidden, seat)]
    if subject.options and one_world == unsure:  # such as a dilemma on a complete graph
        raise Skipped("with these options, determinize() draws nothing anew")
    require(
        bool(hidden), f"determinize() never changed anything in {seed + 1} games; is all in sight?"
    )
    require(
        not one_world,
        f"determinize() gives player {one_world} one world whatever random numbers it is given: "
        "draw what is hidden from all that it may be",
        "determinize() draws nothing by chance",
    )


def _imagines_several(game: Any, hidden: Sequence[tuple[Any, int]], seat: int) -> bool:
    """Whether a seat imagines several worlds somewhere where it does not know all."""
    own = [state for state, other in hidden if other == seat]
    drawn = (
        {game.state_key(game.determinize(state, seat, Rng(number))) for number in range(ANEW)}
        for state in spread(own, 20, 0)
    )
    return any(len(worlds) > 1 for worlds in drawn)


def needs_secrets(subject: Subject) -> None:
    if subject.game.perfect_information:
        raise Skipped("perfect information: nothing is hidden")


@lru_cache(maxsize=SEEDS)
def states_of(subject: Subject, seed: int) -> list[Any]:
    """Every state of an episode in which a seat is to act; several checks share them."""
    episode = subject.episode(seed)
    states = [episode.state]
    for _ in play_long(episode, Rng(seed), careful=seed % 2 == 1):
        if not episode.over:
            states.append(episode.state)
    return states


def spread(places: Sequence[Any], number: int, seed: int) -> list[Any]:
    """So many of some places, from the first to the last, others for another seed."""
    if len(places) <= number:
        return list(places)
    rng, width = Rng(seed + 1), len(places) / number
    drawn = [int(width * n) + rng.below(max(1, int(width))) for n in range(number - 1)]
    return [places[at] for at in drawn] + [places[-1 - rng.below(max(1, int(width)))]]


def open_at(subject: Subject, state: Any) -> Episode:
    """An episode that begins in a state."""
    episode = subject.unplayed.fork()  # which is quicker than another beginning
    episode.load(state)
    return episode


def _redrawn_looks_the_same(
    subject: Subject, state: Any, seat: int, where: tuple[int, int]
) -> bool:
    """Compare one seat's sight of a state and of the same state with the secrets redrawn.

    Returns whether the secrets were others.
    """
    game, changed = subject.game, False
    key = game.state_key(state)
    one = sight(open_at(subject, state), seat, array=subject.has_array_view)
    for draw in range(DRAWS):
        imagined = game.determinize(state, seat, Rng(17 + DRAWS * where[1] + draw))
        two = sight(open_at(subject, imagined), seat, array=subject.has_array_view)
        leaks = [name for name in one if not same(one[name], two[name])]
        no_leak(
            game,
            leaks,
            f"seed {where[0]}, step {where[1]}: {{}} of player {seat} betrays a secret: it changes "
            "when determinize() draws the secret anew",
        )
        changed |= game.state_key(imagined) != key
    return changed


def no_leak(game: Any, leaks: Sequence[str], message: str) -> None:
    """Fail where anything leaks; the message has a place for what does."""
    if not leaks:
        return
    # a prompt repeats other channels, a key sums up the array view
    own = [name for name in leaks if name not in ("prompt", "key", "events")] or leaks
    told_first = sorted(own, key=lambda name: name == "prompt")  # which repeats events
    place = written_at(game, told_first)
    raise Failed(
        (f"{place}: " if place else "") + message.replace("{}", ", ".join(own), 1),
        f"a secret leaks through {', '.join(own)}",
    )


def pictures_keep_secrets(subject: Subject) -> None:
    """A picture drawn for one seat is the same whatever is hidden from that seat."""
    needs_secrets(subject)
    states = states_of(subject, 0)
    artists = list(_artists(subject))
    if not artists:
        raise Skipped('no renderer is installed; pip install "palestra-renderers[pygame]"')
    for step in sorted({0, len(states) // 2, len(states) - 1}):
        for seat in range(min(subject.game.num_players, 2)):
            imagined = subject.game.determinize(states[step], seat, Rng(step))
            for mode, artist in artists:
                one = artist.draw(open_at(subject, states[step]), seat)
                two = artist.draw(open_at(subject, imagined), seat)
                require(
                    same(one, two),
                    f"step {step}: the picture ({mode}) for player {seat} betrays a secret",
                    "a secret leaks through scene",
                )
    for _, artist in artists:
        artist.close()


def _artists(subject: Subject) -> Iterator[tuple[str, Any]]:
    for mode in ("ansi", "rgb_array"):
        try:
            yield mode, renderer(subject.spec, mode)()
        except (MissingExtra, UnknownName):
            continue


def transcripts_keep_secrets(subject: Subject) -> None:
    """From two states a player cannot tell apart, the same moves give the same transcript.

    Stretches of an episode are played from the real state and from a sampled one. If a step shows a
    player something new (a card is turned over, a guess is answered), it must have an event of kind
    "reveal" that they may see, which ends the comparison of a stretch.
    """
    needs_secrets(subject)
    seats, followed, steps = subject.game.num_players, 0, 0
    for seed in range(SEEDS):
        for seat in range(min(seats, 4)):
            _openings_agree(subject, seed, seat)
        states = states_of(subject, seed)
        starts = spread(range(len(states)), EPISODE_WINDOWS, seed)
        for number, step in enumerate(dict.fromkeys((0, *starts))):
            for seat in range(min(seats, 4)) if not number else ((seed + number) % seats,):
                steps += _follow(subject, states[step], seat, (seed, step))
                followed += 1
        if followed >= WINDOWS and steps >= FOLLOWED:
            return


def _openings_agree(subject: Subject, seed: int, seat: int) -> None:
    one, other = subject.episode(seed), subject.episode(seed)
    other.load(subject.game.determinize(one.state, seat, Rng(seed + 5)))
    require(
        _known_facts(one, seat) == _known_facts(other, seat),
        f"the opening betrays a secret to player {seat}",
    )


def _known_facts(episode: Episode, seat: int) -> list[tuple[str, str, Any]]:
    return [(e.kind, e.text, dict(e.data)) for e in episode.transcript(seat)]


def _follow(subject: Subject, state: Any, seat: int, where: tuple[int, int]) -> int:
    """Play one stretch in both worlds; returns how many steps were compared."""
    one = open_at(subject, state)
    drawn = Rng(1000 * where[0] + where[1] + 5)
    other = open_at(subject, subject.game.determinize(state, seat, drawn))
    rng, array = Rng(where[1] + 1), subject.has_array_view
    together = subject.game.payoffs == "common"  # whose members learn how well they do
    for number in range(WINDOW):
        if one.over or one.to_act != other.to_act:
            return number
        actions = random_actions(one, rng)
        try:
            other.act(actions)
        except ValueError:
            return number  # the other's move was not legal in the other world
        one.act(actions)
        shown = [e for step in (one.log[-1], other.log[-1]) for e in step]
        if any(e.kind == REVEALS and e.visible_to(seat) for e in shown) or one.over or other.over:
            return number
        seen, imagined = sight(one, seat, array=array), sight(other, seat, array=array)
        leaks = [name for name in seen if not same(seen[name], imagined[name])]
        if abs(one.returns[seat] - other.returns[seat]) > SLACK and not together:
            leaks.append("pay")
        no_leak(
            subject.game,
            leaks,
            f"seed {where[0]}, step {where[1] + one.steps_played}: {{}} of player {seat} betrays a "
            "secret; if the step may show it, tell it by an event of kind 'reveal' (docs/hooks.md)",
        )
    return WINDOW


def private_events_stay_private(subject: Subject) -> None:
    """What is shown to some seats only is in no other seat's transcript, prompt, scene or view."""
    watched, private = 0, 0
    for seed in range(6):
        watch = _Watch(subject, seed)
        watched, private = watched + watch.to_the_end(), private + watch.private
        if watched >= STEPS:
            break
    if not private:
        raise Skipped(f"no event was private in {seed + 1} games")


class _Watch:
    """One episode with an eye on what every seat reads."""

    def __init__(self, subject: Subject, seed: int) -> None:
        self.episode, self.seed = subject.episode(seed), seed
        self.seats = range(subject.game.num_players)
        self.private = 0  # events that some seat may not know
        self._hidden: list[dict[str, None]] = [{} for _ in self.seats]  # private texts, in order
        self._read = [0 for _ in self.seats]  # events of the transcript looked at

    def to_the_end(self) -> int:
        """Play on, and look after every step; returns how many there were."""
        self._look(0, self.episode.events)
        number = 0
        for _ in play_long(self.episode, Rng(self.seed), careful=self.seed % 2 == 1):
            number += 1
            self._look(number, self.episode.log[-1])
        return number

    def _look(self, number: int, fresh: Sequence[Event]) -> None:
        self.private += sum(event.audience is not None for event in fresh)
        for seat in self.seats:
            where = f"seed {self.seed}, step {number}: player {seat}"
            seen = self.episode.news(seat, self._read[seat])
            self._read[seat] = self.episode.cursor(seat)
            joins = [place for place, event in enumerate(fresh) if seat in newcomers(event)]
            expected = [e for e in fresh[joins[-1] if joins else 0 :] if e.visible_to(seat)]
            require(list(seen) == expected, f"{where} reads {seen}, not {expected}")
            hidden = self._hidden[seat]
            hidden |= {event.text: None for event in fresh if not event.visible_to(seat)}
            told = "\n".join(event.text for event in seen)  # the same may be shown to both
            self._hidden[seat] = {text: None for text in hidden if text not in told}
            if number <= EVERYBODY or seat == number % len(self.seats):
                self._reads_nothing_hidden(seat, number, where)

    def _reads_nothing_hidden(self, seat: int, number: int, where: str) -> None:
        hidden = list(self._hidden[seat])
        if not hidden:
            return
        scene = self.episode.scene(seat)
        prompt = self.episode.prompt(seat, self.episode.cursor(seat))
        read = "\n".join((prompt, *scene.texts()))
        for text in hidden if number % 10 == 0 else hidden[-RECENT:]:
            require(text not in read, f"{where} reads {text!r}, which is for others")


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
                env.step(_view_action(env, seats[0], actions[seats[0]]))
                after = [_infos(env, s) for s in seats]
                require(same(before[1:], after[1:]), "a sealed move can be seen by the next seat")
                seats = seats[1:]
            for seat in seats:
                env.step(_view_action(env, seat, actions[seat]))


def _infos(env: Any, seat: int) -> dict[str, Any]:
    name = env.possible_agents[seat]
    return {
        "sees": env.observe(name),
        "info": env.infos[name],
        "paid": env._cumulative_rewards[name],
    }


def _view_action(env: Any, seat: int, action: Any) -> Any:
    if env.obs == "text":
        return env.game.action_text(env.episode.state, seat, action)
    index = env.game.index_of(action)
    return index if index is not None else int(env.episode.action_mask(seat).argmax())
