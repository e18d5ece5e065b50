"""Facts: data in a record beyond moves and payoffs, which no seat is ever shown.

A game with a method `record_facts(state)` reports them for every state; an agent puts them in
`Decision.facts`. Credit estimators and reward models read them from the record. They are plain
data, and these names are in use:

by a game, about a state (`EpisodeRecord.facts` at the start, `StepRecord.facts` where they change):

* `progress`: how near the goal the state is, from 0 to 1.
* `success`: how far the task is done, from 0 to 1, if results do not say so.
* `milestones`: names of the milestones reached so far.
* `stages`: scores from 0 to 1 of stages that must be passed in this order.
* `checks`: true and false by category, as in `{"hard": [true, false]}`.
* `needless`: how many tool calls so far asked for what was known: a call repeated, or a question
  that needs none. The calls themselves are events, with `tool` and `arguments` in their data.
* `objects`: names of objects and their attributes; `goal`: what they should be, in the same form.
* `belief`: probabilities of the types a hidden party can have, by all that was seen so far; `type`:
  the place of the true one.
* `local`: what each seat has done of the common work so far, one number a seat.
* `roles`: one name a seat.

by an agent, about a decision (`TurnRecord.facts`):

* `value`: the seat's expected future return under the agent's play, before this turn.
* `candidates`: moves that were considered, as the game writes them, each with its value.
* `strategy`: the probability of each move.
* `process`: a grade from 0 to 1 of the decision; `verdicts`: true where it is good.
* `confidence`: how sure the agent is, from 0 to 1: by default the geometric mean of the
  probabilities of the answer's tokens; `correctness`: how often ends from here on are won.
* `ratio`: the move's probability by another policy, over that with which it was played;
  `implicit`: the logarithm of such a ratio of two policies, times a factor.
* `calls`: the tools that a language model called to answer, each with its `name` and `arguments` as
  the model wrote them.
* `trace`: the messages from the question to the answer of an agent of another framework, each with
  its `role`, its `content` and the `calls` of tools in it.
* `mode`: the way in which the decision was made, such as "instant".
* `full tokens`: the tokens that the whole context would have taken.
* `evidence`: the seat's own turns, from 0, that prove its task done.
* `absent`: true where the seat only stands in for a player who is left out.
* `substitute`: the agent that decided, after the seat's player had left the match.
* `worker`: the number of the worker that decided, if a planner hands out subtasks.
* `talks`: conversations between roles or members that led to it, as records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Reporting(Protocol):
    """A game that reports facts about a state, without changing it."""

    def record_facts(self, state: Any) -> Mapping[str, Any]: ...
