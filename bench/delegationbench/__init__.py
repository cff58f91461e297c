"""DelegationBench's scenarios through llmdo's own check and runtime: `make delegationbench`.

`team` says what each field of a scenario becomes in a workspace, `actors` runs it with models that do what its agents
try, `world` has its stores, and its oracle's word on what was done there. `__main__` counts.
"""
