"""The pages for owners and analysts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

if TYPE_CHECKING:
    from winnow.serve.app import Server


def page_routes(server: Server) -> list[BaseRoute]:
    """The addresses of all pages and static files."""
    return []
