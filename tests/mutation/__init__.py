"""`make mutants`: breaks the rules on updates of pods and on narrowing one at a time, to see the tests fail."""
