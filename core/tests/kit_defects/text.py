"""Text games: grammars, payoffs, ends and speech."""

from __future__ import annotations

from kit_defects import Defect

NEGOTIATION = "text/Negotiation-v0"
COMMONS = "text/Commons-v0"

DEFECTS = (
    Defect(
        NEGOTIATION,
        "payoff_bounds = (0.0, float(WORTH))",
        "payoff_bounds = (0.0, float(WORTH) / 2)",
        "terms_are_declared",
        "leave the declared payoff_bounds (0.0, 5.0)",
    ),
    Defect(
        NEGOTIATION,
        "return () if state.ended else (state.turn % 2,)",
        "return () if state.ended else (0, 1)",
        "seats_move_as_declared",
        "`order` is 'sequential', and seats [0, 1] move at once",
    ),
    Defect(
        NEGOTIATION,
        'f"{name} says: {self.quoted(action.text)}"',
        'f"{name} says: {action.text}"',
        "speech_stays_quoted",
        "use self.quoted()",
    ),
    Defect(
        NEGOTIATION,
        "return grammar(state.counts, state.offer is not None, self.message_limit)",
        "return grammar(state.counts, True, self.message_limit)",
        "masks_agree",
        "state.offer is not None",
    ),
    Defect(
        NEGOTIATION,
        "rng = Rng.seeded(seed)\n        if self.contexts",
        "rng = Rng.seeded(0)\n        if self.contexts",
        "seeds_decide",
        "makes no use of the seed",
    ),
    Defect(
        NEGOTIATION,
        "worth[1 - proposer] = value_of(rest, state.values[1 - proposer])",
        "worth[1 - proposer] = value_of(rest, state.values[1 - proposer]) + 10",
        "ends_are_told",
        "leave the declared payoff_bounds",
    ),
    Defect(
        NEGOTIATION,
        'reward_terms = ("deal",)',
        "reward_terms = ()",
        "terms_are_declared",
        "rewards ['deal'] are not among reward_terms ()",
    ),
    Defect(
        NEGOTIATION,
        'f"Turn {state.turn} of {self.max_turns}."',
        "f\"Turn {state.turn} of {self.max_turns}. {__import__('uuid').uuid4()}\"",
        "seeds_decide",
        "the same seed and moves gave two different episodes, from step 0 on",
    ),
    Defect(
        COMMONS,
        "state.stock -= sum(got)",
        "state.stock -= sum(asked)",
        "numbers_stay_in_space",
        "is not in Box(0,",
    ),
    Defect(
        COMMONS,
        "player = rng.choice(wanting)",
        'player = __import__("random").choice(wanting)',
        "seeds_decide",
        "the game draws from a process-wide random generator",
    ),
    Defect(
        COMMONS,
        "return (0.0, float(self.capacity * self.rounds))",
        "return (0.0, float(self.capacity))",
        "ends_are_told",
        "leave the declared payoff_bounds (0.0, 100.0)",
    ),
    Defect(
        COMMONS,
        "state.spoken += 1",
        "state.spoken += 0",
        "ends_are_told",
        "not over after 2,000 random steps",
    ),
    Defect(
        COMMONS,
        "return Outcome((score,) * self.num_players, scores, reason)",
        "return Outcome((score,) * 5, scores, reason)",
        "facts_are_true",
        "num_players=2: the outcome has 5 results",
    ),
    Defect(
        COMMONS,
        "return Pass() if state.talking else Harvest(0)",
        "return Pass()",
        "scripts_play_legal_moves",
        "noop() gives Pass(), which is not legal",
    ),
    Defect(
        COMMONS,
        "deterministic = False",
        "deterministic = True",
        "chance_is_declared",
        "set deterministic = False",
    ),
    Defect(
        COMMONS,
        '{"catch": float(n)}',
        '{"tons": float(n)}',
        "terms_are_declared",
        "rewards ['tons'] are not among reward_terms ('catch',)",
    ),
)
