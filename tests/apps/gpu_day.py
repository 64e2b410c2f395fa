#!/usr/bin/env python3
"""scripts/gpu/day rehearsed on the CPU: what will be measured on the first machine with a GPU is known to run, to go on and to find a fault.

  gpu_day.py [SCENARIO]…     all of them without a word
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import BUILD, expect, run_scenarios

SOURCES = pathlib.Path(__file__).resolve().parents[2]
DAY, PACK = (SOURCES / "scripts" / "gpu" / name for name in ("day", "pack"))
MOST_BYTES = 64 << 20
WATCHED = "--tool memcheck --report-api-errors no --kernel-name kns=hftrain --error-exitcode 1"
# What every machine has that runs LibTorch's wheel; all else that is not of the wheel is packed.
OF_THE_SYSTEM = r"(linux-vdso|ld-linux-x86-64|lib(c|m|dl|rt|pthread|util|stdc\+\+|gcc_s))\.so"
# Tells of every file and program of the checkout or the build that a script meets; the environment of a program, which comes last,
# may name the folder that the test was started in.
WATCH = """import sys
def look(event, arguments):
    met = arguments[:-1] if event in ("subprocess.Popen", "os.exec") else arguments
    if event in ("open", "subprocess.Popen", "os.exec", "os.listdir", "os.scandir") and any(place in repr(met) for place in {places}):
        print("OUTSIDE", event, met, file=sys.stderr, flush=True)
sys.addaudithook(look)
"""


def day(folder, *words, tree=BUILD, **environment):
    return subprocess.run([sys.executable, DAY, "--device", "cpu", "--tree", tree, "--out", os.path.join(folder, "out"), *words],
                          text=True, capture_output=True, env={**os.environ, **environment})


def every_step_is_rehearsed_and_a_second_call_goes_on(_, folder):
    result = day(folder, "--minutes", "60", "--families", "gpt2,vit")
    expect(result.returncode == 0, "the rehearsal holds", result.stdout + result.stderr)
    report = pathlib.Path(folder, "out", "report.md").read_text()
    expect("A rehearsal: no GPU was used" in report, "the page says what it is", report)
    expect("Not run" not in report and "FAILED" not in report, "every step was through", report)
    for row in ("gpt2, tags", "vit, images", "zero3-offload", "bf16", "bf16, padded llama", "adafactor", "lion_32bit", "resumed at 6 of 12", "bf16 of 64 places, with --full_determinism", "kill -9 of a rank", "SIGSTOP of a rank", "Ctrl-C",
                "a plan beyond 80 GiB", "a plan beyond 141 GiB"):
        expect(f"| {row} | holds |" in report, f"{row} was tried", report)
    turns = re.search(r"^\| a small model: ours / the Trainer \| - \| (\d+\.\d+) \(", report, re.M)
    if subprocess.run([sys.executable, "-c", "import accelerate, transformers"], capture_output=True).returncode == 0:
        expect(turns and float(turns[1]) > 0 and "| the Trainer |" not in report, "turns with the Trainer", report)
    else:
        missing = "| the Trainer | - | not tried: transformers and accelerate are not installed for this Python |"
        expect(missing in report and not turns, "why there are no turns with the Trainer", report)
    expect(re.search(r"^\| a small model \| - \| tokens/s \d+ \(", report, re.M), "the rate of updates", report)
    expect("| the same is learnt | holds | losses at most 0.00e+00 apart |" in report, "packed documents, which a processor attends to in one way", report)
    again = day(folder, "--families", "gpt2,vit")
    steps = [line.split()[0] for line in day(folder, "--list").stdout.splitlines()]
    expect({"machine", "families", "faults", "peers"} <= set(steps), "the steps are listed", steps)
    expect(again.returncode == 0 and again.stdout.splitlines()[:-1] == [f"{step}: done before" for step in steps], "nothing is run twice", again.stdout)
    named = day(folder, "machine")
    expect("machine: what the machine is" in named.stdout and named.returncode == 0, "what is named is run again", named.stdout)


def a_run_that_differs_fails_its_row_and_the_day(_, folder):
    tree = pathlib.Path(folder, "tree", "bin")
    tree.mkdir(parents=True)
    planted = tree / "hftrain"
    planted.write_text(f"""#!/bin/sh
case " $* " in *" --bf16 "*) exec {BUILD}/bin/hftrain "$@" --learning_rate 0.3 ;; esac
exec {BUILD}/bin/hftrain "$@"
""")
    planted.chmod(0o755)
    result = day(folder, "precision", tree=tree.parent)
    expect(result.returncode == 1, "the day fails", result.stdout + result.stderr)
    rows = json.loads(pathlib.Path(folder, "out", "steps", "precision.json").read_text())["rows"]
    expect(rows[0]["verdict"] == "FAILED" and "apart" in rows[0]["figure"], "by the row of bfloat16", rows)
    report = pathlib.Path(folder, "out", "report.md").read_text()
    expect("\nFailed: precision: bf16" in report and "\nfailed: precision: bf16\n" in result.stdout, "which the page and the last lines name", report)


def a_run_that_ends_badly_fails_its_row_alone_and_other_bits_are_told(_, folder):
    tree = pathlib.Path(folder, "tree", "bin")
    tree.mkdir(parents=True)
    planted = tree / "hftrain"
    planted.write_text(f"""#!/bin/sh
case " $* " in
  *" --async_save "*) echo "no such thing" >&2; exit 7 ;;
  *" --bf16 "*" --full_determinism --resume_from_checkpoint "*) [ -z "$EVER" ] || exec {BUILD}/bin/hftrain "$@" --max_grad_norm 0.01 ;;
  *" --bf16 "*" --resume_from_checkpoint "*) exec {BUILD}/bin/hftrain "$@" --max_grad_norm 0.01 ;;
esac
exec {BUILD}/bin/hftrain "$@"
""")
    planted.chmod(0o755)
    for ever in ("", "1"):
        result = day(folder, "going-on", tree=tree.parent, EVER=ever)
        rows = {row["name"]: row for row in json.loads(pathlib.Path(folder, "out", "steps", "going-on.json").read_text())["rows"]}
        expect(result.returncode == 1 and rows["saved in the background"]["verdict"] == "FAILED" and "ended with 7, not 0:\nno such thing" in
               rows["saved in the background"]["figure"], "its words are the row's", result)
        expect(rows["recomputed"]["verdict"] == "holds" and "the step" not in rows, "the rows behind it are tried", rows)
        told, held = (rows[f"bf16 of 64 places, {how} --full_determinism"] for how in ("without", "with"))
        expect(told["verdict"] == "-" and told["figure"].startswith("resumed with other bits, losses "), "other bits are told", told)
        expect(held["verdict"] == ("FAILED" if ever else "holds"), "and fail where they were to be the same", held)


def a_step_that_ends_badly_is_a_row_and_a_word_that_is_none_is_refused(_, folder):
    tree = pathlib.Path(folder, "tree", "bin")
    tree.mkdir(parents=True)
    broken = tree / "hftrain"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    result = day(folder, "going-on", tree=tree.parent)
    expect(result.returncode == 1 and "FAILED" in result.stdout, "what ends badly is told", result.stdout + result.stderr)
    result = day(folder, "famlies")
    expect(result.returncode == 2 and "there is no step famlies" in result.stderr, "an unknown step is refused", result.stderr)


def a_run_on_no_gpu_shows_nothing_of_one(_, folder):
    result = day(folder, "--device", "cuda", "going-on", CUDA_VISIBLE_DEVICES="")
    expect(result.returncode == 1 and result.stdout == "" and "there is no GPU: " in result.stderr, "a day without a GPU ends at once", result)
    tree = pathlib.Path(folder, "tree", "bin")
    tree.mkdir(parents=True)
    lying = tree / "hftrain"  # as a driver that lists a GPU which the runs then do not take
    lying.write_text(f"""#!/bin/sh
case "$1" in
  devices) echo '{{"devices": [{{"name": "a GPU that is none", "total_bytes": 1}}]}}' ;;
  doctor) if [ -e {folder}/no-torch ]; then echo '{{"problems": [{{"name": "torch", "problem": "no LibTorch", "fatal": true}}]}}'
          else echo '{{"problems": [{{"name": "parquet", "problem": "no Arrow", "fatal": false}}], "cores": 1, "torch": {{}}}}'; fi ;;
  *) exec {BUILD}/bin/hftrain "$@" ;;
esac
""")
    lying.chmod(0o755)
    result = day(folder, "--device", "cuda", "going-on", "families", "faults", "--families", "vit", tree=tree.parent, CUDA_VISIBLE_DEVICES="")
    expect(result.returncode == 1 and "holds" not in result.stdout, "nothing holds that was on the CPU", result)
    for run in ("straight", "vit-images", "kill--9-of-a-rank"):
        expect(f"{run} was to be on the GPU and was on cpu" in result.stdout, "by the plans of the runs", result)
    pathlib.Path(folder, "no-torch").touch()
    result = day(folder, "--device", "cuda", "going-on", tree=tree.parent)
    expect(result.returncode == 1 and result.stdout == "" and "torch: no LibTorch" in result.stderr, "what no run can do without is told at once", result)


def rows_of(folder, step):
    result = json.loads(pathlib.Path(folder, "out", "steps", f"{step}.json").read_text())
    return [row["name"] for row in result["rows"]], result["whole"]


def a_matrix_adds_up_over_calls_that_are_killed_or_run_out_of_time(_, folder):
    tree = pathlib.Path(folder, "tree", "bin")
    tree.mkdir(parents=True)
    killing = tree / "hftrain"
    killing.write_text(f"""#!/bin/sh
case " $* " in *"/vit-images-cpu "*) kill -9 $PPID; exit 1 ;; esac
exec {BUILD}/bin/hftrain "$@"
""")
    killing.chmod(0o755)
    result = day(folder, "--families", "gpt2,vit", "families", tree=tree.parent, TMPDIR=folder)  # nobody else clears up after it
    rows, whole = rows_of(folder, "families")
    expect(result.returncode == -9 and rows and all(row.startswith("gpt2, ") for row in rows) and not whole, "a call that is killed keeps its rows",
           (rows, result))
    result = day(folder, "--families", "gpt2,vit", "families")
    both, whole = rows_of(folder, "families")
    expect(result.returncode == 0 and both[:len(rows)] == rows and set(both[len(rows):]) == {"vit, images"} and whole, "the same words go on",
           (both, result))
    expect("gpt2, " not in result.stdout, "with what was lacking", result.stdout)
    result = day(folder, "--families", "bert", "--minutes", "0")
    expect("cut short; the same command goes on" in result.stdout and "the time is over" in result.stdout, "the time is kept to", result.stdout)
    expect(not rows_of(folder, "machine")[1], "what had no time is not done", result.stdout)
    result = day(folder, "--families", "vit", "families")
    again, whole = rows_of(folder, "families")
    expect("holds   vit, images" in result.stdout and sorted(again) == sorted(both) and whole, "one is run again and the others stay", (again, result))
    result = day(folder, "--families", "vti", "families")
    expect(result.returncode == 2 and "there is no family vti" in result.stderr, "an unknown family is refused", result.stderr)


def what_only_a_gpu_can_show_is_told_as_it_is(_, folder):
    sys.path.insert(0, str(DAY.parent))
    from speed_steps import as_planned
    from steps import driver, kernels, memory_accesses, problems
    from trial import Trial
    (pathlib.Path(folder) / "bin").mkdir()
    program = pathlib.Path(folder) / "bin" / "test_gpu_kernels"
    program.write_text("#!/bin/sh\necho \"SKIPPED: looked in $LD_LIBRARY_PATH\"\necho all passed\nexit 77\n")
    program.chmod(0o755)
    watch = pathlib.Path(folder) / "compute-sanitizer"
    watch.write_text("""#!/bin/sh
[ "$1" = --help ] && echo "  --kernel-name arg" && exit
words=$*
echo "========= ERROR SUMMARY: 3 errors in ${words##*/} by ${words%%/*}"
exit 1
""")
    watch.chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    os.environ["LD_LIBRARY_PATH"] = "/of/the/driver"
    trial = Trial(folder, pathlib.Path(folder), "cuda", time.monotonic() + 300)
    kernels(trial, None)
    memory_accesses(trial, None)
    told = f"skipped: looked in {folder}/lib:{folder}/lib/torch:/of/the/driver"
    expect([(row["verdict"], row["figure"]) for row in trial.rows] == [("FAILED", told)] * 2 + [("FAILED", f"ERROR SUMMARY: 3 errors in test_gpu_kernels [kernels] by {WATCHED}")], "why nothing was tried, and where was looked", trial.rows)
    arrow, silent = ({"name": name, "problem": "it is not there", "fatal": False} for name in ("parquet", "gpus"))
    expect(problems([]) == (True, "none") and problems([arrow]) == (True, "parquet (which the day does not need): it is not there"), "no Arrow is packed", problems([arrow]))
    for grave in (silent, {**arrow, "name": "torch", "fatal": True}):
        found, figure = problems([arrow, grave])
        expect(not found and f"{grave['name']}: it is" in figure and "parquet (" in figure, "what a run on a GPU ends with fails", (found, figure))
    for offered, good in (("12.8", False), ("13.0", True), ("13.2", True), ("", None)):
        expect(driver(offered, "13.0")[0] is good, "a driver older than LibTorch's CUDA", (offered, driver(offered, "13.0")))
    mib = 1 << 20
    for held, good in ((1000, True), (950, True), (1110, True), (1120, False), (940, None), (850, None), (840, False)):
        found, figure = as_planned(held * mib, 1000 * mib)
        expect(found is good and f"{held} MiB measured, 1000 planned: {held / 1000:.2f} of the plan" in figure and "64 MiB" in figure, "5 % and the workspaces", (held, found, figure))
        expect(("planned more than was held" in figure) == (good is None), "a plan that is too careful is told", figure)


def rows_of_a_matrix_are_tried_together_on_a_gpu(_, folder):
    sys.path.insert(0, str(DAY.parent))
    from figure_steps import families
    from trial import Trial
    trial = Trial(folder, BUILD, "cpu", time.monotonic() + 300)
    expect(trial.together == 1, "a rehearsal tries one row after the other", trial.together)
    trial.together = 3
    meet = threading.Barrier(3, timeout=20)

    def measure(failure):
        meet.wait()
        if failure:
            raise failure
        return True, "met"

    try:
        trial.each({"sound": lambda: measure(None), "bad": lambda: measure(KeyError("it broke")), "late": lambda: measure(TimeoutError("over"))})
        expect(False, "the time of the step ends it", trial.rows)
    except TimeoutError:
        pass
    told = sorted((row["name"], row["verdict"], row["figure"]) for row in trial.rows)
    expect(told == [("bad", "FAILED", "KeyError: 'it broke'"), ("sound", "holds", "met")], "the others have their rows", told)
    trial.each({"sound": lambda: (False, "again"), "late": lambda: (None, "now")})
    told = {row["name"]: row["figure"] for row in trial.rows}
    expect(told == {"bad": "KeyError: 'it broke'", "sound": "met", "late": "now"}, "what was lacking is tried", told)
    families(trial, argparse.Namespace(families=["gpt2"]))
    told = [(row["name"], row["verdict"]) for row in trial.rows[3:]]
    expect(sorted(told) == [(f"gpt2, {task}", "holds") for task in ("answers", "classes", "clm", "tags")], "runs beside each other are whole", told)


def kernels_under_watch_take_no_more_than_a_step(_, folder):
    sys.path.insert(0, str(DAY.parent))
    import steps
    from trial import Trial
    watch = pathlib.Path(folder) / "compute-sanitizer"
    watch.write_text("#!/bin/sh\n[ \"$1\" = --help ] && exit\n[ $PYTORCH_NO_CUDA_MEMORY_CACHING = 1 ] && sleep 90\nexit 1\n")
    watch.chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    begin = time.monotonic()
    told = []
    for steps.LONG in (300, 0.5):  # more than the call's second, and less
        trial = Trial(folder, pathlib.Path(folder), "cuda", time.monotonic() + 1)
        try:
            steps.watched(trial, "no program")
            told += [(row["verdict"], row["figure"]) for row in trial.rows]
        except subprocess.TimeoutExpired:
            told.append("cut short")
    expect(told == ["cut short", ("-", "not tried: they were not through after 1 s")], "with a whole step it is told", told)
    watch.write_text("#!/bin/sh\necho '========= Error: Device not supported'\necho '========= ERROR SUMMARY: 1 error'\nexit 1\n")
    trial = Trial(folder, pathlib.Path(folder), "cuda", time.monotonic() + 300)
    steps.watched(trial, "no program")
    expect([(row["verdict"], row["figure"]) for row in trial.rows] == [("-", "not tried: Error: Device not supported")], "why there is no watch", trial.rows)
    expect(time.monotonic() - begin < 60, "what the watch had started holds nobody up", time.monotonic() - begin)


def what_a_machine_lacks_is_found_in_another_way(_, folder):
    sys.path.insert(0, str(DAY.parent))
    import peer_steps
    from fault_steps import children_of
    from trial import Trial
    child = subprocess.Popen(["sleep", "60"])
    try:
        for pid, name in ((os.getpid(), "day"), (child.pid, "a name) 1 (2"), (999999, "gone")):
            (pathlib.Path(folder) / "proc" / str(pid)).mkdir(parents=True)
            parent = os.getpid() if pid == child.pid else 1
            if name != "gone":
                (pathlib.Path(folder) / "proc" / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} 0 0")
        expect(children_of(os.getpid(), f"{folder}/proc") == [child.pid], "children by their parents", children_of(os.getpid(), f"{folder}/proc"))
        expect(child.pid in children_of(os.getpid()), "children as the kernel lists them", children_of(os.getpid()))
    finally:
        child.kill()
        child.wait()
    peer = pathlib.Path(folder) / "peer.py"
    peer.write_text("""import json, sys
steps = 60 if "dataloader_num_workers=2" in sys.argv else 1
json.dump({"step_seconds": list(range(1, steps + 1)), "preparation_seconds": 0.5}, open(sys.argv[sys.argv.index("--out") + 1], "w"))
""")
    peer_steps.PEER = str(peer)
    trial = Trial(folder, BUILD, "cpu", time.monotonic() + 300)
    figures = peer_steps.trainer(trial, peer_steps.gpt2(trial), folder, 0, [])
    expect(figures == [64 * 2, 0.5], "the Trainer's batches are loaded by two workers", figures)


def waits_are_counted_by_the_operator_that_makes_them(_, folder):
    sys.path.insert(0, str(DAY.parent))
    from wait_steps import counted

    def span(category, name, begin, duration, thread=1, **more):
        return {"ph": "X", "cat": category, "name": name, "ts": begin, "dur": duration, "tid": thread, "args": more}

    operators = [span("cpu_op", "aten::item", 0, 50), span("cpu_op", "aten::copy_", 10, 20), span("cpu_op", "aten::mm", 60, 30, 2)]
    launch = span("cuda_runtime", "cudaLaunchKernel", 62, 3, 2)
    at_the_end = span("cuda_runtime", "cudaDeviceSynchronize", 95, 5)
    ordered = span("cuda_runtime", "cudaStreamWaitEvent", 20, 1)
    copy = span("cuda_runtime", "cudaMemcpyAsync", 15, 1, correlation=7)
    pinned = span("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 16, 1, 99, correlation=7)
    quiet = [*operators, launch, ordered, copy, pinned, at_the_end]
    good, figure = counted(quiet)
    expect(good and "with 1 launches; no wait for the norm" in figure, "an order of streams, a pinned copy and the end of the trace are no waits", figure)
    elsewhere = span("cuda_runtime", "cudaEventSynchronize", 30, 1, 5)
    good, figure = counted([*quiet, elsewhere])
    expect(good and "; 1 of other threads" in figure, "a thread without operators may wait", figure)
    good, figure = counted([*quiet, span("cuda_runtime", "cudaStreamSynchronize", 20, 5)])
    expect(not good and "1 in " in figure and "1 × cudaStreamSynchronize in aten::copy_" in figure, "a wait of the innermost operator", figure)
    norms = [span("cuda_runtime", "cudaEventSynchronize", begin, 2) for begin in (52, 54, 56)]
    good, figure = counted([*quiet, *norms])
    expect(good and "waited for 3 ×, 6 µs in all, 2 at most" in figure, "an update may wait for the norm of the one before", figure)
    good, figure = counted([*quiet, *norms, span("cuda_runtime", "cudaStreamSynchronize", 58, 1)])
    expect(not good and "1 × cudaStreamSynchronize in no operator" in figure and "waited for 3 ×" in figure, "and for nothing else", figure)
    for other, what in ((span("cuda_runtime", "cudaEventSynchronize", 58, 1), "no oftener than once an update"),
                        (span("cuda_runtime", "cudaEventSynchronize", 58, 1, 2), "on one thread")):
        good, figure = counted([*quiet, *(norms if other["tid"] == 1 else norms[:2]), other])
        expect(not good and "× cudaEventSynchronize in no operator" in figure, what, figure)
    good, figure = counted([*quiet, span("cuda_runtime", "cudaEventSynchronize", 20, 5)])
    expect(not good and "1 × cudaEventSynchronize in aten::copy_" in figure, "outside every operator", figure)
    good, figure = counted([*quiet, span("cuda_runtime", "cudaDeviceSynchronize", -5, 4)])
    expect(good, "the begin of the trace is no wait", figure)
    grown = [span("cuda_driver", name, 20, 1) for name in ("cuMemCreate", "cuMemMap", "cuMemSetAccess")]
    good, figure = counted([*quiet, *grown])
    expect(good and figure.endswith("; memory was taken from the driver 2 ×"), "an allocator that grows is told", figure)
    good, figure = counted([*quiet, span("cuda_driver", "cuMemcpyDtoH_v2", 20, 5)])
    expect(not good and "cuMemcpyDtoH_v2 in aten::copy_" in figure, "names with the version of a call", figure)
    good, figure = counted([*quiet[:-2], span("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 16, 1, 99, correlation=7)])
    expect(not good and "Pageable -> Device) in aten::copy_" in figure, "pageable memory", figure)
    good, figure = counted(operators)
    expect(not good and "no kernel" in figure, "a trace without kernels shows nothing", figure)


def packed_and_carried(folder):
    """The folder, moved after it was packed, with the link to LibTorch that a machine with the wheel gets."""
    first = pathlib.Path(folder, "packed")
    made = subprocess.run([PACK, BUILD, first], text=True, capture_output=True)
    expect(made.returncode == 0, "it is packed", made.stdout + made.stderr)
    size = sum(file.lstat().st_size for file in first.rglob("*"))
    print(f"packed: {size / 2**20:.1f} MiB")
    expect(1 << 20 < size <= MOST_BYTES, "at most 64 MiB", made.stdout)
    again = subprocess.run([PACK, BUILD, first], text=True, capture_output=True)
    expect(again.returncode == 2 and "exists" in again.stderr, "a folder that is there stays as it is", again.stderr)
    packed = first.rename(pathlib.Path(folder, "carried"))
    torch = re.search(r"libtorch_cpu\.so => (\S+)/libtorch_cpu\.so", libraries_of(packed / "bin" / "hftrain-worker"))
    expect(torch, "LibTorch is found where the build had it", packed)
    (packed / "lib" / "torch").symlink_to(torch[1])
    return packed


def libraries_of(file):
    return subprocess.run(["ldd", file], text=True, capture_output=True).stdout


def strangers(packed, file):
    """What a program loads from elsewhere than the folder, LibTorch's wheel and every system."""
    found = re.findall(r"^\t(\S+)(?: => (\S+))?", libraries_of(file), re.M)
    return {name: place for name, place in found if not re.match(OF_THE_SYSTEM, os.path.basename(name)) and
            not place.startswith(f"{packed}/") and "/site-packages/" not in place}


def a_packed_folder_is_carried_and_rehearses_elsewhere(_, folder):
    packed = packed_and_carried(folder)
    for name in ("hftrain", "hftrain-worker"):
        lost = strangers(packed, packed / "bin" / name)
        expect(not lost, f"{name} finds all that it loads in the folder or beside LibTorch", lost)
    watch, elsewhere = pathlib.Path(folder, "watch"), pathlib.Path(folder, "elsewhere")
    watch.mkdir()
    elsewhere.mkdir()
    (watch / "sitecustomize.py").write_text(WATCH.format(places=[f"{SOURCES}/", f"{BUILD}/"]))
    environment = {name: value for name, value in os.environ.items() if name not in ("HFTRAIN_BUILD_DIR", "LD_LIBRARY_PATH")}
    environment["PYTHONPATH"] = str(watch)

    def carried(*words):
        return subprocess.run([packed / "scripts" / "gpu" / "day", *words], text=True, capture_output=True, cwd=elsewhere, env=environment)

    listed = carried("--list")
    expect(listed.stdout == day(folder, "--list").stdout and "OUTSIDE" not in listed.stderr, "the steps are the same", listed)
    result = carried("--device", "cpu", "machine", "going-on")
    expect(result.returncode == 0 and "resumed at 6 of 12" in (elsewhere / "gpu-day" / "report.md").read_text(), "a step holds there",
           result.stdout + result.stderr)
    expect("OUTSIDE" not in result.stderr, "nothing is taken from the checkout or the build", result.stderr)
    peer = subprocess.run([sys.executable, packed / "scripts" / "bench" / "peer_trainer.py", "--help"], text=True, capture_output=True, cwd=elsewhere)
    expect(peer.returncode == 0, "the other side of the step peers is there", peer.stderr)
    expect((packed / "bin" / "test_gpu_kernels").exists() == (BUILD / "bin" / "test_gpu_kernels").exists(), "so are the tests of kernels", packed)


if __name__ == "__main__":
    run_scenarios([every_step_is_rehearsed_and_a_second_call_goes_on, a_run_that_differs_fails_its_row_and_the_day,
                   a_run_that_ends_badly_fails_its_row_alone_and_other_bits_are_told,
                   a_step_that_ends_badly_is_a_row_and_a_word_that_is_none_is_refused, a_run_on_no_gpu_shows_nothing_of_one,
                   a_matrix_adds_up_over_calls_that_are_killed_or_run_out_of_time, what_only_a_gpu_can_show_is_told_as_it_is,
                   rows_of_a_matrix_are_tried_together_on_a_gpu, kernels_under_watch_take_no_more_than_a_step,
                   what_a_machine_lacks_is_found_in_another_way, waits_are_counted_by_the_operator_that_makes_them, a_packed_folder_is_carried_and_rehearses_elsewhere], sys.argv[1:], lambda folder: None)
