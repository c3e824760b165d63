"""Eight languages through the whole path: said, kept, found, shown, exported, restored. Real encoders, no model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from prospection import AsyncMemory, Settings
from prospection.exchange.archive import restore_archive, write_archive
from prospection.models.local import LocalEncoder
from prospection.models.multilingual import MultilingualEncoder
from prospection.types import FactType, Stored

pytestmark = pytest.mark.anyio

DAY = datetime(2025, 3, 5, 9, tzinfo=UTC)


@dataclass(frozen=True)
class Life:
    """What one person says, and how they ask for it later.

    Attributes:
        kept: Three statements: a mother's dialysis, an operation yesterday, an allergy to peanuts.
        dropped: A request and thanks.
        word: A question that shares a word with the first statement.
        meaning: A question that means the third one and shares no word with it.
    """

    kept: tuple[str, str, str]
    dropped: tuple[str, str]
    word: str
    meaning: str


LIVES = {
    "English": Life(
        kept=(
            "My mother has dialysis every Monday and Wednesday morning, and I drive her there.",
            "Yesterday I had surgery on my shoulder.",
            "I am allergic to peanuts.",
        ),
        dropped=("Could you suggest a good book?", "Thanks, that helps!"),
        word="dialysis dates?",
        meaning="Which nuts make this person ill?",
    ),
    "German": Life(
        kept=(
            "Meine Mutter muss jeden Montag und Mittwoch zur Dialyse, und ich fahre sie hin.",
            "Gestern wurde ich an der Schulter operiert.",
            "Ich bin allergisch gegen Erdnüsse.",
        ),
        dropped=("Kannst du mir ein gutes Buch empfehlen?", "Danke, das hilft mir!"),
        word="Wann ist die Dialyse?",
        meaning="Welche Nüsse machen krank?",
    ),
    "Spanish": Life(
        kept=(
            "Mi madre tiene diálisis todos los lunes y miércoles por la mañana, y yo la llevo.",
            "Ayer me operaron del hombro.",
            "Soy alérgico a los cacahuetes.",
        ),
        dropped=("¿Puedes recomendarme un buen libro?", "¡Gracias, eso ayuda!"),
        word="¿Cuándo hay dialisis?",  # without its accent, as people type
        meaning="¿Qué frutos secos sientan mal?",
    ),
    "French": Life(
        kept=(
            "Ma mère a une dialyse tous les lundis et mercredis matin, et c'est moi qui l'y conduis.",
            "Hier, j'ai été opéré de l'épaule.",
            "Je suis allergique aux cacahuètes.",
        ),
        dropped=("Peux-tu me recommander un bon livre ?", "Merci, ça m'aide !"),
        word="Quand est la dialyse ?",
        meaning="Quelles noix rendent malade ?",
    ),
    "Chinese": Life(
        kept=("我妈妈每周一和周三早上都要做透析，我开车送她去。", "昨天我做了肩膀手术。", "我对花生过敏。"),
        dropped=("你能推荐一本好书吗？", "谢谢，很有帮助！"),
        word="透析是哪天？",
        meaning="哪些坚果不能吃？",
    ),
    "Arabic": Life(
        kept=(
            "أمي تخضع لغسيل الكلى كل يوم اثنين وأربعاء صباحًا، وأنا أوصلها.",
            "أمس أجريت عملية جراحية في كتفي.",
            "لدي حساسية من الفول السوداني.",
        ),
        dropped=("هل يمكنك أن تقترح عليّ كتابًا جيدًا؟", "شكرًا، هذا مفيد!"),
        word="متى موعد غسيل الكلى؟",
        meaning="أي المكسرات تسبب المرض؟",
    ),
    "Japanese": Life(
        kept=(
            "母は毎週月曜日と水曜日の朝に透析を受けていて、私が車で送っています。",
            "昨日、肩の手術を受けました。",
            "私はピーナッツアレルギーがあります。",
        ),
        dropped=("いい本を紹介してくれますか？", "ありがとう、助かります！"),
        word="透析はいつ？",
        meaning="食べられないナッツは？",
    ),
    "Thai": Life(
        kept=(
            "แม่ของฉันต้องฟอกไตทุกเช้าวันจันทร์และวันพุธ และฉันเป็นคนขับรถไปส่ง",
            "เมื่อวานฉันผ่าตัดไหล่",
            "ฉันแพ้ถั่วลิสง",
        ),
        dropped=("ช่วยแนะนำหนังสือดีๆ ให้หน่อยได้ไหม", "ขอบคุณ ช่วยได้มาก"),
        word="ฟอกไตวันไหน",
        meaning="อาหารอะไรที่กินไม่ได้",
    ),
}
DATED = ("English", "German", "Spanish", "French")
"""Languages in which "yesterday" is resolved without a model."""
UNREAD = ("Thai",)
"""Languages whose letters the local encoder does not know: to it all their sentences are the same."""

LOCAL, MULTILINGUAL = LocalEncoder(), MultilingualEncoder()


async def lived(memory: AsyncMemory, life: Life) -> None:
    said = [life.kept[0], life.dropped[0], life.kept[1], life.dropped[1], life.kept[2]]
    outcome = await memory.add([{"role": "user", "content": text} for text in said], user="ada", session="s", at=DAY)
    assert isinstance(outcome, Stored)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(tmp_path / "memory.db", encoder=LOCAL, settings=Settings()) as opened:
        yield opened


async def infos(memory: AsyncMemory, query: str, policy: str) -> list[str]:
    return [item.info for item in (await memory.recall(query, user="ada", policy=policy)).facts]


@pytest.mark.parametrize("language", LIVES)
async def test_what_matters_is_kept_as_it_was_said(memory: AsyncMemory, language: str) -> None:
    life = LIVES[language]
    await lived(memory, life)
    facts = await memory.facts(user="ada")
    assert [fact.info for fact in facts] == list(life.kept)
    assert [fact.type for fact in facts] == [FactType.ACTIVITY, FactType.EVENT, FactType.IDENTITY]
    assert [[source.quote for source in fact.provenance] for fact in facts] == [[text] for text in life.kept]
    assert (facts[1].event_time is not None) == (language in DATED)


@pytest.mark.parametrize("language", LIVES)
async def test_a_word_finds_it_and_the_context_shows_it(memory: AsyncMemory, language: str) -> None:
    life = LIVES[language]
    await lived(memory, life)
    assert (await infos(memory, life.word, "lexical"))[0] == life.kept[0]
    if language not in UNREAD:
        assert (await infos(memory, life.word, "hybrid"))[0] == life.kept[0]
    recall = await memory.recall(life.word, user="ada", policy="library")
    assert {item.info for item in recall.facts} == set(life.kept)
    assert all(text in recall.context for text in life.kept)


@pytest.mark.parametrize("language", LIVES)
async def test_it_moves_whole(memory: AsyncMemory, language: str) -> None:
    life = LIVES[language]
    await lived(memory, life)
    written = "".join([line async for line in write_archive(memory, user="ada")])
    assert all(text in written for text in life.kept)  # readable, not escaped
    async with AsyncMemory(":memory:", encoder=LOCAL, settings=Settings()) as other:
        await restore_archive(other, BytesIO(written.encode()), user="ada")
        assert await other.facts(user="ada") == await memory.facts(user="ada")
        for policy in ("lexical", "hybrid", "direct"):
            assert await infos(other, life.word, policy) == await infos(memory, life.word, policy)


@pytest.mark.parametrize("language", LIVES)
async def test_with_the_multilingual_encoder_meaning_finds_it(language: str) -> None:
    life = LIVES[language]
    async with AsyncMemory(":memory:", encoder=MULTILINGUAL, settings=Settings()) as memory:
        await lived(memory, life)
        assert (await infos(memory, life.meaning, "direct"))[0] == life.kept[2]
        assert (await infos(memory, "peanut allergy", "direct"))[0] == life.kept[2]
        assert (await infos(memory, "an operation on the shoulder", "direct"))[0] == life.kept[1]
