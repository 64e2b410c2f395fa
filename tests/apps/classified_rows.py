"""Runs of families with an encoder and a decoder, in the place of the causal ones: rows of texts that a model classifies."""
import csv
import os
import random

from runs import Fixture


def write_rows(text, path):
    """Rows of 3 to 19 words of the text, each with one of four labels; gives the path."""
    with open(text) as file:
        words = file.read().split()
    numbers = random.Random(4)
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sentence", "label"])
        for _ in range(240):
            start = numbers.randrange(len(words) - 20)
            rows.writerow([" ".join(words[start:start + numbers.randrange(3, 20)]), numbers.choice(["a", "b", "c", "d"])])
    return path


class ClassifiedRows(Fixture):
    MODELS = {
        "t5": "d_model={0},d_kv=16,num_heads=2,d_ff=64,num_layers=2,vocab_size=512,decoder_start_token_id=0",
        "bart": "d_model={0},encoder_layers=2,decoder_layers=2,encoder_attention_heads=2,decoder_attention_heads=2,"
                "encoder_ffn_dim=64,decoder_ffn_dim=64,vocab_size=512,max_position_embeddings=30",
    }
    DROPOUTS = {"t5": ",dropout_rate=0", "bart": ",dropout=0"}
    LAYERS = {"t5": "T5Block", "bart": "BartEncoderLayer,BartDecoderLayer"}

    def __init__(self, folder, family):
        super().__init__(folder)
        self.family, self.WITHOUT_DROPOUT, self.LAYER = family, self.DROPOUTS[family], self.LAYERS[family]
        self.tokenizer = os.path.join(self.folder, "ending-tokenizer")  # one that ends every text
        self.call("tokenizer", "train", "--kind", "unigram", "--vocab_size", "300", "--files", self.text, "--output",
                  self.tokenizer)
        self.rows = write_rows(self.text, os.path.join(self.folder, "rows.csv"))

    def flags(self, output, *more, ranks=2, width=32):
        return ["--task", "text-classification", "--model_type", self.family, "--config_overrides",
                self.MODELS[self.family].format(width), "--tokenizer_name", self.tokenizer, "--train_file", self.rows,
                "--max_seq_length", "30", "--use_cpu", "--do_train", "--nproc_per_node", str(ranks), "--output_dir", str(output),
                "--logging_steps", "1", "--learning_rate", "1e-3", "--lr_scheduler_type", "cosine", *map(str, more)]
