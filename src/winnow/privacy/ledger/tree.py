"""The latest entry about each name, as a tree that the entries themselves carry.

Every entry carries the nodes of the tree that it changes, from the root down. A node maps a
hexadecimal digit to a pointer: the number and the tag of the entry that holds what comes below,
and, at a leaf, the whole name. So the last entry alone proves, in as many steps as the tree is
high, which entry is the latest about a name, or that there is none: whoever hides, moves or
swaps an entry breaks a pointer or a tag on the way. Nothing is ever changed in place.

Names are keyed digests in hexadecimal digits, so that nobody without the key can aim at a
collision, and the tree stays flat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from winnow.privacy.ledger.entry import Entry

SHORT = 32
"""Hexadecimal digits of a tag in a pointer: 128 bits."""

Pointer = list[Any]
"""[sequence, tag] of an entry with the node below, or [sequence, tag, name] of a leaf."""

Node = dict[str, Pointer]
Load = Callable[[str, Pointer], Node]
"""The node at a prefix, from the entry that a pointer names."""

HERE: Pointer = [0, ""]
"""The entry that carries the node: its own tag is not known before it is sealed."""


def pointer_to(entry: Entry) -> Pointer:
    """What names an entry."""
    return [entry.sequence, entry.tag[:SHORT]]


def node_in(entry: Entry, prefix: str) -> Node:
    """A node that an entry carries, with pointers to the entry itself written out."""
    place = pointer_to(entry)
    node: Mapping[str, Pointer] = entry.body["tree"][prefix]
    return {d: place + p[2:] if p[:2] == HERE else list(p) for d, p in node.items()}


def find(root: Node, name: str, load: Load) -> Pointer | None:
    """The pointer to the latest entry about a name; None: there is none."""
    node, depth = root, 0
    while (pointer := node.get(name[depth])) is not None:
        depth += 1
        if _is_leaf(pointer):
            return pointer[:2] if pointer[2] == name else None
        node = load(name[:depth], pointer)
    return None


def leaves(root: Node, load: Load, prefix: str = "") -> Iterator[Pointer]:
    """The pointers of all names."""
    for digit, pointer in sorted(root.items()):
        if _is_leaf(pointer):
            yield pointer[:2]
        else:
            yield from leaves(load(prefix + digit, pointer), load, prefix + digit)


def changed(root: Node, names: Mapping[str, Pointer], load: Load) -> dict[str, Node]:
    """The nodes that an entry has to carry so that each name points to what is given."""
    nodes = {"": dict(root)}
    for name, target in names.items():
        prefix = ""
        while True:
            node, digit = nodes[prefix], name[len(prefix)]
            pointer, below = node.get(digit), prefix + digit
            if pointer is None or (_is_leaf(pointer) and pointer[2] == name):
                node[digit] = [*target[:2], name]
                break
            if below not in nodes:
                if _is_leaf(pointer):  # two names share these digits: both move one level down
                    nodes[below] = {pointer[2][len(below)]: pointer}
                else:
                    nodes[below] = dict(load(below, pointer))
            node[digit] = HERE
            prefix = below
    return nodes


def _is_leaf(pointer: Pointer) -> bool:
    return len(pointer) == 3
