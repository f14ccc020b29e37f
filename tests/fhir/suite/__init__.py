"""The search-conformance suite as data: a chart written by hand, and searches with their right answers.

The answers were written from FHIR R4's search page, not from what a server gave. `test_conformance` runs them
against each target.
"""
