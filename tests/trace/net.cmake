foreach(name connection_life slow_reader half_close peer_left byte_by_byte ten_thousand_in_one_write
        partial_budget idle_timeout handshake_timeout server_drain in_flight_limit)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.c)
        ergon_test(${name}_test.c DEPS ergon_net_test_support)
    endif()
endforeach()
