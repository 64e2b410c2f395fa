#!/usr/bin/env python3
"""Every mistake is told in four parts: what, where, why, what to do. Mistakes of each kind are made here, none of which
starts a rank; the message of each must be the one that is meant, have all parts, the documented exit code, and leave nothing behind."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture


def hosts(fixture, text):
    path = os.path.join(fixture.folder, f"hosts-{abs(hash(text))}")
    with open(path, "w") as file:
        file.write(text)
    return path


def mistakes(fixture):
    """Exit code, environment, words behind those of a run that would work, how the message begins."""
    two = "a slots=2\nb slots=2\n"
    rank = {"RANK": "1", "WORLD_SIZE": "2"}
    file = os.path.join(fixture.folder, "a-file")
    open(file, "w").close()
    return [
        (2, {}, ["--max_restarts", "-1"], "--max_restarts: '-1' is not a whole number >= 0"),
        (2, {}, ["--ddp_timeout", "0"], "--ddp_timeout: '0' is not a whole number > 0"),
        (2, {}, ["--lerning_rate", "1"], "unknown flag --lerning_rate"),
        (2, {}, ["--no_such_flag_at_all", "1"], "unknown flag --no_such_flag_at_all"),
        (2, {}, ["--seed"], "--seed needs a value"),
        (2, {}, ["stray"], "unexpected 'stray'"),
        (2, {}, ["--seed", "x"], "--seed: 'x' is not a whole number"),
        (2, {}, ["--bf16", "perhaps"], "--bf16: 'perhaps' is not a truth value"),
        (2, {}, ["--save_strategy", "stepz"], "--save_strategy: 'stepz' is not one of"),
        (2, {}, ["--logging_steps", "0"], "logging_strategy steps needs logging_steps above 0"),
        (2, {}, ["--eval_strategy", "steps", "--eval_steps", "2.5"], "eval_steps 2.5 is neither"),
        (2, {}, ["--nproc_per_node", "none"], "nproc_per_node 'none' is not a number of ranks"),
        (2, {}, ["--nnodes", "x"], "nnodes 'x' is not a number of machines"),
        (2, {}, ["--nnodes", "2"], "several machines need to know machine 0"),
        (2, {}, ["--nnodes", "2", "--node_rank", "5", "--master_addr", "a"], "node_rank 5 is not one of 2 machines"),
        (2, {}, ["--num_processes", "7", "--num_machines", "2"], "num_processes does not divide by num_machines"),
        (2, {}, ["--multi_gpu", "--use_fsdp"], "multi_gpu and use_fsdp exclude each other"),
        (2, {}, ["--fsdp", "full_shard", "--fsdp_config", "{bad"], "not valid JSON"),
        (2, {}, ["--config", os.path.join(fixture.folder, "absent.yaml")], "cannot open the configuration file"),
        (2, {}, ["--hostfile", os.path.join(fixture.folder, "absent")], "cannot open"),
        (2, {}, ["--hostfile", hosts(fixture, "a slots=1\na slots=1\n")], "host a stands twice"),
        (2, {}, ["--hostfile", hosts(fixture, "a\n")], "this line of the host file is not"),
        (2, {}, ["--hostfile", hosts(fixture, "")], "the host file names no machine"),
        (2, {}, ["--hostfile", hosts(fixture, two), "--include", "a", "--exclude", "b"], "include and exclude exclude each other"),
        (2, {}, ["--hostfile", hosts(fixture, two), "--include", "c"], "include 'c' does not fit the host file"),
        (2, {}, ["--hostfile", hosts(fixture, two), "--exclude", "a@b"], "no machine of the host file is left"),
        (2, {}, ["--hostfile", hosts(fixture, two), "--num_nodes", "3"], "the host file has fewer machines"),
        (2, {}, ["--include", "a"], "include chooses from a host file"),
        (2, {}, ["--output_dir", file], "the output folder is no folder"),
        (2, {**rank, "MASTER_ADDR": "a"}, [], "this process is one of several"),
        (2, {**rank, "MASTER_ADDR": "a", "MASTER_PORT": "x"}, [], "MASTER_PORT=x of the environment is not usable"),
        (2, {}, ["--overwrite_output_dir", "--dry_run", "--output_dir", file], "the output folder is no folder"),
        (2, {}, ["--task", "mlm"], "gpt2 has no masked_lm head"),
        (2, {}, ["--config_overrides", "n_layer=1,n_embd=30,n_head=4"], "n_embd must be a multiple of n_head"),
        (2, {}, ["--config_overrides", "n_layer=1,n_embd=8,n_head=2,resid_pdrop=1"], "resid_pdrop must be at least 0"),
        (2, {}, ["--task", "summarization", "--model_type", "t5", "--config_overrides", "num_layers=1,initializer_factor=-1"], "initializer_factor must be"),
        (4, {}, ["--train_file", os.path.join(fixture.folder, "absent.txt")], "a data file does not exist"),
        (4, {}, ["--tokenizer_name", os.path.join(fixture.folder, "absent")], "the folder does not exist"),
        (4, {}, ["--train_file", written(fixture, "ragged.csv", "a,b\n1,2,3\n")], "cannot read a data file"),
        (4, {}, ["--train_file", written(fixture, "cut.jsonl", '{"text": "x"\n')], "cannot read a data file"),
        (2, {}, ["--optim", "adamw_torch", "--optim_args", "momentum=1"], "optim_args: unknown key 'momentum'"),
        (2, {}, ["--lr_scheduler_type", "polynomial", "--lr_scheduler_kwargs", '{"ends": 1}'], "lr_scheduler_kwargs: unknown key 'ends'"),
        (2, {}, ["--progress", "loud"], "--progress: 'loud' is not one of"),
        (2, {}, ["--color", "loud"], "--color: 'loud' is not one of"),
        (2, {}, ["--log_ranks", "x"], "log_ranks 'x' names no ranks"),
        (2, {}, ["--tee", "9"], "tee '9' names no streams"),
        (2, {}, ["--block_size", "128"], "block_size 128 is larger"),
        (2, {}, ["--json"], "--json is for plans"),
        (2, {}, ["--machines", "2x8xH100-80GB"], "--machines is for plans"),
        (2, {}, ["--nnodes", "2", "--node_rank", "0", "--master_addr", "127.0.0.1", "--rdzv_conf", "secret_file=" + os.path.join(fixture.folder, "absent")], "the file of the job's secret cannot be used"),
        (2, {}, ["--bind_core_list", "4095"], "CPU 4095 cannot be used"),
    ]


def written(fixture, name, text):
    path = os.path.join(fixture.folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def commands(fixture):
    """Exit code and all words of commands that are no run, how the message begins."""
    absent, file = os.path.join(fixture.folder, "absent"), written(fixture, "no-folder", "{}")
    folder = os.path.dirname(written(fixture, "model.safetensors", "short"))
    return [
        (4, ["checkpoint", "verify", absent], "no such folder"),
        (2, ["checkpoint", "verify", ""], "DIR: '' does not fit"),
        (4, ["checkpoint", "inspect", absent], "no model weights in the folder"),
        (4, ["checkpoint", "inspect", folder], "not a valid safetensors file"),
        (4, ["checkpoint", "export", absent, absent + "-out"], "not a model folder or checkpoint"),
        (4, ["checkpoint", "merge", absent, absent + "-out"], "the folder holds no adapter"),
        (4, ["checkpoint", "verify", file], "a file is named where a folder is meant"),
        (2, ["checkpoint", "verify"], "DIR is missing"),
        (2, ["explain", "no_such_flag_at_all"], "unknown flag no_such_flag_at_all"),
        (2, ["report", absent], "no such folder"),
        (2, ["report", "--serve", "x"], "--serve: 'x' is no port"),
        (2, ["search", "--search", absent], "cannot open"),
        (2, ["fetch", "a/b/c"], "'a/b/c' is no name of the hub"),
        (2, ["completion", "tcsh"], "no completion for 'tcsh'"),
        (2, ["cache", "prune", "--older_than", "soon"], "--older_than: 'soon' does not fit"),
        (2, ["cache", "prune", "--max_size", "20"], "--max_size: '20' does not fit"),
        (2, ["sample-data", "nothing", absent], "unknown kind 'nothing'"),
        (2, ["tokenizer", "train", "--kind", "nothing", "--files", file, "--output", absent], "unknown --kind 'nothing'"),
        (4, ["tokenizer", "encode", "--tokenizer_name", absent, "x"], "no tokenizer at"),
        (4, ["tokenizer", "encode", "--tokenizer_name", file, "x"], "not a usable tokenizer file"),
        (4, ["generate", "--model_name_or_path", absent, "--prompt", "x"], "the folder does not exist"),
        (2, ["prepare", *fixture.flags(os.path.join(fixture.folder, "out")), "--machines", "2x8xH100-80GB"], "--machines is for plans"),
    ]


def parts_of(message):
    """The diagnostics of a message, each a set of its parts' names."""
    all_parts = []
    for line in message.splitlines():
        if line.startswith("error: "):
            all_parts.append({"what"})
        elif match := re.match(r"  (where|why|try): \S", line):
            if all_parts:
                all_parts[-1].add(match[1])
    return all_parts


def begins(message, words):
    """Whether the first diagnostic is the one that is meant: an earlier check that refuses the same words has four parts as well."""
    first = next((line for line in message.splitlines() if line.startswith("error: ")), "")
    return first.startswith("error: " + words)


def whole(message):
    parts = parts_of(message)
    return bool(parts) and all(each == {"what", "where", "why", "try"} for each in parts)


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hftrain-errors-") as folder:
        fixture = Fixture(folder)
        output = os.path.join(folder, "out")
        calls = [(code, environment, [*fixture.flags(output), *words], words, first) for code, environment, words, first in mistakes(fixture)]
        calls += [(code, {}, words, words, first) for code, words, first in commands(fixture)]
        for code, environment, words, name, first in calls:
            run = subprocess.run([HFTRAIN, *words], env={**fixture.environment, **environment}, text=True, capture_output=True, timeout=60)
            good = run.returncode == code and begins(run.stderr, first) and whole(run.stderr) and not os.path.exists(output)
            failed += not good
            said = " ".join([*(f"{key}={value}" for key, value in environment.items()), *name])
            print(("ok      " if good else f"FAILED  (code {run.returncode}, not {code}? not '{first}'?) ") + said)
            if not good:
                print(run.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
