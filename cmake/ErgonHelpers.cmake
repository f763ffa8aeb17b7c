# One helper per idea; every folder lists its own files.
#
#   ergon_library(name SOURCES a.c b.c [DEPS target...])     a static library of the tree
#   ergon_program(name SOURCES main.c [DEPS target...])      a program
#   ergon_test(path/name_test.c [SOURCES extra.c...] [DEPS target...] [TIMEOUT s] [LABELS l...])
#                                                            a cmocka program, named after its path below tests/;
#                                                            its main function, without one in the file: tests/support/test_main.c
#       the label once: most of its time goes into programs that are not ours (a browser, interpreters): it is left out under
#       sanitizers
#       the label one_thread: it makes no threads, which it is held to, and is left out under the thread sanitizer
#       the label no_threads: it says nothing of threads that others do not, as it looks at the command line, say, or at bytes of
#       memory: it is left out under the thread sanitizer
#   ergon_script_test(name COMMAND ... [TIMEOUT s] [LABELS l...])  a test that is a command
#
# ERGON_SANITIZE is "", "address" (address and undefined), "thread", or "fuzzer" (address and undefined, and clang's
# counters of what was reached, for tests/fuzz); the same sources serve all four.

set(ERGON_SANITIZE "" CACHE STRING "address, thread, fuzzer or empty")
option(ERGON_WERROR "treat warnings as errors" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()
# Assertions state invariants and stay in every build that the tests run; a release is without them.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
# Reports name functions and lines.  -O1 keeps accesses that -O2 removes, and takes half of the time to compile; it does not
# see that numbers are small enough for their text.
if(ERGON_SANITIZE MATCHES "^(address|thread)$")
    set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        string(APPEND CMAKE_C_FLAGS_RELWITHDEBINFO " -Wno-format-truncation")
    endif()
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(ergon_flags INTERFACE)
# Ahead of the options of folders: clang lets the last of -Wextra and -Wno-... win.
add_compile_options(-Wall -Wextra)
target_compile_options(ergon_flags INTERFACE
    -Wshadow -Wconversion -Wswitch-enum -Wmissing-prototypes -Wstrict-prototypes
    -Wvla -fno-common -fno-omit-frame-pointer
    $<$<BOOL:${ERGON_WERROR}>:-Werror>)
# What serves assertions alone is unused in a release.
target_compile_options(ergon_flags INTERFACE $<$<CONFIG:Release>:-Wno-unused-function -Wno-unused-parameter
    -Wno-unused-variable -Wno-unused-const-variable -Wno-unused-but-set-variable>)
target_compile_definitions(ergon_flags INTERFACE _GNU_SOURCE ERGON_VERSION="${PROJECT_VERSION}")
target_include_directories(ergon_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
if(ERGON_SANITIZE STREQUAL "address")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
    add_link_options(-fsanitize=address,undefined)
elseif(ERGON_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread)
    add_link_options(-fsanitize=thread)
elseif(ERGON_SANITIZE STREQUAL "fuzzer")
    add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
    add_link_options(-fsanitize=address,undefined)
elseif(ERGON_SANITIZE)
    message(FATAL_ERROR "ERGON_SANITIZE is address, thread, fuzzer or empty, not ${ERGON_SANITIZE}")
endif()

# Whether a program can have marks of control flow at all: one start file of the C library without them, as Debian 12 has
# it, and the linker leaves them out of every program, which then pays for them in vain.
function(ergon_find_cet)
    if(DEFINED ERGON_CET)
        return()
    endif()
    set(place ${CMAKE_BINARY_DIR}/CMakeFiles/cet)
    file(WRITE ${place}.c "int main(void)\n{\n    return 0;\n}\n")
    execute_process(COMMAND ${CMAKE_C_COMPILER} -fcf-protection ${place}.c -o ${place} RESULT_VARIABLE failed)
    execute_process(COMMAND readelf --notes ${place} OUTPUT_VARIABLE notes ERROR_QUIET)
    if(NOT failed AND notes MATCHES "IBT")
        set(cet ON)
    else()
        set(cet OFF)
    endif()
    set(ERGON_CET ${cet} CACHE BOOL "the system's start files have marks of control flow")
    message(STATUS "Marks of control flow (-fcf-protection): ${cet}")
endfunction()

# What Debian's dpkg-buildflags has for hardening=+all: for builds that are installed.
option(ERGON_HARDEN "canaries, checked library calls, a random place in memory, read-only tables, control-flow marks" OFF)
if(ERGON_HARDEN AND NOT ERGON_SANITIZE)
    add_compile_options(-fstack-protector-strong -fstack-clash-protection -Wformat -Werror=format-security
        $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
    add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
    set(ERGON_HARDEN_PROGRAM -pie)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        ergon_find_cet()
        if(ERGON_CET)
            add_compile_options(-fcf-protection)
            add_link_options(-fcf-protection)
        endif()
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
        add_compile_options(-mbranch-protection=standard)
    endif()
endif()

# Programs are optimised across files, which takes a tenth off the time of a brief task.  The objects of the libraries serve
# both ways: tests link them as they are, which is quicker.
option(ERGON_SIM "ergon-sim, which runs handlers in a simulated world" ON)
option(ERGON_LTO "optimise programs across files" ON)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT ERGON_SANITIZE AND ERGON_LTO)
    set(ERGON_LTO_COMPILE -flto=auto -ffat-lto-objects)
    set(ERGON_LTO_LINK -flto=auto -O2)
    set(ERGON_NO_LTO_LINK -fno-lto)
elseif(BUILD_TESTING AND NOT ERGON_SANITIZE STREQUAL "fuzzer")
    # Hundreds of tests are linked: mold takes a third of the time.
    find_program(ERGON_MOLD mold)
    if(ERGON_MOLD)
        add_link_options(-fuse-ld=mold)
    endif()
endif()

function(ergon_library name)
    cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
    add_library(${name} STATIC ${A_SOURCES})
    target_link_libraries(${name} PUBLIC ergon_flags ${A_DEPS})
    target_compile_options(${name} PRIVATE ${ERGON_LTO_COMPILE})
endfunction()

function(ergon_program name)
    cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
    add_executable(${name} ${A_SOURCES})
    target_link_libraries(${name} PRIVATE ergon_flags ${A_DEPS})
    target_compile_options(${name} PRIVATE ${ERGON_LTO_COMPILE})
    target_link_options(${name} PRIVATE ${ERGON_LTO_LINK} ${ERGON_HARDEN_PROGRAM})
endfunction()

function(ergon_test source)
    cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/tests ${path})
    string(REGEX REPLACE "(_test)?\\.c$" "" name ${path})
    string(REPLACE "/" "_" target test_${name})
    add_executable(${target} ${source} ${A_SOURCES})
    target_link_libraries(${target} PRIVATE ergon_test_main ergon_flags ${A_DEPS} PkgConfig::CMOCKA)
    target_link_options(${target} PRIVATE ${ERGON_NO_LTO_LINK})
    if("one_thread" IN_LIST A_LABELS AND NOT ERGON_SANITIZE)
        target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/one_thread.c)
    endif()
    if("one_thread" IN_LIST A_LABELS AND ERGON_SANITIZE STREQUAL "thread") # which leaves it out
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    endif()
    add_test(NAME ${name} COMMAND ${target})
    ergon_test_properties(${name} "${A_TIMEOUT}" "${A_LABELS}")
endfunction()

function(ergon_script_test name)
    cmake_parse_arguments(A "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
    add_test(NAME ${name} COMMAND ${A_COMMAND})
    ergon_test_properties(${name} "${A_TIMEOUT}" "${A_LABELS}")
endfunction()

function(ergon_test_properties name timeout labels)
    if(NOT timeout)
        set(timeout 300) # for a machine that is several times slower than ours, or has much beside it
    endif()
    if(ERGON_SANITIZE) # and others beside it: a multiple of what it takes elsewhere
        math(EXPR timeout "${timeout} * 4")
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "${labels}")
endfunction()
