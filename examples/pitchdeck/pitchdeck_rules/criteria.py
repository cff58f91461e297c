"""How the rubric's criteria find the line that meets them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pitchdeck_rules.amounts import AMOUNT, COUNT, MONEY, MULTIPLE, PERCENT
from pitchdeck_rules.classification import names_somebody
from pitchdeck_rules.contradictions import is_share_of_funds
from pitchdeck_rules.figures import SALES
from pitchdeck_rules.flags import claims_no_competitor, is_calculation, is_hype
from pitchdeck_rules.growth import judged_claims
from pitchdeck_rules.patterns import compiled
from pitchdeck_rules.statements import cells
from pitchdeck_rules.words import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pitchdeck_rules.figures import Figure
    from pitchdeck_rules.statements import Statement
    from pitchdeck_rules.words import Dimension

SPAN = r"(?:hours?|minutes?|days?|weeks?|months?|years?|stunden?|minuten?|tage?n?|wochen?|monate?n?|jahre?n?)"
"""A length of time."""

SOURCE = compiled(r"""
    \bsources?\b | \baccording to\b | \bsurveyed\b
    \b(?:our|own|customer|user|online|recent|national) survey\b | \bsurveys? (?:of|by|among|with|from|show|found|20\d\d)
    \binterview\w* | \bstud(?:y|ies)\b | \breport(?:ed)? by\b
    \b(?:tells?|told) us\b
    \bwe (?:spoke|talked|asked|interviewed|surveyed|visited|measured)
    \bcensus\b | \bdata from\b | \bministry\b | \bstatistic\w*
    \b(?:gartner|statista|eurostat|oecd|mckinsey|idc|forrester|destatis)\b | \bbureau of\b | \bassociation\b
    \bworld bank\b | https?:// | \[\d{1,2}\] | \bquelle\b | \blaut\b | \bstudien?\b | \bumfrage\b
    \bbefrag\w+ | \bgespräche\w*
    \bverband\w* | \bselon\b
""")
HOW = compiled(r"""
    \busing\b | \bby [\w-]+ing\b | \bvia\b | \bthrough\b | \bbased on\b | \bintegrat\w+ | \bconnect\w* (?:to|with)\b
    \breads?\b | \bscans?\b | \bsends?\b | \bsync\w* | \btrained on\b | \bplugs? in | \bsteps? | \bthen\b | \bsensor\w*
    \balgorithm\w* | \bmodels?\b | \bapi\b | \bapp\b | \bphone\b | \bonline\b | \bclips? on | \bcamera\w* | \bdatabase\b
    \bwhen \w+ | \bworks? (?:by|with|on)\b | \bcompares?\b | \bmeasures?\b | \btext messages?\b | \bsms\b | \bmittels\b
    \banhand\b | \bverbind\w+ | \bliest\b | \berkennt\b | \bberechnet\b | \bvergleicht\b | \bmisst\b | \bper app\b
""")
_GROUPS = compiled(rf"""
    \b[a-z-]{{3,}}s (?:lose|spend|waste|struggle|pay|wait|need|cannot|can't|do not|don't|still|use|face|must|miss)\b
    \b[a-z-]{{3,}}s (?:throw|write|handle|work|have|are|run|know|fail|rely|suffer|drive|walk|call|fill|book|order)\b
    \b(?!we\b)[a-z-]{{3,}}s (?:bin|tell|told|discard|scrap|report|end up|complain|give up|hate|rely|turn|ask)\b
    \b[a-z-]{{3,}}s (?:buy|sell|type|copy|keep|send|guess|plan|check|get|go|come|leave|quit|die|break|close)\b
    \b(?:a|an|every|each|average|typical) (?:[\w-]+ ){{0,4}}(?:loses|spends|wastes|throws|pays|waits|needs|takes|has)\b
    {COUNT} (?:[\w-]+ ){{0,2}}[a-z-]{{3,}}(?:s|en|er|people)\b | \b(?:one|two|three) in (?:two|three|four|five|ten)\b
    \bles [\w-]+s [a-z]+ent\b | \bpeople (?:who|with|in)\b
    \b\w+(?:en|er|innen|e) (?:verlieren|verbringen|verschwenden|zahlen|warten|brauchen)\b
    \b\w+(?:en|er|innen|e) (?:leiden|müssen|suchen|haben|können|werfen|arbeiten|fahren|schreiben|planen)\b
""")
_FRACTION = compiled(rf"""
    \bhalf (?:of|the|their)\b | \b(?:a|one|two)[ -](?:thirds?|quarters?|fifths?) of\b | \b(?:a|one) in {COUNT}
    \bdie hälfte\b | \bein (?:drittel|viertel|fünftel)\b | \bjede[rsn]? (?:zweite|dritte|vierte|fünfte)
""")
_EXISTS = compiled(r"""
    \blive\b | \blaunched\b | \bin production\b | \bpilot\w* | \bprototyp\w* | \bmvp\b | \bbeta\b | \bpatent\w*
    \bcertifi\w+ | \bdeployed\b | \bin use\b | \bavailable\b | \bshipp(?:ed|ing)\b | \binstalled\b
    \brunning (?:at|in)\b | \bapp store\b | \bce[- ]mark\w* | \bfda\b | \bopen source\b | \buse[sd]? (?:it|our|this)\b
    \bused (?:by|in|at)\b | \bim einsatz\b | \bzertifizier\w+ | \bverfügbar\b | \bausgeliefert\b | \bnutzen (?:es|sie)\b
""")
_NOT_YET = compiled(
    r"\bwill\b | \bplan(?:s|ned|ning)?\b | \bsoon\b | \bin development\b | \bnot yet\b | \bgeplant\b"
)
_GAIN = compiled(r"""
    \breduc\w+ | \bcuts?\b | \bsav(?:e|es|ed|ing|ings)\b | \bfell\b | \bless\b | \bfewer\b | \bfaster\b | \bcheaper\b
    \bmore\b | \bincreas\w+ | \brais(?:es|ed)\b | \blower\w* | \bdrop\w* | \binstead of\b
    \bdown (?:to|from)\b | \bonly\b
    \baccura\w+ | \bimprov\w+ | \bshorten\w* | \bwithin\b | \bin under\b | \bbis zu\b | \bspar\w+ | \bsenk\w+
    \bsink\w*
    \bweniger\b | \bschneller\b | \bmehr\b | \bstatt\b | \bgünstiger\b | \bdoubl\w+ | \bfrom\b | \blonger\b | \bbetter\b
    \bdetects?\b | \bpredicts?\b | \bcosts?\b | \btakes\b | \berkennt\b | \bhalbier\w+ | \bsank\w*
""")
_BUSINESS = compiled(r"""
    \bchief (?:executive|operating|commercial|financial)\b
    \bceo\b | \bcoo\b | \bcfo\b | \bcmo\b | \bsales\b | \bcommercial\b | \bbusiness\b | \bmarketing\b | \bmanag\w+
    \boperations\b | \bvertrieb\b | \bgeschäftsführ\w+ | \bbetriebswirt\w*
""")
_TECHNICAL = compiled(r"""
    \bchief techn | \bcto\b | \bengineer\w* | \bdevelop\w* | \btechnical\b | \bsoftware\b | \bscien\w+ | \bhardware\b
    \bcpo\b
    \bmachine learning\b | \bproduct\b | \bphysic\w+ | \bentwickl\w+ | \btechni\w+ | \binformati\w+
""")
_TIME = compiled(rf"""
    \bmrr\b | \barr\b | \b20\d\d\b | \b{SPAN}\b | \bsince\b | \btoday\b | \bnow\b | \bcurrently\b | \bq[1-4]\b
    \bmonthly\b | \bweekly\b | \bdaily\b | \byearly\b | \bannual\w* | \bmom\b | \byoy\b | /mo\b | \bso far\b
    \bto date\b
    \bseit\b | \bheute\b | \bmonatlich\w* | \bjährlich\w* | \bjahres\w* | \bbisher\b | \bin the season\b
    \b(?:january|february|march|april|june|july|august|september|october|november|december)\b
    \b(?:januar|februar|märz|juni|juli|oktober|dezember)\b
""")
_NAMED = re.compile(
    r"(?i:customers?|clients?|pilots?|partners?|signed|with|kunden|mit|bei|at|contracts?|among them)\b"
    r"(?i:[^.A-Z]{0,30}?\b(?:include|including|are|such as|with|wie|sind|at|bei)\b)?"
    r"[:\s]+(?:the )?[A-Z\u00c0-\u00de][\w&'\u2019-]+"
    r"|[A-Z\u00c0-\u00de]\w+(?: (?:&|and|und) [A-Z]\w+)* (?:pay|pays|paid|uses?|buys?|bought|signed|orders?)\b"
)
_PAYS_US = re.compile(
    rf"\bpa(?:y|ys|id) (?:us )?{MONEY}|\b(?:pays?|paid) us\b|\bzahl(?:t|en) {MONEY}"
    rf"|{COUNT} (?:[\w-]+ ){{1,2}}(?:ordered|bought|paid)\b"
)
_RIVALS = compiled(r"""
    \bcompetitors?\b | \bincumbents?\b | \balternativ\w+ | \bunlike\b | \bwettbewerber\b | \bkonkurr\w+ | \brivals?\b
    \bmitbewerber\b | \bcompetes? with\b | ^\W*vs\b
    ^\W*[\w-]+ (?:(?:and|und) [\w-]+ )?(?:sells?|offers?|makes?|biete[nt])\b[^.;]*\b(?:but|only|nur|aber)\b
""")
_SUBSTITUTES = compiled(r"""
    \bspreadsheets?\b | \bexcel\b | \bpaper\b | \bin-house\b | \bagenc(?:y|ies)\b | \bdo(?:ing)? nothing\b | \bby hand\b
    \bconsultants?\b | \bphone\b | \bmanual\w* | \blocal \w+ | \bpapier\b | \bnichts\b
""")
_PROPER = re.compile(r"(?<!^)(?<![.!?|:\u2022*] )\b[A-Z\u00c0-\u00de]\w+|\|\s*[A-Z]\w+\s*\|")
_ENTRY = re.compile(
    r"\W*[A-Z\u00c0-\u00de][\w.&]*(?: [A-Z][\w.&]*)*(?:\*\*|__)?\s*(?:[:(,|\u2013\u2014-]|and\b|und\b)"
)
_BUYERS = compiled(rf"""
    \b(?:SAM|SOM)\b | \bserviceable\b | {COUNT} (?:[\w-]+ ){{0,4}}[a-zäöü-]{{3,}}(?:s|en|er|e|people)\b
""")
_COURSE = re.compile(
    rf"\b(?:from|von)\b[^;.]{{0,30}}(?:{MONEY}|{COUNT})[^;.]{{0,40}}(?:\b(?:to|auf)\b|\u2192|->)"
    rf"[^;.]{{0,20}}(?:{MONEY}|{COUNT})|\bup from (?:{MONEY}|{COUNT})"
)
_SPENDING = compiled(r"""
    \bhir\w+ | \bengineer\w* | \bsales\b | \bmarketing\b | \bproduct\b | \bexpan\w+ | \bdevelop\w* | \br ?& ?d\b
    \bcertif\w+ | \bproduction\b | \boperations\b | \binventory\b | \bgrowth\b | \bteam\b | \blaunch\w* | \bregulatory\b
    \bworking capital\b | \btooling\b | \bclinical\b | \bentwicklung\b | \bvertrieb\b | \bpersonal\b | \bmarkteintritt\b
    \bbuild\w*\b | \bopen\b | \bstaff\b
""")


_FOR = re.compile(
    rf"{MONEY}[^.;]*\bto (?:build|hire|open|expand|launch|develop|scale|grow|enter|produce|finish|get|bring|roll out)\b"
    rf"|{MONEY}[^.;{AMOUNT[1:-1]}]{{0,20}}\bfor (?:an?|the|our|more|new|another)\b"
    rf"(?! (?:stake|share|round|year|month|pre))|{MONEY}[^.;]*\bum\b[^.;]*\bzu [a-zäöü]+en\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the criteria look at."""

    statements: tuple[Statement, ...]
    figures: tuple[Figure, ...]
    by_dimension: Mapping[Dimension, tuple[Statement, ...]]
    """The statements about each: those of its own sections first, then the others, in the order of the deck."""

    def about(self, *dimensions: Dimension) -> list[Statement]:
        """The statements about `dimensions`, one after another."""
        return [statement for dimension in dimensions for statement in self.by_dimension[dimension]]


def gather_facts(statements: Iterable[Statement], figures: tuple[Figure, ...]) -> Facts:
    """The facts in a deck's statements, without those that speak to the evaluator."""
    told = tuple(statement for statement in statements if not statement.is_instruction)
    by_dimension = {
        dimension: tuple(
            sorted(
                (each for each in told if dimension in each.dimensions),
                key=lambda each: not each.is_home(dimension),
            )
        )
        for dimension in DIMENSIONS
    }
    return Facts(statements=told, figures=figures, by_dimension=by_dimension)


def first(
    statements: Iterable[Statement],
    *patterns: re.Pattern[str],
    without: re.Pattern[str] | None = None,
    digits: bool = False,
) -> Statement | None:
    """The first statement that all `patterns` match and `without` does not, with an amount in digits where asked."""
    for each in statements:
        if digits and not has_digits(each):
            continue
        if without is not None and without.search(each.masked):
            continue
        if all(pattern.search(each.masked) for pattern in patterns):
            return each
    return None


def saying(
    *patterns: re.Pattern[str], about: tuple[Dimension, ...], digits: bool = False
) -> Callable[[Facts], Statement | None]:
    """Finds the first statement about a dimension that all `patterns` match."""
    return lambda facts: first(facts.about(*about), *patterns, digits=digits)


def has_digits(statement: Statement) -> bool:
    """Whether it holds an amount in digits."""
    return any(amount.is_digits for amount in statement.amounts)


def is_table_row(statement: Statement) -> bool:
    """Whether it is a row of several columns, which is no sentence; a label and its text may hold one."""
    return statement.form == "row" and len(cells(statement.text)) != 2


def is_outlook(statement: Statement) -> bool:
    """Whether it stands in a section about the future."""
    return bool({"plan", "projection"} & set(statement.topics))


def sufferers(facts: Facts) -> Statement | None:
    """Who has the problem."""
    return first(facts.about("problem"), _GROUPS)


def problem_number(facts: Facts) -> Statement | None:
    """A number or a fraction that says how large the problem is."""
    return first(facts.about("problem"), digits=True) or first(facts.about("problem"), _FRACTION)


def product(facts: Facts) -> Statement | None:
    """A whole sentence on what the product is, in plain words."""
    for each in facts.about("solution"):
        if len(each.text.split()) < 5 or is_table_row(each) or is_hype(each) or claims_no_competitor(each):
            continue
        return each
    return None


def benefit(facts: Facts) -> Statement | None:
    """A gain of the product with its number."""
    measure = re.compile(rf"{PERCENT}|{MULTIPLE}|{MONEY}|{COUNT}-? ?{SPAN}\b")
    return first(facts.about("solution"), measure, _GAIN, digits=True)


def existence(facts: Facts) -> Statement | None:
    """A sign that the product is there: it says so, or somebody pays for it or uses it."""
    said = first(facts.about("solution", "traction"), _EXISTS, without=_NOT_YET)
    return said or next((each.statement for each in facts.figures if _is_sale(each)), None)


def people(facts: Facts) -> Statement | None:
    """Somebody by name."""
    return next((each for each in facts.about("team") if names_somebody(each.text)), None)


def both_sides(facts: Facts) -> Statement | None:
    """The technical half of a team that has a business half too."""
    business = first(facts.about("team"), _BUSINESS)
    return first(facts.about("team"), _TECHNICAL) if business else None


def market_size(facts: Facts) -> Statement | None:
    """Money or buyers in the market."""
    market = [each for each in facts.about("market") if "competition" not in each.topics]
    return first(market, re.compile(rf"{MONEY}|{COUNT} [a-z]"), digits=True)


def buyers(facts: Facts) -> Statement | None:
    """A number of buyers, or a calculation from below."""
    for each in facts.about("market"):
        is_many = any(amount.low >= 50 and amount.is_digits for amount in each.amounts)
        if is_calculation(each) or (
            "competition" not in each.topics and is_many and _BUYERS.search(each.masked)
        ):
            return each
    return None


def size_source(facts: Facts) -> Statement | None:
    """Where a market number comes from, or at least when it held."""
    market = facts.about("market") if market_size(facts) else []
    return first(market, SOURCE) or first(market, re.compile(r"\b20\d\d\b"), digits=True)


def competitors(facts: Facts) -> Statement | None:
    """Others by name, or what customers do instead."""
    for each in facts.about("market"):
        if claims_no_competitor(each):
            continue
        is_entry = "competition" in each.topics and (
            len(each.header) > 2 or _ENTRY.match(each.text) is not None
        )
        is_named = _PROPER.search(each.text) or _SUBSTITUTES.search(each.masked)
        if is_entry or (is_named and ("competition" in each.topics or _RIVALS.search(each.masked))):
            return each
    return None


def measured(facts: Facts) -> Statement | None:
    """A number of today with its unit and its time."""
    own = {
        each.statement.pieces
        for each in facts.figures
        if each.tense != "plan" and each.subject not in {"ask", "team size"}
    }
    for each in facts.about("traction"):
        timed = _TIME.search(each.masked) or _TIME.search(" ".join(each.header).lower())
        if is_outlook(each) or not has_digits(each) or not timed:
            continue
        if each.pieces in own or each.header or re.search(rf"{AMOUNT} ?[a-z/%]", each.masked):
            return each
    return None


def growth(facts: Facts) -> Statement | None:
    """Growth with what it started from or came to."""
    course = first((each for each in facts.about("traction") if not is_outlook(each)), _COURSE)
    claims = judged_claims(facts.statements, facts.figures)
    based = next((claim for claim, is_based in claims if is_based), None)
    return course or based or _series(facts)


def _series(facts: Facts) -> Statement | None:
    """A table row, or the later of two lines, that gives one quantity at a second time."""
    times: dict[tuple[str, str, str], str] = {}
    for figure in facts.figures:
        if figure.tense == "plan" or not figure.period or "traction" not in figure.statement.dimensions:
            continue
        if times.setdefault((figure.subject, figure.qualifier, figure.scope), figure.period) != figure.period:
            return figure.statement
    return None


def payment(facts: Facts) -> Statement | None:
    """Revenue, paying customers, or customers by name."""
    paid = next((each.statement for each in facts.figures if _is_sale(each)), None)
    if paid:
        return paid
    traction = (each for each in facts.about("traction") if not is_outlook(each))
    return next((each for each in traction if _NAMED.search(each.text) or _PAYS_US.search(each.masked)), None)


def _is_sale(figure: Figure) -> bool:
    narrowed = f"{figure.qualifier} {figure.scope}"
    is_paid = figure.subject in SALES or any(word in narrowed for word in ("paying", "paid", "zahl"))
    return figure.tense != "plan" and is_paid


def price(facts: Facts) -> Statement | None:
    """What a customer pays, or what customers paid."""
    of_today = [each for each in facts.about("finances") if not is_outlook(each)]
    return first(of_today, _PRICE, _CHARGED, without=_FORECAST, digits=True)


_PRICE = re.compile(rf"{MONEY}|{PERCENT} (?:commission|take rate|fee|provision)")
_FORECAST = compiled(
    r"\bproject(?:ed|ions?)\b | \bforecast\w* | \bexpect\w* | \bwill\b | \bplan(?:ned)?\b | \bprognos\w+ | \berwart\w+"
)
_CHARGED = compiled(r"""
    \bpric\w+ | \bper\b | / ?(?:month|mo|year|seat|user)\b | \ba (?:month|year|day|week|night)\b(?! ago)
    \brevenues?\b | \bmrr\b
    \barr\b | \bsales\b | \bfees?\b | \bcharge\w* | \bsubscri\w+ | \bcommission\b | \btake rate\b | \blicen[cs]e\w*
    \bpays?\b | \bpaid\b | \beach\b | \bwe (?:made|earned|billed|invoiced|turned over)\b
    \bturnover\b | \bcosts? (?:a|the|each)\b | \bumsatz\w* | \bumsätze\b | \bpreis\w* | \bpro\b | \babo\w*
    \berlös\w* | \bkostet\b | \bzahl(?:t|en)\b | \bim (?:monat|jahr)\b
""")
_RESERVES = compiled(
    r"\bburn\w*\b | \brunway\b | \bin the bank\b | \bbreak-?even\b | \bliquidität\b | \breichweite\b | \bcash\b"
)
_COSTS = compiled(r"""
    \bcosts?\b | \bopex\b | \bexpens\w+ | \bprofitab\w+ | \bloss(?:es)?\b | \bebitda\b | \bspend\w*\b | \bkosten\b
    \bausgaben\b | \bverlust\w* | \bgewinnschwelle\b | \bgewinn\b | \bprofit\b
""")


def costs(facts: Facts) -> Statement | None:
    """What the company spends, and how long its money lasts."""
    finances = facts.about("finances")
    return first(finances, _RESERVES, digits=True) or first(finances, _COSTS, digits=True)


def amount(facts: Facts) -> Statement | None:
    """The money to be raised."""
    return next((figure.statement for figure in facts.figures if figure.subject == "ask"), None)


def spending(facts: Facts) -> Statement | None:
    """What the money is for: shares, amounts or at least two purposes."""
    shares = [each for each in facts.statements if is_share_of_funds(each)]
    if sum(len(each.amounts) for each in shares) >= 2:
        return shares[0]
    purposes = (each for each in facts.about("ask") if len(set(_SPENDING.findall(each.masked))) >= 2)
    return next(purposes, None) or first(facts.about("ask"), _FOR)
