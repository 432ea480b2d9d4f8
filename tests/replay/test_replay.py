"""`cep replay`: matches, orders, counts, and every way to get it wrong."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cep.compiler.pipeline import compile_source
from cep.source import Source
from connectors.files import ErrorPolicy, Input
from connectors.files.sort import SortedInput

from .conftest import PATTERN, Cep, Event, event, expected_rises, lines, rises, write_events


def some_events(count: int = 300, seed: int = 0) -> list[Event]:
    rng = random.Random(seed)
    return [event(n * 0.5, f"a{rng.randint(0, 20)}", float(rng.randint(0, 50))) for n in range(count)]


def test_matches_go_to_stdout_one_object_a_line(cep: Cep, folder: Path) -> None:
    write_events(folder / "e.jsonl", [event(0, "x", 1.0), event(1.5, "x", 2.5), event(61.5, "x", 3)])
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--pattern", "Rise")
    assert done.returncode == 0, done.stderr
    first, second = lines(done.stdout)
    assert set(first) == {"id", "pattern", "start", "end", "fields"}
    assert len(first["id"]) == 32
    assert first["id"] != second["id"]
    assert {key: first[key] for key in ("pattern", "start", "end", "fields")} == {
        "pattern": "Rise",
        "start": "2024-01-01T00:00:00Z",
        "end": "2024-01-01T00:00:01.500Z",
        "fields": {"acc": "x", "low": 1.0, "high": 2.5, "at": "2024-01-01T00:00:01.500Z"},
    }
    assert "3 events, 2 matches" in done.stderr


def test_every_format_says_the_same_with_the_same_ids(cep: Cep, folder: Path) -> None:
    events = some_events()
    write_events(folder / "e.jsonl", events)
    with (folder / "e.csv").open("w", newline="") as sink:
        writer = csv.DictWriter(sink, ["amnt", "zip", "acc", "ts"], restval="8000")
        writer.writeheader()
        writer.writerows(events)
    pq.write_table(pa.Table.from_pylist(events), folder / "e.parquet")
    found = []
    for name in ("e.jsonl", "e.csv", "e.parquet"):
        done = cep("replay", "p.cep", "--in", f"Trans={name}")
        assert done.returncode == 0, done.stderr
        found.append(sorted(done.stdout.splitlines()))
    assert found[0] == found[1] == found[2]
    assert rises(lines("\n".join(found[0]))) == expected_rises(events)


def test_without_arrival_order_nothing_is_late_whatever_the_order(cep: Cep, folder: Path) -> None:
    events = some_events()
    write_events(folder / "sorted.jsonl", events)
    shuffled = events[:]
    random.Random(3).shuffle(shuffled)
    write_events(folder / "shuffled.jsonl", shuffled)
    one = cep("replay", "p.cep", "--in", "Trans=sorted.jsonl", "--stats", "s.json")
    other = cep("replay", "p.cep", "--in", "Trans=shuffled.jsonl", "--stats", "s.json", "--batch-size", 7)
    assert sorted(one.stdout.splitlines()) == sorted(other.stdout.splitlines())
    assert json.loads((folder / "s.json").read_text())["late"] == 0


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_arrival_order_drops_and_counts_late_events_one_by_one(cep: Cep, folder: Path, batch: int) -> None:
    # The watermark follows 10 seconds behind: 50 is kept at 60, 49.5 is late, whatever the batches.
    arrivals = [event(0, "x", 1), event(60, "x", 2), event(50, "x", 5), event(49.5, "x", 6), event(55, "x", 9)]
    write_events(folder / "e.jsonl", arrivals)
    args = ("replay", "p.cep", "--in", "Trans=e.jsonl", "--arrival-order", "--batch-size", batch, "--stats", "s.json")
    done = cep(*args, "--pattern", "Rise")
    kept = [item for item in arrivals if item["amnt"] != 6]
    assert rises(lines(done.stdout)) == expected_rises(kept)
    stats = json.loads((folder / "s.json").read_text())
    assert (stats["events"], stats["late"]) == (5, 1)
    assert "1 late event dropped" in done.stderr


def test_stats_have_exactly_these_keys(cep: Cep, folder: Path) -> None:
    write_events(folder / "e.jsonl", some_events(50))
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--stats", "s.json")
    stats = json.loads((folder / "s.json").read_text())
    assert list(stats) == ["events", "matches", "late", "seconds", "events_per_second", "peak_rss_bytes", "state"]
    assert stats["events"] == 50
    assert stats["matches"] == len(done.stdout.splitlines())
    assert stats["seconds"] > 0
    assert stats["events_per_second"] == pytest.approx(50 / stats["seconds"])
    assert stats["peak_rss_bytes"] > 10_000_000
    assert set(stats["state"]) == {"Rise", "Twice"}


def test_several_inputs_of_a_stream_are_merged(cep: Cep, folder: Path) -> None:
    events = some_events()
    write_events(folder / "one.jsonl", events[::2])
    write_events(folder / "two.jsonl", events[1::2])
    for extra in ([], ["--arrival-order"]):
        done = cep("replay", "p.cep", "--in", "Trans=one.jsonl", "--in", "Trans=two.jsonl", *extra)
        assert rises(lines(done.stdout)) == expected_rises(events)


def test_a_pipe_is_an_input(cep: Cep, folder: Path) -> None:
    events = some_events()
    text = "".join(json.dumps(item) + "\n" for item in events)
    done = cep("replay", "p.cep", "--in", "Trans=-", "--out", "m.jsonl", stdin=text)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert rises(lines((folder / "m.jsonl").read_text())) == expected_rises(events)


TWO_STREAMS = """\
STREAM Login (at TIMESTAMP, usr STRING) TIMESTAMP BY at WATERMARK 5 SECONDS;
STREAM Pay (at TIMESTAMP, usr STRING, amnt INT) TIMESTAMP BY at;
PATTERN P SEQ(Login l, Pay p) WHERE l.usr = p.usr WITHIN 10 SECONDS RETURN p.amnt AS amnt;
"""


def test_two_streams_share_one_watermark_the_lower_one(cep: Cep, folder: Path) -> None:
    (folder / "two.cep").write_text(TWO_STREAMS)
    login = [{"at": 20_000, "usr": "u"}, {"at": 16_000, "usr": "u"}, {"at": 14_999, "usr": "u"}]
    pay = [{"at": 20_001, "usr": "u", "amnt": 1}, {"at": 20_002, "usr": "u", "amnt": 2}]
    write_events(folder / "l.jsonl", login)
    write_events(folder / "p.jsonl", pay)
    args = ("replay", "two.cep", "--in", "Login=l.jsonl", "--in", "Pay=p.jsonl", "--stats", "s.json")
    done = cep(*args, "--arrival-order")
    # Logins come first; no watermark until a payment was seen, so none of them is late.
    assert sorted(m["fields"]["amnt"] for m in lines(done.stdout)) == [1, 1, 1, 2, 2, 2]
    assert json.loads((folder / "s.json").read_text())["late"] == 0
    done = cep(*args)
    assert sorted(m["fields"]["amnt"] for m in lines(done.stdout)) == [1, 1, 1, 2, 2, 2]


def test_streams_without_event_time_need_no_order(cep: Cep, folder: Path) -> None:
    (folder / "t.cep").write_text(
        "STREAM A (k INT); STREAM B (k INT, v STRING);\n"
        "PATTERN P AND(A a, B b) WHERE a.k = b.k UNBOUNDED RETURN b.v AS v;\n"
    )
    write_events(folder / "a.jsonl", [{"k": 1}, {"k": 2}])
    write_events(folder / "b.jsonl", [{"k": 2, "v": "two"}, {"k": 3, "v": "three"}])
    done = cep("replay", "t.cep", "--in", "A=a.jsonl", "--in", "B=b.jsonl")
    assert done.returncode == 0, done.stderr
    (match,) = lines(done.stdout)
    assert (match["start"], match["end"], match["fields"]) == (None, None, {"v": "two"})


def test_an_event_without_a_time_is_in_no_match_and_does_no_harm(cep: Cep, folder: Path) -> None:
    events = some_events(50)
    write_events(folder / "e.jsonl", [{"acc": "a1", "amnt": 1.0}, *events, {"ts": None, "acc": "a1", "amnt": 99.0}])
    for extra in ([], ["--arrival-order"]):
        done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", *extra)
        assert done.returncode == 0, done.stderr
        assert rises(lines(done.stdout)) == expected_rises(events)


def test_a_bad_record_fails_the_run_and_what_was_found_before_is_whole(cep: Cep, folder: Path) -> None:
    path = write_events(folder / "e.jsonl", some_events(40))
    path.write_text(path.read_text() + '{"ts": 0, "amnt": "abc"}\n')
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--out", "m.jsonl")
    assert done.returncode == 2
    assert 'Error: e.jsonl:41: "amnt": expected DOUBLE, found "abc"' in done.stderr
    assert "Traceback" not in done.stderr
    lines((folder / "m.jsonl").read_text())


def test_bad_records_can_be_left_out_or_kept(cep: Cep, folder: Path) -> None:
    events = some_events(40)
    path = write_events(folder / "e.jsonl", events)
    path.write_text("nonsense\n" + path.read_text())
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--on-error", "skip")
    assert done.returncode == 0
    assert rises(lines(done.stdout)) == expected_rises(events)
    assert "1 bad record left out, the first: e.jsonl:1: expected a JSON object" in done.stderr
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--on-error", "dead-letter=dead.jsonl")
    assert done.returncode == 0
    (dead,) = lines((folder / "dead.jsonl").read_text())
    assert (dead["file"], dead["line"], dead["raw"]) == ("e.jsonl", 1, "nonsense")


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["p.cep"], 2, "no input for stream `Trans`: add --in Trans=PATH"),
        (["p.cep", "--in", "Trns=e.jsonl"], 2, "--in Trns=...: no such stream: did you mean `Trans`?"),
        (["p.cep", "--in", "Zzz=e.jsonl"], 2, "no such stream: the patterns of p.cep read Trans"),
        (["p.cep", "--in", "e.jsonl"], 2, "expected STREAM=PATH, e.g. Trans=events.jsonl, found 'e.jsonl'"),
        (["p.cep", "--in", "Trans=kafka:t"], 2, "kafka:t is a Kafka topic: replay reads files"),
        (["p.cep", "--in", "Trans=missing.jsonl"], 2, "Error: missing.jsonl: cannot be read: No such file"),
        (["p.cep", "--in", "Trans=e.txt"], 2, "e.txt: the name does not say the format: use --format"),
        (["missing.cep", "--in", "Trans=e.jsonl"], 2, "missing.cep"),
        (["bad.cep", "--in", "Trans=e.jsonl"], 1, "error[CEP0203]"),
        (
            ["p.cep", "--in", "Trans=e.jsonl", "--pattern", "Rize"],
            2,
            "no pattern `Rize` in p.cep: did you mean `Rise`?",
        ),
        (["p.cep", "--in", "Trans=e.jsonl", "--out", "e.jsonl"], 2, "--out e.jsonl: is an input"),
        (["p.cep", "--in", "Trans=e.jsonl", "--out", "no/m.jsonl"], 2, "--out no/m.jsonl: no such directory: no"),
        (["p.cep", "--in", "Trans=e.jsonl", "--on-error", "maybe"], 2, "expected fail, skip or dead-letter=FILE"),
        (["p.cep", "--in", "Trans=e.jsonl", "--memory", "lots"], 2, "expected a size such as 256MB or 2GB"),
        (["p.cep", "--in", "Trans=-", "--in", "Trans=-"], 2, "stdin (-) can be the input of one stream only"),
    ],
)
def test_wrong_usage_says_what_is_needed(cep: Cep, folder: Path, args: list[str], status: int, message: str) -> None:
    before = write_events(folder / "e.jsonl", some_events(5)).read_text()
    (folder / "e.txt").write_text(before)
    (folder / "bad.cep").write_text(PATTERN.replace("b.amnt >", "b.amount >"))
    done = cep("replay", *args)
    assert done.returncode == status, done.stderr
    assert message in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert (folder / "e.jsonl").read_text() == before


def test_a_key_from_the_environment_makes_other_ids_and_is_in_no_message(
    cep: Cep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_events(folder / "e.jsonl", [event(0, "x", 1.0), event(1.5, "x", 2.5)])

    def ids(*options: str) -> list[str]:
        done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", *options)
        assert done.returncode == 0, done.stderr
        assert "a key of some bytes" not in done.stdout + done.stderr
        return [match["id"] for match in lines(done.stdout)]

    monkeypatch.setenv("CEP_ID_KEY", "a key of some bytes")
    keyed = ids("--id-key", "env:CEP_ID_KEY")
    assert keyed == ids("--id-key", "env:CEP_ID_KEY")
    assert keyed != ids()
    for wrong, message in (
        ("a key of some bytes", "Invalid value for '--id-key': expected env:NAME"),
        ("env:NOT_SET_ANYWHERE", "the environment variable NOT_SET_ANYWHERE is not set"),
    ):
        done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--id-key", wrong)
        assert done.returncode == 2
        assert message in done.stderr
        assert "a key of some bytes" not in done.stderr


def test_the_format_can_be_said(cep: Cep, folder: Path) -> None:
    events = some_events(30)
    write_events(folder / "e.txt", events)
    done = cep("replay", "p.cep", "--in", "Trans=e.txt", "--format", "jsonl")
    assert rises(lines(done.stdout)) == expected_rises(events)


def test_memory_decides_nothing_about_matches(cep: Cep, folder: Path) -> None:
    events = [item | {"acc": item["acc"] + "x" * 300} for item in some_events(6000, seed=4)]
    random.Random(5).shuffle(events)
    write_events(folder / "e.jsonl", events)
    large = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--pattern", "Twice")
    small = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--pattern", "Twice", "--memory", "1MB")
    assert small.returncode == 0, small.stderr
    assert sorted(small.stdout.splitlines()) == sorted(large.stdout.splitlines())
    assert len(large.stdout.splitlines()) > 500
    # Only so does this test say something: the second run does not fit.
    (plan,) = (plan for plan in compile_source(Source("p.cep", PATTERN)).plans if plan.pattern == "Twice")
    reader = SortedInput(Input.find(plan.streams[0], str(folder / "e.jsonl")), ErrorPolicy(), memory=1 << 20)
    assert sum(len(keys) for keys, _ in reader.chunks()) == 6000
    assert reader.spill.written > 0
    reader.close()
