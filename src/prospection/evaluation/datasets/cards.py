"""Cards: what each data set is, where people get it, and on what terms. None of them is part of this package.

Sizes and licences are as stated where the set is published. A checksum is that of the file named, where one was seen.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CARDS", "Card"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One data set.

    Attributes:
        name: Of its layout, as `load_dataset(path, name)` takes it.
        where: The address to get it from.
        files: What to pass to `load_dataset`, as published.
        found: When a reference counts as found.
        sha256: (file, checksum) pairs.
    """

    name: str
    title: str
    where: str
    files: str
    licence: str
    size: str
    found: str
    citation: str
    sha256: tuple[tuple[str, str], ...] = ()


CARDS = (
    Card(
        name="memoryquest",
        title="MemoryQuest",
        where="https://huggingface.co/datasets/harshitachopra/MemoryQuest",
        files="data/user{id}.json: the folder",
        licence="CC BY 4.0",
        size="50 people, 535 queries, 77.6 sessions a person, about 620 kB a file",
        found="the fact by its id or words, or a turn of its session that holds most of its words; all 3-5 are needed",
        citation="Chopra et al. (2026). Thinking Ahead: Prospection-Guided Retrieval of Memory with Language Models. "
        "arXiv:2605.14177",
    ),
    Card(
        name="implexconv",
        title="ImplexConv, opposed and supportive",
        where="https://huggingface.co/datasets/Kaylee0501/ImplexConv",
        files="one JSON file of either kind, or the authors' *_retrieve_text.json",
        licence="none stated",
        size="2,500 examples of about 100 conversations; the paper uses 196 opposed queries",
        found="any turn of a needed conversation, or any fact drawn from it; all are needed",
        citation="Li et al. (2025). Toward Multi-Session Personalized Conversation. EMNLP 2025. arXiv:2503.07018",
    ),
    Card(
        name="personamem",
        title="PersonaMem v1",
        where="https://huggingface.co/datasets/bowen-upenn/PersonaMem",
        files="questions_32k.csv with shared_contexts_32k.jsonl beside it (also 128k, 1M)",
        licence="MIT",
        size="20 people, 589 questions in the file of this checksum (32k); the paper's table is of 894 with histories "
        "of 32k, and it cites v2, so that its figures may be of other questions",
        found="a turn of the person at the published distance, or next to it",
        citation="Jiang et al. (2025). Know Me, Respond to Me. arXiv:2504.14225",
        sha256=(("questions_32k.csv", "23f306a8d28b7ffcf133fe7dad09ade06fcb862fc7c3f19691362a5cd69409bd"),),
    ),
    Card(
        name="personamem2",
        title="PersonaMem v2",
        where="https://huggingface.co/datasets/bowen-upenn/PersonaMem-v2",
        files="benchmark/text/benchmark.csv with data/chat_history_32k beside benchmark/",
        licence="CC BY 4.0",
        size="200 people, 5,000 questions",
        found="any of the person's turns in the related snippet",
        citation="Jiang et al. (2025). PersonaMem-v2. arXiv:2512.06688",
    ),
    Card(
        name="locomo",
        title="LoCoMo",
        where="https://github.com/snap-research/locomo",
        files="data/locomo10.json",
        licence="CC BY-NC 4.0",
        size="10 conversations, 1,986 questions (1,540 without the adversarial ones)",
        found="an observation that stands on the evidence turn, or the turn; all are needed",
        citation="Maharana et al. (2024). Evaluating Very Long-Term Conversational Memory of LLM Agents. ACL 2024. "
        "arXiv:2402.17753",
        sha256=(("locomo10.json", "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"),),
    ),
    Card(
        name="locomo-plus",
        title="LoCoMo-Plus",
        where="https://github.com/xjtuleeyf/Locomo-Plus",
        files="data/locomo_plus.json with LoCoMo's locomo10.json beside it",
        licence="none stated",
        size="401 cues and remarks",
        found="either line of the cue",
        citation="Li et al. (2026). Locomo-Plus: Beyond-Factual Cognitive Memory Evaluation Framework for LLM Agents",
    ),
    Card(
        name="longmemeval",
        title="LongMemEval",
        where="https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned",
        files="longmemeval_s_cleaned.json, longmemeval_m_cleaned.json or longmemeval_oracle.json",
        licence="MIT",
        size="500 questions, each with about 50 (S) or 500 (M) sessions of its own",
        found="a turn marked has_answer of the answer session; all answer sessions are needed",
        citation="Wu et al. (2024). LongMemEval. ICLR 2025. arXiv:2410.10813",
    ),
    Card(
        name="personalens",
        title="PersonaLens",
        where="https://huggingface.co/datasets/AmazonScience/PersonaLens",
        files="the folder with userN/profile.json and userN/tasks_md.json in it",
        licence="CC BY-NC 4.0",
        size="1,500 people, about 110 preferences and 15-20 tasks of several domains each",
        found="the preference by its domain and type; all of a task are needed",
        citation="Zhao et al. (2025). PersonaLens. Findings of ACL 2025, 18023-18055",
    ),
    Card(
        name="quest",
        title="Our quest layout: facts ready, with cues and recorded probes",
        where="prospection quest build",
        files="the folder with userN.json, and cues/ and probes/ where there are any",
        licence="yours",
        size="yours",
        found="the fact by its id; all are needed",
        citation="",
    ),
    Card(
        name="common",
        title="Our common layout, for your own conversations",
        where="see docs/evaluation.md",
        files="the folder with users.jsonl, queries.jsonl and perhaps facts.jsonl",
        licence="yours",
        size="yours",
        found="by fact id, else any of the turns named, else anything of the session",
        citation="",
    ),
)
