"""Our objects as users write them: strict models, the CRDs rendered from them, and the one way to parse them."""
