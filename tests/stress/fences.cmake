# The fences of the waker: as shipped, and without each of them.  What the shipped one proves is worth what the others
# find; they are built from a fault of tests/mutation.  The thread sanitizer gets another waker, without fences, and so
# none of these.
if(ERGON_SANITIZE STREQUAL "thread")
    return()
endif()
ergon_test(fences_stress.c DEPS ergon_runtime LABELS stress)
set_property(TEST stress/fences_stress PROPERTY SKIP_REGULAR_EXPRESSION "left out:")
set(mutation ${PROJECT_SOURCE_DIR}/tests/mutation)
foreach(fence announce notify)
    set(waker ${CMAKE_CURRENT_BINARY_DIR}/waker_without_${fence}_fence.c)
    set(program test_stress_fences_without_${fence})
    add_custom_command(OUTPUT ${waker}
        COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
            /usr/bin/python3 ${mutation}/plant.py waker-${fence}-fence > ${waker}
        DEPENDS ${PROJECT_SOURCE_DIR}/server/runtime/threads/waker.c ${mutation}/plant.py ${mutation}/faults.py
            ${mutation}/faults/runtime.faults
        VERBATIM)
    add_executable(${program} fences_stress.c ${waker})
    target_compile_definitions(${program} PRIVATE LOST_WITHOUT="${fence}")
    target_link_libraries(${program} PRIVATE ergon_test_main ergon_flags ergon_runtime PkgConfig::CMOCKA)
    target_link_options(${program} PRIVATE ${ERGON_NO_LTO_LINK})
    add_test(NAME stress/fences_without_${fence} COMMAND ${program})
    ergon_test_properties(stress/fences_without_${fence} "" stress)
    set_property(TEST stress/fences_without_${fence} PROPERTY SKIP_REGULAR_EXPRESSION "left out:")
endforeach()
