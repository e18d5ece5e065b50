"""Clinics: the posterior against enumeration, measures against scikit-learn, chances as stated."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import permutations, product
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import InvalidAction, Rng
from palestra.kernel.registry import registry
from palestra.records.metrics import measure
from palestra_tasks.clinic.counselling import (
    CHAIN_TOPICS,
    CHAINS,
    EMOTIONS,
    EVENTS,
    LINES,
    MOVES,
    STIRS,
    TOPICS,
    Close,
    Counselling,
    Say,
    Speak,
    Touch,
    modulate,
    stir,
)
from palestra_tasks.clinic.diseases import belief, draw_case, draw_knowledge
from palestra_tasks.clinic.doctors import read_experience, read_textbook
from palestra_tasks.clinic.feelings import EFFECTS, SUITS
from palestra_tasks.clinic.hospital import WINGS, Ask, Hospital, Treat, Triage, remaining
from palestra_tasks.clinic.incident import (
    COMMANDS,
    KINDS,
    RUNBOOK,
    TEN,
    Brief,
    Consult,
    IncidentResponse,
    correctness,
    draw_incident,
    incident_of,
    pay_of,
    quality,
)
from palestra_tasks.clinic.proactive import Proactive, f1_of
from sklearn.metrics import f1_score, jaccard_score
from sklearn.naive_bayes import BernoulliNB


def mean_score(env: str, agents: str, episodes: int, **options: object) -> float:
    records = palestra.play(env, agents=agents, seed=1, episodes=episodes, **options)
    assert not any(record.error for record in records), records[0].error
    return sum(record.outcome.scores[0] for record in records if record.outcome) / episodes


@pytest.mark.parametrize("env", ["Hospital", "Counselling", "Proactive", "Incident"])
def test_rules_say_that_it_is_a_study(env: str) -> None:
    game = palestra.game(f"tasks/{env}-v0")
    assert "for the study of agents" in game.rules_for(0)


# The hospital


def test_the_posterior_is_that_of_all_cases_listed() -> None:
    known = draw_knowledge(3, 11)
    symptoms, tests = {0: True, 3: False, 5: False}, {1: True}
    shares = []
    for disease in range(3):
        chance = known.shares[disease]
        for n, yes in symptoms.items():
            p = known.symptom_chances[disease][n]
            chance *= p if yes else 1 - p
        chance *= known.test_chances[disease][1]
        shares.append(chance)
    wanted = [share / sum(shares) for share in shares]
    assert belief(known, symptoms, tests) == pytest.approx(wanted)


def test_patients_without_symptoms_never_come() -> None:
    # nothing asked: every disease by its share of patients who have any symptom
    known = draw_knowledge(4, 2)
    some = [
        share * (1 - math.prod(1 - p for p in chances))
        for share, chances in zip(known.shares, known.symptom_chances, strict=True)
    ]
    assert belief(known, {}, {}) == pytest.approx([s / sum(some) for s in some])


def test_cases_follow_the_generating_model() -> None:
    known, rng = draw_knowledge(3, 5), Rng.seeded(9)
    cases = [draw_case(known, rng) for _ in range(2500)]
    some = [
        share * (1 - math.prod(1 - p for p in chances))
        for share, chances in zip(known.shares, known.symptom_chances, strict=True)
    ]
    for disease in range(3):
        mine = [case for case in cases if case.disease == disease]
        assert len(mine) / 2500 == pytest.approx(some[disease] / sum(some), abs=0.04)
        positive = sum(case.tests[0] for case in mine) / len(mine)
        assert positive == pytest.approx(known.test_chances[disease][0], abs=0.06)


def test_the_most_likely_disease_is_right_as_often_as_it_believes() -> None:
    known, rng, believed, right = draw_knowledge(6, 8), Rng.seeded(3), 0.0, 0
    for _ in range(600):
        case = draw_case(known, rng)
        weights = belief(
            known,
            {n: case.symptoms[n] for n in range(4)},
            {n: case.tests[n] for n in range(2)},
        )
        best = max(range(6), key=weights.__getitem__)
        believed += weights[best]
        right += best == case.disease
    assert right / 600 == pytest.approx(believed / 600, abs=0.06)


def test_the_textbook_is_read_as_it_is_printed() -> None:
    game = Hospital()
    state = game.initial_state(4)
    known, read = game.knowledge(state), read_textbook(game.describe(state, 0))
    assert read.diseases == known.diseases
    for disease in range(6):
        printed = dict(zip(read.tests, read.test_chances[disease], strict=True))
        true = dict(zip(known.tests, known.test_chances[disease], strict=True))
        assert printed == pytest.approx(true)
        cure = known.treatments[known.cures[disease]]
        assert read.treatments[read.cures[disease]] == cure


def test_doctors_are_as_good_as_what_they_know() -> None:
    scores = [
        mean_score("tasks/Hospital-v0", agents, 6)
        for agents in ("hospital-bayes", "hospital-records", "random")
    ]
    assert scores[0] > 3.5  # of 4.5
    assert scores[0] > scores[1] + 1


def test_experience_helps_a_doctor_without_a_textbook() -> None:
    records = palestra.play(
        "tasks/Hospital-v0",
        agents="hospital-records",
        seed=1,
        episodes=8,
        textbook=False,
        patients=30,
    )
    right = [[e.data["right"] for e in r.events if "helped" in e.data] for r in records]
    early = sum(sum(day[:8]) for day in right) / (8 * 8)
    late = sum(sum(day[-8:]) for day in right) / (8 * 8)
    assert late > early


def test_what_records_teach_is_what_scikit_learn_fits() -> None:
    game = Hospital(textbook=False, patients=14, questions=22, diseases=3)
    episode = palestra.Episode(game, 7)
    rows, true = [], []
    while len(episode.state.visits) < 13:
        case, known = episode.state.case, game.knowledge(episode.state)
        for symptom in known.symptoms:
            if episode.game.legal(episode.state, 0).problem(Ask(symptom)) is None:
                episode.act({0: Ask(symptom)})
        order = sorted(range(len(known.symptoms)), key=known.symptoms.__getitem__)
        rows.append([case.symptoms[n] for n in order])
        true.append(case.disease)
        episode.act({0: Treat("disease 1", known.treatments[0])})
    fit = BernoulliNB(alpha=0.5).fit(np.array(rows), np.array(true))
    found = read_experience(game.describe(episode.state, 0))
    assert len(fit.classes_) >= 2
    for row, disease in zip(np.exp(fit.feature_log_prob_), fit.classes_, strict=True):
        assert found.symptom_chances[disease] == pytest.approx(row)


def test_a_doctor_who_evolves_gets_better_over_a_day() -> None:
    found = {}
    for agents in ("hospital-evolving", "hospital-records"):
        records = palestra.play(
            "tasks/Hospital-v0", agents=agents, seed=2, episodes=4, patients=40, textbook=False
        )
        assert not any(record.error for record in records), records[0].error
        found[agents] = [measure(record) for record in records]
    evolving = found["hospital-evolving"]
    assert sum(m["learning-gain"] for m in evolving) / 4 > 0.05
    means = {k: sum(m["diagnoses-right"] for m in ms) for k, ms in found.items()}
    assert means["hospital-evolving"] > means["hospital-records"]


def test_tests_cost_and_a_right_visit_pays() -> None:
    game = Hospital(patients=1)
    episode = palestra.Episode(game, 2)
    known, case = game.knowledge(episode.state), episode.state.case
    cure = known.treatments[known.cures[case.disease]]
    episode.act({0: episode.parse(0, f"Test(name={known.tests[2]!r})")})
    assert episode.returns[0] == pytest.approx(-known.prices[2] / 100)
    episode.act({0: Treat(known.diseases[case.disease], cure)})
    assert episode.returns[0] == pytest.approx(1.5 - known.prices[2] / 100)


def test_an_empty_diagnosis_is_refused_and_nothing_is_lost() -> None:
    episode = palestra.Episode(Hospital(), 0)
    before = episode.describe(0)
    with pytest.raises(palestra.InvalidAction, match="diagnosis"):
        episode.parse(0, "Treat(diagnosis='', treatment='cold wraps')")
    assert episode.describe(0) == before


def test_a_patient_who_speaks_is_not_answered_for() -> None:
    game = Hospital(num_players=2)
    episode = palestra.Episode(game, 3)
    name = next(s for s in game.knowledge(episode.state).symptoms if episode.describe(0).count(s))
    symptom = episode.legal(0).options[0].fields["symptom"].values[0]
    episode.act({0: Ask(symptom)})
    assert episode.to_act == (1,)
    assert f"do you have {symptom}?" in episode.describe(1)
    assert "Disease 1" not in episode.describe(1)
    assert name


# Counselling

SPLITS = registry().environment("tasks/Counselling-v0").splits


@pytest.mark.parametrize("move", MOVES)
def test_feelings_change_with_the_stated_chances(move: str) -> None:
    _, rises, falls = EFFECTS[move]
    for emotion in range(1, 5):
        up = rises if move == SUITS[emotion] else 0
        after = [modulate(emotion, move, draw) - emotion for draw in range(100)]
        assert (after.count(1), after.count(-1), after.count(0)) == (up, falls, 100 - up - falls)
    assert {modulate(e, move, d) for e, d in product(range(len(EMOTIONS)), range(100))} <= set(
        range(len(EMOTIONS))
    )


def test_patience_is_rewarded_and_harm_is_not() -> None:
    assert mean_score("tasks/Counselling-v0", "counsellor-patient", 6, **SPLITS["chain"]) > 0.9
    assert mean_score("tasks/Counselling-v0", "counsellor-blunt", 6, **SPLITS["chain"]) < 0


def test_trust_follows_by_hand_and_fades_between_sessions() -> None:
    episode = palestra.Episode(Counselling(seeker="chain", sessions=2, length=3), 6)
    trust = episode.state.trust
    for move in ("reflect", "reflect", "affirm"):
        more = EFFECTS[move][0] if move == SUITS[episode.state.emotion] else -2
        trust = max(0, min(100, trust + more))
        episode.act({0: Say(move, LINES[move])})
    assert episode.state.trust == max(0, trust - 15)
    assert len(episode.state.scales) == 2
    assert len(episode.state.summaries) == 1


def constant_pay(game: Counselling, acts: Sequence[Any], seeds: range) -> float:
    """The mean pay of a counsellor who takes acts in turn, whatever they hear."""
    total = 0.0
    for seed in seeds:
        episode = palestra.Episode(game, seed)
        while not episode.over:
            episode.act({0: acts[episode.steps_played % len(acts)]})
        total += episode.returns[0]
    return total / len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        SPLITS["chain"],
        {"seeker": "chain", "sessions": 3, "length": 20},
        {"seeker": "chain", "depth": "deep", "sessions": 3, "length": 20},
    ],
)
def test_no_round_of_acts_that_hears_nothing_reaches_a_seeker(options: dict[str, Any]) -> None:
    game = Counselling(**options)
    honest = "counsellor-searching" if game.depth == "deep" else "counsellor-patient"
    reached = mean_score("tasks/Counselling-v0", honest, 12, **options)
    says = {move: Say(move, LINES[move]) for move in MOVES}
    rounds: list[list[Any]] = [[one] for one in says.values()]
    rounds += [list(pair) for pair in permutations(list(says.values())[:5], 2)]
    rounds.append(list(says.values())[:5])
    if game.depth == "deep":
        touches = [Touch(topic, "?") for topic in TOPICS]
        rounds += [touches, touches[5:6]]
        rounds += [[one for touch in touches for one in (say, touch)] for say in says.values()]
    assert max(constant_pay(game, acts, range(40)) for acts in rounds) < 0.4 * reached


# The proactive assistant


def test_f1_is_scikit_learns() -> None:
    for hits, false, missed, quiet in ((3, 1, 2, 4), (0, 2, 1, 1), (5, 0, 0, 5), (1, 7, 0, 0)):
        truth = [1] * hits + [0] * false + [1] * missed + [0] * quiet
        said = [1] * hits + [1] * false + [0] * missed + [0] * quiet
        assert f1_of((hits, false, missed, quiet)) == pytest.approx(
            f1_score(truth, said, zero_division=0)
        )


def test_silence_has_no_recall_and_no_false_alarm() -> None:
    (record,) = palestra.play("tasks/Proactive-v0", agents="proactive-silent", seed=2, day="none")
    (found,) = [e.data["verdict"] for e in record.events if "verdict" in e.data]
    assert found["recall"] == 0
    assert found["false_alarms"] == 0


def test_whoever_is_told_the_needs_has_an_f1_of_1() -> None:
    game = Proactive(day="none", turns=60)
    episode = palestra.Episode(game, 3)
    while not episode.over:
        need = episode.state.need
        episode.act({0: game.menu[1 + game.kinds.index(need) if need else 0]})
    assert episode.state.final.facts["f1"] == 1.0
    assert episode.returns[0] == pytest.approx(1.0)


def test_helpers_are_ranked() -> None:
    scores = [
        mean_score("tasks/Proactive-v0", agents, 4, day="none")
        for agents in ("proactive-matching", "proactive-silent", "proactive-eager")
    ]
    assert scores == sorted(scores, reverse=True)


def test_triage_is_as_often_right_as_the_posterior_says() -> None:
    game = Hospital(course="whole", patients=30)
    rng = Rng.seeded(3)
    expected, right, count = 0.0, 0, 0
    for seed in range(40):
        state = game.initial_state(seed)
        known = game.knowledge(state)
        for _ in range(20):
            case = draw_case(known, rng)
            named = rng.choice([n for n, yes in enumerate(case.symptoms) if yes])
            weights = belief(known, {named: True}, {})
            wings = [sum(remaining(known, weights, wing, "")) for wing in WINGS]
            expected += max(wings)
            right += wings.index(max(wings)) == case.disease % 3
            count += 1
    assert abs(right - expected) / count < 3 * (0.25 / count) ** 0.5


def treat(game: Hospital, episode: palestra.Episode, right: bool, cure: bool) -> None:
    state, known = episode.state, game.knowledge(episode.state)
    disease = state.case.disease
    named = disease if right else (disease + 1) % len(known.diseases)
    given = known.cures[disease] + (not cure)
    treatment = known.treatments[given % len(known.treatments)]
    episode.act({0: Treat(known.diseases[named], treatment)})


# by what was right at the first visit and at the second: what is paid in all
COURSES = [
    ((True, True), None, 1.5),
    ((False, True), None, 0.5),
    ((True, False), (True, True), 1.25),
    ((False, False), (True, True), 0.75),
    ((True, False), (False, False), 1.0),
    ((False, False), (False, False), 0.0),
]


@pytest.mark.parametrize(("first", "second", "paid"), COURSES)
def test_what_is_right_only_when_a_patient_comes_back_pays_half(
    first: tuple[bool, bool], second: tuple[bool, bool] | None, paid: float
) -> None:
    game = Hospital(course="whole", patients=1)
    episode = palestra.Episode(game, 5)
    true = WINGS[episode.state.case.disease % 3]
    wrong = next(wing for wing in WINGS if wing != true)
    episode.act({0: Triage(wrong)})
    assert f"sends the patient on to the {true} wing" in episode.log[-1][0].text
    assert "Questions and tests left: 8." in episode.describe(0)
    treat(game, episode, *first)
    if second:
        assert not episode.over
        assert episode.returns[0] == 0, "what is paid would tell whether the diagnosis was right"
        assert "did not help" in episode.describe(0)
        treat(game, episode, *second)
    assert episode.over
    assert episode.returns[0] == pytest.approx(paid)


def test_patients_who_come_back_are_counted() -> None:
    options: dict[str, Any] = {"course": "whole", "patients": 12, "textbook": False}
    (record,) = palestra.play("tasks/Hospital-v0", agents="hospital-records", seed=3, **options)
    told = " ".join(event.text for event in record.events)
    back = told.count("has come back")
    assert 0 < back < 12
    assert measure(record)["came-back"] == back / 12


def test_a_doctor_who_needs_the_textbook_says_so() -> None:
    with pytest.raises(palestra.PalestraError, match="hospital-evolving"):
        palestra.play("tasks/Hospital-v0", agents="hospital-bayes", textbook=False)


def test_a_nurse_may_be_a_fourth_player() -> None:
    episode = palestra.Episode(Hospital(course="whole", num_players=4), 1)
    assert episode.to_act == (3,)
    assert "Triage" not in episode.prompt(0)
    episode.act({3: Triage("east")})
    assert episode.to_act == (0,)
    assert mean_score("tasks/Hospital-v0", "hospital-bayes", 6, course="whole", num_players=4) > 0.7


def test_the_emotions_of_a_deep_seeker_settle_as_their_matrix_says() -> None:
    kinds = len(EMOTIONS)
    matrix = np.zeros((kinds, kinds))
    for emotion in range(kinds):
        rises, falls = EFFECTS["inform"][1:]
        rises = rises if SUITS[emotion] == "inform" else 0
        row = np.zeros(kinds)
        row[min(kinds - 1, emotion + 1)] += rises / 100
        row[max(0, emotion - 1)] += falls / 100
        row[emotion] += 1 - (rises + falls) / 100
        matrix[emotion] = (1 - STIRS / 100) * row + STIRS / 100 / kinds
    values, vectors = np.linalg.eig(matrix.T)
    settled = np.real(vectors[:, np.argmax(np.real(values))])
    settled /= settled.sum()
    rng, emotion, seen = Rng.seeded(5), 0, np.zeros(kinds)
    for _ in range(40_000):
        emotion = modulate(emotion, "inform", rng.below(100))
        emotion = stir(emotion, STIRS, rng.below(100 * kinds))
        seen[emotion] += 1
    assert np.abs(seen / seen.sum() - settled).max() < 0.02


def deep(seed: int) -> palestra.Episode:
    return palestra.Episode(Counselling(seeker="chain", depth="deep", sessions=2, length=8), seed)


@pytest.mark.parametrize("seed", range(6))
def test_a_complaint_waits_until_its_topic_is_touched(seed: int) -> None:
    game = Counselling(seeker="chain", depth="deep", sessions=2, length=8)
    state = game.initial_state(seed)
    topic = CHAIN_TOPICS[CHAINS.index(state.chain)][0]
    heard = []
    for action in (*[Say("reflect", "I see.")] * 2, *[Touch(topic, "How is it?")] * 4):
        state.trust, state.emotion = 100, 5
        game.step(state, {0: action})
        heard.append(state.voiced)
    # the next complaint has another topic; 1 in 20 moves stirs the seeker so that they are not calm
    assert heard[:2] == [0, 0]
    assert heard[-1] == 1
    assert f"Topics touched: {topic}." in game.describe(state, 0)


def test_what_happened_between_sessions_is_told_once() -> None:
    episode = deep(1)
    episode.act({0: Close()})
    happened = EVENTS[episode.state.event][0]
    assert happened not in episode.describe(0)
    episode.act({0: Say("affirm", "Good to see you.")})
    assert happened not in episode.log[-1][0].text
    episode.act({0: Say("ask", "How was your week?")})
    assert happened in episode.log[-1][0].text
    episode.act({0: Say("ask", "And now?")})
    assert happened not in episode.log[-1][0].text


def test_touching_topics_reaches_a_deep_seeker_whom_patience_does_not() -> None:
    options = SPLITS["deep"]
    assert mean_score("tasks/Counselling-v0", "counsellor-patient", 8, **options) == 0
    assert mean_score("tasks/Counselling-v0", "counsellor-searching", 8, **options) > 0.2


@pytest.mark.parametrize("depth", ["plain", "deep"])
def test_a_counsellor_cannot_tell_complaints_that_a_player_has_not_voiced_as_they_are(
    depth: str,
) -> None:
    game = Counselling(seeker="chain", num_players=2, depth=depth, sessions=2, length=4)
    episode = palestra.Episode(game, 3)
    for _ in range(3):
        episode.act({0: Say("reflect", "I see.")})
        episode.act({1: Speak("I am here.")})
    drawn = []
    for chain in CHAINS:
        other = game.clone(episode.state)
        other.chain = chain
        imagined = [game.determinize(other, 0, Rng(seed)) for seed in range(40)]
        drawn.append([(one.chain, one.summaries) for one in imagined])
    assert drawn == [drawn[0]] * len(CHAINS)
    assert len(set(drawn[0])) > 1


def test_chains_are_imagined_as_often_as_they_lead_to_what_was_seen() -> None:
    game = Counselling(seeker="chain", num_players=2, depth="deep", sessions=1, length=8)
    touch, affirm = Touch("body", "How is it?"), Say("affirm", "Good.")
    counted, states = np.zeros(len(CHAINS)), []
    for seed in range(1500):
        state = game.initial_state(seed)
        for action in (touch, affirm, touch, Say("reflect", "I see."), touch):
            game.step(state, {0: action})
            game.step(state, {1: Speak("…")})
        if state.voiced == 0:
            counted[CHAINS.index(state.chain)] += 1
            states.append(state)
    worlds = [game.determinize(states[n % 20], 0, Rng(n)) for n in range(400)]
    imagined = [sum(world.chain == chain for world in worlds) for chain in CHAINS]
    assert counted.min() < 0.7 * counted.max()  # what was seen tells something of the chain
    assert np.abs(counted / counted.sum() - np.array(imagined) / 400).sum() / 2 < 0.07


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("seed", range(3))
def test_words_neither_add_to_pay_nor_take_from_it(move: str, seed: int) -> None:
    def paid(words: str) -> tuple[float, str]:
        episode = palestra.Episode(Counselling(seeker="chain", sessions=1, length=6), seed)
        while not episode.over:
            episode.act({0: Say(move, words)})
        return episode.returns[0], str(episode.outcome and episode.outcome.reason)

    assert paid("Shut up.") == paid("That sounds heavy.")
    assert "No words were read" in paid("Shut up.")[1]


@pytest.mark.parametrize("options", [{}, SPLITS["deep"], {"num_players": 2}])
def test_who_is_paid_for_moves_is_told_that_words_are_not_read(options: dict[str, Any]) -> None:
    game = Counselling(**options)
    assert "neither the seeker nor the score reads your words" in game.rules_for(0)
    assert game.reward_terms == ("choice_of_moves",)
    if game.num_players == 2:
        assert "harmful move" not in game.rules_for(1)  # the seeker is not told how moves are paid


# Incidents


@pytest.mark.parametrize("hidden", range(30))
@pytest.mark.parametrize("kinds", [KINDS, TEN], ids=["five", "ten"])
def test_the_known_remedy_scores_1(hidden: int, kinds: tuple[str, ...]) -> None:
    incident = draw_incident(7, hidden, None, kinds)
    assert quality(list(incident.remedy), incident.remedy) == (1.0, 1.0, 1.0)
    assert quality(["look into recent changes"], incident.remedy) == (0.0, 0.0, 0.0)


def test_every_kind_of_incident_is_drawn() -> None:
    assert {draw_incident(1, hidden).kind for hidden in range(60)} == set(KINDS)
    assert {draw_incident(1, hidden, None, TEN).kind for hidden in range(120)} == set(TEN)


def test_the_runbook_knows_ten_causes_and_the_five_of_old_are_not_enough() -> None:
    assert (
        mean_score("tasks/Incident-v0", "incident-runbook", 30, system="none", causes="ten") == 1.0
    )
    incident = next(i for n in range(99) if (i := draw_incident(7, n, None, TEN)).kind == "flag")
    service = incident.service
    valid, specific, right = quality([f"turn-off {service} {incident.named}"], incident.remedy)
    assert (valid, specific, right) == (1.0, 1.0, 1.0)
    assert quality([f"turn-off {service} no-such-flag"], incident.remedy)[0] == 0.0
    assert quality([f"fail-over {service} {incident.named}"], incident.remedy)[0] == 0.0


def test_correctness_is_scikit_learns_jaccard() -> None:
    remedy, said = ("clean-disk cart", "restart cart"), ["restart cart", "scale cart 4"]
    words = sorted({w for line in (*remedy, *said) for w in line.split()})
    rows = [
        [int(any(w in line.split() for line in lines)) for w in words] for lines in (remedy, said)
    ]
    assert correctness(said, remedy) == pytest.approx(jaccard_score(*rows))


def test_a_team_hears_notes_and_one_hands_in() -> None:
    assert (
        mean_score("tasks/Incident-v0", "incident-runbook", 4, system="none", num_players=3) == 1.0
    )
    assert mean_score("tasks/Incident-v0", "incident-vague", 4, system="none", num_players=3) == 0.0


@pytest.mark.parametrize("brief", [Brief("memory", "", "low"), Brief("disk", "look", "high")])
def test_a_brief_without_a_command_is_paid_nothing(brief: Brief) -> None:
    episode = palestra.Episode(IncidentResponse(system="none"), 0)
    episode.act({0: brief})
    assert episode.returns[0] == 0


@pytest.mark.parametrize("causes", ["five", "ten"])
@pytest.mark.parametrize("seats", [1, 2, 3])
def test_no_seat_reads_what_to_do_before_somebody_consults_the_runbook(
    seats: int, causes: str
) -> None:
    game = IncidentResponse(system="none", num_players=seats, causes=causes)
    episode = palestra.Episode(game, 5)
    for seat in range(seats):
        assert not [c for c in COMMANDS if f"{c} " in episode.prompt(seat, 0)]
    episode.act({0: Consult("certificate")})
    for seat in range(seats):
        told = episode.prompt(seat, 0)
        assert "rotate-certificate SERVICE; restart SERVICE" in told
        assert not [c for c in ("rollback", "clean-disk", "scale") if f"{c} " in told]
        assert not re.search(r"\b(deploys|logs|metrics): ", told)


@pytest.mark.parametrize("causes", ["five", "ten"])
@pytest.mark.parametrize("guess", TEN)
def test_a_brief_written_unread_earns_what_guessing_the_cause_allows(
    guess: str, causes: str
) -> None:
    """It knows the service from the alert, the runbook by heart, and offers what it can at once."""
    game, forms = IncidentResponse(system="none", causes=causes), RUNBOOK[guess].commands
    likely = {"VERSION": ("v2.5.9",), "REPLICAS": ("4", "6", "8", "10"), "FLAG": ("dark-mode",)}
    likely |= {"ZONE": ("north", "south", "east"), "CLIENT": ("client-500",), "OTHER": ("cart",)}
    kinds = KINDS if causes == "five" else TEN
    if guess not in kinds:
        return
    paid = []
    for seed in range(200):
        incident = incident_of(game.initial_state(seed))
        asked = [line.replace("SERVICE", incident.service) for line in forms]
        for word, values in likely.items():
            asked = [line.replace(word, value) for line in asked for value in values]
        paid.append(pay_of(Brief(guess, "\n".join(dict.fromkeys(asked)), "low"), incident))
    assert sum(paid) / 200 < 1 / len(kinds) + 0.06


@pytest.mark.parametrize("hidden", range(40))
@pytest.mark.parametrize("kinds", [KINDS, TEN], ids=["five", "ten"])
def test_only_the_true_cause_with_its_commands_is_paid(hidden: int, kinds: tuple[str, ...]) -> None:
    incident = draw_incident(3, hidden, None, kinds)
    right = "\n".join(incident.remedy)
    assert pay_of(Brief(incident.kind, right, "low"), incident) == 1
    assert not any(pay_of(Brief(k, right, "low"), incident) for k in kinds if k != incident.kind)
    elsewhere = right.replace(incident.remedy[0].split()[1], "nowhere")
    assert pay_of(Brief(incident.kind, elsewhere, "low"), incident) == 0
    assert 0 < pay_of(Brief(incident.kind, f"{right}\nrestart x", "low"), incident) < 1
    if len(incident.remedy) > 1:
        assert 0 < pay_of(Brief(incident.kind, incident.remedy[0], "low"), incident) < 0.5


def test_causes_and_pages_are_named_and_others_refused() -> None:
    episode = palestra.Episode(IncidentResponse(system="none"), 0)
    with pytest.raises(InvalidAction, match="'deploy'"):
        episode.act({0: Brief("x", "restart auth", "low")})
    with pytest.raises(InvalidAction, match="'memory'"):
        episode.act({0: Consult("everything")})
