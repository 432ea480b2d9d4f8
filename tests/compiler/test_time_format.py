"""How times are written: directives, their limits, and formats that name no moment."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.ir.time_format import of_number, of_text, problem

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def moment(text: str) -> int:
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("format_", "text", "expected"),
    [
        ("%Y-%m-%d %H:%M:%S", "2024-02-29 23:59:59", "2024-02-29T23:59:59+00:00"),
        ("%F %T.%f", "2024-02-29 23:59:59.5", "2024-02-29T23:59:59.500000+00:00"),
        ("%F %T.%f", "2024-02-29 23:59:59.123456789", "2024-02-29T23:59:59.123456+00:00"),
        ("%d/%b/%Y:%T %z", "04/Mar/2024:08:00:00 +0100", "2024-03-04T08:00:00+01:00"),
        ("%d/%b/%Y:%T %z", "4/mar/2024:08:00:00 -01:30", "2024-03-04T08:00:00-01:30"),
        ("%FT%T%z", "2024-03-04T08:00:00Z", "2024-03-04T08:00:00+00:00"),
        ("%A, %d. %B %Y", "Monday, 04. March 2024", "2024-03-04T00:00:00+00:00"),
        ("%a %b %d %T %Y", "Mon Mar  4 08:00:00 2024", "2024-03-04T08:00:00+00:00"),
        ("%m/%d/%y %I:%M %p", "3/4/24 12:05 am", "2024-03-04T00:05:00+00:00"),
        ("%m/%d/%y %I:%M %p", "3/4/69 12:05 PM", "1969-03-04T12:05:00+00:00"),
        ("%Y%j", "2024366", "2024-12-31T00:00:00+00:00"),
        ("%d.%m.%Y 100%%", "01.02.0001 100%", "0001-02-01T00:00:00+00:00"),
        ("(%Y) [%m]+%d", "(2024) [03]+04", "2024-03-04T00:00:00+00:00"),
    ],
)
def test_texts_that_fit(format_: str, text: str, expected: str) -> None:
    assert problem(format_) is None
    assert of_text(format_, text) == moment(expected)


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        ("%Y-%m-%d", "2023-02-29"),
        ("%Y-%m-%d", "2024-03-04 "),
        ("%Y-%m-%d", "24-03-04"),
        ("%Y-%m-%d", "0000-03-04"),
        ("%Y-%m-%d", "٢٠٢٤-03-04"),
        ("%F %T", "2024-03-04 24:00:00"),
        ("%F %T", "2024-03-04 23:60:00"),
        ("%F %T", "2024-03-04 23:59:60"),
        ("%F %I %p", "2024-03-04 0 AM"),
        ("%F %I %p", "2024-03-04 13 AM"),
        ("%Y %j", "2023 366"),
        ("%Y %j", "2023 0"),
        ("%F%z", "2024-03-04+24:00"),
        ("%F%z", "2024-03-04"),
    ],
)
def test_texts_that_do_not_fit(format_: str, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the caller says what was expected
        of_text(format_, text)


@pytest.mark.parametrize(
    ("format_", "why"),
    [
        ("", "no year"),
        ("%Y", "no month and day"),
        ("%Y-%m", "no month and day"),
        ("%m-%d", "no year"),
        ("%Y-%m-%d %M", "minutes and no hour"),
        ("%Y-%m-%d %H:%S", "seconds and no minutes"),
        ("%Y-%m-%d %H:%M.%f", "fraction and no seconds"),
        ("%Y-%m-%d %I", "go together"),
        ("%Y-%m-%d %H %p", "go together"),
        ("%Y-%m-%d %", "ends within"),
        ("%Y-%m-%d %s", "`%s`"),
        ("%Y-%m-%d %Y", "more than once"),
        ("%F %y", "more than once"),
        ("%F %b", "more than once"),
        ("%Y-%j-%d", "day of the year and"),
    ],
)
def test_formats_that_name_no_moment(format_: str, why: str) -> None:
    assert why in (problem(format_) or "")


@given(st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9999, 12, 31)))  # noqa: DTZ001 - UTC is added
def test_what_python_writes_is_read_back(naive: datetime) -> None:
    at = naive.replace(tzinfo=timezone.utc)
    for format_ in ("%Y-%m-%dT%H:%M:%S.%f%z", "%B %d %Y, %I:%M:%S.%f %p", "%j/%Y %T.%f"):
        text = at.strftime(format_)
        assert of_text(format_, text) == (at - EPOCH) // timedelta(microseconds=1), text


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("SECOND", 1_709_539_200, 1_709_539_200_000_000),
        ("SECOND", 1_709_539_200.123456, 1_709_539_200_123_456),
        ("SECOND", -1, -1_000_000),
        ("MILLISECOND", 1_709_539_200_123, 1_709_539_200_123_000),
        ("MILLISECOND", 0.5, 500),
        ("MICROSECOND", 7, 7),
        ("NANOSECOND", 1_999, 1),
        ("NANOSECOND", -1, -1),
    ],
)
def test_numbers(unit: str, value: float, expected: int) -> None:
    assert of_number(unit, value) == expected
