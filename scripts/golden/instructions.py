#!/usr/bin/env python3
"""Instruction data as TRL's SFTTrainer prepares them: tests/golden/tasks/instructions.json.

  instructions.py OUTPUT.json      needs trl 1.16 beside transformers and datasets
"""
import json
import random
import sys
import tempfile

TEMPLATE = ("{% for m in messages %}<|turn|>{{ m['role'] }}\n{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }}<|end|>"
            "{% endgeneration %}{% else %}{{ m['content'] }}<|end|>{% endif %}\n{% endfor %}"
            "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}")
TOOLS_TEMPLATE = "{% if tools %}{% for t in tools %}[{{ t['function']['name'] }}]{% endfor %}{% endif %}{{ style | default('') }}" + TEMPLATE
WORDS = "the old river bends slowly past a quiet town where nobody asks why".split()


def words(numbers, least, most):
    return " ".join(numbers.choice(WORDS) for _ in range(numbers.randint(least, most)))


def conversation(numbers, turns):
    talk = [{"role": "system", "content": words(numbers, 1, 3)}] if numbers.random() < 0.3 else []
    for _ in range(turns):
        talk += [{"role": "user", "content": words(numbers, 1, 8)}, {"role": "assistant", "content": words(numbers, 1, 8)}]
    return talk


def tokenizer_folder(folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<pad>", "<bos>", "<eos>", "<|turn|>", "<|end|>"]
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator([" ".join(WORDS)] * 4, trainer)
    made.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A $B", special_tokens=[("<bos>", 1)])
    fast = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", chat_template=TEMPLATE)
    fast.save_pretrained(folder)
    return fast


def case_rows():
    numbers = random.Random(3)
    talks = [conversation(numbers, numbers.randint(1, 3)) for _ in range(8)]
    texts = [{"text": words(numbers, 1, 12) + (" <eos>" if i % 3 == 0 else "")} for i in range(8)] + [{"text": ""}]
    pairs = [{"prompt": words(numbers, 1, 9), "completion": " " + words(numbers, 1, 9)} for _ in range(8)] + [{"prompt": "riv", "completion": "er"}]
    messages = [{"messages": talk} for talk in talks]
    split = [{"prompt": talk[:-1], "completion": talk[-1:]} for talk in talks]
    old = [{"conversations": [{"from": m["role"], "value": m["content"]} for m in talk]} for talk in talks]
    tools = [{"messages": talk, "tools": json.dumps([{"type": "function", "function": {"name": "look" + str(i)}}])} for i, talk in enumerate(talks)]
    styled = [{"messages": talk, "chat_template_kwargs": {"style": "plain "}} for talk in talks]
    return [("texts", texts, {}), ("texts by another name", [{"content": r["text"]} for r in texts], {"dataset_text_field": "content"}),
            ("another end", texts[:8], {"eos_token": "<|end|>"}),
            ("pairs", pairs, {}), ("pairs whole", pairs, {"completion_only_loss": False}), ("pairs cut", pairs, {"max_length": 7}),
            ("pairs cut in front", pairs, {"max_length": 6, "truncation_mode": "keep_end"}),
            ("messages", messages, {}), ("messages of the assistant", messages, {"assistant_only_loss": True}),
            ("messages of the assistant cut", messages, {"assistant_only_loss": True, "max_length": 24}),
            ("prompt and completion", split, {}), ("prompt and completion of the assistant", split, {"assistant_only_loss": True}),
            ("prompt and completion whole", split, {"completion_only_loss": False}),
            ("conversations", old, {}), ("tools", tools, {"chat_template_path": TOOLS_TEMPLATE}),
            ("names for the template", styled, {"chat_template_path": TOOLS_TEMPLATE}),
            ("packed", messages, {"packing": True, "max_length": 48}),
            ("packed and split", messages, {"packing": True, "max_length": 30, "packing_strategy": "bfd_split", "assistant_only_loss": True}),
            ("wrapped", pairs, {"packing": True, "max_length": 16, "packing_strategy": "wrapped"}),
            ("shuffled", pairs, {"shuffle_dataset": True}),
            ("shuffled and packed", pairs, {"shuffle_dataset": True, "packing": True, "max_length": 20}), *token_cases(numbers)]


def token_cases(numbers):
    """Rows that somebody else has tokenised."""
    tokens = [[numbers.randrange(5, 250) for _ in range(numbers.randint(1, 14))] for _ in range(10)]
    labels = [{"input_ids": ids, "labels": [-100 if numbers.random() < 0.4 else i for i in reversed(ids)], "text": "not looked at"} for ids in tokens]
    masks = [{"input_ids": ids, "completion_mask": [int(i > 2) for i in range(len(ids))], "assistant_masks": [numbers.randint(0, 1) for _ in ids]} for ids in tokens]
    worded = [{"prompt": "the", "completion": " river", **{k: v for k, v in row.items() if k != "assistant_masks"}} for row in masks]
    return [("tokens", [{"input_ids": ids} for ids in tokens], {}), ("tokens with labels", labels, {}), ("tokens with labels cut", labels, {"max_length": 5}),
            ("tokens with labels cut in front", labels, {"max_length": 4, "truncation_mode": "keep_end"}),
            ("tokens with labels, masks unread", [{**a, **b} for a, b in zip(labels, masks)], {"completion_only_loss": True}),
            ("tokens with masks", masks, {}), ("tokens with masks of truth values", [{k: v if k == "input_ids" else list(map(bool, v)) for k, v in row.items()} for row in masks], {}), ("tokens with masks of completions", masks, {"completion_only_loss": True}),
            ("tokens beside words", worded, {}), ("tokens beside words, whole", worded, {"completion_only_loss": False}),
            ("tokens packed", masks, {"packing": True, "max_length": 16}),
            ("tokens with labels packed and split", labels, {"packing": True, "max_length": 6, "packing_strategy": "bfd_split"})]


def prepared(folder, name, rows, flags):
    from datasets import Dataset
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
    from trl import SFTConfig, SFTTrainer
    given = dict(flags)
    if "chat_template_path" in given:
        with open(folder + "/tools.jinja", "w") as file:
            file.write(given["chat_template_path"])
        given["chat_template_path"] = folder + "/tools.jinja"
    model = LlamaForCausalLM(LlamaConfig(vocab_size=320, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1))
    config = SFTConfig(output_dir=folder + "/out", use_cpu=True, bf16=False, report_to=[], **given)
    trainer = SFTTrainer(model=model, args=config, train_dataset=Dataset.from_list(rows), processing_class=AutoTokenizer.from_pretrained(folder))
    made = trainer.train_dataset
    case = {"name": name, "rows": rows, "flags": flags, "input_ids": list(map(list, made["input_ids"])), "labels": list(map(list, made["labels"]))}
    if "seq_lengths" in made.column_names:
        case["seq_lengths"] = list(map(list, made["seq_lengths"]))
    return case


def packed(numbers, longest, strategy):
    from datasets import Dataset
    from trl import pack_dataset
    lengths = [numbers.choice([0, 1, 2, longest, longest + 1, numbers.randint(1, 3 * longest), numbers.randint(1, longest)]) for _ in range(numbers.randint(1, 60))]
    begins = [sum(lengths[:i]) for i in range(len(lengths))]
    rows = Dataset.from_dict({"input_ids": [list(range(b, b + n)) for b, n in zip(begins, lengths)]})
    owner = [i for i, n in enumerate(lengths) for _ in range(n)]
    sequences = []
    for row in pack_dataset(rows, longest, strategy):
        ids, pieces = row["input_ids"], []
        starts = [sum(row["seq_lengths"][:i]) for i in range(len(row["seq_lengths"]))] if "seq_lengths" in row else [
            i for i in range(len(ids)) if i == 0 or owner[ids[i]] != owner[ids[i - 1]]]
        for start, end in zip(starts, starts[1:] + [len(ids)]):
            sample = owner[ids[start]]
            pieces.append([sample, ids[start] - begins[sample], end - start])
        sequences.append(pieces)
    return {"lengths": lengths, "longest": longest, "strategy": strategy, "sequences": [s for s in sequences if s]}


def main():
    with tempfile.TemporaryDirectory() as folder:
        tokenizer_folder(folder)
        cases = [prepared(folder, *case) for case in case_rows()]
        with open(folder + "/tokenizer.json") as file:
            tokenizer = json.load(file)
    numbers = random.Random(11)
    packs = [packed(numbers, numbers.randint(2, 20), strategy) for strategy in ("bfd", "bfd_split", "wrapped") for _ in range(12)]
    document = {"tokenizer": tokenizer, "config": {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"}, "template": TEMPLATE,
                "cases": cases, "packing": packs}
    with open(sys.argv[1], "w") as file:
        json.dump(document, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
