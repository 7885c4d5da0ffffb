"""Token counters: how the estimate compares with the exact count per kind of text, and how fast both are."""

# ruff: noqa: RUF001 - the samples are in many scripts

import base64
import json
import random
import uuid
from pathlib import Path

from aerogram.tokens import Estimate, Vocabulary
from timing import best

ROOT = Path(__file__).parent.parent
LANGUAGES = {
    "german": "Die Suchergebnisse werden in der richtigen Größe zurückgegeben, und die Ausgabe ist immer gültig. ",
    "french": "Les résultats de la recherche sont renvoyés à la bonne taille, et la sortie est toujours valide. ",
    "russian": "Результаты поиска возвращаются в правильном размере, а вывод инструмента всегда действителен. ",
    "greek": "Τα αποτελέσματα αναζήτησης επιστρέφονται στο σωστό μέγεθος και η έξοδος είναι πάντα έγκυρη. ",
    "arabic": "يتم إرجاع نتائج البحث بالحجم الصحيح ويكون إخراج الأداة صالحًا دائمًا. ",
    "hindi": "खोज परिणाम सही आकार में लौटाए जाते हैं और उपकरण का आउटपुट हमेशा मान्य होता है। ",
    "thai": "ผลการค้นหาจะถูกส่งกลับในขนาดที่ถูกต้องและผลลัพธ์ของเครื่องมือนั้นถูกต้องเสมอ ",
    "chinese": "检索结果以正确的大小返回，工具的输出总是有效的。",
    "japanese": "検索結果は正しい大きさで返されます。東京都の天気は晴れ、最高気温は二十度です。",
    "korean": "검색 결과는 올바른 크기로 반환되며 도구의 출력은 항상 유효합니다. ",
    "emoji": "🎉🚀👩‍👩‍👧‍👦🏳️‍🌈😀👍🏽",
    "combining marks": "e\u0301a\u0308o\u0302Z\u0351\u036b",
}


def samples():
    chance = random.Random(7)
    rows = [
        {
            "id": number,
            "name": f"item {number}",
            "score": round(chance.random(), 4),
            "created": f"2026-11-15T05:{number % 60:02}:00Z",
            "uuid": str(uuid.UUID(int=chance.getrandbits(128))),
        }
        for number in range(400)
    ]
    found = {
        "english prose": "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))),
        "python code": "\n".join(path.read_text() for path in sorted((ROOT / "packages").rglob("*.py"))[:20]),
        "compact JSON": json.dumps(rows, separators=(",", ":")),
        "indented JSON": json.dumps(rows, indent=2),
        "numbers": ",".join(str(chance.random()) for _ in range(500)),
        "uuids": " ".join(row["uuid"] for row in rows),
        "hex": chance.randbytes(5000).hex(),
        "base64": base64.b64encode(chance.randbytes(7000)).decode(),
        "random letters": "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6000)),
    }
    return found | {name: text * 40 for name, text in LANGUAGES.items()}


def main():
    exact, estimate = Vocabulary(), Estimate()
    print(f"{'text':<18}{'o200k':>8}{'estimate':>10}{'off by':>8}{'chars/4':>10}")
    for name, text in samples().items():
        true, guess = exact.count(text), estimate.count(text)
        print(f"{name:<18}{true:>8}{guess:>10}{guess / true - 1:>+8.0%}{len(text) / 4 / true - 1:>+10.0%}")
    text = samples()["compact JSON"]
    counted, guessed = best(lambda: exact.count(text), lambda: estimate.count(text))
    print(f"speed: o200k {len(text) / counted / 1e6:.0f} MB/s, estimate {len(text) / guessed / 1e6:.0f} MB/s")


if __name__ == "__main__":
    main()
