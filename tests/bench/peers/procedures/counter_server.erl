%% A gen_server a key, to which packets of four bytes of length add numbers: counter_server:start(PORT, KEYS).
%% The process of a connection passes each packet on and does not wait, so that the sixteen of a connection are on their way at once:
%% that takes two thirds of the time of gen_server:call.
-module(counter_server).
-behaviour(gen_server).
-export([start/2, init/1, handle_call/3, handle_cast/2]).

start(Port, Keys) ->
    counters = ets:new(counters, [named_table, public, {read_concurrency, true}]),
    lists:foreach(
        fun(N) ->
            {ok, Pid} = gen_server:start(?MODULE, 0, []),
            ets:insert(counters, {iolist_to_binary(io_lib:format("counter/~8..0b", [N])), Pid})
        end,
        lists:seq(0, Keys - 1)
    ),
    {ok, Listener} = gen_tcp:listen(Port, [
        binary, {packet, 4}, {active, false}, {nodelay, true}, {reuseaddr, true}, {backlog, 4096},
        {ip, {127, 0, 0, 1}}
    ]),
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Connection = spawn(fun() ->
        receive
            go ->
                ok = inet:setopts(Socket, [{active, true}]),
                serve(Socket)
        end
    end),
    ok = gen_tcp:controlling_process(Socket, Connection),
    Connection ! go,
    accept(Listener).

serve(Socket) ->
    receive
        {tcp, Socket, <<Slot:32, Number:32, Key/binary>>} ->
            gen_server:cast(ets:lookup_element(counters, Key, 2), {add, Number, Slot, self()}),
            serve(Socket);
        {sum, Slot, Sum} ->
            ok = gen_tcp:send(Socket, <<Slot:32, Sum:64>>),
            serve(Socket);
        {tcp_closed, Socket} ->
            ok
    end.

init(Sum) ->
    {ok, Sum}.

handle_call(_Request, _From, Sum) ->
    {reply, Sum, Sum}.

handle_cast({add, Number, Slot, Connection}, Sum) ->
    Connection ! {sum, Slot, Sum + Number},
    {noreply, Sum + Number}.
