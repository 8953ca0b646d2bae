#!/usr/bin/env python3
"""Converts the UCI handwritten digits, as scikit-learn ships them, into digits.bin.

    convert.py digits.csv.gz digits.bin

The input has one line a sample: 64 pixels of 0..16, then the label, separated by commas.
The output, all integers little-endian:

    8 bytes   magic "KEELDIG1"
    3 times   u32 number of samples, u32 CRC-32 of their bytes   (train, validation, test)
    samples   65 bytes each: 64 pixels, 1 label                  (train, validation, test)

The split is fixed: of the k-th sample of its class in the input, k mod 5 = 4 is test, k mod 10 = 3
is validation, the rest is train. (By class, because the input mostly repeats 0, 1, ..., 9.) Train
is sorted by label (stable), so that a shard, a contiguous part of train, holds only some classes.
"""

import collections
import gzip
import struct
import sys
import zlib

PIXELS = 64


def read_samples(path):
    with gzip.open(path, "rt", encoding="ascii") as lines:
        for number, line in enumerate(lines, start=1):
            fields = [int(field) for field in line.split(",")]
            pixels, label = fields[:PIXELS], fields[PIXELS:]
            if len(label) != 1 or not 0 <= label[0] <= 9 or not all(0 <= p <= 16 for p in pixels):
                raise SystemExit(f"{path}:{number}: not 64 pixels of 0..16 and a label of 0..9")
            yield bytes(pixels + label)


def split(samples):
    train, validation, test = [], [], []
    seen = collections.Counter()
    for sample in samples:
        k = seen[sample[PIXELS]]
        seen[sample[PIXELS]] += 1
        (test if k % 5 == 4 else validation if k % 10 == 3 else train).append(sample)
    train.sort(key=lambda sample: sample[PIXELS])
    return train, validation, test


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    parts = split(read_samples(sys.argv[1]))
    with open(sys.argv[2], "wb") as out:
        out.write(b"KEELDIG1")
        for part in parts:
            out.write(struct.pack("<II", len(part), zlib.crc32(b"".join(part))))
        for part in parts:
            out.write(b"".join(part))


if __name__ == "__main__":
    main()
