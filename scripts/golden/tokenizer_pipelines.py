"""The pipelines and texts that the tokenizer is compared on, made with the PyPI `tokenizers` package.

Used by scripts/golden/tokenizer.py (small golden files) and tests/tokenizer/live_parity.py (large random corpora).
"""
import json
import math
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
MISTRAL = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
           r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}"
           r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

SENTENCES = [
    "The quick brown fox jumps over the lazy dog, and then it's gone; they'll say we've seen it, I'm sure he'd know.",
    "In 2024, 1,234,567 people bought 89.5% of the tickets for $12.50 each (plus tax).",
    "Träume über Öl: Äpfel, Straßen und Übungen für größere Köche.",
    "Съешь ещё этих мягких французских булок, да выпей чаю.",
    "东京是日本的首都,人口约一千四百万。我们喜欢学习语言模型。",
    "日本語のテキストをトークンに分ける。カタカナとひらがな。",
    "한국어 문장을 토큰으로 나누는 것은 어렵지 않다.",
    "हिन्दी में लिखा हुआ एक छोटा वाक्य।",
    "هذا نص عربي قصير للاختبار.",
    "def encode(self, text):\n    return [self.table[b] for b in text.encode('utf-8')]\n\n\tif x != y:\r\n\t\tpass\n",
    "naïve café résumé co-operate façade Ångström – “quotes” … ‘single’ — dash",
]


def corpus(lines=400, seed=7):
    rng = random.Random(seed)
    words = [w for s in SENTENCES for w in s.split(" ")]
    return SENTENCES * 3 + [" ".join(rng.choice(words) for _ in range(rng.randint(3, 12))) for _ in range(lines)]


def train(tokenizer, vocab_size=420, special=("<|endoftext|>",), alphabet=None, **options):
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=list(special), show_progress=False,
                                  initial_alphabet=alphabet or [], **options)
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def change(tokenizer, edit):
    """The tokenizer after `edit` has changed its JSON."""
    data = json.loads(tokenizer.to_str())
    edit(data)
    return Tokenizer.from_str(json.dumps(data))


def byte_level(split=None, normalizer=None, prefix=False, ignore_merges=False, **options):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        t.normalizer = normalizer
    if split is None:
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=True)
    else:
        t.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(split), "isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    return train(t, alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), **options)


def gpt2():
    t = byte_level()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def gpt2_prefix():
    t = byte_level(prefix=True)
    t.post_processor = processors.ByteLevel(trim_offsets=True)
    t.add_tokens([AddedToken("<word>", single_word=True), AddedToken("<left>", lstrip=True),
                  AddedToken("<right>", rstrip=True), AddedToken("<both>", lstrip=True, rstrip=True, normalized=False),
                  AddedToken("fox jumps"), AddedToken("émigré", normalized=True)])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    return t


def roberta():
    t = byte_level(special=("<s>", "<pad>", "</s>", "<unk>", "<mask>"))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return t


def llama3():
    t = byte_level(LLAMA3, ignore_merges=True, special=("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"))
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing("<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                      [("<|begin_of_text|>", 0)])])
    return t


def qwen2():
    t = byte_level(QWEN2, normalizer=normalizers.NFC(), special=("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.add_tokens([AddedToken("A\u030angstrom", normalized=True)])
    return t


def mistral():
    t = byte_level(MISTRAL, ignore_merges=True, special=("<unk>", "<s>", "</s>", "[INST]", "[/INST]"))
    t.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A $B:1", [("<s>", 1)])
    return t


BYTES = [f"<0x{b:02X}>" for b in range(256)]


def sentence_piece(old=False, split=False, scheme="first", missing=()):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True)
    # Bytes come after the trained tokens here; only their spelling matters.
    t = train(t, vocab_size=700, special=["<unk>", "<s>", "</s>"] + [b for b in BYTES if b not in missing],
              limit_alphabet=90)

    def edit(data):
        data["added_tokens"] = [a for a in data["added_tokens"] if not a["content"].startswith("<0x")]
        if old:
            data["pre_tokenizer"] = None
            data["normalizer"] = {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
            data["model"]["merges"] = [" ".join(m) for m in data["model"]["merges"]]
        else:
            data["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}
        data["decoder"] = {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    t = change(t, edit)
    t.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)])
    return t


def llama2():
    return sentence_piece()


def llama2_old():
    return sentence_piece(old=True)


def metaspace_always():
    t = sentence_piece(split=True, scheme="always", missing=("<0x80>", "<0x9F>"))
    t.decoder = decoders.Metaspace("▁", prepend_scheme="always", split=True)
    t.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 1))
    return t


def gemma():
    """Marks inside tokens: a text cannot be cut at spaces."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t = train(t, vocab_size=700, special=["<pad>", "<eos>", "<bos>", "<unk>"] + BYTES, limit_alphabet=90,
              max_token_length=12)
    t = change(t, lambda d: d.update(added_tokens=d["added_tokens"][:4]))
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.post_processor = processors.TemplateProcessing("<bos> $A <eos>", "<bos> $A $B:1", [("<bos>", 2), ("<eos>", 1)])
    return t


def classic():
    """Everything that rewrites text, the word splitters, decorated characters and unknowns."""
    t = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"))
    t.normalizer = normalizers.Sequence([
        normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip(),
        normalizers.Replace(Regex(r"\s+"), " "), normalizers.Replace("ss", "ß")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True)])
    t = train(t, special=["[UNK]", "[CLS]", "[SEP]", "[PAD]"], limit_alphabet=60, continuing_subword_prefix="##")
    t.decoder = decoders.WordPiece("##", cleanup=True)
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    t.add_tokens([AddedToken("Straßen", normalized=True), AddedToken("ǅ", normalized=True)])
    return t


def suffixed():
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("isolated")])
    t = train(t, special=["<unk>", "<s>", "</s>"], limit_alphabet=60, end_of_word_suffix="</w>")
    t.decoder = decoders.BPEDecoder("</w>")
    return t


def limited():
    """Truncation and padding, digits in runs, merged punctuation."""
    t = byte_level()
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.Digits(False),
        pre_tokenizers.Split(" ", "merged_with_next"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.post_processor = processors.TemplateProcessing("$A:1 <|endoftext|>:2", "$A $B:1", [("<|endoftext|>", 0)])
    t.enable_truncation(24, direction="left")
    t.enable_padding(length=16, pad_to_multiple_of=8, pad_id=0, pad_token="<|endoftext|>", direction="left")
    return t


def with_split(pattern, behavior, invert):
    def make():
        t = Tokenizer(models.BPE(unk_token="?"))
        t.pre_tokenizer = pre_tokenizers.Split(Regex(pattern) if pattern != "e" else pattern, behavior, invert)
        t = train(t, vocab_size=330, special=["?"], limit_alphabet=120, max_token_length=6)
        t.decoder = decoders.Fuse()
        return t
    return make


def counted_parts(size, longest=6, marked=False):
    """The parts of words that are most frequent in the corpus, with their counts: as many as `size`, always in the same order.

    The package's trainers for the other models give tokens in an order that changes from run to run.
    """
    starts, rests = {}, {}
    for line in corpus(200):
        for word in line.split():
            word = "▁" + word if marked else word
            for begin in range(len(word)):
                counts = rests if begin else starts
                for end in range(begin + 1, min(begin + longest, len(word)) + 1):
                    counts[word[begin:end]] = counts.get(word[begin:end], 0) + 1
    def first(counts):
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:size]
    return first(starts), first(rests)


def word_piece_vocabulary(special):
    starts, rests = counted_parts(260)
    return {token: i for i, token in enumerate(list(special) + [t for t, _ in starts] + ["##" + t for t, _ in rests])}


BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def word_piece():
    t = Tokenizer(models.WordPiece(word_piece_vocabulary(BERT_TOKENS), unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    t.decoder = decoders.WordPiece("##", cleanup=True)
    t.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)])
    t.add_special_tokens(list(BERT_TOKENS))
    return t


def word_piece_short():
    """Another prefix, short words, an unknown in the middle of the vocabulary, and tokens that are all prefix."""
    vocabulary = {t.replace("##", "@"): i for t, i in word_piece_vocabulary(["?", "##", "e", "##e", "#", "###"]).items()}
    t = Tokenizer(models.WordPiece(vocabulary, unk_token="the", continuing_subword_prefix="@", max_input_chars_per_word=7))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.decoder = decoders.WordPiece("@", cleanup=False)
    return t


def word_level():
    starts, _ = counted_parts(200, longest=30)
    vocabulary = {token: i for i, token in enumerate(["<unk>", "<s>", "</s>"] + [t for t, _ in starts])}
    t = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B </s>", [("<s>", 1), ("</s>", 2)])
    t.add_special_tokens(["<s>", "</s>"])
    return t


def scored_parts(special, size=300):
    """Scores of few values, so that many ways to spell a text tie."""
    starts, rests = counted_parts(size, marked=True)
    counts = {**dict(rests), **dict(starts)}
    total = sum(counts.values())
    return [(s, 0.0) for s in special] + [(t, math.log(n / total)) for t, n in sorted(counts.items(), key=lambda i: (-i[1], i[0]))]


def unigram(normalizer=None, byte_fallback=False, **metaspace):
    special = ["<pad>", "</s>", "<unk>"] + (BYTES if byte_fallback else [])
    t = Tokenizer(models.Unigram(scored_parts(special), unk_id=2, byte_fallback=byte_fallback))
    if normalizer is not None:
        t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", **metaspace)
    t.decoder = decoders.Metaspace("▁", **metaspace)
    t.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    t.add_special_tokens(["<pad>", "</s>", "<unk>"])
    return t


def unigram_words():
    t = unigram(normalizers.NFKC(), prepend_scheme="always", split=True)
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁")])
    return t


def unigram_marks():
    return unigram(prepend_scheme="first", split=True)


def unigram_bytes():
    """Whole texts as one piece, unknowns as bytes."""
    t = unigram(byte_fallback=True, prepend_scheme="never", split=False)
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return t


def unigram_odd():
    """A token twice, unknowns that together are a token, positive scores, an unknown token that may stand in the text."""
    parts = [("<unk>", 0.0), ("☃", 3.0), ("ab", 1.5), ("a", 2.0), ("b", 2.0), ("ab", 4.0), ("xy", 0.5), ("▁", 1.0), ("", 7.0), ("é", 9.0)]
    t = Tokenizer(models.Unigram(parts + [(token, 1 + i % 3) for i, (token, _) in enumerate(scored_parts([], 40))], unk_id=0))
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True)
    t.decoder = decoders.Metaspace("▁")
    return t


PIPELINES = {f.__name__: f for f in (gpt2, gpt2_prefix, roberta, llama3, qwen2, mistral, llama2, llama2_old,
                                     metaspace_always, gemma, classic, suffixed, limited,
                                     word_piece, word_piece_short, word_level, unigram_words, unigram_marks, unigram_bytes,
                                     unigram_odd)}
SPLITS = {
    "split_removed": with_split(r"\s+", "removed", False),
    "split_isolated": with_split("e", "isolated", False),
    "split_previous": with_split(r"[\p{P}\p{S}]|\p{Han}", "merged_with_previous", False),
    "split_next": with_split(r"\d{2}|\s", "merged_with_next", False),
    "split_contiguous": with_split(r"[^\w\s]", "contiguous", False),
    "split_inverted": with_split(r"\w+|\p{Lu}", "isolated", True),
    "split_inverted_removed": with_split(r"[b-df-hj-np-tv-z]+|\p{Lu}", "removed", True),
}

NASTY = [
    "", " ", "  ", "\n", "\r\n", " \n ", "\t\t x", "a", " a", "a ", "hello world", " hello  world  ",
    "it's IT'S they'LL I'm we've he'd 'ſ 'tis 're''ve ' s", "1234567 12 1.5 ½ ² Ⅷ ٣٤٥ १२३",
    "naïve cafe\u0301 A\u030a \u1e9b\u0323 \u0344 e\u0323\u0301 \u0301x \uac00\u11a8 \u1100\u1161\u11a8 ﬁ ﷺ ǅ İI ß ẞ",
    "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 e\u200d x\u200by \ufeff", "a\u0085b\u2028c\u2029d\u00a0e\u3000f\u180eg\u1680h",
    "東京都に行きました。中文字符混合English和123", "Привет, мир! Ёж", "हिन्दी क्षत्रिय", "สวัสดีชาวโลก", "שלום עולם",
    "\u0378\U000e0001\U0010ffff\U0002ebf0\U00031350\u1c89\ufffd", "<|endoftext|>", "a<|endoftext|>b <|endoftext|> c",
    "<s>x</s> <unk><mask>  <mask> y", "un<word>x <word> y<word>", "a  <left>  b  <right>  c  <both>  d<both>",
    "the fox jumps\u00e9migr\u00e9 e\u0301migre\u0301 <both>\n\n<both>", "[INST] hi [/INST]<|im_start|>user\nhey<|im_end|>\n",
    "<|begin_of_text|><|eot_id|>x", "Ångstrom A\u030angstrom \u212bngstrom", "Straßen STRASSEN strassen",
    "x" * 200, "ab" * 70, " " * 77, "\n" * 33, "▁▁a ▁ b▁", "▁", "a▁b", "<0x0A><0xE2>", "{\"k\": [1, 2.5e-3, null]}\n",
    "if (a->b != c && !d) { return x[i++] / 2; } // …\n/* end\n*/\n", "C:\\path\\to\\file.txt http://x.y/z?a=b&c=%20",
    "word\u0301\u0302\u0303 \u0f71\u0f72\u0f74 \u0958", "don’t “quote” — dash–dash …", "ĠhelloĊworld Â© ÃĤ",
    "McDonald's iPhone XMLHttpRequest ÉCOLE écoleABC ǅabc ʰA ªb", "/\n//\r\n/// a/b\n/",
]


def random_text(rng):
    """Mixed scripts, runs, controls and code points without a meaning."""
    ranges = [(32, 126)] * 8 + [(0, 31), (127, 160), (0xA1, 0x24F), (0x250, 0x36F), (0x370, 0x52F), (0x590, 0x6FF),
                                (0x900, 0xDFF), (0xE00, 0x10FF), (0x1100, 0x11FF), (0x1C80, 0x1CFF), (0x1E00, 0x206F),
                                (0x2070, 0x2BFF), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFFFD),
                                (0x10000, 0x1FFFF), (0x20000, 0x323AF), (0xE0000, 0xE01EF)]
    pieces = []
    for _ in range(rng.randint(1, 12)):
        kind = rng.random()
        if kind < 0.3:
            pieces.append(rng.choice(rng.choice(SENTENCES).split(" ")) if rng.random() < .5 else rng.choice(NASTY)[:9])
        elif kind < 0.4:
            pieces.append(rng.choice([" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "   \n "]) * rng.randint(1, 3))
        elif kind < 0.5:
            pieces.append(rng.choice(["'s", "'S", "'ll", "'RE", "'ſ", "123", "4567", "½", "<mask>", "<|endoftext|>", "▁", "é"]))
        else:
            low, high = rng.choice(ranges)
            pieces.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6))))
        if rng.random() < 0.5:
            pieces.append(" ")
    return "".join(pieces)


def record(tokenizer, text, whole=True):
    """All that the package says about a text, or what takes it least time; that it fails where it gives up with an exception."""
    try:
        full = tokenizer.encode(text)
        plain = tokenizer.encode(text, add_special_tokens=False) if whole else None
    except BaseException as error:  # a Rust panic is no Exception
        return {"text": text, "fails": str(error)[:80]}
    result = {"text": text, "ids": full.ids, "tokens": full.tokens, "offsets": full.offsets}
    if whole:
        result.update(type_ids=full.type_ids, attention_mask=full.attention_mask, plain=plain.ids)
    for key, skips in (("decoded", True), ("decoded_all", False)) if whole else (("decoded", True),):
        try:
            result[key] = tokenizer.decode(result["ids"], skip_special_tokens=skips)
        except BaseException:  # the package's Strip fails on tokens that are all stripped
            pass
    return result
