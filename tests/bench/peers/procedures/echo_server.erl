%% An echo of packets with four bytes of length, a process for each connection: echo_server:start(PORT).
-module(echo_server).
-export([start/1]).

start(Port) ->
    {ok, Listener} = gen_tcp:listen(Port, [
        binary, {packet, 4}, {active, false}, {nodelay, true}, {reuseaddr, true}, {backlog, 4096},
        {ip, {127, 0, 0, 1}}
    ]),
    io:format("ready~n"),
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Connection = spawn(fun() -> serve() end),
    ok = gen_tcp:controlling_process(Socket, Connection),
    Connection ! {socket, Socket},
    accept(Listener).

serve() ->
    receive
        {socket, Socket} ->
            ok = inet:setopts(Socket, [{active, true}]),
            echo(Socket)
    end.

echo(Socket) ->
    receive
        {tcp, Socket, Packet} ->
            ok = gen_tcp:send(Socket, Packet),
            echo(Socket);
        {tcp_closed, Socket} ->
            ok
    end.
