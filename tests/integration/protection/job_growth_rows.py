"""Rows of the table about Jobs: which may get more pods at a time, and what is only a wish."""

from __future__ import annotations

from controller.core.gate.protection import Rule
from controller.core.keys import WANTED_PARALLELISM
from tests.integration.protection.job_table import JobRow, JobStart, Stored, UpdateJob, change, spec
from tests.integration.protection.table import Refused, Who

GROWN = ("spec.parallelism", "from 2 to 100000")
NOTED = f"metadata.annotations[{WANTED_PARALLELISM}]"

GROWING_JOBS = (
    *(
        JobRow(
            rule=Rule.NO_GROWTH,
            name=f"{start} Jobs {what}",
            does=UpdateJob(start, spec(parallelism=parallelism)),
            outcome=outcome,
        )
        for start, what, parallelism, outcome in (
            (JobStart.ADMITTED, "may not grow beyond what is counted", 100_000, Refused(GROWN)),
            (
                JobStart.INDEXED,
                "may not grow without completions",
                3,
                Refused(("from 2 to 3", "raise spec.completions")),
            ),
            (JobStart.SUSPENDED, "may grow", 3, Stored(parallelism=3, without=(WANTED_PARALLELISM,))),
            (JobStart.ADMITTED, "may shrink", 1, Stored(parallelism=1)),
            (JobStart.WAITING, "may grow", 3, Stored(parallelism=3, without=(WANTED_PARALLELISM,))),
            (JobStart.FOREIGN, "may grow", 3, Stored(parallelism=3, without=(WANTED_PARALLELISM,))),
        )
    ),
    *(
        JobRow(
            rule=Rule.NO_GROWTH,
            name=f"more pods of an admitted Job are a wish of {who}",
            who=who,
            does=UpdateJob(JobStart.ADMITTED, spec(parallelism=3)),
            outcome=Stored(parallelism=2, labels={WANTED_PARALLELISM: "3"}),
            warning="spec.parallelism stays 2 until queue 'main' has quota",
        )
        for who in (Who.EDITOR, Who.ADMINISTRATOR)
    ),
    JobRow(
        rule=Rule.NO_GROWTH,
        name="more pods of an Indexed Job are a wish together with completions",
        does=UpdateJob(JobStart.INDEXED, spec(parallelism=3, completions=3)),
        outcome=Stored(parallelism=2, completions=2, labels={WANTED_PARALLELISM: "3"}),
        warning="spec.parallelism and spec.completions stay 2 until queue 'main' has quota",
    ),
    JobRow(
        rule=Rule.NO_GROWTH,
        name="completions may not grow up to a parallelism that is larger",
        does=UpdateJob(JobStart.WIDE, spec(completions=3)),
        outcome=Refused(("spec.completions", "from 2 to 3", "leave spec.completions")),
    ),
    JobRow(
        rule=Rule.NO_GROWTH,
        name="parallelism beyond completions means no more pods",
        does=UpdateJob(JobStart.WIDE, spec(parallelism=9)),
        outcome=Stored(parallelism=9, completions=2, without=(WANTED_PARALLELISM,)),
    ),
    JobRow(
        rule=Rule.NO_GROWTH,
        name="indexes may be fewer, and none more is wanted then",
        does=UpdateJob(
            JobStart.INDEXED,
            {**spec(parallelism=1, completions=1), **change("", "annotations", WANTED_PARALLELISM, "9")},
        ),
        outcome=Stored(parallelism=1, completions=1, without=(WANTED_PARALLELISM,)),
    ),
    JobRow(
        rule=Rule.NO_GROWTH,
        name="a Job that is suspended in the same update may grow",
        does=UpdateJob(JobStart.ADMITTED, spec(parallelism=3, suspend=True)),
        outcome=Stored(suspended=True, parallelism=3, without=(WANTED_PARALLELISM,)),
    ),
    JobRow(
        rule=Rule.NO_GROWTH,
        name="the break-glass group may let an admitted Job grow",
        who=Who.BREAK_GLASS,
        does=UpdateJob(JobStart.ADMITTED, spec(parallelism=3)),
        outcome=Stored(parallelism=3, without=(WANTED_PARALLELISM,)),
    ),
    *(
        JobRow(
            rule=Rule.NO_GROWTH,
            name=f"fewer pods withdraw the wish for more, of {who}",
            who=who,
            does=UpdateJob(
                JobStart.ADMITTED, {**spec(parallelism=1), **change("", "annotations", WANTED_PARALLELISM, "9")}
            ),
            outcome=Stored(parallelism=1, without=(WANTED_PARALLELISM,)),
        )
        for who in (Who.EDITOR, Who.BREAK_GLASS)
    ),
    JobRow(
        rule=Rule.NO_GROWTH,
        name="a Job that is suspended has its wish as its parallelism",
        does=UpdateJob(
            JobStart.SUSPENDED, {**spec(parallelism=3), **change("", "annotations", WANTED_PARALLELISM, "9")}
        ),
        outcome=Stored(parallelism=3, without=(WANTED_PARALLELISM,)),
    ),
    *(
        JobRow(
            rule=Rule.NO_GROWTH,
            name=f"{wish!r} is {what} of {start} Jobs{through}",
            does=UpdateJob(start, change("", "annotations", WANTED_PARALLELISM, wish), subresource),
            outcome=outcome,
        )
        for wish, what, start, outcome in (
            ("4", "a wish", JobStart.ADMITTED, Stored(parallelism=2, labels={WANTED_PARALLELISM: "4"})),
            ("99999", "a wish", JobStart.ADMITTED, Stored(labels={WANTED_PARALLELISM: "99999"})),
            ("100000", "no wish", JobStart.ADMITTED, Refused((NOTED, "'100000'", "no number of pods"))),
            ("04", "no wish", JobStart.ADMITTED, Refused((NOTED, "'04'", "no number of pods"))),
            ("many", "no wish", JobStart.ADMITTED, Refused((NOTED, "'many'", "no number of pods"))),
            ("4", "no wish", JobStart.WAITING, Refused((NOTED, "only an admitted Job has this"))),
            ("4", "no wish", JobStart.OUTSIDE, Refused((NOTED, "only an admitted Job has this"))),
        )
        for subresource, through in (("", ""), ("status", " through the status"))
    ),
    *(
        JobRow(
            rule=Rule.NO_GROWTH,
            name=f"the deadline of a Job with a limit may not be {what}",
            who=who,
            does=UpdateJob(JobStart.LIMITED, spec(activeDeadlineSeconds=seconds)),
            outcome=Refused(("spec.activeDeadlineSeconds", "was 3600 seconds", told)),
        )
        for what, who, seconds, told in (
            ("longer", Who.EDITOR, 7200, "would be 7200 seconds"),
            ("removed", Who.EDITOR, None, "would be none"),
            ("longer by an administrator", Who.ADMINISTRATOR, 3601, "would be 3601 seconds"),
        )
    ),
    *(
        JobRow(
            rule=Rule.NO_GROWTH,
            name=f"the deadline of {what}",
            who=who,
            does=UpdateJob(start, spec(activeDeadlineSeconds=seconds)),
            outcome=Stored(),
        )
        for what, who, start, seconds in (
            ("a Job with a limit may be shorter", Who.EDITOR, JobStart.LIMITED, 60),
            ("a Job with a limit is the break-glass group's", Who.BREAK_GLASS, JobStart.LIMITED, 7200),
            ("an admitted Job without a limit is its user's", Who.EDITOR, JobStart.ADMITTED, 7200),
        )
    ),
)
