"""Pages as trees: their lines, their numbers, their HTML."""

from __future__ import annotations

import pytest
from palestra_web.html import to_html
from palestra_web.pages import (
    Element,
    Page,
    action,
    button,
    checkbox,
    combobox,
    deed,
    form,
    group,
    heading,
    link,
    listing,
    paragraph,
    radio,
    table,
    textbox,
)
from palestra_web.reading import ScreenElement, read_lines, read_page

HOSTILE = "<script>alert(1)</script> & \"quotes\" 'too' \u202eright to left 🦊 \x00\x1b[31m"


def page(*body: Element) -> Page:
    return Page("/", "Test", body)


def test_what_can_be_acted_on_is_numbered_in_document_order() -> None:
    shown = page(
        heading("Hello"),
        form("/go", textbox("Name", "name", "Ann"), checkbox("News", "news"), button("Send")),
        listing((link("One", "/1"), paragraph("first")), link("Two", "/2")),
    )
    assert shown.text({}) == "\n".join(
        [
            "heading 'Hello'",
            "[1] textbox 'Name' value='Ann'",
            "[2] checkbox 'News'",
            "[3] button 'Send'",
            "list",
            "  listitem",
            "    [4] link 'One'",
            "    paragraph 'first'",
            "  listitem",
            "    [5] link 'Two'",
        ]
    )


def test_what_is_put_into_fields_is_shown() -> None:
    shown = page(
        form(
            "/go",
            textbox("Name", "name"),
            combobox("Colour", "colour", ("red", "blue")),
            group("Size", radio("small", "size", "s", chosen=True), radio("large", "size", "l")),
        )
    )
    text = shown.text({1: "Bob", 2: "blue", 5: "", 6: "l"})
    assert "[1] textbox 'Name' value='Bob'" in text
    assert "[2] combobox 'Colour' value='blue'" in text
    assert "[3] option 'red'\n" in text
    assert "[4] option 'blue' (chosen)" in text
    assert "[5] radio 'small'\n" in text
    assert text.endswith("[6] radio 'large' (chosen)")


def test_long_names_are_shortened_and_say_so() -> None:
    (line,) = page(paragraph("x" * 100_000)).text({}).splitlines()
    assert len(line) < 500
    assert "99600 more characters" in line


def test_hostile_text_is_escaped_and_stays_on_its_line() -> None:
    shown = page(paragraph(HOSTILE), link(HOSTILE, "/"), textbox(HOSTILE, "q", HOSTILE))
    html = to_html(shown)
    assert "<script" not in html
    assert 'value="&lt;script&gt;' in html
    assert len(shown.text({}).splitlines()) == 3
    assert "\x1b" not in shown.text({})


def test_tables_and_actions() -> None:
    shown = page(table(("Name", "Do"), (("Ann", action("Drop", "/drop", id="3")),)))
    assert "[1] button 'Drop'" in shown.text({})
    assert '<form action="/drop" method="post"' in to_html(shown)


def test_a_form_in_a_form_is_refused() -> None:
    with pytest.raises(ValueError, match="inside another form"):
        page(form("/a", form("/b", button("x")))).text({})


def test_a_link_that_changes_something_is_a_form_and_stays_a_link() -> None:
    shown = page(deed("Tab 2", "/show", tab="2"), deed("Leave", "/leave"))
    assert shown.text({}) == "[1] link 'Tab 2'\n[2] link 'Leave'"
    html = to_html(shown)
    assert '<form action="/show" method="post"><button data-number="1" role="link"' in html
    assert "<a " not in html
    with pytest.raises(ValueError, match="a link that changes /show stands inside a form"):
        page(form("/a", deed("Tab 2", "/show"))).text({})


def test_every_line_of_a_page_is_read_back() -> None:
    shown = page(
        heading('It\'s "quoted"'),
        group("Box", paragraph("link 'no'"), checkbox("News", "news", chosen=True)),
        textbox("", "q", "x"),
    )
    assert read_lines(shown.text({})) == [
        ScreenElement(0, "heading", 'It\'s "quoted"'),
        ScreenElement(0, "region", "Box"),
        ScreenElement(0, "paragraph", "link 'no'", depth=1),
        ScreenElement(1, "checkbox", "News", chosen=True, depth=1),
        ScreenElement(2, "textbox", "", "x"),
    ]
    assert [element.number for element in read_page(shown.text({}))] == [1, 2]
