"""From a ballot box to a running server. Blocks until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import ip_address

from prospection.errors import ConfigError, MissingExtraError
from prospection.evaluation.annotate.box import BallotBox

__all__ = ["serve"]


def serve(box: BallotBox, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve the annotation page.

    Args:
        host: Address to listen on. "127.0.0.1" is reached from this machine alone; for others put it behind something
            that speaks HTTPS, because the link is the only key.
        port: 0 for any free one.
        ready: Called with the link once the port is taken.

    Raises:
        MissingExtraError: starlette or uvicorn is not installed.
        ConfigError: The address cannot be listened on.
    """
    try:
        import uvicorn

        from prospection.evaluation.annotate.app import build_app
    except ImportError as error:
        raise MissingExtraError("the annotation page", "server") from error
    local = host == "localhost" or _is_loopback(host)
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ConfigError(
            f"{host!r}, port {port}, cannot be listened on: {error.strerror}; choose another --port or --host"
        ) from error
    with listening:
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{listening.getsockname()[1]}/{box.key}/")
        app = build_app(box, hosts=(host, "127.0.0.1", "localhost") if local else ("*",))
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listening])


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
