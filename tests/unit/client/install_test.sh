#!/bin/sh
# What `cmake --install` leaves is enough to build the examples outside the tree: by pkg-config, and
# by find_package; and C++ may include every header.  Usage: install_test.sh BUILD SOURCE CC CMAKE
set -eu
build=$1 source=$2 cc=$3 cmake=$4
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
"$cmake" --install "$build" --component client --prefix "$top/usr" >"$top/log" || { cat "$top/log"; exit 1; }

lib=$(dirname "$(find "$top/usr" -name libergon.so)")
export PKG_CONFIG_PATH="$lib/pkgconfig"
for path in client/blocking client/pipelined client/submit worker/worker; do
    name=${path#*/}
    # shellcheck disable=SC2046
    "$cc" -Wall -Werror "$source/examples/$path.c" \
        $(pkg-config --cflags --libs ergon libevent_core msgpack) -o "$top/$name"
done

# They run: nobody listens on port 1, and they say so.
for name in blocking pipelined submit; do
    if LD_LIBRARY_PATH=$lib "$top/$name" ergon://127.0.0.1:1 2>"$top/said"; then
        echo "$name found a server where there is none"
        exit 1
    fi
    grep -q "Connection refused" "$top/said" || { cat "$top/said"; exit 1; }
done

# A worker goes on until there is a server, and says so.
if LD_LIBRARY_PATH=$lib timeout 1 "$top/worker" ergon://127.0.0.1:1 2>"$top/said" || [ $? -ne 124 ]; then
    echo "the worker does not go on"
    exit 1
fi
grep -q "Connection refused" "$top/said" || { cat "$top/said"; exit 1; }

# Each header stands alone, for C++ too, and together they are C to its linker.
for header in "$top"/usr/include/ergon/*.h; do
    printf '#include <ergon/%s>\n' "${header##*/}" >"$top/alone.cc"
    # shellcheck disable=SC2046
    c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only "$top/alone.cc" $(pkg-config --cflags ergon)
done
cat >"$top/main.cc" <<END
#include <ergon/client_serve.h>
#include <ergon/client_tasks.h>
int main()
{
    ergon_task_options options{};
    options.size = sizeof options;
    ergon_request *request = ergon_request_submit("echo", ergon_raw{}, &options);
    bool good = request != nullptr && ergon_served_answer(nullptr, ergon_raw{}) == ERGON_END_INVALID;
    ergon_request_free(request);
    return good ? 0 : 1;
}
END
# shellcheck disable=SC2046
c++ -std=c++17 -Wall -Wextra -Werror "$top/main.cc" $(pkg-config --cflags --libs ergon) -o "$top/main"
LD_LIBRARY_PATH=$lib "$top/main"

# A module needs the headers alone.
printf '#include <ergon/module.h>\nint x;\n' >"$top/module.c"
# shellcheck disable=SC2046
"$cc" -Wall -Werror -c "$top/module.c" $(pkg-config --cflags ergon-module) -o "$top/module.o"

mkdir "$top/by-cmake"
cat >"$top/by-cmake/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(outside C)
find_package(Ergon 0.1 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(EVENT REQUIRED IMPORTED_TARGET libevent_core)
add_executable(pipelined $source/examples/client/pipelined.c)
target_link_libraries(pipelined PRIVATE Ergon::ergon PkgConfig::EVENT)
END
"$cmake" -S "$top/by-cmake" -B "$top/by-cmake/build" -DCMAKE_PREFIX_PATH="$top/usr" >"$top/log" ||
    { cat "$top/log"; exit 1; }
"$cmake" --build "$top/by-cmake/build" >"$top/log" || { cat "$top/log"; exit 1; }

# Nothing but the public functions is seen.
seen=$(nm -D --defined-only "$lib/libergon.so" | awk '{print $3}' | grep -v '^ergon_' || true)
[ -z "$seen" ] || { echo "libergon.so also exports: $seen"; exit 1; }
echo "installed, built outside the tree, run"
