"""`prospection eval run|report|compare|datasets|plans`, from a plan to a gate."""

from __future__ import annotations

from pathlib import Path

from commands import Run, data_of, model_at, refused
from loopback import Loopback, Status
from measured import row, run_of

PLAN = """
name = "small one"
[[datasets]]
name = "quest"
path = "nowhere"
[[systems]]
name = "direct"
policy = "direct"
[[systems]]
name = "lexical"
policy = "lexical"
limit = 1
"""


def measured(run: Run, data: str) -> None:
    Path("plan.toml").write_text(PLAN)
    found = run(
        "eval", "run", "plan.toml", "--data", f"quest={data}", env={"PROSPECTION_EVALUATION__EMBEDDING_CACHE": "0"}
    )
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("6 cases in runs/small-one, 0 of them failed.")


def test_from_a_plan_to_a_gate(run: Run, data: str) -> None:
    measured(run, data)
    report = run("eval", "report", "runs/small-one")
    assert "## quest" in report.stdout
    assert "3 queries of 2 people" in report.stdout
    assert run("eval", "report", "runs/small-one", "--format", "csv").stdout.startswith("dataset,system,")
    assert len(data_of(run("eval", "report", "runs/small-one", "--format", "json"))["summaries"]) == 2
    # Every memory holds fewer than five facts, so that direct finds all of it; lexical returns one.
    better = run("eval", "compare", "runs/small-one", "lexical", "direct", "--all", "--fail-below", "0")
    assert better.exit_code == 0
    assert "quest: recall of everything returned" in better.stdout
    worse = run("eval", "compare", "runs/small-one", "direct", "lexical", "--at", "5", "--fail-below", "-0.1")
    assert worse.exit_code == 1
    assert "'lexical' less 'direct' is -1.000 on quest" in worse.stderr
    assert "on quest, below the limit -0.1" in worse.stderr
    (found,) = data_of(run("eval", "compare", "runs/small-one", "direct", "lexical", "--json"))
    assert found["difference"] < 0


def test_runs_of_one_system_stand_side_by_side(run: Run) -> None:
    run_of(Path("runs/main"), [row("pgr", "q1", (1,))])
    run_of(Path("runs/change"), [row("pgr", "q1", (None,))])
    summaries = data_of(run("eval", "report", "runs/main", "runs/change", "--format", "json"))["summaries"]
    assert {one["system"]: one["recall_all"] for one in summaries} == {"pgr (main)": 1.0, "pgr (change)": 0.0}


def test_what_is_tested_is_people(run: Run) -> None:
    rows = [
        row(system, f"q{n}", (rank,), person=f"p{n % 4}") for system, rank in (("a", 9), ("b", 1)) for n in range(32)
    ]
    run_of(Path("runs/four"), rows)
    found = run("eval", "compare", "runs/four", "a", "b", "--at", "5").stdout
    assert "p = 0.1250 over people, 32 better" in found
    assert "4 are too few people to tell, the smallest p is 0.125." in found
    over = run("eval", "compare", "runs/four", "a", "b", "--at", "5", "--over", "queries").stdout
    assert "p = 0.0001 over queries, as if those of one person were independent" in over
    assert "4 are too few people to tell" in over
    assert "permutation test over people" in run("eval", "report", "runs/four").stdout
    assert "permutation test over queries" in run("eval", "report", "runs/four", "--over", "queries").stdout


def test_a_gate_sees_an_outage_and_an_unfinished_run(run: Run) -> None:
    whole = [row("pgr", f"q{n}", (1,)) for n in range(4)]
    gone = [row("pgr", "q0", (None,), error="EndpointError: gone"), *whole[1:]]
    for name, rows in (("whole", whole), ("part", whole[:2]), ("gone", gone)):
        run_of(Path("runs") / name, rows)

    def gate(a: str, b: str) -> str:
        found = run("eval", "compare", f"runs/{a}", "pgr", "pgr", "--against", f"runs/{b}", "--fail-below", "-0.1")
        assert found.exit_code == (0 if (a, b) == ("whole", "whole") else 1)
        return found.output

    assert "quest: recall@20 1.000 by pgr (whole) and 1.000 by pgr (whole)" in gate("whole", "whole")
    assert "2 queries are missing from pgr (part) and left out; finish the runs" in gate("whole", "part")
    assert "2 queries are missing from pgr (part) and left out" in gate("part", "whole")
    # A failed case of the change counts against it; one of what it is held against would hide a loss.
    failed = gate("whole", "gone")
    assert "-0.250 on quest, below the limit -0.1; 1 of its cases failed and count as found nothing" in failed
    assert "1 cases of pgr (gone) failed and count as found nothing." in failed
    assert "'pgr (whole)' cannot be judged on quest: 1 cases of pgr (gone) failed" in gate("gone", "whole")
    run_of(Path("runs/other"), whole, sha256="f" * 64)
    against = run("eval", "compare", "runs/whole", "pgr", "pgr", "--against", "runs/other")
    assert "data set 'quest' is not the same in runs 'whole' and 'other'" in refused(against)


def test_a_system_all_of_whose_cases_failed_fails_the_command(run: Run, data: str, server: Loopback) -> None:
    Path("plan.toml").write_text(PLAN.replace('policy = "lexical"\nlimit = 1', 'policy = "hyde"'))
    server.script(*[Status(500)] * 3)
    options = ("--data", f"quest={data}", *model_at(server.url))
    found = run("eval", "run", "plan.toml", *options, env={"PROSPECTION_MODELS__RETRIES": "0"})
    assert found.exit_code == 1
    assert found.stdout.startswith("6 cases in runs/small-one, 3 of them failed.")
    assert "3 times: EndpointError: " in found.stderr
    assert "every case of 'lexical' failed; mend the cause and ask again with --retry-failed" in found.stderr


def test_a_report_says_how_the_data_were_read(run: Run, data: str) -> None:
    Path("plan.toml").write_text(PLAN.replace('path = "nowhere"', 'path = "nowhere"\nqueries = 1'))
    run("eval", "run", "plan.toml", "--data", f"quest={data}", env={"PROSPECTION_EVALUATION__EMBEDDING_CACHE": "0"})
    note = "Cut to the first 1 of 3 queries."
    assert f"\n- {note}\n" in run("eval", "report", "runs/small-one").stdout
    assert note in data_of(run("eval", "report", "runs/small-one", "--format", "json"))["about"]["quest"]


def test_a_run_is_resumed_and_replayed(run: Run, data: str) -> None:
    measured(run, data)
    again = ("eval", "run", "plan.toml", "--data", f"quest={data}")
    assert "holds a run already" in refused(run(*again))
    assert data_of(run(*again, "--resume", "--json")) == {
        "run": "runs/small-one",
        "cases": 6,
        "failed": 0,
        "unanswered": 0,
        "stopped": None,
    }
    replayed = run("eval", "run", "--replay", "runs/small-one", "--data", f"quest={data}")
    assert replayed.stdout == "Every row of runs/small-one came out the same.\n"


def test_a_dry_run_asks_nobody(run: Run, data: str, server: Loopback) -> None:
    Path("plan.toml").write_text(PLAN.replace('policy = "lexical"\nlimit = 1', 'policy = "pgr"'))
    options = ("--data", f"quest={data}", "--dry-run", *model_at(server.url))
    direct, pgr = data_of(run("eval", "run", "plan.toml", *options, "--json"))
    assert (direct["calls"], server.chats) == (0, [])
    assert pgr["calls"] > 3
    assert "rehearsed on a few queries" in run("eval", "run", "plan.toml", *options).stderr
    assert not Path("runs").exists()


def test_a_report_with_its_files(run: Run, data: str) -> None:
    measured(run, data)
    found = run("eval", "report", "runs/small-one", "--out", "out", "--no-plots")
    assert found.stdout.split() == ["out/report.md", "out/report.csv", "out/report.json"]
    assert Path("out/report.md").read_text() == run("eval", "report", "runs/small-one").stdout


def test_data_sets_and_plans_are_listed(run: Run) -> None:
    assert "https://github.com/snap-research/locomo" in run("eval", "datasets").stdout
    assert "memoryquest" in [card["name"] for card in data_of(run("eval", "datasets", "--json"))]
    assert "\nforesight-ablations   What each signal" in run("eval", "plans").stdout
    assert 'name = "paper"' in run("eval", "plans", "paper").stdout
    assert "did you mean 'paper'" in refused(run("eval", "plans", "papr"))


def test_what_cannot_be_run(run: Run) -> None:
    assert "give either PLAN or --replay RUN" in refused(run("eval", "run"), code=2)
    assert "'nothing' is not NAME=PATH" in refused(run("eval", "run", "quest", "--data", "nothing"), code=2)
    assert "'elsewhere' is not a run" in refused(run("eval", "report", "elsewhere"))
    assert "plan 'quets'; did you mean 'quest'" in refused(run("eval", "run", "quets"))
