"""Who goes next: where the head of a class stands, and by shares whose turn it is.

What is changed where:

- where the head of a class stands, in its line and among all: `core/turns/heads`
- whose turn it is where a tree shares fairly: `core/turns/fair_turns`; who competes, and what each would take:
  `core/turns/nominations`, `core/turns/nominees`; the share: `core/quota/fair_sharing`
"""
