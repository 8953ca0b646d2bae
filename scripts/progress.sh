# shellcheck shell=bash
# What check, quickstart and install-packages share, for `source`: how they tell what they do.
# Needs nothing beyond bash and coreutils, so that it works before anything is installed.

progress_every_s=10  # between two progress lines where the output is no terminal

# "4.2 s", "3 min 07 s": the time since $1, a value of $EPOCHREALTIME.
since() {
  local ms=$(( (${EPOCHREALTIME//[!0-9]/} - ${1//[!0-9]/}) / 1000 ))
  if (( ms < 60000 )); then
    printf '%d.%d s' $(( ms / 1000 )) $(( ms % 1000 / 100 ))
  else
    printf '%d min %02d s' $(( ms / 60000 )) $(( ms / 1000 % 60 ))
  fi
}

# Shows where something stands: on a terminal by rewriting one line, else by a line now and then.
progress_at=-$progress_every_s
progress_shown=0
progress() {
  if [[ -t 1 ]]; then
    local width=${COLUMNS:-80} text="  $1"
    printf '\r\e[K%s' "${text:0:width-1}"
    progress_shown=1
  elif (( SECONDS - progress_at >= progress_every_s )); then
    progress_at=$SECONDS
    printf '  %s\n' "$1"
  fi
}

# Ends the rewritten line, if there is one, so that what follows starts on a line of its own.
progress_done() {
  if (( progress_shown )); then printf '\r\e[K'; fi
  progress_shown=0
}

# Reads ninja's output: its status lines become progress, everything else is passed on.
show_ninja() {
  local line
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*)$ ]]; then
      local done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} what=${BASH_REMATCH[3]}
      progress "$(( 100 * done / all )) %  $done of $all  ${what##*/}"
    elif [[ $line != "ninja: Entering directory"* && $line != "ninja: no work to do." ]]; then
      progress_done
      printf '  %s\n' "$line"
    fi
  done
  progress_done
}

# Reads ctest's output: passed tests become progress, everything else is passed on.
show_ctest() {
  local line
  while IFS= read -r line; do
    if [[ $line =~ ^\ *([0-9]+)/([0-9]+)\ +Test\ +\#[0-9]+:\ ([^ ]+)\ .*Passed ]]; then
      progress "${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}  ${BASH_REMATCH[3]}"
    elif [[ ! $line =~ ^\ +Start\ +[0-9]+: && ! $line =~ ^(Test\ project|\ *$) ]]; then
      progress_done
      printf '  %s\n' "$line"
    fi
  done
  progress_done
}

# How many compilers may run at once: one per core, and no more than one per GiB of free memory.
# The largest translation units (gRPC, Beast) need about that much.
build_jobs() {
  local cores free_kib key value rest
  cores=$(nproc)
  free_kib=0
  while read -r key value rest; do
    if [[ $key == MemAvailable: ]]; then free_kib=$value; fi
  done < /proc/meminfo
  local fit=$(( free_kib >> 20 ))
  if (( fit < 1 )); then fit=1; fi
  echo $(( cores < fit ? cores : fit ))
}
