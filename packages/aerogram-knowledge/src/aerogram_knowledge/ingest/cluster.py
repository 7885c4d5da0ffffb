"""A cluster: machines that read files side by side, as workers of a Dask scheduler.

The workers see the documents under the same paths as the one who asks, and have Aerogram installed. The scheduler gives
the parcel of a worker that died to another one; a parcel that ended several comes back, and is tried file by file.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any, Final

from aerogram.errors import MissingExtra, Unavailable
from aerogram_knowledge.ingest.preparation import FileBatch, Job
from aerogram_knowledge.ingest.processes import WorkerSettings, WorkItem, plan_retry, split_work, work_through

__all__ = ["Cluster"]

CONNECTING: Final = 5.0


class Cluster:
    """The workers of the scheduler at an address, reading by a recipe."""

    def __init__(self, address: str, recipe: WorkerSettings) -> None:
        self.address = address
        self._recipe = pickle.dumps(recipe)

    def __call__(self, jobs: Sequence[Job]) -> Iterator[FileBatch]:
        """The batches of some files, as workers finish them."""
        dask = _dask()
        with self._client(dask) as client, client.as_current():
            parcels: dict[str, WorkItem] = {}

            def submit(parcel: WorkItem) -> Any:
                future = client.submit(work_through, self._recipe, parcel.jobs, pure=False)
                parcels[future.key] = parcel
                return future

            finished = dask.as_completed([submit(one) for one in split_work(jobs)], raise_errors=False)
            for future in finished:
                parcel = parcels.pop(future.key)
                try:
                    batches = future.result()
                except dask.KilledWorker as error:
                    again, aside = plan_retry(parcel, f"on {error.last_worker.address}")
                    for one in again:
                        finished.add(submit(one))
                    batches = [aside] if aside is not None else []
                future.release()
                yield from batches

    def _client(self, dask: Any) -> Any:
        try:
            return dask.Client(self.address, timeout=CONNECTING, set_as_default=False)
        except (OSError, ValueError) as error:
            raise Unavailable(
                f"There is no Dask scheduler at {self.address}",
                remediation="Start one with `dask scheduler` and give its address as tcp://host:8786",
            ) from error


def _dask() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra("cluster", "distributed") from error
    return distributed
