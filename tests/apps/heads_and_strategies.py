#!/usr/bin/env python3
"""Every family with every head under every strategy, by whole runs of the built program: on 2 and 4 ranks against DDP on as many, and
saved on 4 ranks and resumed by one.

  heads_and_strategies.py [--families NAME…] [--tasks NAME…] [--strategies NAME…] [--ranks 2 4] [--no_resume] [--table FILE]

On 2 ranks models drop out, so the strategies must not disturb random numbers. On 4 ranks they do not, and the checkpoint of step 2
is resumed by plain training on one rank with as much accumulation. A cell says how the losses and the final weights compare:
"=" the same bits, a figure the largest relative difference of a loss (the weights then differ, too); behind the slash that of the
losses of the resumed run. Without options the whole matrix: 43 heads, about an hour on two cores. The last line names what differs from expectation.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from classified_rows import write_rows
from runs import Fixture, largest, records
from strategies_agree import parameters_of

STEPS, SAVED = 4, 2
SIZES = dict(num_hidden_layers=2, num_attention_heads=4, hidden_size=32, intermediate_size=48, max_position_embeddings=96, vocab_size=512)
LLAMA = dict(SIZES, num_key_value_heads=2, attention_dropout=0.1)
BERT_DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")
FAMILIES = {  # name: (config, keys of dropout, class of blocks, tasks)
    "bert": (SIZES, BERT_DROPOUTS, "BertLayer", "mlm classes tags answers"),
    "roberta": (SIZES, BERT_DROPOUTS, "RobertaLayer", "mlm classes tags answers"),
    "distilbert": (dict(n_layers=2, n_heads=4, dim=32, hidden_dim=48, max_position_embeddings=96, vocab_size=512),
                   ("dropout", "attention_dropout", "qa_dropout", "seq_classif_dropout"), "TransformerBlock", "mlm classes tags answers"),
    "t5": (dict(d_model=32, d_kv=8, num_heads=4, d_ff=48, num_layers=2, vocab_size=512, decoder_start_token_id=0),
           ("dropout_rate", "classifier_dropout"), "T5Block", "texts classes tags answers"),
    "bart": (dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                  encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=512, max_position_embeddings=96),
             ("dropout", "attention_dropout", "activation_dropout", "classifier_dropout"), "BartEncoderLayer,BartDecoderLayer",
             "texts classes answers"),
    "vit": (dict(num_hidden_layers=2, num_attention_heads=4, hidden_size=32, intermediate_size=48, image_size=16, patch_size=4),
            BERT_DROPOUTS, "ViTLayer", "images"),
    "gpt2": (dict(n_layer=2, n_head=4, n_embd=32, n_positions=96, vocab_size=512, bos_token_id=0, eos_token_id=0),
             ("embd_pdrop", "attn_pdrop", "resid_pdrop"), "GPT2Block", "clm classes tags answers"),
    "llama": (LLAMA, ("attention_dropout",), "LlamaDecoderLayer", "clm classes tags answers"),
    "qwen2": (LLAMA, ("attention_dropout",), "Qwen2DecoderLayer", "clm classes tags answers"),
    "qwen3": (dict(LLAMA, head_dim=8), ("attention_dropout",), "Qwen3DecoderLayer", "clm classes tags answers"),
    "mistral": (LLAMA, ("attention_dropout",), "MistralDecoderLayer", "clm classes tags answers"),
    "gemma": (dict(LLAMA, head_dim=8), ("attention_dropout",), "GemmaDecoderLayer", "clm classes tags"),
}
AUTO = {key: "auto" for key in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping")}


def fsdp(words, **config):
    return lambda layer, ranks: ["--fsdp", words + " auto_wrap", "--fsdp_transformer_layer_cls_to_wrap", layer,
                                 *(["--fsdp_config", json.dumps(config)] if config else [])]


def deepspeed(stage, **more):
    return lambda layer, ranks: ["--deepspeed", json.dumps(dict(AUTO, zero_optimization=dict(stage=stage, **more)))]


STRATEGIES = {  # name: flags for a class of blocks and a number of ranks
    "ddp": lambda layer, ranks: [],
    "ddp-recomputed": lambda layer, ranks: ["--gradient_checkpointing"],
    "zero1": lambda layer, ranks: ["--sharded_ddp", "simple"],
    "zero2": deepspeed(2),
    "zero3": deepspeed(3),
    "zero3-offload": deepspeed(3, offload_optimizer=dict(device="cpu"), offload_param=dict(device="cpu")),
    "shard_grad_op": fsdp("shard_grad_op"),
    "full_shard": fsdp("full_shard"),
    "full_shard-recomputed": fsdp("full_shard", activation_checkpointing=True),
    "offload": fsdp("full_shard offload"),
    "one-unit": lambda layer, ranks: ["--fsdp", "full_shard", "--fsdp_config", '{"auto_wrap_policy": "NO_WRAP"}'],
    "sharded-files": fsdp("full_shard", state_dict_type="SHARDED_STATE_DICT"),
    "hybrid": lambda layer, ranks: [*fsdp("hybrid_shard")(layer, ranks), "--parallelism_config",
                                    json.dumps({"dp_replicate_size": 2, "dp_shard_size": ranks // 2})],
}
SAME_BITS = [name for name in STRATEGIES if name not in ("hybrid", "one-unit")]  # as the causal task has them
BOUND = 1e-6  # of the others, and of resumed runs


class Heads(Fixture):
    """Sample data of every task, and a tokenizer that ends every text for the families that have a decoder besides."""

    def __init__(self, folder):
        super().__init__(folder)
        self.data = {name: os.path.join(self.folder, "data-" + name) for name in ("tags", "qa", "seq2seq", "images")}
        for name, place in self.data.items():
            self.call("sample-data", name, place, "--size", "200000" if name == "images" else "30000", "--seed", "1")
        self.rows = write_rows(self.text, os.path.join(self.folder, "rows.csv"))
        self.tokenizers = {}
        for kind in ("wordpiece", "unigram"):
            self.tokenizers[kind] = os.path.join(self.folder, kind)
            self.call("tokenizer", "train", "--kind", kind, "--vocab_size", "500", "--files", self.text, "--output", self.tokenizers[kind])

    def data_flags(self, task):
        rows = lambda name: ["--train_file", os.path.join(self.data[name], "train.jsonl")]
        return {"clm": ["--task", "clm", "--train_file", self.text, "--block_size", 64],
                "mlm": ["--task", "mlm", "--train_file", self.text, "--max_seq_length", 64, "--line_by_line"],
                "classes": ["--task", "text-classification", "--train_file", self.rows, "--max_seq_length", 30],
                "tags": ["--task", "token-classification", *rows("tags")],
                "answers": ["--task", "question-answering", *rows("qa"), "--max_seq_length", 80, "--doc_stride", 16],
                "texts": ["--task", "summarization", *rows("seq2seq"), "--max_source_length", 48, "--max_target_length", 24],
                "images": ["--task", "image-classification", "--train_dir", os.path.join(self.data["images"], "train")]}[task]

    def train(self, family, task, output, ranks, dropout, *more):
        """(losses by step, numbers and hash of the final weights)"""
        config, dropouts, _, _ = FAMILIES[family]
        config = dict(config, model_type=family, **{key: dropout for key in (*dropouts, "classifier_dropout")})
        path = os.path.join(self.folder, f"{family}-{dropout}.json")
        unfinished = f"{path}.{threading.get_ident()}"
        with open(unfinished, "w") as file:
            json.dump(config, file)
        os.rename(unfinished, path)  # of which another run may just read
        tokenizer = self.tokenizers["unigram" if family in ("t5", "bart") else "wordpiece"]
        self.call(*map(str, [*self.data_flags(task), "--config_name", path, *([] if task == "images" else ["--tokenizer_name", tokenizer]),
                             "--use_cpu", "--do_train", "--max_steps", STEPS, "--logging_steps", 1, "--learning_rate", 1e-3, "--weight_decay", 0.1, "--per_device_train_batch_size", 2,
                             "--nproc_per_node", ranks, "--output_dir", output, *more]))
        return {r["step"]: r["loss"] for r in records(output) if "loss" in r}, parameters_of(output)


def worst(losses, expected):
    if not losses or any(step not in expected for step in losses) or max(losses) != STEPS:
        return float("inf")
    return largest(abs(loss - expected[step]) / abs(expected[step]) for step, loss in losses.items())


class Cell:
    """One head under all strategies asked for."""

    def __init__(self, fixture, family, task, options):
        self.fixture, self.family, self.task, self.options = fixture, family, task, options
        self.place = os.path.join(fixture.folder, f"{family}-{task}")
        self.failures, self.words = [], {}

    def run(self):
        for ranks in self.options.ranks:
            base = self.one("ddp", ranks, None)
            for strategy in self.options.strategies:
                if strategy != "ddp" and (strategy != "hybrid" or ranks >= 4):
                    self.one(strategy, ranks, base)
        shutil.rmtree(self.place, ignore_errors=True)
        return {name: " ".join(words) for name, words in self.words.items()}

    def one(self, strategy, ranks, base):
        try:
            found, word = self.trained(strategy, ranks, base)
        except SystemExit as failure:
            found, word = None, "ends"
            self.failures.append(f"{self.family} {self.task} {strategy} on {ranks}: {failure}")
        self.words.setdefault(strategy, []).append(word)
        return found

    def trained(self, strategy, ranks, base):
        output = os.path.join(self.place, f"{strategy}-{ranks}")
        resumes = ranks == 4 and self.options.resume
        flags = STRATEGIES[strategy](FAMILIES[self.family][2], ranks)
        saves = ["--save_strategy", "steps", "--save_steps", SAVED] if resumes else ["--save_strategy", "no"]
        found = self.fixture.train(self.family, self.task, output, ranks, 0 if resumes else 0.1, *flags, *saves)
        word = self.compared(strategy, ranks, found, base or found)
        if resumes:
            word += "/" + self.resumed(strategy, output, found)
        return found, word

    def compared(self, strategy, ranks, found, base):
        if found == base:
            return "="
        apart = worst(found[0], base[0])
        if strategy in SAME_BITS or not apart <= BOUND:
            self.failures.append(f"{self.family} {self.task} {strategy} on {ranks}: losses {found[0]}, DDP's {base[0]}, "
                                 f"weights {'equal' if found[1] == base[1] else 'differ'}")
        return f"{apart:.0e}" if apart > 0 else "0"

    def resumed(self, strategy, straight, found):
        alone, _ = self.fixture.train(self.family, self.task, straight + "-1", 1, 0, "--save_strategy", "no", "--gradient_accumulation_steps",
                                      4, "--resume_from_checkpoint", os.path.join(straight, f"checkpoint-{SAVED}"))
        apart = worst(alone, found[0])
        if not apart <= BOUND or sorted(alone) != list(range(SAVED + 1, STEPS + 1)):
            self.failures.append(f"{self.family} {self.task} {strategy} resumed: losses {alone}, straight {found[0]}")
        return "=" if apart == 0 else f"{apart:.0e}"


def render(table, strategies):
    lines = ["| head | " + " | ".join(strategies) + " |", "|---" * (len(strategies) + 1) + "|"]
    return "\n".join(lines + [f"| {head} | " + " | ".join(words.get(name, "") for name in strategies) + " |" for head, words in table.items()]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--strategies", nargs="*", choices=STRATEGIES, default=list(STRATEGIES))
    parser.add_argument("--ranks", nargs="*", type=int, default=[2, 4])
    parser.add_argument("--no_resume", dest="resume", action="store_false")
    parser.add_argument("--table", help="a file that gets the table")
    options = parser.parse_args()
    table, failures = {}, []
    with tempfile.TemporaryDirectory(prefix="hftrain-heads-") as folder:
        fixture = Heads(folder)
        for family in options.families:
            for task in FAMILIES[family][3].split():
                if options.tasks and task not in options.tasks:
                    continue
                cell = Cell(fixture, family, task, options)
                table[f"{family}, {task}"] = cell.run()
                failures += cell.failures
                print(family, task, table[f"{family}, {task}"], *cell.failures, sep="\n  ", flush=True)
                if options.table:
                    with open(options.table, "w") as file:
                        file.write(render(table, options.strategies))
    print(f"{len(table)} heads, {len(failures)} of their runs differ from what is expected", flush=True)
    sys.exit(1 if failures or not table else 0)


if __name__ == "__main__":
    main()
