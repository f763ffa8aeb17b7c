# The fences of the waker: as shipped, and without each of them.  What the shipped one proves is worth what the others
# find; they are built from a fault of tests/mutation.  Both need the two threads side by side within some nanoseconds: so
# nothing runs beside them, and they are of the shipped instructions alone (the thread sanitizer gets another waker,
# without fences, and what the address sanitizer puts between a store and a load gives the store time to be seen).
if(ERGON_SANITIZE)
    return()
endif()
ergon_test(fences_stress.c DEPS ergon_runtime LABELS stress)
set_tests_properties(stress/fences_stress PROPERTIES SKIP_REGULAR_EXPRESSION "left out:" RUN_SERIAL ON)
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
    set_tests_properties(stress/fences_without_${fence} PROPERTIES SKIP_REGULAR_EXPRESSION "left out:" RUN_SERIAL ON)
endforeach()
