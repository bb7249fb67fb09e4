"""The catalogues as rows of plain values: listed, searched, filtered, sorted, and one entry whole."""

from whygpu.listing.condition import where
from whygpu.listing.documents import listed_beside
from whygpu.listing.rows import SECTIONS, Listing, Row, Section, listing
from whygpu.listing.select import column_of, find, keep_offerings, ordered
from whygpu.listing.whole import Fact, Source, Whole, sources_of, whole

__all__ = [
    "SECTIONS",
    "Fact",
    "Listing",
    "Row",
    "Section",
    "Source",
    "Whole",
    "column_of",
    "find",
    "keep_offerings",
    "listed_beside",
    "listing",
    "ordered",
    "sources_of",
    "where",
    "whole",
]
