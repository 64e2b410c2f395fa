#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: small inputs that their readers accept, and a few that come close. Beside them
the words that a target's inputs are made of, for libFuzzer to put in.

Usage: tests/fuzz/make_seeds.py      (into tests/fuzz/seeds and tests/fuzz/words; the files are committed)
"""
import base64
import collections
import copyreg
import io
import json
import os
import pathlib
import pickle
import re
import struct
import sys
import types
import zipfile

folder = pathlib.Path(__file__).parent / "seeds"
sys.path.insert(0, str(folder.parents[2] / "scripts" / "golden"))
from charsmap import compile_charsmap  # noqa: E402


def seed(target, name, content):
    path = folder / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def parts(*texts):
    return b"\0".join(text if isinstance(text, bytes) else text.encode() for text in texts)


def control_messages():
    fact = {"agent": 1, "host": "b"}
    ready = json.dumps({"event": "ready", "rank": 1, "time": 0.5, "data": {"seconds": 0.5}})
    messages = {
        "hello": {"token": "t", "job_id": "j", "agent": 1, "agents": 2, "host": "b", "version": "0.1.0", "build": "x"},
        "welcome": {"host": "a"},
        "refusal": {"exit_code": 2, "text": "no"},
        "look_for_folder": {"path": "/o/hftrain/mark", "mark": "m"},
        "folder_seen": {"seen": True},
        "prepare_data": {"paths": {"train": "/c/train"}},
        "start_workers": {"attempt": 0, "master_address": "10.0.0.1", "master_port": 29500},
        "worker_started": {"rank": 1, "pid": 77},
        "worker_said": {"event": ready},
        "worker_printed": {"rank": 1, "to_stderr": False, "text": "loss 1.0"},
        "worker_ended": {"rank": 1, "signal": 0, "code": 0, "signals_sent": 0, "killed_for_memory": False},
        "workers_gone": {"last_lines": {"1": ["a", "b"]}, "logs": {"1": "/o/logs"}},
        "stop_received": {"signal": 15},
        "agent_failed": {"exit_code": 4, "mistakes": [{"severity": 2, "what": "w", "where": "x", "why": "y", "hint": "z"}]},
        "end_workers": {"kill": False},
        "job_verdict": {"exit_code": 0, "text": "done"},
        "heartbeat": {"count": 9},
        "try_peers": {"peers": [{"agent": 0, "address": "10.0.0.1", "port": 4000, "answer": "a"}]},
        "peers_tried": {"closed": {"0": "refused"}},
        "take_plan": {"plan": {"ranks": {"world_size": 2}, "facts": fact, "saving": {"further_nodes": [1]},
                               "data": {"train": {"cache_path": "/c/1", "samples": 4, "tokens": 64, "exact": True}},
                               "optimizer": {"options": {"a": "1"}}, "precision": {"tf32": True}}},
    }
    # Findings: undefined behaviour where a number was read.
    seed("control_message", "negative_signals", '{"message": "worker_ended", "signals_sent": -1.0, "rank": 1, "signal": 0, '
                                                '"code": 0, "killed_for_memory": false}')
    seed("control_message", "large_severity", '{"message": "agent_failed", "exit_code": 3, "mistakes": [{"severity": 1e300, '
                                              '"what": "w", "where": "", "why": "", "hint": ""}]}')
    seed("control_message", "event_ready", ready)
    seed("control_message", "event_step", json.dumps({"event": "step", "rank": 1, "time": 0.5, "data": {"step": 3, "total": 9}}))
    seed("control_message", "event_failed", json.dumps({"event": "failed", "rank": 1, "time": 0.5, "data": {"exit_code": 4, "what": "w"}}))
    seed("control_message", "large_rank", '{"event": "message", "rank": 4294967296, "time": 0.5, "data": {"level": 30, "text": "t"}}')
    for name, members in messages.items():
        seed("control_message", name, json.dumps({"message": name, **members}))


def greetings():
    number, proof = "b" * 32, "c" * 64
    hello = json.dumps({"message": "hello", "job_id": "j", "agent": 1, "agents": 2, "host": "b", "version": "0.1.0", "build": "x"})
    welcome = json.dumps({"message": "welcome", "host": "a"})
    refusal = json.dumps({"message": "refusal", "exit_code": 2, "text": "no"})
    for name, line in {
        "challenge": f"{number} secret", "open_challenge": f"{number} open",
        "hello": f"{number} {proof} {hello}", "open_hello": f"{number} - {hello}",
        "welcome": f"{proof} {welcome}", "open_welcome": f"- {welcome}",
        "refusal": f"refused {proof} {refusal}", "open_refusal": f"refused - {refusal}",
        "long_refusal": "refused - " + json.dumps({"message": "refusal", "exit_code": 2, "text": "\x01" * 600}),
        "plan_as_hello": f"{number} - " + json.dumps({"message": "heartbeat", "count": 9}),
    }.items():
        seed("greeting", name, "hftrain 1 " + line)


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors():
    def file(header, data):
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    seed("safetensors", "two", file({"__metadata__": {"format": "pt"}, "a": tensor("F32", [2], 0, 8),
                                     "b": tensor("BF16", [1, 3], 8, 14)}, bytes(range(14))))
    seed("safetensors", "scalar", file({"s": tensor("F64", [], 0, 8)}, bytes(8)))
    seed("safetensors", "empty_tensor", file({"e": tensor("I64", [0, 5], 0, 0)}, b""))
    seed("safetensors", "four_bits", file({"q": tensor("F4", [4], 0, 2)}, b"ab"))
    seed("safetensors", "nothing", file({}, b""))


def sharded_state():
    def header(entries):
        places = {name: {"saved_offsets": offsets} for name, (_, offsets) in entries.items()}
        metadata = {"format": "pt", "DCP_VERSION": "1.0", "DCP_SHARDING_INFO": json.dumps(places)}
        return json.dumps({"__metadata__": metadata, **{name: entry for name, (entry, _) in entries.items()}})

    seed("sharded_state", "rows", parts(header({"w": (tensor("F32", [1, 2], 0, 8), [0, 0])}), b"abcdefgh",
                                        header({"w": (tensor("F32", [2, 2], 0, 16), [1, 0])}), b"abcdefghijklmnop"))
    seed("sharded_state", "columns", parts(header({"w": (tensor("U8", [2, 1], 0, 2), [0, 0])}), b"ab",
                                           header({"w": (tensor("U8", [2, 2], 0, 4), [0, 1])}), b"cdef"))
    seed("sharded_state", "one", parts(header({"w": (tensor("U8", [4], 0, 4), [0]), "s": (tensor("U8", [], 4, 5), [])}),
                                       b"abcde"))
    seed("sharded_state", "hole", parts(header({"w": (tensor("U8", [1, 1], 0, 1), [1, 2])}), b"a"))


def tokenizers():
    vocabulary = {token: i for i, token in enumerate(["[UNK]", "a", "b", "c", "ab", "abc", " ", "\u0120", "\u0120a"])}
    added = {"id": 0, "content": "[UNK]", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": True}
    bpe = {"type": "BPE", "dropout": None, "unk_token": "[UNK]", "continuing_subword_prefix": None,
           "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary,
           "merges": [["a", "b"], ["ab", "c"], ["\u0120", "a"]]}
    marked = {"type": "BPE", "unk_token": "a", "byte_fallback": True, "merges": [["\u2581", "a"], ["\u2581a", "b"]],
              "vocab": {"a": 0, "b": 1, "\u2581": 2, "\u2581a": 3, "\u2581ab": 4, "<0xC3>": 5, "<0xA9>": 6}}

    def file(model, **members):
        return json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [added], "normalizer": None,
                           "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": model, **members})

    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    seed("tokenizer", "byte_level", parts(file(bpe, pre_tokenizer=byte_level, post_processor=byte_level, decoder=byte_level),
                                          "abc a [UNK] \u00e9"))
    split = {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}|\\s+|[^\\s]"}, "behavior": "Isolated", "invert": False}
    seed("tokenizer", "split", parts(file(bpe, pre_tokenizer={"type": "Sequence", "pretokenizers": [split, byte_level]}),
                                     "ab 123\n"))
    normalizer = {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "StripAccents"},
                                                      {"type": "Replace", "pattern": {"String": "c"}, "content": "ab"}]}
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[UNK]", "type_id": 0}},
                                                         {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"[UNK]": {"id": "[UNK]", "ids": [0], "tokens": ["[UNK]"]}}}
    seed("tokenizer", "normalizers", parts(file(bpe, normalizer=normalizer, post_processor=template), "A\u0301bC \ufb01"))
    words = {"type": "Sequence", "pretokenizers": [{"type": "Punctuation"}, {"type": "Digits", "individual_digits": True},
                                                   {"type": "Whitespace"}]}
    around = {"type": "BertProcessing", "sep": ["[UNK]", 0], "cls": ["a", 1]}
    seed("tokenizer", "words", parts(file(bpe, pre_tokenizer=words, post_processor=around,
                                          decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}), "ab a! \u4e2d 12"))
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    seed("tokenizer", "metaspace", parts(file(marked, pre_tokenizer=space, decoder=space), "ab  a"))
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    undo = [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    before = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, replace]}
    seed("tokenizer", "byte_fallback", parts(file(marked, normalizer=before, decoder={"type": "Sequence", "decoders": undo}),
                                             "ab \u00e9 a"))
    settings = {"bos_token": "a", "eos_token": {"content": "[UNK]"}, "model_max_length": 512}
    seed("tokenizer", "settings", parts(file(bpe), "abc", json.dumps(settings)))
    cut = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    pad = {"strategy": {"Fixed": 6}, "direction": "Left", "pad_to_multiple_of": 4, "pad_id": 0, "pad_type_id": 0,
           "pad_token": "[UNK]"}
    seed("tokenizer", "padded", parts(file(bpe, truncation=cut, padding=pad), "abcabc"))

    words = {token: i for i, token in enumerate(["[UNK]", "a", "b", "##b", "##a\u0301", "ab", "#", "##", "\u4e2d"])}
    word_piece = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
                  "vocab": words}
    split_words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Punctuation"}]}
    seed("tokenizer", "word_piece", parts(file(word_piece, pre_tokenizer=split_words, normalizer={"type": "NFC"},
                                               decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}),
                                          "abb a, \u4e2d aaaaaaaaaab b"))
    seed("tokenizer", "word_level", parts(file({"type": "WordLevel", "unk_token": "[UNK]", "vocab": words},
                                               pre_tokenizer={"type": "Whitespace"}), "a ab c\u0301 b a"))
    scored = [["<unk>", 0.0], ["\u2581", -2.5], ["a", -1.25], ["b", -1.25], ["ab", -2.5], ["\u2581a", -3.0281234567890123],
              ["<0xC3>", -9], ["<0xA9>", -9e0]]
    seed("tokenizer", "unigram", parts(file({"type": "Unigram", "unk_id": 0, "vocab": scored}, pre_tokenizer=space, decoder=space),
                                       "ab \u00e9\u00e9 a"))
    seed("tokenizer", "unigram_bytes", parts(file({"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": scored},
                                                  pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]},
                                                  normalizer={"type": "NFKC"}), "ab \u00e9\u00e9 a \u4e2d"))
    seed("tokenizer", "unigram_without_unknown", parts(file({"type": "Unigram", "unk_id": None, "vocab": scored}), "ab"))

    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    template_of_pairs = {**template, "pair": [{"SpecialToken": {"id": "[UNK]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                              {"SpecialToken": {"id": "[UNK]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]}
    seed("tokenizer", "bert", parts(file(word_piece, normalizer=bert, pre_tokenizer={"type": "BertPreTokenizer"},
                                         post_processor=template_of_pairs, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}),
                                    "Ab\u00c1b \u4e2d\x01, a!"))
    charsmap = base64.b64encode(compile_charsmap({"a": "b", "\u00e9": "e", "\r": " ", "\x01": "", "e\u0301": "\u00e9", "\ufb01": "fi"})).decode()
    precompiled = {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "Precompiled", "precompiled_charsmap": charsmap}]}
    around_pairs = {"type": "RobertaProcessing", "sep": ["[UNK]", 0], "cls": ["a", 1], "trim_offsets": True, "add_prefix_space": True}
    seed("tokenizer", "precompiled", parts(file({"type": "Unigram", "unk_id": 0, "vocab": scored}, normalizer=precompiled, pre_tokenizer=space,
                                                post_processor=around_pairs, decoder=space), "ab e\u0301\ufb01\r\u0915\u094d\u0915 \U0001f468\u200d\U0001f468"))
    seed("tokenizer", "torn_charsmap", parts(file(bpe, normalizer={"type": "Precompiled", "precompiled_charsmap": charsmap[:400]}), "ab"))
    rare = {"type": "Sequence", "pretokenizers": [{"type": "UnicodeScripts"}, {"type": "CharDelimiterSplit", "delimiter": "b"},
                                                  {"type": "FixedLength", "length": 2}]}
    speech = {"type": "CTC", "pad_token": "a", "word_delimiter_token": "", "cleanup": True}
    cut_windows = {"direction": "Left", "max_length": 5, "strategy": "OnlySecond", "stride": 1}
    seed("tokenizer", "rare_parts", parts(file(bpe, pre_tokenizer=rare, decoder=speech, truncation=cut_windows, post_processor=around),
                                          "ab\u0431\u30ab\u4e2dbabc"))

    # Findings: what once took all memory, took for ever or ended the program.
    seed("tokenizer", "grows_in_suffixes", parts(file(bpe, decoder={"type": "Sequence", "decoders": [{"type": "BPEDecoder", "suffix": ""}] * 40}),
                                                 "ab"))
    doubled = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    seed("tokenizer", "grows_in_normalizers", parts(file(bpe, normalizer={"type": "Sequence", "normalizers": [doubled] * 40}),
                                                    "ab"))
    seed("tokenizer", "grows_in_bytes", parts(file(bpe, normalizer={"type": "Sequence", "normalizers":
                                                                    [{"type": "ByteLevel"}] * 60}), "ab \u00e9"))
    seed("tokenizer", "grows_in_decoders", parts(file(bpe, decoder={"type": "Sequence", "decoders": [doubled] * 40}), "ab"))
    seed("tokenizer", "strips_nothing", parts(file(bpe, decoder={"type": "Strip", "content": "", "start": 1 << 62, "stop": 0}),
                                              "ab"))
    seed("tokenizer", "long_padding", parts(file(bpe, padding={**pad, "strategy": {"Fixed": 1 << 20}, "pad_token": "x" * 600}),
                                            "ab"))
    seed("tokenizer", "many_classes", parts(file(bpe, normalizer={"type": "Replace", "pattern": {"Regex": "\\w" * 600},
                                                                  "content": "a"}), "ab"))
    seed("tokenizer", "broken_settings", parts(file(bpe), "ab", '{"model_max_length": 2.5}'))


def manifests():
    value = {"format": "hftrain-checkpoint", "format_version": 1, "step": 7, "world_size": 2, "plan_hash": "feed",
             "hftrain_version": "0.1.0", "time": 1.5, "identity": {"task": "clm", "seed": 42}, "hash_algorithm": "xxh3-128",
             "files": [{"path": "model.safetensors", "size": 3, "hash": "00"}], "manifest_hash": ""}
    seed("manifest", "one", json.dumps(value, indent=2))
    seed("manifest", "outside", json.dumps({**value, "files": [{"path": "../x", "size": 1, "hash": ""}]}))
    seed("manifest", "none", json.dumps({**value, "files": []}))
    # Findings: the hash was written into the identity, and a step that is no whole number.
    seed("manifest", "large_step", json.dumps({**value, "step": 1e300, "files": []}))
    seed("manifest", "hash_in_identity", json.dumps({**value, "identity": {"manifest_hash": ""}, "files": []}))


def configs():
    seed("config_json", "gpt2", json.dumps({"model_type": "gpt2", "n_layer": 2, "n_embd": 8, "n_head": 2, "vocab_size": 16,
                                            "n_inner": None, "activation_function": "gelu_new"}))
    llama = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "vocab_size": 32}
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 64}
    seed("config_json", "llama", json.dumps({"model_type": "llama", **llama, "rope_scaling": scaling, "attention_bias": True}))
    seed("config_json", "qwen2", json.dumps({"model_type": "qwen2", **llama, "use_sliding_window": True, "sliding_window": 8,
                                             "max_window_layers": 1}))
    seed("config_json", "qwen3", json.dumps({"model_type": "qwen3", **llama, "head_dim": 4, "rope_parameters":
                                             {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}}))
    seed("config_json", "mistral", json.dumps({"model_type": "mistral", **llama, "sliding_window": 8}))
    # Findings: keys of other families with values of any kind, and numbers that fit no size.
    seed("config_json", "foreign_keys", json.dumps({"model_type": "llama", **llama, "use_sliding_window": True,
                                                    "sliding_window": "x"}))
    seed("config_json", "foreign_biases", json.dumps({"model_type": "qwen2", **llama, "attention_bias": "x", "mlp_bias": 3}))
    seed("config_json", "large_head", json.dumps({"model_type": "qwen2", **llama, "head_dim": (1 << 64) - 1}))
    seed("config_json", "large_number", '{"model_type": "gpt2", "n_embd": 1e310}')
    seed("config_json", "large_positions", json.dumps({"model_type": "llama", **llama, "rope_scaling":
                                                       {**scaling, "original_max_position_embeddings": 1e300}}))


def configurations():
    seed("yaml", "flags", "model_type: gpt2\nlearning_rate: 5e-5\ntrain_file: [a.txt, 'b c.txt']\nbf16: true\n")
    seed("yaml", "groups", "model:\n  model_type: llama\ndata:\n  train_file: &f a.txt\n  validation_file: *f\nenv:\n  A: '1'\n_note: x\n")
    seed("yaml", "accelerate", "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 2\nmixed_precision: bf16\n"
                               "fsdp_config:\n  fsdp_version: 2\n  fsdp_offload_params: false\n")
    seed("yaml", "deepspeed", "deepspeed:\n  zero_optimization: {stage: 2}\n  train_micro_batch_size_per_gpu: auto\n")
    seed("yaml", "json", 'j{"model_type": "gpt2", /* a word */ "learning_rate": 1e-4, "train_file": ["a.txt"]} // end')
    seed("yaml", "block", "run_name: |\n  two\n  lines\nseed: 0x10\n? output_dir\n: 'o''x'\n")
    seed("yaml", "comma_first", ", seed: 1\n")
    seed("yaml", "bracket_last", "seed: 1\n}\n")
    # Findings: a byte that is no UTF-8, and a NUL that the reader takes for an escape and makes such a byte of.
    seed("yaml", "not_utf8", b'deepspeed:\n  zero_optimizati\x14seed: 0x10\n? output_dir\n: Oty`pe"\xbd "per_gpu: auto\n')
    seed("yaml", "no_text", b'deepspeed:\n- zeFS<\x00_:_speed8\n- zeFS1\x00rcF  model__igligle')


def rows():
    seed("csv", "plain", "id,text\n1,hello\n2,\"two\nlines, \"\"quoted\"\"\"\n\n3,\u00e9\r\n")
    seed("csv", "tabs", "tid\ttext\n1\tone\n")
    seed("csv", "no_text_column", "\ufeffa,b\nx,y\n")
    seed("json_lines", "records", '{"text": "one"}\n{"text": "t\\u00e9\\n", "n": [1, {"a": null}]}\n\n"plain"\n')
    seed("json_lines", "several", '{"a": "x"} {"a": "y"}\r\n')
    seed("json_lines", "array", 'j[{"text": "one"}, {"text": "two"}]')
    seed("json_lines", "data", 'j{"version": 1, "data": [{"text": "one"}]}')
    seed("json_lines", "one_after_another", 'j{"text": "one"}\n{"text": "two"}\n')


def machines():
    seed("host_file", "two", parts("# hosts\nworker-0 slots=4\nworker-1 slots=2  # small\n", "worker-0:0,2@worker-1", "worker-1:1"))
    seed("host_file", "one", "localhost slots=1")
    seed("node_list", "ranges", parts("gpu[01-03,7],login,r[1-2]n[1-2]", "4(x2),3"))
    seed("node_list", "one", parts("a", "1"))
    # Findings: a few letters that stand for gigabytes of names.
    seed("node_list", "long_names", parts("n" * 600 + "[1-999999]", "1"))
    seed("node_list", "long_numbers", parts("n[" + "0" * 600 + "1-999999]", "1"))
    seed("node_list", "many_brackets", parts("n[1-999999]" + "[1-1]" * 7, "1(x999999)"))


def chat_templates():
    """Templates of our own, and small ones for each part of the language."""
    golden = folder.parents[2] / "tests/golden/chat/templates"
    from chat_expressions import EXPRESSIONS, STATEMENTS
    chat = json.dumps({"bos_token": "<s>", "eos_token": "</s>", "messages": [
        {"role": "user", "content": " a\n"}, {"role": "assistant", "content": "b", "tool_calls": [
            {"id": "abcdefghi", "function": {"name": "f", "arguments": {"x": [1, None, 0.5]}}}]}], "tools": None})
    for path in sorted(golden.glob("*.jinja")):
        seed("chat_template", path.stem, parts(path.read_text(), chat))
    small = json.dumps({"n": 7, "s": "a o\u00e9", "nums": [3, 1], "d": {"b": 1, "a": [1]}, "users": [{"name": "x", "age": 1}]})
    for number, source in enumerate(STATEMENTS[::3]):
        seed("chat_template", f"statement_{number}", parts(source, small))
    for number in range(0, len(EXPRESSIONS), 8):
        lines = "".join("{% if n %}{{ [" + line + "] }}{% endif %}\n" for line in EXPRESSIONS[number:number + 8])
        seed("chat_template", f"expressions_{number // 8}", parts(lines, small))


def images():
    golden = folder.parents[2] / "tests/golden/images"
    for path in sorted([*golden.glob("*.png"), *golden.glob("*.jpg")]):
        seed("image", path.stem, path.read_bytes())


class Stored:
    """Stands in a pickle for the storage of a tensor, as torch.save has it."""

    def __init__(self, kind, key, numbers):
        self.id = ("storage", kind, key, "cpu", numbers)


def pickled(value):
    class Pickler(pickle.Pickler):
        def persistent_id(self, item):
            return item.id if isinstance(item, Stored) else None
    out = io.BytesIO()
    Pickler(out, protocol=2).dump(value)
    return out.getvalue()


class Call:
    """What is pickled as function(*arguments), with a state."""

    def __init__(self, function, *arguments, state=None):
        self.reduced = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self):
        return self.reduced


def stand_in(module, name):
    """A function that pickles write as module.name; nobody needs torch or numpy to make seeds."""
    parts_of_name = module.split(".")
    for end in range(1, len(parts_of_name) + 1):
        sys.modules.setdefault(".".join(parts_of_name[:end]), types.ModuleType(".".join(parts_of_name[:end])))
    function = type(name, (), {"__module__": module, "__qualname__": name})
    setattr(sys.modules[module], name, function)
    return function


def torch_files():
    rebuild, floats, octets = stand_in("torch._utils", "_rebuild_tensor_v2"), stand_in("torch", "FloatStorage"), stand_in("torch", "ByteStorage")
    again, array, number = (stand_in(*place) for place in (("numpy._core.multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype")))
    ordered = collections.OrderedDict

    def tensor(shape, strides, kind=floats, key="0", numbers=64, offset=0):
        return Call(rebuild, Stored(kind, key, numbers), offset, shape, strides, False, ordered())

    state = {n: {"step": tensor((), (), key="1", numbers=4), "exp_avg": tensor((2, 3), (3, 1), offset=6 * n), "exp_avg_sq": tensor((2, 3), (3, 1))}
             for n in range(2)}
    group = {"weight_decay": 0.1, "lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "amsgrad": False, "foreach": None, "params": [0]}
    optimizer = {"state": state, "param_groups": [group, {**group, "weight_decay": 0.0, "params": [1]}]}
    schedule = {"base_lrs": [1e-3, 1e-3], "last_epoch": 10, "_step_count": 11, "_last_lr": [1e-4, 1e-4], "lr_lambdas": [{}, None]}
    words_of = Call(again, array, (0,), b"b", state=(1, (2,), Call(number, "u4", False, True, state=(3, "<", None, None, None, -1, -1, 0)),
                                                     False, b"\x01\xff\x80\x00abcd"))
    numbers = {"python": (3, (1, 2 ** 31, 624), None), "numpy": ("MT19937", words_of, 624, 0, 0.0), "cpu": tensor((256,), (1,), octets, "0", 256),
               "cuda": [tensor((16,), (1,), octets, "1", 16)]}
    scaler = {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 7}
    seeds = {"optimizer": optimizer, "schedule": schedule, "numbers": numbers, "scaler": scaler,
             "turned": {"state": {0: {"exp_avg": tensor((3, 2), (1, 3))}}, "param_groups": [group]},
             "counted": {"state": {0: {"step": 3, "buffer": None}}, "param_groups": [group]}, "large": [2 ** 40, -1, 2 ** 63 - 1, -2 ** 31],
             "named": {"state": {"w": state[0], "b": {"step": 3}}, "param_groups": [{**group, "params": ["w", "b"]}]},
             "weights": ordered(w=tensor((2, 3), (3, 1)), b=tensor((3,), (1,), offset=6)), "shaped": {"cat_dim": 0, "param": tensor((2, 3), (3, 1))},
             "in_a_row": tensor((6,), (1,)), "shapes": {"param_shapes": [{"w": Call(stand_in("torch", "Size"), (2, 3))}], "module": {}}}
    shapes, stage = seeds["shapes"], stand_in("deepspeed.runtime.zero.config", "ZeroStageEnum")
    place = record("deepspeed.utils.tensor_fragment", "fragment_address", {"numel": 6, "start": 0})
    row = {"exp_avg": tensor((8,), (1,)), "step": tensor((), (), key="1", numbers=4)}
    seeds["groups"] = {**shapes, "optimizer_state_dict": {
        "loss_scaler": record("deepspeed.runtime.fp16.loss_scaler", "LossScaler", {"cur_scale": 1.0}), "partition_count": [1],
        "zero_stage": Call(stage, 2), "param_slice_mappings": [ordered(w=place)],
        "single_partition_of_fp32_groups": [tensor((6,), (1,))], "base_optimizer_state": {"state": {0: row}}}}
    seeds["shares"] = {**shapes, "optimizer_state_dict": {
        "zero_stage": Call(stage, 3), "partition_count": 1,
        "fp32_flat_groups": [tensor((6,), (1,))], "optimizer_state_dict": {"state": {0: row}}}}
    for name, value in seeds.items():
        seed("torch_pickle", name, pickled(value))
    itself = []
    itself.append(itself)
    seed("torch_pickle", "itself", pickled({"state": itself, "param_groups": itself, "cpu": itself}))
    seed("torch_pickle", "system", pickled(Call(os.system, "true")))
    for name, mode in (("stored", zipfile.ZIP_STORED), ("compressed", zipfile.ZIP_DEFLATED)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", mode) as archive:
            for entry, content in (("data.pkl", pickled(scaler if mode else optimizer)), ("byteorder", b"little"), ("data/0", bytes(256)),
                                   ("data/1", bytes(16)), ("version", b"3\n")):
                archive.writestr(zipfile.ZipInfo("state/" + entry), content, mode)
        seed("torch_zip", name, out.getvalue())
    for path in sorted((folder.parents[2] / "tests/golden/interchange").glob("s*.pt")):
        seed("torch_zip", path.stem, path.read_bytes())


def record(module, name, state):
    """What pickles write as an object of module.name with a state."""
    kind = getattr(sys.modules.get(module), name, None) or stand_in(module, name)
    made = kind()
    kind.__getstate__ = lambda self: self.own_state
    made.own_state = state
    return made


def bare_name(module, name):
    """What pickles write as module.name alone."""
    kind = stand_in(module, name)
    kind.__reduce__ = lambda self: name
    made = kind()
    setattr(sys.modules[module], name, made)
    return made


def sharded_metadata():
    """Of torch.distributed.checkpoint: a matrix in the two pieces that lie in the target's file, 580 bytes each."""
    of_dcp, piece = "torch.distributed.checkpoint.metadata", 580
    size, layout, encoding = stand_in("torch", "Size"), stand_in("torch.serialization", "_get_layout"), stand_in(of_dcp, "_MEM_FORMAT_ENCODING")
    dtype = bare_name("torch", "float32")

    def of(name, **state):
        return record(of_dcp, name, state)

    def index(name, offset):
        return of("MetadataIndex", fqn=name, index=0, **({} if offset is None else {"offset": Call(size, offset)}))

    def place(offset, length=piece, **more):
        return record("torch.distributed.checkpoint.filesystem", "_StorageInfo",
                      {"relative_path": "__0_0.distcp", "offset": offset, "length": length, **more})

    def tensor(shape, chunks):
        properties = record(of_dcp, "TensorProperties", (dtype, Call(layout, "torch.strided"), False,
                                                         Call(encoding, 0), False))
        return of("TensorStorageMetadata", properties=properties, size=Call(size, shape),
                      chunks=[of("ChunkStorageMetadata", offsets=Call(size, at), sizes=Call(size, sizes)) for at, sizes in chunks])

    def metadata(tensors, places):
        return of("Metadata", state_dict_metadata=tensors, planner_data={"w": ("model", "w")}, storage_data=places,
                      storage_meta=of("StorageMeta", checkpoint_id=Call(pathlib.PosixPath, "a", "b"), save_id="s", modules=[]),
                      version="1.0.0")

    rows = [((0, 0), (2, 3)), ((2, 0), (2, 3))]
    both = {index("w", (0, 0)): place(0), index("w", (2, 0)): place(piece)}
    setting = of("BytesStorageMetadata")
    for name, value in {
            "sound": metadata({"w": tensor((4, 3), rows), "rate": setting}, {**both, index("rate", None): place(0, 9)}),
            "hole": metadata({"w": tensor((5, 3), rows)}, both), "overlap": metadata({"w": tensor((3, 3), [rows[0], ((1, 0), (2, 3))])}, both),
            "behind": metadata({"w": tensor((2, 3), rows[:1])}, {index("w", (0, 0)): place(2 ** 62)}),
            "compressed": metadata({"w": tensor((2, 3), rows[:1])}, {index("w", (0, 0)): place(0, transform_descriptors=["zstd"])}),
            "other_class": metadata({"w": Call(os.system, "true")}, {})}.items():
        seed("dcp_metadata", name, pickle.dumps(value, protocol=4))
    golden = folder.parents[2] / "tests/golden/interchange/fsdp"
    for name in ("pytorch_model_fsdp_0", "optimizer_0"):
        seed("dcp_metadata", name, (golden / name / ".metadata").read_bytes())


def deepspeed_folders():
    """What some of a folder's files hold, of two ranks, as deepspeed.cpp pickles it; a rank has 6 numbers of "w" and "b" together, the second less."""
    shapes = [{"w": {"$size": [2, 4]}, "b": {"$size": [3]}}]
    first, second = "global_step2/zero_pp_rank_0_mp_rank_00_", "global_step2/bf16_zero_pp_rank_1_mp_rank_00_"
    scaler = {"$scaler": {"cur_scale": 4096, "cur_iter": 25, "last_overflow_iter": 4, "scale_window": 1000}}

    def model(stage, round_robin=False, **more):
        zero = {"stage": stage, "round_robin_gradients": round_robin}
        whole = {"module": {"w": {"$half": [2, 4]}, "b": {"$half": [3]}, "f": {"$half": [3]}, "t": {"$row": 2}}}
        shares = {"module": {"w": {"$half": [0]}, "b": {"$half": [0]}, "f": {"$half": [0]}, "tied": {"$half": [0]}, "t": {"$row": 2}},
                  "frozen_param_shapes": {"f": {"$size": [3]}}, "frozen_param_fragments": {"f": {"$half": [2]}}}
        return {"param_shapes": shapes, "shared_params": {"tied": "w"}, "buffer_names": ["t"], "lr_scheduler": {}, "global_steps": 2, "skipped_steps": 0,
                "dp_world_size": 2, "ds_config": {"zero_optimization": zero}, **(shares if stage == 3 else whole), **more}

    def share(places, numbers, round_robin=False, **more):
        return {"optimizer_state_dict": {
            "partition_count": [2], "loss_scaler": scaler, "single_partition_of_fp32_groups": [{"$row": numbers}],
            "param_slice_mappings": [{name: {"$place": {"start": start, "numel": numel}} for name, (start, numel) in places.items()}],
            "base_optimizer_state": {"state": {"#0": {"step": 2, "exp_avg": {"$row": 6}}}}, **more},
            "ds_config": {"zero_optimization": {"stage": 2, "round_robin_gradients": round_robin}}}

    def parts_of_groups(round_robin=False, **more):
        return {"global_step2/mp_rank_00_model_states.pt": model(2, round_robin),
                first + "optim_states.pt": share({"w": (0, 6)}, 6, round_robin, **more),
                second + "optim_states.pt": share({"w": (0, 2), "b": (2, 3)}, 5, round_robin, **more)}

    own = {"optimizer_state_dict": {"zero_stage": {"$stage": 3}, "partition_count": 2, "loss_scaler": scaler, "fp32_flat_groups": [{"$row": 6}],
                                    "optimizer_state_dict": {"state": {"#0": {"step": 2, "exp_avg": {"$row": 6}}}}}}

    def universal(stage, rows, settings):
        name = "mp_rank_00" if stage == 2 else "zero_pp_rank_0_mp_rank_00"
        fragments = {} if stage == 2 else {"frozen_param_fragments": {"f": {"$half": [3]}}}
        return {f"universal/{name}_model_states.pt": model(stage, **fragments), "universal/zero/optimizer_state.pt": {"loss_scaler": scaler, **settings},
                **{f"universal/zero/{parameter}/{state}.pt": row for parameter, row in rows.items() for state in ("fp32", "exp_avg")}}

    stage = {"zero_stage": {"$stage": 2}}
    for name, files in {
            "groups": parts_of_groups(**stage), "turned": parts_of_groups(True, **stage, param_alignment_paddings=[[0, 0]]),
            "filled_up": parts_of_groups(True, **stage, param_alignment_paddings=[[2, 0]]), "in_their_order": parts_of_groups(True),
            "shares": {first + "optim_states.pt": own, second + "optim_states.pt": own, first + "model_states.pt": model(3),
                       "global_step2/zero_pp_rank_1_mp_rank_00_model_states.pt": model(3)},
            "whole": universal(2, {"w": {"cat_dim": 0, "param": {"$tensor": [2, 4]}}, "b": {"cat_dim": 0, "param": {"$tensor": [3]}}}, stage),
            "rows": universal(3, {"w": {"$row": 8}, "b": {"$row": 3}},
                              {"zero_stage": {"$stage": 3}, "optimizer_state_dict": {"state": {"#0": {"step": 2}}}}),
            "stage_0": {"global_step2/mp_rank_00_model_states.pt": model(0, optimizer={"state": {}})},
            "rank_missing": {first + "optim_states.pt": own, first + "model_states.pt": model(3)}}.items():
        seed("deepspeed", name, json.dumps(files))


def plugins():
    """Libraries with nothing but a section, as tests/plan/plugin_file_test.cpp makes them."""
    def library(section, contents):
        names = b"\0" + section + b"\0"
        header = struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 3, 62, 1, 0, 0, 64 + len(names) + len(contents), 0, 64, 0, 0,
                             64, 2, 0)
        headers = b"".join(struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, place, size, 0, 0, 1, 0)
                           for name, place, size in ((0, 64, len(names)), (1, 64 + len(names), len(contents))))
        return header + names + contents + headers

    seed("plugin_note", "whole", library(b".hftrain_plugin", b"interface=3\ntorch=2.11.0\ncxx11_abi=1\nname=a\n\0"))
    seed("plugin_note", "other_interface", library(b".hftrain_plugin", b"interface=2\ntorch=none\nname=\x1b[0m"))
    seed("plugin_note", "other_section", library(b".text", b"\x90"))
    seed("plugin_note", "script", "#!/bin/sh\n")


def descriptions():
    """Tasks of plug-ins: one of each kind of labels."""
    def task(head, text, labels, **more):
        return json.dumps({"name": "mine", "head": head, "text": text, "labels": labels, **more})

    whole = "sequence_classification"
    seed("task_description", "names", task(whole, ["title", "body"], {"column": "topics", "kind": "names", "names": ["a", "b"]},
                                           truncation="only_second", max_length=64, padding="max_length", metric="f1", metrics=["mine"]))
    seed("task_description", "name", task(whole, "text", {"column": "label", "kind": "name"}, keeps="scores", pipeline="text-classification"))
    seed("task_description", "numbers", task(whole, "text", {"column": ["x", "y"], "kind": "numbers"}, padding="longest", metric="pearsonr"))
    seed("task_description", "number", task(whole, "text", {"column": "x", "kind": "number"}))
    seed("task_description", "words", task("token_classification", "tokens", {"column": "tags", "kind": "names"}))
    seed("task_description", "text", task("causal_lm", "question", {"column": "answer", "kind": "text"}))


def words():
    """A list of words for each target: what stands in quotation marks in its seeds, and names that have no seed."""
    more = {
        "tokenizer": """Unigram WordPiece WordLevel unk_id max_input_chars_per_word BertNormalizer clean_text
            handle_chinese_chars strip_accents Nmt Precompiled precompiled_charsmap BertPreTokenizer CharDelimiterSplit delimiter FixedLength length UnicodeScripts CTC word_delimiter_token pair stride
            ByteFallback Fuse Metaspace Strip BPEDecoder WordPiece Sequence Replace Prepend NFC NFD NFKC NFKD
            Whitespace WhitespaceSplit Digits Punctuation Removed MergedWithPrevious MergedWithNext Contiguous BertProcessing
            RobertaProcessing cls sep individual_digits prefix cleanup suffix start stop content prepend strip_left
            strip_right OnlySecond BatchLongest ignore_merges model_max_length eos_token""".split(),
        "safetensors": "BOOL I8 U8 I16 U16 F16 I32 U32 I64 U64 F8_E4M3 F8_E5M2".split(),
        "config_json": """layer_types sliding_attention full_attention dtype mlp_bias NaN Infinity gelu relu partial_rotary_factor
            yarn eos_token_id rope_theta""".split(),
        "chat_template": "{%- -%} {{- -}} endfor endif endset endmacro endcall endgeneration endfilter namespace recursive loop. "
                         "|tojson |map |select |sort |groupby |batch |default |replace .split( .format( .items() is defined not in".split(),
        "torch_pickle": ["torch._utils\\x0a_rebuild_tensor_v2\\x0a", "torch._utils\\x0a_rebuild_parameter\\x0a", "collections\\x0aOrderedDict\\x0a",
                         "_codecs\\x0aencode\\x0a", "latin1", "numpy\\x0adtype\\x0a", "numpy\\x0andarray\\x0a", "numpy.core.multiarray\\x0a_reconstruct\\x0a",
                         "torch\\x0aBFloat16Storage\\x0a", "torch\\x0aLongStorage\\x0a", "storage", "param_groups", "params", "state", "step",
                         "lr_lambdas", "base_lrs", "last_epoch", "cuda", "scale", "_growth_tracker", "param", "param_shapes", "torch\\x0aSize\\x0a",
                         "optimizer_state_dict", "base_optimizer_state", "single_partition_of_fp32_groups", "param_slice_mappings", "fp32_flat_groups",
                         "partition_count", "zero_stage", "numel", "start"],
        "dcp_metadata": ["state_dict_metadata", "storage_data", "TensorStorageMetadata", "BytesStorageMetadata", "ChunkStorageMetadata", "MetadataIndex",
                         "torch.distributed.checkpoint.metadata", "_StorageInfo", "relative_path", "offset", "length", "transform_descriptors", "fqn",
                         "offsets", "sizes", "chunks", "size", "properties", "__0_0.distcp", "torch", "Size", "float32", "float64", "bfloat16"],
        "deepspeed": "#1 $tensor base_optimizer_state_step group_paddings elastic_checkpoint ds_zero_partition_groups".split(),
        "plugin_note": ["\\x7fELF", ".hftrain_plugin", "interface=", "torch=", "cxx11_abi=", "name="],
        "torch_zip": ["PK\\x01\\x02", "PK\\x03\\x04", "PK\\x05\\x06", "PK\\x06\\x06", "PK\\x06\\x07", "\\xff\\xff\\xff\\xff", "state/data.pkl"],
        "yaml": [name for source in sorted((folder.parents[2] / "lib/hftrain/arguments/flags").glob("*.cpp"))
                 for name in re.findall(r'\.name = "([a-z0-9_]+)"', source.read_text())],
    }
    target_folder = folder.parent / "words"
    target_folder.mkdir(exist_ok=True)
    for seeds in sorted(folder.iterdir()):
        texts = [path.read_bytes().decode(errors="ignore") for path in sorted(seeds.iterdir())]
        found = {word for text in texts for word in re.findall(r'"([A-Za-z_][A-Za-z0-9_ .-]*)"', text)}
        found.update(more.get(seeds.name, ()))
        if seeds.name == "yaml":
            found.update(word for text in texts for word in re.findall(r"[A-Za-z_]{2,}", text))
        lines = "".join(f'"{word}"\n' for word in sorted(found))
        if lines:
            (target_folder / seeds.name).write_text(lines)


for write in (control_messages, greetings, safetensors, sharded_state, tokenizers, manifests, configs, configurations, rows, machines, chat_templates, images, torch_files, sharded_metadata, deepspeed_folders, plugins, descriptions, words):
    write()
