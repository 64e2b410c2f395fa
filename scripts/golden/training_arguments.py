"""Golden data of tests/apps/migration.py: what TrainingArguments writes of itself.

  training_arguments.py > tests/golden/arguments/training_arguments.json
"""
from transformers import TrainingArguments

print(TrainingArguments(output_dir="out", max_steps=3, learning_rate=1e-3, use_cpu=True).to_json_string())
