ergon_test(tasks_stress.c DEPS ergon_tasks_test_support LABELS stress)
