"""The things and cities of the guessing games, with the properties of each."""

from __future__ import annotations

Table = tuple[tuple[str, tuple[str, ...]], ...]  # a question, and the names it holds for


def table(questions: str, facts: str) -> Table:
    """Pairs of a question and what it holds for, from `mark question` and `name marks` lines."""
    marks = [line.strip().split(" ", 1) for line in questions.strip().splitlines()]
    rows = [line.strip().rsplit(" ", 1) for line in facts.strip().splitlines()]
    return tuple((q, tuple(name for name, has in rows if mark in has)) for mark, q in marks)


def spelling(names: tuple[str, ...]) -> Table:
    """Questions about the names themselves."""
    return (
        ("Does its name begin with a letter from A to L?", tuple(n for n in names if n[0] <= "L")),
        ("Does its name end in a vowel?", tuple(n for n in names if n[-1] in "aeiou")),
        ("Does its name have more than six letters?", tuple(n for n in names if len(n) > 6)),
    )


THINGS = table(
    """
    a Is it or was it alive?
    n Is it an animal?
    e Is it commonly eaten or drunk?
    h Is it found in most homes?
    l Is it larger than a person?
    m Is it mainly made of metal?
    w Does it live or move in water?
    f Can it fly?
    u Does it use electricity?
    v Does it carry people?
    s Does it make music?
    r Is it red, orange or yellow?
    g Is it green?
    c Is it usually kept in a kitchen?
    o Is it worn on the body?
    k Is it used for writing or reading?
    t Is it soft to the touch?
    p Is it used in sport or play?
    """,
    """
    apple aerc
    banana aerct
    potato aec
    lettuce aegct
    orange juice ehrc
    bread ehct
    milk ehc
    oak al
    rose ar
    grass agt
    dog anht
    cat anhtp
    horse anlv
    elephant anl
    shark anlw
    whale anlwt
    goldfish anhwr
    frog anwg
    eagle anf
    parrot anfg
    bee anfr
    spider anh
    knife hmc
    spoon hmce
    kettle hmcu
    refrigerator hlmcu
    lamp hu
    television hup
    telephone huk
    computer hukp
    book hk
    pencil hkr
    newspaper k
    pillow ht
    sofa hlt
    shirt hot
    shoe ho
    hat ot
    ring omr
    spectacles ok
    car lmv
    train lmvu
    bicycle mv
    airplane lmvf
    boat lvw
    submarine lmvwu
    helicopter lmvfu
    guitar s
    piano hls
    trumpet smr
    drum sp
    ball p
    kite fp
    tennis racket pm
    """,
)

CITIES = table(
    """
    e Is it in Europe?
    a Is it in Asia?
    f Is it in Africa?
    n Is it in North or Central America?
    s Is it in South America?
    c Is it the capital of its country?
    w Is it by the sea or an ocean?
    h Is it north of the equator?
    t Does it lie between the tropics?
    p Do most people in its country speak Spanish or Portuguese as their first language?
    g Do most people in its country speak English as their first language?
    o Have the Summer Olympics been held there before 2025?
    k Is its country a monarchy?
    """,
    """
    London echgok
    Paris echo
    Rome echo
    Berlin echo
    Madrid echpk
    Lisbon echwp
    Vienna ech
    Budapest ech
    Warsaw ech
    Stockholm echwok
    Oslo echwk
    Helsinki echwo
    Dublin echwg
    Barcelona ehwpok
    Munich eho
    Naples ehw
    Edinburgh ehwgk
    Amsterdam echok
    Tokyo achwok
    Osaka ahwk
    Seoul acho
    Busan ahw
    Beijing acho
    Hong Kong ahwt
    Bangkok achtk
    Hanoi acht
    Manila achwt
    Jakarta acwt
    Singapore achwt
    Mumbai ahwt
    Delhi ah
    Dubai ahwk
    Baghdad ach
    Cairo fch
    Lagos fhwt
    Nairobi fct
    Accra fchwt
    Cape Town fw
    Casablanca fhwk
    New York nhwg
    Los Angeles nhwgo
    Chicago nhg
    Toronto nhgk
    Vancouver nhwgk
    Montreal nhgok
    Mexico City nchtpo
    Havana nchwtp
    Panama City nchwtp
    Bogota schtp
    Lima scwtp
    Quito sctp
    Santiago scp
    Buenos Aires scwp
    Rio de Janeiro swtpo
    Sao Paulo sp
    Sydney wgok
    Melbourne wgok
    Auckland wgk
    Perth wgk
    """,
)
CITIES += spelling(tuple(dict.fromkeys(name for _, fits in CITIES for name in fits)))
