"""Objects of other projects, converted to ours.

What is changed where:

- what becomes of an object of Kueue: `cli/imports/kueue_conversion`; resource groups: `kueue_groups`; what is told:
  `kueue_differences`
"""
