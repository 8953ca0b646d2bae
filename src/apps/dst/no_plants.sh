#!/bin/sh
# no_plants.sh PROGRAM...: fails where a program has a switch for planted mistakes in it.
set -eu

for program in "$@"; do
  if nm -C "$program" | grep -q 'keel::with_plants::planted'; then
    echo "$program has a switch for planted mistakes"
    exit 1
  fi
done
