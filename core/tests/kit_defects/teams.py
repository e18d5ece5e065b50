"""Teams: what one side and its members know, and what they are paid."""

from __future__ import annotations

from kit_defects import Defect

CODENAMES = "games/Codenames-v0"
AVALON = "games/Avalon-v0"
WEREWOLF = "games/Werewolf-v0"

DEFECTS = (
    Defect(
        CODENAMES,
        "only(0, self.side))]",
        "only(0, 1, self.side))]",
        "transcripts_keep_secrets",
        "the opening betrays a secret to player 1",
    ),
    Defect(
        CODENAMES,
        "if self.is_spymaster(seat) or",
        "if seat < self.side or",
        "secrets_stay_hidden",
        "describe, scene, observation of player 2 betrays a secret",
    ),
    Defect(
        CODENAMES,
        "return seat % self.side == 0",
        "return seat % self.side <= 1",
        "secrets_stay_hidden",
        "determinize() never changed anything in 10 games",
    ),
    Defect(
        CODENAMES,
        "enumerate(self._scores(state))}",
        "enumerate(self._scores(state)) if score > 0}",
        "terms_are_declared",
        "declared zero-sum, but returns are [",
    ),
    Defect(
        CODENAMES,
        "owners = sorted(state.key[place] for place in places)",
        "owners = [state.key[place] for place in places]",
        "imagined_worlds_keep_secrets",
        "Sort what is hidden before you shuffle it",
    ),
    Defect(
        CODENAMES,
        "places = [place for place in range(TABLE) if not state.covered[place]]\n        owners",
        "places = list(range(TABLE))\n        owners",
        "secrets_stay_hidden",
        "describe, scene, observation of player 1 betrays a secret",
    ),
    Defect(
        CODENAMES,
        'return Event("reveal", text, {"place": place, "owner": OWNERS[owner]})',
        'return Event("reveal", text, {"place": place, "key": state.key})',
        "steps_tell_no_secret",
        "holds state.key as 'key', which determinize() draws anew",
    ),
    Defect(
        CODENAMES,
        'text += f"says: {self.quoted(action.text)}"',
        'text += f"says: {action.text}"',
        "speech_stays_quoted",
        "use self.quoted()",
        {"num_players": 6},
    ),
    Defect(
        CODENAMES,
        'tuple("win" if score > 0 else "loss" for score in scores)',
        'tuple("win" if score < 0 else "loss" for score in scores)',
        "ends_are_told",
        "contradict the returns",
    ),
    Defect(
        CODENAMES,
        "copy = self.clone(state)\n        if self.is_spymaster",
        "copy = state\n        if self.is_spymaster",
        "looking_changes_nothing",
        "determinize() changes the state that it is given",
    ),
    Defect(
        CODENAMES,
        "rng.shuffle(owners)\n        drawn",
        "drawn",
        "secrets_stay_hidden",
        "determinize() gives one world whatever random numbers it is given",
    ),
    Defect(
        AVALON,
        'data = {"role": ROLES[role], "known": knowledge(state, seat)}',
        'data = {"role": ROLES[role], "known": state.roles}',
        "transcripts_keep_secrets",
        "the opening betrays a secret to player 0",
    ),
    Defect(
        AVALON,
        "redraw(copy, seat, rng)",
        "redraw(copy, 0, rng)",
        "secrets_stay_hidden",
        "describe, scene, anchor, observation of player ",
    ),
    Defect(
        AVALON,
        'own = " You played a fail." if seat in state.quests[number].failing else ""',
        'own = f" Fails by {state.quests[number].failing}."',
        "secrets_stay_hidden",
        "betrays a secret",
    ),
    Defect(
        AVALON,
        "return Pass() if state.phase == DISCUSS else None",
        "return Pass()",
        "scripts_play_legal_moves",
        "noop() gives Pass(), which is not legal",
    ),
    Defect(
        AVALON,
        'results = tuple("win" if score > 0 else "loss" for score in scores)',
        'results = tuple("win" for score in scores if score > 0)',
        "ends_are_told",
        "not one result a seat",
    ),
    Defect(
        WEREWOLF,
        'if state.roles[seat] == WEREWOLF:\n            text += f" The pack',
        'if state.roles[seat] >= 0:\n            text += f" The pack',
        "secrets_stay_hidden",
        "betrays a secret",
    ),
    Defect(
        WEREWOLF,
        "known = [1 + r for r in state.roles] if seat is None else knowledge(state, seat)",
        "known = [1 + r for r in state.roles]",
        "secrets_stay_hidden",
        "in scene(): seed 0, step 0: scene of player 0",
    ),
    Defect(
        WEREWOLF,
        "known = np.array(knowledge(state, seat), np.int8)",
        "known = np.array(knowledge(state, 0), np.int8)",
        "secrets_stay_hidden",
        "in observe(): seed 0, step 0: observation of player 1",
    ),
    Defect(
        WEREWOLF,
        'events.append(Event("role", text, {"role": ROLES[role]}, only(seat)))',
        'events.append(Event("role", text, {"role": ROLES[role]}, only(seat, 0)))',
        "transcripts_keep_secrets",
        "the opening betrays a secret to player 0",
    ),
)
