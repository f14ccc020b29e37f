"""The nine functions of MedAgentBench as JSON Schema, and what servers, graders and harness share of them.

`function` loads them, decodes calls and explains faults; `canonical` makes and checks FHIR R4; `formats`
exports them and `lint` checks the exports; `records` has the schemas of the file formats; `chart`,
`errors` and `options` are the small common ground. Nothing here reads a chart or the network.
"""
