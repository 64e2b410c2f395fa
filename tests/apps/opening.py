#!/usr/bin/env python3
"""Models that are opened otherwise than they were saved: a head of another size, a tokenizer that grew, longer samples, and parameters
that are not trained.

  opening.py [SCENARIO]…     all of them without a word
"""
import filecmp
import json
import os
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from classified_rows import ClassifiedRows
from runs import Fixture, apart, expect, read_json
from text_classification import MODELS, Rows, losses, tensors_of


def numbers_of(path, name):
    """The float32 numbers of one tensor of a safetensors file."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        begin, end = json.loads(file.read(size))[name]["data_offsets"]
        file.seek(8 + size + begin)
        return struct.unpack(f"<{(end - begin) // 4}f", file.read(end - begin))


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def a_head_of_another_size_is_drawn_anew_where_that_is_asked_for(_, folder):
    fixture = Rows(os.path.join(folder, "fixture"))
    three, two = os.path.join(folder, "three"), os.path.join(folder, "two")
    fixture.call(*fixture.flags(three, "--max_steps", 3, "--save_strategy", "no"))
    for path in (fixture.train, fixture.valid):  # from three labels to two
        with open(path) as file:
            rows = file.read().replace(",fair\n", ",good\n")
        write(path, rows)
    flags = ["--task", "text-classification", "--model_name_or_path", three, "--train_file", fixture.train, "--max_seq_length", "48",
             "--use_cpu", "--max_steps", "2", "--save_strategy", "no"]
    for command in ("plan", "train"):  # by the plan, before a rank is started
        refused = fixture.call(command, *flags, "--output_dir", two, expect=4)
        for part in ("'score.weight' has the wrong shape", "asks for [2, 32], the file holds [3, 32]", "--ignore_mismatched_sizes"):
            expect(part in refused.stderr, part, refused.stderr)
        expect("rank 0" not in refused.stderr, "no rank speaks", refused.stderr)
    yaml = write(os.path.join(folder, "ignore.yaml"), "ignore_mismatched_sizes: true\n")
    for name, more in (("flag", ["--ignore_mismatched_sizes"]), ("yaml", ["--config", yaml])):
        output = f"{two}-{name}"
        taken = fixture.call(*flags, "--output_dir", output, *more)
        expect("'score.weight' of " + three + " has the shape [3, 32] and not [2, 32]: it starts from random" in taken.stderr,
               "it is said", taken.stderr)
        expect(tensors_of(output + "/model.safetensors")["score.weight"] == [2, 32], "saved", output)
    same = filecmp.cmp(two + "-flag/model.safetensors", two + "-yaml/model.safetensors", shallow=False)
    expect(same, "by flag and by YAML", folder)


def a_grown_tokenizer_adds_embeddings_near_the_mean_of_the_others(fixture, folder):
    model, grown, tokenizer = (os.path.join(folder, name) for name in ("model", "grown", "tokenizer"))
    fixture.call(*fixture.flags(model, "--max_steps", 2, "--save_strategy", "no", ranks=1))
    shutil.copytree(fixture.tokenizer, tokenizer)
    content = read_json(tokenizer, "tokenizer.json")
    for token in (512, 513):
        content["added_tokens"].append({"id": token, "content": f"<new{token}>", "single_word": False, "lstrip": False, "rstrip": False,
                                        "normalized": False, "special": False})
    write(os.path.join(tokenizer, "tokenizer.json"), json.dumps(content))
    flags = ["--model_name_or_path", model, "--tokenizer_name", tokenizer, "--train_file", fixture.text, "--block_size", "64", "--use_cpu",
             "--logging_steps", "1", "--learning_rate", "1e-30", "--max_steps", "1", "--save_strategy", "no", "--do_train"]
    weights = {}
    for ranks in (1, 2):
        output = f"{grown}-{ranks}"
        more = ["--nproc_per_node", str(ranks)] + (["--fsdp", "full_shard auto_wrap"] if ranks > 1 else [])
        said = fixture.call(*flags, *more, "--output_dir", output)
        expect("514 embeddings instead of 512" in said.stderr, "it is said", said.stderr)
        expect(read_json(output, "config.json")["vocab_size"] == 514, "in config.json", output)
        path = os.path.join(output, "model.safetensors")
        expect(tensors_of(path)["transformer.wte.weight"] == [514, 32] and "lm_head.weight" not in tensors_of(path), "shape", output)
        weights[ranks] = numbers_of(path, "transformer.wte.weight")
    before, after = numbers_of(model + "/model.safetensors", "transformer.wte.weight"), weights[1]
    expect(after[:512 * 32] == before, "the others stay", folder)
    for row in (512, 513):
        for column in range(32):
            mean = sum(before[column::32]) / 512
            expect(abs(after[row * 32 + column] - mean) < 1e-5, f"row {row}, column {column}", [after[row * 32 + column], mean])
    expect(after[512 * 32:513 * 32] != after[513 * 32:], "they differ", after[512 * 32:])
    expect(weights[2] == after, "the same on two ranks that share them", folder)


def positions_are_added_where_samples_are_longer(fixture, folder):
    model, longer = os.path.join(folder, "model"), os.path.join(folder, "longer")
    fixture.call(*fixture.flags(model, "--max_steps", 1, "--save_strategy", "no", ranks=1))
    flags = ["--model_name_or_path", model, "--train_file", fixture.text, "--block_size", "80", "--use_cpu", "--learning_rate", "1e-30",
             "--max_steps", "1", "--save_strategy", "no", "--do_train"]
    for more in ([], ["--resize_position_embeddings", "false"]):
        refused = fixture.call(*flags, "--output_dir", longer, *more, expect=2)
        expect("64 positions" in refused.stderr and "--resize_position_embeddings" in refused.stderr, "refused", refused.stderr)
    yaml = write(os.path.join(folder, "resize.yaml"), "resize_position_embeddings: true\n")
    for name, more in (("flag", ["--resize_position_embeddings"]), ("yaml", ["--config", yaml])):
        output = f"{longer}-{name}"
        said = fixture.call(*flags, "--output_dir", output, *more)
        expect("80 positions instead of 64" in said.stderr, "it is said", said.stderr)
        expect(read_json(output, "config.json")["n_positions"] == 80, "in config.json", output)
        after, before = (numbers_of(place + "/model.safetensors", "transformer.wpe.weight") for place in (output, model))
        expect(len(after) == 80 * 32 and after[:64 * 32] == before and len(set(after[64 * 32:])) > 400, "weights", output)


def frozen_embeddings_stay_whatever_the_strategy_and_after_a_resume(fixture, folder):
    strategies = {"one": (1, []), "ddp": (2, []), "zero1": (2, ["--sharded_ddp", "simple"]),
                  "zero2": (2, ["--fsdp", "shard_grad_op auto_wrap"]), "zero3": (2, ["--fsdp", "full_shard auto_wrap", "--gradient_checkpointing"])}
    yaml = write(os.path.join(folder, "freeze.yaml"), "freeze_embeds: true\n")
    names = ["transformer.wte.weight", "transformer.wpe.weight"]
    seen, first = {}, None
    for name, (ranks, more) in strategies.items():
        output, parts = os.path.join(folder, name), os.path.join(folder, name + "-parts")
        frozen = ["--freeze_embeds"] if name != "ddp" else ["--config", yaml]
        common = [*more, *frozen, "--config_overrides", MODELS["gpt2"], "--save_strategy", "steps", "--save_steps", 2, "--per_device_train_batch_size", 8 // ranks]
        plan = json.loads(fixture.call(*fixture.flags(output, "--max_steps", 4, *common, "--dry_run", "--json", ranks=ranks)).stdout)
        fixture.call(*fixture.flags(output, "--max_steps", 4, *common, ranks=ranks))
        for steps in (2, 4):
            fixture.call(*fixture.flags(parts, "--max_steps", steps, *common, "--lr_scheduler_type", "constant", ranks=ranks))
        path = output + "/model.safetensors"
        first = first or [numbers_of(path, one) for one in names]
        for place in (path, parts + "/checkpoint-2/model.safetensors", parts + "/model.safetensors"):
            expect([numbers_of(place, one) for one in names] == first, f"{name}: embeddings stay", place)
        trained = numbers_of(path, "transformer.ln_f.weight")
        expect(any(value != 1 for value in trained), f"{name}: the others are trained", trained)
        seen[name] = losses(output)
        expect(apart(seen[name], seen["one"]) < 2e-4, f"{name}: the losses", seen)
        memory = plan["memory_per_rank"]
        held = max((rank["state_bytes"] for rank in read_json(output, "hftrain", "summary.json")["ranks"]), key=lambda one: one["optimizer"])
        for kind in ("parameters", "gradients", "optimizer"):
            expect(abs(memory[kind] - held[kind]) < 0.02 * held[kind] + 1024, f"{name}: {kind} as planned", [memory, held])
    refused = fixture.call(*fixture.flags(os.path.join(folder, "refused"), "--freeze_encoder"), expect=2)
    expect("an encoder and a decoder" in refused.stderr, "a model without an encoder", refused.stderr)


def a_frozen_encoder_stays_and_the_decoder_learns(_, folder):
    """The encoder and the embedding that it shares, to the last bit, whatever the strategy; nothing is held for them."""
    yaml = write(os.path.join(folder, "encoder.yaml"), "freeze_encoder: true\n")
    for family, shared in (("t5", "transformer.shared.weight"), ("bart", "model.shared.weight")):
        fixture = ClassifiedRows(tempfile.mkdtemp(dir=folder), family)
        start = os.path.join(folder, family + "-start")
        fixture.call(*fixture.flags(start, "--max_steps", 1, "--save_strategy", "no", ranks=1))
        model = ["--model_name_or_path", start]
        for name, ranks, more in (("one", 1, []), ("full_shard", 2, ["--fsdp", "full_shard auto_wrap", "--gradient_checkpointing"])):
            output = os.path.join(folder, f"{family}-{name}")
            flags = fixture.flags(output, "--max_steps", 2, "--save_strategy", "no", *(["--freeze_encoder"] if ranks == 1 else ["--config", yaml]), *more, ranks=ranks)
            at = flags.index("--model_type")
            flags[at:at + 4] = model
            fixture.call(*flags)
            path, before = output + "/model.safetensors", start + "/model.safetensors"
            for tensor in tensors_of(path):
                stays = ".encoder." in tensor or tensor == shared
                same = numbers_of(path, tensor) == numbers_of(before, tensor)
                expect(same == stays or "layer_norm" in tensor or "bias" in tensor, f"{family}, {name}: {tensor}", [same, stays])
                expect(same or not stays, f"{family}, {name}: {tensor} stays", output)
            trained = read_json(output, "hftrain", "plan.json")["model"]
            held = sum(rank["state_bytes"]["optimizer"] for rank in read_json(output, "hftrain", "summary.json")["ranks"])
            expect(trained["trainable_parameters"] * 8 <= held < trained["parameters"] * 8, f"{family}, {name}: state", [trained, held])


def a_grown_tokenizer_widens_the_bias_of_outputs(fixture, folder):
    """Of BART, which keeps a number for each token beside the tied matrix; those of new tokens are 0."""
    tokenizer, grown, model = (os.path.join(folder, name) for name in ("tokenizer", "grown", "model"))
    fixture.call("tokenizer", "train", "--kind", "unigram", "--vocab_size", "300", "--files", fixture.text, "--output", tokenizer)
    rows = write(os.path.join(folder, "rows.jsonl"), '{"text": "she was late", "summary": "late"}\n' * 8)
    flags = ["--task", "summarization", "--train_file", rows, "--max_source_length", "12", "--max_target_length", "6", "--use_cpu",
             "--do_train", "--max_steps", "1", "--save_strategy", "no"]
    sizes = ("d_model=16,encoder_layers=1,decoder_layers=1,encoder_attention_heads=2,decoder_attention_heads=2,encoder_ffn_dim=16,"
             "decoder_ffn_dim=16,max_position_embeddings=16,vocab_size=300")
    fixture.call(*flags, "--model_type", "bart", "--config_overrides", sizes, "--tokenizer_name", tokenizer, "--output_dir", model)
    path = os.path.join(model, "model.safetensors")
    with open(path, "r+b") as file:  # as some published models have it
        size = struct.unpack("<Q", file.read(8))[0]
        begin, end = json.loads(file.read(size))["final_logits_bias"]["data_offsets"]
        file.seek(8 + size + begin)
        file.write(struct.pack(f"<{(end - begin) // 4}f", *range(1, (end - begin) // 4 + 1)))
    before = numbers_of(path, "final_logits_bias")
    shutil.copytree(tokenizer, grown)
    content = read_json(grown, "tokenizer.json")
    ids = len(content["model"]["vocab"])
    content["added_tokens"] += [{"id": ids + i, "content": f"<new{i}>", "single_word": False, "lstrip": False, "rstrip": False,
                                 "normalized": False, "special": False} for i in range(303 - ids)]
    write(os.path.join(grown, "tokenizer.json"), json.dumps(content))
    for ranks, more in ((1, []), (2, ["--fsdp", "full_shard auto_wrap"])):
        output = os.path.join(folder, f"out-{ranks}")
        fixture.call(*flags, *more, "--nproc_per_node", str(ranks), "--model_name_or_path", model, "--tokenizer_name", grown, "--output_dir", output)
        path = os.path.join(output, "model.safetensors")
        expect(tensors_of(path)["final_logits_bias"] == [1, 303] and tensors_of(path)["model.shared.weight"] == [303, 16], "shapes", output)
        expect(numbers_of(path, "final_logits_bias") == before + (0.0,) * (303 - len(before)), "the bias of old and of new tokens", output)


SCENARIOS = [a_head_of_another_size_is_drawn_anew_where_that_is_asked_for, a_grown_tokenizer_adds_embeddings_near_the_mean_of_the_others,
             a_grown_tokenizer_widens_the_bias_of_outputs, a_frozen_encoder_stays_and_the_decoder_learns,
             positions_are_added_where_samples_are_longer, frozen_embeddings_stay_whatever_the_strategy_and_after_a_resume]


def main():
    with tempfile.TemporaryDirectory(prefix="hftrain-opening-") as folder:
        fixture = None
        for scenario in SCENARIOS:
            if sys.argv[1:] and scenario.__name__ not in sys.argv[1:]:
                continue
            fixture = fixture or Fixture(folder)
            place = os.path.join(folder, scenario.__name__)
            os.makedirs(os.path.join(place, "fixture"))
            scenario(fixture, place)
            print("ok:", scenario.__name__.replace("_", " "), flush=True)


if __name__ == "__main__":
    main()
