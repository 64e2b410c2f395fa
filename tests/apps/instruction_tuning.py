#!/usr/bin/env python3
"""Instruction data from JSON lines to a trained model: answers are learned, packed rows give what single ones give, on two ranks and after
a resume too; flags act by the command line and by a file; what cannot be learned is refused.

  instruction_tuning.py [SCENARIO]…     all of them without a word
"""
import filecmp
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from errors_have_four_parts import parts_of
from runs import HFTRAIN, Fixture, expect, read_json, records, run_scenarios
from tiny_tasks import rows, write

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/instruction-tuning.md")
MODEL = "hidden_size=64,intermediate_size=128,num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,max_position_embeddings=256,vocab_size=512"
TEMPLATE = ("{% for m in messages %}{% if m['role'] not in ['system', 'user', 'assistant'] %}{{ raise_exception('there is no role ' ~ m['role']) }}{% endif %}"
            "{{ m['role'] }}: {% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }}{{ eos_token }}{% endgeneration %}{% else %}{{ m['content'] }}{% endif %}\n"
            "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}")


def talk(question, answer):
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


class Instructions(Fixture):
    def __init__(self, folder):
        super().__init__(folder)
        self.rows = os.path.join(self.folder, "rows")
        self.call("sample-data", "instructions", self.rows, "--size", "30000", "--seed", "3")
        self.train, self.valid = (os.path.join(self.rows, name + ".jsonl") for name in ("train", "validation"))
        write(self.folder, {"chat/chat_template.jinja": TEMPLATE, "plain.jinja": TEMPLATE.replace("{% generation %}", "").replace("{% endgeneration %}", "")})
        self.chat = os.path.join(self.folder, "chat")
        for name in os.listdir(self.tokenizer):
            shutil.copy(os.path.join(self.tokenizer, name), self.chat)

    def flags(self, output, *more, ranks=1, batch=8, train=None, tokenizer=None):
        return ["--task", "sft", "--model_type", "llama", "--config_overrides", MODEL, "--tokenizer_name", tokenizer or self.chat, "--train_file", train or self.train,
                "--use_cpu", "--do_train", "--nproc_per_node", str(ranks), "--per_device_train_batch_size", str(batch), "--output_dir", str(output),
                "--logging_steps", "1", "--learning_rate", "3e-3", "--lr_scheduler_type", "constant", "--save_strategy", "no", *map(str, more)]


def losses(output):
    return {r["step"]: r["loss"] for r in records(output) if "loss" in r}


def same_weights(a, b):
    return filecmp.cmp(os.path.join(a, "model.safetensors"), os.path.join(b, "model.safetensors"), shallow=False)


def answers_are_learned(fixture, folder):
    """What an assistant answers follows from the question, so that its loss falls far below the 6.2 of a model that knows nothing."""
    found = {}
    for name, more in (("answers", ["--assistant_only_loss"]), ("rows", [])):
        output = os.path.join(folder, name)
        fixture.call(*fixture.flags(output, "--packing", "--max_length", 128, "--num_train_epochs", 12, "--do_eval", "--validation_file", fixture.valid, *more))
        found[name] = read_json(output, "eval_results.json")["eval_loss"]
    expect(found["answers"] < 0.35 and found["answers"] != found["rows"], "answers are known, and not all of a row counts", found)
    output = os.path.join(folder, "answers")
    with open(os.path.join(output, "chat_template.jinja")) as file:
        expect(file.read() == TEMPLATE, "the template is saved", output)
    settings = read_json(output, "tokenizer_config.json")
    expect(settings["pad_token"] == settings["eos_token"] == "<|endoftext|>", "the end of text is the padding", settings)
    again = os.path.join(folder, "again")
    fixture.call("--task", "sft", "--model_name_or_path", output, "--validation_file", fixture.valid, "--do_eval", "--use_cpu", "--assistant_only_loss", "--packing",
                 "--max_length", "128", "--output_dir", again)
    expect(read_json(again, "eval_results.json")["eval_loss"] == found["answers"], "the saved model gives the same", again)


def packed_rows_give_what_single_rows_give(fixture, folder):
    """An update sees all rows: its loss is the same whether they stand alone, padded, or packed in any way, on one rank and on two. So is that of
    the next update, whose weights its gradient made."""
    some = os.path.join(folder, "some.jsonl")
    with open(fixture.train) as file:
        lines = file.readlines()[:24]
    with open(some, "w") as file:
        file.writelines(lines)
    ways = {"padded": [], "joined": ["--padding_free", "--max_length", "null"], "bfd": ["--packing", "--max_length", 96],
            "split": ["--packing", "--packing_strategy", "bfd_split", "--max_length", 96], "recomputed": ["--packing", "--max_length", 96, "--gradient_checkpointing"]}
    found = {}
    for name, more in ways.items():
        for ranks in (1, 2):
            output = os.path.join(folder, f"{name}{ranks}")
            sharded = ["--fsdp", "full_shard"] if ranks == 2 else []
            fixture.call(*fixture.flags(output, "--max_steps", 2, "--assistant_only_loss", "--gradient_accumulation_steps", 24 // 3 // ranks, *more, *sharded, ranks=ranks, batch=3,
                                        train=some))
            found[name, ranks] = losses(output), read_json(output, "hftrain/plan.json")["data"]["train"]["samples"]
    wanted, count = found["padded", 1]
    expect(count == 24 and found["bfd", 1][1] < 15, "samples", found)
    for key, (given, _) in found.items():
        expect(given.keys() == wanted.keys() == {1, 2} and wanted[2] < wanted[1], f"{key} takes two steps", found)
        for step, bar in ((1, 1e-6), (2, 1e-5)):
            expect(abs(given[step] - wanted[step]) <= bar * wanted[step], f"{key} gives the loss of single rows at step {step}", found)


def a_run_resumed_within_packed_rows_gives_the_same_bits(fixture, folder):
    straight, parts = os.path.join(folder, "straight"), os.path.join(folder, "parts")
    common = ["--packing", "--max_length", 96, "--shuffle_dataset", "--save_strategy", "steps", "--save_steps", 5, "--gradient_accumulation_steps", 2, "--gradient_checkpointing"]
    fixture.call(*fixture.flags(straight, *common, "--max_steps", 11))
    fixture.call(*fixture.flags(parts, *common, "--max_steps", 6))
    fixture.call(*fixture.flags(parts, *common, "--max_steps", 11))
    expect(losses(straight) == losses(parts) and len(losses(parts)) == 11, "losses", [losses(straight), losses(parts)])
    expect(same_weights(straight, parts), "weights", parts)
    one, two = os.path.join(folder, "replicas"), os.path.join(folder, "sharded")
    fixture.call(*fixture.flags(one, *common, "--max_steps", 4, ranks=2))
    fixture.call(*fixture.flags(two, *common, "--max_steps", 4, "--fsdp", "full_shard", ranks=2))
    expect(losses(one) == losses(two), "sharded, bit for bit", [losses(one), losses(two)])


def seen(output):
    data = read_json(output, "hftrain", "plan.json")["data"]
    return {"losses": losses(output), "eval": {r["step"]: r["eval_loss"] for r in records(output) if "eval_loss" in r}, "padding": data["padding"]["multiple"],
            "joins": data["joins_samples"], "samples": [data[split]["samples"] for split in ("train", "validation")],
            "tokenizer": read_json(output, "tokenizer_config.json")}


def every_flag_acts_by_flag_and_by_file(fixture, folder):
    write(folder, {"texts.jsonl": rows(*({"text": f"the river {i}", "other": f"a town {i} {i}", "prompt_": "x"} for i in range(9))),
                   "tokens.jsonl": rows(*({"input_ids": [60 + i, 61, 62, 63 + i], "completion_mask": [0, 0, 1, 1]} for i in range(9))),
                   "pairs.jsonl": rows(*({"prompt": f"what is {i} and {i}?", "completion": f" it is {2 * i}"} for i in range(9)))})
    texts, pairs, tokens = (os.path.join(folder, name + ".jsonl") for name in ("texts", "pairs", "tokens"))
    plain = os.path.join(fixture.folder, "plain.jinja")
    other = os.path.join(folder, "other.jinja")
    write(folder, {"other.jinja": TEMPLATE.replace("assistant: ", "A: ").replace("}}: {%", "}}> {%")})
    packed = ["--packing", "--max_length", "64"]
    changes = [("dataset_text_field", "other", texts, []), ("chat_template_path", other, None, []), ("max_length", 12, None, []),
               ("truncation_mode", "keep_end", None, ["--max_length", "12"]), ("packing", True, None, ["--max_length", "64"]),
               ("packing_strategy", "wrapped", None, packed), ("packing_strategy", "bfd_split", None, ["--packing", "--max_length", "16"]),
               ("padding_free", True, None, ["--max_length", "null"]), ("eval_packing", False, None, packed), ("completion_only_loss", False, pairs, []), ("completion_only_loss", True, tokens, []),
               ("assistant_only_loss", True, None, []), ("eos_token", "?", pairs, []), ("pad_token", "!", None, []), ("pad_to_multiple_of", 64, None, []),
               ("shuffle_dataset", True, None, []), ("loss_type", "dft", None, []), ("loss_type", "dft", None, packed)]
    for number, (flag, value, train, more) in enumerate(changes):
        def run(name, *words):
            output = os.path.join(folder, f"{number}{name}")
            train_file = train or fixture.train
            fixture.call(*fixture.flags(output, "--max_steps", 2, "--do_eval", "--validation_file", train or fixture.valid, "--max_train_samples", 20, *more, *words,
                                        train=train_file))
            return seen(output)
        base, by_flag = run("base"), run("flag", *(["--" + flag] if value is True else ["--" + flag, value]))
        path = os.path.join(folder, f"{number}.yaml")
        with open(path, "w") as file:
            json.dump({flag: value}, file)
        by_file = run("file", "--config", path)
        expect(by_flag == by_file, f"{flag} by flag and by file", [by_flag, by_file])
        expect(by_flag != base, f"{flag} {value} changes something", base)
        differs = {"padding_free": "joins", "eval_packing": "eval", "pad_token": "tokenizer", "pad_to_multiple_of": "padding"}.get(flag, "losses")
        expect(by_flag[differs] != base[differs], f"{flag} changes {differs}", [base, by_flag])
    perplexities = ["perplexity" in read_json(folder, name, "eval_results.json") for name in ("16base", "16flag")]
    expect(perplexities == [True, False], "dft has no perplexity", perplexities)
    expect(run("threads", "--dataset_num_proc", 1) == run("more-threads", "--dataset_num_proc", 3, "--overwrite_cache"), "threads change nothing", texts)
    told = fixture.call(*fixture.flags(os.path.join(folder, "told"), "--max_steps", 1)).stderr
    expect("2e-5" not in told, "a rate that was chosen needs no notice", told)
    without = [word for word in fixture.flags(os.path.join(folder, "rate"), "--max_steps", 1)]
    at = without.index("--learning_rate")
    told = fixture.call(*without[:at], *without[at + 2:]).stderr
    expect("5e-05" in told and "2e-05" in told, "TRL's rate is named", told)
    unmarked = [os.path.join(folder, "unmarked"), "--max_steps", 2, "--chat_template_path", plain]
    told = fixture.call(*fixture.flags(*unmarked, "--assistant_only_loss")).stderr
    expect("the training data: the chat template marks nothing with {% generation %}" in told, "what counts without marks is told", told)
    answers = losses(unmarked[0])
    whole = os.path.join(folder, "whole")
    fixture.call(*fixture.flags(whole, *unmarked[1:]))
    expect(answers != losses(whole), "without marks answers alone count", answers)
    write(folder, {"unopened.jinja": "{% for m in messages %}{{ m['content'] }}{% endfor %}"})
    result = fixture.call(*fixture.flags(os.path.join(folder, "plain"), "--assistant_only_loss", "--chat_template_path", os.path.join(folder, "unopened.jinja")), expect=4)
    expect(parts_of(result.stderr) == [{"what", "where", "why", "try"}] and "{% generation %}" in result.stderr, "no marks and no opening", result.stderr)


def a_templates_folder_brings_the_one_end(fixture, folder):
    model = os.path.join(folder, "model")
    fixture.call(*fixture.flags(model, "--max_steps", 1, "--max_train_samples", 16))
    own = read_json(model, "generation_config.json")
    end = own["eos_token_id"]
    for name, template, ends in (("folder", fixture.chat, end), ("file", os.path.join(fixture.chat, "chat_template.jinja"), [7, end])):
        write(folder, {"model/generation_config.json": json.dumps({**own, "eos_token_id": [7, end]})})
        output = os.path.join(folder, name)
        words = fixture.flags(output, "--max_steps", 1, "--max_train_samples", 16, "--model_name_or_path", model, "--chat_template_path", template)
        for flag in ("--model_type", "--config_overrides"):
            at = words.index(flag)
            del words[at:at + 2]
        fixture.call(*words)
        expect(read_json(output, "generation_config.json")["eos_token_id"] == ends, f"the ends beside a template's {name}", read_json(output, "generation_config.json"))


def what_cannot_be_learned_is_refused(fixture, folder):
    output = os.path.join(folder, "out")

    def refused(said, code, content, *more, name="rows.jsonl", tokenizer=None):
        write(folder, {name: content})
        words = fixture.flags(output, "--max_steps", 1, *more, train=os.path.join(folder, name), tokenizer=tokenizer)
        result = subprocess.run([HFTRAIN, *words], env=fixture.environment, text=True, capture_output=True, timeout=60)
        told = f"{content[:200]} {more}\ncode {result.returncode}\n{result.stderr}"
        expect(result.returncode == code, f"exit code {code}", told)
        expect(parts_of(result.stderr) == [{"what", "where", "why", "try"}], "one message of four parts", told)
        expect(said in result.stderr, f"'{said}' is said", told)
        expect(not os.path.exists(output), "nothing is written", told)
        return result
    good = rows({"messages": talk("x", "y")})
    refused("no columns of instruction data", 4, rows({"question": "a", "answer": "b"}))
    refused("no column 'completion'", 4, rows({"prompt": "a"}))
    refused("preferences", 4, rows({"prompt": "a", "chosen": "b", "rejected": "c"}))
    refused("there is no role robot", 4, good + rows({"messages": [{"role": "robot", "content": "x"}]}))
    refused("rows.jsonl:2", 4, good + rows({"messages": []}))
    refused("has no role", 4, rows({"messages": [{"content": "x"}]}))
    refused("no list of messages", 4, "messages\nhello\n", name="rows.csv")
    refused("the tokenizer has no chat template", 4, good, tokenizer=fixture.tokenizer)
    refused("nothing of a row is marked", 4, rows({"messages": [{"role": "user", "content": "x"}]}), "--assistant_only_loss")
    refused("a row is a text", 4, rows({"text": "x"}), "--assistant_only_loss")
    refused("within --max_length", 4, rows({"prompt": "a b c d e f g", "completion": " h"}), "--max_length", 3)
    refused("do not go together", 2, good, "--packing", "--max_length", "null")
    refused("do not go together", 2, good, "--padding_free")
    refused("'nothing like it'", 2, good, "--eos_token", "nothing like it")
    refused("'nothing like it'", 2, good, "--pad_token", "nothing like it")
    refused("no number of tokens", 2, good, "--pad_to_multiple_of", "many")
    refused("--task sft does not read --block_size", 2, good, "--block_size", 64)
    refused("another trainer", 2, good, "--beta", "0.1")
    refused("do not go together", 2, good, "--loss_type", "dft", "--label_smoothing_factor", "0.1")
    refused("--loss_type", 2, good, "--loss_type", "ce")
    for key, value in (("dataset_kwargs", {"skip_prepare_dataset": False}), ("datasets", [{"path": "x"}])):
        write(folder, {"natural.yaml": json.dumps({key: value})})
        refused(f"{key} is not supported", 2, good, "--config", os.path.join(folder, "natural.yaml"))
    refused("number 1 of the input_ids", 4, rows({"input_ids": [512]}))
    broken = os.path.join(folder, "broken.jinja")
    write(folder, {"broken.jinja": "{% for m in messages %}"})
    refused("rows.jsonl:1", 4, good, "--chat_template_path", broken)
    refused("--chat_template_path", 4, good, "--chat_template_path", os.path.join(folder, "absent"))
    told = refused("absent.jinja", 4, good, "--chat_template_path", "absent.jinja").stderr
    expect("no such file" in told and "hftrain fetch" not in told, "a template's file that is not there is no model of the hub", told)


def the_run_of_the_page_works(fixture, folder):
    with open(PAGE) as file:
        page = file.read()
    os.chdir(folder)
    for name, content in re.findall(r"`([\w.]+)`:\n\n((?:    .*\n)+)", page):
        write(folder, {name: "".join(line[4:] + "\n" for line in content.splitlines())})
    commands = [line.strip() for line in page.replace("\\\n", " ").splitlines() if line.startswith("    hftrain ")]
    expect(len(commands) >= 4, "the page has commands", commands)
    said = [fixture.call(*shlex.split(command)[1:]).stdout for command in commands]
    expect(os.path.exists("assistant/chat_template.jinja"), "a model with its template", os.listdir(folder))
    answers = [words for command, words in zip(commands, said) if " generate " in command]
    expect(answers == ["It begins with r.\n"] + 2 * ["I am a small model.\n"], "what the page says that is answered", answers)
    for answer in answers:
        expect(f"`{answer.strip()}`" in page, "the page says so", answer)


SCENARIOS = [answers_are_learned, packed_rows_give_what_single_rows_give, a_run_resumed_within_packed_rows_gives_the_same_bits, every_flag_acts_by_flag_and_by_file,
             a_templates_folder_brings_the_one_end, what_cannot_be_learned_is_refused, the_run_of_the_page_works]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Instructions)
