"""The words of each topic: in headings, where they are clear, and in sentences, where they are weighed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

from pitchdeck_rules.patterns import one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

Dimension = Literal["problem", "solution", "team", "market", "traction", "finances", "ask"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

Topic = Literal[
    "problem", "solution", "team", "market", "competition", "plan", "traction", "finances", "projection", "ask",
    "use of funds", "past", "other",
]  # fmt: skip

DIMENSION_BY_TOPIC: Mapping[Topic, Dimension] = {
    "problem": "problem",
    "solution": "solution",
    "team": "team",
    "market": "market",
    "competition": "market",
    "traction": "traction",
    "finances": "finances",
    "projection": "finances",
    "ask": "ask",
    "use of funds": "ask",
}


_HEADINGS: Mapping[Topic, str] = {
    "use of funds": one_of(r"""
        use of (?:the )?(?:funds|proceeds|capital|money) | where the money goes | mittelverwendung
        verwendung der mittel | utilisation des fonds | uso de (?:los )?fondos | uso dei fondi
    """),
    "problem": one_of(r"""
        problem\w* | problèmes? | pains? | pain points? | challenges? | unmet needs? | the need
        status quo | the issue | (?<!\S )why(?=\W*$) | why bother
        what(?:['\u2019]s| is) (?:broken|wrong) | why (?:it|this) matters
        herausforderung\w* | ausgangslage | schmerz\w* | enjeux? | constat
    """),
    "competition": one_of(r"""
        compet\w+ | (?:market )?landscape | alternatives | moat | defensib\w+ | differentiat\w+
        unfair advantage | wettbewerb\w* | mitbewerb\w* | konkurrenz\w* | concurren\w+ | concorren\w+
        why we win | who else(?: is there)? | (?:the )?others | rivals | the rest
    """),
    "projection": one_of(r"""
        (?:financial )?(?:projections?|forecasts?|outlook|plan figures) | financial plan | finanzplan\w*
        planzahlen | (?:umsatz)?prognosen? | prévisions | proyecciones | previsioni
    """),
    "plan": one_of(r"""
        roadmap | next steps | vision | mission | what(?:['\u2019]s| is) next | the future | future plans?
        exit(?: strategy)? | (?<!\S )next(?=\W*$) | (?<!\S )plan(?=\W*$)
        fahrplan | ausblick | milestones | meilensteine | timeline | zeitplan
    """),
    "past": one_of(r"""
        (?:previous|prior) (?:funding|rounds?|financing) | funding (?:history|to date)
        raised (?:before|so far|to date) | bisherige finanzierung
    """),
    "ask": one_of(r"""
        (?:the |our )?ask | raise | raising | fundrais\w+ | funding(?: needs?| request| round)?
        financing | investments?(?: opportunity| ask| terms)? | (?:seed |the |our |funding )?round
        (?:the )?deal | deal terms | terms | valuation | what we (?:need|want|ask(?: for)?|are looking for) | we need
        we seek
        we['\u2019]re seeking | seeking | looking for | finanzierung\w* | kapitalbedarf | finanzbedarf
        investitions\w+ | beteiligung\w* | was wir (?:brauchen|suchen) | unser angebot an
        levée(?: de fonds)? | notre demande | financement | inversión | ronda | financiación | la petición
        richiesta | investimento
    """),
    "traction": one_of(r"""
        traction | progress | market validation | validation | growth(?! (?:strategy|plan|levers|hacking))
        (?:key )?metrics | kpis? | where (?:we are|we stand|things stand)(?: today)? | reach | how far along
        momentum | achievements | results
        proof(?: points?)? | pilots? | case stud(?:y|ies) | track record | so far | adoption | retention
        our (?:customers|clients|users) | (?<!target )(?<!ideal )customers(?! segments?) | status
        what we(?:['\u2019]ve| have) (?:done|achieved|shown) | early (?:success|signs)\w* | to date | traktion
        fortschritt\w* | (?<!ziel)kunden(?!segment\w*) | wachstum | erfolge | kennzahlen | validierung
        referenzen | bisher\w* | stand der dinge | résultats | nos clients | tracción | nuestros clientes
        trazione | risultati | bewiesen\w*
    """),
    "finances": one_of(r"""
        financ(?:e|es|ial|ials) | unit economics | economics | (?:business|revenue) models?
        revenues?(?: streams)? | pricing | prices? | how we (?:make|earn) money | moneti[sz]ation
        p ?& ?l | p and l | budget | cash(?: flow)? | costs? | (?:the |our )?numbers | margins? | (?<!-)money
        finanzen | finanzielles | finanzkennzahlen | finanzlage | geschäftsmodell | erlösmodell
        umsatz\w* | preis\w* | kosten\w* | zahlen | wirtschaftlichkeit | monetarisierung | einnahmen
        finances | modèle (?:économique|d['\u2019]affaires) | tarifs? | modelo de negocio | finanzas | precios?
        modello di business | finanze | prezzi
    """),
    "market": one_of(r"""
        markets?(?: size| opportunity)? | marketing(?: strategy)? | tam | sam | som | opportunity
        size of the prize | industry | why now | timing | go[- ]to[- ]market | gtm | distribution
        sales(?: strategy| channels?)? | (?:target|ideal) (?:customers?|market|group|audience)
        customer segments? | segments? | who (?:buys|pays|we serve) | trends? | markt\w* | marché
        zielgruppen? | zielkunden | warum jetzt | vertrieb\w* | branche | pourquoi maintenant | mercado
        por qué ahora | mercato | perché ora | growth (?:strategy|plan|levers)
    """),
    "team": one_of(r"""
        teams? | (?<!\S )(?:us|who)(?=\W*$) | the (?:two|three|four|five) of us
        who we are | (?:co-?)?founders? | founding team | our people | people | leadership
        management(?: team)? | about us | advisors? | advisory board | the crew | gründer\w*
        wer wir sind | über uns | unsere köpfe | köpfe | beirat | équipe | qui sommes[- ]nous | fondateurs
        equipo | quiénes somos | fundadores | chi siamo | fondatori | why us
    """),
    "solution": one_of(r"""
        solutions? | products? | our (?:answer|approach|fix|idea) | the (?:fix|answer|idea) | approach
        what (?:we|you) (?:do|build|make|offer) | what it is | what (?:does|do) [\w ]{1,30} do
        how (?:it|this|we) works?
        how we (?:do|build|grow|make|solve|fix) (?:it|this|them) | technolog(?:y|ies) | tech | platform
        demo | value proposition | secret sauce | ip | innovation | features | lösung\w* | produkt\w*
        technologie | so funktioniert\w* | unser (?:ansatz|angebot) | ansatz | funktionsweise | die idee
        produit | la solution | solución | producto | soluzione | prodotto | tecnologia
        was wir (?:tun|machen|bauen|anbieten)
    """),
    "other": one_of(r"""
        agenda | contents | inhalt\w* | contact | kontakt | thank you | thanks | danke\w* | disclaimer
        appendix | anhang | summary | overview | executive summary | zusammenfassung | überblick
        at a glance | highlights | in a nutshell | introduction | intro | q ?& ?a | questions | pitch deck
        investor (?:deck|presentation) | risks? | risiken | impact | elevator pitch
    """),
}
_HEADING = re.compile(
    r"\b(?:"
    + "|".join(f"(?P<t{index}>{words})" for index, words in enumerate(_HEADINGS.values()))
    + r")(?!\w)",
    re.IGNORECASE,
)
_TOPICS = tuple(_HEADINGS)
_QUESTION = re.compile(
    r"(?:what|who|how|why|which|where|when|have|has|do|does|is|are|was|wer|wie|welche\w*|warum|wo|haben)\b"
    r"(?=.*\b(?:you|your|the|sie|ihr|ihre?n?)\b)",
    re.IGNORECASE,
)
_LONGEST_TITLE = 8  # words; longer ones are sentences, and their cues say more
_SMALL = re.compile(
    r"(?:[&+/]|the|our|a|we|and|of|to|for|with|at|on|die|das|der|den|und|unsere?|wir|la|le|les|el|il|nos|notre|et|y|e)$",
    re.IGNORECASE,
)


def topics_of_title(title: str) -> tuple[Topic, ...]:
    """The topics that a heading announces, in its order; none for a sentence or a heading of other words."""
    words = title.split()
    label = re.split(r"\s*:\s+|\s+[-\u2013\u2014|]\s+", title, maxsplit=1)[0]
    if label != title and (topics := topics_of_label(label)):
        return topics
    if is_question(title):
        found = [_TOPICS[int((match.lastgroup or "t0")[1:])] for match in _HEADING.finditer(title)]
        return tuple(dict.fromkeys(found))[:1] if "past" not in found else ("past",)
    if len(words) > _LONGEST_TITLE or (len(words) > 3 and _share_of_topics(title) < 0.5):
        return ()
    found = [_TOPICS[int((match.lastgroup or "t0")[1:])] for match in _HEADING.finditer(title)]
    topics = tuple(dict.fromkeys(found))
    if len(topics) > 1:
        topics = tuple(topic for topic in topics if topic != "other")
    if len(topics) < 2 or re.search(r"[&+,/|;]|\b(?:and|und|et|y|e|of|for|to)\b", title, re.IGNORECASE):
        return topics
    return topics[-1:]  # of a compound such as "Market Problem" the last word says what it is


def is_question(title: str) -> bool:
    """Whether it asks the company something, as a form does."""
    return title.endswith("?") and _QUESTION.match(title) is not None


def topics_of_label(label: str) -> tuple[Topic, ...]:
    """The topics of a bare line or a label; none where it is not a topic by every one of its words."""
    if ":" in label or not 1 <= len(label.split()) <= 5 or _share_of_topics(label) < 1:
        return ()
    return topics_of_title(label)


def _share_of_topics(title: str) -> float:
    rest, found = _HEADING.subn(" ", title)
    others = sum(_SMALL.match(word) is None for word in rest.split())
    return 1 - others / len(title.split()) if found else 0


def _from_word_start(words: str) -> re.Pattern[str]:
    return re.compile(r"\b" + one_of(words))


CUES: Mapping[Dimension, re.Pattern[str]] = {
    "problem": _from_word_start(r"""
        problems?\b | pains?\b | struggl | suffer | \blos(?:e|es|ing)\b | wast(?:es|ed|ing)\b
        \bwaste (?:time|money|hours|their|of|a|up)\b | \bha(?:ve|s) no (?:tool|way|idea|access|time|choice)\b
        too (?:slow|expensive|late|long|complex) | inefficien | frustrat | error-prone | manual(?:ly)?\b
        no way to | \black(?:s|ing)?\b | broken\b | \bfails?\b | delays?\b | hard to\b | difficult
        unable | nobody knows | by hand\b | paper forms? | spreadsheets?\b | leiden | verlieren | verliert
        verschwend | mühsam | zu teuer | fehlt | fehlen | händisch | manuell | schwierig | umständlich
        zettel | uncomfortable | do(?:es)? not know | \bcannot\b | can't\b | not enough | too many | throw\w* away
        \bwait(?:s|ing)?\b | undiagnosed | give up | \bstop within | shortage | costly | complain | \bmiss(?:es|ed)?\b
        werfen | \bkeine zeit | dauert | \bnot knowing\b | find out (?:too late|in|only)\b | \bidle\b
        ^(?!we\b|our\b|wir\b)(?:[\w-]+ ){0,2}?[\w-]+s (?:burn|drive|spend|write|wait|type|walk|search)\b
        ^\w+(?:en|er|innen|kräfte|leute) (?:schreiben|fahren|warten|suchen|tippen|laufen|verbringen)\b
    """),
    "solution": _from_word_start(r"""
        \bwe (?:put|take|give|rent|grow|run|fly|write|send|teach|train|collect|match|deliver|measure|recycle)\b
        \bwe (?:build|built|offer|make|provide|develop|automat|help|solve|sell|connect|turn|combine|let)\w*
        \bour (?:product|platform|app|software|solution|device|tool|system|service|technology|sensor|model)\b
        \b(?:is|are) an? (?:[\w-]+ ){0,4}(?:platform|app|tool|marketplace|software|device|system|service)\b
        \b(?:is|are) an? (?:[\w-]+ ){0,4}(?:sensor|robot|api|network|assistant|kit|machine)\b
        ^our (?!vision|mission|goal|team|dream|market|customers|users|clients|founders)[\w-]+ [a-z]{3,}s\b
        ^[\w-]+ (?:makes|builds|offers|provides|helps|lets|sells|connects|turns|gives|rents)\b
        ^[\w-]+ (?:develops|brings|delivers|runs|automates|entwickelt|baut|bietet|hilft|verbindet|liefert)\b
        \blets? (?:you|them|users|customers) | \b(?:allows?|enables?|automates?|replaces?|predicts?)\b
        wir (?:entwickeln|bieten|bauen|lösen|liefern|verbinden|helfen)
        unsere? (?:lösung|plattform|software|app|produkt|sensor\w*) | ermöglicht | automatisiert | ersetzt
    """),
    "team": _from_word_start(r"""
        \bfounders?\b | founded by | co-?founder | \bceo\b | \bcto\b | \bcoo\b | \bcfo\b | \bteam of\b
        our team | \bex-[a-z] | phd\b | years? (?:at|in|of)\b | previously (?:at|led|built|founded)
        used to (?:run|lead|work) | gründer | geschäftsführ | promoviert | unser team
        jahre (?:bei|in|erfahrung) | studied | graduated | spent \S+ years
    """),
    "market": _from_word_start(r"""
        \bmarkets?\b | \bTAM\b | \bSAM\b | \bSOM\b | \bcagr\b | compet(?:itor|itors|ition|es?)\b
        \bindustry\b | \bsegments?\b | incumbents? | \w*markt\b | märkte | wettbewerb | konkurren | branche\b
        go-to-market | \b(?:nobody|no one) (?:else )?(?:sells|offers|makes)\b
    """),
    "traction": _from_word_start(r"""
        \b(?:paying |active |pilot )?(?:customers|users|clients|subscribers)\b | \bmrr\b | \barr\b
        \brevenues?\b | pilots?\b | \bon rent\b | in the last \S+ months | \bso far\b
        \bgrew\b | \bgrowing\b | \bgrown\b | \bsigned\b | wait-?list
        retention | \bchurn\b | letters? of intent | \blois?\b | downloads\b | launched | \bsold\b
        \bkunden\b | nutzer\b | \w*umsatz | \w*wachs | gewachsen | pilotkund | verträge | abgeschlossen
    """),
    "finances": _from_word_start(r"""
        \bpric(?:e|es|ing)\b | margins?\b | \bcac\b | \bltv\b | unit economics | \bburn\b | runway
        forecast | projection | break-?even | ebitda | business model | subscription
        per (?:month|year|seat|user|unit|order)\b | a month\b | \bcharge\b | \bprofit | gross\b | \bpreis
        marge\b | deckungsbeitrag | prognose | gewinn | abo\b | pro monat | pro jahr | kostet\b
        liquidität
    """),
    "ask": _from_word_start(r"""
        \brais(?:e|ing)\b | \bseeking\b | seed round | pre-seed | series [a-d]\b
        \binvest(?:ment|ors?|ing)?\b | use of funds | valuation | pre-money | post-money | \bsafe note
        convertible | \bequity\b | \bfunding\b | will use the money | finanzierungsrunde | \w*kapital\b
        beteiligung | wandeldarlehen | bewertung\b | investoren?\b | wir suchen
    """),
}
"""Words in lower-case sentences that speak of a dimension; weighed by how many different ones stand in it."""
