"""Pipelines of the parts that models since GPT-2 are not made of: BERT's and SentencePiece's ways, CLIP, speech, and every part
that no published tokenizer needs. In the manner of tokenizer_pipelines.py, whose vocabularies they use."""
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from charsmap import compatibility_map, compile_charsmap
from tokenizer_pipelines import BERT_TOKENS, byte_level, counted_parts, scored_parts, train, word_piece_vocabulary


def bert(post_processor=None, **normalizer):
    t = Tokenizer(models.WordPiece(word_piece_vocabulary(BERT_TOKENS + tuple("日本語中文字")), unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(**normalizer)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece("##", cleanup=True)
    t.post_processor = post_processor or processors.TemplateProcessing(
        "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)])
    t.add_special_tokens(list(BERT_TOKENS))
    return t


def bert_uncased():
    """DistilBERT's, too."""
    return bert(lowercase=True)


def bert_cased():
    """Multilingual BERT's, too."""
    return bert(lowercase=False, strip_accents=None)


def bert_odd():
    t = bert(processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)), clean_text=False, handle_chinese_chars=False, strip_accents=False,
             lowercase=True)
    t.add_tokens(["Ångstrom"])
    return t


def bert_accents():
    return bert(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=False)


CHARSMAP = compile_charsmap(compatibility_map())


def sentence_piece_unigram(normalizer, pre_tokenizer, template, pair, special):
    t = Tokenizer(models.Unigram(scored_parts(special), unk_id=2))
    t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizer
    t.decoder = decoders.Metaspace("▁", prepend_scheme="always", split=True)
    t.post_processor = processors.TemplateProcessing(template, pair, [(s, i) for i, s in enumerate(special)])
    t.add_special_tokens(special)
    return t


def metaspace():
    return pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True)


def t5():
    return sentence_piece_unigram(normalizers.Precompiled(CHARSMAP), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace()]),
                                  "$A </s>", "$A </s> $B </s>", ["<pad>", "</s>", "<unk>"])


def albert():
    normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(),
        normalizers.Lowercase(), normalizers.Precompiled(CHARSMAP)])
    return sentence_piece_unigram(normalizer, metaspace(), "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ["<pad>", "[CLS]", "<unk>", "[SEP]"])


def xlnet():
    normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.Precompiled(CHARSMAP),
        normalizers.Replace(Regex(" {2,}"), " ")])
    return sentence_piece_unigram(normalizer, metaspace(), "$A:0 <sep>:0 <cls>:2", "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2",
                                  ["<pad>", "<sep>", "<unk>", "<cls>"])


def xlm_roberta():
    normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Precompiled(CHARSMAP)])
    return sentence_piece_unigram(normalizer, metaspace(), "<s> $A </s>", "<s> $A </s> </s> $B </s>", ["<s>", "</s>", "<unk>"])


def clip():
    pattern = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "removed", invert=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t = train(t, special=["<|startoftext|>", "<|endoftext|>"], alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), end_of_word_suffix="</w>")
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)
    return t


def whisper():
    """A special token of the template that is several."""
    t = byte_level(special=("<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|notimestamps|>"))
    t.post_processor = processors.TemplateProcessing(
        "<|prefix|> $A:0 <|endoftext|>:0", "<|prefix|> $A:0 $B:1 <|endoftext|>:1",
        [{"id": "<|prefix|>", "ids": [1, 2, 3], "tokens": ["<|startoftranscript|>", "<|en|>", "<|notimestamps|>"]},
         {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}])
    return t


def speech():
    """Characters, a word delimiter, and CTC's decoder."""
    tokens = ["<pad>", "<s>", "</s>", "<unk>", "|"] + sorted(set("abcdefghijklmnopqrstuvwxyz' .é"))
    t = Tokenizer(models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "|")])
    t.pre_tokenizer = pre_tokenizers.FixedLength(length=1)
    t.decoder = decoders.CTC(pad_token="<pad>", word_delimiter_token="|", cleanup=True)
    t.add_special_tokens(["<pad>", "<s>", "</s>", "<unk>"])
    return t


def speech_bare():
    t = speech()
    t.pre_tokenizer = pre_tokenizers.FixedLength(length=3)
    t.decoder = decoders.CTC(pad_token="a", word_delimiter_token="|", cleanup=False)
    return t


def words_of(normalizer, pre_tokenizer, decoder=None):
    starts, rests = counted_parts(200, longest=30)
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(["<unk>", "<s>", "</s>"] + [w for w, _ in starts + rests]))}
    t = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    if normalizer is not None:
        t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizer
    if decoder is not None:
        t.decoder = decoder
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True, add_prefix_space=False),
        processors.TemplateProcessing("<s> $A:3 </s>", "<s> $A:3 </s> $B:4 </s>:1", [("<s>", 1), ("</s>", 2)])])
    return t


def scripts():
    return words_of(normalizers.Nmt(), pre_tokenizers.UnicodeScripts(), decoders.Strip("e", 1, 2))


def delimiters():
    return words_of(normalizers.Strip(left=True, right=False), pre_tokenizers.Sequence([
        pre_tokenizers.CharDelimiterSplit("e"), pre_tokenizers.CharDelimiterSplit("é"), pre_tokenizers.Punctuation("removed")]))


def punctuation(behavior):
    def make():
        return words_of(normalizers.Strip(left=False, right=True), pre_tokenizers.Punctuation(behavior), decoders.BPEDecoder("e"))
    return make


def rewritten():
    """Steps over what other steps put in."""
    return words_of(normalizers.Sequence([
        normalizers.NFD(), normalizers.Lowercase(), normalizers.BertNormalizer(strip_accents=False), normalizers.Precompiled(CHARSMAP),
        normalizers.Strip(), normalizers.Replace("e", "Ee "), normalizers.NFKC(), normalizers.Prepend("É ")]), pre_tokenizers.WhitespaceSplit())


def bytes_first():
    t = words_of(normalizers.ByteLevel(), pre_tokenizers.Split(Regex("Ġ"), "merged_with_next"), decoders.ByteLevel())
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1), trim_offsets=True, add_prefix_space=True)
    return t


PARTS = {f.__name__: f for f in (bert_uncased, bert_cased, bert_odd, bert_accents, t5, albert, xlnet, xlm_roberta, clip, whisper, speech,
                                 speech_bare, scripts, delimiters, rewritten, bytes_first)}
PARTS.update({f"punctuation_{b}": punctuation(b) for b in ("removed", "merged_with_previous", "merged_with_next", "contiguous")})
