"""The documentation as a site: which pages it has, the pages and pictures that are written from code, and its build.

`staging` copies the pages of docs/ and what they link to; `building` makes the site of them; `reference/` writes
docs/reference from the code; `pictures` draws docs/pictures.
"""
