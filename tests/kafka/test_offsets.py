"""Planning of offsets: limits are kept, nothing is skipped, and every partition gets on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connectors.kafka.cluster import Identity
from connectors.kafka.offsets import advance, changes, decode, encode, identity_of, lost, stale_topics

places = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 11))
positions = st.dictionaries(places, st.integers(0, 1000), max_size=8)


@given(positions, st.dictionaries(places, st.integers(0, 500)), st.one_of(st.none(), st.integers(1, 50)))
def test_a_batch_reads_up_to_the_limit_and_as_much_as_there_is(start, more, limit):
    end = {place: offset + more.get(place, 0) for place, offset in start.items()}
    reached = advance(start, {}, end, limit)

    available = sum(more.get(place, 0) for place in start)
    assert sum(reached[place] - start[place] for place in start) == min(available, limit or available)
    assert all(start[place] <= reached[place] <= end[place] for place in start)


@given(positions, positions, st.integers(1, 20))
def test_batches_reach_the_end_and_then_stand_still(begin, more, limit):
    end = {place: offset + more.get(place, 0) for place, offset in begin.items()}
    position, seen = {}, 0
    for _ in range(sum(more.values()) + 2):
        reached = advance(position, begin, end, limit)
        if reached == position:
            break
        seen += sum(offset - position.get(place, begin[place]) for place, offset in reached.items())
        position = reached
    assert position == end
    assert seen == sum(end[place] - begin[place] for place in end)


@given(positions)
def test_positions_survive_the_checkpoint(position):
    assert decode(encode(position)) == position


def test_what_counts_as_loss():
    start = {("t", 0): 5, ("t", 1): 5, ("t", 2): 5, ("t", 3): 5}
    begin = {("t", 0): 5, ("t", 1): 6, ("t", 2): 0}
    end = {("t", 0): 5, ("t", 1): 9, ("t", 2): 4}
    assert [(loss.partition, loss.found) for loss in lost(start, begin, end)] == [(1, 6), (2, 4), (3, None)]


@given(positions, st.sampled_from([None, "C"]), st.dictionaries(st.sampled_from(["a", "b"]), st.just("Zk3v")))
def test_ids_survive_the_checkpoint_beside_the_positions(position, cluster, ids):
    written = encode(position, Identity(cluster, ids))
    assert decode(written) == position
    known = {topic for topic, _ in position}
    assert identity_of(written) == Identity(cluster, {name: id_ for name, id_ in ids.items() if name in known})


def test_what_was_not_known_has_not_changed():
    now = Identity("C", {"t": "A", "u": "B"})
    assert changes(Identity(), now) == []
    assert changes(now, Identity()) == []
    assert changes(now, now) == []
    assert stale_topics(Identity(), now, ["t", "u"]) == set()


def test_a_topic_with_another_id_or_of_another_cluster_begins_anew():
    before, now = Identity("C", {"t": "A", "u": "B"}), Identity("C", {"t": "Z", "u": "B"})
    assert [str(change) for change in changes(before, now)] == [
        "t was deleted and made anew (it had the id A, now it has Z)"
    ]
    assert stale_topics(before, now, ["t", "u"]) == {"t"}
    assert stale_topics(Identity("C"), Identity("D"), ["t", "u"]) == {"t", "u"}
    assert stale_topics(before, Identity("D", {"t": "A"}), ["t"]) == set()
