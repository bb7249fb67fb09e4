"""The catalogues' concepts: figures with sources, accelerators, offerings, model presets, formats, coefficients."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whygpu.kept import kept
from whygpu.knowledge.names import packings, shortened, untuned, without_maker
from whygpu.quantity import MIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whygpu.checks.coefficients import Coefficient, Coefficients
    from whygpu.checks.setup import Format
    from whygpu.errors import Location

Plain = float | bool | str

PROVIDER_CLASSES = ("hyperscaler", "specialised", "marketplace", "own")
PRICE_KINDS = ("on-demand", "spot", "reserved")
PURCHASE_KINDS = ("street", "list", "launch")
"""Prices to buy at, the one nearest to what is paid today first."""
_SHORT = 3
"""Letters below which a text names no kind of accelerators."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Where figures were read, and of which day they are."""

    id: str
    title: str
    where: str | None
    as_of: str | None
    location: Location
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One value of one thing: what it is, who says so, and what others say. ``absent``: known to be lacking."""

    value: Plain | tuple[Plain, ...] | None
    sources: tuple[str, ...]
    location: Location
    absent: bool = False
    estimate: str | None = None
    because: str | None = None
    others: tuple[tuple[Plain, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A named thing of a catalogue as plain data; ``sources`` are all that it cites.

    ``figures``: the fields that say more than their value (``{is: ..., source: ...}``).
    """

    id: str
    name: str
    aliases: tuple[str, ...]
    data: Mapping[str, Any]
    sources: tuple[str, ...]
    location: Location
    figures: Mapping[str, Figure] = field(default_factory=dict)
    own_sources: tuple[str, ...] = ()
    """The sources of the entry itself, which hold for every value that names none."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """Anything a plan can run on: a GPU, a TPU, a CPU, a board. ``figures`` are its ``gpu.`` names."""

    id: str
    name: str
    aliases: tuple[str, ...]
    family: str
    vendor: str
    figures: Mapping[str, Figure]
    location: Location
    note: str | None = None
    unpriced: str | None = None
    """Why no price of it is known, where somebody looked."""

    def number(self, name: str) -> float | None:
        """The figure as a number; None where it is not given or absent."""
        figure = self.figures.get(name)
        value = figure.value if figure is not None else None
        return value if isinstance(value, float) else None

    def text(self, name: str) -> str | None:
        """The figure as a text; None where it is not given."""
        figure = self.figures.get(name)
        value = figure.value if figure is not None else None
        return value if isinstance(value, str) else None

    def flag(self, name: str) -> bool | None:
        """The figure as a flag; None where it is not given."""
        figure = self.figures.get(name)
        value = figure.value if figure is not None else None
        return value if isinstance(value, bool) else None

    def lacks(self, name: str) -> bool:
        """Whether the hardware is known to lack it."""
        figure = self.figures.get(name)
        return figure is not None and figure.absent


@dataclass(frozen=True, slots=True)
class Provider:
    """Who rents accelerators out."""

    id: str
    name: str
    provider_class: str


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the world that answers may ask for (eu, us), and where in it each provider has data centres."""

    id: str
    name: str
    aliases: tuple[str, ...]
    regions: Mapping[str, tuple[str, ...]]
    """By provider: what it calls its regions there; none where it is known to be there and names no region."""
    location: Location


@dataclass(frozen=True, slots=True)
class Offering:
    """One price of one machine: USD an hour for all of its ``count`` accelerators."""

    id: str
    provider: str
    accelerator: str
    count: int
    usd_per_hour: float
    price_kind: str
    region: str | None
    instance: str | None
    as_of: str | None
    source: tuple[str, ...]
    suspect: str | None
    note: str | None
    location: Location
    vcpu: float | None = None
    ram_gib: float | None = None
    network_gbit_s: float | None = None
    """One direction of the network between such machines, of a whole machine."""
    statistic: str | None = None
    """Which of several prices it is, where the source condenses them."""
    claims: tuple[str, ...] = ()
    """Its sources where all are claims of the source documents: it is their word, and no provider's list."""

    @property
    def never_used(self) -> str | None:
        """Why no plan is priced by it; None where plans may be."""
        if self.suspect is not None:
            return self.suspect
        return "a document's own figure, of no known day" if self.claims and self.as_of is None else None


@dataclass(frozen=True, slots=True)
class Purchase:
    """What an accelerator costs to buy, in USD; ``whole_machine``: with the machine around it."""

    id: str
    accelerator: str
    usd: float
    kind: str
    as_of: str | None
    source: tuple[str, ...]
    location: Location
    note: str | None = None
    whole_machine: bool = False


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Every catalogue, by id."""

    references: Mapping[str, Reference]
    accelerators: Mapping[str, Accelerator]
    providers: Mapping[str, Provider]
    offerings: tuple[Offering, ...]
    purchases: tuple[Purchase, ...]
    models: Mapping[str, Entry]
    formats: Mapping[str, Format]
    coefficients: Coefficients
    areas: Mapping[str, Area] = field(default_factory=dict)

    @cached_property
    def accelerator_names(self) -> Mapping[str, tuple[str, ...]]:
        """Every way to write an accelerator (folded: id, name, alias, family), and the ids it selects."""
        return _names((item.id, item.name, (*item.aliases, item.family)) for item in self.accelerators.values())

    @cached_property
    def model_names(self) -> Mapping[str, tuple[str, ...]]:
        """Every way to write a preset model (folded), and the ids it selects."""
        return _names((item.id, item.name, without_maker(item.aliases)) for item in self.models.values())

    @cached_property
    def offerings_by_accelerator(self) -> Mapping[str, tuple[Offering, ...]]:
        """Offerings of each accelerator."""
        found: dict[str, list[Offering]] = {}
        for offering in self.offerings:
            found.setdefault(offering.accelerator, []).append(offering)
        return {name: tuple(items) for name, items in found.items()}

    def provider_class(self, offering: Offering) -> str:
        """What kind of provider rents it out."""
        return self.providers[offering.provider].provider_class

    @cached_property
    def locations(self) -> Mapping[str, Mapping[str, frozenset[str]]]:
        """By provider: each of its regions, and the areas that it is known to be in, with the areas they are in."""
        found: dict[str, dict[str, frozenset[str]]] = {}
        for area in self.areas.values():
            for provider, regions in area.regions.items():
                known = found.setdefault(provider, {})
                for name in (area.id, *regions):
                    known[name] = known.get(name, frozenset()) | {area.id}
        return found

    @cached_property
    def region_names(self) -> frozenset[str]:
        """Every word that answers may ask for a region by: areas, and the regions of all providers."""
        regions = (name for known in self.locations.values() for name in known)
        return frozenset({*self.areas, *regions, *(item.region for item in self.offerings if item.region)})

    def region(self, text: str) -> str | None:
        """The region or area that a text names, whatever its capitals; None where there is none."""
        return text if text in self.region_names else self._region_words.get(text.lower())

    def provider(self, text: str) -> str | None:
        """The provider that a text names, by its id, its name or the first word of that where no other has it
        ("Microsoft"), or what it was called before; None where there is none.
        """
        named = self.provider_names.get(fold(text), ())
        return text if text in self.providers else named[0] if len(named) == 1 else None

    @cached_property
    def provider_names(self) -> Mapping[str, tuple[str, ...]]:
        """Ids by folded name, several where a first word is shared."""
        before = {item.id: re.findall(r"\((?:formerly )?([\w.]+)\)", item.name) for item in self.providers.values()}
        return _names(
            (item.id, item.name, (item.name.partition(" ")[0], *before[item.id])) for item in self.providers.values()
        )

    @cached_property
    def _region_words(self) -> Mapping[str, str]:
        found = {name.lower(): name for name in sorted(self.region_names)}
        for area in self.areas.values():
            found |= {word.lower(): area.id for word in (area.id, area.name, *area.aliases)}
        return found

    def areas_of(self, offering: Offering) -> frozenset[str]:
        """The areas it may be rented in: that of its region, or all of its provider's where it names none."""
        known = self.locations.get(offering.provider, {})
        if offering.region is not None:
            return known.get(offering.region, frozenset())
        return frozenset(area for areas in known.values() for area in areas)

    def stands_in(self, offering: Offering, asked: frozenset[str]) -> bool:
        """Whether it is to be had in one of the regions or areas asked for.

        One without a region is where its provider is known to be, and nowhere else.
        """
        if offering.region is None:
            return not asked.isdisjoint(self.locations.get(offering.provider, {}))
        return offering.region in asked or not asked.isdisjoint(self.areas_of(offering))

    def driver_bytes(self, card: Accelerator) -> float:
        """What driver and firmware keep of the memory that the driver reports as total; NaN where that is not known.

        A fixed amount and a share of the memory (NVML, nvmlMemory_v2_t: `reserved`).
        """
        fixed, share = self._kept(card)
        return fixed.likely + share.likely * (card.number("usable_mib") or math.nan) * MIB

    def _kept(self, card: Accelerator) -> tuple[Coefficient, Coefficient]:
        words = {"software": card.text("software") or "", "class": card.text("class") or ""}
        pick = self.coefficients.pick
        return pick("driver-reserved-bytes", words), pick("driver-reserved-share", words)

    def usable_bytes(self, card: Accelerator) -> float:
        """Memory that processes on the card can share: what the driver reports as total, less what it keeps; NaN where
        that is not known.
        """
        return (card.number("usable_mib") or math.nan) * MIB - self.driver_bytes(card)

    def usable_sources(self, card: Accelerator) -> tuple[str, ...]:
        """Who says what the driver reports, and what it keeps of it where it does."""
        figure = card.figures.get("usable_mib")
        kept = [source for part in self._kept(card) if part.likely for source in part.source]
        return tuple(dict.fromkeys([*(figure.sources if figure else ()), *kept]))

    @cached_property
    def purchase_by_accelerator(self) -> Mapping[str, Purchase]:
        """The price to buy each accelerator at: a street price before a list price before the one at launch, newest."""
        found: dict[str, Purchase] = {}
        for kind in reversed(PURCHASE_KINDS):
            of_kind = sorted((item for item in self.purchases if item.kind == kind), key=lambda item: item.as_of or "")
            found |= {item.accelerator: item for item in of_kind}
        return found

    def find_accelerators(self, text: str) -> tuple[str, ...]:
        """The ids that a text selects: an id or name alone, otherwise all that share the alias or family."""
        if text in self.accelerators:
            return (text,)
        return self.accelerator_names.get(fold(text), ())

    @kept(1024)
    def accelerators_of_kind(self, text: str) -> tuple[str, ...]:
        """The ids of a kind that a text names, where it names no accelerator: what a maker calls so in the beginning of
        its names ("Jetson", "TPU"), or else a class; of a CPU all, for one is called so that stands for any.
        """
        word, cards = text.lower().strip(), self.accelerators.values()
        if len(word) < _SHORT:
            return ()
        names = ((card, name) for card in cards for name in (card.name, *card.aliases))
        named = dict.fromkeys(card.id for card, name in names if _begins(name, word, card.vendor))
        if named:
            return () if self.find_accelerators(text) else tuple(named)
        return tuple(card.id for card in cards if fold(card.text("class") or "") == fold(text))

    def instead_of(self, text: str) -> str:
        """What to answer where no model of the catalogue is meant, but work that one stands for, or weights of one in
        some number format; else nothing.
        """
        instead = self.stood_in_for(text)
        if instead:
            return instead
        for name, packing in packings(text):
            ids = self.model_names.get(fold(name)) or self.model_names.get(fold(untuned(name))) or ()
            formats = [item.id for item in self.formats.values() if packing and _is_called(item, packing)]
            if len(ids) == 1 and len(formats) == bool(packing):
                return f"answer 'model: {ids[0]}'" + "".join(f" and 'format: {found}'" for found in formats)
        return ""

    def stood_in_for(self, text: str) -> str:
        """What to answer in place of a name that is no model to be had here; else nothing."""
        for entry in self.models.values():
            if any(_matches(text, name) for name in entry.data.get("stands_for") or ()):
                return str(entry.data.get("stands_in") or "")
        return ""

    def find_models(self, text: str) -> tuple[str, ...]:
        """The ids of the presets that a text names: exactly, or else all that it may be short for."""
        exact = self.model_names.get(fold(text)) or self.model_names.get(fold(untuned(text)))
        if exact is not None:
            return exact
        return shortened(text, self._called)

    @cached_property
    def _called(self) -> dict[str, tuple[str, ...]]:
        """What each preset is called, by its id."""
        return {item.id: without_maker((item.id, item.name, *item.aliases)) for item in self.models.values()}


def _begins(name: str, word: str, vendor: str) -> bool:
    """Whether a name begins with a word, with or without its maker: "Intel Gaudi 3" with "gaudi", "Inferentia2" too."""
    rest = name.lower().removeprefix(f"{vendor.lower()} ")
    following = rest.removeprefix(word)
    return following != rest and (following[:1] == " " or (word[-1].isalpha() and following[:1].isdigit()))


def _matches(text: str, name: str) -> bool:
    """Whether a text, without who publishes it, is a name; or begins with it, as a word, where it ends in a star: a
    letter may follow ("gpt-4o" of "gpt-4*"), and no two ("gpt4all").
    """
    text = text.rpartition("/")[2]
    if not name.endswith("*"):
        return fold(text) == fold(name)
    begins = "[^a-z0-9]*".join(map(re.escape, fold(name)))
    return re.match(rf"{begins}(?:[a-z](?![a-z])|(?![a-z]))", text.strip().lower()) is not None


def _is_called(item: Format, text: str) -> bool:
    return fold(text) in map(fold, (item.id, *item.aliases))


def fold(text: str) -> str:
    """Lower case without spaces and punctuation: how names are compared."""
    return re.sub(r"[^a-z0-9.]+", "", text.lower().removeprefix("nvidia ").removeprefix("geforce "))


def _names(entries: Iterable[tuple[str, str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    shared: dict[str, list[str]] = {}
    exact: dict[str, tuple[str, ...]] = {}
    for identifier, name, others in entries:
        for text in dict.fromkeys(fold(word) for word in others):
            shared.setdefault(text, []).append(identifier)
        for text in (identifier, name):
            exact.setdefault(fold(text), (identifier,))
    # a name that is also a family ("A100", "V100") selects the family; an exact one nobody shares selects itself
    return exact | {text: tuple(ids) for text, ids in shared.items() if len(ids) > 1 or text not in exact}
