#!/usr/bin/env python3
"""Every encoder family, trained to classify rows: DDP, ZeRO 1 to 3 and recomputation compute the same, a run saved on four ranks
goes on with one, a model opened for another head keeps its body, and the memory is what the plan says.

  encoders.py [SCENARIO]… [--families NAME…] [--ranks 2 4] [--steps 6]     all scenarios without a word
"""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import expect, largest, read_json, records, run_scenarios
from strategies_agree import parameters_of
from text_classification import Rows, losses, tensors_of

SIZES = "num_hidden_layers=2,num_attention_heads=4,hidden_size=32,intermediate_size=64,max_position_embeddings=64,vocab_size=512"
MODELS = {
    "bert": SIZES,
    "roberta": SIZES,
    "distilbert": "n_layers=2,n_heads=4,dim=32,hidden_dim=64,max_position_embeddings=64,vocab_size=512",
}
LAYERS = {"bert": "BertLayer", "roberta": "RobertaLayer", "distilbert": "TransformerBlock"}
CLASSES = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert"}
BODIES = {"bert": "bert.", "roberta": "roberta.", "distilbert": "distilbert."}
NO_DROPOUT = {"bert": ",hidden_dropout_prob=0,attention_probs_dropout_prob=0", "distilbert": ",dropout=0,attention_dropout=0,seq_classif_dropout=0"}
NO_DROPOUT["roberta"] = NO_DROPOUT["bert"]


def modes(family):
    """Beside DDP: name: (flags, whether the parameters are DDP's to the last bit)."""
    wrap = ["--fsdp_transformer_layer_cls_to_wrap", LAYERS[family]]
    return {
        "recomputing": (["--gradient_checkpointing"], True),
        "zero1": (["--sharded_ddp", "simple"], True),
        "zero2": (["--fsdp", "shard_grad_op auto_wrap", *wrap], True),
        "zero3": (["--fsdp", "full_shard auto_wrap", *wrap], True),
        "zero3-recomputing": (["--fsdp", "full_shard auto_wrap", *wrap, "--fsdp_config", '{"activation_checkpointing": true}'], True),
    }


class Encoders(Rows):
    def __init__(self, folder, options):
        super().__init__(folder)
        self.families, self.ranks, self.steps = options.families, options.ranks, options.steps

    def fit(self, family, output, *more, ranks, overrides=""):
        flags = self.flags(output, "--no_pad_to_max_length", "--weight_decay", 0.1, *more, ranks=ranks, batch=4)
        flags[flags.index("--model_type") + 1] = family
        flags[flags.index("--config_overrides") + 1] = MODELS[family] + overrides
        self.call(*flags)


def every_strategy_computes_what_plain_data_parallelism_does(fixture, folder):
    """With dropout, whose numbers the strategies must not disturb."""
    for family in fixture.families:
        for ranks in fixture.ranks:
            run = lambda name, *more: fixture.fit(family, os.path.join(folder, f"{family}-{ranks}-{name}"), "--max_steps",
                                                    fixture.steps, "--save_strategy", "no", *more, ranks=ranks)
            run("ddp")
            plain = os.path.join(folder, f"{family}-{ranks}-ddp")
            for name, (more, same_bits) in modes(family).items():
                run(name, *more)
                output = os.path.join(folder, f"{family}-{ranks}-{name}")
                expect(losses(output) == losses(plain) and len(losses(output)) == fixture.steps,
                       f"{family}, {name} on {ranks} ranks: losses", [losses(output), losses(plain)])
                expect(not same_bits or parameters_of(output) == parameters_of(plain), f"{family}, {name} on {ranks} ranks: weights", output)
            print(f"{family} on {ranks} ranks: {', '.join(modes(family))} have DDP's losses and weights to the last bit", flush=True)


def a_run_saved_on_four_ranks_goes_on_with_one(fixture, folder):
    for family in fixture.families:
        straight, alone = os.path.join(folder, family), os.path.join(folder, family + "-1")
        common = ["--max_steps", 6, "--save_strategy", "steps", "--save_steps", 3]
        wrap = ["--fsdp", "full_shard auto_wrap", "--fsdp_transformer_layer_cls_to_wrap", LAYERS[family]]
        fixture.fit(family, straight, *common, *wrap, ranks=4, overrides=NO_DROPOUT[family])
        fixture.fit(family, alone, *common, "--gradient_accumulation_steps", 4, "--resume_from_checkpoint",
                      os.path.join(straight, "checkpoint-3"), ranks=1, overrides=NO_DROPOUT[family])
        worst = largest(abs(losses(alone)[step] / losses(straight)[step] - 1) for step in (4, 5, 6))
        expect(worst <= 1e-6, f"{family}: losses of the later steps", [losses(alone), losses(straight)])
        print(f"{family}: later losses within {worst:.1e}", flush=True)


def a_classification_is_saved_under_its_class(fixture, folder):
    for family in fixture.families:
        output = os.path.join(folder, family)
        fixture.fit(family, output, "--num_train_epochs", 12, "--save_strategy", "no", "--learning_rate", 2e-3, ranks=1)
        loss = read_json(output, "eval_results.json")
        expect(loss["eval_loss"] < 0.4, f"{family}: three labels are learned (chance: 1.10)", loss)
        config = read_json(output, "config.json")
        expect(config["architectures"] == [CLASSES[family] + "ForSequenceClassification"], "the class", config)
        shapes = tensors_of(os.path.join(output, "model.safetensors"))
        head = "classifier.out_proj.weight" if family == "roberta" else "classifier.weight"
        expect(shapes[head] == [3, 32], "a head of three labels", shapes)


def a_model_of_another_head_keeps_its_body(fixture, folder):
    """The file of a masked language model without its head, as the base class writes it: names without the prefix. Where the file
    names no class the head may be missing, too; where it names this one, weights that it promises are not there."""
    for family in fixture.families:
        first = os.path.join(folder, family)
        fixture.fit(family, first, "--max_steps", 1, "--save_strategy", "no", ranks=1)
        config = read_json(first, "config.json")
        keep_body(os.path.join(first, "model.safetensors"), BODIES[family])
        refused = open_again(fixture, first, os.path.join(folder, family + "-promised"), expect=4)
        expect("the model's weights lack" in refused.stderr, f"{family}: a promised head", refused.stderr)
        for classes in ([CLASSES[family] + "Model"], [], None):
            config["architectures"] = classes
            with open(os.path.join(first, "config.json"), "w") as file:
                json.dump({key: value for key, value in config.items() if value is not None}, file)
            keeps_its_body(fixture, family, first, os.path.join(folder, f"{family}-again-{classes}"))


def open_again(fixture, model, output, expect=0):
    flags = fixture.flags(output, "--max_steps", 1, "--save_strategy", "no", "--learning_rate", 0)
    for flag in ("--model_type", "--config_overrides"):
        del flags[flags.index(flag):flags.index(flag) + 2]
    return fixture.call(*flags, "--model_name_or_path", model, expect=expect)


def keeps_its_body(fixture, family, first, second):
    said = open_again(fixture, first, second).stderr
    after = tensors_of(os.path.join(second, "model.safetensors"))
    new = [name for name in after if f"'{name}' is not in" in said]
    expected = sorted(name for name in after if not name.startswith(BODIES[family]) or ".pooler." in name)
    expect(sorted(new) == expected and len(expected) in (2, 4), f"{family}: the head is drawn anew, and said to be", [new, said])
    body = tensors_of(os.path.join(first, "model.safetensors"))
    same = all(tensor_bytes(first, name) == tensor_bytes(second, BODIES[family] + name) for name in body)
    expect(same and len(body) > 30, f"{family}: the body is the file's", body)


def read_tensors(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        header.pop("__metadata__", None)
        return header, file.read()


def tensor_bytes(folder, name):
    header, data = read_tensors(os.path.join(folder, "model.safetensors"))
    begin, end = header[name]["data_offsets"]
    return data[begin:end]


def keep_body(path, prefix):
    header, data = read_tensors(path)
    kept, parts, at = {}, [], 0
    for name, tensor in header.items():
        if not name.startswith(prefix) or ".pooler." in name:
            continue
        begin, end = tensor["data_offsets"]
        kept[name[len(prefix):]] = dict(tensor, data_offsets=[at, at + end - begin])
        parts.append(data[begin:end])
        at += end - begin
    text = json.dumps(kept).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def what_is_not_there_is_refused(fixture, folder):
    flags = fixture.flags(os.path.join(folder, "refused"))
    model = flags.index("--model_type") + 1
    overrides = flags.index("--config_overrides") + 1
    for family, wrong, said in (("bert", "is_decoder=true", "is_decoder"), ("roberta", "add_cross_attention=true", "add_cross_attention"),
                                ("bert", "hidden_act=mish", "mish"), ("distilbert", "dimm=4", "did you mean dim"),
                                ("distilbert", "n_heads=5", "multiple"), ("roberta", "pad_token_id=none", "pad_token_id")):
        flags[model], flags[overrides] = family, MODELS[family] + "," + wrong
        result = fixture.call(*flags, expect=2)
        expect(said in result.stderr, f"{family} with {wrong}", result.stderr)


SCENARIOS = [every_strategy_computes_what_plain_data_parallelism_does, a_run_saved_on_four_ranks_goes_on_with_one,
             a_classification_is_saved_under_its_class, a_model_of_another_head_keeps_its_body, what_is_not_there_is_refused]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--families", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--ranks", nargs="*", type=int, default=[2, 4])
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    run_scenarios(SCENARIOS, options.scenarios, lambda folder: Encoders(folder, options))


if __name__ == "__main__":
    main()
