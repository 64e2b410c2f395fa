#!/usr/bin/env python3
"""--predict_with_generate: texts that evaluation writes, their metrics and files, on any ranks and under any strategy.

  written_texts.py [SCENARIO]…     all of them without a word
"""
import filecmp
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import Fixture, expect, read_json, records, run_scenarios
from sequence_to_sequence import Pairs

BART = ("d_model=32,encoder_layers=1,decoder_layers=1,encoder_attention_heads=4,decoder_attention_heads=4,encoder_ffn_dim=64,decoder_ffn_dim=64,"
        "max_position_embeddings=40,dropout=0,pad_token_id=0,bos_token_id=1,eos_token_id=1,decoder_start_token_id=1,forced_eos_token_id=1,vocab_size=512")
ROUGE = ["rouge1", "rouge2", "rougeL", "rougeLsum", "gen_len"]
LANGUAGES = ["--source_lang", "plain", "--target_lang", "cipher"]


class Texts(Pairs):
    """A model that was trained for a few steps, and rows to judge it by: so few that some ranks have none."""

    def __init__(self, folder):
        super().__init__(folder)
        with open(self.valid) as file:
            lines = file.readlines()
        self.rows = os.path.join(self.folder, "rows.jsonl")
        with open(self.rows, "w") as file:
            file.writelines(lines[:7])
        self.trained = os.path.join(self.folder, "trained")
        self.call(*self.flags(self.trained, "--max_steps", 120, "--learning_rate", "1e-2"))

    def judge(self, output, *more, task="summarization", ranks=1, batch=2, model=None, expect=0):
        """Evaluates and predicts those rows with the trained model."""
        return self.call("train", "--task", task, "--model_name_or_path", model or self.trained, "--validation_file", self.rows, "--test_file", self.rows,
                         "--use_cpu", "--nproc_per_node", str(ranks), "--do_eval", "--do_predict", "--per_device_eval_batch_size", str(batch),
                         "--max_source_length", "64", "--max_target_length", "32", "--output_dir", str(output), *map(str, more), expect=expect)


def results(output, split="eval"):
    found = read_json(output, split + "_results.json")
    return {key: value for key, value in found.items() if not any(word in key for word in ("runtime", "per_second", "preparation_time"))}


def texts(output):
    with open(os.path.join(output, "generated_predictions.txt")) as file:
        return file.read().split("\n")


def token_counts(fixture, output):
    """Of each text: it says when the row came to its end, which a number of characters may hide."""
    said = fixture.call("tokenizer", "encode", "--tokenizer_name", fixture.trained, "--", *texts(output))
    return [len(line.split()) for line in said.stdout.splitlines()]


def evaluation_has_metrics_files_and_a_best_model(fixture, folder):
    output = os.path.join(folder, "run")
    fixture.call(*fixture.flags(output, "--max_steps", 80, "--learning_rate", "1e-2", "--eval_strategy", "steps", "--eval_steps", 20, "--save_steps", 20, "--predict_with_generate",
                                "--metric_for_best_model", "rouge1", "--load_best_model_at_end", "--do_predict", "--test_file", fixture.rows,
                                "--include_for_metrics", "inputs", "loss", "--save_strategy", "steps"))
    evaluated = [r for r in records(output) if "eval_runtime" in r]
    expect([r["step"] for r in evaluated] == [20, 40, 60, 80, 80], "four evaluations and the last one", evaluated)
    for r in evaluated:
        expect({"eval_" + key for key in [*ROUGE, "loss", "input_tokens", "loss_std"]} <= set(r), "all metrics", r)
    best = max(r["eval_rouge1"] for r in evaluated)
    state = read_json(output, "trainer_state.json")
    expect(state["best_metric"] == best and best > 0, "the best ROUGE-1", state)
    expect(evaluated[-1]["eval_rouge1"] == best and results(output)["eval_rouge1"] == best, "the best model is judged at the end", evaluated)
    predicted = results(output, "predict")
    expect({"predict_" + key for key in [*ROUGE, "loss"]} <= set(predicted) and predicted["predict_samples"] == 7, "predictions are judged", predicted)
    expect(len(texts(output)) == 7 and all(text == text.strip() for text in texts(output)), "a line for each row, and none behind", texts(output))
    without = os.path.join(folder, "without")
    fixture.judge(without)
    expect("eval_rouge1" not in results(without) and not os.path.exists(os.path.join(without, "generated_predictions.txt")), "without the flag", without)
    translated = os.path.join(folder, "translated")
    fixture.judge(translated, "--predict_with_generate", *LANGUAGES, task="translation")
    found = results(translated)
    expect({"eval_bleu", "eval_gen_len", "eval_loss"} <= set(found) and "eval_rouge1" not in found, "a translation's", found)
    none = os.path.join(folder, "loss_only")
    fixture.call(*fixture.flags(none, "--max_steps", 2, "--predict_with_generate", "--prediction_loss_only"))
    expect("eval_gen_len" not in results(none) and "eval_loss" in results(none), "the loss alone", results(none))


def ranks_and_strategies_write_the_same(fixture, folder):
    """Seven rows on up to four ranks, three at a time: ranks have other numbers of rows and come to their ends at other steps."""
    alone = {}
    for name, more in (("greedy", []), ("beams", ["--generation_num_beams", 3]), ("sampled", ["--generation_config", os.path.join(folder, "sampled.json")])):
        with open(os.path.join(folder, "sampled.json"), "w") as file:
            json.dump({"do_sample": True, "temperature": 2.0, "eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 0}, file)
        output = os.path.join(folder, name)
        fixture.judge(output, "--predict_with_generate", *more, batch=3)
        alone[name] = results(output), results(output, "predict"), texts(output)
        lengths = token_counts(fixture, output)
        expect(len(lengths) == 7 and len(set(lengths)) > 1, f"{name}: texts of several lengths", [lengths, texts(output)])
        for label, ranks, how in (("two", 2, []), ("four", 4, []), ("full_shard", 2, ["--fsdp", "full_shard auto_wrap"]),
                                  ("zero3", 2, ["--deepspeed", write_zero3(folder)]),
                                  ("recomputed", 4, ["--fsdp", "full_shard", "--gradient_checkpointing"])):
            if name != "greedy" and label in ("zero3", "recomputed"):
                continue
            place = os.path.join(folder, name + label)
            fixture.judge(place, "--predict_with_generate", *more, *how, ranks=ranks)
            found = results(place), results(place, "predict"), texts(place)
            expect(found[2] == alone[name][2], f"{name}: texts on {label}", [found[2], alone[name][2]])
            for mine, theirs in zip(found[:2], alone[name][:2]):
                expect(mine.keys() == theirs.keys(), f"{name}: the metrics of {label}", [mine, theirs])
                for key in mine:  # a loss is a mean over other batches: rows weigh in it as their batch has tokens, 0.025 apart were seen
                    expect(abs(mine[key] - theirs[key]) < (0.06 if key.endswith("loss") else 1e-9), f"{name}: {key} on {label}", [mine, theirs])
    half = os.path.join(folder, "half")
    fixture.judge(half, "--predict_with_generate", "--bf16", "--bf16_full_eval", "--fsdp", "full_shard", ranks=2)
    expect(len(texts(half)) == 7 and results(half)["eval_gen_len"] > 1, "in bfloat16", texts(half))


def write_zero3(folder):
    path = os.path.join(folder, "zero3.json")
    with open(path, "w") as file:
        json.dump({"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}, "offload_optimizer": {"device": "cpu"}},
                   "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}, file)
    return path


def a_resumed_run_gives_the_same_bits(fixture, folder):
    """Stopped between evaluations that sample texts: neither the metrics nor what is trained afterwards know of it."""
    sampled = os.path.join(folder, "sampled.json")
    with open(sampled, "w") as file:
        json.dump({"do_sample": True, "eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 0}, file)
    common = ["--save_strategy", "steps", "--save_steps", 4, "--eval_strategy", "steps", "--eval_steps", 3, "--predict_with_generate", "--generation_config", sampled,
              "--generation_max_length", 9]
    straight, parts, silent = (os.path.join(folder, name) for name in ("straight", "parts", "silent"))
    fixture.call(*fixture.flags(straight, "--max_steps", 8, *common))
    fixture.call(*fixture.flags(parts, "--max_steps", 4, *common))
    fixture.call(*fixture.flags(parts, "--max_steps", 8, *common))

    def history(output):
        return [{key: value for key, value in r.items() if not any(word in key for word in ("time", "per_second"))} for r in records(output)]
    before = [r for r in history(straight) if r["step"] <= 6]
    expect(before == [r for r in history(parts) if r["step"] <= 6 and not (r["step"] == 4 and "loss" not in r)], "records", [before, history(parts)])
    expect(results(straight) == results(parts), "the last evaluation", [results(straight), results(parts)])
    fixture.call(*fixture.flags(silent, "--max_steps", 8, *(word for word in common if word != "--predict_with_generate")))
    for output in (parts, silent):
        same = filecmp.cmp(os.path.join(straight, "model.safetensors"), os.path.join(output, "model.safetensors"), shallow=False)
        expect(same, "weights", output)


def settings_of_generation_follow_their_priority(fixture, folder):
    """What the plan says of a run, by flag and YAML: flags go before --generation_config, that before the model's own file."""
    own = os.path.join(folder, "own")
    os.mkdir(own)
    for name in os.listdir(fixture.trained):
        if name.endswith((".json", ".safetensors")):
            os.symlink(os.path.join(fixture.trained, name), os.path.join(own, name))
    os.remove(os.path.join(own, "generation_config.json"))
    of_model = read_json(fixture.trained, "generation_config.json") | {"max_length": 11, "num_beams": 2}
    of_flag = {"max_new_tokens": 7, "num_beams": 3, "eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 0}
    files = {"own/generation_config.json": of_model, "other.json": of_flag, "folder/generation_config.json": of_flag}
    for name, config in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w") as file:
            json.dump(config, file)
    other, place = os.path.join(folder, "other.json"), os.path.join(folder, "folder")

    def planned(words, model=own, lengths=False):
        """[max_length, max_new_tokens, num_beams] of the plan."""
        flags = ["train", "--task", "summarization", "--model_name_or_path", model, "--validation_file", fixture.rows, "--use_cpu", "--nproc_per_node", "1",
                 "--do_eval", "--max_source_length", "64", "--predict_with_generate", "--output_dir", os.path.join(folder, "out"), "--dry_run", "--json"]
        plan = json.loads(fixture.call(*flags, *map(str, words)).stdout)
        written = plan["evaluation"]["generation"]
        return [written.get("max_length"), written.get("max_new_tokens"), written["num_beams"]]

    for words, expected, model in (
            ([], [11, None, 2], own), ([], [128, None, 1], fixture.trained), (["--max_target_length", 9], [9, None, 2], own),
            (["--val_max_target_length", 8, "--max_target_length", 9], [8, None, 2], own), (["--generation_max_length", 6, "--val_max_target_length", 8], [6, None, 2], own),
            (["--num_beams", 4], [11, None, 4], own), (["--eval_beams", 4], [11, None, 4], own), (["--num_beams", 4, "--generation_num_beams", 1], [11, None, 1], own),
            (["--generation_config", other], [None, 7, 3], own), (["--generation_config", place], [None, 7, 3], own),
            (["--generation_config", other, "--generation_max_length", 5, "--generation_num_beams", 2], [5, None, 2], own)):
        found = planned(words, model)
        expect(found == expected, f"{words} in the plan", [found, expected])
        given = {words[i].lstrip("-"): words[i + 1] for i in range(0, len(words), 2)}
        with open(os.path.join(folder, "flags.yaml"), "w") as file:
            json.dump(given, file)
        found = planned(["--config", os.path.join(folder, "flags.yaml")], model)
        expect(found == expected, f"{words} in YAML", [found, expected])
    # What it does to texts, and what is saved.
    lengths = {}
    for name, words in (("plain", []), ("short", ["--generation_max_length", 4]), ("file", ["--generation_config", other]), ("forced", ["--forced_bos_token", "the"])):
        output = os.path.join(folder, "run-" + name)
        fixture.judge(output, "--predict_with_generate", *words)
        lengths[name] = results(output)["eval_gen_len"]
    expect(lengths["short"] <= 4 < lengths["plain"], "a limit of tokens", lengths)
    expect(all(text.startswith("the") for text in texts(os.path.join(folder, "run-forced"))), "a forced first token", texts(os.path.join(folder, "run-forced")))
    trained = os.path.join(folder, "trained")
    fixture.call(*fixture.flags(trained, "--max_steps", 1, "--generation_config", other))
    expect(read_json(trained, "generation_config.json")["num_beams"] == 3, "the named config is saved", trained)
    told = fixture.judge(os.path.join(folder, "told"), "--num_beams", 3).stderr
    expect("settings of generation have no effect" in told, "flags without --predict_with_generate are told", told)


def mistakes_are_refused_before_anything_is_written(fixture, folder):
    output = os.path.join(folder, "refused")
    files = {"list.json": [1], "beams.json": {"num_beams": 0}, "several.json": {"num_return_sequences": 2, "num_beams": 2}, "stop.json": {"stop_strings": ["."]},
             "token.json": {"forced_bos_token_id": 100000}, "contrast.json": {"penalty_alpha": 0.6, "top_k": 4}}
    for name, content in files.items():
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)
    with open(os.path.join(folder, "broken.json"), "w") as file:
        file.write("{")
    os.mkdir(os.path.join(folder, "empty"))
    cases = [(["--generation_num_beams", 0], 2, "generation_num_beams"), (["--num_beams", 0], 2, "num_beams"), (["--generation_max_length", 0], 2, "generation_max_length"),
             (["--generation_max_length", 1], 2, "no room"), (["--generation_config", os.path.join(folder, "missing.json")], 4, "--generation_config"),
             (["--generation_config", os.path.join(folder, "empty")], 4, "generation_config.json")]
    cases += [(["--generation_config", os.path.join(folder, name)], 4, said) for name, said in (
        ("list.json", "list.json"), ("broken.json", "broken.json"), ("beams.json", "num_beams is 0"), ("several.json", "num_return_sequences is 2"),
        ("stop.json", "stop_strings"), ("token.json", "forced_bos_token_id is 100000"), ("contrast.json", "penalty_alpha"))]
    for words, code, said in cases:
        result = fixture.judge(output, "--predict_with_generate", *words, expect=code)
        expect(said in result.stderr and not os.path.exists(output), f"{words}", result.stderr)
        expect(all(part in result.stderr for part in ("error: ", "  where: ", "  why: ", "  try: ")), f"{words}: parts", result.stderr)
    positions = ["train", "--task", "summarization", "--model_type", "bart", "--config_overrides", BART, "--tokenizer_name", fixture.tokenizer, "--use_cpu",
                 "--train_file", fixture.train, "--validation_file", fixture.rows, "--do_eval", "--do_train", "--max_source_length", "40", "--max_target_length", "20",
                 "--output_dir", output, "--nproc_per_node", "1", "--max_steps", "1", "--predict_with_generate"]
    result = fixture.call(*positions, "--generation_max_length", "42", expect=2)
    expect("40 positions" in result.stderr and not os.path.exists(output), "texts beyond the positions", result.stderr)
    fixture.call(*positions, "--generation_max_length", "41", "--save_strategy", "no")
    result = fixture.call(*Fixture.flags(fixture, os.path.join(folder, "clm"), "--predict_with_generate", ranks=1), expect=2)
    expect("does not read --predict_with_generate" in result.stderr, "another task", result.stderr)


def memory_is_flat_and_in_the_plan(fixture, folder):
    with open(fixture.valid) as file:
        lines = file.readlines()
    peaks = {}
    for count in (40, 400):
        rows, output = os.path.join(folder, f"{count}.jsonl"), os.path.join(folder, str(count))
        with open(rows, "w") as file:
            file.writelines((lines * (1 + count // len(lines)))[:count])
        fixture.judge(output, "--predict_with_generate", "--generation_num_beams", 4, "--generation_max_length", 32, "--validation_file", rows, "--test_file", rows, batch=8)
        peaks[count] = read_json(output, "hftrain", "summary.json")["ranks"][0]["peak_host_bytes"]
    expect(peaks[400] < peaks[40] + (8 << 20), "ten times the rows take no more memory", peaks)

    def planned(*more):
        flags = ["train", "--task", "summarization", "--model_name_or_path", fixture.trained, "--validation_file", fixture.rows, "--use_cpu", "--nproc_per_node", "1",
                 "--do_eval", "--max_source_length", "64", "--max_target_length", "32", "--output_dir", os.path.join(folder, "out"), "--dry_run", "--json",
                 "--per_device_eval_batch_size", "8"]
        return json.loads(fixture.call(*flags, *map(str, more)).stdout)["memory_per_rank"]["evaluation"]
    without, greedy, beams = planned(), planned("--predict_with_generate"), planned("--predict_with_generate", "--num_beams", 8)
    longer = planned("--predict_with_generate", "--num_beams", 8, "--generation_max_length", 512)
    # Keys and values, 2 x 32 numbers of a token in float32: of 8 x 8 texts by 480 more places, in two layers and once more.
    expect(without <= greedy < beams < longer and longer - beams >= 480 * 8 * 8 * 64 * 4 * 3, "the cache is in the plan", [without, greedy, beams, longer])


SCENARIOS = [evaluation_has_metrics_files_and_a_best_model, ranks_and_strategies_write_the_same, a_resumed_run_gives_the_same_bits,
             settings_of_generation_follow_their_priority, mistakes_are_refused_before_anything_is_written, memory_is_flat_and_in_the_plan]


if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Texts)
