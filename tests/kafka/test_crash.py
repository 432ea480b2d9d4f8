"""Exactly once through kill -9: a real process publishes, is killed at random points, and starts again."""

from __future__ import annotations

import random
import subprocess
import sys
import time
import uuid

import pytest

from connectors.kafka.marker import newest_marker

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.usefixtures("real")]
BATCHES, SIZE, KEYS = 61, 50, 5

JOB = """
import random, sys, time
from connectors.kafka.config import KafkaConfig
from connectors.kafka.publisher import Record, TransactionalPublisher
bootstrap, job, topic, batches, size, keys, state = sys.argv[1:]
batches, size, keys = int(batches), int(size), int(keys)
# A checkpoint as Spark keeps it: the batch is written down as done only after the sink has committed it.
try:
    done = int(open(state).read() or -1)
except FileNotFoundError:
    done = -1
publisher = TransactionalPublisher(KafkaConfig.of({"bootstrap.servers": bootstrap, "linger.ms": 0}), job, topic=topic)
publisher.open()
print("open", flush=True)
for batch in range(done + 1, batches):
    records = [
        Record(b"k%d" % (n % keys), b"%d:%d" % (batch, n)) for n in range(0 if batch % 7 == 3 else size)
    ]
    publisher.publish(batch, records)
    time.sleep(random.random() * 0.05)  # room for a kill after the commit and before the checkpoint
    with open(state, "w") as file:
        file.write(str(batch))
    print(batch, flush=True)
"""


def test_killed_at_random_points_every_record_is_there_once_and_in_order(config, topic, committed, tmp_path):
    name, job = topic(3), f"job-{uuid.uuid4().hex[:10]}"
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    state = tmp_path / "checkpoint"
    command = [
        *(sys.executable, "-c", JOB, config.bootstrap, job, name),
        *(str(BATCHES), str(SIZE), str(KEYS), str(state)),
    ]
    kills = 0
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        if kills < 8:
            if chance.random() < 0.8:
                process.stdout.readline()  # most kills fall among the transactions, some into the opening
            time.sleep(chance.uniform(0, 0.6))
            process.kill()
            process.wait()
            kills += 1
        else:
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors.decode()
            break

    expected = [
        (b"k%d" % (n % KEYS), b"%d:%d" % (batch, n)) for batch in range(BATCHES) if batch % 7 != 3 for n in range(SIZE)
    ]
    found = [(message.key(), message.value()) for message in committed(name)]
    assert sorted(found) == sorted(expected), f"seed {seed}"
    for number in range(KEYS):
        key = b"k%d" % number
        assert [pair for pair in found if pair[0] == key] == [pair for pair in expected if pair[0] == key], (
            f"seed {seed}"
        )
    marker = newest_marker(config, f"{name}.cep-commits", job)
    assert marker is not None
    assert marker.batch == BATCHES - 1
    assert kills == 8
