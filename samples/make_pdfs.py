"""Writes the sample PDFs beside this file: plain pages of text, the same bytes each time.

Run it as `python samples/make_pdfs.py` after a change to the texts below. The writer knows one font in two weights
and nothing else, which is all that these documents need.
"""
# ruff: noqa: INP001  # a program to run, not a package

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Final

WIDTH, HEIGHT, MARGIN = 595, 842, 64
LINE: Final = 15
COLUMNS: Final = 88

QUESTIONNAIRE: Final = """
# Security questionnaire for suppliers

Version 4, in force since 1 February 2026. Publisher: Platform Security Group. Licence: CC-BY-4.0.

Every supplier that handles our data, runs code in our network or enters our buildings fills in this questionnaire
before the contract is signed and again every two years. Answers are binding: a wrong one is a breach of contract.
Short answers are welcome. "Not applicable" needs a reason of one sentence.

# How answers are rated

Each question carries weight 1, 2 or 3. A supplier passes with 70 of 100 points and no zero in a question of weight
3. In 2025 we rated 58 suppliers: 41 passed at once, 12 after improvements and five were turned down. The rating
takes ten working days. Its result is sent to the supplier with reasons, and may be shown to other customers by the
supplier if shown whole.

# Part A: people

A1 (weight 2). How are employees vetted before they may see customer data? We expect a check of identity and
references, and of the criminal record where the law allows it.

A2 (weight 1). How often are people trained, and who checks that they took part? Once a year is the least.

A3 (weight 3). How quickly is access removed when someone leaves? We expect the same day, and one hour for
administrators.
===
# Part B: access

B1 (weight 3). Which accounts can read our data, and is a second factor needed for each? Shared accounts score zero.

B2 (weight 2). How long are records of access kept, and who reads them? Twelve months, and someone other than the
administrators.

B3 (weight 2). How are secrets of programs stored? A file in a repository scores zero. A vault or a hardware module
scores full points.

# Part C: software

C1 (weight 3). How soon are serious weaknesses mended? We expect seven days when a weakness is exploited in the
wild, and thirty days otherwise.

C2 (weight 2). Is there a list of all parts of the software, and is it given to customers with each release? The
formats SPDX and CycloneDX are accepted.

C3 (weight 1). May we test the service ourselves? Two weeks' notice is fine.

# Part D: continuity

D1 (weight 3). When was a restore from back-up last tested, how long did it take and what was lost? A date older
than six months scores half.

D2 (weight 2). What happens if your largest site is lost? Name the time until service returns and the amount of data
that may be missing.
===
# Part E: incidents

E1 (weight 3). Within what time will you tell us of a breach that concerns our data? The contract says 24 hours.
Longer scores zero.

E2 (weight 1). Name the last three incidents and what was changed after each of them. Suppliers that claim to have
had none are asked again, in person.

# Results of the last round

Norrvik Identity 94 points, Quillon Security 93, Fjordbyte Hosting 88, Kestrelgate 86, Tessaro Payments 84, Vltavia
Compute 77, Brackwater Logistics 75, Larkmoor Analytics 74, Merrowdata Systems 73, Solenne Archives 71, Palmaris
Messaging 69 and therefore passed only after an improvement.

The improvement at Palmaris concerned question A3: two former employees could still sign in 19 days after leaving.
The supplier now removes accounts by an automatic feed from its personnel system, which was checked on 14 April
2026.

# Contact

Questions about the questionnaire: Ines Hallbrook, Platform Security Group, suppliers@example.test. Completed forms
are kept for the length of the contract and three years.
"""

HANDBOOK: Final = """
# Integration handbook for carriers

Edition of May 2026. Publisher: Developer Relations. Licence: CC-BY-4.0.

This handbook is for carriers that exchange shipments, positions and proofs of delivery with us. A carrier is
usually connected within six weeks: two for access, two for building, one for the rehearsal and one in reserve.

# Access

You receive a client registration for each environment. The rehearsal environment accepts a client secret; the live
environment wants a signed assertion or a client certificate. Tokens are valid for ten minutes. Please use each of
them until it expires.

Requests must come from the addresses that you registered, at most sixteen of them. A change takes effect after one
hour.

# Shipments

We send a shipment as soon as the warehouse has closed it. The body lists parcels with weight in grams, length,
width and height in millimetres, the promised day and any special handling: cold, frozen, upright, hazardous.
Hazardous goods carry the UN number. Confirm with 202 within ten seconds, or the message is repeated.

A shipment can be changed until the driver has scanned the first parcel. After that a change is refused by you with
CONFLICT, and our service desk telephones.
===
# Positions

Send a position for each vehicle at least every five minutes while it carries our goods, and at each stop. Positions
older than thirty minutes are stored but not shown to customers. Coordinates have five decimal places; more are cut
off, for the sake of the drivers.

The personal data of drivers are not wanted. Use a number that changes every day.

# Proof of delivery

A proof holds the time, the place, one photograph of at most 2 MB and either a signature or the reason why there is
none. Photographs must not show people. Proofs are accepted for 72 hours after delivery; without one, the
consignment counts as lost and is charged to the carrier.

# Codes for failed deliveries

N1: nobody at home. N2: address not found. N3: refused. N4: damaged on the way. N5: temperature out of range. N6:
the recipient could not show proof of age. A second attempt follows N1 on the next working day without being asked
for. N4 and N5 go back to the depot and are never offered to the recipient.
===
# Rehearsal

The rehearsal takes one working day and runs through 40 prepared cases, among them a repeated message, a message in
the wrong order, a token that expires half way, and a depot that is offline for two hours. Thirty-eight cases must
pass; the two that may fail are marked in the list.

# Going live

Traffic grows in three steps: one depot for a week, ten depots for a week, then all. Brackwater Logistics went live
in four weeks in 2021, which is still the record. The slowest carrier needed nine months, because its handheld
devices could not take photographs.

# Operations

Faults are reported to the carrier desk, day and night, with the request id. Planned maintenance is announced three
working days ahead and takes place on Sundays between 02:00 and 05:00 UTC. Twice a year, in February and in
September, we meet and go through the figures: late messages, missing proofs, wrong codes. Carriers with fewer than
two missing proofs in a thousand receive their payment ten days earlier.
"""

FRAMEWORK: Final = """
# Framework agreement with Brackwater Logistics

Contract C-2021-008, consolidated text of 1 April 2025. Publisher: Legal Department.

This framework agreement governs all transport, storage and handling by Brackwater Logistics B.V. of Rotterdam. It
began on 1 April 2021 and ends on 31 March 2027. Either side may end it earlier for cause. Without notice by 30
September 2026 it continues for two further years.

# 1. Call-offs

Each lane is ordered by a call-off that names origin, destination, weekly volume, temperature class and price for a
pallet. A call-off lasts at least three months. Volumes may vary by 15 percent in each direction without a change of
price. Below that the carrier may charge 60 percent of the missing pallets; above that it may refuse, not delay.

# 2. Prices and fuel

Prices are fixed for a calendar year. The share of fuel is taken to be 24 percent of a price and follows the monthly
index of diesel prices published for the Netherlands. The total surcharge cannot exceed 12 percent. When the index
falls below the base of January 2021, we receive the difference.

# 3. Cold chain

For goods of class C (2 to 8 degrees) and class F (minus 25 degrees) the temperature is recorded every five minutes.
A breach is a reading outside the range for more than 20 minutes. Goods after a breach are held, not delivered,
until our quality department has decided. If they must be destroyed, the carrier pays their purchase price, up to
90,000 euro for each vehicle.
===
# 4. Liability

Road transport follows the CMR convention, with 8.33 units of account for each kilogram of missing weight. In
storage the ceiling is 250,000 euro for each event and two million euro for each year. Neither ceiling applies to
theft by the carrier's own people.

# 5. Delivery on time

The target is 97 percent of consignments on the promised day, measured each month over all lanes. For each full
percent below the target, the fees of the month fall by 1.5 percent, up to 9 percent. Days on which a port or a
border is closed by an authority are left out of the count.

# 6. Subcontractors

At most 40 percent of road kilometres may be driven by subcontractors, and none of class F. Subcontractors may not
pass an order on again. The carrier keeps a list; it shows wages paid, insurance and the age of the vehicles.
Vehicles older than eight years are not used for us.

# 7. Emissions

Emissions are reported each quarter by lane under EN ISO 14083. The carrier lowers them by 5 percent a year for each
tonne-kilometre, from 71 grams in 2021. In 2025 the figure was 57 grams. A year in which the goal is missed costs
0.5 percent of the fees, which is spent on charging points at depots.
===
# 8. Depots

Annex 2 lists 64 depots with address, temperature classes and doors. A depot may be closed with six months' notice
if another one within 60 kilometres takes its place. We may inspect any depot unannounced during its hours. After
the events of 2024 at Venlo 2, doors of cold depots are checked each week and the check is recorded.

# 9. Data

Positions, temperatures and proofs of delivery belong to us. The carrier may use them to run its business, but not
sell or publish them. Eleven years of temperature readings are kept for the authorities.

# 10. End of the agreement

On leaving, the carrier works for up to six further months at the last prices, hands over stock lists daily and lets
the successor's people into the depots. Racks that we paid for stay with us. A joint count of stock takes place on
the last weekend; differences above 0.2 percent are settled at purchase price.

Signed in Rotterdam and Aarhus by Annelies Brakman for Brackwater Logistics and Leonie Marsh for the customer.
"""

DOCUMENTS: Final = {
    "security/supplier-questionnaire.pdf": ("Security questionnaire for suppliers", QUESTIONNAIRE),
    "apis/carrier-handbook.pdf": ("Integration handbook for carriers", HANDBOOK),
    "contracts/brackwater-framework.pdf": ("Framework agreement with Brackwater Logistics", FRAMEWORK),
}


def pdf(title: str, text: str) -> bytes:
    """A PDF of pages divided by `===` lines, in which a line that begins with `# ` is a heading."""
    pages = [content(page) for page in text.split("\n===\n")]
    first = 5
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        font("Helvetica"),
        font("Helvetica-Bold"),
    ]
    for number, page in enumerate(pages):
        objects += [page_object(first + 2 * number + 1), b"<< /Length %d >>\nstream\n%s\nendstream" % (len(page), page)]
    objects.append(b"<< /Title (%s) /Producer (samples/make_pdfs.py) >>" % literal(title))
    return assembled(objects)


def font(name: str) -> bytes:
    """One of the fonts that every reader has."""
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()


def page_object(content_number: int) -> bytes:
    """A page of A4 that shows a content stream."""
    fonts = "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >>"
    box = f"/MediaBox [0 0 {WIDTH} {HEIGHT}]"
    return f"<< /Type /Page /Parent 2 0 R {box} {fonts} /Contents {content_number} 0 R >>".encode()


def content(page: str) -> bytes:
    """The drawing commands of a page."""
    commands = [b"BT", b"%d TL" % LINE, b"%d %d Td" % (MARGIN, HEIGHT - MARGIN)]
    for paragraph in page.strip().split("\n\n"):
        heading = paragraph.startswith("# ")
        commands.append(b"/F2 13 Tf" if heading else b"/F1 10.5 Tf")
        lines = textwrap.wrap(paragraph.removeprefix("# "), COLUMNS)
        commands += [*(b"(%s) Tj T*" % literal(line) for line in lines), b"T*"]
    return b"\n".join([*commands, b"ET"])


def literal(text: str) -> bytes:
    """A text as the inside of a PDF string."""
    return text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def assembled(objects: list[bytes]) -> bytes:
    """The objects as a file, the last one being the document's information."""
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(objects) + 1, len(objects))
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def main() -> None:
    """Write every document."""
    for name, (title, text) in DOCUMENTS.items():
        (Path(__file__).parent / name).write_bytes(pdf(title, text))


if __name__ == "__main__":
    main()
