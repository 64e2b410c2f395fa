"""A tiny model of each task, whose runs take a tenth of a second, for scripts that need many of them."""
import json
import os

from runs import Fixture

BERT = ("hidden_size=16,num_hidden_layers=1,num_attention_heads=2,intermediate_size=32,max_position_embeddings=64,vocab_size=512,"
        "hidden_dropout_prob=0,attention_probs_dropout_prob=0")
T5 = "d_model=16,d_kv=4,d_ff=32,num_layers=1,num_heads=2,vocab_size=512,decoder_start_token_id=0,pad_token_id=0,eos_token_id=1,dropout_rate=0"
GPT2 = "n_layer=1,n_head=2,n_embd=16,n_positions=64,vocab_size=512,embd_pdrop=0,attn_pdrop=0,resid_pdrop=0"
VIT = "num_hidden_layers=1,num_attention_heads=2,hidden_size=16,intermediate_size=16,image_size=16,patch_size=4"
PAIRS = ("seq2seq", "summarization", "translation")


def rows(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def write(folder, files):
    """Files {name: text or bytes} in that folder."""
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())


class TinyTasks(Fixture):
    def __init__(self, folder):
        super().__init__(folder)
        self.pieces, self.unigram = (os.path.join(self.folder, kind) for kind in ("wordpiece", "unigram"))
        for kind, place in (("wordpiece", self.pieces), ("unigram", self.unigram)):
            self.call("tokenizer", "train", "--kind", kind, "--vocab_size", "400", "--files", self.text, "--output", place)
        self.pictures = os.path.join(self.folder, "pictures")
        self.call("sample-data", "images", self.pictures, "--size", "60000")

    def model(self, task):
        """Flags of the task and of its model."""
        named = ["--task", task]
        if task in PAIRS:
            return [*named, "--model_type", "t5", "--config_overrides", T5, "--tokenizer_name", self.unigram]
        if task in ("clm", "sft"):
            return [*named, "--model_type", "gpt2", "--config_overrides", GPT2, "--tokenizer_name", self.tokenizer]
        if task == "image-classification":
            return [*named, "--model_type", "vit", "--config_overrides", VIT]
        return [*named, "--model_type", "bert", "--config_overrides", BERT, "--tokenizer_name", self.pieces]

    def flags(self, task, output, *more):
        return ["train", *self.model(task), "--use_cpu", "--nproc_per_node", "1", "--max_steps", "2", "--per_device_train_batch_size", "2",
                "--logging_steps", "1", "--save_strategy", "no", "--do_train", "--output_dir", str(output), *map(str, more)]
