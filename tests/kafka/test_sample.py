"""A look at the newest records of a topic, and what a job says with it."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from cep.compiler.pipeline import compile_source
from cep.source import Source
from connectors.kafka.sample import newest_values
from runtime.spark.watch.fit import Fit
from runtime.spark.watch.progress import Batch

pytestmark = pytest.mark.kafka


def test_the_newest_records_are_returned(config, topic, send):
    name = topic(2)
    send(name, [(number % 2, b"k", str(number).encode()) for number in range(60)])
    values = newest_values(config, name, records=10)
    assert len(values) == 10
    assert set(values) <= {str(number).encode() for number in range(40, 60)}


def test_a_job_names_the_field_that_the_records_have_instead(config, topic, send):
    name = topic()
    send(name, [(0, b"k", json.dumps({"User": "u"}).encode()), (0, b"k", b"no json"), (0, b"k", None)])
    text = "STREAM S (usr STRING); PATTERN P AND(S a, S b) WHERE a.usr = b.usr UNBOUNDED RETURN a.usr AS usr;"
    plans = compile_source(Source("p.cep", text)).plans
    fit = Fit(plans, {"S": f"kafka:{name}"}, kafka=config)
    batch = Batch(
        number=0, events={"S": 1}, matches={}, late=0, watermark=None, lag=None, state_bytes=0, rebuilt=0, seconds=0.0,
        commit_seconds=0.0, values={"S": {"usr": 0}},
    )  # fmt: skip
    with capture_logs() as logs:
        fit.look(batch)
    assert [log["what"] for log in logs] == ["stream `S`: no record has a column `usr`: did you mean `User`?"]
