"""One Spark session for all tests."""

from __future__ import annotations

import shutil
import warnings

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A local session of two threads, in which a task may fail three times before its job does."""
    sql = pytest.importorskip("pyspark.sql", reason="needs calibrant[spark]")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    builder = sql.SparkSession.builder.master("local[2,4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        session.stop()
