"""What is worth keeping in languages without lists of their own."""

from __future__ import annotations

import pytest

from prospection.remember.rules.general import says_enough


@pytest.mark.parametrize(
    "text",
    [
        "我对花生过敏。",
        "私は医師です。",
        "ฉันแพ้ถั่วลิสง",
        "저는 간호사로 일합니다.",
        "У меня аллергия на орехи.",
        "Sono allergica alle noci.",
        "لدي حساسية من الفول السوداني.",
        "谢谢，我下周三要带我妈妈去医院做透析。",  # thanks, and then something
        "मैं हर सोमवार योग करती हूँ",
    ],
)
def test_statements_are_kept(text: str) -> None:
    assert says_enough(text)


@pytest.mark.parametrize(
    "text",
    [
        "谢谢，很有帮助！",
        "好的",
        "帮我写一封信给房东。",
        "请推荐一本好书。",
        "ありがとうございます！",
        "いい本を教えてください。",
        "ขอบคุณ ช่วยได้มาก",
        "شُكْرًا، هذا مفيد!",  # with its points
        "اقترح عليّ كتابًا جيدًا عن التاريخ.",
        "Спасибо, очень помогли!",
        "Подскажи хорошую книгу о море.",
        "Grazie, perfetto!",
        "👍",
        "",
    ],
)
def test_thanks_requests_and_trifles_are_not(text: str) -> None:
    assert not says_enough(text)
