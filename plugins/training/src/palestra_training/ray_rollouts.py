"""Rollouts on Ray: workers on any machine of a cluster play, each with its own copy of the policy.

Weights go through Ray's object store, once for each version. A few starts at a time are handed to
whichever worker is free. What a lost worker was playing is played again by another; seeds decide
every episode, so that a round has the same records whoever plays it.
"""

from __future__ import annotations

import math
import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from palestra import InvalidOption, MissingExtra, PalestraError
from palestra.records.versions import differing, versions_for, versions_of_names

from palestra_training.checkpoint import Weights
from palestra_training.engines import open_engines
from palestra_training.learner import Learner
from palestra_training.matches import Matches, Played, Seating
from palestra_training.plan import RayWorkers, TrainPlan
from palestra_training.play import open_env
from palestra_training.policies import make_policies
from palestra_training.pool import Pool
from palestra_training.stopping import TrainingStopped

try:
    import ray
    from palestra.runner.ray_cluster import join_cluster, start_cluster, stop_cluster
except ImportError as error:
    raise MissingExtra("ray", "palestra-training[ray]") from error

OPENING = 600.0  # seconds at least for a worker to be given a place and to open its model


class Sent(NamedTuple):
    """Weights in the object store; `ref` is in a tuple, so that Ray does not fetch it unasked.

    versions: of each policy. number: counts what was sent.
    """

    number: int
    versions: tuple[int, ...]
    ref: Any


class Crew:
    """The workers of a run, and what was sent to them.

    plan: has `ray.workers` of 1 or more. folder: of the model that the policies began from. Raises
    `InvalidOption` where no cluster answers, or where it has no room for the workers. A cluster
    that this process had already joined is used, and left at the end.
    """

    def __init__(self, plan: TrainPlan, folder: Path) -> None:
        self.plan = plan
        self.workers: list[Worker] = []
        self._lock = threading.Lock()
        self._sent: Sent | None = None
        self._past: dict[str, Any] = {}
        self._started = None if ray.is_initialized() else _connect(plan.ray)
        try:
            _require_room(plan.ray)
            # a model of the plan's has one path on all machines; a tiny one is sent
            files = {} if plan.model else {f.name: f.read_bytes() for f in sorted(folder.iterdir())}
            self._order = ray.put((plan, files, versions_of_play(plan)))
            self.workers += [Worker(plan.ray, self._order) for _ in range(plan.ray.workers)]
        except BaseException:
            self.close()
            raise

    def play(
        self,
        matches: Matches,
        learners: Sequence[Learner],
        past: Mapping[str, Sequence[Weights]],
    ) -> list[Played]:
        """The episodes of matches, in order, with what could be said in them.

        learners: the policies as they play. past: the weights of saved versions. Raises
        `TrainingStopped` if no worker is left.
        """
        size = matches.rollouts(self.plan)
        step = max(1, self.plan.ray.at_once * self.plan.group_size // size)
        count = len(matches.seeds)
        parts = [matches.part(first, first + step) for first in range(0, count, step)]
        with self._lock:  # of two rounds, as under `ahead`, one is played after the other
            self._hire()
            sent, versions = self._send(learners), self._send_past(past)
            found: dict[int, Played] = {}
            waiting = deque(range(len(parts)))
            try:
                while len(found) < len(parts):
                    for worker in self.workers:
                        if waiting and worker.answer is None:
                            worker.place = waiting.popleft()
                            worker.play(parts[worker.place], sent, versions)
                    self._hear(found, waiting)
            finally:
                for worker in [one for one in self.workers if one.place is not None]:
                    self._dismiss(worker)  # something failed: nobody waits for its answer
        episodes = [record for place in range(len(parts)) for record in found[place][0]]
        for number, record in enumerate(episodes):
            record.number = number
        return [found[place] for place in range(len(parts))]

    def _hire(self) -> None:
        """Fill up the crew, as far as the cluster has room now."""
        wanted = self.plan.ray
        missing = wanted.workers - len(self.workers)
        hired = min(missing, _room(ray.available_resources(), wanted))
        self.workers += [Worker(wanted, self._order) for _ in range(hired)]

    def _send(self, learners: Sequence[Learner]) -> Sent:
        """The weights of the policies, put into the object store if their versions are new."""
        versions = tuple(learner.version for learner in learners)
        if self._sent is None or self._sent.versions != versions:
            number = self._sent.number + 1 if self._sent else 0
            ref = ray.put([_arrays(learner.trained()) for learner in learners])
            self._sent = Sent(number, versions, ref)
        return self._sent

    def _send_past(self, past: Mapping[str, Sequence[Weights]]) -> dict[str, Any]:
        """The saved versions in the object store; those that were forgotten are dropped."""
        for name in self._past.keys() - past.keys():
            del self._past[name]
        for name in past.keys() - self._past.keys():
            self._past[name] = ray.put([_arrays(weights) for weights in past[name]])
        return dict(self._past)

    def _hear(self, found: dict[int, Played], waiting: deque[int]) -> None:
        """Wait for an answer, or until a worker is over its time; note what was played."""
        busy = {worker.answer: worker for worker in self.workers if worker.answer is not None}
        if not busy:
            raise TrainingStopped(
                "no Ray worker is left to play the round; see that the cluster has machines, and "
                "resume from the last checkpoint"
            )
        first = min(worker.until for worker in busy.values())
        ray.wait(list(busy), timeout=max(0.0, first - time.monotonic()))
        ready, _ = ray.wait(list(busy), num_returns=len(busy), timeout=0)  # all that there are
        for answer in ready:
            worker = busy.pop(answer)
            try:
                part = worker.hear()
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, PalestraError):
                    raise error.cause from error
                raise TrainingStopped(f"a Ray worker failed: {error}") from error
            except ray.exceptions.RayError:
                self._lose(worker, waiting)
                continue
            if worker.place is not None:
                found[worker.place] = part
            worker.place = None
        now = time.monotonic()
        for worker in [one for one in busy.values() if one.until <= now]:
            self._lose(worker, waiting)

    def _lose(self, worker: Worker, waiting: deque[int]) -> None:
        """Give a worker up, and let another play what it was playing."""
        if worker.place is not None:
            waiting.appendleft(worker.place)
        self._dismiss(worker)

    def _dismiss(self, worker: Worker) -> None:
        self.workers.remove(worker)
        ray.kill(worker.actor)

    def close(self) -> None:
        """End the workers, and Ray if it was started or joined here."""
        for worker in list(self.workers):
            ray.kill(worker.actor)
        with self._lock:  # whoever still waits for them ends first
            self.workers.clear()
        if self._started is not None:
            stop_cluster(self._started)


class Worker:
    """An actor and what it is doing.

    answer: what to wait for; None if it is free. place: of the part that it plays; None while it
    opens its model. until: when it is given up, by `time.monotonic`.
    """

    def __init__(self, wanted: RayWorkers, order: Any) -> None:
        kind = ray.remote(
            num_cpus=wanted.cpus, num_gpus=wanted.gpus, max_restarts=0, max_task_retries=0
        )(RolloutActor)
        self.actor, self.seconds = kind.remote(), wanted.seconds
        self.answer: Any = self.actor.open.remote(order)
        self.until = time.monotonic() + max(OPENING, wanted.seconds)
        self.place: int | None = None

    def play(self, part: Matches, sent: Sent, past: dict[str, Any]) -> None:
        """Ask for the episodes of a part."""
        self.answer = self.actor.play.remote(part, sent, past)
        self.until = time.monotonic() + self.seconds

    def hear(self) -> Played:
        """What it answered; it is free again."""
        answer, self.answer = self.answer, None
        found: Played = ray.get(answer)
        return found


class RolloutActor:
    """What an actor does: keep a copy of the policies, and play with the weights it is sent."""

    def open(self, order: tuple[TrainPlan, dict[str, bytes], dict[str, str]]) -> None:
        """Open the environment and the model; order: the plan, the model's files, versions."""
        plan, files, versions = order
        table = open_env(plan)
        where = ray.util.get_node_ip_address()
        if changed := differing(versions, versions_of_play(plan)):
            raise InvalidOption(
                f"the trainer has {', '.join(changed)} at the Ray worker on {where}; install the "
                "same versions on all machines"
            )
        self._folder = tempfile.TemporaryDirectory(prefix="palestra-rollouts-")
        model = Path(plan.model) if plan.model else Path(self._folder.name)
        if not (plan.model == "" or (model / "config.json").exists()):
            raise InvalidOption(
                f"there is no model at {model} on {where}; every machine of the Ray cluster needs "
                "it at the same path"
            )
        for name, content in files.items():
            (model / name).write_bytes(content)
        learners = make_policies(plan, table[1].num_players, model)
        engines = open_engines(plan, learners, model, Path(self._folder.name))
        self._pool = Pool((), plan.matching)
        self._seating = Seating(plan, table, learners, engines, self._pool)
        self._has = -1

    def play(self, part: Matches, sent: Sent, past: Mapping[str, Any]) -> Played:
        """The episodes of a part, and what could be said in them."""
        learners = self._seating.learners
        if self._has != sent.number:
            for learner, arrays, version in zip(
                learners, ray.get(sent.ref), sent.versions, strict=True
            ):
                learner.load(_tensors(arrays))
                learner.version = version
            self._has = sent.number
            self._seating.release()
        known = self._pool.past
        for name in known.keys() - past.keys():
            del known[name]
        needed = past.keys() & {name for names in part.line_ups for name in names}
        for name in sorted(needed - known.keys()):
            known[name] = [_tensors(arrays) for arrays in ray.get(past[name])]
        for learner in learners:
            learner.held.clear()
        return self._seating.play(part), [learner.held for learner in learners]

    def place(self) -> tuple[str, int]:
        """Ray's name of the node, and the number of the process on it."""
        return ray.get_runtime_context().get_node_id(), os.getpid()


def versions_of_play(plan: TrainPlan) -> dict[str, str]:
    """The versions of what decides an episode: rules, agents, this package and torch."""
    _, game = open_env(plan)
    agents = (*plan.opponents, *plan.evaluation.opponents, *filter(None, [plan.hints.agent]))
    return versions_for(game, Crew, "torch", "transformers") | versions_of_names(agents)


def _connect(wanted: RayWorkers) -> Any:
    """Join the cluster, or start one here; gives the processes that were started."""
    if wanted.address == "local":
        return start_cluster(math.ceil(wanted.workers * wanted.cpus))
    join_cluster(wanted.address, "ray.address = ")
    return []


def _require_room(wanted: RayWorkers) -> None:
    """Raise `InvalidOption` if the machines of the cluster cannot hold all workers."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    room = sum(_room(machine, wanted) for machine in machines)
    if room < wanted.workers:
        raise InvalidOption(
            f"ray.workers is {wanted.workers}, but the cluster's {len(machines)} machines have "
            f"room for {room} of {wanted.cpus:g} CPUs and {wanted.gpus:g} GPUs each; ask for fewer "
            "workers, or for less each"
        )


def _room(machine: Mapping[str, float], wanted: RayWorkers) -> int:
    room = machine.get("CPU", 0.0) // wanted.cpus
    return int(min(room, machine.get("GPU", 0.0) // wanted.gpus) if wanted.gpus else room)


def _arrays(weights: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Weights as arrays, which the object store shares without a copy."""
    return {name: value.detach().cpu().numpy() for name, value in weights.items()}


def _tensors(arrays: Mapping[str, Any]) -> Weights:
    return {name: torch.from_numpy(value.copy()) for name, value in arrays.items()}
