"""What the lobby's form sends by itself opens a match, in every environment and every variant."""

import httpx
import pytest
from palestra.kernel.registry import open_game, registry
from palestra_server.allowed import Allowed
from palestra_server.messages import Create
from palestra_server.page import choices
from palestra_server.plans import MatchDefaults, plan_for

IDS = sorted(registry().environments)
OFFERED = choices(Allowed(envs=("*",)))


def sent_by_the_form(env, split=""):
    """What lobby.js sends when nobody changes anything but the variant."""
    (offered,) = (one for one in OFFERED["environments"] if one["id"] == env)
    group = f"{env.partition('/')[0]}/*"
    fits = {a["name"] for a in OFFERED["agents"] if {"*", env, group} & set(a["plays"])}
    other = "random" if "random" in fits else "open"
    count = offered["splits"].get(split, offered["seats"])
    seats = ["open", *[other] * (count - 1)]
    return {"env": env, "split": split or None, "options": {}, "seats": seats, "public": False}


@pytest.mark.exhaustive(sample=24)
@pytest.mark.parametrize("env", IDS)
def test_every_environment_opens_from_the_forms_own_values(server, env):
    url, running = server
    made = httpx.post(f"{url}/matches", json=sent_by_the_form(env), timeout=60)
    assert made.status_code == 201, made.text
    match, invite = made.json()["match"], made.json()["invite"]
    seat = httpx.post(f"{url}/matches/{match}/join", json={"seat": 0, "invite": invite})
    assert seat.status_code == 201, seat.text
    assert running.match(match).game.num_players == open_game(env, {})[1].num_players
    header = {"Authorization": f"Bearer {seat.json()['token']}"}
    httpx.post(f"{url}/seat/resign", headers=header)


VARIANTS = [(spec.id, split) for spec in registry().environments.values() for split in spec.splits]


@pytest.mark.exhaustive(sample=40)
@pytest.mark.parametrize(("env", "split"), VARIANTS)
def test_every_variant_opens_with_the_seats_that_it_has(env, split):
    body = sent_by_the_form(env, split)
    wanted = Create(env, tuple(body["seats"]), split=split)
    plan = plan_for(wanted, MatchDefaults())
    game = open_game(env, dict(plan.options), len(plan.seats))[1]
    assert len(plan.seats) == game.num_players
    assert game.num_players == open_game(env, {"split": split})[1].num_players


@pytest.mark.parametrize("env", ["grid/Kitchen-v0", "text/OrderKitchen-v0", "tasks/Incident-v0"])
def test_one_seat_is_opened_where_one_is_asked_for(server, env):
    url, running = server
    body = {"env": env, "seats": ["open"], "public": False}
    made = httpx.post(f"{url}/matches", json=body)
    assert made.status_code == 201, made.text
    assert running.match(made.json()["match"]).game.num_players == 1


@pytest.mark.parametrize(("env", "seats"), [("games/Werewolf-v0", (2, 5)), (IDS[0], (0,))])
def test_open_seats_without_opponents_are_refused_and_say_what_to_do(server, env, seats):
    """Every seat was open, also those for which agents were wanted."""
    wanted = {"env": env, "open": seats}
    refused = httpx.post(f"{server[0]}/matches", json=wanted)
    assert refused.status_code == 400
    assert f"open is {list(seats)}" in refused.json()["error"]
    assert "name opponents too" in refused.json()["error"]
    assert plan_for(Create(env, open=seats, opponents="random"), MatchDefaults()).seats.count(
        "open"
    ) == len(seats)
