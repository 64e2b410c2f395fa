#!/usr/bin/env python3
"""--predict_with_generate beside Seq2SeqTrainer, post-processing and metrics as run_summarization and run_translation have them.

  generation_matches_trainer.py [--cases NAME…] [--steps 85]

Both train the same tiny model on the same rows and then evaluate and predict. Losses are within 1e-4, every generated text is the
other's, metrics are equal to 1e-6.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import nltk.tokenize.punkt
    import numpy
    import rouge_score.rouge_scorer
    import rouge_score.scoring
    import sacrebleu
    import torch
    import transformers
except ImportError as error:
    print(f"SKIPPED: no package {error.name}")
    sys.exit(77)
import fixtures
import tasks_match_trainer as tasks

BART = dict(vocab_size=512, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
            decoder_ffn_dim=64, max_position_embeddings=64, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, pad_token_id=0, bos_token_id=1,
            eos_token_id=1, decoder_start_token_id=1, forced_eos_token_id=1, init_std=0.2)
SUMMARIES = dict(max_source_length=48, max_target_length=24, source_prefix="say: ")
TRANSLATIONS = dict(source_lang="plain", target_lang="cipher", max_source_length=24, max_target_length=20)
# The family, the task, its flags, those of generation.
CASES = {
    "t5-summaries": ("t5", "summarization", SUMMARIES, {}),
    "t5-translations-beams": ("t5", "translation", TRANSLATIONS, dict(generation_num_beams=3, generation_max_length=17)),
    "bart-summaries-beams": ("bart", "summarization", SUMMARIES | dict(ignore_pad_token_for_loss=False), dict(num_beams=2, val_max_target_length=15)),
    "bart-translations-settings": ("bart", "translation", TRANSLATIONS, dict(generation_num_beams=2, generation_config=dict(
        num_beams=4, no_repeat_ngram_size=2, length_penalty=0.6, early_stopping=True, max_length=18, decoder_start_token_id=1, eos_token_id=1, pad_token_id=0,
        forced_eos_token_id=1))),
}
tasks.COMMON["learning_rate"] = 3e-3  # texts are to be of the data's words
SEED = tasks.COMMON["seed"]


def rouge(predictions, references):
    """What evaluate.load("rouge").compute(use_stemmer=True) gives: medians of resampled means, from the seed that numpy had."""
    kinds = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    scorer = rouge_score.rouge_scorer.RougeScorer(kinds, use_stemmer=True)
    aggregator = rouge_score.scoring.BootstrapAggregator()
    for prediction, reference in zip(predictions, references):
        aggregator.add_scores(scorer.score(reference, prediction))
    numpy.random.seed(SEED)
    result = aggregator.aggregate()
    return {kind: round(result[kind].mid.fmeasure * 100, 4) for kind in kinds}


def without_fill(rows, tokenizer):
    """Beam search fills texts that end early with the end token where padding has id 0, up to the longest of the batch; and counts it as length."""
    ends = numpy.cumsum(rows == tokenizer.eos_token_id, axis=1) - (rows == tokenizer.eos_token_id)
    begin = (numpy.arange(rows.shape[1]) == 0)[None, :]  # what the decoder begins with may be the end token
    ends = ends - (rows[:, :1] == tokenizer.eos_token_id) * ~begin
    return numpy.where(ends > 0, tokenizer.pad_token_id, rows)


def judge(tokenizer, task, outputs):
    predictions, labels = outputs
    predictions = without_fill(numpy.where(predictions != -100, predictions, tokenizer.pad_token_id), tokenizer)
    labels = numpy.where(labels != -100, labels, tokenizer.pad_token_id)
    said, right = ([text.strip() for text in tokenizer.batch_decode(ids, skip_special_tokens=True)] for ids in (predictions, labels))
    length = numpy.mean([numpy.count_nonzero(row != tokenizer.pad_token_id) for row in predictions])
    if task == "translation":
        return {key: round(value, 4) for key, value in {"bleu": sacrebleu.corpus_bleu(said, [right]).score, "gen_len": length}.items()}
    sentences = nltk.tokenize.punkt.PunktSentenceTokenizer()
    lines = [["\n".join(sentences.tokenize(text)) for text in texts] for texts in (said, right)]
    return rouge(*lines) | {"gen_len": length}


def peer(scratch, task, flags, generation, paths, model, tokenizer, steps):
    from transformers import DataCollatorForSeq2Seq, GenerationConfig, Seq2SeqTrainer, Seq2SeqTrainingArguments
    settings = dict(predict_with_generate=True, generation_max_length=generation.get("generation_max_length"),
                    generation_num_beams=generation.get("generation_num_beams", generation.get("num_beams")))
    if "generation_config" in generation:
        settings["generation_config"] = GenerationConfig(**generation["generation_config"])
    elif settings["generation_max_length"] is None:  # as the scripts fill it in
        settings["generation_max_length"] = generation.get("val_max_target_length", flags["max_target_length"])
    arguments = Seq2SeqTrainingArguments(output_dir=os.path.join(scratch, "peer"), use_cpu=True, max_steps=steps, report_to=[], disable_tqdm=True, **settings,
                                         **tasks.COMMON)
    train, valid = map(tasks.rows_of, paths)
    evaluated = flags | {"max_target_length": generation.get("val_max_target_length", flags["max_target_length"])}
    features, evaluated = tasks.pair_features(tokenizer, train, flags), tasks.pair_features(tokenizer, valid, evaluated)
    ignored = flags.get("ignore_pad_token_for_loss", True)
    trainer = Seq2SeqTrainer(model=model, args=arguments, train_dataset=features, eval_dataset=evaluated, processing_class=tokenizer,
                             data_collator=DataCollatorForSeq2Seq(tokenizer, model=model, label_pad_token_id=-100 if ignored else tokenizer.pad_token_id),
                             compute_metrics=lambda outputs: judge(tokenizer, task, outputs))
    trainer.train()
    metrics = trainer.evaluate(metric_key_prefix="eval")
    predicted = trainer.predict(evaluated, metric_key_prefix="predict")
    ids = numpy.where(predicted.predictions != -100, predicted.predictions, tokenizer.pad_token_id)
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=True)
    return {r["step"]: r["loss"] for r in trainer.state.log_history if "loss" in r}, metrics | predicted.metrics, [text.strip() for text in texts]


def ours(scratch, name, task, folder, flags, generation, paths, steps):
    given = dict(generation)
    if "generation_config" in given:
        path = os.path.join(scratch, name + ".json")
        with open(path, "w") as file:
            json.dump(given["generation_config"], file)
        # The flags for targets would limit texts, as they do in the scripts.
        given |= {"generation_config": path, "generation_max_length": generation["generation_config"]["max_length"]}
    predicts = {"test_file": paths[1], "do_predict": True, "predict_with_generate": True}
    losses, results = tasks.ours(scratch, task, folder, flags | given | predicts, paths, steps)
    out = tasks.our_folder(scratch, task, flags | given | predicts)
    with open(os.path.join(out, "predict_results.json")) as file:
        results |= json.load(file)
    with open(os.path.join(out, "generated_predictions.txt")) as file:
        return losses, results, file.read().split("\n")


def compare(name, steps, scratch):
    from transformers import AutoTokenizer
    family, task, flags, generation = CASES[name]
    scratch = os.path.join(scratch, name)
    os.makedirs(scratch)
    paths = tasks.sample_rows(scratch, "seq2seq", flags)
    tokenizer = AutoTokenizer.from_pretrained(tasks.tokenizer_folder(scratch, "seq2seq"), model_input_names=["input_ids", "attention_mask"])
    tasks.MODELS["bart"] = BART
    folder, model = tasks.model_folder(scratch, family, "seq2seq", tokenizer)
    my_losses, mine, my_texts = ours(scratch, name, task, folder, flags, generation, paths, steps)
    their_losses, theirs, their_texts = peer(scratch, task, flags, generation, paths, model, tokenizer, steps)
    worst = fixtures.largest(abs(my_losses[s] - their_losses[s]) / their_losses[s] for s in their_losses)
    keys = [prefix + key for prefix in ("eval_", "predict_") for key in (("bleu",) if task == "translation" else ("rouge1", "rouge2", "rougeL", "rougeLsum"))
            + ("gen_len",)]
    apart = {key: abs(mine[key] - theirs[key]) for key in keys}
    losses = [abs(mine[key] - theirs[key]) / theirs[key] for key in ("eval_loss", "predict_loss")]
    different = sum(a != b for a, b in zip(my_texts, their_texts)) + abs(len(my_texts) - len(their_texts))
    print(f"{name}: worst relative loss difference {fixtures.largest([worst, *losses]):.2e}; {different} of {len(their_texts)} texts differ, {len(set(their_texts))} are distinct; "
          + ", ".join(f"{key} {theirs[key]:.6g} (apart {apart[key]:.1e})" for key in keys), flush=True)
    for a, b in [(a, b) for a, b in zip(my_texts, their_texts) if a != b][:3]:
        print(f"  ours   {a!r}\n  theirs {b!r}", flush=True)
    return worst <= 1e-4 and fixtures.largest(losses) <= 1e-4 and different == 0 and all(gap <= 1e-6 for gap in apart.values()) and len(set(their_texts)) > 2


def main():
    fixtures.compare_cases(CASES, compare, steps=85)


if __name__ == "__main__":
    main()
