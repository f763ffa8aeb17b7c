-- Tarantool with nothing written to disk: PORT DIRECTORY; the directory holds echo_c.so.
local port, directory = ...

package.cpath = directory .. '/?.so;' .. package.cpath
box.cfg{
    listen = '127.0.0.1:' .. port,
    wal_mode = 'none',
    memtx_dir = directory,
    wal_dir = directory,
    vinyl_dir = directory,
    net_msg_max = 2048,
    readahead = 16320 * 8,
    log_level = 'error',
}
function echo(value)
    return value
end
box.schema.user.grant('guest', 'execute', 'universe', nil, {if_not_exists = true})
box.schema.func.create('echo_c', {language = 'C', if_not_exists = true})
print('ready')
io.stdout:flush()
