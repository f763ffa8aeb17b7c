# Tests of sequences and the cooperative primitives; all play on one stage.
foreach(name seq wait sem sem_remote mailbox mailbox_remote event rendezvous select group)
    set(target test_unit_runtime_${name})
    if(NOT TARGET ${target} AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.c)
        ergon_test(${name}_test.c DEPS ergon_test_support ergon_runtime)
    endif()
    if(TARGET ${target})
        target_sources(${target} PRIVATE stage.c)
    endif()
endforeach()

ergon_script_test(unit/runtime/seq_misuse
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/seq_misuse_test.sh ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR})

ergon_test(semaphore_example_test.c SOURCES stage.c
    DEPS example_semaphore ergon_test_support ergon_runtime)
