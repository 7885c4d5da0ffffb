"""Asking: the words with which people ask, which say nothing about what they ask for.

Manuals seldom say "how do I" or "무엇인가요"; where one does, these words are rare, and a search would take them for
what a question is about. Scripts without blanks between words are cut where people ask.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from aerogram.digest.terms import fold, stopwords

__all__ = ["has_particle", "idle_words", "telling_parts"]

# no word that is also a name of something: TUN, DIR, C
_WORDS: Final = {
    "en": (
        "am anybody anyone anything everybody everyone everything nothing really somebody someone something want wants"
    ),
    "de": (
        "bekomme bekommen dich deine deinem deinen deiner finde finden geht gehen könnte kannst mache machen meine "
        "meinem meinen meiner mich möchte wem wen wessen will wir woher worauf worin wovon wollen"
    ),
    "fr": (
        "as avez avoir ça cela ceci chez combien doit dois elle elles entre être fait faire faut ils laquelle "
        "lequel lesquels leur leurs ma me mes moi mon on ont où peut peux puis quelles sert soit ta tes toi ton tu "
        "veux"
    ),
    "ru": (
        "вам вас вы ей ему если есть ещё значит им именно каким какими каких какой какую который которая которое "
        "которые которых куда меня мне можно мои моих мой моей моего моём моё моя мы надо нам нас находится "
        "находятся нельзя нет нужен нужна нужно нужны означает откуда сам сама сами само такое там тебе тебя тот "
        "тоже тут ты уже хочу чего чему чтобы этого этой этом я"
    ),
}
_PHRASES: Final = {
    "zh": (
        "如何|怎么办|怎么样|怎么|怎样|为什么|为何|什么|哪里|哪儿|哪个|哪些|哪|多少|几个|是否|能否|可否|能不能|可不可以|是不是|有没有|"
        "吗|呢|请问|我想|我要|我的|我们|我|你|您|应该"
    ),
    "ja": (
        "とは何|何です|何を|何が|何の|何に|でしょうか|のですか|ですか|ますか|ませんか|ください|どうすれば|どうすべき|どうやって|どうして|"
        "どのように|どんな|どこ|なぜ|いつ|どれ|どの|だれ|誰|とは|たい|です|ます|私"
    ),
    "ko": (
        "무엇으로|무엇[을이인은]?|무슨|어떻게|어떤|어디에서|어디[에서로]?|언제|누구|누가|어느|얼마나|[인은는던]?가요|[하되있]?나요|"
        "[을할될]?까요|습니까|입니까|합니까|됩니까|는지|싶어요|싶습니다|저는|제가|나는|내가"
    ),
}
_CUT: Final = re.compile("|".join(_PHRASES.values()))
_ALONE: Final = frozenset("할수것게왜몇때중더잘안못그저제내한될및등은는이가을를에의와과도만로")
_PARTICLE: Final = re.compile("[\uac00-\ud7a3]{2,}(?:[은는이가을를에의와과도만로])$")


@lru_cache(maxsize=1)
def idle_words() -> frozenset[str]:
    """The words, folded, that ask or join and say nothing about the subject."""
    return stopwords() | {fold(word) for words in _WORDS.values() for word in words.split()}


def telling_parts(run: str) -> list[str]:
    """What is left of a run of signs without those that only ask."""
    return [part for part in _CUT.split(run) if part and part not in _ALONE]


def has_particle(run: str) -> bool:
    """Whether a word in Korean probably ends in a sign that only joins it to others."""
    return _PARTICLE.search(run) is not None
