# SPDX-License-Identifier: Apache-2.0
"""What the layer of a session holds (flags=["--layer", NAME]); docs/layers.md."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, Mapping, Optional, Sequence


class Layer:
    """The session's own layer, or the one that `name` names."""

    def __init__(self, call: Callable[[str, Mapping[str, Any]], Any],
                 as_operator: Callable[[], None], name: Optional[str] = None) -> None:
        self._call = call
        self._as_operator = as_operator
        self._name = name

    def _act(self, action: str, **params: Any) -> Dict[str, Any]:
        return dict(self._call("layer." + action, _given(name=self._name, **params)))

    def diff(self, *paths: str) -> str:
        """A patch for `git apply` and `patch -p1`."""
        return str(self._act("diff", paths=_paths(paths))["patch"])

    def changes(self, *paths: str) -> "list[Dict[str, str]]":
        """What it changes: path, kind and type."""
        return list(self._act("diff", paths=_paths(paths))["changes"])

    def checkpoint(self, label: Optional[str] = None) -> str:
        """A point to come back to; its label."""
        return str(self._act("checkpoint", label=label)["label"])

    def rollback(self, label: str) -> None:
        """Takes the layer back to a checkpoint: what was written since is gone, without a question.
        Raises SbxError (`layer_not_found`) where there is no such label."""
        self._act("rollback", label=label)

    def branch(self, new: str) -> None:
        """A second layer that begins as this one is."""
        self._act("branch", new=new)

    def commit(self, *paths: str) -> "list[Dict[str, str]]":
        """Makes the changes real. The operator's: not for a model."""
        self._as_operator()
        return list(self._act("commit", paths=_paths(paths))["committed"])

    def undo(self) -> "list[Dict[str, str]]":
        """Takes the last commit back. The operator's."""
        self._as_operator()
        return list(self._act("undo")["undone"])

    def discard(self, *paths: str) -> None:
        """Forgets the changes. The operator's."""
        self._as_operator()
        self._act("discard", paths=_paths(paths))


class AsyncLayer:
    """As Layer, for asyncio."""

    def __init__(self, call: Callable[[str, Mapping[str, Any]], Awaitable[Any]],
                 as_operator: Callable[[], Awaitable[None]], name: Optional[str] = None) -> None:
        self._call = call
        self._as_operator = as_operator
        self._name = name

    async def _act(self, action: str, **params: Any) -> Dict[str, Any]:
        return dict(await self._call("layer." + action, _given(name=self._name, **params)))

    async def diff(self, *paths: str) -> str:
        """As Layer.diff()."""
        return str((await self._act("diff", paths=_paths(paths)))["patch"])

    async def changes(self, *paths: str) -> "list[Dict[str, str]]":
        """As Layer.changes()."""
        return list((await self._act("diff", paths=_paths(paths)))["changes"])

    async def checkpoint(self, label: Optional[str] = None) -> str:
        """As Layer.checkpoint()."""
        return str((await self._act("checkpoint", label=label))["label"])

    async def rollback(self, label: str) -> None:
        """As Layer.rollback()."""
        await self._act("rollback", label=label)

    async def branch(self, new: str) -> None:
        """As Layer.branch()."""
        await self._act("branch", new=new)

    async def commit(self, *paths: str) -> "list[Dict[str, str]]":
        """As Layer.commit()."""
        await self._as_operator()
        return list((await self._act("commit", paths=_paths(paths)))["committed"])

    async def undo(self) -> "list[Dict[str, str]]":
        """As Layer.undo()."""
        await self._as_operator()
        return list((await self._act("undo"))["undone"])

    async def discard(self, *paths: str) -> None:
        """As Layer.discard()."""
        await self._as_operator()
        await self._act("discard", paths=_paths(paths))


def _given(**params: Any) -> Dict[str, Any]:
    return {key: value for key, value in params.items() if value is not None}


def _paths(paths: Sequence[str]) -> "Optional[list[str]]":
    return list(paths) or None
