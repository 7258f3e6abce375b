"""No secret leaves in a message or a log."""

import pytest

from workflow_runtime.execution import redact


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Server=db;User Id=sa;Password=hunter2!;Encrypt=true", "hunter2!"),
        ("Password = hunter2", "hunter2"),
        ("pwd: hunter2", "hunter2"),
        (
            "AccountName=st;AccountKey=aGVs+bG8/d29ybGQ==;EndpointSuffix=core.windows.net",
            "aGVs+bG8/d29ybGQ==",
        ),
        ("Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=abcDEF123=", "abcDEF123="),
        ("GET https://st.blob.core.windows.net/c/b?sv=2024&sig=a%2Fb%3D&se=2026", "a%2Fb%3D"),
        ("Authorization: Bearer abc.def-ghi_123", "abc.def-ghi_123"),
        ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("401 for key sk-proj-abcdefgh12345678", "sk-proj-abcdefgh12345678"),
        ('{"password": "correct horse", "user": "a"}', "correct horse"),
        ("{'client_secret': 'abc;def'}", "abc;def"),
        ('{\\"api_key\\": \\"abc123\\"}', "abc123"),
        ("API_KEY=abc123", "abc123"),
        ("Server=db;Password=a,b&c(d){e};Encrypt=true", "b&c"),
        ("Server=db;Password=a,b&c(d){e};Encrypt=true", "e}"),
        ("Driver=x;Pwd={a;b}}c};Server=db", "b}}c"),
        (r'{"password": "ab\"cd", "user": "a"}', "cd"),
        (r"{\"password\": \"ab\\\"cd\", \"user\"", "cd"),
        ("Authorization: 9944b09199c62bcf", "9944b09199c62bcf"),
        ('{"authorization": "9944b09199c62bcf"}', "9944b09199c62bcf"),
        ("OPENAI_API_KEY: abc123", "abc123"),
        ("connect postgres://app:s3cr3t@db:5432/x failed", "s3cr3t"),
        ("https://app.azurewebsites.net/api/x?code=AbC123==", "AbC123=="),
        ("token ghp_abcdefghijklmnop1234 refused", "ghp_abcdefghijklmnop1234"),
        ("jwt eyJhbGciOi.eyJzdWIiOi.SflKxwRJ", "eyJhbGciOi.eyJzdWIiOi.SflKxwRJ"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\ndef\n-----END RSA PRIVATE KEY-----",
            "MIIabc",
        ),
        ("x-functions-key: abc123", "abc123"),
        ("access_token=abc123&expires=3", "abc123"),
        ('Authorization: Digest username="ada", response="6629fae4"', "6629fae4"),
        ("{'authorization': 'Token 9944b09199c62bcf'}", "9944b09199c62bcf"),
        ("Cookie: session=abc123; theme=dark", "abc123"),
        ("set-cookie: ARRAffinity=4f1c0d; Path=/", "4f1c0d"),
        ("mongodb://app:p@ss@db/x", "ss@db"),
        ("https://maps.example.com/x?key=Ab12Cd34", "Ab12Cd34"),
        ("-----BEGIN EC PRIVATE KEY-----\nDEK-Info: AES\n\nMHcabc\n-----END EC PRIVATE", "MHcabc"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdGabc", "lQdGabc"),
        *(
            (f"401 with {key}, refused", key)
            for key in (
                "sk_live_" + "a1B2" * 6,
                "glpat-" + "a1B2" * 5,
                "https://hooks.slack.com/services/T0/B0/abcdef123".partition("//")[2],
                "ASIA" + "A1B2" * 4,
                "ya29." + "a1-_" * 8,
                "hf_" + "a1B2" * 8,
                "npm_" + "a1B2" * 9,
                "pypi-" + "a1-_" * 10,
                "SG." + "a1-_" * 5 + "." + "a1-_" * 10,
                "a1B2" * 21 + "c3==",
                "a1B2" * 8 + "c+ASbAa1B2c=",
                "a1B2" * 13 + "JQQJ99" + "A1B2" * 6,
                "a1-_" * 11 + "AzFu" + "a1B2c==",
                "abc8Q~" + "a1B2" * 8 + "c3",
            )
        ),
    ],
)
def test_a_secret_is_masked(text, secret):
    shown = redact(text)
    assert secret not in shown
    assert "***" in shown


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong",
        "max_tokens: 500 is too small",
        "Unknown service 'pay'; known are checkout, cart",
        "no column named task-id in 東京",
        "HTTP 503 from https://example.com/a:b?page=2",
        "the cookie: not set; authorization: required",
        "image sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "digest a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1A=",
        "run 0194f3c2-7b1d-7e55-9d6c-3f1d2a4b5c6d of https://example.com:8080/a@b",
    ],
)
def test_what_is_no_secret_stays(text):
    assert redact(text) == text


def test_words_around_a_secret_stay():
    assert redact("login to db failed: Password=hunter2; retry in 5 s") == (
        "login to db failed: Password=***; retry in 5 s"
    )


def test_a_long_text_is_cut():
    assert redact("a" * 5_000) == "a" * 1_999 + "…"


def test_a_secret_at_the_cut_is_masked_before_it():
    assert "hunter2" not in redact("a" * 1_980 + " password=hunter2hunter2")


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "piece",
    [
        "password",
        "a-",
        "eyJ",
        "-----BEGIN ",
        'password="',
        "x://",
        "x://a:b",
        "cookie:",
        "a1B2",
        "-----BEGIN KEY-----",
        "authorization: digest ",
        "authorization: a",
        "pwd={",
        'password="\\',
        "cookie: a=",
        "~",
        "SG.a1-_a1-_a1-_a1-_.",
    ],
)
def test_no_text_makes_it_slow(piece):
    redact(piece * 200_000)
