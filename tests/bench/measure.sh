# Sourced by the benchmarks that a program of Python runs, at the root of the tree.
#
#   build TARGET…       builds what is measured in $build, which ERGON_BUILD names (build, at the root of the tree)
#   help_of FILE ARG…   prints the program's help and ends, where the arguments ask for it: before anything is built
#   work_folder NAME ARG…  makes the folder $work, below what follows --dir or else in $build; it is removed at the end
#   measure FILE ARG…   runs the program on it, and ends as it ends

build=${ERGON_BUILD:-build}

build() {
    [ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DERGON_WERROR=ON >/dev/null
    ninja -C "$build" --quiet "$@" >&2
}

help_of() {
    program=$1
    shift
    case " $* " in
    *" --help "* | *" -h "*) exec python3 "$program" --help ;;
    esac
}

# In the background, so that a signal to the script reaches it at once; it then stops what it started.
measure() {
    program=$1
    shift
    python3 "$program" --build "$build" "$@" &
    measuring=$!
    trap 'kill -TERM "$measuring" 2>/dev/null || :' INT TERM HUP
    status=0
    wait "$measuring" || status=$?
    [ "$status" -le 128 ] || wait "$measuring" || status=$?
    exit "$status"
}

# A database's server, which is another user, has to pass the folder.
work_folder() {
    name=$1
    shift
    folder=$build
    previous=
    for word; do
        [ "$previous" != --dir ] || folder=$word
        previous=$word
    done
    work=$(mktemp -d -p "$folder" "$name-XXXXXX")
    chmod 711 "$work"
    trap 'rm -rf "$work"' EXIT
}
