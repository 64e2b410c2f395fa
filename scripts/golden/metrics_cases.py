"""Random and nasty inputs for metrics, and what the reference packages make of them.

Used by scripts/golden/metrics.py (small golden files) and tests/metrics/live_parity.py (more random data). A case is
{"kind": …, "in": …, "out": …}; tests/metrics/metric_cases.cpp has a reader for each kind.
"""
import math
import random
import warnings

import numpy as np

warnings.simplefilter("ignore")

WORDS = ("the a an of to in cat cats sat running runner flies dies happily relational conditional rationally generously "
         "controlling rolled hopping agreed feed 3.14 1,000 2-3 U.S. don't state-of-the-art isn't £5 x=y (hi) \"quoted\" "
         "naïve café Straße ΣΊΣΥΦΟΣ İstanbul K 東京 。 привет, мир! 😀 e\u0301 a\u00a0b <skipped> &amp; &quot; -").split(" ")
CHARACTERS = "abcxyzAEIOU019 .,;:!?-'\"()[]{}&$€§\n\t\u00a0\u3000\u2019éßΣσİKー東🙂"


def words(rng, most):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, most)))


def text(rng, most=25):
    if rng.random() < 0.2:
        return "".join(rng.choice(CHARACTERS) for _ in range(rng.randint(0, 3 * most)))
    return words(rng, most)


def altered(rng, original):
    """A text that shares words with another one, as a prediction does."""
    parts = original.split(" ")
    for _ in range(rng.randint(0, 1 + len(parts) // 3)):
        at = rng.randrange(len(parts))
        parts[at:at + 1] = rng.choice([[], [rng.choice(WORDS)], [parts[at], rng.choice(WORDS)]])
        if not parts:
            return ""
    return " ".join(parts)


def lines(rng, original):
    return "".join(c if c != " " or rng.random() < 0.8 else "\n" for c in original)


def case(kind, inputs, out):
    return {"kind": kind, "in": inputs, "out": out}


# ---- classes and numbers

def class_case(predictions, references, average, zero_division, positive=1):
    from sklearn.metrics import accuracy_score, matthews_corrcoef, precision_recall_fscore_support
    inputs = {"predictions": predictions, "references": references, "average": average, "zero_division": zero_division,
              "positive": positive}
    out = {"accuracy": float(accuracy_score(references, predictions)),
           "matthews_correlation": float(matthews_corrcoef(references, predictions))}
    try:
        scores = precision_recall_fscore_support(references, predictions, average=average, zero_division=zero_division,
                                                 pos_label=positive)
        out.update(zip(("precision", "recall", "f1"), map(float, scores[:3])))
    except ValueError:
        out["refused"] = True
    each = precision_recall_fscore_support(references, predictions, average=None, zero_division=zero_division)
    out["by_class"] = [list(map(float, row)) for row in zip(*each[:3])]
    return case("classes", inputs, out)


def class_cases(rng, count):
    averages = ["binary", "micro", "macro", "weighted"]
    for average in averages:
        for zero_division in (0, 1, math.nan):
            for predictions, references in [([0, 0, 0], [0, 0, 0]), ([1, 1], [1, 1]), ([0, 1, 0], [1, 0, 1]), ([1], [0]),
                                            ([2, 2, 0], [0, 1, 2]), ([0, 0, 0, 0], [0, 1, 0, 1]), ([7, -1], [-1, 7])]:
                yield class_case(predictions, references, average, zero_division)
    for _ in range(count):
        classes, n = rng.choice([2, 2, 3, 7, 30]), rng.choice([1, 2, 5, 40, 300])
        references = [rng.randrange(classes) for _ in range(n)]
        predictions = [r if rng.random() < 0.6 else rng.randrange(classes) for r in references]
        yield class_case(predictions, references, rng.choice(averages), rng.choice([0, 1, math.nan]), rng.choice([0, 1]))


def number_case(predictions, references):
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import mean_squared_error
    out = {"pearsonr": float(pearsonr(predictions, references)[0]), "spearmanr": float(spearmanr(predictions, references)[0])}
    if np.isfinite(predictions).all() and np.isfinite(references).all():
        out["mse"] = float(mean_squared_error(references, predictions))
    return case("numbers", {"predictions": predictions, "references": references}, out)


def number_cases(rng, count):
    nan = math.nan
    for predictions, references in [([1.0, 2.0], [3.0, 5.0]), ([1.0, 2.0], [5.0, 3.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]),
                                    ([2.0, 1.0, 3.0], [0.5, 0.5, 0.5]), ([nan, 1.0, 2.0], [1.0, 2.0, 3.0]),
                                    ([1.0, 1.0, 2.0, 2.0], [1.0, 2.0, 2.0, 1.0]), ([0.0, -0.0, 1.0], [1.0, 0.0, 2.0]),
                                    ([1e9, 1e9 + 1, 1e9 + 2, 1e9 + 5], [1.0, 2.0, 3.0, 4.0])]:
        yield number_case(predictions, references)
    for _ in range(count):
        n, step = rng.choice([2, 3, 10, 100, 400]), rng.choice([0.5, 1e-9, 1.0])
        shift = rng.choice([0.0, 1e4])
        references = [shift + round(rng.gauss(0, 2) / step) * step for _ in range(n)]
        predictions = [r * rng.choice([1, 1, 1, -1]) + rng.gauss(0, 1) for r in references]
        if rng.random() < 0.5:
            predictions = [float(round(p)) for p in predictions]
        if len(set(references)) > 1 and len(set(predictions)) > 1:
            yield number_case(predictions, references)


# ---- tags

def tags(rng, letters, types, n):
    made = []
    for _ in range(n):
        letter = rng.choice(letters)
        if letter == "O":
            made.append("O")
        elif made and rng.random() < 0.6 and made[-1] != "O":  # mostly of the type before, as entities are
            made.append(letter + made[-1][1:])
        else:
            made.append(letter + rng.choice(types))
    return made


def tag_case(predictions, references, scheme=None, suffix=False):
    from seqeval import scheme as schemes
    from seqeval.metrics import accuracy_score, classification_report
    inputs = {"predictions": predictions, "references": references, "scheme": scheme, "suffix": suffix}
    strict = {} if scheme is None else {"mode": "strict", "scheme": getattr(schemes, scheme)}
    report = classification_report(references, predictions, output_dict=True, zero_division=0, suffix=suffix, **strict)
    average = report.pop("micro avg")
    report.pop("macro avg")
    report.pop("weighted avg")
    keys = {"precision": "precision", "recall": "recall", "f1-score": "f1", "support": "number"}
    out = {name: {ours: float(row[theirs]) for theirs, ours in keys.items()} for name, row in report.items()}
    out["overall"] = {ours: float(average[theirs]) for theirs, ours in keys.items()}
    out["accuracy"] = float(accuracy_score(references, predictions))
    return case("tags", inputs, out)


def tag_cases(rng, count):
    yield tag_case([["O", "O", "O"]], [["O", "O", "O"]])
    yield tag_case([["O", "O", "O"]], [["B-PER", "I-PER", "O"]])
    yield tag_case([["I-PER", "I-LOC", "B-LOC"]], [["B-PER", "B-LOC", "I-LOC"]])
    yield tag_case([["B", "I", "O", "B-"]], [["B", "I", "O", "B-"]])
    yield tag_case([["B-A-B", "I-A-B", "O"]], [["B-A-B", "I-A-B", "I-A-B"]])
    yield tag_case([["PER-B", "PER-I", "O"]], [["PER-B", "PER-I", "O"]], suffix=True)
    letters = {None: "BIO", "IOB1": "BIO", "IOB2": "BIO", "IOE1": "IOE", "IOE2": "IOE", "IOBES": "BIOES", "BILOU": "BILOU"}
    for _ in range(count):
        scheme = rng.choice(list(letters))
        alphabet = "BIOES" if scheme is None and rng.random() < 0.3 else letters[scheme]
        lengths = [rng.randint(1, 12) for _ in range(rng.randint(1, 8))]
        types = ["-PER", "-LOC", "-ORG-X", ""][:rng.randint(1, 4)]
        references = [tags(rng, alphabet, types, n) for n in lengths]
        predictions = [[t if rng.random() < 0.7 else o for t, o in zip(r, tags(rng, alphabet, types, len(r)))] for r in references]
        yield tag_case(predictions, references, scheme)


def penn_tag_cases(rng, count):
    """Tags that are no entities: a row's first "," is of the type of the O between rows, and begins nothing there."""
    for _ in range(count):
        known = rng.sample(["NNP", ",", ".", ":", "$", "DT", "B-", "B-PER", "I-PER", "O", "I", "O-X", "Q-X", ".X", "``", "OUT"], rng.randint(2, 8))
        references = [[rng.choice(known) for _ in range(rng.randint(0, 6))] for _ in range(rng.randint(1, 8))] + [known]
        predictions = [[t if rng.random() < 0.8 else rng.choice(known) for t in row] for row in references]
        yield tag_case(predictions, references)


def scheme_cases(rng, count):
    from seqeval.scheme import auto_detect
    for _ in range(count):
        letters = "".join(rng.sample("BIOESLU", rng.randint(1, 5)))
        sequences = [tags(rng, letters, ["-X"], rng.randint(1, 9)) for _ in range(2)]
        try:
            out = auto_detect(sequences).__name__
        except ValueError:
            out = "refused"
        yield case("scheme", {"sequences": sequences}, out)


# ---- texts

def stem_cases(rng, count):
    from nltk.stem.porter import PorterStemmer
    stemmer = PorterStemmer()
    suffixes = ("sses ies ss s eed ed ing at bl iz y ational tional enci anci izer bli alli entli eli ousli ization ation ator "
                "alism iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence "
                "er ic able ible ant ement ment ent sion tion ou ism ate iti ous ive ize e ll ied ying ally").split()
    found = {"sky", "skies", "dying", "news", "innings", "howe", "succeed", "geology", "theologi", "spied", "died", "dies", "yyyy",
             "a", "be", "123s", "aaaa", "b2eed", "roll", "controll", "hopping", "falling", "fizzed", "filing", "failing"}
    for _ in range(count):
        stem = "".join(rng.choice("aeiouybcdlrstz"[:rng.randint(5, 14)]) for _ in range(rng.randint(0, 6)))
        found.add(stem + "".join(rng.choice(suffixes) for _ in range(rng.randint(1, 2))))
    listed = sorted(found)
    yield case("stems", {"words": listed}, [stemmer.stem(w) for w in listed])


ROUGE_KINDS = ["rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"]


def rouge_case(prediction, references, use_stemmer):
    from rouge_score import rouge_scorer
    scorer = rouge_scorer.RougeScorer(ROUGE_KINDS, use_stemmer=use_stemmer)
    scores = scorer.score(references[0], prediction) if len(references) == 1 else scorer.score_multi(references, prediction)
    out = {kind: [float(v) for v in scores[kind]] for kind in ROUGE_KINDS}
    return case("rouge", {"prediction": prediction, "references": references, "use_stemmer": use_stemmer}, out)


def rouge_cases(rng, count):
    for prediction, reference in [("", ""), ("a", ""), ("", "a"), ("\n\n", "a\nb"), ("...", "..."), ("K İ", "k i"), ("x y z", "z y x")]:
        yield rouge_case(prediction, [reference], False)
    for i in range(count):
        most = 150 if i % 10 == 0 else 25  # more than one block of rows
        references = [lines(rng, text(rng, most)) for _ in range(rng.choice([1, 1, 1, 3]))]
        prediction = lines(rng, altered(rng, rng.choice(references)))
        yield rouge_case(prediction, references, rng.random() < 0.5)


def rouge_set_case(predictions, references, seed):
    """What run_summarization reports: evaluate's aggregation under a seed, then percent, rounded."""
    from rouge_score import rouge_scorer, scoring
    kinds = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    scorer = rouge_scorer.RougeScorer(kinds, use_stemmer=True)
    aggregator = scoring.BootstrapAggregator()
    scores = [scorer.score(r, p) for p, r in zip(predictions, references)]
    for score in scores:
        aggregator.add_scores(score)
    np.random.seed(seed)
    medians = aggregator.aggregate()
    out = {"resampled": {k: float(round(medians[k].mid.fmeasure * 100, 4)) for k in kinds},
           "mean": {k: float(round(np.mean([s[k].fmeasure for s in scores]) * 100, 4)) for k in kinds}}
    return case("rouge_set", {"predictions": predictions, "references": references, "seed": seed}, out)


def rouge_set_cases(rng, count):
    for n in [1, 2, 3, 8, 9] + [rng.randint(5, 60) for _ in range(count)]:
        references = [lines(rng, text(rng)) for _ in range(n)]
        yield rouge_set_case([altered(rng, r) for r in references], references, rng.choice([0, 42, 2**32 - 1]))


BLEU_OPTIONS = {"tokenize": ["13a", "intl", "char", "none"], "smooth_method": ["exp", "floor", "add-k", "none"],
                "smooth_value": [None, None, 0.5, 2.0], "lowercase": [False, True], "effective_order": [False, True],
                "max_ngram_order": [4, 4, 4, 2]}


def bleu_out(score):
    return {"score": score.score, "counts": list(map(float, score.counts)), "totals": list(map(float, score.totals)),
            "precisions": score.precisions, "bp": score.bp, "sys_len": score.sys_len, "ref_len": score.ref_len}


def bleu_case(predictions, references, options):
    from sacrebleu.metrics import BLEU
    options = {key: value for key, value in options.items() if value is not None}
    metric = BLEU(**options)
    streams = [list(stream) for stream in zip(*references)]
    out = {"corpus": bleu_out(metric.corpus_score(predictions, streams)),
           "first": bleu_out(metric.sentence_score(predictions[0], references[0]))}
    return case("bleu", {"predictions": predictions, "references": references, "options": options}, out)


def bleu_words_case(texts):
    from sacrebleu.metrics import BLEU
    out = {name: [BLEU(tokenize=name)._preprocess_segment(t).split() for t in texts] for name in BLEU_OPTIONS["tokenize"]}
    return case("bleu_words", {"texts": texts}, out)


def corpus(rng):
    count = rng.choice([1, 1, 2])
    references = [[text(rng) for _ in range(count)] for _ in range(rng.randint(1, 12))]
    return [altered(rng, rng.choice(r)) for r in references], references


def bleu_cases(rng, count):
    yield bleu_words_case([text(rng) for _ in range(5 * count)])
    yield bleu_words_case(["", " ", "1.", ".1", "1,000.5", "a.b", "a,", "3-4", "a-b", "-", "--", "...", "a\nb", "end-\nof", "a&amp;lt;b"])
    for predictions, references in [([""], [[""]]), (["", "a b"], [["", ""], ["a", "a b c"]][:2]), (["a b c d"], [["a b c d"]]),
                                    (["x"], [["a b c d"]]), (["a"], [["a"]]), (["a b", "c"], [["a x"], ["d"]])]:
        if len({len(r) for r in references}) == 1:
            for smooth in BLEU_OPTIONS["smooth_method"]:
                yield bleu_case(predictions, references, {"smooth_method": smooth})
    for _ in range(count):
        yield bleu_case(*corpus(rng), {key: rng.choice(values) for key, values in BLEU_OPTIONS.items()})


# ---- answers, GLUE, exact match, perplexity

def answer(rng):
    return rng.choice(["", "the", "The end!", "an apple", "a", "a-b", "a–b", "Ａ", "Σίσυφος", text(rng, 4), text(rng, 4), text(rng, 4)])


class Example:
    """A question as the scorer of SQuAD 2 in transformers wants it."""

    def __init__(self, number, answers):
        self.qas_id, self.answers = str(number), [{"text": one} for one in answers]


def squad_v1(texts, answers):
    """The scores of version 1.1, over the words that transformers' scorer of version 2 compares: without a shared word F1 is 0."""
    from collections import Counter
    from transformers.data.metrics import squad_metrics

    def f1(gold, predicted):
        gold, predicted = squad_metrics.get_tokens(gold), squad_metrics.get_tokens(predicted)
        shared = sum((Counter(gold) & Counter(predicted)).values())
        return 2 * shared / (len(gold) + len(predicted)) if shared else 0.0

    exact = [max(squad_metrics.compute_exact(one, given) for one in some) for given, some in zip(texts, answers)]
    shares = [max(f1(one, given) for one in some) for given, some in zip(texts, answers)]
    return {"exact_match": 100 * float(np.mean(exact)), "f1": 100 * float(np.mean(shares))}


def question_cases(rng, count):
    from transformers.data.metrics import squad_metrics
    for i in range(count):
        version_2, n = i % 2 == 1, rng.choice([1, 2, 5, 60])
        answers = [[answer(rng) for _ in range(rng.randint(0 if version_2 else 1, 3))] for _ in range(n)]
        texts = [altered(rng, rng.choice(a)) if a and rng.random() < 0.7 else answer(rng) for a in answers]
        silence = [rng.choice([0.0, 0.0, 0.3, 0.9]) for _ in range(n)]
        threshold = rng.choice([1.0, 0.5])
        if version_2:
            keyed = {str(at): one for at, one in enumerate(texts)}, {str(at): one for at, one in enumerate(silence)}
            out = squad_metrics.squad_evaluate([Example(at, some) for at, some in enumerate(answers)], *keyed, threshold)
        else:
            out = squad_v1(texts, answers)
        yield case("questions", {"name": "squad_v2" if version_2 else "squad", "predictions": texts, "no_answer": silence, "answers": answers,
                                 "threshold": threshold}, {key: float(value) for key, value in out.items()})


def glue_pair_cases(rng, count):
    """Two metrics and their mean, as run_glue reports them."""
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import accuracy_score, f1_score
    for i in range(count):
        n = rng.choice([2, 5, 60])
        if i % 2:
            references = [at % 2 if at < 2 else rng.randrange(2) for at in range(n)]
            predictions = [r if rng.random() < 0.7 else rng.randrange(2) for r in references]
            out = {"accuracy": float(accuracy_score(references, predictions)), "f1": float(f1_score(references, predictions, zero_division=0))}
        else:
            references = [at if at < 2 else round(rng.uniform(0, 5) * 4) / 4 for at in range(n)]
            predictions = [r + rng.choice([-0.5, 0.0, 0.25, 1.5]) for r in references]
            if len(set(predictions)) < 2:
                continue
            out = {"pearson": float(pearsonr(predictions, references)[0]), "spearmanr": float(spearmanr(predictions, references)[0])}
        out["combined_score"] = float(np.mean(list(out.values())))
        yield case("metric", {"name": rng.choice(["glue/mrpc", "glue/qqp"]) if i % 2 else "glue/stsb", "predictions": predictions,
                              "references": references}, out)


def exact_match_cases(rng, count):
    for _ in range(count):
        references = [text(rng, 2) for _ in range(rng.choice([1, 2, 30]))]
        predictions = [rng.choice([r, r, r.upper(), r + " ", altered(rng, r)]) for r in references]
        yield case("exact_match", {"predictions": predictions, "references": references, "options": {}},
                   {"exact_match": float(np.mean([p == r for p, r in zip(predictions, references)]))})


def perplexity_cases(rng, count):
    losses = [0.0, 709.0, 710.0, 1e300, -3.5, math.inf] + [rng.uniform(0, 20) for _ in range(count)]
    with np.errstate(over="ignore"):
        yield case("perplexity", {"losses": losses}, [float(np.exp(np.float64(loss))) for loss in losses])


# ---- what Python itself decides

def python_cases(rng, count):
    texts = [text(rng) for _ in range(count)] + ["ΑΣ", "ΑΣ Σ", "Σ", "ΑΣ.", "ΑΣ.Β", "aΣ\u0301", "aΣ\u0301b", "İΣ", "ªΣ", "ΣΣ", "\x1c\x1f a \x85"]
    yield case("python", {"texts": texts}, {"lower": [t.lower() for t in texts], "split": [t.split() for t in texts],
                                            "rstrip": [t.rstrip() for t in texts]})
    values = [0.0, 1.005, 2.675, 12.34565, 99.99995, 1e-9, -3.00005, 0.5, math.nan, math.inf]
    values += [rng.uniform(0, 100) for _ in range(count)] + [rng.randrange(10**6) / 1e5 for _ in range(count)]
    yield case("rounded", {"values": values}, {"python": [round(v, 4) if math.isfinite(v) else v for v in values],
                                               "numpy": [float(np.round(np.float64(v), 4)) for v in values]})


def all_cases(seed, count):
    """About 12 × count cases."""
    rng = random.Random(seed)
    makers = [class_cases, number_cases, tag_cases, scheme_cases, rouge_cases, bleu_cases]
    for make in makers:
        yield from make(rng, count)
    yield from rouge_set_cases(rng, max(1, count // 10))
    yield from stem_cases(rng, 40 * count)
    yield from python_cases(rng, count)
    yield from penn_tag_cases(rng, 2 * count)


def live_cases(seed, count):
    """About 16 × count cases: those, and what the package transformers has of SQuAD."""
    yield from all_cases(seed, count)
    rng = random.Random(seed)
    for make in (question_cases, glue_pair_cases, exact_match_cases, perplexity_cases):
        yield from make(rng, count)
