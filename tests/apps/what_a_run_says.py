#!/usr/bin/env python3
"""What a run shows people: headers, log levels, the live line of a terminal, warnings of a run that goes on.

  what_a_run_says.py [SCENARIO]…     all of them without a word
"""
import fcntl
import os
import pty
import re
import struct
import sys
import tempfile
import termios

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture, expect, in_order

SHORT = ["--max_steps", 4, "--save_steps", 2, "--logging_steps", 2]


def headers_stand_where_the_trainer_has_them(fixture, output):
    evaluated = [*SHORT, "--eval_strategy", "steps", "--eval_steps", 2, "--do_eval", "--validation_split_percentage", 10,
                 "--do_predict", "--test_file", fixture.text, "--max_predict_samples", 20]
    said = fixture.call(*fixture.flags(output, *evaluated)).stderr
    in_order(said, "Process rank: 0 of 2, device: cpu", "***** Running training *****", "  Num examples = ",
             "  Num Epochs = 1", "  Total train batch size (w. parallel, distributed & accumulation) = 16",
             "  Total optimization steps = 4", "{'loss'", "\n\n***** Running Evaluation *****\n  Num examples = ",
             "  Batch size = 8", "{'eval_loss'", f"Saving model checkpoint to {output}/checkpoint-2", "{'loss'",
             "Training completed: 4 updates", "***** train metrics *****", "*** Evaluate ***",
             "***** Running Evaluation *****", "***** eval metrics *****", "*** Predict ***",
             "***** Running Prediction *****\n  Num examples = 20", "***** predict metrics *****")
    expect("Process rank: 1" not in said, "of the other ranks' words only warnings are shown", said)
    again = fixture.call(*fixture.flags(output, *evaluated, "--max_steps", 6)).stderr
    in_order(again, "resuming from", "***** Running training *****", "  Total optimization steps = 6",
             "  Resuming training from checkpoint with epoch 0 and global step 4\n",
             "  The data go on after 0 epochs and 4 batches", "{'loss'")
    alone = fixture.call(*[f for f in fixture.flags(output, "--do_predict", "--do_eval", "--test_file", fixture.text)
                         if f != "--do_train"]).stderr
    expect("***** Running training *****" not in alone, "an evaluation alone does not train", alone)
    in_order(alone, "'eval_loss'", "'eval_model_preparation_time'", "'eval_runtime'", "predict_model_preparation_time")


def log_levels_hide_and_show(fixture, output):
    def said(*flags, **variables):
        fixture.environment.update(variables)
        # A warning of the plan: the warm-up is as long as the run.
        text = fixture.call(*fixture.flags(output, *SHORT, "--warmup_steps", 4, "--overwrite_output_dir", *flags)).stderr
        for name in variables:
            del fixture.environment[name]
        return text

    header, notice, warning, record, block, detail, replica = (
        "***** Running training *****", "Saving model checkpoint", "warning: the warm-up", "{'loss'",
        "***** train metrics *****", "loaded in", "[rank 1] Process rank: 1")
    everything = (header, notice, warning, record, block, detail, replica)

    def check(text, *shown):
        for part in everything:
            expect((part in text) == (part in shown), f"'{part}' is {'not ' * (part in shown)}there", text)

    check(said(), header, notice, warning, record, block)
    check(said("--log_level", "info"), header, notice, warning, record, block)
    check(said("--log_level", "debug"), header, notice, warning, record, block, detail)
    check(said("--log_level", "warning"), warning, record, block)
    check(said("--log_level", "error"), record, block)
    check(said("--log_level", "critical"), record, block)
    check(said(TRANSFORMERS_VERBOSITY="error"), record, block)
    check(said("--log_level", "warning", TRANSFORMERS_VERBOSITY="debug"), warning, record, block)
    check(said("--log_level", "error", "--log_level_replica", "info"), record, block, replica)
    check(said("--log_level", "error", "--log_level_replica", "passive", TRANSFORMERS_VERBOSITY="info"), record, block, replica)
    check(said("--log_level_replica", "info"), header, notice, warning, record, block, replica)
    file = output + "-env.yaml"
    with open(file, "w") as config:
        config.write("env:\n  TRANSFORMERS_VERBOSITY: error\n")
    text = said("--config", file)
    check(text, header, notice, warning, record, block)
    expect("env: TRANSFORMERS_VERBOSITY does nothing to this run" in text, "that it does nothing is said", text)
    expect("TRANSFORMERS_VERBOSITY=info" in said(TRANSFORMERS_VERBOSITY="info"), "a variable that counts is named", "")


def the_live_line_has_speed_and_memory(fixture, output):
    # Long enough for two updates to be told, which go out ten times a second at most.
    argv = [HFTRAIN, *fixture.flags(output, "--max_steps", 400, "--save_strategy", "no", "--logging_steps", 100)]
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 160, 0, 0))
        os.execve(HFTRAIN, argv, {**fixture.environment, "TERM": "xterm"})
    text = b""
    try:
        while part := os.read(terminal, 65536):
            text += part
    except OSError:  # the terminal is closed at the end
        pass
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    text = text.decode(errors="replace")
    expect(code == 0, f"ended with {code}", text)
    lines = re.findall(r"\rtrain [0-9,]+/400[^\r\n]*", text.replace("\x1b[K", ""))
    rates = [int(n.replace(",", "")) for line in lines for n in re.findall(r"([0-9,]+) tokens/s", line)]
    expect(rates and min(rates) > 0, "the live line has tokens/s", text)
    expect(any(re.search(r"[0-9.]+ [MG]iB", line) for line in lines), "the live line has memory", text)


def a_run_that_goes_on_with_other_settings_is_told(fixture, output):
    common = ["--save_steps", 2, "--logging_steps", 2]
    fixture.call(*fixture.flags(output, "--max_steps", 2, *common))
    same = fixture.call(*fixture.flags(output, "--max_steps", 4, *common)).stderr
    expect("other settings" not in same, "the same settings are no matter", same)
    other = fixture.call(*fixture.flags(output, "--max_steps", 6, "--save_steps", 3, "--logging_steps", 1,
                                    "--per_device_train_batch_size", 4)).stderr
    in_order(other, "warning: the run goes on with other settings", "logging_steps 1 instead of 2",
             "per_device_train_batch_size 4 instead of 8", "save_steps 3 instead of 2")


SCENARIOS = [headers_stand_where_the_trainer_has_them, log_levels_hide_and_show, the_live_line_has_speed_and_memory,
           a_run_that_goes_on_with_other_settings_is_told]


def main():
    names = sys.argv[1:]
    if unknown := set(names) - {scenario.__name__ for scenario in SCENARIOS}:
        raise SystemExit(f"there is no scenario {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(folder)
        for scenario in SCENARIOS:
            if not names or scenario.__name__ in names:
                scenario(fixture, os.path.join(folder, scenario.__name__))
                print(scenario.__name__.replace("_", " "))


main()
