"""Fixtures for whole runs with the tiny reader, from tests.pipeline."""

from tests.pipeline.conftest import batch, config, database, docs, make_pdf, reader

__all__ = ["batch", "config", "database", "docs", "make_pdf", "reader"]
