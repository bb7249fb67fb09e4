"""Numbers as people write and read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whygpu.quantity import parse_number, parse_pixels, show, show_ends, show_range, show_with_range, side_by_side


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("8B", None, 8e9),
        ("70e9", None, 70e9),
        ("32k", "tokens", 32_000),
        ("32Ki", "tokens", 32_768),
        ("1.5M", None, 1.5e6),
        ("16GiB", "GiB", 16),
        ("16GiB", "bytes", 16 * 2**30),
        ("16GB", "bytes", 16e9),
        ("512 MiB", "bytes", 512 * 2**20),
        ("200 ms", "ms", 200),
        ("2s", "ms", 2000),
        ("400 us", "ms", 0.4),
        ("12 min", "s", 720),
        ("3h", "s", 10_800),
        ("90 min", "h", 1.5),
        ("20 days", "hours", 480),
        ("1.5e3", "s", 1500),
        ("1,000", None, 1000),
        ("$2.50", "USD/hour", 2.5),
        ("-3", None, -3),
        ("1 000", "requests", 1000),
        ("3 500 USD", "USD", 3500),
        ("3,500 USD", "USD", 3500),
        ("USD 3500", "USD", 3500),
        ("$12k", "USD", 12_000),
        ("$0.10/h", "USD/hour", 0.1),
        ("0.10 USD", "USD/hour", 0.1),
        ("4 dollars an hour", "USD/hour", 4),
        ("5 per second", "requests/s", 5),
        ("100 billion", "tokens", 1e11),
        ("100 billion tokens", "tokens", 1e11),
        ("20 users", "requests", 20),
        ("8 cameras", "streams", 8),
        ("1 day", "hours", 24),
        ("3 weeks", "hours", 504),
        ("2 months", "hours", 1460),
        ("2 minutes", "ms", 120_000),
    ],
)
def test_suffixes(text: str, unit: str | None, value: float) -> None:
    assert parse_number(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    "text", ["", "many", "8BB", "8 apples", "1e999", "nan", "inf", "0x10", "8" * 100, "1 2", "--3", "1 0000", "0,10"]
)
def test_what_is_no_number(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize("unit", ["ms", "s", "hours", "days"])
@pytest.mark.parametrize("text", ["5m", "5 m", "5M", "5k", "5B", "5GiB"])
def test_a_time_has_a_unit_of_time(text: str, unit: str) -> None:
    assert parse_number(text, unit) is None


@pytest.mark.parametrize(("text", "pixels"), [("1920x1080", 2_073_600), ("640", 409_600), ("640X480", 307_200)])
def test_resolutions(text: str, pixels: float) -> None:
    assert parse_pixels(text) == pixels


@pytest.mark.parametrize("text", ["", "x", "12by12", "1x2x3", "-1x5", "9999999x1", "1.5x2"])
def test_what_is_no_resolution(text: str) -> None:
    assert parse_pixels(text) is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (8.03e9, "parameters", "8.03B"),
        (1, "requests", "1 request"),
        (1, "passes", "1 pass"),
        (1, "copies", "1 copy"),
        (1, "micro-batches", "1 micro-batch"),
        (2, "requests", "2 requests"),
        (0.526, "USD/hour", "$0.53/hour"),
        (26.25, "GiB", "26.2 GiB"),
        (1, "requests/s", "1 request/s"),
        (1234.5, "ms", "1.23 s"),
        (987.6, "ms", "988 ms"),
        (26_600, "ms", "26.6 s"),
        (1_732_086, "ms", "28.9 min"),
        (2_820_000, "ms", "47 min"),
        (720, "s", "12 min"),
        (0.0855, "hours", "5.13 min"),
        (1, "hours", "1 hour"),
        (72, "hours", "72 hours"),
        (100, "hours", "100 hours"),
        (168, "hours", "7 days"),
        (500, "hours", "20.8 days"),
        (2474, "hours", "103 days"),
        (math.nan, "ms", "unknown"),
        (0, None, "0"),
        (0.0002, None, "0.0002"),
    ],
)
def test_shown(value: float, unit: str | None, text: str) -> None:
    assert show(value, unit) == text


@pytest.mark.parametrize(
    ("one", "two", "unit", "texts"),
    [
        (46.1, 168, "hours", ("1.92 days", "7 days")),
        (95.2, 100, "hours", ("95.2 hours", "100 hours")),
        (200, 168, "hours", ("200 hours", "168 hours")),
        (900, 1500, "ms", ("0.9 s", "1.5 s")),
        (40, 30_000, "ms", ("40 ms", "30 s")),
        (0.5, math.nan, "hours", ("30 min", "unknown")),
    ],
)
def test_times_beside_each_other_are_in_one_unit(one: float, two: float, unit: str, texts: tuple[str, str]) -> None:
    assert (show(one, unit, (one, two)), show(two, unit, (one, two))) == texts


@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([None, "GiB", "ms", "USD", "tokens"]))
def test_anything_can_be_shown(value: float, unit: str | None) -> None:
    assert show(value, unit)


@given(st.text(max_size=80), st.sampled_from([None, "bytes", "GiB", "ms", "USD/hour"]))
def test_any_text_is_a_finite_number_or_none(text: str, unit: str | None) -> None:
    found = parse_number(text, unit)
    assert found is None or math.isfinite(found)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.3e-05, "USD", "under a cent"),
        (0.01, "USD", "$0.01"),
        (0.0, "USD", "$0"),
        (0.00069, "hours", "2.48 s"),
        (0.5, "hours", "30 min"),
        (0, "hours", "0 hours"),
    ],
)
def test_what_is_too_small_for_its_unit(value: float, unit: str, text: str) -> None:
    assert show(value, unit) == text


def test_the_same_figure_is_not_against_itself() -> None:
    assert side_by_side("$0.30", "$0.30") == "$0.30 in both cases"
    assert side_by_side("$0.30", "$0.31") == "$0.30 against $0.31"


@pytest.mark.parametrize(
    ("low", "likely", "high", "unit", "text"),
    [
        (7_830, 12_000, 26_600, "ms", "12 s (7.83 to 26.6)"),
        (131_758, 239_000, 503_822, "ms", "3.98 min (2.2 to 8.4)"),
        (0.00017, 0.000303, 0.00055, "hours", "1.09 s (0.61 to 1.98)"),
        (8_000, 9_000, 20_000, "ms", "9 s (8 to 20)"),
        (121, 149, 187, "GiB", "149 GiB (121 to 187)"),
        (3, 3, 3, "hours", "3 hours"),
        (0.1, 0.2, 0.3, "share", "20.0% (10.0% to 30.0%)"),
    ],
)
def test_a_figure_and_its_range_are_in_one_unit(low: float, likely: float, high: float, unit: str, text: str) -> None:
    assert show_with_range(low, likely, high, unit) == text


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (7_830, 26_600, "ms", "7.83 to 26.6 s"),
        (0.4, 1.5, "hours", "0.4 to 1.5 hours"),
        (5, 8.5, "USD/hour", "$5 to $8.50/hour"),
        (0.1, 0.3, "share", "10.0% to 30.0%"),
        (21.4, 24.3, "GiB", "21.4 to 24.3 GiB"),
    ],
)
def test_both_ends_of_a_range_are_in_one_unit(low: float, high: float, unit: str, text: str) -> None:
    assert show_range(low, high, unit) == text


def test_ends_without_a_figure_are_in_the_unit_of_the_upper() -> None:
    assert show_ends(7_830, 26_600, "ms") == "7.83 to 26.6"


@given(st.integers(1, 100_000))
def test_a_size_in_decimals_is_a_whole_number(hundredths: int) -> None:
    # in floats 8.03 times a billion is 8,029,999,999.999999, which is no number of parameters
    assert parse_number(f"{hundredths // 100}.{hundredths % 100:02}B") == hundredths * 10**7
