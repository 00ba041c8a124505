"""Whole runs with the tiny reader, as tests.pipeline has them."""

from tests.pipeline.conftest import config, database, docs, make_pdf, reader

__all__ = ["config", "database", "docs", "make_pdf", "reader"]
