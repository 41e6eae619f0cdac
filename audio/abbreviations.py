"""Abbreviations whose full stop does not end a sentence, per language.

The lists are small on purpose: they hold what assistants really write. Keys are lower case and without the final stop.
Three kinds are told apart, because the stop means something different after each:

* ``never``: something always follows ("Dr.", "e.g.").
* ``number``: an abbreviation only before a number ("No. 5"), otherwise an ordinary word ("No. Thanks.").
* ``final``: may also close a sentence ("etc.", "p.m."); what follows decides.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Abbreviations:
    """The abbreviations of one language, see the module's description.

    Attributes:
        ordinal_stop: whether the language marks ordinals with a stop ("am 3. Mai").
        pronouns: single capital letters that are words and can end a sentence ("So do I.").
    """

    never: frozenset[str]
    number: frozenset[str] = frozenset()
    final: frozenset[str] = frozenset()
    ordinal_stop: bool = False
    pronouns: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MONTHS_EN = "jan feb mar apr jun jul aug sep sept oct nov dec"

ENGLISH = Abbreviations(
    never=_words("dr mr mrs ms mx prof rev hon gen col capt lt sgt gov sen rep st mt ft messrs vs e.g i.e cf viz ca")
    | _words("approx est dept"),
    number=_words(f"no nos p pp fig figs vol ch sec eq {_MONTHS_EN}"),
    final=_words("etc inc ltd co corp jr sr a.m p.m al ave blvd rd ph.d b.a m.a b.sc m.sc u.s u.k u.n e.u"),
    pronouns=frozenset("I"),
)
GERMAN = Abbreviations(
    never=_words("dr hr fr frl prof dipl ing st bzw ca evtl ggf inkl exkl max min vgl z.b d.h u.a z.t i.d.r o.ä v.a")
    | _words("s.o s.u bspw sog geb gest mind"),
    number=_words("nr art abs s bd kap tel jan feb apr jun jul aug sep sept okt nov dez"),
    final=_words("usw etc uvm u.s.w str jh jhd mio mrd v.chr n.chr"),
    ordinal_stop=True,
)
SPANISH = Abbreviations(
    never=_words("sr sra srta dr dra prof d dña ud uds p.ej ej gral avda av c.f aprox"),
    number=_words("núm no n pág págs p vol cap art tel"),
    final=_words("etc s.a ee.uu a.m p.m a.c d.c"),
)
FRENCH = Abbreviations(
    never=_words("mm dr mgr st ste p.ex ex cf env av bd"),
    number=_words("no n p pp vol chap art fig tél"),
    final=_words("etc s.a av.j-c apr.j-c"),
)
JAPANESE = Abbreviations(never=_words("dr mr mrs ms"), number=_words("no vol"))
OTHER = Abbreviations(never=_words("dr prof st mr mrs ms"), number=_words("no nr"), final=_words("etc"))

_LANGUAGES = {"en": ENGLISH, "de": GERMAN, "es": SPANISH, "fr": FRENCH, "ja": JAPANESE}


def abbreviations(language: str) -> Abbreviations:
    """The abbreviations of ``language`` (a BCP-47 tag); a short international list for languages without one."""
    return _LANGUAGES.get(language.split("-")[0].lower(), OTHER)
