#!/usr/bin/env python3
"""How runs of one machine end when something about them is out of the ordinary.

  endings.py [SCENARIO]…     all of them without a word

A scenario that this machine does not allow (a control group, say) is skipped.
"""
import glob
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faults import processes_of, send
from runs import BUILD, HFTRAIN, PATIENCE, Fixture, free_port, skip, slowness, tell

ONE_WISH = 0.5  # seconds in which a second signal is no second wish, docs/launcher.md


def start(fixture, output, *flags, **popen):
    popen.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen([HFTRAIN, *fixture.flags(output, *flags)], env=fixture.environment, text=True, **popen)


def until(job, condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if job.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"FAILED: {what} did not happen; code {job.poll()}")
        time.sleep(0.02)


def records(output):
    path = os.path.join(output, "hftrain", "log.jsonl")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return file.readlines()


def ends_with(job, code):
    try:
        text = job.communicate(timeout=PATIENCE)[1] or ""
    except subprocess.TimeoutExpired:
        job.kill()
        raise SystemExit("FAILED: the run did not end")
    if job.returncode != code:
        raise SystemExit(f"FAILED: ended with {job.returncode}, expected {code}\n{text}")
    return text


def summary(output):
    with open(os.path.join(output, "hftrain", "summary.json")) as file:
        return json.load(file)


def newest_is_whole(fixture, output):
    step = fixture.checkpoints(output)[-1]
    fixture.call("checkpoint", "verify", os.path.join(output, f"checkpoint-{step}"))
    return step


def expect(text, *words):
    for word in words:
        if word not in text:
            raise SystemExit(f"FAILED: nothing says {word!r}:\n{text}")


def at_least(count, records):
    if len(records) < count:
        raise SystemExit(f"FAILED: {len(records)} records of {count}")


def scenario_signal_sent_twice_at_once(fixture, output):
    """As timeout(1) does, which signals its child and then the group that both are in."""
    for attempt in range(10):
        job = start(fixture, f"{output}-{attempt}", "--max_steps", 100000, "--save_strategy", "no")
        until(job, lambda: len(records(f"{output}-{attempt}")) > 3, "training")
        job.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        time.sleep(0.005)
        job.send_signal(signal.SIGTERM)
        if time.monotonic() - begin < ONE_WISH / 5:
            ends_with(job, 143)
            return f"143, checkpoint-{newest_is_whole(fixture, f'{output}-{attempt}')} verified"
        job.communicate(timeout=PATIENCE)  # the machine let so much time pass that these may be two wishes
    raise SystemExit("FAILED: this machine does not send two signals at once")


def scenario_reader_of_the_output_is_gone(fixture, output):
    reader = subprocess.Popen(["head", "-c", "100"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    job = start(fixture, output, "--max_steps", 60, stderr=reader.stdin)
    reader.stdin.close()
    reader.wait()
    ends_with(job, 0)
    at_least(60, records(output))
    return f"{len(records(output))} records after the reader had left"


def time_to_live():
    """Seconds in which a run starts, trains and saves: 20, and more on a busy machine."""
    return min(59, round(20 * slowness()))


def scenario_time_is_over(fixture, output):
    seconds, begin = time_to_live(), time.monotonic()
    job = start(fixture, output, "--max_steps", 100000, "--save_strategy", "no", "--max_time", f"0:{seconds}")
    expect(ends_with(job, 143), "--max_time", "the time of this job is over")
    if time.monotonic() - begin > seconds:
        raise SystemExit(f"FAILED: it did not end within {seconds} s")
    return f"143, checkpoint-{newest_is_whole(fixture, output)} verified"


def scenario_time_is_over_and_a_scheduler_says_so_too(fixture, output):
    """As --signal=USR1@120 does, to the front program and then to all, while the run stops by itself already."""
    job = start(fixture, output, "--max_steps", 100000, "--save_strategy", "no", "--max_time", f"0:{time_to_live()}")
    text, ranks = "", {}
    for line in job.stderr:
        text += line
        if len(ranks) < 2 and "'loss'" in line:
            ranks = processes_of(output)
        if "the time of this job is over" in line:
            break
    last_rank = max(ranks, key=ranks.get)
    send(last_rank, signal.SIGSTOP)  # so that the save is still to come
    job.send_signal(signal.SIGUSR1)
    time.sleep(0.6)
    for pid in processes_of(output):
        send(pid, signal.SIGUSR1)
    send(last_rank, signal.SIGCONT)
    expect(text + ends_with(job, 143), "SIGUSR1: the run is stopping and saving already")
    return f"143, checkpoint-{newest_is_whole(fixture, output)} verified"


def scenario_time_of_slurm_is_over(fixture, output):
    end = int(time.time()) + time_to_live()
    fixture.environment["SLURM_JOB_END_TIME"] = str(end)
    job = start(fixture, output, "--max_steps", 100000, "--save_strategy", "no")
    del fixture.environment["SLURM_JOB_END_TIME"]
    expect(ends_with(job, 143), "SLURM_JOB_END_TIME", "the time of this job is over")
    if time.time() > end:
        raise SystemExit("FAILED: it did not end in time")
    return f"143, checkpoint-{newest_is_whole(fixture, output)} verified"


def scenario_terminal_is_closed_under_nohup(fixture, output):
    job = subprocess.Popen(["nohup", HFTRAIN, *fixture.flags(output, "--max_steps", 200, "--save_strategy", "no")],
                           env=fixture.environment, text=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                           stdin=subprocess.DEVNULL)
    until(job, lambda: len(records(output)) > 3, "training")
    job.send_signal(signal.SIGHUP)
    ends_with(job, 0)
    at_least(200, records(output))
    return f"it went on: {len(records(output))} records"


def scenario_group_without_memory(fixture, output):
    group = make_group("hftrain-test")
    if group is None:
        skip("no control group with a limit on memory can be made here")
    try:
        job = start(fixture, output, "--max_steps", 100000, "--per_device_train_batch_size", 200,
                    preexec_fn=lambda: write(os.path.join(group, "cgroup.procs"), os.getpid()))
        expect(ends_with(job, 6), "memory", "try:")
    finally:
        remove_group(group)
    if summary(output)["exit_code"] != 6:
        raise SystemExit("FAILED: the summary does not say 6")
    return "6: the kernel's killer is named"


def make_group(name, limit=256 << 20):
    """Of version 1, or of the unified hierarchy. There is room for the ranks, and none for their batches."""
    for mount, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = os.path.join(mount, f"{name}-{os.getpid()}")
        try:
            os.mkdir(group)
            write(os.path.join(group, file), limit)
            return group
        except OSError:
            if os.path.isdir(group):
                remove_group(group)
    return None


def remove_group(group):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return os.rmdir(group)
        except OSError:  # until the last process is gone
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def write(path, value):
    with open(path, "w") as file:
        file.write(str(value))


def scenario_limit_on_the_size_of_files(fixture, output):
    # Fits the texts and not the weights, nor shared memory: hence the back end.
    limit = 200_000
    job = start(fixture, output, "--max_steps", 20, "--save_steps", "5", "--ddp_backend", "gloo",
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    text = ends_with(job, 7)
    expect(text, "checkpoint-5", "try:")
    with open(os.path.join(output, "hftrain", "events.jsonl")) as file:
        failed = [event for event in map(json.loads, filter(str.strip, file)) if event["event"] == "failed"]
    if not failed or any(event.get("step") != 5 for event in failed):
        raise SystemExit(f"FAILED: the events do not say after which update it ended: {failed}")
    return "7: the file is named"


def scenario_parent_that_ignores_the_ends_of_its_children(fixture, output):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    ends_with(start(fixture, output, "--max_steps", 2, preexec_fn=ignore), 0)
    killed = output + "-killed"
    job = start(fixture, killed, "--max_steps", 100_000, preexec_fn=ignore)
    until(job, lambda: records(killed), "training")
    os.kill(next(pid for pid, rank in processes_of(killed).items() if rank == 1), signal.SIGKILL)
    expect(ends_with(job, 9), "rank 1", "signal 9")
    return "0, and 9 where a rank is killed"


def first_process_within(job):
    [pid] = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    return int(pid)


def scenario_first_process_of_a_container(fixture, output):
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        skip("this machine allows no process numbers of one's own")
    for word in (signal.SIGINT, signal.SIGTERM):
        job = subprocess.Popen([*alone, HFTRAIN, "tokenizer", "encode", "--tokenizer_name", fixture.tokenizer], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        job.stdin.write("a line\n")
        job.stdin.flush()
        job.stdout.readline()  # it is at work, and waits for more
        os.kill(first_process_within(job), word)
        ends_with(job, 128 + word)
    job = subprocess.Popen([*alone, HFTRAIN, *fixture.flags(output, "--max_steps", 100_000)], env=fixture.environment, text=True, stderr=subprocess.PIPE)
    until(job, lambda: records(output), "training")
    os.kill(first_process_within(job), signal.SIGTERM)
    ends_with(job, 143)
    newest_is_whole(fixture, output)
    return "commands end at once, a run saves"


def scenario_preparing_that_is_asked_to_stop(fixture, output):
    large, cache = output + ".txt", output + "-cache"
    with open(fixture.text) as file:
        text = file.read()
    write(large, text * (60_000_000 // len(text)))
    for word, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        command = [HFTRAIN, "prepare", *fixture.flags(output, "--train_file", large, "--preprocessing_num_workers", 1)]
        job = subprocess.Popen(command, env={**fixture.environment, "HFTRAIN_CACHE": cache}, text=True, stderr=subprocess.PIPE)
        until(job, lambda: any(files for _, _, files in os.walk(cache)), "preparing")
        job.send_signal(word)
        expect(ends_with(job, code), "interrupted while" if code == 130 else "terminated while", "what was prepared before stays in the cache")
    return "143, and 130 for Ctrl-C"


def scenario_divergence(fixture, output):
    job = start(fixture, output, "--max_steps", 100, "--save_steps", "1", "--learning_rate", "1e30", "--max_grad_norm", "0",
                "--warmup_steps", "0")
    expect(ends_with(job, 8), "was skipped: the gradient norm is not finite; samples of epoch 0: ", "diverged", "try:")
    with open(os.path.join(output, f"checkpoint-{fixture.checkpoints(output)[-1]}", "trainer_state.json")) as file:
        step = json.load(file)["global_step"]
    bare = start(fixture, output + "-bare", "--max_steps", 20, "--save_strategy", "no", "--learning_rate", "1e30", "--max_grad_norm", "0",
                 "--warmup_steps", "0")
    expect(ends_with(bare, 8), "diverged", "nothing was saved before this", "--max_grad_norm 1 (0 clips nothing)")
    skipped = sum('"grad_norm": NaN' in line or '"grad_norm": Infinity' in line for line in records(output))
    if not skipped or step + skipped > len(records(output)) + 1:
        raise SystemExit(f"FAILED: checkpoint-{step} was saved among {skipped} updates that were skipped")
    return f"8; the newest checkpoint, {step}, is from before the {skipped} skipped updates"


def scenario_port_that_is_taken(fixture, output):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        job = start(fixture, output, "--max_steps", 3, "--master_port", port)
        expect(ends_with(job, 0), f"port {port}", f"pid {os.getpid()}", "instead")
    return "0, with a warning that names the process"


def scenario_worker_that_cannot_be_loaded(fixture, output):
    """A library that is not there, of one that is installed otherwise, on two ranks; nothing is started again."""
    folder = os.path.join(fixture.folder, "lame")
    os.makedirs(folder)
    shutil.copy2(HFTRAIN, folder)
    with open(HFTRAIN + "-worker", "rb") as file:
        program = file.read()
    lame = os.path.join(folder, "hftrain-worker")
    with open(lame, "wb") as file:
        file.write(program.replace(b"\0libtorch_cpu.so\0", b"\0libtorch_cpX.so\0"))
    os.chmod(lame, 0o755)
    job = subprocess.Popen([os.path.join(folder, "hftrain"), *fixture.flags(output, "--max_steps", 3, "--max_restarts", 2)], env=fixture.environment, text=True,
                           stderr=subprocess.PIPE)
    text = ends_with(job, 3)
    expect(text, "error: hftrain-worker could not be loaded", "where: rank ", "why: error while loading shared libraries: libtorch_cpX.so", "try: `hftrain doctor`")
    if text.count("error: ") != 1 or summary(output)["exit_code"] != 3:
        raise SystemExit(f"FAILED: one report, in the summary too: {summary(output)}\n{text}")
    return "3: the library is named"


WITHOUT_MEMORY = """#!{python}
import json, os, sys, time
control, output, rank = int(sys.argv[sys.argv.index("--control-fd") + 1]), {output!r}, int(os.environ["RANK"])


def say(event, **data):
    os.write(control, (json.dumps({{"rank": rank, "time": time.time(), "event": event, "data": data}}) + "\\n").encode())


say("ready")
say("step", step=1, total=20)
if rank > 0:
    time.sleep(600)  # until it is ended
os.makedirs(os.path.join(output, "checkpoint-1"))
os.symlink({elsewhere!r}, os.path.join(output, "hftrain", "given_up"))
say("checkpoint", step=1, path=os.path.join(output, "checkpoint-1"), seconds=0.1)
say("failed", exit_code=6, what="no memory for this batch", where="rank 0", why="none is left", hint="a smaller one")
sys.exit(6)
"""


def search_that_cannot_go_on(fixture, output, nodes):
    """What the front programs say of a search for a micro-batch by workers that report no memory: checkpoints of larger ones go to another file
    system, where nothing can be renamed to, which is no error of this program's own."""
    shared = "/dev/shm"
    if not os.path.isdir(shared) or os.stat(shared).st_dev == os.stat(fixture.folder).st_dev:
        skip("no other file system")
    folder = f"{output}-program"
    os.makedirs(folder)
    shutil.copy2(HFTRAIN, folder)
    with tempfile.TemporaryDirectory(prefix="hftrain-endings-", dir=shared) as elsewhere:
        worker = os.path.join(folder, "hftrain-worker")
        write(worker, WITHOUT_MEMORY.format(python=sys.executable, output=str(output), elsewhere=elsewhere))
        os.chmod(worker, 0o755)
        command = [os.path.join(folder, "hftrain"), *fixture.flags(output, "--max_steps", 20, "--auto_find_batch_size", ranks=1)]
        meeting = ["--nnodes", str(nodes), "--master_addr", "127.0.0.1", "--master_port", str(free_port())] if nodes > 1 else []
        jobs = [subprocess.Popen([*command, *meeting, *(["--node_rank", str(node)] if meeting else [])], env=fixture.environment, text=True,
                                 stderr=subprocess.PIPE) for node in range(nodes)]
        texts = [ends_with(job, 3) for job in jobs]
    expect(texts[0], "starting again from the beginning with 7 (--auto_find_batch_size)", "error: cannot use", f"where: {output}/checkpoint-1", "try: ")
    if not os.path.exists(os.path.join(output, "hftrain", "summary.json")):
        raise SystemExit(f"FAILED: the run has a summary\n{texts}")
    end = summary(output)
    if (end["exit_code"], end["reason"], [attempt["exit_code"] for attempt in end["attempts"]]) != (3, "environment", [6]):
        raise SystemExit(f"FAILED: the summary has the end and the attempts: {end}\n{texts}")
    return texts


def scenario_checkpoint_that_cannot_be_moved_aside(fixture, output):
    search_that_cannot_go_on(fixture, output, 1)
    return "3, with a summary"


def scenario_checkpoint_of_two_nodes_that_cannot_be_moved_aside(fixture, output):
    text = search_that_cannot_go_on(fixture, output, 2)[1]
    expect(text, "cannot use")
    if "no memory for this batch" in text:
        raise SystemExit(f"FAILED: the other node is told of what ended the run, not of what was tried\n{text}")
    return "3 on both, and both know why"


def program_with_worker(folder, script):
    """A front program, and the script that it starts as its workers."""
    os.makedirs(folder)
    shutil.copy2(HFTRAIN, folder)
    worker = os.path.join(folder, "hftrain-worker")
    write(worker, script)
    os.chmod(worker, 0o755)
    return os.path.join(folder, "hftrain"), worker


def expect_summary_of_both_attempts(output, text):
    if not os.path.exists(os.path.join(output, "hftrain", "summary.json")):
        raise SystemExit(f"FAILED: the run has a summary\n{text}")
    end = summary(output)
    if (end["exit_code"], end["reason"], [attempt["exit_code"] for attempt in end["attempts"]]) != (3, "environment", [9, 3]):
        raise SystemExit(f"FAILED: the summary has the end and the attempts: {end}\n{text}")


def scenario_attempt_that_cannot_be_started(fixture, output):
    """A worker that is killed, and its program gone when the run is to be started again, as in an update of it."""
    program, worker = program_with_worker(f"{output}-program", '#!/bin/sh\nrm -- "$0"\nkill -9 $$\n')
    job = subprocess.Popen([program, *fixture.flags(output, "--max_steps", 3, "--max_restarts", 2, ranks=1)], env=fixture.environment, text=True,
                           stderr=subprocess.PIPE)
    text = ends_with(job, 3)
    expect(text, "was killed by SIGKILL", "(restart 1 of 2)", f"error: cannot start {worker}", "try: ")
    expect_summary_of_both_attempts(output, text)
    return "3, with a summary"


def scenario_attempt_of_two_nodes_that_cannot_be_started(fixture, output):
    """The same of the node that does not lead, while the rank of the other one is started already."""
    script = '#!/bin/sh\nif [ "$RANK" = 1 ]; then rm -- "$0"; kill -9 $$; fi\nexec sleep 600\n'
    meeting = ["--nnodes", 2, "--master_addr", "127.0.0.1", "--master_port", free_port(), "--max_steps", 3, "--max_restarts", 2]
    programs = [program_with_worker(f"{output}-program-{node}", script) for node in range(2)]
    jobs = [subprocess.Popen([program, *fixture.flags(output, *meeting, "--node_rank", node, ranks=1)], env=fixture.environment, text=True,
                             stderr=subprocess.PIPE) for node, (program, _) in enumerate(programs)]
    texts = [ends_with(job, 3) for job in jobs]
    expect(texts[0], "(restart 1 of 2)", f"error: cannot start {programs[1][1]}", "try: ", "while: on node 1")
    expect(texts[1], f"cannot start {programs[1][1]}")
    expect_summary_of_both_attempts(output, "\n".join(texts))
    return "3 on both, with a summary"


def ranks_of(job):
    """Process numbers by rank."""
    workers = [int(pid) for path in glob.glob(f"/proc/{job.pid}/task/*/children") for pid in pathlib.Path(path).read_text().split()]
    return {rank: next(pid for pid in workers if f"\0RANK={rank}\0".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()) for rank in (0, 1)}


def scenario_rank_that_somebody_else_stops(fixture, output):
    for place, words in ((output, ()), (output + "-quiet", ("--log_ranks", 0, "--log_level_replica", "error"))):
        job = start(fixture, place, "--max_steps", 100000, *words)
        until(job, lambda: len(records(place)) > 3, "training")
        os.kill(ranks_of(job)[1], signal.SIGTERM)
        expect(ends_with(job, 143), f"warning: SIGTERM from process {os.getpid()}, not from the launcher, asked rank 1 to stop")
        newest_is_whole(fixture, place)
    return "143, saved, and who it was, whoever is heard"


def scenario_processor_time_is_over(fixture, output):
    """Of a rank, as the kernel tells it again every second, and of the front program."""
    job = start(fixture, output, "--max_steps", 100000)
    until(job, lambda: len(records(output)) > 3, "training")
    resource.prlimit(ranks_of(job)[1], resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY))
    expect(ends_with(job, 143), "warning: SIGXCPU from the kernel, at the limit on processor time (ulimit -t), not from the launcher, asked rank 1")
    newest = newest_is_whole(fixture, output)
    job = start(fixture, output + "-front", "--max_steps", 100000)
    until(job, lambda: len(records(output + "-front")) > 3, "training")
    job.send_signal(signal.SIGXCPU)
    expect(ends_with(job, 143), "SIGXCPU: stopping after this update and saving")
    return f"143, checkpoint-{newest} and checkpoint-{newest_is_whole(fixture, output + '-front')} verified"


def scenario_somebody_stops_all_processes_at_once(fixture, output):
    job = start(fixture, output, "--max_steps", 100000)
    until(job, lambda: len(records(output)) > 3, "training")
    for process in [*ranks_of(job).values(), job.pid]:
        os.kill(process, signal.SIGTERM)
    told = ends_with(job, 143)
    if "from process" in told:
        sys.exit(f"a launcher that was asked itself says who else was:\n{told}")
    newest_is_whole(fixture, output)
    return "143, saved, and nobody in particular"


def scenario_ranks_with_cores_of_their_own(fixture, output):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        skip("one core")
    job = start(fixture, output, "--max_steps", 100000, "--bind_core_list", f"{cores[0]},{cores[1]}", "--bind_cores_to_rank")
    until(job, lambda: len(records(output)) > 3, "training")
    bound = set()
    for path in glob.glob(f"/proc/{job.pid}/task/*/children"):
        with open(path) as file:
            bound |= {frozenset(os.sched_getaffinity(int(pid))) for pid in file.read().split()}
    job.send_signal(signal.SIGTERM)
    text = ends_with(job, 143)
    if bound != {frozenset(cores[:1]), frozenset(cores[1:2])}:
        raise SystemExit(f"FAILED: the ranks are bound to {bound}\n{text}")
    expect(text, f"rank 1: {cores[1]}")
    return "a core each"


def scenario_system_that_shows_no_processes(fixture, output):
    hidden = ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        skip("a process cannot be given a system of its own here")
    job = subprocess.Popen([*hidden, HFTRAIN, "--version"], env=fixture.environment, text=True, stderr=subprocess.PIPE)
    expect(ends_with(job, 3), "error: cannot use", "where: /proc/self/exe")
    return "3, and what is missing"


def scenario_ranks_that_have_no_way_to_each_other(fixture, output):
    alone = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*alone, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        skip("a process cannot be given a network of its own here")
    command = [*alone, HFTRAIN, *fixture.flags(output, "--max_steps", "2")]
    job = subprocess.Popen(command, env=fixture.environment, text=True, stderr=subprocess.PIPE)
    expect(ends_with(job, 3), "error: the ranks of this machine cannot reach each other", "where: 127.0.0.1", "loopback interface")
    job = subprocess.Popen([*command, "--nproc_per_node", "1"], env=fixture.environment, text=True, stderr=subprocess.PIPE)
    ends_with(job, 0)
    return "3 for two, and one rank trains"


def scenario_stop_while_ranks_wait_for_one_that_is_frozen(fixture, output):
    """By the launcher, and by somebody who signals one rank."""
    for by_launcher in (True, False):
        job = start(fixture, output, "--max_steps", "2")
        until(job, lambda: len(processes_of(output)) == 2, "the start of two ranks")
        rank = {rank: pid for pid, rank in processes_of(output).items()}
        send(rank[1], signal.SIGSTOP)
        time.sleep(3 * slowness())  # by now rank 0 waits at the rendezvous
        begin = time.monotonic()
        send(job.pid if by_launcher else rank[0], signal.SIGTERM)
        text = ends_with(job, 10)
        expect(text, "stopped before the ranks had found each other",
               "a stop signal came while it waited" if by_launcher else f"signal 15 from process {os.getpid()}, not from the launcher")
    return f"10 after {time.monotonic() - begin:.0f} s"


def is_stopped(pid):
    return (pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() or "?")[0] == "T"


def stopped_while_connecting(fixture, output, ranks, stopped, at, by_launcher, *flags):
    """Rank `stopped` stops itself as it begins to connect for the `at`-th time; what the run says behind one signal, and after how many seconds."""
    environment = {**fixture.environment, "LD_PRELOAD": str(BUILD / "lib" / "libstops_itself.so"), "STOPPED_RANK": str(stopped), "STOPPED_AT": str(at)}
    command = [HFTRAIN, *fixture.flags(output, "--max_steps", "2", *flags, ranks=ranks)]
    job = subprocess.Popen(command, env=environment, text=True, stderr=subprocess.PIPE)
    until(job, lambda: any(is_stopped(pid) for pid, rank in processes_of(output).items() if rank == stopped), "a rank that stops itself")
    time.sleep(slowness())  # by now the others wait for it
    others = [pid for pid, rank in processes_of(output).items() if rank != stopped]
    begin = time.monotonic()
    send(job.pid if by_launcher else others[0], signal.SIGTERM)
    return ends_with(job, 10), time.monotonic() - begin


def scenario_stop_while_ranks_connect_to_one_that_is_frozen(fixture, output):
    """Behind the store, by the launcher and by somebody who signals one rank; and while sub-groups connect."""
    stranger = f"signal 15 from process {os.getpid()}, not from the launcher, came while it waited for the others"
    launcher = "a stop signal came while it waited for 1 of {} ranks: rank {}"
    hybrid = ("--fsdp", "hybrid_shard auto_wrap", "--parallelism_config", json.dumps({"dp_replicate_size": 2, "dp_shard_size": 2}))
    for number, (ranks, stopped, at, by_launcher, words, *flags) in enumerate((
            (2, 1, 1, True, launcher.format(2, 1), "--ddp_backend", "shm"), (2, 1, 1, False, stranger, "--ddp_backend", "gloo"),
            (4, 3, 2, True, launcher.format(4, 3), "--ddp_backend", "shm", *hybrid))):
        text, seconds = stopped_while_connecting(fixture, f"{output}-{number}", ranks, stopped, at, by_launcher, *flags)
        expect(text, f"stopped before the ranks had connected to each other over {flags[1]}", words)
    return f"10 after {seconds:.0f} s"


def scenario_stop_of_two_nodes_while_ranks_connect(fixture, output):
    environment = {**fixture.environment, "LD_PRELOAD": str(BUILD / "lib" / "libstops_itself.so"), "STOPPED_RANK": "1", "STOPPED_AT": "1"}
    meeting = ["--nnodes", 2, "--master_addr", "127.0.0.1", "--master_port", free_port(), "--max_steps", 2]
    jobs = [subprocess.Popen([HFTRAIN, *fixture.flags(output, *meeting, "--node_rank", node, ranks=1)], env=environment, text=True,
                             stderr=subprocess.PIPE) for node in range(2)]
    until(jobs[0], lambda: any(is_stopped(pid) for pid, rank in processes_of(output).items() if rank == 1), "a rank that stops itself")
    time.sleep(slowness())
    send(jobs[0].pid, signal.SIGTERM)
    texts = [ends_with(job, 10) for job in jobs]
    expect(texts[0], "a stop signal came while it waited for 1 of 2 ranks: rank 1; missing are ranks of node 1")
    return "10 on both, and the node is named"


def main():
    scenarios = {name.removeprefix("scenario_"): scenario for name, scenario in globals().items() if name.startswith("scenario_")}
    with tempfile.TemporaryDirectory(prefix="hftrain-endings-") as folder:
        fixture = Fixture(folder)

        def run(name, scenario):
            print(f"{name.replace('_', ' ')}: {scenario(fixture, os.path.join(folder, name))}", flush=True)
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)

        tell(scenarios, sys.argv[1:], run)


if __name__ == "__main__":
    main()
