"""A shared folder on the Hugging Face hub, through the hub's own client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from palestra import InvalidOption, MissingExtra, PalestraError
from palestra.kernel.errors import cause

if TYPE_CHECKING:
    from huggingface_hub import HfApi

SCHEME = "hf:"
ADDRESS = re.compile(r"(?:(datasets|models)/)?(\w[\w.-]*/\w[\w.-]*)(?:@(\w[\w./-]*))?", re.ASCII)


class HubError(PalestraError, OSError):
    """The hub refused, or could not be reached; the message says what it answered."""


@dataclass(frozen=True, slots=True)
class HubPlace:
    """A repository on the hub: its name, whether it holds data or a model, and a revision."""

    name: str
    kind: str = "model"
    revision: str | None = None

    def __str__(self) -> str:
        return f"{SCHEME}{'datasets/' if self.kind == 'dataset' else ''}{self.name}"


def hub_place(address: str) -> HubPlace:
    """Read an address such as hf:user/name or hf:datasets/user/name@v1; a model by default."""
    match = ADDRESS.fullmatch(address.removeprefix(SCHEME))
    if match is None:
        raise InvalidOption(
            f"{address!r} names no place on the hub; write hf:user/name, or hf:datasets/user/name "
            "for a repository of data"
        )
    kind, name, revision = match.groups()
    return HubPlace(name, "dataset" if kind == "datasets" else "model", revision)


def upload(folder: Path, place: HubPlace, *, public: bool = False, message: str = "") -> str:
    """Upload a folder as one commit and return its address; a new repository is made if needed.

    A new repository is private unless `public`. Raises `MissingExtra` and `HubError`.
    """
    with _explain(place):
        client = _client()
        client.create_repo(place.name, repo_type=place.kind, private=not public, exist_ok=True)
        commit = client.upload_folder(
            repo_id=place.name,
            repo_type=place.kind,
            folder_path=folder,
            revision=place.revision,
            commit_message=message or "Push with Palestra",
            delete_patterns="*",  # files of an earlier push that the manifest no longer lists
        )
        return str(commit.commit_url)


def download(place: HubPlace, folder: Path) -> None:
    """Download a repository into a folder. Raises `MissingExtra` and `HubError`."""
    with _explain(place):
        _client().snapshot_download(
            place.name, repo_type=place.kind, revision=place.revision, local_dir=folder
        )


def _client() -> HfApi:
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise MissingExtra("huggingface_hub", "palestra-arena[hub]") from error
    return HfApi(library_name="palestra")


@contextmanager
def _explain(place: HubPlace) -> Iterator[None]:
    """Turn the client's errors, of which there are many kinds, into `HubError`."""
    try:
        yield
    except PalestraError:
        raise
    except Exception as error:
        raise HubError(
            f"{place}: {cause(error)}; check the name, `hf auth login` and the network, or push to "
            "a plain folder with --to FOLDER"
        ) from error
