#!/usr/bin/env python3
"""Losses over 50 steps of image classification against the Hugging Face Trainer: same folder, same pictures, same seed.

  images_match_trainer.py [--steps 50]

The Trainer's side reads and resizes with PIL and crops as torchvision's RandomResizedCrop does, with the draws that
lib/hftrain/data/image_collator.h describes in the place of torch's generator; it clips by a norm summed in float64, as hftrain
does. The bar is a relative difference of 1e-4 in every loss, and 1e-5 between the logits of the Trainer's model and of our folder, which
AutoModelForImageClassification and ViTImageProcessor open.
"""
import argparse
import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures

SIDE, WORD, GOLDEN = 16, (1 << 64) - 1, 0x9E3779B97F4A7C15
ARGUMENTS = dict(per_device_train_batch_size=4, logging_steps=1, save_strategy="no", learning_rate=1e-3, seed=7,
                 lr_scheduler_type="cosine", warmup_steps=5, weight_decay=0.1, max_grad_norm=1.0)


def finalize(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


class Draws:
    def __init__(self, seed, epoch, sample):
        self.state = finalize(finalize(finalize(seed + GOLDEN & WORD) + epoch + GOLDEN & WORD) + sample + GOLDEN & WORD)

    def uniform(self):
        self.state = self.state + GOLDEN & WORD
        return (finalize(self.state) >> 11) * 2.0 ** -53


def random_part(width, height, draws):
    for _ in range(10):
        area = width * height * (0.08 + 0.92 * draws.uniform())
        ratio = math.exp(math.log(3 / 4) + (math.log(4 / 3) - math.log(3 / 4)) * draws.uniform())
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            top = math.floor(draws.uniform() * (height - h + 1))
            return math.floor(draws.uniform() * (width - w + 1)), top, w, h
    raise SystemExit("square pictures always have a part")


def pictures(folder):
    """Paths and classes, sorted as imagefolder sorts them."""
    paths = sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    classes = sorted({os.path.basename(os.path.dirname(path)) for path in paths})
    return [(path, classes.index(os.path.basename(os.path.dirname(path)))) for path in paths], classes


def sum_norms_in_float64(torch):
    """torch on a CPU sums the squares of a gradient in float32, which leaves its norm, and so the clipping, up to 1e-3 low."""
    def clip(parameters, max_norm, *_, **__):
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = sum(g.double().square().sum() for g in gradients).sqrt().float()
        torch.nn.utils.clip_grads_with_norm_([p for p in parameters if p.grad is not None], max_norm, norm)
        return norm
    torch.nn.utils.clip_grad_norm_ = clip


def peer(folder, model_folder, train, validation, classes):
    import numpy
    import torch
    from PIL import Image, ImageOps
    from transformers import AutoModelForImageClassification, Trainer, TrainingArguments

    sum_norms_in_float64(torch)

    class Pictures(torch.utils.data.Dataset):
        def __init__(self, files, training):
            self.files, self.training = files, training

        def __len__(self):
            return len(self.files)

        def __getitem__(self, index):
            path, label = self.files[index]
            image = Image.open(path).convert("RGB")
            if self.training:
                draws = Draws(ARGUMENTS["seed"], 0, index)
                left, top, width, height = random_part(*image.size, draws)
                image = image.crop((left, top, left + width, top + height))
            # Rows first, which Pillow 13 by itself does not always do.
            for size in ((SIDE, image.height), (SIDE, SIDE)):
                image = image.resize(size, Image.Resampling.BILINEAR)
            if self.training and draws.uniform() < 0.5:
                image = ImageOps.mirror(image)
            pixels = torch.from_numpy(numpy.array(image)).permute(2, 0, 1).float() / 255
            return {"pixel_values": (pixels - 0.5) / 0.5, "labels": label}

    model = AutoModelForImageClassification.from_pretrained(
        model_folder, num_labels=len(classes), id2label=dict(enumerate(classes)), label2id={n: i for i, n in enumerate(classes)})
    trainer = Trainer(
        compute_metrics=lambda judged: {"accuracy": float((judged.predictions.argmax(-1) == judged.label_ids).mean())},
        model=model, train_dataset=Pictures(train, True), eval_dataset=Pictures(validation, False),
        args=TrainingArguments(output_dir=os.path.join(folder, "peer"), use_cpu=True, report_to="none", disable_tqdm=True,
                               remove_unused_columns=False, **ARGUMENTS))
    trainer.train()
    return {r["step"]: r for r in trainer.state.log_history if "loss" in r}, trainer.evaluate(), trainer.model


def model_folder(folder, classes):
    import torch
    from transformers import ViTConfig, ViTForImageClassification
    path = os.path.join(folder, "model")
    torch.manual_seed(0)
    ViTForImageClassification(ViTConfig(
        hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128, image_size=SIDE, patch_size=4,
        id2label=dict(enumerate(classes)), label2id={n: i for i, n in enumerate(classes)})).save_pretrained(path)
    return path


def opens_in_transformers(output, model, validation):
    """The saved folder gives the Trainer's logits, and its processor the pixels."""
    import torch
    from PIL import Image
    from transformers import AutoModelForImageClassification
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil
    processor = ViTImageProcessorPil.from_pretrained(output)
    images = [Image.open(path).convert("RGB") for path, _ in validation[:8]]
    inputs = processor(images, return_tensors="pt")
    with torch.no_grad():
        mine = AutoModelForImageClassification.from_pretrained(output).eval()(**inputs).logits
        theirs = model.eval()(**inputs).logits
    difference = (mine - theirs).abs().max().item()
    print(f"  logits of the trained models differ by {difference:.1e} of {theirs.abs().max():.1f}", flush=True)
    return difference <= 1e-5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    ARGUMENTS["max_steps"] = parser.parse_args().steps
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        data, output = os.path.join(folder, "pictures"), os.path.join(folder, "ours")
        fixtures.run([fixtures.HFTRAIN, "sample-data", "images", data, "--size", "800000", "--seed", "5"])
        train, classes = pictures(f"{data}/train")
        validation, _ = pictures(f"{data}/validation")
        if len(train) < 4 * ARGUMENTS["max_steps"]:
            raise SystemExit(f"{len(train)} pictures are less than an epoch")
        model = model_folder(folder, classes)
        theirs, evaluated, trained = peer(folder, model, train, validation, classes)
        flags = [part for key, value in ARGUMENTS.items() for part in (f"--{key}", str(value))]
        fixtures.run([fixtures.HFTRAIN, "--task", "image-classification", "--model_name_or_path", model, "--train_dir",
                      f"{data}/train", "--validation_dir", f"{data}/validation", "--output_dir", output, "--use_cpu", "--do_train",
                      "--do_eval"] + flags, env={**environment, "HFTRAIN_CACHE": os.path.join(folder, "cache")})
        mine = {r["step"]: r for r in fixtures.our_records(output) if "loss" in r}
        worst = fixtures.largest(abs(mine[s]["loss"] - theirs[s]["loss"]) / theirs[s]["loss"] for s in theirs)
        with open(os.path.join(output, "eval_results.json")) as file:
            results = json.load(file)
        loss = abs(results["eval_loss"] - evaluated["eval_loss"]) / evaluated["eval_loss"]
        accuracy = abs(results["eval_accuracy"] - evaluated["eval_accuracy"])
        print(f"vit: loss {theirs[1]['loss']:.4f} -> {theirs[max(theirs)]['loss']:.4f}, worst relative difference {worst:.2e}; "
              f"eval_loss {evaluated['eval_loss']:.4f}, {loss:.1e} apart; "
              f"eval_accuracy {evaluated['eval_accuracy']:.4f}, {accuracy:.1e} apart", flush=True)
        good = sorted(mine) == sorted(theirs) and worst <= 1e-4 and loss <= 1e-4 and accuracy <= 1e-6
        good = opens_in_transformers(output, trained, validation) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
