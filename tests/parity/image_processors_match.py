#!/usr/bin/env python3
"""What a run makes of the file of an image processor against transformers: size, mean and deviation, for each class that
lib/hftrain/images/processor_class.cpp knows, from files that leave them out or have them in short forms; and which of a folder's two files is read.
The classes are those on PIL, which need no torchvision, and AutoImageProcessor does: its choice of a class is repeated here.

  image_processors_match.py
"""
import importlib
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures

SOURCE = fixtures.ROOT / "lib/hftrain/images/processor_class.cpp"
SHORT = [{}, {"size": 32}, {"size": [32, 64]}, {"size": {"height": 32, "width": 64}}, {"size": {"shortest_edge": 32}},
         {"size": 32, "default_to_square": True}, {"size": 32, "default_to_square": False},
         {"size": 32, "image_mean": [0.1, 0.2, 0.3]}, {"size": 32, "image_std": [0.1, -0.2, 0.3]}]


def cases(classes):
    """Pairs of the folder's files."""
    for name in classes:
        for keys in SHORT:
            yield {"preprocessor_config.json": {"image_processor_type": name, **keys}}
        yield {"preprocessor_config.json": {"image_processor_type": f"{name}Fast", "size": 32}}
        yield {"preprocessor_config.json": {"feature_extractor_type": name.replace("ImageProcessor", "FeatureExtractor"), "size": 32}}
    clip, vit = ({"image_processor_type": f"{name}ImageProcessor", "size": 32} for name in ("CLIP", "ViT"))
    yield {"preprocessor_config.json": {"size": 32}}
    yield {"processor_config.json": {"image_processor": clip}}
    yield {"processor_config.json": {"image_processor": clip}, "preprocessor_config.json": vit}
    yield {"processor_config.json": {"processor_class": "CLIPProcessor"}, "preprocessor_config.json": vit}


def class_on_pil(keys):
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
    name = keys.get("image_processor_type") or keys.get("feature_extractor_type", "ViTImageProcessor").replace("FeatureExtractor", "ImageProcessor")
    name = name.removesuffix("Fast") + "Pil"
    family = next(family for family, names in IMAGE_PROCESSOR_MAPPING_NAMES.items()
                  if names.get("pil") == name and importlib.util.find_spec(f"transformers.models.{family}.image_processing_pil_{family}"))
    return getattr(importlib.import_module(f"transformers.models.{family}.image_processing_pil_{family}"), name)


def theirs(folder):
    from transformers.image_processing_base import ImageProcessingMixin
    processor = class_on_pil(ImageProcessingMixin.get_image_processor_dict(folder)[0]).from_pretrained(folder)
    size = {key: side for key, side in dict(processor.size).items() if side is not None}
    edge = size.get("shortest_edge")
    return {"height": edge or size["height"], "width": edge or size["width"], "keeps_proportions": edge is not None,
            "mean": list(processor.image_mean), "deviation": list(processor.image_std)}


def ours(folder, pictures, height, width, environment):
    config = {**json.loads((folder / "config.json").read_text()), "image_size": [height, width]}
    (folder / "config.json").write_text(json.dumps(config))
    planned = fixtures.run([fixtures.HFTRAIN, "plan", "--json", "--task", "image-classification", "--config_name", str(folder),
                            "--image_processor_name", str(folder), "--train_dir", f"{pictures}/train", "--validation_dir", f"{pictures}/validation",
                            "--do_eval", "--use_cpu", "--output_dir", str(folder / "out")], env=environment)
    return json.loads(planned.stdout)["data"]["preprocessor"]


def main():
    from transformers import ViTConfig
    classes = re.findall(r'\{"(\w+ImageProcessor)", \d', SOURCE.read_text())
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        pictures, environment = os.path.join(scratch, "pictures"), {**os.environ, "HFTRAIN_CACHE": os.path.join(scratch, "cache")}
        fixtures.run([fixtures.HFTRAIN, "sample-data", "images", pictures, "--size", "50000"])
        for count, files in enumerate(cases(classes), 1):
            folder = pathlib.Path(scratch) / str(count)
            ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, patch_size=2).save_pretrained(folder)
            for name, keys in files.items():
                (folder / name).write_text(json.dumps(keys))
            real = theirs(folder)
            mine = ours(folder, pictures, real["height"], real["width"], environment)
            if mine != real:
                wrong.append(files)
                print(f"{json.dumps(files)}\n  transformers {real}\n  hftrain      {mine}", flush=True)
    print(f"{len(classes)} classes, {count} folders, {len(wrong)} are read otherwise", flush=True)
    sys.exit(0 if classes and not wrong else 1)


if __name__ == "__main__":
    main()
