"""For tests: agents of every form, in a module that a process of its own can import."""

from __future__ import annotations

import asyncio

import palestra


def first(turn):
    return turn.legal_actions[0]


async def first_later(turn):
    await asyncio.sleep(0)
    return turn.legal_actions[0]


async def first_at_last(turn):
    yield "thinking"
    await asyncio.sleep(0)
    yield turn.legal_actions[0]


class Acts:
    def act(self, turn):
        return first(turn)


class Fails:
    def __init__(self):
        raise RuntimeError("no key")

    def act(self, turn):
        return first(turn)


def whole(depth: int = 2):
    return palestra.make_agent("first")


def function():
    return first


def named():
    return "first"


def broken():
    return len(3)


async def made_later():
    return Acts()
