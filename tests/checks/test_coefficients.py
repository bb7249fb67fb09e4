"""Coefficients: the most specific case that matches decides, and bad entries are refused."""

from __future__ import annotations

import pytest

from whygpu.checks.coefficients import Coefficients

PLAIN = {"id": "eta", "meaning": "share", "unit": "share", "low": 0.1, "likely": 0.2, "high": 0.3, "source": "a"}


def case(likely: float, **when: object) -> dict[str, object]:
    return {"when": when, "low": likely, "likely": likely, "high": likely, "source": "b"}


def test_the_plain_figure_holds_where_no_case_does() -> None:
    found = Coefficients.of([{**PLAIN, "by": [case(0.9, runtime="vllm")]}]).pick("eta", {"runtime": "llama.cpp"})
    assert (found.low, found.likely, found.high, found.source) == (0.1, 0.2, 0.3, ("a",))


def test_the_most_specific_case_wins_whatever_its_place() -> None:
    rows = [case(0.5, runtime="vllm"), case(0.6, runtime="vllm", format="fp8")]
    for by in (rows, rows[::-1]):
        coefficients = Coefficients.of([{**PLAIN, "by": by}])
        assert coefficients.pick("eta", {"runtime": "vllm", "format": "fp8"}).likely == 0.6
        assert coefficients.pick("eta", {"runtime": "vllm", "format": "bf16"}).likely == 0.5


def test_a_list_of_words_matches_any_of_them() -> None:
    coefficients = Coefficients.of([{**PLAIN, "by": [case(0.5, memory=["hbm2", "hbm3"])]}])
    assert coefficients.pick("eta", {"memory": "hbm3"}).likely == 0.5
    assert coefficients.pick("eta", {"memory": "gddr6"}).likely == 0.2


def test_a_case_takes_its_source_from_the_entry_where_it_names_none() -> None:
    row = case(0.5, runtime="vllm")
    del row["source"]
    assert Coefficients.of([{**PLAIN, "by": [row]}]).pick("eta", {"runtime": "vllm"}).source == ("a",)


def test_cases_that_can_both_hold_are_refused_unless_a_third_settles_it() -> None:
    rows = [case(0.5, runtime="vllm"), case(0.6, generation="ada")]
    with pytest.raises(ValueError, match="can both hold"):
        Coefficients.of([{**PLAIN, "by": rows}])
    settled = Coefficients.of([{**PLAIN, "by": [*rows, case(0.7, runtime="vllm", generation="ada")]}])
    assert settled.pick("eta", {"runtime": "vllm", "generation": "ada"}).likely == 0.7


@pytest.mark.parametrize("change", [{"low": 0.4}, {"high": 0.1}])
def test_a_range_out_of_order_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="eta"):
        Coefficients.of([{**PLAIN, **change}])


def test_an_id_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        Coefficients.of([PLAIN, PLAIN])


def test_a_table_is_given_as_it_is() -> None:
    coefficients = Coefficients.of([{"id": "sizes", "meaning": "m", "unit": "u", "rows": [{"layers": 2}]}, PLAIN])
    assert coefficients.table("sizes") == ({"layers": 2},)
    assert coefficients.table("none") == ()
    assert list(coefficients) == ["eta"]
