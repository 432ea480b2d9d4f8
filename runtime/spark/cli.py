"""`cep run`: patterns as a Spark Structured Streaming job."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from cep.cli.files import compile_file
from cep.cli.status import INTERRUPTED
from cep.diagnostics import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cep.plan import Plan
    from runtime.spark.job import Job
    from runtime.spark.progress import Batch


class Pair(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """`NAME=VALUE`, as a pair."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split at the first `=`."""
        if isinstance(value, (tuple, list)):
            return str(value[0]), str(value[1])
        name, equals, rest = str(value).partition("=")
        if not (name and equals and rest):
            self.fail(f"expected NAME=VALUE, found {value!r}", param, ctx)
        return name, rest


_TABLES = {"in": "inputs", "kafka-option": "kafka_options", "conf": "conf"}
_RENAMED = {"in": "inputs", "format": "kind", "kafka-option": "kafka_options"}


def _config(ctx: click.Context, _param: click.Parameter, path: str | None) -> None:
    """Make the keys of a TOML file the defaults of the options of the same names."""
    if path is None:
        return
    try:
        import tomllib
    except ModuleNotFoundError:
        raise click.UsageError("--config needs Python 3.11 or newer") from None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as click opens files
            content = tomllib.load(file)
    except OSError as error:
        raise click.UsageError(f"--config {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise click.UsageError(f"--config {path}: {error}") from error
    known = {option.lstrip("-"): p.name for p in ctx.command.params for option in p.opts if option.startswith("--")}
    defaults: dict[str, Any] = {}
    for key, value in content.items():
        name = key.replace("_", "-")
        if name not in known or name == "config":
            hint = did_you_mean(name, known)
            raise click.UsageError(f"--config {path}: no option `{key}`" + (f": {hint}" if hint else ""))
        if name in _TABLES:
            if not isinstance(value, dict):
                raise click.UsageError(f"--config {path}: expected a table [{key}]")
            defaults[str(known[name])] = [(inner, str(found)) for inner, found in value.items()]
        else:
            defaults[str(known[name])] = value
    ctx.default_map = {**(ctx.default_map or {}), **defaults}


@click.command(short_help="Run patterns as a Spark Structured Streaming job.")
@click.argument("file", type=click.Path())
@click.option(
    "--in",
    "inputs",
    type=Pair(),
    multiple=True,
    metavar="STREAM=SOURCE",
    help="Events of a stream: kafka:TOPIC, a directory, a glob or a file. Once for each stream.",
)
@click.option("--out", default="-", metavar="SINK", show_default=True, help="kafka:TOPIC, a directory, or - (stdout).")
@click.option("--checkpoint", metavar="DIR", help="Where the job keeps what it needs to go on after a stop or crash.")
@click.option("--once", is_flag=True, help="Process what is there, then stop.")
@click.option(
    "--config",
    is_eager=True,
    expose_value=False,
    callback=_config,
    metavar="TOML",
    help="A file with options as keys; the command line wins.",
)
@click.option("--pattern", "names", multiple=True, metavar="NAME", help="Only this pattern (can be repeated).")
@click.option("--name", default="cep", show_default=True, help="The name of the Spark application and query.")
@click.option("--master", help="Spark master: local[N], spark://HOST:PORT, yarn, k8s://...; default: Spark's own.")
@click.option(
    "--buckets",
    type=click.IntRange(1, 32_767),
    help="Parallelism of patterns with a partition key; fixed for the life of a checkpoint. Default: the cores of a "
    "local master, else 16.",
)
@click.option("--trigger", metavar="INTERVAL", help="Start a batch every so often, e.g. '5 seconds'; default: at once.")
@click.option(
    "--on-error",
    default="fail",
    show_default=True,
    metavar="fail|skip|dead-letter[=DIR]",
    help="What to do with a record that is not an event: dead letters go to TOPIC.dlq, those of files to DIR.",
)
@click.option(
    "--on-pattern-change",
    type=click.Choice(["fail", "restart"]),
    default="fail",
    show_default=True,
    help="What to do with a pattern that changed since the checkpoint was written.",
)
@click.option("--format", "kind", type=click.Choice(["jsonl", "csv", "parquet"]), help="The format of event files.")
@click.option("--max-files", type=click.IntRange(min=1), metavar="N", help="At most N files of a stream in a batch.")
@click.option("--max-offsets", type=click.IntRange(min=1), metavar="N", help="At most N Kafka offsets in a batch.")
@click.option("--bootstrap", metavar="HOST:PORT", help="Kafka brokers.")
@click.option("--kafka-source", type=click.Choice(["auto", "python", "jvm"]), default="auto", show_default=True)
@click.option("--kafka-option", "kafka_options", type=Pair(), multiple=True, help="A Kafka client setting.")
@click.option(
    "--starting-offsets",
    default="earliest",
    show_default=True,
    help="earliest, latest, or a time; for new checkpoints.",
)
@click.option(
    "--on-data-loss",
    type=click.Choice(["fail", "continue"]),
    default="fail",
    show_default=True,
    help="What to do where Kafka removed events before they were read.",
)
@click.option("--metrics-port", type=click.IntRange(0, 65_535), metavar="PORT", help="Serve Prometheus metrics.")
@click.option("--conf", type=Pair(), multiple=True, help="A Spark setting.")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    file: str,
    inputs: Sequence[tuple[str, str]],
    checkpoint: str | None,
    names: Sequence[str],
    metrics_port: int | None,
    **options: Any,
) -> None:
    """Run the patterns of FILE as a Spark Structured Streaming job.

    Matches are written exactly once, whatever is killed and restarted. SIGTERM finishes the batch and stops; started
    again with the same checkpoint, the job goes on where it was. Exit status: 0 done or stopped, 1 an invalid pattern,
    2 bad usage or a failed run.

    \b
    Example:
      cep run card_testing.cep --in Trans=kafka:transactions --out kafka:alerts \\
          --bootstrap localhost:9092 --checkpoint /var/lib/cep/card_testing
    """  # noqa: D301 - click reads the backspace
    from runtime.spark.errors import JobError
    from runtime.spark.job import Job

    if checkpoint is None:
        raise click.UsageError("no --checkpoint: give a directory that lives as long as the job")
    plans = _chosen(compile_file(file).plans, names, file)
    bound = _bound(inputs, plans, file)
    debug = bool(ctx.find_root().params.get("debug"))
    kafka_options, conf = dict(options.pop("kafka_options")), dict(options.pop("conf"))
    job = Job(inputs=bound, checkpoint=checkpoint, debug=debug, kafka_options=kafka_options, conf=conf, **options)
    _check_on_error(job)
    try:
        status = _run(job, plans, metrics_port)
    except JobError as error:
        if debug:
            raise
        raise click.ClickException(str(error)) from error
    ctx.exit(status)


def _chosen(plans: Sequence[Plan], names: Sequence[str], file: str) -> list[Plan]:
    known = [plan.pattern for plan in plans]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise click.UsageError(f"no pattern `{name}` in {file}" + (f": {hint}" if hint else ""))
    if not plans:
        raise click.UsageError(f"{file} has no pattern")
    return [plan for plan in plans if not names or plan.pattern in names]


def _bound(inputs: Sequence[tuple[str, str]], plans: Sequence[Plan], file: str) -> dict[str, str]:
    bound = dict(inputs)
    if len(bound) < len(inputs):
        twice = next(name for name, _ in inputs if sum(name == other for other, _ in inputs) > 1)
        raise click.UsageError(f"--in {twice}=... is given twice: use a directory or a glob for several files")
    used = sorted({leaf.stream for plan in plans for leaf in plan.leaves})
    missing = [name for name in used if name not in bound]
    if missing:
        wanted = " ".join(f"--in {name}=..." for name in missing)
        unknown = [name for name in bound if name not in used]
        hint = f" (found --in {unknown[0]}=...)" if unknown else ""
        raise click.UsageError(
            f"no input for {', '.join(f'`{name}`' for name in missing)} of {file}: add {wanted}{hint}"
        )
    return bound


def _check_on_error(job: Job) -> None:
    kind, _, directory = job.on_error.partition("=")
    if kind not in ("fail", "skip", "dead-letter") or (kind != "dead-letter" and directory):
        raise click.UsageError(f"--on-error: expected fail, skip or dead-letter[=DIR], found {job.on_error!r}")
    files = [name for name, spec in job.inputs.items() if not spec.startswith("kafka:")]
    if kind == "dead-letter" and files and not directory:
        raise click.UsageError(f"--on-error dead-letter: the files of `{files[0]}` need a directory, dead-letter=DIR")


def _run(job: Job, plans: Sequence[Plan], metrics_port: int | None) -> int:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    from cep.cli.logging import configure
    from connectors.kafka.config import KafkaFailureError
    from runtime.cli.interrupt import Interrupts
    from runtime.spark import manifest as manifests
    from runtime.spark.errors import JobError, explain
    from runtime.spark.job import follow, is_local, prepare, redacted, ship, start
    from runtime.spark.session import open_session

    configure("debug" if job.debug else "info")
    with Interrupts() as interrupts:
        prepared = prepare(job, plans)
        report = _reporter(prepared.changes, plans, metrics_port)
        spark = open_session(
            job.name,
            job.master,
            job.conf,
            prepared.manifest.buckets,
            local_checkpoint=manifests.local(job.checkpoint) is not None,
            debug=job.debug,
        )
        try:
            if not is_local(job.master):
                ship(spark)
            follow(start(prepared, spark), prepared, report, lambda: interrupts.number is not None)
        except (PySparkException, Py4JError, KafkaFailureError, ConnectionError) as error:
            if job.debug:
                raise
            raise JobError(redacted(job, explain(error))) from error
        finally:
            with suppress(Exception):  # the Java process may be what failed
                spark.stop()
    return INTERRUPTED if interrupts.number == signal.SIGINT else 0


def _reporter(changes: Sequence[Any], plans: Sequence[Plan], metrics_port: int | None) -> Callable[[Batch], None]:
    """What to do with each batch: a line for people or machines, and metrics."""
    import structlog

    from runtime.spark.progress import log_fields, status_line

    logger = structlog.get_logger()
    metrics = None
    if metrics_port is not None:
        from runtime.spark.metrics import Metrics

        metrics = Metrics()
        metrics.serve(metrics_port)
    for change in changes:
        logger.info("pattern_change", pattern=change.pattern, what=change.what)
    for plan in plans:
        if plan.partition_key is None and len(plan.leaves) > 1:
            logger.warning("one_bucket", pattern=plan.pattern, why="no partition key")
    terminal = sys.stderr.isatty()

    def report(batch: Batch) -> None:
        if terminal:
            click.echo(status_line(batch), err=True)
        else:
            logger.info("batch", **log_fields(batch))
        if metrics is not None:
            metrics.update(batch)

    return report
