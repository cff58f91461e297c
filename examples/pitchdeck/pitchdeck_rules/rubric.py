"""What earns a point: four criteria in each of seven dimensions, each met by a line of the deck or not at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pitchdeck_rules.amounts import AMOUNT, COUNT, MONEY, MULTIPLE, PERCENT
from pitchdeck_rules.contradictions import is_share_of_funds
from pitchdeck_rules.figures import SALES
from pitchdeck_rules.flags import claims_no_competitor, growth_base, growth_claims, is_calculation, is_hype
from pitchdeck_rules.patterns import compiled, one_of
from pitchdeck_rules.statements import names_somebody

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pitchdeck_rules.figures import Figure
    from pitchdeck_rules.statements import Statement
    from pitchdeck_rules.words import Dimension


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the criteria look at."""

    statements: tuple[Statement, ...]
    figures: tuple[Figure, ...]

    def about(self, *dimensions: Dimension) -> list[Statement]:
        """The statements that speak of one of `dimensions`, in the order of the deck."""
        return [each for each in self.statements if each.dimensions.intersection(dimensions)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One way to earn a point."""

    rule: str
    """What the deck must do, as the report prints it."""
    question: str
    """What to ask the founders where it does not."""
    find: Callable[[Facts], Statement | None]
    """The statement that meets it."""


_GROUPS = one_of(rf"""
    \b[a-z-]{{3,}}s (?:lose|spend|waste|struggle|pay|wait|need|cannot|can't|do not|don't|still|use|face|must|miss|throw|write)\b
    \b[a-z-]{{3,}}s (?:handle|work|have|are|run|know|fail|rely|suffer|drive|walk|call|fill|book|order|buy|sell|type|copy)\b
    \b(?:a|an|every|each|average|typical) (?:[\w-]+ ){{0,4}}(?:loses|spends|wastes|throws|pays|waits|needs|takes|has)\b
    {COUNT} (?:[\w-]+ ){{0,2}}[a-z-]{{3,}}(?:s|en|er|people)\b | \b(?:one|two|three) in (?:two|three|four|five|ten)\b
    \b\w+(?:en|er|innen|e) (?:verlieren|verbringen|verschwenden|zahlen|warten|brauchen|leiden|müssen|suchen|haben)\b
""")
_SPAN = r"(?:hours?|minutes?|days?|weeks?|months?|years?|daily|weekly|annually|stunden?|minuten?|tage?n?|wochen?|monate?n?|jahre?n?)"
_SOURCE = compiled(r"""
    \bsources?\b | \baccording to\b | \bsurvey\w* | \binterview\w* | \bstud(?:y|ies)\b | \breport(?:ed)? by\b | \bcensus\b
    \bwe (?:spoke|talked|asked|visited|measured) | \bdata from\b | \b(?:gartner|statista|eurostat|oecd|mckinsey|idc|forrester)\b
    \bquelle\b | \blaut\b | \bstudien?\b | \bumfrage\b | \bbefrag\w+ | \bgespräche\w* | https?:// | \bministry\b | \bstatistic\w*
    \bbureau of\b | \bassociation\b | \bworld bank\b | \bverband\w* | \bdestatis\b | \bselon\b
""")
_HOW = compiled(r"""
    \busing\b | \bby [\w-]+ing\b | \bvia\b | \bthrough\b | \bbased on\b | \bintegrat\w+ | \bconnect\w* (?:to|with)\b | \breads?\b
    \bscans?\b | \bsends?\b | \bsync\w* | \btrained on\b | \bplugs? in | \bsteps? | \bthen\b | \bsensor\w* | \balgorithm\w*
    \bmodel\w*\b | \bapi\b | \bfrom (?:the|their|a) [\w-]+ (?:data|records|system|logs) | \bmittels\b | \banhand\b | \bverbind\w+
    \bliest\b | \bclips? on | \bcamera\w* | \bdatabase\b | \bsoftware (?:that|which)\b | \bwhen \w+ | \bworks? (?:by|with|on)\b
    \berkennt\b | \bberechnet\b | \bvergleicht\b | \bcompares?\b | \bmeasures?\b | \bmisst\b | \btext messages?\b | \bsms\b
""")
_EXISTS = compiled(r"""
    \blive\b | \blaunched\b | \bin production\b | \bpilot\w* | \bprototyp\w* | \bmvp\b | \bbeta\b | \bpatent\w* | \bcertifi\w+
    \bdeployed\b | \bin use\b | \bavailable\b | \bshipp(?:ed|ing)\b | \binstalled\b | \brunning (?:at|in)\b | \bapp store\b
    \bim einsatz\b | \bzertifizier\w+ | \bverfügbar\b | \bausgeliefert\b | \bce[- ]mark\w* | \bfda\b | \bopen source\b
""")
_NOT_YET = compiled(
    r"\bwill\b | \bplan(?:s|ned|ning)?\b | \bsoon\b | \bin development\b | \bnot yet\b | \bgeplant\b | \bwerden\b"
)
_ROLE = compiled(r"""
    \bc[etofpm]o\b | \bco-?founder\w* | \bfounder\w* | \bhead of\b | \bvp\b | \bengineers?\b | \bdirector\b | \blead\b | \bchief\b
    \bdevelopers?\b | \bdesigner\b | \bgründer\w* | \bgeschäftsführ\w+ | \bleiter\w* | \bentwickler\w* | \bprofessor\b | \bchair\b
    \bfondat\w+ | \bmanager\b | \badvisors?\b
""")
_EXPERIENCE = compiled(rf"""
    {COUNT} (?:\+ )?(?:years|jahre)\b | \bex-\w+ | \bpreviously\b | \bformer(?:ly)?\b | \bph\.?d\b | \bdr\. | \bled\b | \bsold\b
    \bbuilt\b | \bworked (?:at|for|in)\b | \bprofessor\b | \bstudied\b | \bm\.?sc\b | \bmba\b | \bpromovier\w+ | \bzuvor\b
    \behemalig\w* | \bran\b | \bscaled\b | \bat (?:google|amazon|microsoft|siemens|bosch|stripe|apple|meta|sap)\b | \bnurse for\b
    \bfounded\b | \bexperience\b | \berfahrung\b | \bjahre (?:bei|in|als)\b | \bspent \S+ years\b | \bserial\b | \bexit(?:ed)?\b
""")
_BUSINESS = compiled(
    r"\bceo\b | \bcoo\b | \bcfo\b | \bcmo\b | \bsales\b | \bcommercial\b | \bbusiness\b | \bvertrieb\b | \bgeschäftsführ\w+ | \bmarketing\b | \bmanag\w+ | \boperations\b"
)
_TECHNICAL = compiled(
    r"\bcto\b | \bengineer\w* | \bdevelop\w* | \btechnical\b | \bsoftware\b | \bscien\w+ | \bentwickl\w+ | \btechni\w+ | \binformati\w+ | \bphysic\w+ | \bhardware\b | \bmachine learning\b | \bcpo\b | \bproduct\b"
)
_TIME = compiled(rf"""
    \bmrr\b | \barr\b | \b20\d\d\b | \b{_SPAN}\b | \bsince\b | \btoday\b | \bnow\b | \bcurrently\b | \bq[1-4]\b | \bmonthly\b | \bmonthly\b
    \byearly\b | \bannual\w* | \bmom\b | \byoy\b | \bseit\b | \bheute\b | \bmonatlich\w* | \bjährlich\w* | \bjahres\w* | /mo\b
    \b(?:january|february|march|april|june|july|august|september|october|november|december|januar|februar|märz|juni|juli|oktober)\b
""")
_RETENTION = compiled(r"""
    \bretention\b | \bretain\w* | \bchurn\w* | \brepeat\b | \brenew\w* | \bnps\b | \bcohort\w* | \bconversion\b | \breorder\w*
    \bwiederkauf\w* | \bkündig\w+ | \bverlänger\w+ | \bweekly active\b | \bdaily active\b | \bdau\b | \breturn(?:ed|ing)? (?:customers|users)
    \bstayed\b | \bleft us\b | \bcome back\b
""")
_NAMED = re.compile(
    r"(?i:customers?|clients?|pilots?|partners?|signed|with|kunden|mit|bei|at|contracts?)\b(?i:[^.A-Z]{0,30}?\b(?:include|including|are|such as|with|wie|sind|at|bei)\b)?"
    r"[:\s]+(?:the )?[A-Z\u00c0-\u00de][\w&'\u2019-]+"
)
_MONEY_IN = compiled(r"""
    \bpric\w+ | \bper\b | / ?(?:month|mo|year|seat|user)\b | \ba (?:month|year)\b | \brevenues?\b | \bmrr\b | \barr\b | \bsales\b | \bfees?\b
    \bcharge\w* | \bsubscri\w+ | \bcommission\b | \btake rate\b | \bumsatz\w* | \bumsätze\b | \bpreis\w* | \bpro\b | \babo\w* | \berlös\w*
    \bkostet\b | \blicen[cs]e\w* | \bpays?\b | \bzahl(?:t|en)\b | \bcosts? (?:a|the|each) | \bturnover\b | \bplans?\b
""")
_UNIT = compiled(
    r"\bmargins?\b | \bcac\b | \bltv\b | \bclv\b | \bpayback\b | \bcontribution\b | \bunit (?:cost|economics) | \bcogs\b | \bdeckungsbeitrag\b | \bmarge\b | \bamortis\w+ | \barpu\b | \bacquisition costs?\b"
)
_COSTS = compiled(
    r"\bburn\w*\b | \brunway\b | \bcash\b | \bbreak-?even\b | \bcosts?\b | \bopex\b | \bexpens\w+ | \bliquidität\b | \bkosten\b | \bausgaben\b | \bprofitab\w+ | \bloss\b | \bebitda\b | \bverlust\b | \bgewinnschwelle\b | \breichweite\b | \bin the bank\b"
)
_ASSUMED = compiled(
    r"\bassum\w+ | \bbased on\b | \bdriven by\b | \bannahme\w* | \bbasier\w+ | \bscenario\w* | \bbottom[- ]up\b | \bannahmen\b"
)
_AIM = compiled(rf"""
    \brunway\b | {COUNT} (?:to {COUNT} )?months\b | \bmilestones?\b | \bto reach\b | \bget(?:s|ting)? us to\b | \buntil\b | \bbreak-?even\b
    \bby (?:q[1-4]|20\d\d|the end|end of|january|june|december|summer|spring) | \bseries [a-d]\b.*\bready | \bmonate\b | \bmeilenstein\w*
    \berreich\w+ | \bbis (?:ende|q[1-4]|20\d\d) | \btakes us to\b | \bbrings us to\b | \bwill (?:get|take|bring) us\b | \bgoal\b | \bto (?:\w+ )?{AMOUNT}
""")
_TERMS = compiled(r"""
    \bvaluation\b | \bpre-?money\b | \bpost-?money\b | \bsafe\b | \bconvertible\b | \bequity\b | \bcap\b | \bdiscount\b | \bpriced round\b
    \bcommitted\b | \blead investor\b | \bbewertung\b | \bwandeldarlehen\b | \bbeteiligung\w* | \banteile\b | \bshares\b | \bterm sheet\b
    \bminimum ticket\b | \bdilution\b | \bsoft[- ]circled\b | \bstake\b
""")
_SPENDING = compiled(r"""
    \bhir\w+ | \bengineer\w* | \bsales\b | \bmarketing\b | \bproduct\b | \bexpan\w+ | \bdevelop\w* | \br ?& ?d\b | \bcertif\w+ | \bproduction\b
    \boperations\b | \binventory\b | \bgrowth\b | \bteam\b | \blaunch\w* | \bentwicklung\b | \bvertrieb\b | \bpersonal\b | \bmarkteintritt\b
    \bworking capital\b | \btooling\b | \bregulatory\b | \bclinical\b
""")


def _saying(
    *patterns: re.Pattern[str] | str, about: tuple[Dimension, ...], digits: bool = False
) -> Callable[[Facts], Statement | None]:
    """Finds the first statement about a dimension that all `patterns` match, with an amount in digits where asked."""
    compiled_patterns = tuple(re.compile(pattern) for pattern in patterns)

    def find(facts: Facts) -> Statement | None:
        return next(
            (
                each
                for each in facts.about(*about)
                if all(pattern.search(each.masked) for pattern in compiled_patterns)
                and (not digits or _has_digits(each))
            ),
            None,
        )

    return find


def _has_digits(statement: Statement) -> bool:
    return any(amount.is_digits for amount in statement.amounts)


def _product(facts: Facts) -> Statement | None:
    clear = (
        each
        for each in facts.about("solution")
        if len(each.text.split()) >= 5 and not is_hype(each) and each.form != "row"
    )
    return next(clear, None)


def _benefit(facts: Facts) -> Statement | None:
    pattern = re.compile(rf"{PERCENT}|{MULTIPLE}|{MONEY}|{COUNT}-? ?{_SPAN}\b")
    return next(
        (each for each in facts.about("solution") if _has_digits(each) and pattern.search(each.masked)), None
    )


def _exists(facts: Facts) -> Statement | None:
    return next(
        (
            each
            for each in facts.about("solution", "traction")
            if _EXISTS.search(each.masked) and not _NOT_YET.search(each.masked)
        ),
        None,
    )


def _people(facts: Facts) -> Statement | None:
    return next((each for each in facts.about("team") if names_somebody(each)), None)


def _both_sides(facts: Facts) -> Statement | None:
    team = facts.about("team")
    business = next((each for each in team if _BUSINESS.search(each.masked)), None)
    technical = next((each for each in team if _TECHNICAL.search(each.masked)), None)
    return technical if business and technical else None


def _market_size(facts: Facts) -> Statement | None:
    size = re.compile(rf"{MONEY}|{COUNT} [a-z]")
    market = (each for each in facts.about("market") if "competition" not in each.topics)
    return next((each for each in market if _has_digits(each) and size.search(each.masked)), None)


def _buyers(facts: Facts) -> Statement | None:
    buyers = re.compile(
        rf"\b(?:sam|som)\b|serviceable|{COUNT} (?:[\w-]+ ){{0,4}}[a-zäöü-]{{3,}}(?:s|en|er|e|people)\b"
    )
    return next(
        (
            each
            for each in facts.about("market")
            if is_calculation(each)
            or (
                "competition" not in each.topics
                and buyers.search(each.masked)
                and any(a.low >= 50 and a.is_digits for a in each.amounts)
            )
        ),
        None,
    )


def _size_source(facts: Facts) -> Statement | None:
    dated = re.compile(r"\b20\d\d\b")
    return next(
        (
            each
            for each in facts.about("market")
            if _SOURCE.search(each.masked) or (_has_digits(each) and dated.search(each.masked))
        ),
        None,
    )


def _competitors(facts: Facts) -> Statement | None:
    rivals = re.compile(
        one_of(r"""
        \bcompetitors?\b | \bincumbents?\b | \balternatives?\b | \bspreadsheets?\b | \bexcel\b | \bpaper\b | \bin-house\b | \bagenc(?:y|ies)\b
        \bunlike\b | \bcompared (?:to|with)\b | \bvs\b | \bwettbewerber\b | \bkonkurren\w+ | \bwhile\b | \binstead\b | \bdoing nothing\b
        \bsuch as\b | \balternativen?\b | \bim gegensatz\b
    """)
    )
    named = re.compile(r"(?<!^)(?<![.!?|:\u2022] )\b[A-Z][\w]+")
    for each in facts.about("market"):
        if claims_no_competitor(each):
            continue
        if ("competition" in each.topics and (named.search(each.text) or rivals.search(each.masked))) or (
            rivals.search(each.masked) and CUE_OF_RIVALS.search(each.masked)
        ):
            return each
    return None


CUE_OF_RIVALS = compiled(
    r"\bcompetitors?\b | \bincumbents?\b | \bwettbewerber\b | \bkonkurren\w+ | \balternativ\w+ | \bunlike\b"
)


def _measured(facts: Facts) -> Statement | None:
    own = [
        figure.statement
        for figure in facts.figures
        if figure.tense != "plan" and figure.subject not in {"ask", "team size"}
    ]
    traction = [
        each
        for each in facts.about("traction")
        if _has_digits(each) and not {"plan", "projection"} & set(each.topics)
    ]
    timed = (
        each
        for each in traction
        if _TIME.search(each.masked) and (each in own or re.search(rf"{AMOUNT} ?[a-z/%]", each.masked))
    )
    return next(timed, None)


def _growth(facts: Facts) -> Statement | None:
    statements = facts.statements
    claims = (claim for claim in growth_claims(statements) if growth_base(claim, statements, facts.figures))
    course = re.compile(
        rf"\b(?:from|von)\b[^;.]{{0,30}}(?:{MONEY}|{COUNT})[^;.]{{0,40}}\b(?:to|auf)\b[^;.]{{0,20}}(?:{MONEY}|{COUNT})|up from (?:{MONEY}|{COUNT})"
    )
    said = next((each for each in facts.about("traction") if course.search(each.masked)), None) or next(
        claims, None
    )
    return said or _series(facts)


def _series(facts: Facts) -> Statement | None:
    """A table row, or a later one of two lines, with the same quantity at two times."""
    times: dict[tuple[str, str], str] = {}
    for figure in facts.figures:
        if figure.tense == "plan" or not figure.period or "traction" not in figure.statement.dimensions:
            continue
        key = (figure.subject, figure.qualifier)
        if times.setdefault(key, figure.period) != figure.period:
            return figure.statement
    return None


def _paying(facts: Facts) -> Statement | None:
    for figure in facts.figures:
        if figure.tense != "plan" and (
            figure.subject in SALES or "pay" in figure.qualifier or "zahl" in figure.qualifier
        ):
            return figure.statement
    for each in facts.about("traction"):
        if _NAMED.search(each.text) and not {"plan", "projection"} & set(each.topics):
            return each
    return None


def _asked(facts: Facts) -> Statement | None:
    return next((figure.statement for figure in facts.figures if figure.subject == "ask"), None)


def _spending(facts: Facts) -> Statement | None:
    shares = [each for each in facts.statements if is_share_of_funds(each)]
    amounts = sum(len(each.amounts) for each in shares)
    if shares and amounts >= 2:
        return shares[0]
    return next((each for each in facts.about("ask") if len(set(_SPENDING.findall(each.masked))) >= 2), None)


RUBRIC: Mapping[Dimension, tuple[Criterion, ...]] = {
    "problem": (
        Criterion(
            rule="says who has it",
            question="Who exactly has this problem?",
            find=_saying(_GROUPS, about=("problem",)),
        ),
        Criterion(
            rule="puts a number on it",
            question="How large is the problem, in numbers?",
            find=_saying(AMOUNT, about=("problem",), digits=True),
        ),
        Criterion(
            rule="says what it costs or how often it happens",
            question="What does the problem cost one customer, and how often does it happen?",
            find=_saying(
                rf"{MONEY}|{PERCENT}|{COUNT}[^.;]{{0,30}}\b{_SPAN}\b|\bper (?:day|week|month|year)\b|\ba (?:day|week|month|year)\b|\bpro (?:tag|woche|monat|jahr)\b",
                about=("problem",),
                digits=True,
            ),
        ),
        Criterion(
            rule="backs it with a source, a survey or interviews",
            question="How do you know about the problem: whom did you ask, what did you measure?",
            find=_saying(_SOURCE, about=("problem",)),
        ),
    ),
    "solution": (
        Criterion(
            rule="says what the product does, without superlatives",
            question="In one sentence: what does the product do, and for whom?",
            find=_product,
        ),
        Criterion(
            rule="explains how it works",
            question="How does the product work?",
            find=_saying(_HOW, about=("solution",)),
        ),
        Criterion(
            rule="puts a number on the benefit",
            question="What does a customer save or gain, measured?",
            find=_benefit,
        ),
        Criterion(
            rule="shows that it exists (live, pilot, prototype, patent)",
            question="What exists today, and who uses it?",
            find=_exists,
        ),
    ),
    "team": (
        Criterion(rule="names people", question="Who are the founders, by name?", find=_people),
        Criterion(
            rule="gives their roles",
            question="Who does what in the team?",
            find=_saying(_ROLE, about=("team",)),
        ),
        Criterion(
            rule="gives experience that fits",
            question="What has the team done before that fits this business?",
            find=_saying(_EXPERIENCE, about=("team",)),
        ),
        Criterion(
            rule="covers business and technology", question="Who sells, and who builds?", find=_both_sides
        ),
    ),
    "market": (
        Criterion(rule="gives its size as a number", question="How large is the market?", find=_market_size),
        Criterion(
            rule="counts the buyers or works the size out from below",
            question="How many buyers are there, and what would each pay?",
            find=_buyers,
        ),
        Criterion(
            rule="gives a source or a year for the size",
            question="Where does the market size come from?",
            find=_size_source,
        ),
        Criterion(
            rule="names competitors or alternatives",
            question="What do customers use today, and who else sells to them?",
            find=_competitors,
        ),
    ),
    "traction": (
        Criterion(
            rule="gives a number with its unit and its time",
            question="What are the numbers today: customers, revenue, usage, as of which date?",
            find=_measured,
        ),
        Criterion(
            rule="gives growth with its base",
            question="From what to what did you grow, in which time?",
            find=_growth,
        ),
        Criterion(
            rule="shows revenue, paying customers or customers by name",
            question="Who pays today, and how much?",
            find=_paying,
        ),
        Criterion(
            rule="gives retention, churn, renewals or repeat use",
            question="How many customers stay, month by month?",
            find=_saying(_RETENTION, AMOUNT, about=("traction", "finances"), digits=True),
        ),
    ),
    "finances": (
        Criterion(
            rule="gives a price or revenue in money",
            question="What does a customer pay?",
            find=_saying(
                rf"{MONEY}|{PERCENT} (?:commission|take rate|fee|provision)",
                _MONEY_IN,
                about=("finances",),
                digits=True,
            ),
        ),
        Criterion(
            rule="gives unit economics (margin, CAC, LTV, payback)",
            question="What are gross margin, CAC and payback time?",
            find=_saying(_UNIT, AMOUNT, about=("finances",), digits=True),
        ),
        Criterion(
            rule="gives costs, burn or runway",
            question="What is the monthly burn, and how long does the cash last?",
            find=_saying(_COSTS, AMOUNT, about=("finances",), digits=True),
        ),
        Criterion(
            rule="states the assumptions behind the plan",
            question="What has to be true for the plan to come about?",
            find=_saying(_ASSUMED, about=("finances",)),
        ),
    ),
    "ask": (
        Criterion(rule="gives the amount", question="How much do you raise?", find=_asked),
        Criterion(
            rule="says what the money is for", question="What will the money be spent on?", find=_spending
        ),
        Criterion(
            rule="says what it will reach and by when",
            question="Which milestones does this round reach, and by when?",
            find=_saying(_AIM, about=("ask",)),
        ),
        Criterion(
            rule="gives terms (instrument, valuation, commitments)",
            question="On which terms, and who has committed?",
            find=_saying(_TERMS, about=("ask",)),
        ),
    ),
}
"""One point for being stated at all, one more for each criterion met."""
