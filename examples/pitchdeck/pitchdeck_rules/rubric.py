"""What earns a point: four criteria in each of seven dimensions, each met by a line of the deck or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pitchdeck_rules import criteria
from pitchdeck_rules.amounts import AMOUNT, COUNT, MONEY, PERCENT
from pitchdeck_rules.criteria import HOW, SOURCE, SPAN, saying
from pitchdeck_rules.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pitchdeck_rules.criteria import Facts
    from pitchdeck_rules.statements import Statement
    from pitchdeck_rules.words import Dimension


@dataclass(frozen=True, slots=True)
class Criterion:
    """One way to earn a point."""

    rule: str
    """What the deck must do, as the report prints it."""
    question: str
    """What to ask the founders where it does not."""
    find: Callable[[Facts], Statement | None]
    """The statement that meets it."""


_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_COST_OR_RATE = compiled(rf"""
    {MONEY} | {PERCENT} | {COUNT}[^.;]{{0,30}}\b{SPAN}\b | \b(?:per|a|every|each) (?:day|week|month|year)\b
    \bpro (?:tag|woche|monat|jahr)\b | \bim (?:monat|jahr)\b
""")
_ROLE = compiled(r"""
    \bc[etofpm]o\b | \bco-?founder\w* | \bfounder\w* | \bfounded\b.*\bby\b | \bhead of\b | \bvp\b
    \bengineers?\b | \bdirector\b | \blead\b
    \bchief\b | \bdevelopers?\b | \bdesigner\b | \bmanager\b | \badvisors?\b | \bprofessor\b | \bgründer\w*
    \bruns? (?:operations|sales|engineering|product|marketing|finance|the)\b | \bin charge of\b
    \bresponsible for\b
    \bgeschäftsführ\w+ | leiter(?:in)?\b | \bmitgründer\w* | \bentwickler\w* | \bfondat\w+ | \bpdg\b
    \bdirecteur\b | \bdirectrice\b
""")
_EXPERIENCE = compiled(rf"""
    {COUNT} ?\+? (?:years|jahre|ans)\b | \b\w+ years (?:at|in|as|of|running)\b | \bex-\w+ | \bpreviously\b
    \bformer(?:ly)?\b
    \bph\.?d\b | \bdr\. | \bled\b | \bsold\b | \bbuilt\b | \bworked (?:at|for|in)\b | \bprofessor\b | \bstudied\b
    \bm\.?sc\b | \bmba\b | \bran\b | \bmanaged\b | \bscaled\b | \bfounded\b | \bexperience\b | \bserial\b
    \bexit(?:ed)?\b
    \bspent \S+ years\b | \bpromovier\w+ | \bzuvor\b | \behemalig\w* | \berfahrung\b | \bjahre (?:bei|in|als)\b
    \bat (?:google|amazon|microsoft|siemens|bosch|stripe|apple|meta|sap)\b
""")
_RETENTION = compiled(r"""
    \bretention\b | \bretain\w* | \bchurn\w* | \brepeat\b | \brenew\w* | \bnps\b | \bcohort\w* | \bconversion\b
    \breorder\w* | \bweekly active\b | \bdaily active\b | \bdau\b | \breturn(?:ed|ing)? (?:customers|users)\b
    \b(?:rented|bought|ordered|booked|came) (?:again|before|back)\b | \b(?:rent|buy|order|book)s? again\b
    \bextended\b | \ba second time\b | \bstayed\b | \bleft us\b
    \bcome back\b | \bwiederkauf\w* | \bkündig\w+ | \bverlänger\w+ | \bwiederkehr\w* (?:kund|nutz)\w+
""")
_UNIT = compiled(r"""
    \bmargins?\b | \bcac\b | \bltv\b | \bclv\b | \bpayback\b | \bpays? (?:for itself|back)\b | \bpaid back\b
    \bbom\b | \bcontribution\b | \bunit (?:cost|economics)\b | \bcogs\b | \barpu\b
    \bacquisition costs?\b | \bdeckungsbeitrag\b
    \bmarge\b | \bamortis\w+
""")
_ASSUMED = compiled(r"""
    \bassum\w+ | \bbased on\b | \bdriven by\b | \bscenario\w* | \bbottom[- ]up\b | \bannahmen?\b | \bbasier\w+
""")
_AIM = compiled(rf"""
    \brunway\b | {COUNT}[ -](?:to {COUNT} )?months?\b | \bmilestones?\b | \bto reach\b | \bget(?:s|ting)? (?:us )?to\b
    \buntil\b | \bbreak-?even\b | \bby (?:q[1-4]|20\d\d|the end|end of|{_MONTH}|summer|spring|autumn)
    \b(?:takes|brings|carries) us to\b | \bwill (?:get|take|bring) us\b | \bbefore next \w+ | \bto (?:\w+ )?{AMOUNT}
    \bmonate\b | \bmeilenstein\w* | \berreich\w+ | \bbis (?:ende|q[1-4]|20\d\d)
""")
_TERMS = compiled(rf"""
    {MONEY} for (?:an? )?{PERCENT} | {MONEY} (?:pre|post)\b(?!-)
    \bvaluation\b | \bpre-?money\b | \bpost-?money\b | \bsafe\b | \bconvertible\b | \bequity\b | \bcap\b | \bdiscount\b
    \bpriced round\b | \bcommitted\b | \blead investor\b | \bshares\b | \bterm sheet\b | \bminimum ticket\b
    \bdilution\b
    \bstake\b | \bbewertung\b | \bwandeldarlehen\b | \bbeteiligung\w* | \banteile\b | \bzugesagt\b
""")

RUBRIC: Mapping[Dimension, tuple[Criterion, ...]] = {
    "problem": (
        Criterion("says who has it", "Who exactly has this problem?", criteria.sufferers),
        Criterion(
            "puts a number on it",
            "How large is the problem, in numbers?",
            criteria.problem_number,
        ),
        Criterion(
            "says what it costs or how often it happens",
            "What does the problem cost one customer, and how often does it happen?",
            saying(_COST_OR_RATE, about=("problem",), digits=True),
        ),
        Criterion(
            "backs it with a source, a survey or interviews",
            "How do you know about the problem: whom did you ask, what did you measure?",
            saying(SOURCE, about=("problem",)),
        ),
    ),
    "solution": (
        Criterion(
            "says what the product does, without superlatives",
            "In one sentence: what does the product do, and for whom?",
            criteria.product,
        ),
        Criterion("explains how it works", "How does the product work?", saying(HOW, about=("solution",))),
        Criterion(
            "puts a number on the benefit", "What does a customer save or gain, measured?", criteria.benefit
        ),
        Criterion(
            "shows that it exists (in use, pilot, prototype, patent)",
            "What exists today, and who uses it?",
            criteria.existence,
        ),
    ),
    "team": (
        Criterion("names people", "Who are the founders, by name?", criteria.people),
        Criterion("gives their roles", "Who does what in the team?", saying(_ROLE, about=("team",))),
        Criterion(
            "gives experience that fits",
            "What has the team done before that fits this business?",
            saying(_EXPERIENCE, about=("team",)),
        ),
        Criterion("covers business and technology", "Who sells, and who builds?", criteria.both_sides),
    ),
    "market": (
        Criterion("gives its size as a number", "How large is the market?", criteria.market_size),
        Criterion(
            "counts the buyers or works the size out from below",
            "How many buyers are there, and what would each pay?",
            criteria.buyers,
        ),
        Criterion(
            "gives a source or a year for the size",
            "Where does the market size come from?",
            criteria.size_source,
        ),
        Criterion(
            "names competitors or alternatives",
            "What do customers use today, and who else sells to them?",
            criteria.competitors,
        ),
    ),
    "traction": (
        Criterion(
            "gives a number with its unit and its time",
            "What are the numbers today: customers, revenue, usage, as of which date?",
            criteria.measured,
        ),
        Criterion(
            "gives growth with its base", "From what to what did you grow, in which time?", criteria.growth
        ),
        Criterion(
            "shows revenue, paying customers or customers by name",
            "Who pays today, and how much?",
            criteria.payment,
        ),
        Criterion(
            "gives retention, churn, renewals or repeat use",
            "How many customers stay, month by month?",
            saying(_RETENTION, about=("traction", "finances"), digits=True),
        ),
    ),
    "finances": (
        Criterion("gives a price or revenue in money", "What does a customer pay?", criteria.price),
        Criterion(
            "gives unit economics (margin, CAC, LTV, payback)",
            "What are gross margin, CAC and payback time?",
            saying(_UNIT, about=("finances",), digits=True),
        ),
        Criterion(
            "gives costs, burn or runway",
            "What is the monthly burn, and how long does the cash last?",
            criteria.costs,
        ),
        Criterion(
            "states the assumptions behind the plan",
            "What has to be true for the plan to come about?",
            saying(_ASSUMED, about=("finances",)),
        ),
    ),
    "ask": (
        Criterion("gives the amount", "How much do you raise?", criteria.amount),
        Criterion("says what the money is for", "What will the money be spent on?", criteria.spending),
        Criterion(
            "says what it will reach and by when",
            "Which milestones does this round reach, and by when?",
            saying(_AIM, about=("ask",)),
        ),
        Criterion(
            "gives terms (instrument, valuation, commitments)",
            "On which terms, and who has committed?",
            saying(_TERMS, about=("ask",)),
        ),
    ),
}
"""One point for being stated at all, one more for each criterion met."""
