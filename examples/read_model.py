#!/usr/bin/python3
"""Reads a model file with Python's own library alone. Usage: read_model.py FILE

Shows the format (docs/format.md), not how to be careful: clausius itself checks every length."""
import json
import struct
import sys


def read_model(path):
    """The notes {key: text} and the tensors {name: tuple of floats}."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    notes = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = struct.unpack(f"<{entry['shape'][0]}d", data[begin:end])
    return notes, tensors


if __name__ == "__main__":
    notes, tensors = read_model(sys.argv[1])
    for key, text in notes.items():
        print(f"{key}: {json.dumps(text)}")
    for name, values in tensors.items():
        print(f"{name}: {len(values)} numbers", *map(repr, values), sep="\n  ")
