#!/usr/bin/env python3
"""`hftrain report`: one page of a run or of several, written or served while they go on, and the events it is made of.

  report.py [SCENARIO]…     all of them without a word
"""
import html.parser
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, PATIENCE, Fixture, InTime, expect, records, run_scenarios, skip


class Page(html.parser.HTMLParser):
    """What a browser would find: data, words, and whether every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.text, self.scripts, self.open, self.words = text, [], [], []
        self.feed(text)
        expect(not self.open, "every element is closed", self.open)
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attributes):
        self.open += [tag] if tag not in ("meta",) else []
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        expect(self.open and self.open.pop() == tag, f"</{tag}> closes what was opened", self.open)

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += text
        else:
            self.words.append(text)

    def chart(self, title):
        found = [chart for chart in self.data["charts"] if chart["title"] == title]
        expect(len(found) == 1, f"one chart of {title}", [chart["title"] for chart in self.data["charts"]])
        return found[0]["lines"]


def report(fixture, *words, folder, expect_code=0):
    result = subprocess.run([HFTRAIN, "report", *map(str, words)], cwd=folder, env=fixture.environment, text=True, capture_output=True)
    expect(result.returncode == expect_code, f"report {words} ends with {expect_code}", result)
    return result


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def events(output):
    return [json.loads(line) for line in read(output, "hftrain", "events.jsonl").splitlines() if line]


def a_page_has_what_the_run_logged(fixture, folder):
    output = os.path.join(folder, "out")
    fixture.call(*fixture.flags(output, "--max_steps", 6, "--save_steps", 3, "--logging_steps", 1, "--eval_strategy", "steps",
                                "--eval_steps", 3, "--do_eval", "--validation_split_percentage", 10, "--run_name", "a <b> & c"))
    result = report(fixture, output, folder=folder)
    expect(result.stdout == "report.html\n", "says where the page is", result)
    page = Page(read(folder, "report.html"))
    log = [record for record in records(output) if "loss" in record]
    line = page.chart("loss")[0]
    expect(line["x"] == [record["step"] for record in log], "the steps of the log", line)
    expect(len(line["y"]) == len(log) == 6 and all(abs(a - record["loss"]) <= 1e-6 * abs(a) for a, record in zip(line["y"], log)),
           "the losses of the log", line)
    expect({"learning_rate", "grad_norm", "eval_loss"} <= {chart["title"] for chart in page.data["charts"]}, "charts", page.data)
    words = "\n".join(page.words)
    for text in ("a <b> & c", "finished", "6 of 6", "checkpoint-3, checkpoint-6", "Where the time went", "learning_rate: 0.001",
                 repr(log[-1]["loss"])):
        expect(text in words, f"the page says {text!r}", words)
    expect("<b> &" not in page.text, "names are no HTML", page.text[:2000])
    told = [event["event"] for event in events(output)]
    expect(told[0] == "start" and told[-1] == "end" and told.count("checkpoint") == 2 and "sample" in told, "events", told)
    expect("tokens per second" in {chart["title"] for chart in page.data["charts"]}, "the speed has a chart", page.data["charts"])


def runs_stand_side_by_side(fixture, folder):
    outputs = [os.path.join(folder, name) for name in ("slow", "fast")]
    for output, rate in zip(outputs, ("1e-4", "1e-2")):
        fixture.call(*fixture.flags(output, "--max_steps", 3, "--save_strategy", "no", "--learning_rate", rate, ranks=1))
    report(fixture, *outputs, "--output", "both.html", folder=folder)
    page = Page(read(folder, "both.html"))
    expect(page.data["runs"] == ["slow", "fast"] and len(page.chart("loss")) == 2, "two lines in a chart", page.data["runs"])
    words = " ".join(page.words)
    expect("Arguments that differ" in words and "0.0001" in words and "0.01" in words, "the rates differ", words)
    expect("per_device_train_batch_size" not in re.split("Arguments that differ", words)[1].split("Events")[0], "the rest does not", words)
    expect(report(fixture, outputs[0], "--output", "-", folder=folder).stdout.startswith("<!DOCTYPE html>"), "- is standard output", "")


def mistakes_lose_nothing(fixture, folder):
    output = os.path.join(folder, "out")
    fixture.call(*fixture.flags(output, "--max_steps", 1, "--save_strategy", "no", ranks=1))
    with open(os.path.join(folder, "report.html"), "w") as file:
        file.write("my own notes")
    for named in ([], ["--output", "report.html"]):
        result = report(fixture, output, *named, folder=folder, expect_code=2)
        expect("--output FILE.html" in result.stderr and read(folder, "report.html") == "my own notes", "not written over", result)
    for _ in range(2):
        report(fixture, output, "--output", "again.html", folder=folder)
    os.remove(os.path.join(folder, "report.html"))
    for word, says in ((folder, "there is no run in this folder"), ("nowhere", "no such folder")):
        result = report(fixture, output, word, folder=folder, expect_code=2)
        expect(says in result.stderr and not os.path.exists(os.path.join(folder, "report.html")), says, result)
    expect("no run is named" in report(fixture, folder=folder, expect_code=2).stderr, "a run is wanted", "")
    expect("is no port" in report(fixture, output, "--serve", "70000", folder=folder, expect_code=2).stderr, "ports", "")
    expect("is no port" in report(fixture, output, "--serve", "x" * 300, folder=folder, expect_code=2).stderr, "a name that is too long", "")
    os.chmod(os.path.join(output, "hftrain", "arguments.yaml"), 0o600)
    report(fixture, output, folder=folder)
    expect(os.stat(os.path.join(folder, "report.html")).st_mode & 0o077 == 0, "secrets stay the owner's", "")
    report(fixture, output, folder=folder)  # its own page is made anew
    pipe, link = os.path.join(folder, "pipe"), os.path.join(folder, "link.html")
    os.mkfifo(pipe)
    os.symlink("behind.html", link)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        report(fixture, output, "--output", "pipe", folder=folder)
        # A reader of a pipe that is gone would wait for ever.
        stays = stat.S_ISFIFO(os.lstat(pipe).st_mode)
        if not stays:
            reader.kill()
        expect(stays and reader.stdout.read().startswith(b"<!DOCTYPE html>"), "a pipe is written to, and stays one", "")
    report(fixture, output, "--output", "link.html", folder=folder)
    expect(os.path.islink(link) and os.path.isfile(os.path.join(folder, "behind.html")), "a link stays", os.listdir(folder))


def fetch(address, path="", host=None):
    request = urllib.request.Request(address + path, headers={"Host": host} if host else {})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read().decode()


def points_of_first_line(page):
    """None, too, of a page that was made before the run had logged anything."""
    charts = page.data["charts"]
    return len(charts[0]["lines"][0]["x"]) if charts else 0


def a_live_page_follows_the_run(fixture, folder):
    output = os.path.join(folder, "out")
    training = subprocess.Popen([HFTRAIN, *fixture.flags(output, "--max_steps", 100000, "--save_strategy", "no", ranks=1)],
                                env=fixture.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = None
    try:
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(os.path.join(output, "hftrain", "log.jsonl")):
            expect(time.monotonic() < deadline and training.poll() is None, "the run logs", "")
            time.sleep(0.05)
        server = subprocess.Popen([HFTRAIN, "report", "--serve", output], env=fixture.environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        address = server.stdout.readline().strip()
        expect(re.fullmatch(r"http://127\.0\.0\.1:\d+/", address), "the address", address)
        first, state = Page(fetch(address)), fetch(address, "state")
        expect(first.data["live"] and "running" in first.words, "a page of a run that goes on", first.words)
        while fetch(address, "state") == state:
            expect(time.monotonic() < deadline, "the state changes as the run goes on", state)
            time.sleep(0.05)
        while points_of_first_line(Page(fetch(address))) <= points_of_first_line(first):
            expect(time.monotonic() < deadline, "the line grows", state)
            time.sleep(0.05)
        arguments = os.path.join(output, "hftrain", "arguments.yaml")
        expect("max_steps: 100000" in fetch(address), "arguments that all may read are shown", "")
        os.chmod(arguments, 0o600)
        expect("max_steps: 100000" not in fetch(address), "and those of their owner alone are not", "")
        for path, host, code in (("plan.json", None, 404), ("../../etc/passwd", None, 404), ("", "evil.example", 403)):
            try:
                fetch(address, path, host)
                expect(False, f"{path} for {host} is refused", "")
            except urllib.error.HTTPError as error:
                expect(error.code == code, f"{path} for {host}: {code}", error)
        training.send_signal(signal.SIGTERM)
        training.wait(PATIENCE)
        while "running" in Page(fetch(address)).words:
            expect(time.monotonic() < deadline, "the page sees the end", "")
            time.sleep(0.05)
        server.send_signal(signal.SIGINT)
        expect(server.wait(PATIENCE) == 0, "Ctrl-C ends the server", server.returncode)
    finally:
        for process in (training, server):
            if process and process.poll() is None:
                process.kill()
                process.wait()


def a_live_page_of_a_search_has_trials_that_begin_later(fixture, folder):
    output = os.path.join(folder, "search")

    def begin(number):
        os.makedirs(os.path.join(output, f"trial-{number}", "hftrain"))
        with open(os.path.join(output, f"trial-{number}", "hftrain", "log.jsonl"), "w") as file:
            file.write('{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2}\n')
        with open(os.path.join(output, "search.json"), "w") as file:
            json.dump({"trials": [{"folder": f"/elsewhere/trial-{each}"} for each in range(number + 1)]}, file)

    begin(0)
    server = subprocess.Popen([HFTRAIN, "report", "--serve", output], env=fixture.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        address = server.stdout.readline().strip()
        state = fetch(address, "state")
        expect(Page(fetch(address)).data["runs"] == ["trial-0"], "one trial", address)
        begin(1)
        expect(fetch(address, "state") != state, "the state is another one", state)
        expect(Page(fetch(address)).data["runs"] == ["trial-0", "trial-1"], "two trials", address)
        server.send_signal(signal.SIGINT)
        expect(server.wait(PATIENCE) == 0, "Ctrl-C ends the server", server.returncode)
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


# As much of a browser as the script of a page needs. What is typed: the first page and the second one; what is printed: the names in the
# controls and whether each is checked, before and after a run was hidden and another one began.
DOM = """
const [first, second] = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const part = (page, pattern) => page.match(pattern)[1];
const dataOf = page => part(page, /id=data>([^]*?)<\\/script>/);
class Node {
  constructor(tag) { Object.assign(this, { tag, children: [], style: {}, textContent: '' }); }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  replaceWith(other) { if (other.data) held.data.textContent = other.data; else this.textContent = other.textContent; }
  setAttribute() {}
  querySelector() { return null; }
  remove() {}
}
const held = Object.fromEntries(['data', 'plots', 'controls', 'main', 'h1'].map(name => [name, new Node(name)]));
held.data.textContent = dataOf(first);
globalThis.document = { getElementById: id => held[id], createElement: tag => new Node(tag), createElementNS: (space, tag) => new Node(tag),
                        querySelector: tag => held[tag], querySelectorAll: () => [], title: part(first, /<title>([^<]*)/) };
globalThis.DOMParser = class {
  parseFromString(page) {
    return { title: part(page, /<title>([^<]*)/), querySelector: tag => tag === 'main' ? { data: dataOf(page) } : { textContent: part(page, /<h1>([^<]*)/) } };
  }
};
let state = '0', again;
globalThis.setTimeout = call => { again = call; };
globalThis.fetch = async path => ({ text: async () => path === '/state' ? state : second });
const shown = () => held.controls.children.slice(3).map(label => [label.children[1].children[1], label.children[0].checked]);
const settle = async () => { for (let i = 0; i < 20; ++i) await new Promise(setImmediate); };
(async () => {
  eval(part(first, /<script>([^]*?)<\\/script>/));
  await settle();
  const before = shown();
  held.controls.children[3].children[0].onchange({ target: { checked: false } });
  state = '1';
  await again();
  await settle();
  console.log(JSON.stringify([before, shown(), document.title, held.h1.textContent]));
})();
"""


def a_live_page_gives_runs_that_begin_later_their_controls(fixture, folder):
    if shutil.which("node") is None:
        skip("there is no node here")
    output = os.path.join(folder, "search")
    server, pages = None, []
    try:
        for trials in (2, 3):
            folder_of = os.path.join(output, f"trial-{trials - 1}", "hftrain")
            for place in {folder_of, os.path.join(output, "trial-0", "hftrain")}:
                os.makedirs(place, exist_ok=True)
                with open(os.path.join(place, "log.jsonl"), "w") as file:
                    file.write('{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2}\n')
            with open(os.path.join(output, "search.json"), "w") as file:
                json.dump({"trials": [{"folder": f"/elsewhere/trial-{each}"} for each in range(trials)]}, file)
            if server is None:
                server = subprocess.Popen([HFTRAIN, "report", "--serve", output], env=fixture.environment, text=True, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE)
                address = server.stdout.readline().strip()
            pages.append(fetch(address))
    finally:
        server.kill()
        server.wait()
    said = subprocess.run(["node", "-e", DOM], input=json.dumps(pages), text=True, capture_output=True, timeout=PATIENCE)
    expect(said.returncode == 0 and said.stdout, "the script runs", said.stderr)
    before, after, title, heading = json.loads(said.stdout)
    expect(before == [["trial-0", True], ["trial-1", True]], "two runs", before)
    expect(after == [["trial-0", False], ["trial-1", True], ["trial-2", True]], "a third one, and the first is still hidden", after)
    for words in (title, heading):
        expect(words and words in pages[1], "the words of the new page", words)


def events_tell_of_attempts_and_failures(fixture, folder):
    output = os.path.join(folder, "out")
    command = [HFTRAIN, *fixture.flags(output, "--max_steps", 60, "--save_steps", 10, "--max_restarts", 1)]
    training = subprocess.Popen(command, env=fixture.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + PATIENCE
    while not os.path.isdir(os.path.join(output, "checkpoint-10")):
        expect(time.monotonic() < deadline and training.poll() is None, "a checkpoint comes", "")
        time.sleep(0.02)
    listed = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(training.pid)], text=True, capture_output=True).stdout
    workers = [int(line.split()[0]) for line in listed.splitlines() if "hftrain-worker" in line]
    os.kill(workers[-1], signal.SIGKILL)
    text = training.communicate(timeout=PATIENCE)[0]
    expect(training.returncode == 0, "the run is started again and finishes", text)
    told = events(output)
    names = [event["event"] for event in told if event["event"] in ("start", "end")]
    expect(names == ["start", "end", "start", "end"], "two attempts", names)
    ends = [event for event in told if event["event"] == "end"]
    expect(ends[0]["exit_code"] == 9 and ends[0]["what"] and ends[1]["exit_code"] == 0, "how they ended", ends)
    starts = [event for event in told if event["event"] == "start"]
    expect(starts[0]["resumed_from"] is None and starts[1]["resumed_from"].startswith(output) and starts[1]["ranks"] == 2, "where", starts)
    report(fixture, output, folder=folder)
    words = " ".join(Page(read(folder, "report.html")).words)
    expect("attempts that failed" in words, "the lost time is in the page", words)


def an_events_file_that_cannot_be_written_stops_nothing(fixture, folder):
    output = os.path.join(folder, "out")
    os.makedirs(os.path.join(output, "hftrain"))
    os.symlink("/dev/full", os.path.join(output, "hftrain", "events.jsonl"))
    result = fixture.call(*fixture.flags(output, "--max_steps", 3, "--save_strategy", "no", ranks=1))
    expect(result.stderr.count("events.jsonl") == 1, "one word about it", result.stderr)
    expect(len([record for record in records(output) if "loss" in record]) == 3, "the run is whole", result.stderr)


def processor_seconds():
    """What the programs that have ended took, whoever had the processors between."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def a_million_points_make_a_small_page(fixture, folder):
    output = os.path.join(folder, "long")
    os.makedirs(os.path.join(output, "hftrain"))
    with open(os.path.join(output, "hftrain", "log.jsonl"), "w") as file:
        for step in range(250_000):
            loss = 99.5 if step == 123_456 else 3 + step % 97 / 100
            file.write(f'{{"step": {step}, "epoch": {step / 1e4}, "time": {1.7e9 + step}, "grad_norm": {1 + step % 13 / 7}, '
                       f'"learning_rate": {5e-5 * (1 - step / 250_000)}, "loss": {loss}, "tokens": {step * 512}}}\n')
    in_time, before = InTime(3), processor_seconds()
    report(fixture, output, folder=folder)
    good = in_time.stop(processor_seconds() - before)
    text = read(folder, "report.html")
    print(f"a page of 1,000,000 points: {len(text):,} bytes after {in_time} of a processor")
    expect(good, "at most 3 s of a processor", in_time)
    expect(len(text) <= 5_000_000, "at most 5 MB", len(text))
    expect(99.5 in Page(text).chart("loss")[0]["y"], "the peak is there", "")


def browser():
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"):
        if shutil.which(name):
            return shutil.which(name)
    skip("there is no Chromium to open the page with: apt-get install chromium-headless-shell")


FAULTS = ["Uncaught", "Content Security Policy"]  # words of the browser


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def hosts_asked(network, alone):
    """Of the browser's log of its network every host, in requests, look-ups and connections; of a browser that asks for things of its own
    accord, too, those in requests that a page began."""
    told = [event.get("params", {}) for event in network["events"]]
    expect(told, "the browser tells what it asked for", network)
    if not alone:
        told = [params for params in told if params.get("initiator", "not an origin") != "not an origin"]
    found = [re.match(r"(?:https?|wss?)://([^/:?#]+)", text) for params in told for text in strings(params)]
    return {host[1] for host in found if host} - {"~notfound"}


def opened(folder, page):
    """What a browser makes of a file, what it says, and the hosts that anything in it wanted to reach: none is, as no name is resolved."""
    program, network = browser(), os.path.join(folder, "network.json")
    drawn = subprocess.run([program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile",
                            "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=3000", f"--log-net-log={network}",
                            "--enable-logging=stderr", "--dump-dom", f"file://{folder}/{page}"], text=True, capture_output=True,
                           timeout=PATIENCE, env={**os.environ, "HOME": folder})
    return drawn.stdout, drawn.stderr, hosts_asked(json.loads(read(network)), alone=program.endswith("headless-shell"))


def a_browser_draws_it_and_asks_nobody(fixture, folder):
    with open(os.path.join(folder, "asks.html"), "w") as file:
        file.write("""<meta http-equiv=Content-Security-Policy content="style-src 'none'"><link rel=stylesheet href="http://refused.example/a.css">
                   <img src="http://elsewhere.example/b.png"><iframe src="http://frame.example"></iframe>
                   <script>new WebSocket("ws://socket.example"); fetch("https://192.0.2.1/c"); throw new Error("lost")</script>""")
    _, said, asked = opened(folder, "asks.html")
    expect(asked == {"elsewhere.example", "frame.example", "socket.example", "192.0.2.1"}, "whom a page asks is seen", asked)
    expect(all(word in said for word in FAULTS), "so are a script that fails and what the page's policy refuses", said)
    outputs = [os.path.join(folder, name) for name in ("one", "two")]
    for output in outputs:
        fixture.call(*fixture.flags(output, "--max_steps", 5, "--save_strategy", "no", ranks=1))
    report(fixture, *outputs, folder=folder)
    dom, said, asked = opened(folder, "report.html")
    charts = len(Page(read(folder, "report.html")).data["charts"])
    expect(dom.count("<figure") == charts and len(re.findall(r'<path [^>]*d="M[\d.]+ [\d.]+L', dom)) >= 2 * 3, "lines are drawn", dom[-3000:])
    expect(not any(word in said for word in FAULTS), "no script fails, nothing is refused", said)
    expect(not asked, "nobody is asked for anything", asked)


SCENARIOS = [a_page_has_what_the_run_logged, runs_stand_side_by_side, mistakes_lose_nothing, a_live_page_follows_the_run, a_live_page_of_a_search_has_trials_that_begin_later,
             a_live_page_gives_runs_that_begin_later_their_controls, events_tell_of_attempts_and_failures, an_events_file_that_cannot_be_written_stops_nothing,
             a_million_points_make_a_small_page, a_browser_draws_it_and_asks_nobody]

if __name__ == "__main__":
    run_scenarios(SCENARIOS, sys.argv[1:], Fixture)
