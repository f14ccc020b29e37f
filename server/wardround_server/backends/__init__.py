"""FHIR backends: the embedded chart and remote servers, behind one interface."""

from .base import Backend, ChartInfo, CreatedResource, open_backend

__all__ = ["Backend", "ChartInfo", "CreatedResource", "open_backend"]
