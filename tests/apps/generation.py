#!/usr/bin/env python3
"""`hftrain generate`: prompts from words, files and pipes; settings of the folder and of the command line; texts as they come, on a
terminal too; chats; mistakes.

  generation.py [SCENARIO…]
"""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, PATIENCE, Fixture, expect, in_order, run_scenarios

PROMPTS = ["the old", "a small child sees the", "2 + 3 ="]
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

    def with_files(self, place, **files):
        """A copy of the model with these files, name of the file without .json."""
        shutil.copytree(self.model, place, ignore=shutil.ignore_patterns("hftrain", "runs"))
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
    own = os.path.join(place, "own.jinja")
    with open(own, "w") as file:
        file.write("{{ messages[0].content }}")
    other = writer.texts("--prompt", "be kind", "--max_new_tokens", 5, model=model)[0]["text"]
    expect(writer.generate(*flags, "--chat_template_path", own, "--prompt", "hello", model=model).stdout == other + "\n",
           "another template", other)
    pieces, code = on_terminal(writer, writer.words(*flags, model=model), [("> ", "hello\n"), ("> ", "and now?\n"), ("> ", "\x04")])
    shown = b"".join(pieces).decode()
    expect(code == 0, f"a chat on a terminal ended with {code}", shown)
    in_order(shown.replace("\r\n", "\n"), "> ", first, "> ", second, "> ")


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
    told(2, "--prompt", "a", "--temperature", "0", says="temperature is 0")
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
    told(4, "--prompt_file", os.path.join(place, "absent"), says="absent")
    told(4, "--prompt", "a", "--chat", says="no chat template")
    told(4, "--prompt", "a", says="absent", model=os.path.join(place, "absent"))
    told(4, "--prompt", "a", says="no weights", model=folder("weightless", ["model.safetensors"]))
    told(4, "--prompt", "a", says="tokenizer", model=folder("wordless", ["tokenizer.json"]))
    told(4, "--prompt", "a", says="config.json", model=folder("shapeless", ["config.json"]))
    told(4, "--prompt", "a", says="writes no text",
         model=folder("classifier", config={**config, "architectures": ["GPT2ForSequenceClassification"]}))
    told(4, "--prompt", "a", says="temperature", model=folder("odd", generation_config={"temperature": -1}))
    told(4, "--prompt", "a", says="is not supported", model=folder("contrastive", generation_config={"penalty_alpha": 0.6, "top_k": 4}))
    told(4, "--prompt", "the " * 200, says="64", stdin="")
    told(4, "--prompt", "a", "--max_new_tokens", 100, says="64 positions")
    # A prompt of nothing begins with the first token, where there is one.
    begin = writer.texts("--prompt", "")[0]
    expect(begin["prompt_ids"] == [0], "an empty prompt is the first token", begin)
    bare = folder("bare", generation_config={"eos_token_id": 0})
    told(4, "--prompt", "", says="nothing to go on from", model=bare)


def signals_end_it(writer, place):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        for words, wait in ((["--prompt", "a", "--max_new_tokens", "50", "--stream"], None), ([], None)):
            process = subprocess.Popen([HFTRAIN, *writer.words(*words)], env=writer.environment, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(0.15)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE)
            done = words and process.returncode == 0  # it was quicker
            expect(done or process.returncode == code, f"{words} ended with {process.returncode} and not {code}", err.decode())


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
             sampling_with_a_seed_is_the_same_for_any_batch, texts_come_as_they_are_written,
             a_character_of_several_tokens_is_shown_whole, a_chat_follows_the_template, mistakes_are_told, signals_end_it,
             the_commands_of_the_page_work]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Writer)
