"""Documents that the tests ask about."""

GUIDE = """---
title: Token Guide
category: security
publisher: Platform Group
license: CC-BY-4.0
date: 2026-05-01
url: https://docs.example.test/tokens
---

# Token Guide

Every service of the company signs its callers in with a token.

## Lifetime

An access token is valid for fifteen minutes. After that the caller must ask for a new one with its refresh token.

## Revocation

A stolen credential is reported to the desk. The desk invalidates it at once, and every session of its owner ends.
"""
HARVEST = """# Harvest

Apples are picked in October. The press starts on the first dry morning.

## Storage

Crates stay in the cellar at four degrees. Bruised fruit is used within a week.
"""
JAPANESE = "# 認証の手引き\n\nアクセストークンの有効期限は十五分です。期限が切れたら更新してください。\n"
GERMAN = (
    "# Kündigung\n\nDie Verträge werden schriftlich gekündigt. Die Fristen betragen drei Monate zum Quartalsende.\n"
)
GRAPH = {
    "entities": [
        {"id": "v1", "name": "Acme Corporation", "type": "COMPANY", "aliases": ["Acme"], "updated": "2026-04-01"},
        {"id": "v2", "name": "Borealis Data GmbH", "type": "COMPANY"},
        {"id": "v3", "name": "Borealis Ships AS", "type": "COMPANY"},
        {"id": "p1", "name": "Nora Quist", "type": "PERSON", "vendor": "Acme Corporation"},
        *({"id": f"x{n}", "name": f"Product {n}", "type": "PRODUCT", "vendor_id": "v1"} for n in range(120)),
    ],
    "relationships": [
        {"id": "r1", "source": "v1", "target": "v2", "type": "partner"},
        {"id": "r2", "source": "Acme", "target": "Nora Quist", "type": "EMPLOYS"},
        *({"id": f"o{n}", "source": "v1", "target": f"x{n}", "type": "OWNS"} for n in range(120)),
    ],
}
