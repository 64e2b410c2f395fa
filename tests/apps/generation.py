#!/usr/bin/env python3
"""`hftrain generate`: prompts from words, files and pipes; settings of the folder and of the command line; texts as they come, on a
terminal too; chats; mistakes.

  generation.py [SCENARIO…]
"""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from errors_have_four_parts import parts_of
from runs import HFTRAIN, PATIENCE, Fixture, expect, in_order, run_scenarios

PROMPTS = ["the old", "a small child sees the", "2 + 3 ="]
def guesses_ahead_change_no_text(writer, place):
    own = writer.with_files(os.path.join(place, "own"), generation_config={"prompt_lookup_num_tokens": 5})
    for flags in ([], ["--do_sample", "--temperature", "0.4", "--seed", 5], ["--repetition_penalty", "1.2", "--stop_strings", "zz"]):
        words = ["--prompt", *PROMPTS, "the old the old the", *flags, "--batch_size", 1, "--max_new_tokens", 50, "--eos_token_id", "null"]
        plain, steps = writer.ids_and_steps(*words, "--prompt_lookup_num_tokens", 0)
        expect(steps == sum(map(len, plain)), "a step for each token", [steps, plain])
        for more, options in ((["--prompt_lookup_num_tokens", 15], {}), (["--prompt_lookup_num_tokens", 2, "--max_matching_ngram_size", 1], {}), ([], {"model": own})):
            guessed, fewer = writer.ids_and_steps(*words, *more, **options)
            expect(guessed == plain, f"the same texts with {flags}", [plain, guessed])
            expect(fewer < steps, f"in fewer steps with {flags} and {more}", [fewer, steps])
    stream = ["--prompt", *PROMPTS, "--max_new_tokens", 50, "--stream"]
    expect(writer.generate(*stream, "--prompt_lookup_num_tokens", 15).stdout == writer.generate(*stream, "--prompt_lookup_num_tokens", 0).stdout, "the same is shown", "")


def copies_of_weights_foresee_and_change_no_text(writer, place):
    words = ["--prompt", *PROMPTS, "--batch_size", 1, "--max_new_tokens", 50, "--eos_token_id", "null"]
    refused = writer.generate(*words, "--draft_weights", "int4", code=2)
    expect("it takes auto, int8 or none" in refused.stderr, "the words that there are", refused.stderr)
    with open("/proc/cpuinfo") as file:
        if "avx512_vnni" not in file.read():
            refused = writer.generate(*words, "--draft_weights", "int8", code=2)
            expect("no AVX-512-VNNI" in refused.stderr and parts_of(refused.stderr) == [{"what", "where", "why", "try"}], "what is missing", refused.stderr)
            expect(json.loads(writer.generate(*words, "--json").stdout)["draft_steps"] == 0, "unasked nothing is tried", "")
            return
    for flags in ([], ["--do_sample", "--temperature", "0.7", "--seed", 5], ["--repetition_penalty", "1.2", "--prompt_lookup_num_tokens", 4]):
        plain, drafted = [json.loads(writer.generate(*words, *flags, "--json", "--draft_weights", which).stdout) for which in ("none", "int8")]
        ids = [[text["ids"] for text in said["generations"]] for said in (plain, drafted)]
        expect(ids[0] == ids[1], f"the same texts with {flags}", ids)
        expect(plain["draft_steps"] == 0 and drafted["draft_steps"] > 0, "copies are read where they are asked for", [plain["draft_steps"], drafted["draft_steps"]])
        expect(drafted["steps"] * 2 < plain["steps"] or "4" in map(str, flags), f"in fewer steps with {flags}", [drafted["steps"], plain["steps"]])
    small = json.loads(writer.generate(*words, "--json").stdout)
    expect(small["draft_steps"] == 0, "unasked only for what takes long to read", small["draft_steps"])
    large = os.path.join(place, "large")  # 75 MB
    flags = writer.flags(large, "--max_steps", 1, "--save_strategy", "no", "--per_device_train_batch_size", 1, ranks=1)
    flags[flags.index("--config_overrides") + 1] = "n_layer=1,n_head=4,n_embd=320,n_positions=64,vocab_size=55000,bos_token_id=0,eos_token_id=0"
    writer.call(*flags)
    ids = {}
    for which in ("auto", "none"):
        said = json.loads(writer.generate(*words, "--json", "--draft_weights", which, model=large).stdout)
        ids[which] = [text["ids"] for text in said["generations"]]
        expect((said["draft_steps"] > 0) == (which == "auto"), "unasked of a large model", [which, said["draft_steps"]])
    expect(ids["auto"] == ids["none"], "its texts are the same", ids)
    for more, why in ((["--num_beams", 2], "beams are not guessed ahead"), (["--dtype", "bfloat16"], "copies are made of float32 weights")):
        told = writer.generate("--prompt", "the", *more, "--draft_weights", "int8")
        expect(f"note: --draft_weights has no effect: {why}" in told.stderr, f"what does nothing with {more}", told.stderr)


TEMPLATE = ("{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}<assistant>{% endif %}")


class Writer(Fixture):
    """A model that has learned a little."""

    def __init__(self, folder):
        super().__init__(folder)
        self.model = os.path.join(self.folder, "model")
        self.call(*self.flags(self.model, "--max_steps", 40, "--save_strategy", "no", "--learning_rate", "5e-3", ranks=1))

    def words(self, *more, model=None):
        return ["generate", "--model_name_or_path", model or self.model, "--use_cpu", *map(str, more)]

    def generate(self, *more, model=None, stdin="", code=0):
        result = subprocess.run([HFTRAIN, *self.words(*more, model=model)], env=self.environment, text=True, capture_output=True,
                                input=stdin)
        expect(result.returncode == code, f"{more} ended with {result.returncode} and not with {code}", result.stdout + result.stderr)
        return result

    def texts(self, *more, **options):
        return json.loads(self.generate("--json", *more, **options).stdout)["generations"]

    def ids(self, *more, **options):
        return [one["ids"] for one in self.texts(*more, **options)]

    def ids_and_steps(self, *more, **options):
        document = json.loads(self.generate("--json", *more, **options).stdout)
        return [one["ids"] for one in document["generations"]], document["steps"]

    def with_files(self, place, model=None, **files):
        """A copy of the model with these files, name of the file without .json."""
        shutil.copytree(model or self.model, place, ignore=shutil.ignore_patterns("hftrain", "runs"))
        for name, content in files.items():
            with open(os.path.join(place, name + ".json"), "w") as file:
                json.dump(content, file)
        return place

    def changed_tokenizer(self, **settings):
        with open(os.path.join(self.model, "tokenizer_config.json")) as file:
            return {**json.load(file), **settings}


def prompts_come_from_words_files_and_pipes(writer, place):
    path = os.path.join(place, "prompts.txt")
    with open(path, "w") as file:
        file.write("\n".join(PROMPTS))  # the last without an end of line
    written = writer.texts("--prompt", *PROMPTS)
    expect([one["prompt"] for one in written] == PROMPTS, "prompts stand in the result", written)
    expect(writer.texts("--prompt_file", path) == written, "a file's lines are prompts", written)
    expect(writer.texts(stdin="\n".join(PROMPTS) + "\n") == written, "lines of a pipe are prompts", written)
    expect(writer.texts(stdin="\r\n".join(PROMPTS) + "\r\n") == written, "also those of Windows", written)
    plain = writer.generate("--prompt", *PROMPTS).stdout
    expect(plain == "".join(one["text"] + "\n" for one in written), "texts are printed as they are", plain)
    document = json.loads(writer.generate("--json", "--prompt", PROMPTS[0]).stdout)
    expect(document["schema"] == 1 and document["model"] == writer.model, "the object names its schema and model", document)
    encoded = json.loads(writer.call("tokenizer", "encode", "--tokenizer_name", writer.model, "--json", PROMPTS[0]).stdout)
    expect(written[0]["prompt_ids"] == encoded["ids"], "ids of the prompt are the tokenizer's", written[0])
    decoded = writer.call("tokenizer", "decode", "--tokenizer_name", writer.model, *map(str, written[0]["ids"])).stdout
    expect(decoded == written[0]["text"] + "\n", "the text is that of the ids", written[0])


def settings_of_the_folder_count_and_flags_go_before(writer, place):
    def lengths(*more, **options):
        return [len(ids) for ids in writer.ids("--prompt", *PROMPTS, "--eos_token_id", "null", *more, **options)]

    expect(lengths() == [20, 20, 20], "twenty tokens without a word", lengths())
    own = writer.with_files(os.path.join(place, "own"), generation_config={"max_new_tokens": 5, "num_beams": 3, "eos_token_id": 0})
    expect(lengths(model=own) == [5, 5, 5], "the folder's length", "")
    expect(lengths("--max_new_tokens", 7, model=own) == [7, 7, 7], "the flag's length", "")
    expect(lengths("--max_new_tokens", "null", model=own) == [20, 20, 20], "null is the default", "")
    expect("score" in writer.texts("--prompt", "a", model=own)[0], "the folder's beams", "")
    expect("score" not in writer.texts("--prompt", "a", "--num_beams", 1, model=own)[0], "the flag's beams", "")
    # A length that counts the prompt.
    prompt = len(writer.texts("--prompt", PROMPTS[1])[0]["prompt_ids"])
    expect(len(writer.ids("--prompt", PROMPTS[1], "--max_length", prompt + 4, "--eos_token_id", "null")[0]) == 4, "max_length", "")
    # Positions end at 64.
    long = "the " * 50
    tokens = len(writer.texts("--prompt", long)[0]["prompt_ids"])
    expect(0 < 64 - tokens < 20, "the prompt is nearly as long as positions", tokens)
    expect(len(writer.ids("--prompt", long, "--eos_token_id", "null")[0]) == 64 - tokens, "no more than positions", "")
    first = writer.ids("--prompt", *PROMPTS)
    for flags in (["--suppress_tokens", *map(str, first[0][:3])], ["--repetition_penalty", "5.0"], ["--no_repeat_ngram_size", "1"],
                  ["--encoder_repetition_penalty", "50"],
                  ["--bad_words_ids", json.dumps([[token] for token in first[0][:2]])],
                  ["--forced_eos_token_id", "78"], ["--begin_suppress_tokens", str(first[0][0])],
                  ["--sequence_bias", json.dumps([[[90], 50.0]])], ["--do_sample"], ["--min_new_tokens", "1", "--eos_token_id", str(first[0][0])]):
        expect(writer.ids("--prompt", *PROMPTS, *flags) != first, f"{flags} act", first)


def texts_end_at_stop_strings(writer, place):
    whole = writer.texts("--prompt", PROMPTS[0], "--max_new_tokens", 30)[0]
    middle = whole["text"][6:9]
    cut = writer.texts("--prompt", PROMPTS[0], "--max_new_tokens", 30, "--stop_strings", middle, "never there")[0]
    expect(len(cut["ids"]) < len(whole["ids"]) and cut["ids"] == whole["ids"][:len(cut["ids"])], "it ends before", [whole, cut])
    expect(middle in cut["text"], "the stop string is part of the text", cut)


def sampling_with_a_seed_is_the_same_for_any_batch(writer, place):
    many = [f"{one} {two}" for one in PROMPTS for two in ("and", "on", "with")]
    flags = ["--prompt", *many, "--do_sample", "--temperature", "1.5", "--num_return_sequences", 2, "--max_new_tokens", 15]
    drawn = writer.ids(*flags, "--seed", 3, "--batch_size", 9)
    expect(len({tuple(ids) for ids in drawn}) > 12, "texts are not alike", drawn)
    for batch in (1, 2, 4):
        expect(writer.ids(*flags, "--seed", 3, "--batch_size", batch) == drawn, f"batches of {batch}", drawn)
    expect(writer.ids(*flags, "--seed", 4) != drawn, "another seed draws others", drawn)
    beams = ["--prompt", *many, "--do_sample", "--num_beams", 3, "--max_new_tokens", 8]
    expect(writer.ids(*beams, "--batch_size", 9) == writer.ids(*beams, "--batch_size", 2), "beams that draw", "")


def on_terminal(writer, words, typed=(), columns="80"):
    """What a terminal shows of it, in the pieces in which it came, and the exit code. `typed`: (text to wait for, what is typed)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(HFTRAIN, [HFTRAIN, *words], {**writer.environment, "COLUMNS": columns})
    pieces, typed, looked_at = [], list(typed), 0
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        pieces.append(piece)
        seen = b"".join(pieces)
        if typed and typed[0][0].encode() in seen[looked_at:]:
            looked_at = len(seen)
            os.write(terminal, typed.pop(0)[1].encode())
    status = os.waitpid(pid, 0)[1]
    os.close(terminal)
    return pieces, os.waitstatus_to_exitcode(status)


def texts_come_as_they_are_written(writer, place):
    flags = ["--prompt", *PROMPTS, "--max_new_tokens", "40", "--eos_token_id", "null"]
    whole = writer.generate(*flags).stdout
    expect(writer.generate(*flags, "--stream").stdout == whole, "streamed texts are the same", whole)
    for batch in ("1", "2"):
        expect(writer.generate(*flags, "--stream", "--batch_size", batch).stdout == whole, f"in batches of {batch}", whole)
    # Texts of different lengths: ends come at different steps.
    first = writer.ids("--prompt", *PROMPTS)
    ends = ["--prompt", *PROMPTS, "--eos_token_id", str(first[0][2]), str(first[1][4])]
    expect(writer.generate(*ends, "--stream").stdout == writer.generate(*ends).stdout, "ends at different steps", "")
    most = 0
    for _ in range(8):  # a reader that waits for its processor finds several pieces as one
        pieces, code = on_terminal(writer, writer.words(*flags))
        shown = b"".join(pieces).decode().replace("\r\n", "\n")
        expect(code == 0 and shown == whole, "a terminal shows the texts", shown)
        most = max(most, len(pieces))
        if most > 3:
            break
    expect(most > 3, "in many pieces", most)
    pieces, code = on_terminal(writer, writer.words(*flags, "--num_beams", "2"))
    expect(b"".join(pieces).decode().replace("\r\n", "\n") == writer.generate(*flags, "--num_beams", "2").stdout, "beams at once", "")


def a_character_of_several_tokens_is_shown_whole(writer, place):
    # Nothing may come but the three bytes of a sign, by a bias, again and again.
    text = "€" * 6
    ids = [int(i) for i in writer.call("tokenizer", "encode", "--tokenizer_name", writer.model, text).stdout.split()]
    expect(len(ids) >= 12, "the tokenizer has no token for it", ids)
    one = ids[:3]
    bias = [[[one[0]], 60.0], [[one[0], one[1]], 120.0], [[one[1], one[2]], 120.0], [[one[0], one[0]], -200.0]]
    flags = ["--prompt", "a", "--sequence_bias", json.dumps(bias), "--max_new_tokens", "15", "--eos_token_id", "null"]
    written = writer.texts(*flags)[0]["text"]
    expect("€" in written, "signs are written", written)
    pieces, _ = on_terminal(writer, writer.words(*flags))
    for piece in pieces:
        piece.decode()  # whole characters in each
    expect("�" not in b"".join(pieces).decode().rstrip()[:-1], "no half of a character", pieces)


def a_chat_follows_the_template(writer, place):
    model = writer.with_files(os.path.join(place, "chat"),
                              tokenizer_config=writer.changed_tokenizer(chat_template=TEMPLATE))
    flags = ["--chat", "--system", "be kind", "--max_new_tokens", 5]
    said = json.loads(writer.generate(*flags, "--json", model=model, stdin="hello\nand now?\n").stdout)
    roles = [message["role"] for message in said["messages"]]
    expect(roles == ["system", "user", "assistant", "user", "assistant"], "the conversation", said)
    first, second = said["messages"][2]["content"], said["messages"][4]["content"]
    # The same as prompts that are written by hand.
    begin = "<system>be kind\n<user>hello\n<assistant>"
    by_hand = writer.texts("--prompt", begin, "--max_new_tokens", 5, model=model)[0]
    expect(by_hand["text"] == first, "the first answer", [by_hand, first])
    by_hand = writer.texts("--prompt", f"{begin}{first}\n<user>and now?\n<assistant>", "--max_new_tokens", 5, model=model)[0]
    expect(by_hand["text"] == second, "the second answer has seen what was before", [by_hand, second])
    piped = writer.generate(*flags, model=model, stdin="hello\nand now?\n").stdout
    expect(piped == f"{first}\n{second}\n", "answers alone are printed", piped)
    expect(writer.generate(*flags, "--prompt", "hello", "and now?", model=model).stdout == piped, "turns from words", piped)
    unasked = writer.generate("--chat", "--system", "be kind", "--prompt", "hello", model=model).stdout
    expect(unasked.startswith(first), "an answer goes as far as the model's positions where nobody says how far", unasked)
    own = os.path.join(place, "own.jinja")
    with open(own, "w") as file:
        file.write("{{ messages[0].content }}")
    other = writer.texts("--prompt", "be kind", "--max_new_tokens", 5, model=model)[0]["text"]
    expect(writer.generate(*flags, "--chat_template_path", own, "--prompt", "hello", model=model).stdout == other + "\n",
           "another template", other)
    broken = writer.generate(*flags, "--json", "--prompt", "hello", "the " * 200, model=model, code=4)
    expect([message["content"] for message in json.loads(broken.stdout)["messages"]] == ["be kind", "hello", first], "what was said before a mistake is kept", broken.stdout)
    for words, says in ((["--prompt", "a", "--do_sample", "--num_return_sequences", 2], "one answer to each turn"), ([], "there is no prompt")):
        refused = writer.generate("--chat", *words, model=model, code=2)
        expect(says in refused.stderr and parts_of(refused.stderr) == [{"what", "where", "why", "try"}], says, refused.stderr)
    pieces, code = on_terminal(writer, writer.words(*flags, model=model), [("> ", "hello\n"), ("> ", "and now?\n"), ("> ", "\x04")])
    shown = b"".join(pieces).decode()
    expect(code == 0, f"a chat on a terminal ended with {code}", shown)
    in_order(shown.replace("\r\n", "\n"), "> ", first, "> ", second, "> ")


def a_chat_longer_than_the_model_is_told(writer, place):
    rotary = os.path.join(place, "rotary")
    flags = writer.flags(rotary, "--max_steps", 1, "--save_strategy", "no", ranks=1)
    flags[1], flags[3] = "llama", ("hidden_size=32,intermediate_size=64,num_hidden_layers=1,num_attention_heads=2,vocab_size=512,"
                                   "max_position_embeddings=64,bos_token_id=0,eos_token_id=0")
    writer.call(*flags)
    for model, goes_on in ((rotary, True), (writer.model, False)):
        chat = writer.with_files(os.path.join(place, f"chat{goes_on}"), tokenizer_config=writer.changed_tokenizer(chat_template=TEMPLATE), model=model)
        words = ["--chat", "--json", "--prompt", "hello", "the " * 200]
        told = writer.generate(*words, model=chat, code=4)
        expect(parts_of(told.stderr) == [{"what", "where", "why", "try"}] and len(json.loads(told.stdout)["messages"]) == 2, "the answer before it stays", told.stdout)
        for says in ("where: turn 2\n", "the model was made for 64 positions", "try: a new chat"):
            expect(says in told.stderr, f"{chat} says '{says}'", told.stderr)
        expect(("--max_new_tokens" in told.stderr) == goes_on, "what goes beyond the positions", told.stderr)
        further = writer.generate(*words, "--max_new_tokens", 3, model=chat, code=0 if goes_on else 4)
        expect(goes_on or "where: turn 2\n" in further.stderr, "a length that somebody names", further.stderr)
        counted = writer.generate(*words, "--max_length", 40, model=chat, code=4).stderr
        expect("where: turn 2\n" in counted and "max_length is 40" in counted, "a length that counts all", counted)


def a_chat_is_left_by_a_key_without_an_error(writer, place):
    model = writer.with_files(os.path.join(place, "chat"), tokenizer_config=writer.changed_tokenizer(chat_template=TEMPLATE))
    words = writer.words("--chat", "--max_new_tokens", 3, model=model)
    for typed in ([("> ", "\x03")], [("> ", "hello\n"), ("> ", "\x03")]):
        pieces, code = on_terminal(writer, words, typed)
        shown = b"".join(pieces).decode()
        expect(code == 130, f"it ended with {code} and not with 130", shown)
        expect("error:" not in shown and "interrupted" not in shown and shown.endswith("\r\n"), "quietly", shown)
    pieces, code = on_terminal(writer, [*words, "--json"], [("> ", "hello\n"), ("> ", "\x03")])
    shown = b"".join(pieces).decode()
    expect(code == 130 and '"messages"' in shown and "error:" not in shown, "with what was said", shown)


def a_pipe_that_stays_open_gets_its_answers(writer, place):
    expected = [one["text"] for one in writer.texts("--prompt", *PROMPTS)]
    for flags in ([], ["--batch_size", "3"], ["--json"]):
        with subprocess.Popen([HFTRAIN, *writer.words(*flags)], env=writer.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            said = b""
            for prompt, text in zip(PROMPTS, expected):
                process.stdin.write(prompt.encode() + b"\n")
                process.stdin.flush()
                wanted, end = json.dumps(text, ensure_ascii=False)[1:-1] if flags == ["--json"] else text, time.monotonic() + PATIENCE
                while wanted.encode() not in said and time.monotonic() < end:
                    if select.select([process.stdout], [], [], 1)[0]:
                        said += os.read(process.stdout.fileno(), 65536)
                expect(wanted.encode() in said, f"{flags}: an answer before the next line", [prompt, said])
            process.stdin.close()
            said += process.stdout.read()
            expect(process.wait(PATIENCE) == 0, f"{flags}: the end of the pipe ends it", process.returncode)
        if flags == ["--json"]:
            document = json.loads(said)
            expect([one["text"] for one in document["generations"]] == expected and document["seconds"] > 0, "one object", document)


def old_folders_keep_settings_in_config_json(writer, place):
    with open(os.path.join(writer.model, "config.json")) as file:
        config = json.load(file)
    with open(os.path.join(writer.model, "generation_config.json")) as file:
        ends = {key: value for key, value in json.load(file).items() if key.endswith("_token_id")}
    old = writer.with_files(os.path.join(place, "old"), config={**config, **ends, "num_beams": 3, "max_length": 30, "length_penalty": 2.0})
    os.remove(os.path.join(old, "generation_config.json"))
    flags = ["--num_beams", 3, "--max_length", 30, "--length_penalty", 2]
    expect(writer.texts("--prompt", *PROMPTS, model=old) == writer.texts("--prompt", *PROMPTS, *flags), "beams of config.json", "")
    # Special tokens that no text of this vocabulary has: passed over where nothing needs them.
    strange = writer.with_files(os.path.join(place, "strange"), generation_config={"bos_token_id": 50256, "eos_token_id": 50256, "pad_token_id": -1})
    result = writer.generate("--prompt", *PROMPTS, model=strange)
    expect(result.stdout == writer.generate("--prompt", *PROMPTS, "--eos_token_id", "null").stdout, "texts without an end", result.stdout)
    expect("eos_token_id" in result.stderr and "50256" in result.stderr, "it is said", result.stderr)
    said = writer.generate("--prompt", "", model=strange, code=4).stderr
    expect("bos_token_id" in said and "50256" in said, "where one is needed it is refused", said)
    partly = writer.with_files(os.path.join(place, "partly"), generation_config={**ends, "eos_token_id": [50256, 0]})
    expect(writer.generate("--prompt", *PROMPTS, model=partly).stderr == "", "one of the ends is there", "")


def mistakes_are_told(writer, place):
    def told(code, *words, says, **options):
        said = writer.generate(*words, code=code, **options).stderr
        parts = re.findall(r"^ +(where|why|hint|do|what to do)", said, re.M)
        expect(len(said.splitlines()) >= 4, f"{words}: four parts", said)
        expect(says in said, f"{words}: it says '{says}'", said)

    def folder(name, drop=(), **files):
        path = writer.with_files(os.path.join(place, name), **files)
        for one in drop:
            os.remove(os.path.join(path, one))
        return path

    with open(os.path.join(writer.model, "config.json")) as file:
        config = json.load(file)
    told(2, "--prompt", "a", "--max_tokens", "3", says="--max_new_tokens")
    told(2, "--prompt", "a", "--temprature", "3", says="--temperature")
    told(2, "--prompt", "a", "--temperature", "0", "--do_sample", says="temperature is 0")
    told(2, "--prompt", "a", "--num_beams", "x", says="--num_beams")
    told(2, "--prompt", "a", "--eos_token_id", "512", says="512")
    told(2, "--prompt", "a", "--dtype", "int8", says="--dtype")
    told(2, "--prompt", "a", "--prompt_file", "b", says="--prompt_file")
    told(2, "--prompt", "a", "--system", "b", says="--chat")
    told(2, says="there is no prompt")
    closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&-', HFTRAIN, *writer.words()], env=writer.environment, text=True, capture_output=True,
                            timeout=PATIENCE)
    expect(closed.returncode == 2 and "there is no prompt" in closed.stderr, "a closed input", closed.stderr)
    told(2, "--prompt", "a", "--max_new_tokens", 2 ** 62, says="too large")
    told(2, "--prompt", "a", "--num_return_sequences", 2, says="num_return_sequences")
    told(2, "--prompt", "a", "--stream", "--num_beams", 2, says="beams cannot be shown")
    told(2, "--prompt", "a", "--stream", "--num_return_sequences", 2, "--do_sample", says="several texts")
    told(2, "--prompt", "a", "--stream", "--json", says="--stream")
    told(2, "--prompt", "a", "--stream", says=os.path.join("beams", "generation_config.json"), model=folder("beams", generation_config={"num_beams": 3}))
    expect(writer.generate("--prompt", "a", "--stream", "false", "--num_beams", 2).stdout, "without a stream", "")
    expect(writer.generate("--prompt", "a", model=folder("greedy", generation_config={"temperature": 0.0, "do_sample": False})).stdout, "it would act where tokens are drawn", "")
    told(4, "--prompt_file", os.path.join(place, "absent"), says="absent")
    told(4, "--prompt", "a", "--chat", says="no chat template")
    told(4, "--prompt", "a", says="absent", model=os.path.join(place, "absent"))
    told(4, "--prompt", "a", says="--output_dir of a run", model=folder("weightless", ["model.safetensors"]))
    for name, says in (("pytorch_model.bin", "Python pickle"), ("model", "checkpoint export")):
        other = folder("with_" + name, ["model.safetensors"])
        os.mkdir(os.path.join(other, name))
        told(4, "--prompt", "a", says=says, model=other)
        trained = subprocess.run([HFTRAIN, "--model_name_or_path", other, "--train_file", writer.text, "--output_dir", os.path.join(place, "out"),
                                  "--max_steps", "1", "--use_cpu"], env=writer.environment, text=True, capture_output=True)
        expect(trained.returncode == 4 and says in trained.stderr, f"training says of {name} the same", trained.stderr)
    told(4, "--prompt", "a", says="tokenizer", model=folder("wordless", ["tokenizer.json"]))
    told(4, "--prompt", "a", says="config.json", model=folder("shapeless", ["config.json"]))
    told(4, "--prompt", "a", says="writes no text",
         model=folder("classifier", config={**config, "architectures": ["GPT2ForSequenceClassification"]}))
    told(4, "--prompt", "a", says="temperature", model=folder("odd", generation_config={"temperature": -1, "do_sample": True}))
    told(4, "--prompt", "a", says="is not supported", model=folder("contrastive", generation_config={"penalty_alpha": 0.6, "top_k": 4}))
    told(4, "--prompt", "the " * 200, says="64", stdin="")
    told(4, "--prompt", "a", "--max_new_tokens", 100, says="64 positions")
    # Prompts are counted as lines of a file are.
    told(4, "--prompt", "a", "the " * 200, says="where: prompt 2 of ")
    told(4, "--prompt", "a", "the " * 50, "--max_new_tokens", 60, says="where: prompt 2\n")
    # A prompt of nothing begins with the first token, where there is one.
    begin = writer.texts("--prompt", "")[0]
    expect(begin["prompt_ids"] == [0], "an empty prompt is the first token", begin)
    bare = folder("bare", generation_config={"eos_token_id": 0})
    told(4, "--prompt", "", says="nothing to go on from", model=bare)


def settings_that_do_nothing_are_told(writer, place):
    idle = {"temperature": 2, "top_k": 1, "top_p": 0.5, "min_p": 0.5, "typical_p": 0.5, "epsilon_cutoff": 0.01, "eta_cutoff": 0.01, "length_penalty": 2, "early_stopping": "true",
            "max_length": 3, "decoder_start_token_id": 1, "pad_token_id": 5}
    words = [word for name, value in idle.items() for word in (f"--{name}", value)]
    plain, said = writer.generate("--prompt", "the", "--max_new_tokens", 6), writer.generate("--prompt", "the", "--max_new_tokens", 6, *words)
    told = re.findall(r"^note: --(\w+) has no effect: ", said.stderr, re.M)
    expect(sorted(told) == sorted(idle) and said.stdout == plain.stdout, "each of them, and it is true", said.stderr)
    expect("note: " not in plain.stderr, "nothing where nothing was given", plain.stderr)
    used = writer.generate("--prompt", "the", "--do_sample", "--temperature", 2, "--top_k", 5, "--num_beams", 2, "--length_penalty", 2)
    expect("note: " not in used.stderr, "nothing of what acts", used.stderr)
    own = writer.with_files(os.path.join(place, "own"), generation_config={"eos_token_id": 0, "temprature": 2, "use_cache": True, "chat_format": None})
    expect(re.findall(r"^note: (\w+) of .*generation_config.json has no effect: ", writer.generate("--prompt", "the", model=own).stderr, re.M) == ["temprature"],
           "a key that nobody reads", own)
    contrastive = writer.with_files(os.path.join(place, "contrastive"), generation_config={"penalty_alpha": 0.6})
    expect("penalty_alpha" in writer.generate("--prompt", "the", model=contrastive, code=4).stderr, "another way of decoding is refused", contrastive)
    beams = writer.generate("--prompt", "the", "--num_beams", 2, "--prompt_lookup_num_tokens", 3)
    expect("--prompt_lookup_num_tokens has no effect: beams" in beams.stderr, "guesses beside beams", beams.stderr)
    unasked = writer.generate("--prompt", "the", "--max_matching_ngram_size", 2)
    expect("--max_matching_ngram_size has no effect: prompt_lookup_num_tokens asks for no guesses" in unasked.stderr, "nothing to look for", unasked.stderr)
    short = writer.generate("--prompt", "the", "--max_new_tokens", 2, "--min_new_tokens", 4)
    expect("texts end before min_new_tokens" in short.stderr, "lengths that cannot be", short.stderr)


def a_variable_of_threads_that_holds_no_number_is_told(writer, place):
    before = writer.environment
    for variable, value, told in (("OMP_NUM_THREADS", "many", True), ("MKL_NUM_THREADS", "0", True), ("OMP_NUM_THREADS", "1", False)):
        writer.environment = {**before, variable: value}
        said = writer.generate("--prompt", "the", "--max_new_tokens", 2).stderr
        warned = f"warning: {variable}={value} has no effect: it is no number of threads from 1 to 4096"
        expect((warned in said) == told, f"{variable}={value}", said)
    writer.environment = before


def wait_until_heard(process, number):
    """Until the program takes this signal by itself: before that any program ends by it."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with open(f"/proc/{process.pid}/status") as file:
            taken = [int(line.split()[1], 16) for line in file if line.startswith(("SigBlk:", "SigCgt:"))]
        if any(mask >> number - 1 & 1 for mask in taken):
            return time.sleep(0.1)  # into whatever it does then
        time.sleep(0.002)


def signals_end_it(writer, place):
    prompts = os.path.join(place, "prompts.txt")
    with open(prompts, "w") as file:
        file.write("the old\n" * 20_000)  # none is quicker than a signal
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        for words in (["--prompt_file", prompts, "--stream", "--max_new_tokens", "12", "--eos_token_id", "null"], []):
            process = subprocess.Popen([HFTRAIN, *writer.words(*words)], env=writer.environment, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            wait_until_heard(process, number)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE)
            expect(process.returncode == code, f"{words} ended with {process.returncode} and not {code}", err.decode())


def a_signal_is_heard_while_the_worker_does_not_read(writer, place):
    # The program once more, beside a worker that takes nothing.
    program, worker = (os.path.join(place, "bin", name) for name in ("hftrain", "hftrain-worker"))
    os.mkdir(os.path.dirname(program))
    os.symlink(os.path.join(os.path.dirname(os.path.dirname(HFTRAIN)), "lib"), os.path.join(place, "lib"))
    shutil.copy(HFTRAIN, program)
    with open(worker, "w") as file:
        file.write("#!/bin/sh\nexec sleep 1000\n")
    os.chmod(worker, 0o755)
    prompts = os.path.join(place, "prompts.txt")
    with open(prompts, "w") as file:
        file.write("the old " * 40_000 + "\n")
    process = subprocess.Popen([program, *writer.words("--prompt_file", prompts)], env=writer.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    seen, end = [], time.monotonic() + PATIENCE
    while len(seen) < 4 and time.monotonic() < end:  # it has a worker, and has had nothing to do for a while
        time.sleep(0.1)
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file, open(f"/proc/{process.pid}/stat") as stat:
            now = (file.read(), stat.read().rsplit(")", 1)[1].split()[11:13])
        seen = [*seen, now] if now[0] and (not seen or seen[-1] == now) else []
    interrupted(process)


def a_worker_that_cannot_be_loaded_is_told(writer, place):
    # The program once more, beside workers that the system's loader ends.
    program, worker = (os.path.join(place, "bin", name) for name in ("hftrain", "hftrain-worker"))
    os.mkdir(os.path.dirname(program))
    os.symlink(os.path.join(os.path.dirname(os.path.dirname(HFTRAIN)), "lib"), os.path.join(place, "lib"))
    shutil.copy(HFTRAIN, program)
    loader = "error while loading shared libraries: libtorch_cpu.so: cannot open shared object file"
    for words, code, says in ((f"echo \"$0: {loader}\" >&2; exit 127", 3, ("error: hftrain-worker could not be loaded\n  where: hftrain-worker\n", f"why: {loader}\n", "try: `hftrain doctor`")),
                              ("echo bye >&2; exit 126", 9, ("the worker was lost while generating", "its last words: bye\n"))):
        with open(worker, "w") as file:
            file.write(f"#!/bin/sh\n{words}\n")
        os.chmod(worker, 0o755)
        ended = subprocess.run([program, *writer.words("--prompt", "the old")], env=writer.environment, text=True, capture_output=True, timeout=PATIENCE)
        expect(ended.returncode == code and all(each in ended.stderr for each in says), f"{code}, {says}", f"{ended.returncode}\n{ended.stderr}")


def interrupted(process):
    process.send_signal(signal.SIGINT)
    try:
        code = process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    expect(code == 130, f"it ended with {code} and not with 130", process.stderr.read().decode())


def a_signal_is_heard_while_nobody_reads(writer, place):
    prompts = os.path.join(place, "prompts.txt")
    with open(prompts, "w") as file:
        file.write("the old\n" * 20_000)
    flags = ["--prompt_file", prompts, "--batch_size", "64", "--max_new_tokens", "12", "--eos_token_id", "null"]
    process = subprocess.Popen([HFTRAIN, *writer.words(*flags)], env=writer.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    held, end = 0, time.monotonic() + PATIENCE
    while held < 60_000 and time.monotonic() < end:  # a pipe holds 65,536 bytes
        time.sleep(0.1)
        held = int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, b"\0" * 4), sys.byteorder)
    expect(held >= 60_000, "the pipe is full", held)
    time.sleep(0.5)
    interrupted(process)
    process.stdout.close()
    with open("/dev/full", "w") as full:
        said = subprocess.run([HFTRAIN, *writer.words("--prompt", "a")], env=writer.environment, stdout=full, stderr=subprocess.PIPE, text=True)
    expect(said.returncode == 7 and "standard output" in said.stderr, "a full disk is told", said.stderr)


def the_commands_of_the_page_work(writer, place):
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "generation.md")
    with open(page) as file:
        commands = re.findall(r"^    (.+)$", file.read().split("## Prompts")[0], re.M)
    expect(len(commands) == 7, "the page has its commands", commands)
    environment = {**writer.environment, "PATH": os.path.dirname(HFTRAIN) + os.pathsep + os.environ["PATH"]}
    for command in commands:
        said = subprocess.run(command, shell=True, cwd=place, env=environment, text=True, capture_output=True)
        expect(said.returncode == 0, f"{command} ended with {said.returncode}", said.stdout + said.stderr)
        expect(" generate " not in command or said.stdout.strip(), f"{command} writes", said.stderr)


SCENARIOS = [prompts_come_from_words_files_and_pipes, settings_of_the_folder_count_and_flags_go_before, texts_end_at_stop_strings,
             sampling_with_a_seed_is_the_same_for_any_batch, guesses_ahead_change_no_text,
             copies_of_weights_foresee_and_change_no_text, texts_come_as_they_are_written,
             a_character_of_several_tokens_is_shown_whole, a_chat_follows_the_template, a_chat_longer_than_the_model_is_told,
             a_chat_is_left_by_a_key_without_an_error, mistakes_are_told, settings_that_do_nothing_are_told,
             a_variable_of_threads_that_holds_no_number_is_told, signals_end_it, a_pipe_that_stays_open_gets_its_answers,
             old_folders_keep_settings_in_config_json, a_signal_is_heard_while_the_worker_does_not_read,
             a_signal_is_heard_while_nobody_reads, a_worker_that_cannot_be_loaded_is_told,
             the_commands_of_the_page_work]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Writer)
