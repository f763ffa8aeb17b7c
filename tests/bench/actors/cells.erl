%% So many gen_servers, each with a state of 32 bytes, and in a table by a key of 16: cells:start(CELLS, AFTER), where AFTER is
%% infinity or hibernate, what each does after its call.
-module(cells).
-behaviour(gen_server).
-export([start/2, init/1, handle_call/3, handle_cast/2]).

start(Cells, After) ->
    cells = ets:new(cells, [named_table, public, {read_concurrency, true}]),
    told(empty),
    lists:foreach(
        fun(N) ->
            {ok, Pid} = gen_server:start(?MODULE, After, []),
            Key = iolist_to_binary(io_lib:format("~16..0b", [N])),
            ets:insert(cells, {Key, Pid}),
            ok = gen_server:call(ets:lookup_element(cells, Key, 2), {keep, binary:copy(<<"s">>, 32)})
        end,
        lists:seq(0, Cells - 1)
    ),
    told(full),
    receive
        never -> ok
    end.

told(What) ->
    erlang:garbage_collect(),
    io:format("~s~n", [What]).

init(After) ->
    {ok, {After, none}}.

handle_call({keep, State}, _From, {After, _}) ->
    {reply, ok, {After, State}, After}.

handle_cast(_Request, Cell) ->
    {noreply, Cell}.
