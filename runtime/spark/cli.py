"""`cep run`: patterns as a Spark Structured Streaming job."""

from __future__ import annotations

import logging
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any

import click

from cep.cli.files import compile_file, import_root_option
from cep.cli.lazy import describe
from cep.cli.status import INTERRUPTED
from cep.diagnostics import did_you_mean
from connectors.formats import EVENT_FORMATS
from runtime.cli.options import STRICT_SCHEMA, MaxAhead, id_key_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cep.ir.plan import Plan
    from runtime.spark.job.start import Job, Prepared
    from runtime.spark.watch.fit import Fit
    from runtime.spark.watch.metrics import Metrics
    from runtime.spark.watch.progress import Batch
    from runtime.spark.watch.ties import Ties


class Pair(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """`NAME=VALUE`, as a pair."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split at the first `=`."""
        name, equals, rest = str(value).partition("=")
        if not (name and equals and rest):
            self.fail(f"expected NAME=VALUE, found {value!r}", param, ctx)
        return name, rest


_TABLES = ("in", "kafka-option", "conf")
_META = "cep.run.tables"
"""Under this name the context has the tables of the `--config` file, by the names of the parameters."""


def _config(ctx: click.Context, _param: click.Parameter, path: str | None) -> None:
    """Make the keys of a TOML file the defaults of the options of the same names; tables are put aside."""
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
    tables: dict[str, dict[str, str]] = ctx.meta.setdefault(_META, {})
    for key, value in content.items():
        name = key.replace("_", "-")
        if name not in known or name == "config":
            hint = did_you_mean(name, known)
            raise click.UsageError(f"--config {path}: no option `{key}`" + (f": {hint}" if hint else ""))
        if name in _TABLES:
            if not isinstance(value, dict):
                raise click.UsageError(f"--config {path}: expected a table [{key}]")
            tables[str(known[name])] = {inner: str(found) for inner, found in value.items()}
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
@click.option(
    "--late",
    metavar="SINK",
    help="Where late events go, with the watermark that they met, as JSON Lines: kafka:TOPIC or a directory. Default: "
    "they are counted.",
)
@click.option("--checkpoint", metavar="DIR", help="Where the job keeps what it needs to go on after a stop or crash.")
@click.option("--once", is_flag=True, help="Process what is there, then stop.")
@click.option(
    "--config",
    is_eager=True,
    expose_value=False,
    callback=_config,
    metavar="TOML",
    help="A file with options as keys, and tables [in], [kafka-option] and [conf]; the command line wins, key by key.",
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
    "--max-ahead",
    type=MaxAhead(),
    metavar="DURATION|off",
    help="An event dated further after the clock of the machine that reads it is no event (--on-error). Default: what "
    "MAX AHEAD of its stream says, else 1 DAY.",
)
@click.option(
    "--on-pattern-change",
    type=click.Choice(["fail", "restart"]),
    default="fail",
    show_default=True,
    help="What to do with a pattern that changed since the checkpoint was written.",
)
@click.option("--format", "kind", type=click.Choice(EVENT_FORMATS), help="The format of event files.")
@click.option("--strict-schema", is_flag=True, help=STRICT_SCHEMA)
@click.option("--max-files", type=click.IntRange(min=1), metavar="N", help="At most N files of a stream in a batch.")
@click.option(
    "--max-offsets",
    type=click.IntRange(min=1),
    metavar="N",
    help="At most N Kafka offsets in a batch, of all streams together. Default: 1,000,000.",
)
@click.option(
    "--max-matches-per-batch", "max_matches", type=click.IntRange(min=1), metavar="N", help="At most N matches a batch."
)
@click.option(
    "--on-too-many",
    type=click.Choice(["fail", "truncate"]),
    default="fail",
    show_default=True,
    help="What to do with a batch that has more matches than --max-matches-per-batch.",
)
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
@click.option(
    "--on-rewind",
    type=click.Choice(["fail", "republish"]),
    default="fail",
    show_default=True,
    help="What to do where the checkpoint went back in time behind what was published, or the markers were lost.",
)
@click.option("--metrics-port", type=click.IntRange(0, 65_535), metavar="PORT", help="Serve Prometheus metrics.")
@click.option(
    "--metrics-address",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Where to serve them: an address of this machine; 0.0.0.0 or :: is all of them.",
)
@click.option(
    "--restart",
    default="on-failure",
    show_default=True,
    metavar="never|on-failure[:N]",
    help="Whether to go on from the checkpoint after a failure that may pass, at most N times in a row. Without N: as "
    "often as it takes; with --once, 3 times.",
)
@click.option("--conf", type=Pair(), multiple=True, help="A Spark setting.")
@import_root_option
@id_key_option
@click.pass_context
def run(
    ctx: click.Context,
    /,
    file: str,
    inputs: Sequence[tuple[str, str]],
    checkpoint: str | None,
    names: Sequence[str],
    metrics_port: int | None,
    metrics_address: str,
    **options: Any,
) -> None:
    """Run the patterns of FILE as a Spark Structured Streaming job.

    Matches are written exactly once, whatever is killed and restarted. SIGTERM finishes the batch and stops; started
    again with the same checkpoint, the job goes on where it was. After a failure that may pass it does so by itself.
    Exit status: 0 done or stopped, 1 an invalid pattern, 2 bad usage or a failed run.

    \b
    Example:
      cep run card_testing.cep --in Trans=kafka:transactions --out kafka:alerts \\
          --bootstrap localhost:9092 --checkpoint /var/lib/cep/card_testing
    """  # noqa: D301 - click reads the backspace
    from runtime.spark.errors import JobError
    from runtime.spark.job.start import Job, redacted

    if checkpoint is None:
        raise click.UsageError("no --checkpoint: give a directory that lives as long as the job")
    plans = _chosen(compile_file(file, import_root=options.pop("import_root")).plans, names, file)
    bound = _bound(_merged(ctx, "inputs", _once(inputs)), plans, file)
    debug = bool(ctx.find_root().params.get("debug"))
    shown = dict(options.pop("kafka_options"))
    kafka_options, conf = _merged(ctx, "kafka_options", shown), _merged(ctx, "conf", dict(options.pop("conf")))
    job = Job(inputs=bound, checkpoint=checkpoint, debug=debug, kafka_options=kafka_options, conf=conf, **options)
    _check_on_error(job)
    _check_restart(job)
    try:
        status = _run(job, plans, metrics_port, metrics_address, _exposed(shown))
    except Exception as error:
        if debug:
            click.echo(redacted(job, "".join(traceback.format_exception(error))), err=True)
        text = str(error) if isinstance(error, JobError) else describe(error)
        raise click.ClickException(redacted(job, text)) from None
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


def _merged(ctx: click.Context, name: str, given: Mapping[str, str]) -> dict[str, str]:
    """What the `--config` file has in a table, with what the command line says instead, or beside it."""
    return {**ctx.meta.get(_META, {}).get(name, {}), **given}


def _once(inputs: Sequence[tuple[str, str]]) -> dict[str, str]:
    bound = dict(inputs)
    if len(bound) < len(inputs):
        twice = next(name for name, _ in inputs if sum(name == other for other, _ in inputs) > 1)
        raise click.UsageError(f"--in {twice}=... is given twice: use a directory or a glob for several files")
    return bound


def _bound(bound: dict[str, str], plans: Sequence[Plan], file: str) -> dict[str, str]:
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


def _exposed(kafka_options: Mapping[str, str]) -> list[str]:
    """Secrets that are written out on the command line, which everybody on the machine can see."""
    from connectors.kafka.config import is_reference, is_secret

    return sorted(name for name, value in kafka_options.items() if is_secret(name) and not is_reference(value))


def _check_restart(job: Job) -> None:
    from runtime.spark.job.supervise import restarts

    try:
        restarts(job.restart, once=job.once)
    except ValueError as error:
        raise click.UsageError(f"--restart: {error}") from None


def _run(
    job: Job, plans: Sequence[Plan], metrics_port: int | None, metrics_address: str, exposed: Sequence[str]
) -> int:
    import structlog

    from cep.cli.logging import configure
    from runtime.cli.interrupt import Interrupts
    from runtime.spark.job import lease
    from runtime.spark.job.start import kafka_config, prepare, redacted, uses_kafka
    from runtime.spark.job.supervise import OwnSessions, Supervisor
    from runtime.spark.watch.fit import Fit
    from runtime.spark.watch.ties import Ties

    configure("debug" if job.debug else "info", lambda line: redacted(job, line))
    if not job.debug:  # it tells of what foreachBatch raises; so does the query, which we report
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
    for name in exposed:
        structlog.get_logger().warning("secret_on_command_line", option=name, instead="env:NAME, file:PATH or --config")
    with (
        Interrupts() as interrupts,
        lease.hold(job.checkpoint, job.name, lambda: interrupts.number is not None) as held,
    ):

        def stopping() -> bool:
            held()
            return interrupts.number is not None

        prepared = prepare(job, plans)
        metrics = _metrics(metrics_port, metrics_address, "drop" if job.late is None else "keep")
        config = kafka_config(job) if uses_kafka(job) else None
        fit = Fit(plans, job.inputs, kind=job.kind, strict=job.strict_schema, kafka=config)
        with Ties() as ties:
            Supervisor(
                prepared=prepared,
                sessions=OwnSessions(prepared),
                report=_reporter(prepared, plans, metrics, fit, ties),
                restarted=metrics.restarts.inc if metrics is not None else lambda: None,
                stopping=stopping,
            ).run()
    return INTERRUPTED if interrupts.number == signal.SIGINT else 0


def _metrics(port: int | None, address: str, late: str) -> Metrics | None:
    if port is None:
        return None
    from runtime.spark.watch.metrics import Metrics

    metrics = Metrics(late)
    metrics.serve(port, address)
    return metrics


def _reporter(
    prepared: Prepared, plans: Sequence[Plan], metrics: Metrics | None, fit: Fit, ties: Ties
) -> Callable[[Batch], None]:
    """What to do with each batch: a line for people or machines, and metrics."""
    import structlog

    from runtime.spark.job.start import promised
    from runtime.spark.watch.jumps import Jumps
    from runtime.spark.watch.progress import log_fields, status_line

    logger = structlog.get_logger()
    idle = promised(prepared.job, plans)
    for change in prepared.changes:
        logger.info("pattern_change", pattern=change.pattern, what=change.what)
    for plan in plans:
        if plan.partition_key is None and len(plan.leaves) > 1:
            logger.warning("one_bucket", pattern=plan.pattern, why="no partition key")
        silent = sorted(name for name, delay in idle.items() if delay is None)
        if plan.hold is not None and silent:
            why = (
                "its matches come when the watermark has passed them, which stands still while one of these is silent "
                "(IDLE AFTER, on a topic, lets the clock move it)"
            )
            logger.warning("waits", pattern=plan.pattern, streams=silent, why=why)
    beats = any(delay is not None for delay in idle.values())
    terminal = sys.stderr.isatty()
    jumps = Jumps(plans)

    def report(batch: Batch) -> None:
        if beats and batch.idle:  # a heartbeat every few seconds is nothing to read
            logger.debug("batch", **log_fields(batch))
        elif terminal:
            click.echo(status_line(batch), err=True)
        else:
            logger.info("batch", **log_fields(batch))
        for finding in jumps.look(batch):
            logger.warning(finding.event, **finding.fields)
        ties.look(batch)
        try:
            fit.look(batch)
        finally:  # what ends the job is counted, too
            if metrics is not None:
                metrics.update(batch, jumps.total, fit)

    return report
