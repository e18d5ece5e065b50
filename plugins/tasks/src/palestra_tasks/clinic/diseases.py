"""Generating models of diseases: symptoms, findings of tests, and treatments that help.

A clinic's knowledge is drawn from a seed, with invented names, so that nothing in it is medicine.
Each disease has a share of patients, a chance for every symptom, a chance that each test is
positive, and the treatments that help.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from palestra import Rng

DISEASES = (
    "brack fever", "ollen's palsy", "mirrow pox", "dry tamber", "lunt syndrome", "grey husk",
    "vessel itch", "pale corran", "quill disease", "sump ague", "norrow ache", "tallow fits",
)  # fmt: skip
SYMPTOMS = (
    "a cough", "shivers", "blurred sight", "a stiff neck", "hot hands", "ringing ears",
    "a rash", "short breath", "cramps", "no appetite", "dizziness", "a dry mouth",
    "swollen ankles", "bad sleep",
)  # fmt: skip
TESTS = (
    "ember test", "fluid panel", "shade scan", "pulse trace", "sol culture", "glass smear",
    "tide count", "bone echo",
)  # fmt: skip
TREATMENTS = (
    "amber drops", "bitter salts", "cold wraps", "dusk tablets", "elder tonic", "fern balm",
)  # fmt: skip
COMMON, RARE = (55, 92), (2, 12)  # percent


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The generating model of a clinic. Chances are by disease, then by symptom or test."""

    diseases: tuple[str, ...]
    symptoms: tuple[str, ...]
    tests: tuple[str, ...]
    treatments: tuple[str, ...]
    shares: tuple[float, ...]
    symptom_chances: tuple[tuple[float, ...], ...]
    test_chances: tuple[tuple[float, ...], ...]
    prices: tuple[int, ...]  # of each test
    cures: tuple[int, ...]  # by disease, the number of the treatment that helps


@dataclass(frozen=True, slots=True)
class Case:
    """A patient: what they have, which symptoms, and what each test would show."""

    disease: int
    symptoms: tuple[bool, ...]
    tests: tuple[bool, ...]


@lru_cache(maxsize=512)
def draw_knowledge(diseases: int, seed: int) -> Knowledge:
    """A clinic's knowledge; nobody changes it."""
    rng = Rng.seeded(seed, 31)

    def some(names: Sequence[str], count: int) -> tuple[str, ...]:
        drawn = list(names)
        rng.shuffle(drawn)
        return tuple(drawn[:count])

    def chances(count: int, typical: int) -> tuple[float, ...]:
        found = [rng.between(*RARE) / 100 for _ in range(count)]
        places = list(range(count))
        rng.shuffle(places)
        for place in places[:typical]:
            found[place] = rng.between(*COMMON) / 100
        return tuple(found)

    shares = [rng.between(5, 30) for _ in range(diseases)]
    names = some(DISEASES, diseases)
    return Knowledge(
        names,
        some(SYMPTOMS, len(SYMPTOMS)),
        some(TESTS, len(TESTS)),
        some(TREATMENTS, len(TREATMENTS)),
        tuple(s / sum(shares) for s in shares),
        tuple(chances(len(SYMPTOMS), 4) for _ in names),
        tuple(chances(len(TESTS), 2) for _ in names),
        tuple(rng.between(1, 8) for _ in TESTS),
        tuple(rng.below(len(TREATMENTS)) for _ in names),
    )


def draw_case(known: Knowledge, rng: Rng) -> Case:
    """A patient with at least one symptom, which is what brings them."""
    while True:
        disease = rng.weighted(known.shares)
        symptoms = tuple(rng.random() < p for p in known.symptom_chances[disease])
        tests = tuple(rng.random() < p for p in known.test_chances[disease])
        if any(symptoms):
            return Case(disease, symptoms, tests)


def belief(
    known: Knowledge, symptoms: Mapping[int, bool], tests: Mapping[int, bool]
) -> tuple[float, ...]:
    """The posterior of every disease given some answers and findings, by Bayes' rule.

    It allows for patients without any symptom never coming.
    """
    logs = []
    for disease, share in enumerate(known.shares):
        silent = math.prod(1 - p for p in known.symptom_chances[disease])
        log = math.log(share * (1 - silent))
        for chances, seen in (
            (known.symptom_chances[disease], symptoms),
            (known.test_chances[disease], tests),
        ):
            log += sum(math.log(chances[n] if yes else 1 - chances[n]) for n, yes in seen.items())
        given = any(symptoms.values())
        # with no symptom found yet, one of those not asked about must be there
        left = math.prod(
            1 - p for n, p in enumerate(known.symptom_chances[disease]) if n not in symptoms
        )
        log += math.log(max(1e-300, 1.0 if given else 1 - left)) - math.log(1 - silent)
        logs.append(log)
    top = max(logs)
    weights = [math.exp(log - top) for log in logs]
    return tuple(w / sum(weights) for w in weights)
