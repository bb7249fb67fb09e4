"""Sizing and diagnosis in the wizard: what the engine says is what is drawn, bad input stays on the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whygpu.errors import AnswerError
from whygpu.measured.readers.detect import read_any
from whygpu.render.view.sizing import sizing_view
from whygpu.sizing.service_size import ServiceSize
from whygpu.sizing.training import TrainingSize
from whygpu_ui.measured import MOST_BYTES, Measured, read_upload
from whygpu_ui.measured_charts import curve_chart, curve_text, curves, service_chart, service_text, split_chart
from whygpu_ui.measured_form import PASTED, read_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    from whygpu import KnowledgeBase
    from whygpu.diagnosis.diagnosis import Diagnosis
    from whygpu.sizing.sized import Sized

    Opened = Callable[..., AppTest]
    Plain = Callable[[str], str]

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "measured" / "data"
LOADS = """concurrency,requests_per_s,latency_mean_ms,latency_p50_ms,latency_p95_ms,output_tokens
1,0.95,1050,1000,2100,260
16,9.4,1700,1600,3400,260
64,16.3,3900,3700,7900,260
128,18.1,7000,6600,14500,260
256,17.7,14400,13700,30000,260
"""
RUN = """measurement: 1
setup: {accelerator: h100-sxm-80gb, count: 8, nodes: 1}
figures: {tokens_per_s: 146000, compute_share: 0.6, input_share: 0.15, communication_share: 0.1}
scaling:
- {accelerators: 1, nodes: 1, tokens_per_s: 20000}
- {accelerators: 8, nodes: 1, tokens_per_s: 146000}
- {accelerators: 16, nodes: 2, tokens_per_s: 275000}
- {accelerators: 32, nodes: 4, tokens_per_s: 500000}
"""


ASKED = {"requests_per_second": "60", "p95_ms": "8s", "accelerators": "l40s"}


@pytest.fixture(scope="module")
def service(kb: KnowledgeBase) -> Sized:
    answers = {**ASKED, "accelerators": ["l40s"]}
    return kb.size_inference([read_any(LOADS, PASTED, kb.knowledge)], answers, engine="evaluator")


def _run(kb: KnowledgeBase, **answers: object) -> Sized:
    return kb.size_training([read_any(RUN, PASTED, kb.knowledge)], answers, engine="evaluator")


def _fill(app: AppTest, box: str = "", **texts: str) -> AppTest:
    """Paste, type each text into the field of its key, and submit."""
    if box:
        app.text_area[0].set_value(box)
    for key, text in texts.items():
        name = key.replace("__", ".")
        field = next(item for item in (*app.text_input, *app.selectbox) if str(item.key).endswith(f"-{name}"))
        field.set_value(text)
    app = next(item for item in app.button if str(item.key).startswith("take-")).click().run()
    assert not app.exception
    return app


def _text(app: AppTest, plain: Plain) -> str:
    shown = [item.value for kind in (app.title, app.header, app.markdown, app.warning, app.error) for item in kind]
    return plain("\n".join([*shown, *(item.proto.body for item in app.get("html"))]))


def _measured(app: AppTest) -> Measured:
    found: Measured = app.session_state["whygpu"].measured
    return found


def _diagnosed(kb: KnowledgeBase, name: str) -> Diagnosis:
    text = (DATA / name).read_text(encoding="utf-8")
    return kb.diagnose(read_any(text, PASTED, kb.knowledge), engine="evaluator")


# what is drawn


@pytest.mark.slow
def test_a_service_is_sized_as_the_command_sizes_it(opened: Opened, service: Sized, plain: Plain) -> None:
    view = sizing_view(service)
    app = _fill(opened(page="size"), LOADS, **ASKED)
    text = _text(app, plain)
    assert plain(app.title[0].value) == view.headline
    assert view.price in text
    assert view.promise in text
    assert all(cell in text for row in view.curve.rows for cell in row)
    assert "Report as Markdown" in str(app.get("download_button"))
    assert app.query_params["page"] == "size"
    assert "requests_per_second" not in app.query_params  # a figure of sizing is no answer of the consultation


def test_typed_figures_size_a_run(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    typed = {"dataset_tokens": "1B", "measured__step_ms": "900", "batch_size": "4", "sequence_tokens": "4096"}
    app = _fill(opened(page="size", item="training"), accelerators="l40s", **typed)
    answers = {"dataset_tokens": "1B", "batch_size": 4, "sequence_tokens": 4096, "measured": {"step_ms": 900}}
    sized = kb.size_training([], {**answers, "accelerators": ["l40s"]}, engine="evaluator")
    assert plain(app.title[0].value) == sizing_view(sized).headline
    assert "step_ms 900" in _text(app, plain)


def test_a_diagnosis_is_the_commands(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    found = _diagnosed(kb, "profiler-dataloader.txt")
    assert found.first is not None
    app = _fill(opened(page="diagnose"), (DATA / "profiler-dataloader.txt").read_text(encoding="utf-8"))
    text = _text(app, plain)
    assert found.first.name in plain(app.title[0].value)
    assert all(action in text for action in found.first.actions)
    assert all(sign.rule in text and f"kb/{sign.place}" in text for sign in found.first.signs)
    cited = {item for sign in found.first.signs for item in sign.claims}
    claims, references = kb.knowledge.claims, kb.knowledge.catalogue.references
    assert all((claims[item].says if item in claims else references[item].title) in text for item in cited)
    labels = [field.label for field in app.text_input]  # what to measure next can be typed at once
    assert kb.knowledge.vocabulary[found.next[0].figure].meaning[1:] in labels[0]


def test_any_figure_of_the_vocabulary_can_be_chosen_and_typed(opened: Opened, plain: Plain) -> None:
    app = opened(page="diagnose")
    app = app.multiselect[0].select("measured.thermal_share").run()
    app = _fill(app, measured__thermal_share="40%", phase="training")
    assert ("measured.thermal_share", "40%") in _measured(app).typed
    assert "40.0%" in _text(app, plain)
    app = _fill(app, measured__thermal_share="")  # emptied, it is taken back
    assert "40.0%" not in _text(app, plain)


@pytest.mark.slow
def test_measurements_go_from_page_to_page_and_can_be_removed(opened: Opened) -> None:
    app = opened()
    app = app.button(key="to-size").click().run()
    app = _fill(app, LOADS)
    assert "at the peak are not given" in app.error[0].value
    app = app.button(key="to-diagnose").click().run()
    assert app.query_params["page"] == "diagnose"
    assert "likely" in app.title[0].value or "No measurement" in app.title[0].value or "Possibly" in app.title[0].value
    drop = next(item for item in app.button if str(item.key).startswith("drop-"))
    app = drop.click().run()
    assert _measured(app) == Measured()
    assert app.title[0].value == "What is slow, and why?"


@pytest.mark.slow
def test_going_back_keeps_what_was_measured(opened: Opened) -> None:
    app = _fill(opened(page="size"), LOADS)
    app.query_params.clear()
    app.query_params["page"] = "knowledge"
    app = app.run()
    assert not app.exception
    assert len(_measured(app).uploads) == 1


# what cannot be used


@pytest.mark.parametrize(
    ("page", "box", "texts", "said"),
    [
        ("size", "", {}, "nothing to read yet"),
        ("size", "nobody wrote this", {"requests_per_second": "60"}, "no tool that is known"),
        ("size", LOADS, {"requests_per_second": "1,5"}, "must be a number"),
        ("size", LOADS.replace("3400", "1"), {"requests_per_second": "60"}, "p95"),
        ("diagnose", "", {"measured__gpu_utilisation": "150%"}, "must be between"),
        ("diagnose", "x: [" * 500, {}, PASTED),
    ],
)
def test_what_cannot_be_used_is_said_on_the_page(
    page: str, box: str, texts: dict[str, str], said: str, opened: Opened, plain: Plain
) -> None:
    app = _fill(opened(page=page), box, **texts)
    assert said in plain("\n".join(item.value for item in app.error))
    assert app.query_params["page"] == page


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        ("model: {config: /etc/hostname}", "names a file"),
        ("model: {gguf: model.gguf}", "names a file"),
        (
            "measured: {measurement: 1, setup: {model: {safetensors: /etc/passwd}}, figures: {step_ms: 900}}",
            "holds no measurements of its own",
        ),
    ],
)
def test_no_file_of_the_server_is_read_for_a_measurement(setup: str, said: str, kb: KnowledgeBase) -> None:
    text = f"measurement: 1\nsetup: {{accelerator: l40s, {setup}}}\nfigures: {{step_ms: 900}}\n"
    with pytest.raises(AnswerError, match=said):
        read_upload("m.yaml", text.encode(), kb)


@pytest.mark.parametrize(
    ("data", "code"), [(b"\xff\xfe\x00", "unreadable"), (b"1" * (MOST_BYTES + 1), "too-large"), (b"", "empty")]
)
def test_a_file_is_bounded_and_text(data: bytes, code: str, kb: KnowledgeBase) -> None:
    found, problems = read_all([("load\n.json", data), ("points.csv", LOADS.encode())], kb)
    assert [item.name for item in found] == ["points.csv"]
    assert [item.code for item in problems] == [code]
    assert problems[0].message.startswith("load .json")


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.*")), ids=lambda path: path.name)
def test_every_file_of_a_tool_is_taken_as_the_command_takes_it(path: Path, kb: KnowledgeBase) -> None:
    data = path.read_bytes()
    found, problems = read_all([(path.name, data)], kb)
    expected, codes = [], []
    try:
        expected = [read_any(data.decode(), path.name, kb.knowledge)]
    except AnswerError as error:
        codes = [item.code for item in error.problems]
    assert [item.code for item in problems] == codes
    assert [item.measurement.figures for item in found] == [item.figures for item in expected]
    assert [item.measurement.points for item in found] == [item.points for item in expected]


def test_a_file_of_the_same_name_comes_instead(kb: KnowledgeBase) -> None:
    first, second = (read_upload("a.csv", text.encode(), kb) for text in (LOADS, LOADS.replace("7900", "7800")))
    assert Measured((first,)).with_these([second], {}).uploads == (second,)


# charts


@pytest.mark.slow
def test_the_chart_of_a_load_test_is_its_loads(service: Sized) -> None:
    size = service.size
    assert isinstance(size, ServiceSize)
    spec = service_chart(size, dark=False).to_dict()
    data = [spec["datasets"][layer["data"]["name"]] for layer in spec["layer"]]
    tails = {row["in_flight"]: row["ms"] for row in data[0] if row["what"] == "p95"}
    assert tails == {row.load.in_flight: (row.load.tail_s or 0) * 1000 for row in size.rows}
    assert size.knee.at is not None
    assert [row["in_flight"] for row in data[0] if "knee" in row["mark"]] == [size.knee.at.in_flight]
    assert [{"per_s": size.usable_per_s}] in data
    assert [{"ms": 8000.0}] in data
    assert "knee" in service_text(size)
    assert "http" not in str(spec["layer"])


def test_the_charts_of_a_run_are_its_runs(kb: KnowledgeBase) -> None:
    sized = _run(kb, dataset_tokens="300B", deadline_hours=480)
    size = sized.size
    assert isinstance(size, TrainingSize)
    days, cost, spread = curves(size, sized.asked.measured.scaling)
    assert days.runs == tuple((run.count, run.all_days) for run in size.runs)
    assert cost.best == (size.best.count, size.best.usd)
    assert dict(spread.measured) == pytest.approx({1: 1.0, 8: 0.9125, 16: 0.859375, 32: 0.78125})
    for curve in (days, cost, spread):
        spec = curve_chart(curve, dark=True).to_dict()
        assert [{"count": size.best.count, "value": curve.best[1]}] in spec["datasets"].values()
        assert f"with {size.best.count} as advised" in curve_text(curve)
    assert [{"value": 20.0}] in curve_chart(days, dark=False).to_dict()["datasets"].values()
    (bar,) = split_chart(size.split, dark=False).to_dict()["datasets"].values()
    assert sum(row["share"] for row in bar) == pytest.approx(1)
