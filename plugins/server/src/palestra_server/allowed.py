"""What clients of a server may name: agents, environments and options; all else is refused.

Without a word of the operator a client may name scripted agents, with those of their options whose
values are listed or lie between two limits, a bounded tree search, and environments that run no
programs, without the options that name files.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from palestra import InvalidOption, UnknownName
from palestra.agents.naming import parse_agent
from palestra.catalogue.describe import is_bounded, names_file
from palestra.code_names import file_of
from palestra.files import UNREADABLE, read_toml
from palestra.kernel.errors import show
from palestra.kernel.options import option_hints, parameter_hints
from palestra.kernel.registry import load_game, more_options, registry
from palestra.kernel.specs import AgentSpec, EnvSpec, load_entry_point, names_environment

from palestra_server.messages import OPEN, PERSON, Create
from palestra_server.refused import RequestRefused

BOUNDED = ("mcts:simulations<=200",)  # agents that search, as clients may name them anywhere
ANYWHERE = ("num_players", "split")  # options that every environment may have
_LIMIT = re.compile(r"^((?:model\.)?[a-z_]+)(<=|>=)(.+)$")


@dataclass(frozen=True, slots=True)
class AgentRule:
    """One entry of a list of agents: `random`, `llm:openai:gpt-5`, `mcts:simulations<=200`.

    What an entry writes out, a client must give as it is; an option with `<=` or `>=` may have any
    number within the limit, and may be left out where the agent's default is within it.
    """

    text: str
    name: str
    target: str
    fixed: Mapping[str, Any]
    limits: tuple[tuple[str, str, float], ...]

    @classmethod
    def read(cls, text: str) -> AgentRule:
        """Raises `InvalidOption` for a limit that is no number and for code, `UnknownName` for an
        agent that is not installed.
        """
        head, _, tail = text.partition(":")
        limits, rest = [], []
        for part in tail.split(","):
            if found := _LIMIT.match(part):
                limits.append((found[1], found[2], _number(found[3], text)))
            else:
                rest.append(part)
        name, fixed, target = parse_agent(f"{head}:{','.join(rest)}")
        if "." in name:
            raise InvalidOption(
                f"clients may be allowed installed agents, not code as in {show(text)}; seat it "
                f"yourself, as in: palestra serve ENV --agents open,{text}; or install it as a "
                "plugin (palestra new agent NAME), and allow its name"
            )
        _installed(name)
        return cls(text, name, target, fixed, tuple(limits))

    @property
    def example(self) -> str:
        """A name that the entry accepts: with the agent's own values, or else at the limits."""
        head, _, tail = self.text.partition(":")
        plain = [part for part in tail.split(",") if part and not _LIMIT.match(part)]
        short = ":".join([head, *([",".join(plain)] if plain else [])])
        if self.accepts(*parse_agent(short)):
            return short
        return self.text.replace("<=", "=").replace(">=", "=")

    def accepts(self, name: str, options: Mapping[str, Any], target: str) -> bool:
        if (name, target) != (self.name, self.target):
            return False
        limited = {option for option, _, _ in self.limits}
        rest = {option: value for option, value in options.items() if option not in limited}
        return same(rest, self.fixed) and all(
            self._is_within(*limit, options) for limit in self.limits
        )

    def _is_within(self, option: str, sign: str, limit: float, options: Mapping[str, Any]) -> bool:
        value = options.get(option, _default(self.name, option))
        if type(value) not in (int, float):
            return False
        return bool(value <= limit if sign == "<=" else value >= limit)


class Allowed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What clients may name; a file of the operator (TOML) has the same fields.

    agents: as `AgentRule` reads them, besides scripted agents and `mcts:simulations<=200`. envs:
    ids, namespaces such as "tasks/*", or "*", that may run programs. options: by id and option,
    values that clients may give though they name files. only: ids and namespaces; if there are any,
    nothing else can be played.
    """

    agents: tuple[str, ...] = ()
    envs: tuple[str, ...] = ()
    options: dict[str, dict[str, list[Any]]] = {}
    only: tuple[str, ...] = ()

    def check(self, wanted: Create) -> None:
        """Raise `RequestRefused` for what a client may not name, whether it exists or not."""
        spec = self._environment(wanted.env)
        split = {"split": wanted.split} if wanted.split else {}
        self._check_options(spec, {**wanted.options, **split})
        seated = {*(wanted.seats or ()), wanted.opponents} - {OPEN}
        played_outside = {agent for agent in seated if agent.partition(":")[0] == PERSON}
        for agent in sorted((seated - played_outside | {wanted.substitute}) - {""}):
            self._check_agent(spec, agent)

    def check_entries(self) -> None:
        """Raise `InvalidOption` or `UnknownName` for an entry that means nothing."""
        for text in self.agents:
            AgentRule.read(text)
        known = registry().environments
        for pattern in (*self.envs, *self.only, *self.options):
            if not any(names_environment((pattern,), env) for env in known):
                raise UnknownName("environment", pattern, known)

    # Environments and their options

    def lists(self, spec: EnvSpec) -> bool:
        """Whether clients are shown an environment."""
        closed = spec.runs_programs and not names_environment(self.envs, spec.id)
        return not closed and (not self.only or names_environment(self.only, spec.id))

    def _environment(self, env: str) -> EnvSpec:
        bare = env.rpartition(":")[2]
        if self.only and not names_environment(self.only, bare):
            raise RequestRefused(f"this server plays {', '.join(self.only)}, not {show(env)}")
        return registry().environment(env)

    def _check_options(self, spec: EnvSpec, options: Mapping[str, Any]) -> None:
        kind = load_entry_point(spec.entry_point)
        hints = option_hints(kind)
        for name, value in sorted(options.items()):
            if name in hints and names_file(hints[name]):
                if not any(same(value, one) for one in self._values(spec, name)):
                    raise RequestRefused(
                        f"{name} of {spec.id} can name a file, which only the server's operator may"
                    )
            elif not hints and name not in (*ANYWHERE, *more_options):
                raise RequestRefused(f"{spec.id} takes no option {show(name)} from clients")
        runs = getattr(kind, "runs_programs", None)  # a property where options decide
        if names_environment(self.envs, spec.id) or runs is False:
            return
        if load_game(spec, options).runs_programs:
            raise RequestRefused(
                f"{spec.id} runs programs, with which clients may not play here; the server's "
                f"operator opens it with --allow-env {spec.id}"
            )

    def _values(self, spec: EnvSpec, option: str) -> list[Any]:
        return self.options.get(spec.id, {}).get(option, [])

    # Agents

    def agents_for(self, spec: EnvSpec) -> list[str]:
        """What clients may seat in an environment, as they are told."""
        rules = [AgentRule.read(text) for text in (*BOUNDED, *self.agents)]
        named = {rule.text: _installed(rule.name) for rule in rules}
        named |= {agent.name: agent for agent in _scripted()}
        return sorted(text for text, agent in named.items() if agent.can_play(spec.id))

    def listed_agents(self) -> list[str]:
        """Agents in the words in which they can be named at once, as the page offers them."""
        found = {AgentRule.read(text).example for text in (*BOUNDED, *self.agents)}
        return sorted(found | {agent.name for agent in _scripted()})

    def _check_agent(self, spec: EnvSpec, agent: str) -> None:
        if file_of(agent):
            raise RequestRefused(
                f"clients may not seat {show(agent)} here: only the server's operator may name "
                f"code; in {spec.id} they may seat {', '.join(self.agents_for(spec))}"
            )
        name, options, target = parse_agent(agent)
        known = registry().agents.get(name)
        rules = [AgentRule.read(text) for text in (*BOUNDED, *self.agents)]
        if any(rule.accepts(name, options, target) for rule in rules):
            return
        bounded = known and known.kind == "scripted" and not target and _are_bounded(known, options)
        if not bounded:
            raise RequestRefused(
                f"clients may not seat {show(agent)} here; in {spec.id} they may seat "
                f"{', '.join(self.agents_for(spec))}"
            )


EVERYWHERE = Allowed()


def read_allowed(agents: Iterable[str], envs: Iterable[str], file: Path | None = None) -> Allowed:
    """An operator's list from a command line and a file; raises `InvalidOption`."""
    listed = Allowed()
    if file is not None:
        try:
            listed = msgspec.convert(read_toml(file), Allowed)
        except (OSError, *UNREADABLE) as error:
            raise InvalidOption(f"--allow {file}: {error}") from None
    allowed = msgspec.structs.replace(
        listed, agents=(*listed.agents, *agents), envs=(*listed.envs, *envs)
    )
    allowed.check_entries()
    return allowed


def same(one: Any, other: Any) -> bool:
    """Whether two values from JSON are equal, and True is not 1."""
    texts = [msgspec.json.encode(value, order="sorted") for value in (one, other)]
    return bool(one == other) and texts[0] == texts[1]


def _installed(agent: str) -> AgentSpec:
    """An agent by its registered name alone; raises `UnknownName`."""
    if (spec := registry().agents.get(agent)) is None:
        raise UnknownName("agent", agent, registry().agents)
    return spec


def _scripted() -> list[AgentSpec]:
    return [agent for agent in registry().agents.values() if agent.kind == "scripted"]


def _are_bounded(agent: AgentSpec, options: Mapping[str, Any]) -> bool:
    """Whether these options of an agent have listed values, or numbers between two limits."""
    if not options:
        return True
    hints = parameter_hints(load_entry_point(agent.entry_point))
    return all(name in hints and is_bounded(hints[name]) for name in options)


def _default(agent: str, option: str) -> Any:
    signature = inspect.signature(load_entry_point(_installed(agent).entry_point))
    parameter = signature.parameters.get(option)
    return None if parameter is None else parameter.default


def _number(text: str, entry: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidOption(f"the limit {show(text)} of {show(entry)} is not a number") from None
