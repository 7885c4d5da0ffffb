"""Kinds: secrets that are known by their looks, because whoever issues them lets them all begin alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["SECRET_KINDS", "USUAL_BODIES", "SecretKind"]

WORD: Final = "A-Za-z0-9_-"
ALPHANUMERIC: Final = "A-Za-z0-9"
HEXADECIMAL: Final = "0-9a-f"
_FIRST_DIGIT: Final = 40
"""Within so many characters a body that must have a digit has one."""
_LONGEST_SEGMENT: Final = 512
_MARKS: Final = ("_", "-", ".")
_USUAL: Final = 16
USUAL_BODIES: Final = tuple(
    rf"{re.escape(mark)}(?<=[A-Za-z0-9]{re.escape(mark)})(?=[{WORD}]{{{_USUAL}}})" for mark in _MARKS
)
"""The end of a beginning, and what comes after it."""
_USUAL_ALPHABETS: Final = frozenset((WORD, ALPHANUMERIC, HEXADECIMAL, "A-Za-z0-9_", "A-Z0-9"))


@dataclass(frozen=True, slots=True)
class SecretKind:
    """Secrets that begin alike and go on in one alphabet for at least so many characters.

    `alphabet` is the inside of a character class of a regular expression. With `segments` the body may have further
    parts, each after a dot, and at least so many. `glued`: it is found inside of a word, too. `mixed`: there is a digit
    among the first characters, so that words with hyphens are none.
    """

    name: str
    begin: str
    shortest: int = 16
    alphabet: str = WORD
    segments: int = 1
    glued: bool = False
    mixed: bool = False

    def pattern(self) -> str:
        """The expression that finds them; it gives back nothing that it took."""
        more = rf"(?:\.[{self.alphabet}]{{4,}}+){{{self.segments - 1}}}" if self.segments > 1 else ""
        digit = rf"(?=[A-Za-z_-]{{0,{_FIRST_DIGIT}}}[0-9])" if self.mixed else ""
        begin = re.escape(self.begin)  # it comes first, because what begins with a text is found fast
        apart = "" if self.glued else f"(?<![A-Za-z0-9]{begin})"
        # where something must follow, the first part has an end, or each beginning would be read to the end of the text
        most = _LONGEST_SEGMENT if more else ""
        return rf"{begin}{apart}{digit}[{self.alphabet}]{{{self.shortest},{most}}}+{more}"

    @property
    def is_usual(self) -> bool:
        """Whether it is found by what most have in common: a mark, and a long word after it."""
        is_marked = self.begin[-1:] in _MARKS and self.begin[-2:-1].isalnum() and self.begin.isascii()
        return is_marked and self.shortest >= _USUAL and self.alphabet in _USUAL_ALPHABETS


def _of_issuer(name: str, *begins: str, shortest: int = 16, alphabet: str = ALPHANUMERIC) -> tuple[SecretKind, ...]:
    """Kinds of one issuer whose beginnings stand for nothing else, wherever they are."""
    return tuple(SecretKind(name, begin, shortest, alphabet, glued=True) for begin in begins)


SECRET_KINDS: Final = (
    # cloud and storage
    *_of_issuer("aws_access_key", "AKIA", "ASIA", alphabet="A-Z0-9"),
    *_of_issuer("alibaba_key", "LTAI5", shortest=15),
    *_of_issuer("digitalocean_token", "dop_v1_", "doo_v1_", "dor_v1_", shortest=32, alphabet=HEXADECIMAL),
    *_of_issuer("google_key", "AIza", shortest=30, alphabet=WORD),
    *_of_issuer("google_token", "ya29.", shortest=20, alphabet=WORD),
    *_of_issuer("google_secret", "GOCSPX-", shortest=20, alphabet=WORD),
    *_of_issuer("databricks_token", "dapi", shortest=32, alphabet=HEXADECIMAL),
    *_of_issuer("heroku_key", "HRKU-", shortest=30, alphabet=WORD),
    *_of_issuer("vault_token", "hvs.", "hvb.", "hvr.", shortest=24, alphabet=WORD),
    *_of_issuer("supabase_token", "sbp_", shortest=32, alphabet=HEXADECIMAL),
    *_of_issuer("planetscale_token", "pscale_tkn_", "pscale_pw_", shortest=24, alphabet=WORD),
    *_of_issuer("netlify_token", "nfp_", shortest=36),
    *_of_issuer("vercel_token", "vercel_blob_rw_", shortest=24, alphabet="A-Za-z0-9_"),
    *_of_issuer("fly_token", "fm2_", shortest=40, alphabet="A-Za-z0-9+/_-"),
    *_of_issuer("tailscale_key", "tskey-", shortest=20, alphabet=WORD),
    # source hosting
    *_of_issuer("github_token", *(f"gh{letter}_" for letter in "pousr"), shortest=30),
    *_of_issuer("github_token", "github_pat_", shortest=30, alphabet="A-Za-z0-9_"),
    *_of_issuer(
        "gitlab_token",
        *(f"gl{kind}-" for kind in ("pat", "rt", "dt", "ptt", "ft", "soat", "cbt", "imt", "agent")),
        alphabet=WORD,
    ),
    *_of_issuer("atlassian_token", "ATATT3", "ATCTT3", "ATBB", shortest=24, alphabet=WORD),
    # registries
    *_of_issuer("npm_token", "npm_", shortest=30),
    SecretKind("pypi_token", "pypi-", 32, glued=True, mixed=True),
    *_of_issuer("docker_token", "dckr_pat_", "dckr_oat_", shortest=20, alphabet=WORD),
    *_of_issuer("rubygems_key", "rubygems_", shortest=32, alphabet=HEXADECIMAL),
    SecretKind("crates_token", "cio", 32, ALPHANUMERIC, mixed=True),
    SecretKind("artifactory_key", "AKCp", 60, ALPHANUMERIC),
    # chat and mail
    *_of_issuer("slack_token", *(f"xox{letter}-" for letter in "abceoprs"), "xapp-", alphabet=WORD),
    *_of_issuer("slack_webhook", "hooks.slack.com/services/", shortest=20, alphabet="A-Za-z0-9/"),
    *_of_issuer("discord_webhook", "/api/webhooks/", shortest=40, alphabet="A-Za-z0-9/_-"),
    SecretKind("telegram_token", ":AA", 32, glued=True, mixed=True),
    SecretKind("sendgrid_key", "SG.", 16, WORD, segments=2),
    SecretKind("mailgun_key", "key-", 32, HEXADECIMAL),
    *_of_issuer("brevo_key", "xkeysib-", "xsmtpsib-", shortest=32),
    SecretKind("resend_key", "re_", 30, "A-Za-z0-9_", mixed=True),
    # models
    *_of_issuer("anthropic_key", "sk-ant-", alphabet=WORD),
    *_of_issuer("openai_key", "sk-proj-", "sk-svcacct-", alphabet=WORD),
    SecretKind("secret_key", "sk-", 32, mixed=True),
    *_of_issuer("huggingface_token", "hf_", shortest=30),
    *_of_issuer("groq_key", "gsk_", shortest=32),
    *_of_issuer("replicate_token", "r8_", shortest=32),
    *_of_issuer("perplexity_key", "pplx-", shortest=32),
    *_of_issuer("xai_key", "xai-", shortest=60),
    *_of_issuer("pinecone_key", "pcsk_", shortest=40, alphabet="A-Za-z0-9_"),
    *_of_issuer("langsmith_key", "lsv2_pt_", "lsv2_sk_", shortest=32, alphabet="A-Za-z0-9_"),
    # payment and shops
    *_of_issuer("stripe_key", "sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"),
    *_of_issuer("square_token", "sq0atp-", "sq0csp-", shortest=22, alphabet=WORD),
    *_of_issuer("shopify_token", "shpat_", "shpca_", "shppa_", "shpss_", shortest=32),
    # monitoring and tools
    *_of_issuer("sentry_token", "sntrys_", "sntryu_", shortest=30, alphabet="A-Za-z0-9_"),
    *_of_issuer("grafana_token", "glsa_", "glc_", shortest=32, alphabet="A-Za-z0-9_"),
    *_of_issuer("newrelic_key", "NRAK-", shortest=27, alphabet="A-Z0-9"),
    *_of_issuer("linear_key", "lin_api_", shortest=32),
    *_of_issuer("notion_token", "ntn_", shortest=40),
    *_of_issuer("figma_token", "figd_", shortest=32, alphabet=WORD),
    *_of_issuer("postman_key", "PMAK-", shortest=40, alphabet=WORD),
    *_of_issuer("doppler_token", "dp.pt.", "dp.st.", "dp.sa.", shortest=32, alphabet=WORD),
    *_of_issuer("terraform_token", "atlasv1.", shortest=40, alphabet=WORD),
    *_of_issuer("pulumi_token", "pul-", shortest=40, alphabet=HEXADECIMAL),
    *_of_issuer("age_key", "AGE-SECRET-KEY-1", shortest=50),
    *_of_issuer("contentful_token", "CFPAT-", shortest=40, alphabet=WORD),
    # any issuer
    *_of_issuer("password_hash", "$2a$", "$2b$", "$2y$", "$6$", "$apr1$", shortest=24, alphabet="A-Za-z0-9./$"),
    SecretKind("json_web_token", "eyJ", 10, segments=3, glued=True),
    SecretKind("aerogram_key", "aero_", 52, mixed=True),
)
