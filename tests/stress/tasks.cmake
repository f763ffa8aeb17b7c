foreach(name tasks nested stalls workers)
    ergon_test(${name}_stress.c DEPS ergon_tasks_test_support LABELS stress)
endforeach()
