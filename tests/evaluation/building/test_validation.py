"""What is wrong with a hand-made folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prospection.errors import InputError
from prospection.evaluation.building.layout import QuestUser
from prospection.evaluation.building.validation import Leak, read_users, validate
from remembered import WordEmbedder


def user(*queries: dict[str, Any], sessions: list[dict[str, Any]] | None = None) -> QuestUser:
    facts = [
        {"fact_id": "a", "info": "Passport expires soon", "entities": ["Bo"]},
        {"fact_id": "b", "info": "Bo dislikes heights"},
        {"fact_id": "c", "info": "Court hearing stays fixed"},
        {"fact_id": "d", "info": "Bo Bo drives nowhere"},
    ]
    held = sessions or [{"session_id": "s1", "date": "2025-01-01", "facts": facts}]
    return QuestUser.model_validate({"user_id": "ada", "sessions": held, "queries": list(queries)})


def query(text: str = "Arrange everything", *, references: str = "abc", day: str = "2025-02-01") -> dict[str, Any]:
    return {"query_id": "q1", "date": day, "query": text, "references": list(references)}


@pytest.mark.anyio
async def test_a_sound_user() -> None:
    found = await validate([user(query())], embedder=WordEmbedder())
    assert (found.sessions, found.facts, found.queries, found.references) == (1, 4, 1, 3)
    assert found.faults == ()
    assert found.leaks == ()
    assert found.mean == pytest.approx(sum(found.deciles) / 11, abs=1)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (query(references="abz"), "reference 'z' stands 0 times"),
        (query(references="ab"), "2 references"),
        (query(references="aabc"), "4 references, 3 distinct"),
        (query(day="2025-01-01"), "not dated before"),
        (query("Passport expires soon heights Court"), "above 0.3"),
    ],
)
async def test_each_fault_is_named(wrong: dict[str, Any], fault: str) -> None:
    found = await validate([user(wrong)], embedder=WordEmbedder())
    assert any(fault in sentence for sentence in found.faults), found.faults


@pytest.mark.anyio
async def test_a_reference_in_two_events_and_a_user_or_query_twice() -> None:
    facts = [{"fact_id": name, "info": f"Fact {name}"} for name in "abc"]
    sessions = [
        {"session_id": "s1", "date": "2025-01-01", "facts": facts},
        {"session_id": "s2", "date": "2025-01-02", "facts": facts[:1]},
    ]
    twice = user(query(), query(), sessions=sessions)
    found = await validate([twice, twice], embedder=WordEmbedder())
    assert "user 'ada' occurs twice" in found.faults
    assert "ada-q1 occurs 2 times" in found.faults
    assert "ada-q1: reference 'a' stands 2 times in the sessions, not once" in found.faults


@pytest.mark.anyio
async def test_leaks_are_rare_words_and_names() -> None:
    found = await validate([user(query("A hearing with Bo, and more to say about it"))], embedder=WordEmbedder())
    assert found.leaks == (Leak(user="ada", query="q1", fact="c", words=("hearing",)),)
    named = user(query("Something for Passport and soon"))
    leaks = (await validate([named], embedder=WordEmbedder())).leaks
    assert leaks == (Leak(user="ada", query="q1", fact="a", words=("passport",)),)  # "soon" gives nothing away


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no user files"):
        read_users(tmp_path)
