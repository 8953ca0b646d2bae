#!/bin/sh
# no_plants.sh PLANTED PROGRAM...: fails where a program other than PLANTED has a switch for planted
# mistakes in it, or where PLANTED has none: then this would not see one.
set -eu

has_switch() { nm -C "$1" | grep -q 'keel::with_plants::planted'; }

planted=$1
shift
has_switch "$planted" || { echo "$planted has no planted mistake to look for"; exit 1; }
for program in "$@"; do
  if has_switch "$program"; then
    echo "$program has a switch for planted mistakes"
    exit 1
  fi
done
