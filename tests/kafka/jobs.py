"""Events, a pattern, the command of a job, and what `cep replay` says of the same events."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from connectors.kafka.cluster import admin_client, ensure_topics
from connectors.kafka.config import KafkaConfig

ROOT = Path(__file__).parent.parent.parent
# The watermark is wide: how far partitions are read apart in a batch is no part of these tests.
PATTERN = """
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE) TIMESTAMP BY ts WATERMARK 30 MINUTES;
PATTERN CardTesting
  SEQ(Trans s1, Trans s2, Trans l)
  WHERE s1.acc = s2.acc AND s2.acc = l.acc AND s1.amnt < 50 AND s2.amnt < 50 AND l.amnt > 450
  WITHIN 2 MINUTES
  RETURN l.acc AS acc, s1.ts AS first_ts, s2.ts AS second_ts, l.ts AS last_ts, l.amnt AS amount;
"""
START = 1_704_067_200_000
STEP = 100
ACCOUNTS = 200


def events(count: int, *, after: int = 0) -> list[dict[str, object]]:
    """Transactions, ten a second, over 200 accounts; `after` so many others."""
    chance = random.Random(after)
    return [
        {
            "ts": START + (after + number) * STEP,
            "acc": f"A{chance.randrange(ACCOUNTS):03d}",
            "amnt": round(chance.uniform(0, 500), 2),
        }
        for number in range(count)
    ]


def write_jsonl(path: Path, table: Iterable[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in table))
    return path


def cep(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "cep.cli", *map(str, arguments)]


def command(bootstrap: str, pattern: Path, source: str, sink: str, checkpoint: Path, *more: object) -> list[str]:
    """`cep run` from topic to topic."""
    return cep(
        "run", pattern, "--in", f"Trans=kafka:{source}", "--out", f"kafka:{sink}", "--bootstrap", bootstrap,
        "--checkpoint", checkpoint, "--master", "local[2]", "--buckets", 2, "--kafka-source", "python", *more,
    )  # fmt: skip


def environment(**variables: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1", **variables}


def replayed(pattern: Path, file: Path) -> list[str]:
    """The matches that `cep replay` finds, as lines of JSON."""
    done = subprocess.run(
        cep("replay", pattern, "--in", f"Trans={file}"), cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def delete(config: KafkaConfig, name: str) -> None:
    """Delete a topic, and wait until it is gone."""
    admin = admin_client(config)
    (done,) = admin.delete_topics([name]).values()
    done.result()
    deadline = time.monotonic() + 60
    while name in admin.list_topics(timeout=10).topics:
        assert time.monotonic() < deadline, f"{name} is still there"
        time.sleep(0.2)


def make_anew(config: KafkaConfig, name: str) -> None:
    """Delete a topic and create it again, under the same name."""
    delete(config, name)
    ensure_topics(config, [name], settings={"retention.ms": "-1"})
