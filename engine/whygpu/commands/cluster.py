"""A batch on a Ray cluster: groups of rows as blocks of Ray Data, each answered by an actor with its knowledge base.

An actor that is gone is started again and its group retried; the results are those of one machine.
"""

from __future__ import annotations

import logging
import os
import pickle
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whygpu.collector import settle
from whygpu.commands.groups import WINDOW, groups, in_order
from whygpu.errors import AnswerError, InputError, Location, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.commands.job import Job
    from whygpu.commands.row import Row

LOCAL = "local"
_RETRIES = 3
_GROUPED_AS_FOR = 2
"""Processes that groups are cut for: on a cluster of any size a block is worth its way."""


class Cluster:
    """A cluster of Ray, or one of this machine that lasts as long as the batch."""

    def __init__(self, job: Job, address: str, size: int | None, window: int = WINDOW) -> None:
        """``size``: actors; by default one for each core of the cluster."""
        self._job, self._address, self._size, self._window = job, address, size, window

    def lines(self, rows: Iterable[Row]) -> Iterator[list[str]]:
        """Result lines, in order; raises AnswerError where there is no Ray, or the cluster cannot answer."""
        return in_order(self._results(rows))

    def _results(self, rows: Iterable[Row]) -> Iterator[list[tuple[int, str]]]:
        with _connected(self._address, self._size) as ray:
            import pyarrow  # noqa: PLC0415  it comes with Ray Data

            size = self._size or int(ray.cluster_resources().get("CPU", 1))
            given = groups(rows, _GROUPED_AS_FOR, self._window)
            blocks = [ray.put(pyarrow.table({"rows": [pickle.dumps(group.rows)]})) for group in given]
            if not blocks:
                return
            found = ray.data.from_arrow_refs(blocks).map_batches(
                Answerer,
                fn_constructor_args=(self._job,),
                batch_size=1,
                batch_format="pyarrow",
                compute=ray.data.ActorPoolStrategy(size=min(size, len(blocks))),
                num_cpus=1,
                max_restarts=-1,
                max_task_retries=_RETRIES,
            )
            try:
                for row in found.iter_rows():
                    answered, problems = pickle.loads(row["answered"])  # nosec B301  our own actors wrote it
                    if problems:
                        raise AnswerError(problems)
                    yield answered
            except ray.exceptions.RayError as error:
                message = f"the cluster did not answer: {type(error).__name__}: {str(error)[:300]}"
                hint = "what is done is kept; without --ray a row that ends its process becomes an error of that row"
                raise AnswerError([Problem("crashed", message, Location("--ray"), hint)]) from error


class Answerer:
    """An actor: it loads the knowledge base once."""

    def __init__(self, job: Job) -> None:
        """What is wrong is kept for the first group: an actor that fails to start would be started for ever."""
        self._job = job
        self._problems: tuple[Problem, ...] = ()
        try:
            self._knowledge = job.load()
        except InputError as error:
            self._problems = error.problems
        self._known = job.known()
        settle()

    def __call__(self, batch: Any) -> Any:
        """The results of a group, each with its number."""
        import pyarrow  # noqa: PLC0415

        found = []
        for rows in batch["rows"].to_pylist() if not self._problems else ():
            numbered = pickle.loads(rows)  # nosec B301  the batch wrote it
            found += [(number, self._job.line(row, self._knowledge, self._known)) for number, row in numbered]
        return pyarrow.table({"answered": [pickle.dumps((found, self._problems))]})


@contextmanager
def _connected(address: str, size: int | None) -> Iterator[Any]:
    """Ray, connected to a cluster; one of this machine ends with the block. Raises AnswerError."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # as it will be; else it warns
    try:
        import ray  # noqa: PLC0415  an extra, slow to import
        import ray.data  # noqa: PLC0415
    except ImportError as error:
        message = f"it needs packages that are not installed: {error.name or error}"
        raise AnswerError(
            [Problem("not-installed", message, Location("--ray"), "pip install 'whygpu[ray]'")]
        ) from error
    where: dict[str, Any] = {"num_cpus": size, "include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **where)
    except (OSError, RuntimeError, ValueError) as error:  # ConnectionError is an OSError
        message = f"there is no cluster at '{address[:80]}': {str(error)[:300]}"
        raise AnswerError([Problem("unreachable", message, Location("--ray"))]) from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message="`ray_remote_args` is deprecated")  # the extra ends before they do
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    try:
        yield ray
    finally:
        ray.shutdown()
