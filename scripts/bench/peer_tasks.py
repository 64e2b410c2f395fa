#!/usr/bin/env python3
"""The peer of task_speed.py: the Hugging Face Trainer with a model from scratch, on what an example script would give it.

  peer_tasks.py --task TASK --folder FOLDER --data PATH --length N [--target_length N] --threads N --steps_file FILE -- key=value …

FOLDER has config.json and a tokenizer. Rank 0 appends a line to FILE after every step; what follows `--` are TrainingArguments.
"""
import argparse
import json
import math
import os
import random
import sys
import time

SCRIPT_MODELS = {"clm": "AutoModelForCausalLM", "mlm": "AutoModelForMaskedLM", "summarization": "AutoModelForSeq2SeqLM",
                 "image-classification": "AutoModelForImageClassification"}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", choices=list(SCRIPT_MODELS), required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--length", type=int)
    parser.add_argument("--target_length", type=int)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--steps_file", required=True)
    at = sys.argv.index("--")
    options, arguments = parser.parse_args(sys.argv[1:at]), {}
    for pair in sys.argv[at + 1:]:
        key, value = pair.split("=", 1)
        arguments[key] = value if key == "output_dir" else json.loads(value)
    return options, arguments


def blocks(tokenizer, options):
    with open(options.data) as file:
        lines = file.read().splitlines()
    ids = [i for row in tokenizer(lines)["input_ids"] for i in row]
    rows = [ids[at:at + options.length] for at in range(0, len(ids) - options.length + 1, options.length)]
    return [{"input_ids": row, "labels": row} if options.task == "clm" else {"input_ids": row} for row in rows]


def pairs(tokenizer, options):
    features = []
    with open(options.data) as file:
        for row in map(json.loads, file):
            feature = dict(tokenizer(row["text"], max_length=options.length, truncation=True))
            feature["labels"] = tokenizer(text_target=row["summary"], max_length=options.target_length, truncation=True)["input_ids"]
            features.append({key: feature[key] for key in ("input_ids", "attention_mask", "labels")})
    return features


def pictures(options):
    """What torchvision's RandomResizedCrop, RandomHorizontalFlip, ToTensor and Normalize do to a picture of PIL."""
    import numpy
    import torch
    from PIL import Image, ImageOps

    classes = sorted(os.listdir(options.data))
    files = [(os.path.join(options.data, name, picture), number) for number, name in enumerate(classes)
             for picture in sorted(os.listdir(os.path.join(options.data, name)))]

    def part(width, height):
        for _ in range(10):
            area = width * height * random.uniform(0.08, 1)
            ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                left, top = random.randint(0, width - w), random.randint(0, height - h)
                return left, top, left + w, top + h
        return 0, 0, width, height

    class Pictures(torch.utils.data.Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, index):
            path, label = files[index]
            image = Image.open(path).convert("RGB")
            image = image.crop(part(*image.size)).resize((options.length, options.length), Image.Resampling.BILINEAR)
            if random.random() < 0.5:
                image = ImageOps.mirror(image)
            pixels = torch.from_numpy(numpy.array(image)).permute(2, 0, 1).contiguous().float().div(255)
            return {"pixel_values": (pixels - 0.5) / 0.5, "labels": label}
    return Pictures()


def main():
    options, arguments = parse()
    import torch
    import transformers
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = getattr(transformers, SCRIPT_MODELS[options.task]).from_config(transformers.AutoConfig.from_pretrained(options.folder))
    tokenizer, collator = None, transformers.default_data_collator
    if options.task == "image-classification":
        samples = pictures(options)
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(options.folder)
        samples = (pairs if options.task == "summarization" else blocks)(tokenizer, options)
    if options.task == "mlm":
        collator = transformers.DataCollatorForLanguageModeling(tokenizer)
    elif options.task == "summarization":
        collator = transformers.DataCollatorForSeq2Seq(tokenizer, model=model)

    class Clock(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if state.is_world_process_zero:
                with open(options.steps_file, "a") as file:
                    file.write(json.dumps({"step": state.global_step, "time": time.time()}) + "\n")

    transformers.Trainer(
        model=model, train_dataset=samples, data_collator=collator, processing_class=tokenizer, callbacks=[Clock()],
        args=transformers.TrainingArguments(report_to="none", disable_tqdm=True, save_strategy="no", use_cpu=True, logging_steps=1,
                                            **arguments)).train()


main()
