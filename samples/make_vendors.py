"""Writes `vendors.json` and `vendors.csv` beside this file: who is who among the vendors of the sample documents.

Most vendors are written down by hand below. Brackwater Logistics is large enough to be cut by any cap, so its depots,
lanes, subcontractors and call-offs are laid out by rule. Run it as `python samples/make_vendors.py`; the same files
come out each time.

An entity has `id`, `type`, `name`, the `vendor` whose file it belongs to, `updated`, and what else is known of it. A
relationship has `id`, `type`, `source` and `target` (ids of entities, perhaps of two vendors) and `since`.
"""
# ruff: noqa: INP001  # a program to run, not a package

from __future__ import annotations

import csv
import json
from itertools import count
from pathlib import Path
from typing import Any, Final

Row = dict[str, Any]

VENDORS: Final[dict[str, Row]] = {
    "Norrvik Identity AB": {
        "aliases": ["Norrvik", "Norrpass"],
        "city": "Umeå",
        "country": "Sweden",
        "founded": 2014,
        "updated": "2026-05-19",
        "PERSON": {
            "Elin Sandqvist": "chief executive",
            "Jonas Bergroth": "chief scientist",
            "Marta Wilk": "account manager",
            "Petter Åkerlund": "head of support",
        },
        "PRODUCT": {
            "Norrpass": "hosted sign-in",
            "Norrpass Vault": "storage of signing keys",
            "Norrpass Watch": "alerts on unusual sign-ins",
        },
        "CONTRACT": {"C-2024-017": "2027-01-31"},
    },
    "Merrowdata Systems GmbH": {
        "aliases": ["Merrowdata", "Merrowdata Systems"],
        "city": "Hamburg",
        "country": "Germany",
        "founded": 2009,
        "updated": "2026-04-07",
        "PERSON": {"Friedrich Oltmanns": "founder", "Sabine Karg": "founder"},
        "PRODUCT": {"Merrow Lake": "database of readings over time", "Merrow Lens": "charts of readings"},
        "CONTRACT": {"C-2023-041": "2027-06-15"},
    },
    "Merrowdata Services Ltd": {
        "aliases": ["Merrowdata", "Merrowdata Services"],
        "city": "Leeds",
        "country": "United Kingdom",
        "founded": 1998,
        "updated": "2026-03-16",
        "PERSON": {
            "Geraldine Moss": "founder",
            "Callum Moss": "managing director",
            "Nadia Farrant": "project lead",
        },
        "PRODUCT": {"Volume scanning": "scanning of bound volumes", "Double keying": "data entry by two people"},
        "CONTRACT": {"C-2025-006": "2026-10-31"},
    },
    "Kestrelgate Inc.": {
        "aliases": ["Kestrelgate", "Kestrel"],
        "city": "Halifax",
        "country": "Canada",
        "founded": 2010,
        "updated": "2026-06-08",
        "PERSON": {"Dana Whitcombe": "chief executive", "Shauna Beck": "account manager"},
        "PRODUCT": {
            "Kestrel Edge": "API gateway",
            "Kestrel Shield": "filtering of attacks",
            "Kestrel Portal": "documentation for developers",
        },
        "CONTRACT": {"C-2022-112": "2026-10-31"},
    },
    "Tessaro Payments S.A.": {
        "aliases": ["Tessaro", "Tessaro Payments"],
        "city": "Lisbon",
        "country": "Portugal",
        "founded": 2016,
        "updated": "2026-04-22",
        "PERSON": {"Inês Cardoso": "chief executive", "Beatriz Nogueira": "account manager"},
        "PRODUCT": {
            "Tessera Checkout": "payment page",
            "Tessera Link": "payment by link",
            "Tessera Payout": "transfers to sellers",
        },
        "CONTRACT": {"C-2025-019": "2028-04-30"},
    },
    "Okuyama Sensing K.K.": {
        "aliases": ["奥山センシング", "奥山センシング株式会社", "Okuyama"],
        "city": "Osaka",
        "country": "Japan",
        "founded": 1971,
        "updated": "2026-05-08",
        "PERSON": {"奥山千尋": "president", "谷口恵": "sales", "森脇大輔": "engineering"},
        "PRODUCT": {"OS-40": "temperature and humidity sensor", "OS-72": "recorder for refrigerated trucks"},
        "CONTRACT": {"C-2024-033": "2027-03-31"},
    },
    "Brackwater Logistics B.V.": {
        "aliases": ["Brackwater", "Brackwater Logistics"],
        "city": "Rotterdam",
        "country": "Netherlands",
        "founded": 1962,
        "updated": "2026-06-20",
        "PERSON": {
            "Annelies Brakman": "managing director",
            "Kwame Asante": "head of operations",
            "Lotte Verhagen": "head of cold storage",
        },
        "PRODUCT": {"Harbour to depot": "container pick-up", "Cold chain": "transport at 2 to 8 and at -25 degrees"},
        "CONTRACT": {"C-2021-008": "2027-03-31"},
    },
    "Larkmoor Analytics Ltd": {
        "aliases": ["Larkmoor"],
        "city": "Dublin",
        "country": "Ireland",
        "founded": 2018,
        "updated": "2026-02-24",
        "PERSON": {"Aoife Tiernan": "chief executive", "Rory Blaney": "head of product", "Saoirse Quill": "customers"},
        "PRODUCT": {"Larkmoor Reports": "dashboards and reports"},
        "CONTRACT": {"C-2025-030": "2027-12-31"},
    },
    "Fjordbyte Hosting AS": {
        "aliases": ["Fjordbyte"],
        "city": "Bergen",
        "country": "Norway",
        "founded": 2011,
        "updated": "2026-05-27",
        "PERSON": {"Ingrid Haugland": "chief executive", "Tor Espeland": "founder"},
        "PRODUCT": {"Sotra cage": "racks in Sotra", "Odda racks": "racks for copies"},
        "CONTRACT": {"C-2020-052": "2026-12-01"},
    },
    "Quillon Security OÜ": {
        "aliases": ["Quillon"],
        "city": "Tallinn",
        "country": "Estonia",
        "founded": 2012,
        "updated": "2026-05-11",
        "PERSON": {"Kadri Lepik": "chief executive", "Andres Saar": "head of engineering", "Liis Rebane": "support"},
        "PRODUCT": {"Q5": "hardware security module", "Q5-mini": "module as a card", "Quillon Keeper": "key release"},
        "CONTRACT": {"C-2023-077": "2028-09-30"},
    },
    "Palmaris Messaging LLC": {
        "aliases": ["Palmaris"],
        "city": "Savannah",
        "country": "United States",
        "founded": 2013,
        "updated": "2026-06-11",
        "PERSON": {
            "Renée Castellanos": "chief executive",
            "Odell Fairchild": "adviser",
            "Marcus Thibodeaux": "account",
        },
        "PRODUCT": {"Palmaris Text": "text messages", "Palmaris Mail": "mail", "Palmaris Push": "notifications"},
        "CONTRACT": {"C-2024-058": "2026-09-30"},
    },
    "Vltavia Compute s.r.o.": {
        "aliases": ["Vltavia"],
        "city": "Brno",
        "country": "Czechia",
        "founded": 2015,
        "updated": "2026-06-02",
        "PERSON": {"Zuzana Mrázková": "managing director", "Filip Dvořan": "sales", "Rafael Osei": "networking"},
        "PRODUCT": {"Vlt-4": "small machine", "Vlt-16": "large machine", "Vlt-G": "machine with a graphics card"},
        "CONTRACT": {"C-2025-044": "2027-06-30"},
    },
    "Harrowick & Pyle LLP": {
        "aliases": ["Harrowick", "Harrowick and Pyle"],
        "city": "Bristol",
        "country": "United Kingdom",
        "founded": 2003,
        "updated": "2026-01-21",
        "PERSON": {"Philippa Harrowick": "senior partner", "Emeka Pyle": "partner", "Joan Tredwell": "escrow clerk"},
        "PRODUCT": {"Source escrow": "deposits of source code", "Licence review": "review of inventories"},
        "CONTRACT": {"C-2021-090": None},
    },
}

BETWEEN: Final = (
    ("PARTNER", "Norrvik Identity AB", "Quillon Security OÜ", "2023-02-01"),
    ("SUPPLIES", "Fjordbyte Hosting AS", "Norrvik Identity AB", "2016-05-01"),
    ("COMPETITOR", "Norrvik Identity AB", "Kestrelgate Inc.", "2021-09-01"),
    ("COMPETITOR", "Norrvik Identity AB", "Quillon Security OÜ", "2023-06-01"),
    ("SUPPLIES", "Norrvik Identity AB", "Brackwater Logistics B.V.", "2022-03-15"),
    ("SUPPLIES", "Merrowdata Systems GmbH", "Brackwater Logistics B.V.", "2015-10-01"),
    ("PARTNER", "Merrowdata Systems GmbH", "Okuyama Sensing K.K.", "2019-04-01"),
    ("PARTNER", "Merrowdata Systems GmbH", "Larkmoor Analytics Ltd", "2020-08-20"),
    ("SUPPLIES", "Okuyama Sensing K.K.", "Brackwater Logistics B.V.", "2018-11-05"),
    ("SUPPLIES", "Brackwater Logistics B.V.", "Merrowdata Services Ltd", "2025-02-01"),
    ("SUPPLIES", "Kestrelgate Inc.", "Tessaro Payments S.A.", "2020-01-10"),
    ("PARTNER", "Kestrelgate Inc.", "Fjordbyte Hosting AS", "2021-03-01"),
    ("PARTNER", "Kestrelgate Inc.", "Vltavia Compute s.r.o.", "2022-07-01"),
    ("COMPETITOR", "Kestrelgate Inc.", "Vltavia Compute s.r.o.", "2026-05-01"),
    ("SUPPLIES", "Palmaris Messaging LLC", "Tessaro Payments S.A.", "2019-12-01"),
    ("SUPPLIES", "Palmaris Messaging LLC", "Larkmoor Analytics Ltd", "2021-06-01"),
    ("SUPPLIES", "Fjordbyte Hosting AS", "Larkmoor Analytics Ltd", "2018-09-01"),
    ("COMPETITOR", "Fjordbyte Hosting AS", "Vltavia Compute s.r.o.", "2016-01-01"),
    ("PARTNER", "Quillon Security OÜ", "Tessaro Payments S.A.", "2021-11-11"),
    ("SUPPLIES", "Harrowick & Pyle LLP", "Merrowdata Systems GmbH", "2021-05-01"),
    ("SUPPLIES", "Harrowick & Pyle LLP", "Larkmoor Analytics Ltd", "2025-03-01"),
    ("SUPPLIES", "Harrowick & Pyle LLP", "Quillon Security OÜ", "2023-10-01"),
)

CARRIER: Final = "Brackwater Logistics B.V."
TOWNS: Final = {
    "Netherlands": "Rotterdam,Moerdijk,Tilburg,Venlo,Nijmegen,Zwolle,Groningen,Almere,Breda,Roosendaal",
    "Belgium": "Antwerpen,Gent,Mechelen,Hasselt,Liège,Charleroi,Kortrijk",
    "Germany": "Duisburg,Köln,Dortmund,Bremen,Hamburg,Hannover,Kassel,Leipzig,Nürnberg,Mannheim",
    "Denmark": "Aarhus,Odense,Kolding,Aalborg,Esbjerg,Køge",
    "France": "Lille,Reims,Metz,Lyon,Dijon,Strasbourg",
    "Poland": "Poznań,Wrocław,Łódź,Szczecin,Gdańsk",
    "Czechia": "Brno,Plzeň,Ostrava",
    "Sweden": "Malmö,Göteborg,Jönköping",
    "Luxembourg": "Bettembourg",
}
SECOND: Final = frozenset(
    (
        "Rotterdam", "Venlo", "Tilburg", "Antwerpen", "Gent", "Duisburg", "Hamburg", "Bremen", "Aarhus",
        "Lille", "Poznań", "Brno", "Malmö",
    )
)
FIRST_NAMES: Final = "Anna Bram Carla Daan Eva Femke Gijs Hanna Ivo Jana Koen Lena Milan Noor Otto Petra"
LAST_NAMES: Final = "Aalders Boersma Claes Dirksen Evers Faber Goossens Hoekstra Janssens Kramer Lindqvist"
HAULIERS: Final = "Aske,Boreas,Cirrus,Delta,Elster,Falk,Gronau,Heron,Iris,Jolle,Kiel,Loire,Maas,Noord,Oder,Polder"
SERVICES: Final = ("pallets", "fork-lift repair", "cleaning")


class Graph:
    """Entities and relationships, numbered in the order in which they are added."""

    def __init__(self) -> None:
        self.entities: list[Row] = []
        self.relationships: list[Row] = []
        self.companies: dict[str, str] = {}
        self._entity_numbers, self._relationship_numbers = count(1), count(1)

    def entity(self, kind: str, name: str, vendor: str, updated: str, **known: Any) -> str:
        """Add an entity; its id."""
        made = f"e_{next(self._entity_numbers):03}"
        row = {"id": made, "type": kind, "name": name, "vendor": vendor, "updated": updated}
        self.entities.append(row | {key: value for key, value in known.items() if value is not None})
        return made

    def relate(self, kind: str, source: str, target: str, since: str, **known: Any) -> None:
        """Add a relationship between two entities."""
        made = f"r_{next(self._relationship_numbers):03}"
        row = {"id": made, "type": kind, "source": source, "target": target, "since": since}
        self.relationships.append(row | known)


def add_vendor(graph: Graph, name: str, known: Row) -> None:
    """A company with its seat, people, products and contracts."""
    updated, since = known["updated"], f"{known['founded']}-01-01"
    about = {"aliases": known["aliases"], "founded": known["founded"], "country": known["country"]}
    company = graph.companies[name] = graph.entity("COMPANY", name, name, updated, **about)
    seat = graph.entity("LOCATION", known["city"], name, updated, country=known["country"])
    graph.relate("LOCATED_IN", company, seat, since)
    for person, role in known["PERSON"].items():
        graph.relate("EMPLOYS", company, graph.entity("PERSON", person, name, updated, role=role), since)
    for product, description in known["PRODUCT"].items():
        graph.relate("OWNS", company, graph.entity("PRODUCT", product, name, updated, description=description), since)
    for contract, ends in known["CONTRACT"].items():
        signed = f"{contract[2:6]}-01-01"
        made = graph.entity("CONTRACT", contract, name, updated, ends=ends)
        graph.relate("BOUND_BY", company, made, signed)


def add_network(graph: Graph) -> None:
    """The depots, lanes, subcontractors and call-offs of the carrier, laid out by rule."""
    depots = add_depots(graph)
    add_staff(graph, depots)
    add_lanes(graph, depots, add_subcontractors(graph, depots))


def add_depots(graph: Graph) -> list[str]:
    """A depot in each town, and a second one in the larger ones."""
    carrier, updated = graph.companies[CARRIER], VENDORS[CARRIER]["updated"]
    depots: list[str] = []
    for country, towns in TOWNS.items():
        land = graph.entity("LOCATION", country, CARRIER, updated, country=country)
        for town in towns.split(","):
            for name in (town, f"{town} 2") if town in SECOND else (town,):
                since = f"{1985 + len(depots) % 38}-0{1 + len(depots) % 9}-01"
                cold = "2 to 8 degrees" if len(depots) % 5 == 0 else None
                depot = graph.entity("LOCATION", f"Depot {name}", CARRIER, updated, country=country, climate=cold)
                graph.relate("OPERATES", carrier, depot, since)
                graph.relate("LOCATED_IN", depot, land, since)
                depots.append(depot)
    for place, depot in enumerate(depots):
        for step in (1, 2):
            graph.relate("SUBSTITUTES", depot, depots[(place + step) % len(depots)], "2025-04-01")
    return depots


def add_staff(graph: Graph, depots: list[str]) -> None:
    """Managers, each responsible for two depots."""
    first, last = FIRST_NAMES.split(), LAST_NAMES.split()
    carrier, updated = graph.companies[CARRIER], VENDORS[CARRIER]["updated"]
    for place in range(0, len(depots), 2):
        name = f"{first[place // 2 % len(first)]} {last[place // 2 % len(last)]}"
        since = f"{2008 + place % 17}-03-01"
        manager = graph.entity("PERSON", name, CARRIER, updated, role="depot manager")
        graph.relate("EMPLOYS", carrier, manager, since)
        for depot in depots[place : place + 2]:
            graph.relate("MANAGES", manager, depot, since)


def add_subcontractors(graph: Graph, depots: list[str]) -> list[str]:
    """Hauliers, each of which serves the depots near it with a few things."""
    carrier, updated, made = graph.companies[CARRIER], VENDORS[CARRIER]["updated"], []
    for place, name in enumerate(HAULIERS.split(",")):
        haulier = graph.entity("COMPANY", f"{name} Transport", CARRIER, updated, description="subcontractor")
        graph.relate("PARTNER" if place % 4 == 0 else "SUPPLIES", haulier, carrier, f"{2012 + place % 13}-06-01")
        made.append(haulier)
    for place, depot in enumerate(depots):
        for step, service in enumerate(SERVICES):
            since = f"{2018 + (place + step) % 8}-09-01"
            graph.relate("SUPPLIES", made[(place + 5 * step) % len(made)], depot, since, description=service)
    return made


def add_lanes(graph: Graph, depots: list[str], hauliers: list[str]) -> None:
    """Lanes between depots, each with its call-off and the hauliers that may drive it."""
    updated = VENDORS[CARRIER]["updated"]
    framework = next(one["id"] for one in graph.entities if one["name"] == "C-2021-008")
    for number in range(27):
        since = f"{2021 + number % 5}-04-01"
        lane = graph.entity("PRODUCT", f"Lane {number + 1:02}", CARRIER, updated, description="road or rail lane")
        call_off = graph.entity("CONTRACT", f"C-2021-008/{number + 1:02}", CARRIER, updated, ends="2027-03-31")
        graph.relate("PART_OF", call_off, framework, since)
        graph.relate("GOVERNS", call_off, lane, since)
        for depot in (depots[number], depots[(number * 7 + 20) % len(depots)]):
            graph.relate("CONNECTS", lane, depot, since)
        for step in (0, 3):
            graph.relate("SUPPLIES", hauliers[(number + step) % len(hauliers)], lane, since)


def graph_of_vendors() -> Row:
    """The whole graph."""
    graph = Graph()
    for name, known in VENDORS.items():
        add_vendor(graph, name, known)
    for kind, source, target, since in BETWEEN:
        graph.relate(kind, graph.companies[source], graph.companies[target], since)
    add_network(graph)
    return {"updated": "2026-06-20", "entities": graph.entities, "relationships": graph.relationships}


ARCHIVES: Final = "Solenne Archives SARL"
COLUMNS: Final = ("record", "id", "type", "name", "vendor", "source", "target", "since", "updated", "description")
ARCHIVE_ENTITIES: Final = (
    ("COMPANY", ARCHIVES, "storage of paper, film and tapes"),
    ("PERSON", "Mireille Solenne", "founder"),
    ("PERSON", "Bastien Roche", "manager"),
    ("LOCATION", "Lyon", "seat"),
    ("LOCATION", "Store Vénissieux", "film at 4 degrees"),
    ("LOCATION", "Store Givors", "paper at 18 degrees"),
    ("LOCATION", "Store Bron", "tapes at 16 degrees"),
    ("PRODUCT", "Shelf storage", "11.20 euro a running metre and year"),
    ("PRODUCT", "Scan on demand", "9 euro for up to 50 pages"),
    ("CONTRACT", "C-2019-015", "renewed every three years, next on 2028-09-01"),
)
ARCHIVE_RELATIONSHIPS: Final = (
    ("EMPLOYS", 0, 1, "1987-05-01"),
    ("EMPLOYS", 0, 2, "2014-02-01"),
    ("LOCATED_IN", 0, 3, "1987-05-01"),
    ("OPERATES", 0, 4, "1991-01-01"),
    ("OPERATES", 0, 5, "2003-01-01"),
    ("OPERATES", 0, 6, "2011-01-01"),
    ("OWNS", 0, 7, "1987-05-01"),
    ("OWNS", 0, 8, "2016-10-01"),
    ("BOUND_BY", 0, 9, "2019-09-01"),
    ("MANAGES", 2, 4, "2014-02-01"),
)


def archive_rows() -> list[Row]:
    """The rows of the CSV file: entities first, then relationships, both with ids above those of the graph."""
    ids = [f"e_{number}" for number in range(901, 901 + len(ARCHIVE_ENTITIES))]
    rows: list[Row] = [
        {"record": "entity", "id": made, "type": kind, "name": name, "vendor": ARCHIVES, "updated": "2026-04-30"}
        | {"description": description}
        for made, (kind, name, description) in zip(ids, ARCHIVE_ENTITIES, strict=True)
    ]
    for number, (kind, source, target, since) in enumerate(ARCHIVE_RELATIONSHIPS, 901):
        row = {"record": "relationship", "id": f"r_{number}", "type": kind, "vendor": ARCHIVES}
        rows.append(row | {"source": ids[source], "target": ids[target], "since": since})
    return rows


def main() -> None:
    """Write both files, one entity or relationship on a line."""
    here, graph = Path(__file__).parent, graph_of_vendors()
    lists = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(row, ensure_ascii=False) for row in graph[name]) + "\n]"
        for name in ("entities", "relationships")
    )
    text = f'{{"updated": "{graph["updated"]}",\n{lists}}}\n'
    (here / "vendors.json").write_text(text, encoding="utf-8")
    with (here / "vendors.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(archive_rows())


if __name__ == "__main__":
    main()
