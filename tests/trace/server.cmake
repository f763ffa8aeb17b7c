foreach(name shutdown cancel deadline failure left)
    ergon_test(server_${name}_test.c DEPS ergon_rpc_test_support)
endforeach()
