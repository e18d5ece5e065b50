"""AppWorld: an assistant that reads pages only, planted wrong plays, what apps refuse, counters."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from palestra import InvalidAction, InvalidOption, Rng
from palestra_web.apps.assistants import OracleAssistant, begin
from palestra_web.apps.browsing import Play, send_form, table_of
from palestra_web.apps.chores import CHORES, EVERY
from palestra_web.apps.errands import ERRANDS, draw_scenario, first_free
from palestra_web.apps.rows import ME, TABLES, Meeting, changes
from palestra_web.apps.site import AppWorld
from palestra_web.shop.catalogue import Draw

STRANGER = "nobody@nowhere.example"


def start(kind: str, seed: int = 0) -> palestra.Episode:
    made: palestra.Episode = palestra.make("web/AppWorld-v0", view="episode", seed=seed, kind=kind)
    return made


def act(episode: palestra.Episode, play: Play) -> str:
    """Act a play out, all but its end; returns its answer."""
    try:
        action = next(play)
        while True:
            episode.act({0: action})
            action = play.send(episode.describe(0))
    except StopIteration as done:
        return str(done.value)


def do(episode: palestra.Episode, *actions: str) -> str:
    for text in actions:
        episode.act({0: episode.parse(0, text)})
    return episode.describe(0)


def stop(episode: palestra.Episode, answer: str = "") -> tuple[bool, ...]:
    do(episode, f"Stop(answer={answer!r})")
    passed: tuple[bool, ...] = episode.state.data.verdicts
    share = sum(passed) / len(passed) if any(passed[:-1]) else 0
    assert episode.returns[0] == pytest.approx(share)
    assert episode.outcome is not None
    assert episode.outcome.results == ("win" if all(passed) else "loss",)
    return passed


@pytest.mark.parametrize("kind", ERRANDS)
def test_an_assistant_that_reads_pages_passes_every_test(kind: str) -> None:
    records = palestra.play(
        "web/AppWorld-v0", agents=["oracle-assistant"], episodes=40, seed=11, kind=kind
    )
    assert all(record.returns[0] == 1 for record in records)
    assert all(record.outcome.results == ("win",) for record in records)


@pytest.mark.parametrize("kind", CHORES)
def test_the_assistant_does_every_chore(kind: str) -> None:
    records = palestra.play(
        "web/AppWorld-v0", agents=["oracle-assistant"], episodes=12, seed=31, kind=kind
    )
    assert all(record.outcome.results == ("win",) for record in records)


@pytest.mark.parametrize("kind", CHORES)
def test_a_chore_done_with_a_side_effect_fails_that_test_alone(kind: str) -> None:
    episode = start(kind, seed=6)
    answer = act(episode, begin(episode.state.data.errand.text))
    act(episode, send_form("/files/new", "Save", Name="extra", Text="x"))
    *wanted, nothing_else = stop(episode, answer)
    assert all(wanted)
    assert not nothing_else


def test_all_kinds_are_drawn_and_any_keeps_to_the_first_eight() -> None:
    assert len(EVERY) == 33
    drawn = {start("all", seed).state.data.errand.kind for seed in range(300)}
    assert drawn == set(EVERY)
    assert {start("any", seed).state.data.errand.kind for seed in range(60)} == set(ERRANDS)


@pytest.mark.parametrize("kind", EVERY)
def test_changing_nothing_passes_only_that_nothing_else_has_changed(kind: str) -> None:
    for seed in range(10):
        episode = start(kind, seed)
        errand = episode.state.data.errand
        tests = len(errand.wanted) + bool(errand.truth)
        assert tests > 0
        assert stop(episode) == (*[False] * tests, True)
        assert episode.returns[0] == 0


# Planted wrong plays: what was asked for is done, and something else too


def first(episode: palestra.Episode, table: str) -> int:
    """The number of a row that no errand here touches."""
    found: int = getattr(episode.state.data.before, table)[0].id
    return found


def mail_too_much(episode: palestra.Episode) -> Play:
    to = episode.state.data.apps.people[0].address
    yield from send_form("/mail/new", "Send", To=to, Subject="Hello", Text="By the way")
    return ""


def mail_deleted(episode: palestra.Episode) -> Play:
    yield from send_form(f"/mail/{first(episode, 'mails')}", "Delete")
    return ""


def money_thrown_away(episode: palestra.Episode) -> Play:
    to = episode.state.data.apps.people[0].address
    yield from send_form("/payments/send", "Pay", To=to, Dollars="0.01")
    return ""


def money_asked_for(episode: palestra.Episode) -> Play:
    to = episode.state.data.apps.people[0].address
    yield from send_form("/payments/request", "Request", From=to, Dollars="0.01")
    return ""


def meeting_added(episode: palestra.Episode) -> Play:
    data = episode.state.data
    fields = {"Title": "Lunch", "With": data.apps.people[0].address, "Day": data.apps.today}
    yield from send_form("/calendar/new", "Add", **fields, Start="12:00")
    return ""


def file_added(episode: palestra.Episode) -> Play:
    yield from send_form("/files/new", "Save", Name="thoughts", Text="none")
    return ""


def file_overwritten(episode: palestra.Episode) -> Play:
    yield from send_form(f"/files/{first(episode, 'files')}", "Save", Text="gone")
    return ""


def file_deleted(episode: palestra.Episode) -> Play:
    yield from send_form(f"/files/{first(episode, 'files')}", "Delete")
    return ""


HARM = (
    *(mail_too_much, mail_deleted, money_thrown_away, money_asked_for, meeting_added),
    *(file_added, file_overwritten, file_deleted),
)


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("kind", ERRANDS)
def test_a_side_effect_fails_that_test_and_no_other(kind: str, harm: Any) -> None:
    episode = start(kind, seed=4)
    answer = act(episode, begin(episode.state.data.errand.text))
    act(episode, harm(episode))
    *wanted, nothing_else = stop(episode, answer)
    assert all(wanted)
    assert not nothing_else


def test_what_is_done_twice_is_a_side_effect() -> None:
    for kind in ("reply", "split-bill"):
        episode = start(kind, seed=2)
        for _ in range(2):
            act(episode, begin(episode.state.data.errand.text))
        *wanted, nothing_else = stop(episode)
        assert all(wanted)
        assert not nothing_else


def test_what_is_left_out_fails_its_own_test() -> None:
    episode = start("split-bill")
    play = begin(episode.state.data.errand.text)
    action = next(play)
    while len(episode.state.data.apps.asks) == len(episode.state.data.before.asks):
        episode.act({0: action})
        action = play.send(episode.describe(0))
    passed = stop(episode)
    assert passed == (True, *[False] * (len(passed) - 2), True)


def test_another_sum_fails_both_ways() -> None:
    episode = start("pay-debts", seed=1)
    to, amount = episode.state.data.errand.wanted[0].row[1:]
    dollars = f"{(amount + 1) // 100}.{(amount + 1) % 100:02}"
    act(episode, send_form("/payments/send", "Pay", To=to, Dollars=dollars))
    passed = stop(episode)
    assert not any(passed)


def test_another_person_is_the_wrong_person() -> None:
    episode = start("reply", seed=3)
    data = episode.state.data
    mail = next(m for m in data.apps.mails if m.sender != data.errand.wanted[0].row[2])
    text = data.errand.wanted[0].row[4]
    page = do(episode, f"Goto('/mail/{mail.id}')")
    assert "button 'Reply'" in page
    act(episode, send_form(f"/mail/{mail.id}", "Reply", Text=text))
    assert stop(episode) == (False, False)


def test_a_settled_debt_is_not_to_be_paid() -> None:
    """Some demands have been settled, in every few worlds; paying one is a side effect."""
    for seed in range(50):
        scenario = draw_scenario(Draw(seed))
        debt = next((debt for debt in scenario.debts if debt.settled), None)
        if debt is not None:
            break
    assert debt is not None
    assert any("is settled" in m.text and m.day > debt.day for m in scenario.apps.mails)


def test_what_is_undone_is_no_side_effect() -> None:
    episode = start("how-much", seed=6)
    answer = act(episode, begin(episode.state.data.errand.text))
    act(episode, file_added(episode))
    new = episode.state.data.apps.files[-1].id
    act(episode, send_form(f"/files/{new}", "Delete"))
    meeting = episode.state.data.apps.meetings[0]
    url = f"/calendar/{meeting.id}"
    act(episode, send_form(url, "Move", Start="20:30"))
    assert changes(episode.state.data.before, episode.state.data.apps)
    act(episode, send_form(url, "Move", Start=meeting.start))
    assert stop(episode, answer) == (True, True)


def test_a_wrong_answer_fails_its_own_test() -> None:
    assert stop(start("how-much"), "1000000.00") == (False, True)


def test_blanks_and_notes_do_not_count() -> None:
    episode = start("reply")
    act(episode, begin(episode.state.data.errand.text.replace("text: ", "text:  ")))
    assert stop(episode) == (True, True)
    episode = start("pay-debts", seed=1)
    for change in episode.state.data.errand.wanted:
        _, to, amount = change.row
        dollars = f"{amount // 100}.{amount % 100:02}"
        act(episode, send_form("/payments/send", "Pay", To=to, Dollars=dollars, For="as you asked"))
    assert all(stop(episode))


def test_only_stop_is_paid() -> None:
    episode = palestra.make("web/AppWorld-v0", view="episode", seed=0, limit=2)
    do(episode, "Goto('/mail')", "Goto('/')")
    assert episode.returns[0] == 0
    assert episode.outcome.results == ("truncated",)


# The calendar's truth by trying every minute


def test_the_first_free_time_is_that_of_a_search_by_minutes() -> None:
    rng = Rng.seeded(5)
    found = []
    for _ in range(200):
        day = [
            Meeting(n, "x", ME, "2025-03-04", f"{rng.between(9, 15):02}:{30 * rng.below(2):02}",
                    30 * rng.between(1, 4))
            for n in range(rng.between(1, 6))
        ]  # fmt: skip
        busy = set[int]()
        for meeting in day:
            begin_ = 60 * int(meeting.start[:2]) + int(meeting.start[3:])
            busy |= set(range(begin_, begin_ + meeting.minutes))
        length = 30 * rng.between(1, 4)
        free = [
            start_
            for start_ in range(540, 1020)
            if start_ % 30 == 0
            and start_ + length <= 1020
            and not busy & set(range(start_, start_ + length))
        ]
        expected = f"{free[0] // 60:02}:{free[0] % 60:02}" if free else None
        found.append(first_free(day, "2025-03-04", length))
        assert found[-1] == expected
    assert None in found
    assert len(set(found)) > 8


# What apps refuse changes nothing


@pytest.mark.parametrize(
    ("url", "name", "fields", "why"),
    [
        ("/mail/new", "Send", {"To": STRANGER, "Text": "Hello"}, "address"),
        ("/mail/new", "Send", {"To": "Robin Hale", "Text": "Hello"}, "address"),
        ("/mail/new", "Send", {"To": "?", "Text": ""}, "empty"),
        ("/calendar/new", "Add", {"Title": "x", "With": "?", "Day": "tomorrow"}, "day"),
        ("/calendar/new", "Add", {"Title": "x", "With": "?", "Day": "2025-02-30"}, "day"),
        ("/calendar/new", "Add", {"Title": "x", "With": "?", "Day": "2020-01-01"}, "day"),
        ("/calendar/new", "Add", {"Title": "x", "With": "?", "Day": "20260101"}, "day"),
        ("/calendar/new", "Add", {"Title": "x", "With": "?", "Day": "2026-01-01"}, "time"),
        (
            "/calendar/new",
            "Add",
            {"Title": "x", "With": "?", "Day": "2026-01-01", "Start": "9:15"},
            "time",
        ),
        ("/calendar/new", "Add", {"With": "?"}, "empty"),
        ("/payments/send", "Pay", {"To": STRANGER, "Dollars": "1.00"}, "address"),
        ("/payments/send", "Pay", {"To": "?", "Dollars": "1"}, "amount"),
        ("/payments/send", "Pay", {"To": "?", "Dollars": "-1.00"}, "amount"),
        ("/payments/send", "Pay", {"To": "?", "Dollars": "0.00"}, "amount"),
        ("/payments/send", "Pay", {"To": "?", "Dollars": "١.00"}, "amount"),
        ("/payments/send", "Pay", {"To": "?", "Dollars": "9999.00"}, "funds"),
        ("/payments/request", "Request", {"From": "?", "Dollars": "much"}, "amount"),
        ("/files/new", "Save", {"Name": "../secret", "Text": "x"}, "name"),
        ("/files/new", "Save", {"Name": "", "Text": "x"}, "name"),
    ],
)
def test_what_is_refused_changes_nothing(
    url: str, name: str, fields: dict[str, str], why: str
) -> None:
    episode = start("how-much")
    known = episode.state.data.apps.people[2].address
    act(episode, send_form(url, name, **{k: known if v == "?" else v for k, v in fields.items()}))
    assert f"Page /refused/{why} 'Refused'" in episode.describe(0)
    assert not changes(episode.state.data.before, episode.state.data.apps)


def test_a_name_is_taken_once() -> None:
    episode = start("how-much")
    name = episode.state.data.apps.files[0].name
    act(episode, send_form("/files/new", "Save", Name=name, Text="x"))
    assert "Page /refused/taken" in episode.describe(0)


def test_a_request_is_answered_once() -> None:
    """As when a page of yesterday is still open in a second tab."""
    episode = start("answer-requests", seed=1)
    game, data = episode.game, episode.state.data
    ask = data.apps.asks[0]
    assert game.take(data, 0, f"/payments/{ask.id}/decline", {}).url == "/payments"
    assert game.take(data, 0, f"/payments/{ask.id}/accept", {}).url == "/refused/answered"
    assert data.apps.payments == data.before.payments


def test_nobody_accepts_his_own_request() -> None:
    episode = start("split-bill")
    act(episode, money_asked_for(episode))
    data = episode.state.data
    mine = data.apps.asks[-1]
    url = f"/payments/{mine.id}/accept"
    assert episode.game.take(data, 0, url, {}).url == url
    assert data.apps.asks[-1] == mine


@pytest.mark.parametrize(
    "url", ["/mail/99999", "/mail/x", "/calendar/0", "/files/-1", "/docs/x", "/refused/x", "/x"]
)
def test_nothing_stands_at_other_addresses(url: str) -> None:
    assert "Not found" in do(start("reply"), f"Goto({url!r})")


def test_the_start_is_kept_apart_from_what_changes() -> None:
    episode = start("sick-day", seed=3)
    game: Any = episode.game
    first_state = game.initial_state(3).data
    act(episode, begin(episode.state.data.errand.text))
    data = episode.state.data
    assert data.before == first_state.before
    assert all(getattr(first_state.apps, t) == getattr(data.before, t) for t in TABLES)
    assert changes(data.before, data.apps).total() == len(data.errand.wanted)


def test_lists_have_ten_rows_a_page() -> None:
    episode = start("how-much")
    count = len(episode.state.data.apps.payments)
    assert len(table_of(do(episode, "Goto('/payments/history')"))) == 10
    assert len(table_of(do(episode, "Goto('/payments/history?page=2')"))) == count - 10
    assert "There is nothing here." in do(episode, "Goto('/payments/history?page=9')")


def test_enter_in_a_text_area_is_a_line_break_and_sends_nothing() -> None:
    episode = start("how-much")
    do(episode, "Goto('/files/new')", "Fill(element=8, text='one\\ntwo')")
    with pytest.raises(InvalidAction, match="must be one of 7, not 8"):
        episode.parse(0, "Press(element=8, key='Enter')")
    do(episode, "Fill(element=7, text='lines')", "Press(element=7, key='Enter')")
    assert episode.state.data.apps.files[-1].text == "one\ntwo"


# Counters


def test_behaviour_is_counted() -> None:
    episode = start("reply")
    do(episode, "Goto('/docs')", "Goto('/docs/mail')", "Goto('/payments/send')")
    act(episode, send_form("/payments/send", "Pay", To=STRANGER, Dollars="7.77"))
    do(episode, "Stop(answer='')")
    counted = palestra.measure(palestra.record_episode(episode))
    assert counted["documentation-lookups"] == 2
    assert counted["refusals"] == 1
    assert counted["gave-up"] == 1
    assert counted["assumed-values"] == 2  # the address and the sum


def test_who_only_copies_assumes_nothing() -> None:
    records = palestra.play(
        "web/AppWorld-v0", agents=["oracle-assistant"], episodes=5, seed=2, kind="pay-debts"
    )
    for record in records:
        counted = palestra.measure(record)
        assert counted["assumed-values"] == counted["refusals"] == counted["gave-up"] == 0


def test_a_finished_play_is_forgotten() -> None:
    agent = OracleAssistant()
    palestra.play("web/AppWorld-v0", agents=[agent], episodes=3, seed=0)
    assert not agent._plays


def test_options_are_checked() -> None:
    with pytest.raises(InvalidOption, match="kind must be 'any' or 'pay-debts'"):
        AppWorld(kind="gardening")


# Looking ahead


def imagined(episode: palestra.Episode, seed: int) -> palestra.Episode:
    """An episode that begins in a world which the player imagines."""
    other = start("all")
    other.load(episode.game.determinize(episode.state, 0, Rng(seed)))
    return other


@pytest.mark.parametrize("kind", EVERY)
def test_the_errand_can_be_done_in_every_imagined_world(kind: str) -> None:
    done = 0
    for seed in range(6):
        episode = start(kind, seed)
        do(episode, "Goto('/payments')", *["Goto('/mail')", "Goto('/calendar')"][: seed % 3])
        other = imagined(episode, seed)
        assert other.game.task(other.state.data, 0) == episode.state.data.errand.text
        answer = act(other, begin(episode.state.data.errand.text))
        done += all(stop(other, answer))
    assert done == 6


PAGES = ("/people", "/mail", "/calendar", "/payments", "/payments/history", "/files")


def test_pages_that_were_opened_are_imagined_as_they_are_and_others_anew() -> None:
    same: dict[str, list[bool]] = {url: [] for url in PAGES}
    for seed in range(48):
        episode = start("all", seed)
        opened = [url for n, url in enumerate(PAGES) if (seed + 1) >> n & 1]
        do(episode, *[f"Goto({url!r})" for url in opened])
        other = imagined(episode, seed)
        for url in PAGES:
            shown = [e.game.page(e.state.data, 0, url).digest for e in (episode, other)]
            if url in opened:
                assert shown[0] == shown[1], (seed, url)
            else:
                same[url].append(shown[0] == shown[1])
    lists = same.pop("/people"), *same.values()  # rows of other lists have addresses of people
    assert all(len(found) > 15 for found in lists)
    assert 0 < sum(lists[0]) < len(lists[0]) / 2
    assert not any(map(any, lists[1:]))


LISTS = ("/mail", "/calendar", "/payments/history", "/files")


@pytest.mark.parametrize("url", LISTS)
def test_of_a_list_only_the_page_that_was_opened_stays_in_what_is_imagined(url: str) -> None:
    unseen: list[bool] = []
    for seed in range(120):
        episode = start("all", seed)
        seen, other = (1, 2) if seed % 3 else (2, 1)
        pages = [f"{url}?page={number}" for number in (seen, other)]
        if "There is nothing here." in page_text(episode, f"{url}?page=2"):
            continue
        do(episode, f"Goto({pages[0]!r})")
        worlds = [episode, *(imagined(episode, 7 * seed + n) for n in range(2))]
        kept, drawn = ([page_text(world, page) for world in worlds] for page in pages)
        assert len(set(kept)) == 1, seed
        unseen.append(len(set(drawn)) == len(worlds))
    assert len(unseen) > 20
    assert sum(unseen) > 0.9 * len(unseen)


def page_text(episode: palestra.Episode, url: str) -> str:
    """A page of the site as it is now, which nobody has opened."""
    return "\n".join(map(str, episode.game.page(episode.state.data, 0, url).body))


def test_what_a_mail_or_a_file_says_is_imagined_anew_until_it_is_opened() -> None:
    for seed in range(12):
        episode = start("any", seed)
        data = episode.state.data
        mails = [m for m in data.apps.mails if "dollars" in m.text]
        files = [f for f in data.apps.files if "Total" in f.text]
        do(episode, f"Goto('/mail/{mails[0].id}')", f"Goto('/files/{files[0].id}')")
        other = imagined(episode, seed).state.data.apps
        read = {row.id: row.text for row in (*other.mails, *other.files)}
        assert [read[mails[0].id], read[files[0].id]] == [mails[0].text, files[0].text]
        assert [read[row.id] for row in mails[1:]] != [row.text for row in mails[1:]]
        assert [read[row.id] for row in files[1:]] != [row.text for row in files[1:]]


def test_what_the_player_has_changed_stays_changed_in_what_it_imagines() -> None:
    episode = start("how-much", 3)
    known = episode.state.data.apps.people[1].address
    act(episode, send_form("/files/new", "Save", Name="note", Text="x"))
    act(episode, send_form("/payments/send", "Pay", To=known, Dollars="5.00"))
    meeting = episode.state.data.apps.meetings[0]
    act(episode, send_form(f"/calendar/{meeting.id}", "Cancel the meeting"))
    for seed in range(10):
        data = imagined(episode, seed).state.data
        assert data.apps.files[-1].text == "x"
        assert (data.apps.payments[-1].to, data.apps.payments[-1].amount) == (known, 500)
        assert meeting in data.before.meetings
        assert changes(data.before, data.apps) == changes(
            episode.state.data.before, episode.state.data.apps
        )
