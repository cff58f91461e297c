"""Sentences of a deck that speak to whoever evaluates it instead of about the company."""

from __future__ import annotations

import re

from pitchdeck_rules.patterns import one_of

_IGNORE = r"(?:ignore|disregard|forget|override|bypass|ignoriere|ignorieren|vergiss|vergessen|ignorez|oubliez|ignora)"
_EARLIER = (
    r"(?:previous|prior|above|preceding|earlier|your|system|other|(?:vor|bis)herigen|obigen|précédentes)"
)
_ORDERS = r"(?:instructions?|prompts?|anweisungen|vorgaben|consignes|instrucciones)"
_RULES = r"(?:rules|guidelines|rubric|directions|criteria|regeln|kriterien)"
_BIDDING = r"(?:^\W*|\b(?:please|must|should|shall|you|bitte)\s+)"
_EVALUATOR = (
    r"(?:ai|llm|language models?|evaluators?|graders?|reviewers?|assistants?|chatbots?|ki|sprachmodelle?)"
)
_MACHINE = (
    r"(?:(?:ai|llm|large) )?(?:(?:language )?model|evaluator|grader|assistant|chatbot|reviewer|ai system|llm)"
)
_FULL_MARKS = (
    r"(?:\b(?:5|five|10|ten) ?(?:/|out of|of|von) ?(?:5|five|10|ten)\b|\b5s?(?![\w.,]?[\w%])(?! ?%)"
    r"|\b(?:highest|maximum|max|top|perfect|full) (?:score|marks?|points?|rating|grade)|\bhöchst\w*)"
)
_HEADED = r"(?:note|message|instructions?|attention|hinweis|anweisung)"
_GIVE = r"(?:give|award|assign|gib|geben sie|vergib)"
_ANSWER = r"(?:verdict|recommendation|recommend|output|answer|respond|reply|return|write|say|print|urteil)"
_INSTRUCTION = re.compile(
    one_of(rf"""
        \b{_IGNORE}\b[^.!?]{{0,40}}\b{_EARLIER}\b[^.!?]{{0,30}}\b(?:{_ORDERS}|{_RULES})\b
        {_BIDDING}{_IGNORE}\b[^.!?]{{0,40}}\b{_ORDERS}\b
        \bsystem prompt\b | \bdeveloper message\b | <\|?/?(?:im_start|im_end|system|assistant)\|?> | \[/?inst\]
        ^\W*(?:system|assistant|developer)\s*:
        ^\W*{_HEADED}\b[^.!?]{{0,20}}\b(?:to|for|an|für)\b[^.!?]{{0,20}}\b{_EVALUATOR}\b
        \b(?:as|you are|you['\u2019]re)(?: now)? (?:an? )?{_MACHINE}\b
        \bif you are (?:an? )?(?:ai|llm|language model|automated)\b
        {_BIDDING}(?:score|rate|grade|rank|mark|evaluate|bewerte\w*)\b[^.!?]{{0,60}}{_FULL_MARKS}
        {_BIDDING}{_GIVE}\b[^.!?]{{0,40}}(?:{_FULL_MARKS}|\b(?:score|rating|verdict|punktzahl)\b)
        \b{_ANSWER}\b[^.!?]{{0,30}}(?:\b(?-i:GO)(?:[^\w\s]|\s*$)|[\"']go[\"'])
        \bdo not (?:mention|report|flag|list|reveal)\b[^.!?]{{0,40}}\b(?:flags?|risks?|problems?|issues?|weakness\w*)\b
    """),
    re.IGNORECASE,
)
_FOLLOW_UP = re.compile(
    r"^\W*(?:please |and |then |also )?(?:write|say|state|report|output|print|respond|answer|reply|return"
    r"|conclude|assume|pretend|mark|award|rate|score|grade|give|set|use|do not|don't|never|always"
    r"|you (?:must|should|will|are))\b",
    re.IGNORECASE,
)


def is_instruction(sentence: str) -> bool:
    """Whether the sentence tells an evaluator what to do or to write."""
    return _INSTRUCTION.search(sentence) is not None


def follows_instruction(sentence: str) -> bool:
    """Whether a sentence that stands after an instruction in one paragraph goes on with it."""
    return is_instruction(sentence) or _FOLLOW_UP.search(sentence) is not None
