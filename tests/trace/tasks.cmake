foreach(name task_life)
    ergon_test(${name}_test.c DEPS ergon_tasks_test_support)
endforeach()
