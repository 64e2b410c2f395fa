#!/usr/bin/env python3
"""Every mistake is told in four parts: what, where, why, what to do. Mistakes of each kind are made here, none of which
starts a rank; the message of each must have all parts, the documented exit code, and leave nothing behind."""
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
    """Exit code, environment, words behind those of a run that would work."""
    two = "a slots=2\nb slots=2\n"
    rank = {"RANK": "1", "WORLD_SIZE": "2"}
    file = os.path.join(fixture.folder, "a-file")
    open(file, "w").close()
    return [
        (2, {}, ["--max_restarts", "-1"]),
        (2, {}, ["--ddp_timeout", "0"]),
        (2, {}, ["--lerning_rate", "1"]),
        (2, {}, ["--no_such_flag_at_all", "1"]),
        (2, {}, ["--seed"]),
        (2, {}, ["stray"]),
        (2, {}, ["--seed", "x"]),
        (2, {}, ["--bf16", "perhaps"]),
        (2, {}, ["--save_strategy", "stepz"]),
        (2, {}, ["--save_strategy", "steps", "--save_steps", "0"]),
        (2, {}, ["--eval_strategy", "steps", "--eval_steps", "2.5"]),
        (2, {}, ["--nproc_per_node", "none"]),
        (2, {}, ["--nnodes", "x"]),
        (2, {}, ["--nnodes", "2"]),
        (2, {}, ["--nnodes", "2", "--node_rank", "5", "--master_addr", "a"]),
        (2, {}, ["--num_processes", "7", "--num_machines", "2"]),
        (2, {}, ["--multi_gpu", "--use_fsdp"]),
        (2, {}, ["--fsdp_config", "{bad"]),
        (2, {}, ["--fsdp", "full_shard", "--fsdp_config", "{bad"]),
        (2, {}, ["--config", os.path.join(fixture.folder, "absent.yaml")]),
        (2, {}, ["--hostfile", os.path.join(fixture.folder, "absent")]),
        (2, {}, ["--hostfile", hosts(fixture, "a slots=1\na slots=1\n")]),
        (2, {}, ["--hostfile", hosts(fixture, "a\n")]),
        (2, {}, ["--hostfile", hosts(fixture, "")]),
        (2, {}, ["--hostfile", hosts(fixture, two), "--include", "a", "--exclude", "b"]),
        (2, {}, ["--hostfile", hosts(fixture, two), "--include", "c"]),
        (2, {}, ["--hostfile", hosts(fixture, two), "--exclude", "a@b"]),
        (2, {}, ["--hostfile", hosts(fixture, two), "--num_nodes", "3"]),
        (2, {}, ["--include", "a"]),
        (2, {}, ["--output_dir", file]),
        (2, {**rank, "MASTER_ADDR": "a"}, []),
        (2, {**rank, "MASTER_ADDR": "a", "MASTER_PORT": "x"}, []),
        (2, {}, ["--overwrite_output_dir", "--dry_run", "--output_dir", file]),
        (2, {}, ["--task", "mlm"]),
        (2, {}, ["--config_overrides", "n_layer=1,n_embd=30,n_head=4"]),
        (2, {}, ["--config_overrides", "n_layer=1,n_embd=8,n_head=2,resid_pdrop=1"]),
        (2, {}, ["--model_type", "t5", "--config_overrides", "num_layers=1,initializer_factor=0"]),
        (4, {}, ["--train_file", os.path.join(fixture.folder, "absent.txt")]),
        (4, {}, ["--tokenizer_name", os.path.join(fixture.folder, "absent")]),
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


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hftrain-errors-") as folder:
        fixture = Fixture(folder)
        output = os.path.join(folder, "out")
        for code, environment, words in mistakes(fixture):
            run = subprocess.run([HFTRAIN, *fixture.flags(output), *words], env={**fixture.environment, **environment},
                                 text=True, capture_output=True, timeout=60)
            parts = parts_of(run.stderr)
            whole = bool(parts) and all(each == {"what", "where", "why", "try"} for each in parts)
            good = run.returncode == code and whole and not os.path.exists(output)
            failed += not good
            name = " ".join(f"{key}={value}" for key, value in environment.items()) + " ".join(words)
            print(("ok      " if good else f"FAILED  (code {run.returncode}, not {code}?) ") + name)
            if not good:
                print(run.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
