"""`python -m tests.chaos --minutes 5`: faults of all kinds against real parts, and a table of what they did.

Three brokers, driver, executor, workers and engine hosts are real processes; see `stage` and `faults`. Faults come one
or two at a time, at random moments, while events come in; then everything is healed, the job reads on to the end, and
what a `read_committed` consumer finds is compared with `cep replay` over the same events. Status 1 where a match is
lost or doubled. The seed decides which faults come when, but not what the machine makes of them.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections import Counter

from tests.chaos.faults import KILLS, OTHERS, Fault
from tests.chaos.stage import Stage, say


def disturb(
    stage: Stage, chance: random.Random, faults: tuple[Fault, ...], until: float, kills: int | None
) -> Counter[str]:
    """Inject faults until the time is up and there were so many kills; how often each was."""
    done: Counter[str] = Counter()
    wait_for_work(stage, until)
    while time.monotonic() < until or (kills is not None and killed(done) < kills):
        chosen = chance.sample(faults, chance.choice((1, 1, 2)))
        begun = [(fault, fault.begin(stage, chance)) for fault in chosen]
        for fault, heal in begun:
            if heal is not None:
                done[fault.name] += 1
                time.sleep(chance.uniform(*fault.seconds))
                heal()
        say(f"{done.total():4} faults  batch {stage.committed:4}  {len(stage.sent):,} events sent")
        if chance.random() < 0.6:  # else the next fault falls into the recovery
            wait_for_work(stage, until)
    return done


def wait_for_work(stage: Stage, until: float) -> None:
    """Wait until the job has finished another batch, so that faults fall into work, not only into starts."""
    before = stage.committed
    limit = max(until, time.monotonic() + 60)
    while stage.committed <= before and time.monotonic() < limit:
        time.sleep(0.2)


def killed(done: Counter[str]) -> int:
    """How many of the faults were kills."""
    return sum(count for name, count in done.items() if name.startswith("kill "))


def table(done: Counter[str], ended: Counter[str], result: tuple[int, int, int]) -> str:
    """For people, in Markdown."""
    expected, lost, doubled = result
    rows = [f"| {name} | {count} |" for name, count in sorted(done.items())]
    said = [f"| {count} | {why} |" for why, count in ended.most_common()]
    return "\n".join(
        [
            "", "| fault | injected |", "|---|---|", *rows, f"| **all** | **{done.total()}** |",
            "", "| times | the job ended and was started again |", "|---|---|", *said,
            "", f"{expected:,} matches expected, {lost:,} lost, {doubled:,} doubled",
        ]
    )  # fmt: skip


def main() -> int:
    """The run; its status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="how long faults are injected for")
    parser.add_argument("--events", type=int, default=100_000, help="how many events there are in all")
    parser.add_argument("--kills", type=int, help="go on until so many processes were killed; no other faults")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--master", default="local-cluster[1,2,1024]", help="Spark's master")
    chosen = parser.parse_args()
    say(f"seed {chosen.seed}")
    chance = random.Random(chosen.seed)
    seconds = chosen.minutes * 60
    with Stage(master=chosen.master) as stage:
        stage.feed(chosen.events, seconds)
        stage.keep_running()
        faults = KILLS if chosen.kills else (*KILLS, *OTHERS)
        done = disturb(stage, chance, faults, time.monotonic() + seconds, chosen.kills)
        say("healed; reading on to the end")
        result = stage.finish(chosen.events)
        say(table(done, stage.ended, result))
    if result[1] or result[2]:
        say(f"\nseed {chosen.seed}; what the job said: {stage.directory}")
        return 1
    shutil.rmtree(stage.directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
