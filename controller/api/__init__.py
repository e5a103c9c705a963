"""Our objects as users write them: strict models, the CRDs rendered from them, and the one way to parse them.

What is changed where:

- a field of our objects: `api/` (model and CEL), its file in `objects/`, then `make generate`
- which defaults of a SchedulingPolicy the apiserver refuses: `api/scheduling_defaults`,
  `api/scheduling_default_forms`
"""
