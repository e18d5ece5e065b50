"""AgentRxiv: labs that work on one task share reports in an archive.

Schmidgall and Moor, "AgentRxiv: Towards Collaborative Autonomous Research", 2025. A lab reads the
reports that its search finds, tries a method for some episodes, and writes a report of what it saw
in them. Labs that share an archive read each other's reports at once; `archive` names it, so that
two labs work apart with different names, or with none. Results of one method are one mean, whoever
reports them. The archive puts beside a report what its lab measured, whatever it claims.

Left out: a second run of a claim before it is ranked; papers of several pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from palestra import Meta, RecordError, Turn, agent
from palestra.files import UNREADABLE, read_json, write_bytes
from palestra.kernel.errors import cause
from palestra.quoting import quote

from palestra_adapters.adapter import one_line
from palestra_adapters.memory.remembering import Remembering, Trial, named_file
from palestra_adapters.similarity import similarity
from palestra_adapters.thinking import Thinking

WRITE = (
    "You are a lab that looks for the best method for the task above. You tried this method:\n"
    "{method}\nIts results: {results}. The last of its episodes is above. Write a report of it for "
    "other labs, in at most five sentences: what happened, why it worked or failed, and what "
    "should be tried next."
)
PLAN = (
    "You are a lab that looks for the best method for the task above. Reports in the archive, with "
    "their mean results over repeated runs:\n{reports}\n\nWrite the method that you will try next, "
    "in at most three sentences: build on a report, or try something new."
)


NONE = "no method"


class Report(msgspec.Struct, forbid_unknown_fields=True):
    """A method, who reported it, all results that it has had, and what was written about it."""

    lab: str
    task: str
    method: str
    results: Annotated[list[float], msgspec.Meta(min_length=1)]
    text: str = ""

    @property
    def mean(self) -> float:
        return sum(self.results) / len(self.results)


class PaperStore:
    """Reports by task; `file` keeps them, and is read again by whoever opens it."""

    def __init__(self, file: Path | None = None) -> None:
        self.reports: list[Report] = []
        self._file = file
        if file is not None and file.exists():
            try:
                self.reports = read_json(file, list[Report])
            except (OSError, *UNREADABLE) as error:
                raise RecordError(file, 1, f"not an archive: {cause(error)}", 0) from error

    def submit(self, report: Report) -> None:
        """Add a report, or its results and its text to the one of the same method."""
        for known in self.reports:
            if (known.task, known.method) == (report.task, report.method):
                known.results += report.results
                known.lab, known.text = report.lab, report.text or known.text
                break
        else:
            self.reports.append(report)
        if self._file is not None:
            write_bytes(self._file, msgspec.json.encode(self.reports))

    def search(self, task: str, query: str, count: int) -> list[Report]:
        """The best half by result of the `2 * count` reports that are most like the query."""
        own = [report for report in self.reports if report.task == task]
        near = sorted(own, key=lambda one: -similarity(query, f"{one.method} {one.text}"))[
            : 2 * count
        ]
        return sorted(near, key=lambda one: -one.mean)[:count]

    def best(self, task: str) -> Report:
        """The report of the highest mean."""
        return max((one for one in self.reports if one.task == task), key=lambda one: one.mean)


def _line(report: Report) -> str:
    written = f"\n  {quote(report.lab)} writes: {quote(report.text)}" if report.text else ""
    return f"- {report.mean:.3g}: {quote(report.method or NONE)}{written}"


STORES: dict[str, PaperStore] = {}


@agent(
    "agent-rxiv",
    kind="llm",
    summary="A lab that reads reports of other labs, tries a method, and writes a report of it.",
    paper="AgentRxiv: Towards Collaborative Autonomous Research (2025)",
)
class AgentRxiv(Remembering):
    """Tries each method for `runs` episodes, then writes a report of it and plans the next one.

    archive: a name that labs of one process share, or a JSON file that they share across processes;
    without it a lab reads its own reports. After `methods` methods it plays the best one of its
    archive.
    """

    def __init__(
        self,
        *,
        archive: Annotated[str, Meta(description="the archive that is shared")] = "",
        lab: Annotated[str, Meta(description="the lab's name in reports")] = "lab",
        runs: Annotated[int, Meta(ge=1, description="episodes in which a method is tried")] = 2,
        methods: Annotated[int, Meta(ge=1, description="methods tried in all")] = 6,
        found: Annotated[int, Meta(ge=1, description="reports read before a plan")] = 3,
        store: Annotated[
            PaperStore | None, Meta(description="an open archive, instead of `archive`")
        ] = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.store = store if store is not None else open_store(archive)
        self._lab, self._runs, self._methods, self._found = lab, runs, methods, found
        self.methods: dict[str, str] = {}  # of each task, the one that is tried now
        self._results: dict[str, list[float]] = {}
        self._tried: dict[str, int] = {}

    def recall(self, turn: Turn) -> tuple[str, tuple[int, ...]]:
        method = self.methods.get(self.task_of(turn), "")
        return (f"Your method: {quote(method)}", ()) if method else ("", ())

    def learn(self, trial: Trial) -> Thinking[None]:
        task = trial.task
        if self._tried.get(task, 0) >= self._methods:
            return
        results = self._results.setdefault(task, [])
        results.append(trial.returns)
        if len(results) < self._runs:
            return
        method = self.methods.get(task, "")
        written = yield from self._write(trial, method, results)
        self.store.submit(Report(self._lab, task, method, results, written))
        self._results[task] = []
        self._tried[task] = self._tried.get(task, 0) + 1
        if self._tried[task] >= self._methods:
            self.methods[task] = self.store.best(task).method
            return
        reports = self.store.search(task, method, self._found)
        lines = "\n".join(map(_line, reports))
        self.methods[task] = yield from self._asked(
            trial.rules, f"{trial.start}\n\n{PLAN.format(reports=lines)}"
        )

    def _write(self, trial: Trial, method: str, results: list[float]) -> Thinking[str]:
        shown = ", ".join(f"{result:.3g}" for result in results)
        request = WRITE.format(method=quote(method or NONE), results=shown)
        return (yield from self._asked(trial.rules, f"{trial.story}\n\n{request}"))

    def _asked(self, rules: str, request: str) -> Thinking[str]:
        return one_line((yield from self.write(rules, request, max_tokens=256)))

    def memories(self) -> Any:
        return {"methods": self.methods, "results": self._results, "tried": self._tried}

    def restore(self, memories: Any) -> None:
        self.methods = dict(memories["methods"])
        self._results = {task: list(own) for task, own in memories["results"].items()}
        self._tried = dict(memories["tried"])

    def clear(self) -> None:
        self.methods.clear()
        self._results.clear()
        self._tried.clear()
        self.waiting.clear()


def open_store(name: str) -> PaperStore:
    """The archive of a name in this process, or of a file if the name has a folder or `.json`."""
    if not name:
        return PaperStore()
    if name not in STORES:
        is_file = name.endswith(".json") or "/" in name
        STORES[name] = PaperStore(named_file(name) if is_file else None)
    return STORES[name]
