foreach(name tasks nested workers)
    ergon_test(${name}_stress.c DEPS ergon_tasks_test_support LABELS stress)
endforeach()
